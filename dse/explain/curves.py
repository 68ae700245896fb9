"""Along an input: curves of quantities with their best points, and optimization regions."""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Literal, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from dse.evaluate.criteria import Conditions, Objective
from dse.evaluate.evaluator import Evaluator
from dse.evaluate.input_variation import without_samples
from dse.evaluate.model_graph import Key, ModelGraph
from dse.explain.sensitivity import common_domain, gain_factor, improvable_inputs, improve_input
from dse.model.quantity import Array, Quantity
from dse.model.values import show, word_name
from dse.study.resolve.plots import CurvePlan, RegionsPlan
from dse.study.schema import BottleneckTable
from dse.study.study import ResolvedStudy

_GRID = 241  # points along the axis between which a cut-off is looked for
_PARTS = 16  # parts into which an interval with a cut-off is divided at once

# Curves --------------------------------------------------------------------------------------


Better: TypeAlias = Literal["lower", "higher"] | None


@dataclass(frozen=True)
class Line:
    """One quantity along a curve's axis; arrays have the shape (points,)."""

    quantity: str
    unit: str
    about: str
    values: Array
    low: Array | None  # of an interval, if models give ``<quantity>_low`` and ``<quantity>_high``
    high: Array | None
    better: Better = None  # as the objectives of the quantity say, else as it declares


@dataclass(frozen=True)
class Curve:
    """Quantities of one design along an axis, as the study's ``[[curve]]`` lists them."""

    name: str
    axis: str
    axis_unit: str
    axis_about: str
    here: float  # the design's own place on the axis; NaN if it has none
    grid: Array  # the axis, ascending
    log: bool  # whether the axis is better drawn in the logarithm
    lines: tuple[Line, ...]


class BestPoint(NamedTuple):
    """The best point of a line; NaN if no value is finite, or neither way is better."""

    word: str  # "least", "greatest", or "" if neither way is better
    value: float
    at: float
    here: float  # the value at the design; NaN if it has no place on the axis
    edge: bool  # whether the point is an end of the axis: a better one may be outside


def draw_curves(study: ResolvedStudy, one: Mapping[str, float]) -> tuple[Curve, ...]:
    """Return the curves of a design given by the quantities that the space sets."""
    return tuple(_curve(study, plan, one) for plan in study.curves)


def _curve(study: ResolvedStudy, plan: CurvePlan, one: Mapping[str, float]) -> Curve:
    model_graph = study.evaluator.model_graph
    here = float(one.get(plan.axis, model_graph.constants.get(plan.axis, np.nan)))
    grid = plan.grid
    if grid[0] <= here <= grid[-1]:
        grid = np.union1d(grid, here)  # so that the design itself has values on the curve
    columns = {n: np.asarray(v) for n, v in one.items()} | {plan.axis: grid}
    names = [
        (q, f"{q}_low", f"{q}_high")
        if f"{q}_low" in model_graph.producers and f"{q}_high" in model_graph.producers
        else (q,)
        for q in plan.quantities
    ]
    flat = [(name, plan.conditions) for group in names for name in group]
    answers = iter(model_graph.evaluate(flat, columns))
    lines = []
    for group in names:
        along = (np.asarray(next(answers), dtype=np.float64) for _ in group)
        drawn = [np.broadcast_to(values, grid.shape) for values in along]
        declared = model_graph.quantities[group[0]]
        low, high = (drawn[1], drawn[2]) if len(drawn) == 3 else (None, None)
        better = _better(study.evaluator, group[0])
        lines.append(Line(group[0], declared.unit, declared.about, drawn[0], low, high, better))
    axis = model_graph.quantities[plan.axis]
    return Curve(plan.name, plan.axis, axis.unit, axis.about, here, grid, plan.log, tuple(lines))


def _better(evaluator: Evaluator, quantity: str) -> Better:
    """Return which way a quantity is better; None if nothing says, or objectives disagree."""
    ways = {o.direction for o in evaluator.objectives if o.quantity == quantity}
    if len(ways) == 1:
        return "lower" if ways == {"minimize"} else "higher"
    return None if ways else evaluator.model_graph.quantities[quantity].better


def find_best_point(curve: Curve, line: Line) -> BestPoint:
    """Return the best finite value of a line among the points drawn, and the design's own."""
    here = np.flatnonzero(curve.grid == curve.here)
    now = float(line.values[here[0]]) if here.size else np.nan
    word = {"lower": "least", "higher": "greatest", None: ""}[line.better]
    finite = np.isfinite(line.values)
    if not word or not finite.any():
        return BestPoint(word, np.nan, np.nan, now, False)
    sign = 1.0 if line.better == "lower" else -1.0
    row = int(np.argmin(np.where(finite, sign * line.values, np.inf)))
    edge = row in (0, len(curve.grid) - 1)
    return BestPoint(word, float(line.values[row]), float(curve.grid[row]), now, edge)


