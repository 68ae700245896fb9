"""Evolution: NSGA-II over whole generations as arrays, for spaces too large to enumerate.

Ranking by non-dominated sorting and crowding distance, feasible designs first (Deb et al., A fast
and elitist multiobjective genetic algorithm: NSGA-II, IEEE TEC 2002), simulated binary crossover
and polynomial mutation for numbers, uniform crossover for choices. The first generation is a
Latin hypercube; in a finite space no design is evaluated twice.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dse.evaluate.evaluator import Evaluated, Evaluator
from dse.evaluate.front import ranks, scaled
from dse.evaluate.judging import judge
from dse.evaluate.space import Choice, Space, Values
from dse.model.quantity import Array
from dse.search.base import Plan

_CROSSOVER, _MUTATION = 15.0, 20.0  # distribution indices: how near children stay to parents
_DRAWS = 4  # rounds of random designs before those left are counted
_LEFT = 20  # a space of at most this many times the designs seen is listed for what is left


@dataclass(frozen=True)
class Evolved:
    """All designs evaluated so far, in order, and which of them are the parents of the next.

    Parameters
    ----------
    unit : ndarray, shape (designs, variables)
        Points of the unit cube.
    judged : Evaluated
        What they give.
    parents : ndarray of int
        Rows of the population, best first.
    """

    unit: Array
    judged: Evaluated
    parents: NDArray[np.int64]


def evolve(evaluator: Evaluator, plan: Plan, start: Evolved | None = None) -> Iterator[Evolved]:
    """Search; yield the state after each generation.

    The random numbers of a generation depend on the seed and on how many designs there are, so that
    a resumed search goes on as an uninterrupted one would.

    Raises
    ------
    DesignError
        Where a model raises.
    """
    state = start
    seen: set[bytes] = set() if start is None else set(_keys(start.unit))
    history = _history(evaluator, start)
    while state is None or len(state.unit) < plan.evaluations:
        done = 0 if state is None else len(state.unit)
        rng = np.random.default_rng([plan.seed, done])
        count = min(plan.generation, plan.evaluations - done)
        unit = (
            _first(evaluator.space, count, rng)
            if state is None
            else _children(evaluator, state, count, rng)
        )
        unit = _fresh(evaluator.space, seen, unit, count, rng)
        if len(unit) == 0:
            return  # every design of a finite space has been evaluated
        new = judge(evaluator, evaluator.space.from_unit(unit), done)
        unit, objectives, constrained, feasible = (
            rows.added(more)
            for rows, more in zip(
                history, (unit, new.objectives, new.constrained, new.feasible), strict=True
            )
        )
        judged = Evaluated(objectives, constrained, feasible)
        candidates = np.arange(done, len(unit))
        if state is not None:
            candidates = np.concatenate([state.parents, candidates])
        rank, crowd = _fitness(evaluator, judged, candidates)
        order = np.lexsort((candidates, -crowd, rank))[: plan.generation]
        state = Evolved(unit, judged, candidates[order])
        yield state


class _Rows:
    """An array that grows at its end; earlier views of it stay what they were."""

    def __init__(self, rows: NDArray[Any]) -> None:
        self._rows, self._count = rows, len(rows)

    def added(self, more: NDArray[Any]) -> NDArray[Any]:
        """Add rows and return all of them."""
        low, self._count = self._count, self._count + len(more)
        if self._count > len(self._rows):
            grown = np.empty((2 * self._count, *more.shape[1:]), dtype=more.dtype)
            grown[:low] = self._rows[:low]
            self._rows = grown
        self._rows[low : self._count] = more
        return self._rows[: self._count]


def _history(evaluator: Evaluator, start: Evolved | None) -> tuple[_Rows, _Rows, _Rows, _Rows]:
    if start is not None:
        judged = start.judged
        return (
            _Rows(start.unit),
            _Rows(judged.objectives),
            _Rows(judged.constrained),
            _Rows(judged.feasible),
        )
    widths = (len(evaluator.space.variables), len(evaluator.objectives), len(evaluator.constraints))
    unit, objectives, constrained = (_Rows(np.empty((0, width))) for width in widths)
    return unit, objectives, constrained, _Rows(np.empty(0, dtype=bool))


def _first(space: Space, count: int, rng: np.random.Generator) -> Array:
    """Draw a Latin hypercube: each variable's range evenly covered."""
    cells = np.tile(np.arange(count)[:, None], (1, len(space.variables)))
    return np.asarray((rng.permuted(cells, axis=0) + rng.random(cells.shape)) / count)


def _keys(unit: Array) -> list[bytes]:
    """Return what tells designs apart: the bytes of their points."""
    rows = np.ascontiguousarray(unit)
    keys: list[bytes] = rows.view(f"V{rows.shape[1] * rows.itemsize}").ravel().tolist()
    return keys


