"""Optimization regions: where along an axis an improved input helps enough, with exact ends."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dse.evaluate.evaluator import Evaluator
from dse.evaluate.objective import Conditions, Objective, scenario
from dse.evaluate.wiring import Wiring
from dse.explain.explanation import Region, Regions, Span
from dse.explain.gains import gain, improvable, improve
from dse.model.quantity import Array
from dse.study.schema import BottleneckTable

_GRID = 241  # points along the axis between which a cut-off is looked for


def sweep(
    evaluator: Evaluator,
    objective: Objective,
    columns: Mapping[str, Array],
    axis: str,
    low: float,
    high: float,
    rule: BottleneckTable,
) -> list[Regions]:
    """Return the optimization regions of designs along an axis, with exact cut-offs.

    A cut-off is where the gain of an improved input crosses the threshold: bracketed on an even
    logarithmic grid, then bisected to the last bit, all designs at once.

    Parameters
    ----------
    columns : mapping of str to ndarray, shape (designs,)
        What the space sets.
    axis : str
        The swept input.
    low, high : float
        The range of the axis, in its unit.

    Returns
    -------
    list of Regions
        One a design.
    """
    wiring = evaluator.wiring
    conditions = {n: v for n, v in scenario(objective.conditions, 0).items() if n != axis}
    tools = {
        n: q
        for n, q in improvable(evaluator).items()
        if n not in conditions and n != axis and (n in columns or n in wiring.constants)
    }
    count = len(next(iter(columns.values())))
    grid = np.geomspace(low, high, _GRID)
    grid[0], grid[-1] = low, high
    wanted = 1.0 + float(rule.threshold)

    def along(x: Array, rows: NDArray[np.int64], lever: str | None = None) -> Array:
        """Return the objective of these designs at these points of the axis."""
        here = {n: v[rows] for n, v in columns.items()} | {axis: x}
        if lever is not None:
            value = here.get(lever, wiring.constants.get(lever))
            here[lever] = improve(tools[lever], value, float(rule.factor))
        return _value(wiring, objective, conditions, here, x)

    def helps(x: Array, rows: NDArray[np.int64], lever: str) -> NDArray[np.bool_]:
        return np.asarray(gain(objective, along(x, rows), along(x, rows, lever)) >= wanted)

    every = np.repeat(np.arange(count), _GRID)
    points = np.tile(grid, count)
    base = along(points, every).reshape(count, _GRID)
    improved: dict[str, Array] = {}
    spans: list[list[Span]] = [[] for _ in range(count)]
    for name, quantity in tools.items():
        improved[name] = along(points, every, name).reshape(count, _GRID)
        inside = gain(objective, base, improved[name]) >= wanted
        rows, left, right, rising = _bisected(grid, inside, name, helps)
        for row in range(count):
            here = rows == row
            spans[row] += _spans(
                name,
                quantity.symbol or name,
                grid,
                inside[row],
                left[here],
                right[here],
                rising[here],
            )
    return [
        Regions(
            objective=objective.name,
            axis=axis,
            axis_unit=wiring.quantities[axis].unit,
            unit=objective.unit,
            factor=float(rule.factor),
            threshold=float(rule.threshold),
            grid=grid,
            base=base[row],
            improved={name: values[row] for name, values in improved.items()},
            spans=tuple(spans[row]),
            regions=_cut(low, high, spans[row]),
        )
        for row in range(count)
    ]


def _value(
    wiring: Wiring,
    objective: Objective,
    conditions: Conditions,
    columns: Mapping[str, Any],
    x: Array,
) -> Array:
    (value,) = wiring.evaluate([(objective.quantity, conditions)], columns)
    return np.broadcast_to(np.asarray(value, dtype=np.float64), x.shape)


def _bisected(
    grid: Array,
    inside: NDArray[np.bool_],
    lever: str,
    helps: Callable[[Array, NDArray[np.int64], str], NDArray[np.bool_]],
) -> tuple[NDArray[np.int64], Array, Array, NDArray[np.bool_]]:
    """Return for each crossing: its design, the points before and after it, whether it is up."""
    rows, edges = np.nonzero(inside[:, 1:] != inside[:, :-1])
    left, right = grid[edges].copy(), grid[edges + 1].copy()
    rising = inside[rows, edges + 1]
    for _ in range(200):
        middle = np.sqrt(left * right)
        if not ((middle > left) & (middle < right)).any():
            break
        after = helps(middle, rows, lever) == rising  # the crossing lies before the middle
        right = np.where(after, middle, right)
        left = np.where(after, left, middle)
    return rows, left, right, rising


def _spans(
    name: str,
    symbol: str,
    grid: Array,
    inside: NDArray[np.bool_],
    left: Array,
    right: Array,
    rising: NDArray[np.bool_],
) -> list[Span]:
    """Return the intervals where an input helps one design."""
    starts = [(float(x), True) for x, up in zip(right, rising, strict=True) if up]
    ends = [(float(x), True) for x, up in zip(left, rising, strict=True) if not up]
    if inside[0]:
        starts.insert(0, (float(grid[0]), False))
    if inside[-1]:
        ends.append((float(grid[-1]), False))
    return [
        Span(name, symbol, low, high, low_exact, high_exact)
        for (low, low_exact), (high, high_exact) in zip(starts, ends, strict=True)
    ]


def _cut(low: float, high: float, spans: Sequence[Span]) -> tuple[Region, ...]:
    """Cut the axis where an input starts or stops to help."""
    edges = sorted({low, high, *(s.low for s in spans), *(s.high for s in spans)})
    regions: list[Region] = []
    for a, b in itertools.pairwise(edges):
        middle = float(np.sqrt(a * b))
        active = [s for s in spans if s.low <= middle <= s.high]
        names = tuple(s.input for s in active)
        if regions and regions[-1].inputs == names:
            regions[-1] = Region(regions[-1].low, b, names, regions[-1].label)
        else:
            regions.append(Region(a, b, names, "".join(s.symbol for s in active)))
    return tuple(regions)
