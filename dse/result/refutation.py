"""A certificate put to the test: designs that the search may not have looked at try to beat it.

Independent of the search: designs are drawn at random, next to the front, and at the ends of
variables, evaluated, and held against the front. That none beats it proves nothing; one that does
refutes the certificate.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dse.evaluate.failures import evaluate_designs
from dse.evaluate.space import Points
from dse.evaluate.table import TableSpace
from dse.model.quantity import Array
from dse.result.record import Result
from dse.search.bound.cells import Axis
from dse.search.bound.cover import Cover, relaxed
from dse.study.study import ResolvedStudy

_TOGETHER = 32_768  # designs evaluated at once
_STARTS = 2_000  # designs of the front whose neighbours are tried
_ROUNDING = 1e-9  # of a value that is read from a table and computed again


@dataclass(frozen=True)
class Refutation:
    """What a certificate withstood, or did not.

    Parameters
    ----------
    tried, feasible : int
        Draws that were evaluated, which may repeat a design, and the feasible ones of them.
    design : mapping or None
        The first design that is better than the front allows, by variable; None if there is none.
    values : mapping or None
        Its objectives.
    of : {"draw", "design"}
        What is counted: the rows of a table are designs, each once.
    """

    tried: int
    feasible: int
    design: dict[str, Any] | None
    values: dict[str, float] | None
    of: str = "draw"


def refute(study: ResolvedStudy, result: Result, designs: int, seed: int) -> Refutation:
    """Try to find a feasible design that is better than the front by more than its gap.

    Parameters
    ----------
    designs : int
        How many to draw; of a table, all are tried.
    seed : int
        Of the draw.

    Raises
    ------
    DesignError
        If a model raises.
    """
    evaluator, gap = study.evaluator, result.certificate.gap
    if gap is None:
        raise ValueError("the certificate claims nothing")
    cover = Cover.empty(len(evaluator.objectives))
    cover = cover.added(result.front.points)
    common, apart = (gap, 0.0), result.certificate.tolerances
    every = [apart.get(o.name, common) for o in evaluator.objectives]
    share, amount = np.maximum(np.array(every, dtype=np.float64), [_ROUNDING, 0.0]).T
    floor = np.array([study.plan.floor.get(o.name, 0.0) for o in evaluator.objectives])
    tried, feasible = 0, 0
    for points in _tried(study, result, designs, np.random.default_rng(seed)):
        low, tried = tried, tried + len(next(iter(points.values())))
        judged = evaluate_designs(evaluator, points, low)
        rows = np.flatnonzero(judged.feasible)
        feasible += len(rows)
        signed = (judged.objectives * evaluator.signs)[rows]
        better = ~cover.weakly(relaxed(signed, share, floor, amount))
        if better.any():
            row = rows[np.argmax(better)]
            labels = evaluator.space.labels({n: v[row : row + 1] for n, v in points.items()})
            names = [o.name for o in evaluator.objectives]
            values = dict(zip(names, judged.objectives[row].tolist(), strict=True))
            design = {n: v[0] for n, v in labels.items()}
            return Refutation(tried, feasible, design, values)
    of = "design" if isinstance(evaluator.space, TableSpace) else "draw"
    return Refutation(tried, feasible, None, None, of)


def _tried(
    study: ResolvedStudy, result: Result, count: int, rng: np.random.Generator
) -> Iterator[Points]:
    """Yield the designs that are tried, some together: of a table, all."""
    space = study.evaluator.space
    if isinstance(space, TableSpace):
        for low in range(0, space.size, _TOGETHER):
            yield space.from_index(np.arange(low, min(low + _TOGETHER, space.size)))
        return
    places, axes = _places(study, result, count, rng), _axes(study)
    for low in range(0, len(places), _TOGETHER):
        part = places[low : low + _TOGETHER]
        yield {axis.name: axis.at(part[:, i]) for i, axis in enumerate(axes)}


def _axes(study: ResolvedStudy) -> tuple[Axis, ...]:
    return tuple(Axis(n, v) for n, v in study.evaluator.space.variables.items())


def _places(
    study: ResolvedStudy, result: Result, count: int, rng: np.random.Generator
) -> NDArray[np.int64]:
    """Return designs by the places of their values: random, at ends, and next to the front."""
    axes = _axes(study)
    counts = np.array([axis.count for axis in axes])
    drawn = rng.integers(0, counts, (count - count // 2, len(axes)))
    at_end = rng.random(drawn.shape) < 0.5 * (np.arange(len(drawn)) % 2)[:, None]
    ends = np.where(rng.random(drawn.shape) < 0.5, 0, counts - 1)
    drawn = np.where(at_end, ends, drawn)
    front = result.front.designs
    if len(front) == 0:
        return drawn
    rows = rng.choice(len(front), min(len(front), _STARTS), replace=False)
    labels = {n: front[n].to_numpy()[rows] for n in study.evaluator.space.variables}
    points = study.evaluator.space.from_labels(labels)
    near = np.column_stack([_place(axis, points[axis.name]) for axis in axes])
    near = near[rng.integers(0, len(near), count // 2)]
    steps = rng.integers(-2, 3, near.shape) * _strides(counts, rng, near.shape)
    moved = near + np.where(rng.random(near.shape) < 0.5, steps, 0)
    return np.concatenate([drawn, np.clip(moved, 0, counts - 1)])


def _place(axis: Axis, values: NDArray[Any]) -> NDArray[np.int64]:
    """Return the places of values in the ascending order of a variable."""
    if axis.continuous:
        unit = axis.variable.to_unit(values)
        return np.rint(unit * (axis.count - 1)).astype(np.int64)
    inverse = np.argsort(axis.order)
    return np.asarray(inverse[axis.variable.position(values)], dtype=np.int64)


def _strides(
    counts: NDArray[np.int64], rng: np.random.Generator, shape: tuple[int, ...]
) -> NDArray[np.int64]:
    """Return steps of all sizes up to an eighth of a variable's values."""
    most = np.log(np.maximum(counts / 8, 1.0))
    found: Array = np.exp(rng.random(shape) * most)
    return found.astype(np.int64)