def _fresh(
    space: Space, seen: set[bytes], unit: Array, count: int, rng: np.random.Generator
) -> Array:
    """Return up to `count` designs that were not seen, filled up at random; they are seen now.

    Each design is given by one point of the cube: on grids by the middle of its cell.
    """
    found: list[Array] = []
    missing = count
    for attempt in range(_DRAWS + 2):
        canonical = space.to_unit(space.from_unit(np.clip(unit, 0.0, 1.0)))
        rows: list[int] = []
        for row, key in enumerate(_keys(canonical)):
            if key not in seen and len(rows) < missing:
                seen.add(key)
                rows.append(row)
        found.append(canonical[rows])
        missing -= len(rows)
        if missing == 0:
            break
        if attempt < _DRAWS:
            unit = rng.random((missing * 2, len(space.variables)))
        else:
            unit = _left(space, seen, missing, rng)
    return np.concatenate(found)


def _left(space: Space, seen: set[bytes], count: int, rng: np.random.Generator) -> Array:
    """Draw designs of a finite space that were not seen, where listing them is not too much."""
    size = space.size
    if size is None or size > _LEFT * len(seen):
        return np.zeros((0, len(space.variables)))
    known = np.frombuffer(b"".join(seen)).reshape(-1, len(space.variables))
    left = np.ones(size, dtype=bool)
    left[space.to_index(space.from_unit(known))] = False
    return space.to_unit(space.from_index(rng.permutation(np.flatnonzero(left))[:count]))


def _fitness(
    evaluator: Evaluator, judged: Evaluated, rows: NDArray[np.int64]
) -> tuple[NDArray[np.int64], Array]:
    """Return rank (less is better) and crowding distance (more is better) of these rows."""
    points = judged.objectives[rows] * evaluator.signs
    feasible = judged.feasible[rows]
    rank = np.zeros(len(rows), dtype=np.int64)
    crowd = np.zeros(len(rows))
    if feasible.any():
        inside = points[feasible]
        rank[feasible] = ranks(inside)
        crowd[feasible] = _crowding(scaled(inside, evaluator.signs)[0], rank[feasible])
    if not feasible.all():
        violation = np.maximum(evaluator.violations(judged.constrained[rows]), 0.0)
        finite = np.isfinite(violation)
        largest = np.where(finite, violation, 0.0).max(axis=0)
        with np.errstate(all="ignore"):
            share = np.where(finite, violation / np.where(largest > 0, largest, 1.0), 2.0)
        total = share.sum(axis=1) + np.isnan(points).any(axis=1) * (violation.shape[1] + 1.0)
        worst = rank[feasible].max(initial=0) + 1
        order = np.argsort(np.argsort(total[~feasible], kind="stable"), kind="stable")
        rank[~feasible] = worst + order
    return rank, crowd


def _crowding(unit: Array, rank: NDArray[np.int64]) -> Array:
    """Return for each point how far its neighbours on its own front are apart; inf at the ends."""
    distance = np.zeros(len(unit))
    for column in unit.T:
        order = np.lexsort((column, rank))
        value, front = column[order], rank[order]
        gaps = np.full(len(unit), np.inf)
        gaps[1:-1] = np.where(front[2:] == front[:-2], value[2:] - value[:-2], np.inf)
        distance[order] += gaps
    return distance


def _children(evaluator: Evaluator, state: Evolved, count: int, rng: np.random.Generator) -> Array:
    pairs = rng.integers(0, len(state.parents), (2, 2, count))
    winners = np.minimum(pairs[0], pairs[1])  # parents stand best first
    mother, father = state.unit[state.parents[winners[0]]], state.unit[state.parents[winners[1]]]
    named = np.array(
        [isinstance(v, Choice | Values) for v in evaluator.space.variables.values()], dtype=bool
    )
    child = np.where(named, _mixed(mother, father, rng), _crossed(mother, father, rng))
    return _mutated(child, named, rng)


def _mixed(mother: Array, father: Array, rng: np.random.Generator) -> Array:
    return np.where(rng.random(mother.shape) < 0.5, mother, father)


def _crossed(mother: Array, father: Array, rng: np.random.Generator) -> Array:
    """Cross by simulated binary crossover, on each coordinate with probability one half."""
    u = rng.random(mother.shape)
    spread = np.where(
        u <= 0.5,
        (2.0 * u) ** (1.0 / (_CROSSOVER + 1.0)),
        (1.0 / np.maximum(2.0 * (1.0 - u), 1e-300)) ** (1.0 / (_CROSSOVER + 1.0)),
    )
    sign = np.where(rng.random(mother.shape) < 0.5, 1.0, -1.0)
    child = 0.5 * ((mother + father) + sign * spread * (mother - father))
    return np.where(rng.random(mother.shape) < 0.5, child, _mixed(mother, father, rng))


def _mutated(unit: Array, named: NDArray[np.bool_], rng: np.random.Generator) -> Array:
    """Mutate: polynomially for numbers, a fresh draw for choices and now and then for numbers."""
    u = rng.random(unit.shape)
    step = np.where(
        u < 0.5,
        (2.0 * u) ** (1.0 / (_MUTATION + 1.0)) - 1.0,
        1.0 - (2.0 * (1.0 - u)) ** (1.0 / (_MUTATION + 1.0)),
    )
    drawn = rng.random(unit.shape)
    anew = named | (rng.random(unit.shape) < 0.1)
    mutant = np.where(anew, drawn, unit + step)
    return np.where(rng.random(unit.shape) < 1.0 / unit.shape[1], mutant, unit)