# Optimization regions ------------------------------------------------------------------------


class Span(NamedTuple):
    """One interval of the axis, in its unit, on which an input is a bottleneck."""

    input: str
    symbol: str
    low: float
    high: float


@dataclass(frozen=True)
class Region:
    """An interval of the axis, in its unit, on which the same inputs are bottlenecks."""

    low: float
    high: float
    inputs: tuple[str, ...]
    label: str  # their symbols, such as "oC"
    shown: tuple[str, str]  # the bounds as texts, rounded to stay in the axis's domain

    @property
    def words(self) -> str:
        """The names of the bottlenecks in words."""
        return ", ".join(map(word_name, self.inputs)) or "no single input"


@dataclass(frozen=True)
class Regions:
    """The optimization regions of one design for one objective along one axis."""

    objective: str
    condition: str  # how scenarios that remain become one number
    axis: str
    axis_unit: str
    unit: str  # of the objective
    factor: float  # by which inputs improve (10)
    threshold: float  # the gain that counts (0.2)
    grid: Array
    base: Array  # the objective along the axis
    spans: tuple[Span, ...]
    regions: tuple[Region, ...]  # the axis cut into regions, ascending
    worth: float | None = None  # the value above which the objective is beneficial, if it has one

    @property
    def break_even(self) -> float | None:
        """The place on the axis from which the objective is beneficial; None without a crossing."""
        if self.worth is None:
            return None
        above = self.base >= self.worth
        rising = np.flatnonzero(~above[:-1] & above[1:])
        if not rising.size:
            return None
        i = int(rising[0])
        part = (self.worth - self.base[i]) / (self.base[i + 1] - self.base[i])
        return float(self.grid[i] * (self.grid[i + 1] / self.grid[i]) ** part)


def find_regions(
    evaluator: Evaluator, plan: RegionsPlan, rule: BottleneckTable, columns: Mapping[str, Array]
) -> list[Regions]:
    """Return the optimization regions of designs along an axis, with exact cut-offs.

    A cut-off is where the gain of an improved input crosses the threshold: bracketed on an even
    logarithmic grid, then narrowed to the last bit, all designs and inputs at once.

    `columns` are the quantities that the space sets, each of shape (designs,).
    """
    sweep = _Sweep.of(evaluator, plan, rule, columns)
    objective, inputs, axis = sweep.objective, sweep.inputs, sweep.axis
    count = len(next(iter(columns.values())))
    grid = np.geomspace(plan.low, plan.high, _GRID)
    grid[0], grid[-1] = plan.low, plan.high
    if axis.integer:
        grid = np.unique(np.round(grid))
    shape = (count, len(grid))
    rows, points = np.repeat(np.arange(count), len(grid)), np.tile(grid, count)
    runs = evaluator.model_graph.done(
        sweep.requests, {n: v[rows] for n, v in columns.items()} | {plan.axis: points}
    )
    none = np.full(len(points), -1)
    base = sweep.values(points, rows, none, runs).reshape(shape)
    improved = {
        name: sweep.values(
            points, rows, np.full(len(points), k), evaluator.model_graph.unmoved(runs, name)
        ).reshape(shape)
        for k, name in enumerate(inputs)
    }
    inside = {name: sweep.exceeds(base, values) for name, values in improved.items()}
    spans: list[list[Span]] = [[] for _ in range(count)]
    crossings = _narrow(sweep, grid, list(inside.values()))
    for k, (name, quantity) in enumerate(inputs.items()):
        for row in range(count):
            mine = (crossings.input == k) & (crossings.row == row)
            ends = (crossings.left[mine], crossings.right[mine], crossings.rising[mine])
            spans[row] += _spans(name, quantity.symbol or name, grid, inside[name][row], *ends)
    return [
        Regions(
            objective=objective.name,
            condition=objective.condition,
            axis=plan.axis,
            axis_unit=evaluator.model_graph.quantities[plan.axis].unit,
            unit=objective.unit,
            factor=rule.factor,
            threshold=rule.threshold,
            grid=grid,
            base=base[row],
            spans=tuple(spans[row]),
            regions=_cut(plan.low, plan.high, spans[row], axis),
            worth=objective.worth,
        )
        for row in range(count)
    ]


