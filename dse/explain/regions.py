"""Optimization regions: along which parts of an axis which inputs are bottlenecks, exactly."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from dse.evaluate.criteria import Objective
from dse.evaluate.evaluator import Evaluator
from dse.evaluate.input_ranges import without_samples
from dse.evaluate.wiring import Key
from dse.explain.sensitivity import common_domain, gain_factor, improvable_inputs, improve_input
from dse.model.quantity import Array, Quantity
from dse.model.values import listed, show, worded
from dse.study.resolve.plots import RegionsPlan
from dse.study.schema import BottleneckTable

_GRID = 241  # points along the axis between which a cut-off is looked for
_TOGETHER, _AHEAD = 4_096, 5  # points at which models are run at once, about; halvings ahead


@dataclass(frozen=True)
class Span:
    """One interval of the axis on which an input is a bottleneck.

    Parameters
    ----------
    input, symbol : str
        The input.
    low, high : float
        The interval, in the axis's unit; the axis's own end if it is cut off there.
    low_exact, high_exact : bool
        Whether the end is a cut-off that was solved for, and not the end of the axis.
    """

    input: str
    symbol: str
    low: float
    high: float
    low_exact: bool
    high_exact: bool


@dataclass(frozen=True)
class Region:
    """An interval of the axis on which the same inputs are bottlenecks.

    Parameters
    ----------
    low, high : float
        The interval, in the axis's unit.
    inputs : tuple of str
        The bottlenecks.
    label : str
        Their symbols, such as ``"oC"``.
    shown : tuple of str
        The bounds as texts, rounded so that they stay in the axis's domain.
    """

    low: float
    high: float
    inputs: tuple[str, ...]
    label: str
    shown: tuple[str, str]

    @property
    def words(self) -> str:
        """What limits there, such as ``"limited by interface latency and calls in flight"``."""
        if not self.inputs:
            return "limited by no single input"
        return f"limited by {listed([worded(name) for name in self.inputs])}"


@dataclass(frozen=True)
class Regions:
    """The optimization regions of one design for one objective along one axis.

    Parameters
    ----------
    objective, condition, axis, axis_unit, unit : str
        The objective, how scenarios that remain become one number ("" for none), the swept input,
        and the units of axis and objective.
    factor, threshold : float
        The improvement of the inputs (10) and the gain that counts (0.2).
    grid, base : ndarray, shape (points,)
        The axis and the objective along it.
    improved : dict of str to ndarray, shape (points,)
        The objective with each input improved.
    spans : tuple of Span
        For each input, on which intervals it is a bottleneck.
    regions : tuple of Region
        The axis cut into regions, ascending.
    """

    objective: str
    condition: str
    axis: str
    axis_unit: str
    unit: str
    factor: float
    threshold: float
    grid: Array
    base: Array
    improved: dict[str, Array]
    spans: tuple[Span, ...]
    regions: tuple[Region, ...]


def find_regions(
    evaluator: Evaluator, plan: RegionsPlan, rule: BottleneckTable, columns: Mapping[str, Array]
) -> list[Regions]:
    """Return the optimization regions of designs along an axis, with exact cut-offs.

    A cut-off is where the gain of an improved input crosses the threshold: bracketed on an even
    logarithmic grid, then bisected to the last bit, all designs at once.

    Parameters
    ----------
    columns : mapping of str to ndarray, shape (designs,)
        What the space sets.

    Returns
    -------
    list of Regions
        One a design.
    """
    wiring, axis = evaluator.wiring, plan.axis
    objective = _without(without_samples(plan.objective), axis)
    inputs = {
        n: q
        for n, q in improvable_inputs(evaluator).items()
        if n not in objective.conditions and n != axis and (n in columns or n in wiring.constants)
    }
    declared = common_domain(wiring, axis)
    count = len(next(iter(columns.values())))
    grid = _grid(plan.low, plan.high, declared.integer)
    wanted = 1.0 + rule.threshold

    names = list(inputs)

    requests = [(objective.quantity, objective.conditions)]

    def along(
        x: Array,
        rows: NDArray[np.int64],
        which: NDArray[np.int64],
        known: Mapping[Key, Mapping[str, Array]] | None = None,
    ) -> Array:
        """Return the objective of designs at points of the axis, each with one input improved.

        `which` is the place of the input; -1 for none. `known` as in `Wiring.evaluate`.
        """
        here = {n: v[rows] for n, v in columns.items()} | {axis: x}
        changed: dict[str, Array] = {}
        for k in np.unique(which[which >= 0]).tolist():
            name, mine = names[k], which == k
            now = here[name] if name in here else wiring.constants[name]
            values = np.array(np.broadcast_to(now, x.shape), dtype=np.float64)
            some = {n: v[mine] for n, v in here.items()}
            values[mine] = improve_input(wiring, name, values[mine], rule.factor, some)
            changed[name] = values
        here |= changed
        (value,) = wiring.evaluate(requests, here, known)
        return objective.reduced(value, len(x))

    def helps(x: Array, rows: NDArray[np.int64], which: NDArray[np.int64]) -> NDArray[np.bool_]:
        both = np.concatenate([np.full(len(x), -1), which])
        found = along(np.tile(x, 2), np.tile(rows, 2), both)
        return np.asarray(gain_factor(objective, found[: len(x)], found[len(x) :]) >= wanted)

    every = np.repeat(np.arange(count), len(grid))
    points = np.tile(grid, count)
    runs = wiring.done(requests, {n: v[every] for n, v in columns.items()} | {axis: points})
    base = along(points, every, np.full(len(points), -1), runs).reshape(count, len(grid))
    curves = {
        name: along(points, every, np.full(len(points), k), wiring.unmoved(runs, name)).reshape(
            count, len(grid)
        )
        for k, name in enumerate(names)
    }
    inside = {name: gain_factor(objective, base, curves[name]) >= wanted for name in names}
    crossings = _bisected(grid, [inside[name] for name in names], helps, declared.integer)
    spans: list[list[Span]] = [[] for _ in range(count)]
    for k, (name, quantity) in enumerate(inputs.items()):
        for row in range(count):
            mine = (crossings.of == k) & (crossings.rows == row)
            ends = (crossings.left[mine], crossings.right[mine], crossings.rising[mine])
            spans[row] += _spans(name, quantity.symbol or name, grid, inside[name][row], *ends)
    return [
        Regions(
            objective=objective.name,
            condition=objective.condition,
            axis=axis,
            axis_unit=wiring.quantities[axis].unit,
            unit=objective.unit,
            factor=rule.factor,
            threshold=rule.threshold,
            grid=grid,
            base=base[row],
            improved={name: values[row] for name, values in curves.items()},
            spans=tuple(spans[row]),
            regions=_cut(plan.low, plan.high, spans[row], declared),
        )
        for row in range(count)
    ]


def _grid(low: float, high: float, whole: bool) -> Array:
    """Return points along the axis, whole ones if only those are in its domain."""
    grid = np.geomspace(low, high, _GRID)
    grid[0], grid[-1] = low, high
    return np.unique(np.round(grid)) if whole else grid


def _without(objective: Objective, axis: str) -> Objective:
    """Return an objective that leaves the axis free, with the scenarios that then remain."""
    kept = {n: v for n, v in objective.conditions.items() if n != axis}
    several = [n for n, v in kept.items() if isinstance(v, tuple)]
    if not several:
        return replace(objective, conditions=kept, condition="", reduction=None)
    every = list(zip(*(kept[n] for n in several), strict=True))
    rows = dict.fromkeys(every, 0.0)
    reduction = objective.reduction
    if reduction is not None and reduction.weights:
        for row, weight in zip(every, reduction.weights, strict=True):
            rows[row] += weight
        reduction = replace(reduction, weights=tuple(rows.values()))
    columns = dict(zip(several, zip(*rows, strict=True), strict=True))
    words = f"{objective.reduction} over {', '.join(several)}"
    conditions = {**kept, **columns}
    return replace(objective, conditions=conditions, condition=words, reduction=reduction)


class _Crossings(NamedTuple):
    """Where inputs start or stop to help: input, design, points before and after, whether up."""

    of: NDArray[np.int64]
    rows: NDArray[np.int64]
    left: Array
    right: Array
    rising: NDArray[np.bool_]


def _bisected(
    grid: Array,
    inside: Sequence[NDArray[np.bool_]],
    helps: Callable[[Array, NDArray[np.int64], NDArray[np.int64]], NDArray[np.bool_]],
    whole: bool,
) -> _Crossings:
    """Return every crossing of every input, all bisected at once: models are run on few arrays.

    Parameters
    ----------
    inside : sequence of ndarray of bool, shape (designs, points)
        For each input, where on the grid it helps.
    """
    found = [np.nonzero(each[:, 1:] != each[:, :-1]) for each in inside]
    of = np.repeat(np.arange(len(found)), [len(rows) for rows, _ in found])
    none = np.zeros(0, dtype=np.int64)
    rows = np.concatenate([none, *(rows for rows, _ in found)])
    edges = np.concatenate([none, *(edges for _, edges in found)])
    left, right = grid[edges].copy(), grid[edges + 1].copy()
    rising = np.concatenate(
        [none.astype(bool), *(each[r, e + 1] for each, (r, e) in zip(inside, found, strict=True))]
    )
    open_ = np.arange(len(of))
    while len(open_):
        # a run on few points costs as much as one on many: several halvings are looked up in one
        ahead = min(max(int(np.log2(_TOGETHER / len(open_))), 1), _AHEAD)
        middles = _middles(left[open_], right[open_], whole, ahead)
        each = len(middles)
        given = np.tile(rows[open_], each), np.tile(of[open_], each)
        after = helps(middles.ravel(), *given).reshape(middles.shape) == rising[open_]
        node = np.zeros(len(open_), dtype=np.int64)
        for _ in range(ahead):
            x = middles[node, np.arange(len(open_))]
            inner = (x > left[open_]) & (x < right[open_])
            open_, node, x = open_[inner], node[inner], x[inner]
            middles, after = middles[:, inner], after[:, inner]
            before = after[node, np.arange(len(open_))]  # the crossing lies before the middle
            right[open_] = np.where(before, x, right[open_])
            left[open_] = np.where(before, left[open_], x)
            node = 2 * node + np.where(before, 1, 2)
    return _Crossings(of, rows, left, right, rising)


def _middles(left: Array, right: Array, whole: bool, ahead: int) -> Array:
    """Return where intervals are halved next, whichever half is taken (halvings, intervals).

    As a heap: the halves of the interval k are 2k + 1 and 2k + 2.
    """
    ends, middles = [(left, right)], []
    for k in range(2**ahead - 1):
        low, high = ends[k]
        middle = np.floor((low + high) / 2) if whole else np.sqrt(low * high)
        ends += [(low, middle), (middle, high)]
        middles.append(middle)
    return np.stack(middles)


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


def _cut(low: float, high: float, spans: Sequence[Span], axis: Quantity) -> tuple[Region, ...]:
    """Cut the axis where an input starts or stops to help."""
    edges = sorted({low, high, *(s.low for s in spans), *(s.high for s in spans)})
    regions: list[Region] = []
    for a, b in itertools.pairwise(edges):
        middle = float(np.sqrt(a * b))
        if axis.integer and b - a == 1 and not any(s.low <= middle <= s.high for s in spans):
            continue  # no whole number lies between
        active = [s for s in spans if s.low <= middle <= s.high]
        names = tuple(s.input for s in active)
        if regions and regions[-1].inputs == names:
            a = regions.pop().low
        shown = (show(a, axis.unit, axis), show(b, axis.unit, axis))
        symbols = [s.symbol for s in active]
        between = "" if all(len(symbol) == 1 for symbol in symbols) else " "  # "oC", but "W_s A"
        regions.append(Region(a, b, names, between.join(symbols), shown))
    return tuple(regions)