@dataclass(frozen=True)
class _Sweep:
    """The objective of designs along an axis, as it is and with an input improved."""

    model_graph: ModelGraph
    name: str
    axis: Quantity
    objective: Objective
    inputs: Mapping[str, Quantity]
    rule: BottleneckTable
    columns: Mapping[str, Array]

    @classmethod
    def of(
        cls,
        evaluator: Evaluator,
        plan: RegionsPlan,
        rule: BottleneckTable,
        columns: Mapping[str, Array],
    ) -> _Sweep:
        """Return the sweep of a plan: over the inputs that set the objective and not the axis."""
        model_graph = evaluator.model_graph
        objective = _without(without_samples(plan.objective), plan.axis)
        fixed = {*objective.conditions, plan.axis}
        inputs = {
            n: q
            for n, q in improvable_inputs(evaluator).items()
            if n not in fixed and (n in columns or n in model_graph.constants)
        }
        axis = common_domain(model_graph, plan.axis)
        return cls(model_graph, plan.axis, axis, objective, inputs, rule, columns)

    @property
    def requests(self) -> list[tuple[str, Conditions]]:
        return [(self.objective.quantity, self.objective.conditions)]

    def values(
        self,
        x: Array,
        rows: NDArray[np.int64],
        which: NDArray[np.int64],
        known: Mapping[Key, Mapping[str, Array]] | None = None,
    ) -> Array:
        """Return the objective of designs at points of the axis, each with one input improved.

        `which` is the position of the input; -1 for none. `known` as in `ModelGraph.evaluate`.
        """
        columns = {n: v[rows] for n, v in self.columns.items()} | {self.name: x}
        improved: dict[str, Array] = {}
        for k, name in enumerate(self.inputs):
            mine = which == k
            if mine.any():
                now = columns[name] if name in columns else self.model_graph.constants[name]
                values = np.array(np.broadcast_to(now, x.shape), dtype=np.float64)
                some = {n: v[mine] for n, v in columns.items()}
                values[mine] = improve_input(
                    self.model_graph, name, values[mine], self.rule.factor, some
                )
                improved[name] = values
        (value,) = self.model_graph.evaluate(self.requests, columns | improved, known)
        return self.objective.reduced(value, len(x))

    def exceeds(self, before: Array, after: Array) -> NDArray[np.bool_]:
        """Return whether an improvement gains as much as the rule's threshold."""
        gain = gain_factor(self.objective, before, after)
        return np.asarray(gain >= 1.0 + self.rule.threshold)

    def helps(
        self, x: Array, rows: NDArray[np.int64], which: NDArray[np.int64]
    ) -> NDArray[np.bool_]:
        """Return whether inputs are bottlenecks of designs at points of the axis."""
        both = np.concatenate([np.full(len(x), -1), which])
        values = self.values(np.tile(x, 2), np.tile(rows, 2), both)
        return self.exceeds(values[: len(x)], values[len(x) :])


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
    kept |= dict(zip(several, zip(*rows, strict=True), strict=True))
    words = f"{objective.reduction} over {', '.join(several)}"
    return replace(objective, conditions=kept, condition=words, reduction=reduction)


class _Crossings(NamedTuple):
    """Where inputs start or cease to be bottlenecks: the points before and after."""

    input: NDArray[np.int64]
    row: NDArray[np.int64]
    left: Array
    right: Array
    rising: NDArray[np.bool_]


def _narrow(sweep: _Sweep, grid: Array, inside: Sequence[NDArray[np.bool_]]) -> _Crossings:
    """Return every crossing of every input, narrowed to neighbouring numbers.

    Each step divides all open intervals into 16 parts at once: a model takes as long for few points
    as for many. `inside` tells for each input (designs, points) where on the grid it helps.
    """
    every = np.stack(inside) if inside else np.zeros((0, 1, len(grid)), dtype=bool)
    which, rows, edges = np.nonzero(every[:, :, 1:] != every[:, :, :-1])
    left, right = grid[edges].copy(), grid[edges + 1].copy()
    rising = every[which, rows, edges + 1]
    fractions = np.arange(1, _PARTS)[:, None] / _PARTS
    while True:
        inner = left + (right - left) * fractions
        inner = np.floor(inner) if sweep.axis.integer else inner
        open_ = ((inner > left) & (inner < right)).any(axis=0)
        if not open_.any():
            return _Crossings(which, rows, left, right, rising)
        inner = inner[:, open_]
        tiled = (np.tile(ids[open_], _PARTS - 1) for ids in (rows, which))
        after = sweep.helps(inner.ravel(), *tiled).reshape(inner.shape) == rising[open_]
        points = np.vstack([left[open_], inner, right[open_]])
        first = 1 + np.vstack([after, np.ones(inner.shape[1], dtype=bool)]).argmax(axis=0)
        columns = np.arange(inner.shape[1])
        left[open_], right[open_] = points[first - 1, columns], points[first, columns]


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
    starts = [*([grid[0]] if inside[0] else []), *right[rising]]
    ends = [*left[~rising], *([grid[-1]] if inside[-1] else [])]
    return [Span(name, symbol, float(a), float(b)) for a, b in zip(starts, ends, strict=True)]


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
