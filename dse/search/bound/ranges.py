"""Ranges through the model graph: between what objectives and constraints lie for a box of designs.

A *box* is a cell of each variable (`dse.search.bound.cells`). Ranges go through the models one by
one: a model that depends on few variables is tabulated with its extremes over all cells, which is
exact; else it is run at the corners that its declarations give (`dse.model.declarations`); of what
is not declared, the domain of the output is all that is known, until the input has one value.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from dse.evaluate.criteria import Conditions, Constraint, Objective, reduce_bounds
from dse.evaluate.evaluator import Evaluator
from dse.evaluate.failures import skip_errors
from dse.evaluate.model_graph import Key, call_model
from dse.evaluate.samples import SAMPLE
from dse.model.contract import Model
from dse.model.declarations import MARGIN
from dse.model.grammar import Call, Expression, Name, Number
from dse.model.quantity import Array, Quantity, Resource
from dse.model.relation import OPERATIONS, Relation
from dse.search.bound.cells import (
    Axis,
    Bounds,
    Boxes,
    Extremes,
    build_pyramid,
    has_table,
    tabulate_extremes,
)
from dse.search.workers import MODEL_PIECE, Workers

Side: TypeAlias = int
"""-1 for the least value, 1 for the greatest."""
_TOGETHER = 1 << 22  # boxes times scenarios that are bounded at once


@dataclass(frozen=True)
class Ranges:
    """Bounds of an evaluator's objectives and constraints over boxes."""

    evaluator: Evaluator
    until: float = np.inf
    """The `time.time` after which no table is made: declarations must then suffice."""
    elsewhere: Callable[..., Any] | None = None
    """Takes a function and its arguments, and returns its result: it runs in another process, for
    models that must not run in this one."""
    _tables: dict[tuple[Key, str], Extremes | None] = field(default_factory=dict)

    @cached_property
    def axes(self) -> tuple[Axis, ...]:
        """The variables in the space's order."""
        return tuple(Axis(n, v) for n, v in self.evaluator.space.variables.items())

    @cached_property
    def owners(self) -> dict[str, int]:
        """Which variable sets which quantity, by its place in the space's order."""
        places = {name: i for i, name in enumerate(self.evaluator.space.variables)}
        return {q: places[v] for q, v in self.evaluator.space.quantities().items()}

    @cached_property
    def cells(self) -> dict[str, tuple[Array, Array]]:
        """The extremes of what finite variables set, over all their cells."""
        return {
            name: (build_pyramid(values, 0, np.minimum), build_pyramid(values, 0, np.maximum))
            for axis in self.axes
            if not axis.continuous
            for name, values in axis.quantities().items()
        }

    def whole(self) -> Boxes:
        """Return the one box of all designs."""
        level = np.array([[axis.top for axis in self.axes]], dtype=np.int8)
        finest = max((axis.count for axis in self.axes), default=0)
        kind = np.int32 if finest < np.iinfo(np.int32).max // 2 else np.int64
        return Boxes(level, np.zeros(level.shape, dtype=kind))

    def __call__(self, boxes: Boxes) -> Bounds:
        """Return what is known of the designs of boxes.

        Raises
        ------
        ModelError
            If a model raises.
        """
        if self.elsewhere is None:
            most = max(1, min(_TOGETHER // self.evaluator.scenarios, MODEL_PIECE))
            if len(boxes.level) <= most:
                return Walk(self, boxes).bounds()
            parts = [self(boxes.rows(slice(i, i + most))) for i in range(0, len(boxes.level), most)]
            return Bounds(*map(np.concatenate, zip(*parts, strict=True)))
        self._make_tables()
        bounds: Bounds = self.elsewhere(self._here, boxes)
        return bounds

    @cached_property
    def _here(self) -> Ranges:
        """The same, run where it is called."""
        return Ranges(self.evaluator, self.until, None, self._tables)

    @cached_property
    def scales(self) -> Array:
        """The scale of each constraint, with which its violations are compared."""
        whole = self(self.whole())
        extent = np.nan_to_num(whole.most[0] - whole.least[0], nan=1.0, posinf=1.0)
        bounds = np.abs([float(c.bound) for c in self.evaluator.constraints])
        return np.where(bounds > 0, bounds, np.where(extent > 0, extent, 1.0))

    def points(self, places: NDArray[np.int64]) -> dict[str, NDArray[Any]]:
        """Return the designs at places (designs, variables) of the ascending orders."""
        return {axis.name: axis.at(places[:, i]) for i, axis in enumerate(self.axes)}

    def table(self, key: Key, name: str) -> Extremes | None:
        """Return the table of a model's output under some conditions; None if it is too large."""
        self._make_tables()
        if (key, name) not in self._tables and self.elsewhere is None:
            self._tables[key, name] = self._tabulated(key, name)
        return self._tables.get((key, name))

    def _make_tables(self) -> None:
        """Make all tables at once, if models are not to run in this process."""
        if self.elsewhere is not None and not self._tables:
            self._tables.update(self.elsewhere(_tables, self._here))

    def tables(self) -> Mapping[tuple[Key, str], Extremes | None]:
        """Return the tables that were needed so far; None for a table that is too large."""
        return self._tables

    def variables(self, names: Iterable[str]) -> tuple[int, ...]:
        """Return which variables set some quantities, in the space's order."""
        return tuple(sorted({self.owners[name] for name in names if name in self.owners}))

    def is_tabled(self, key: Key, name: str) -> bool:
        """Return whether an output has a table, or will have one at its first use."""
        if (key, name) in self._tables:
            return self._tables[key, name] is not None
        return self._fitting(key) is not None

    def _fitting(self, key: Key) -> tuple[int, ...] | None:
        """Return the variables of a model's table; None if it would be too large."""
        bound = dict(key[1])
        upstream = self.evaluator.model_graph.upstream[key[0]]
        used = self.variables(n for n in upstream if n not in bound)
        return used if has_table([self.axes[i] for i in used], bound) else None

    def _tabulated(self, key: Key, name: str) -> Extremes | None:
        used = self._fitting(key)
        if used is None:
            return None
        request = name, dict(key[1])
        return tabulate_extremes(self.evaluator, request, self.axes, used, self.until)

    @cached_property
    def _sampled_cells(self) -> dict[str, tuple[Array, Array]]:
        """The extremes of uncertain quantities of entries in each sample, over all their cells."""
        axes = {axis.name: axis for axis in self.axes}
        cells = {}
        for name, spread in self.evaluator.model_graph.spread.items():
            if spread.variable:
                values = spread.values[:, axes[spread.variable].order]
                ends = (build_pyramid(values, 1, np.minimum), build_pyramid(values, 1, np.maximum))
                cells[name] = ends
        return cells

    def sampled_end(self, name: str, side: Side, samples: Any, boxes: Boxes) -> Array:
        """Return the least or the greatest of an uncertain quantity in each sample and box."""
        spread = self.evaluator.model_graph.spread[name]
        if not spread.variable:
            return np.asarray(spread(samples, {}, spread.middle))
        place = self.owners[name]
        cells = self._sampled_cells[name][side > 0]
        rows, columns = np.asarray(samples, dtype=np.int64), self.axes[place].index(boxes, place)
        return np.asarray(cells[rows][:, columns])


def _tables(ranges: Ranges) -> Mapping[tuple[Key, str], Extremes | None]:
    """Return all tables: the box of all designs asks for each."""
    ranges(ranges.whole())
    return ranges.tables()


class Walk:
    """A batch of boxes on its way through the model graph; each bound is computed once."""

    def __init__(self, ranges: Ranges, boxes: Boxes) -> None:
        self._ranges, self._boxes = ranges, boxes
        self._model_graph = ranges.evaluator.model_graph
        self._ends: dict[tuple[Any, ...], Any] = {}
        self._runs: dict[tuple[Any, ...], Mapping[str, Array]] = {}
        self._own: dict[tuple[str, Side], Array] = {}
        self._places: dict[int, NDArray[np.int64]] = {}
        self._empty = np.zeros(len(boxes.level), dtype=bool)

    def bounds(self) -> Bounds:
        """Return what is known of the designs of each box."""
        evaluator, count = self._ranges.evaluator, len(self._boxes.level)
        ideal = np.empty((count, len(evaluator.objectives)))
        least, most = np.empty((2, count, len(evaluator.constraints)))
        with np.errstate(all="ignore"):
            for i, objective in enumerate(evaluator.objectives):
                side = -1 if objective.sign > 0 else 1
                value = self._asked(objective.quantity, objective, side)
                ideal[:, i] = objective.sign * self._reduced(objective, value, count)
            for k, constraint in enumerate(evaluator.constraints):
                least[:, k], most[:, k] = self._violation(constraint, count)
        ideal[np.isnan(ideal)] = -np.inf
        least[np.isnan(least)], most[np.isnan(most)] = -np.inf, np.inf
        return Bounds(ideal, least, most, ~self._empty & (least <= 0).all(axis=1))

    def _reduced(self, objective: Objective, value: Any, count: int) -> Array:
        """Return a bound of an objective from a bound of its terms."""
        reduction, given = objective.reduction, objective.conditions
        quantity = self._model_graph.quantities[objective.quantity]
        low: Any = max(quantity.low, quantity.above)
        if reduction is not None and not reduction.rises(low):
            low = self._asked(objective.quantity, objective, -1)
        return reduce_bounds(value, low, given, reduction, count)

    def _violation(self, constraint: Constraint, count: int) -> tuple[Array, Array]:
        given = constraint.conditions
        pairs = {n: tuple(self._asked(n, constraint, s) for s in (-1, 1)) for n in constraint.names}
        if constraint.relation is not None:
            ends = violation_range(constraint.relation, pairs)
        else:
            ends = pairs[constraint.quantity]
        reduction, least = constraint.reduction, ends[0]
        low, high = (reduce_bounds(end, least, given, reduction, count) for end in ends)
        low, high = constraint.violation(low), constraint.violation(high)
        return (low, high) if constraint.upper else (high, low)

    def _asked(self, name: str, criterion: Objective | Constraint, side: Side) -> Any:
        """Return a bound of an objective or constraint; a design without a value is infeasible."""
        conditions, reduction = criterion.conditions, criterion.reduction
        producer = self._model_graph.producers.get(name)
        if name not in conditions and producer is not None:
            _, key = self._model_graph.relevant(producer, conditions)
            table = self._ranges.table(key, name)
            if table is not None:
                found = self._looked_up(table.variables, table.defined[side > 0])
                none = np.isnan(found)
                if none.ndim > 1:  # one row is of all scenarios
                    first = reduction.first if reduction is not None and len(none) > 1 else 0
                    none = np.asarray(none[first:].any(axis=0))
                self._empty |= none
                return found
        return self.end(name, conditions, side)

    def end(self, name: str, conditions: Conditions, side: Side) -> Any:
        """Return the least or the greatest value of a quantity in each box, or a bound of it."""
        if name in conditions:
            bound = conditions[name]
            return np.array(bound)[:, None] if isinstance(bound, tuple) else bound
        producer = self._model_graph.producers.get(name)
        if producer is None:
            if name in self._model_graph.spread and SAMPLE in conditions:
                return self._ranges.sampled_end(name, side, conditions[SAMPLE], self._boxes)
            own = name in self._ranges.owners
            return self._set(name, side) if own else self._model_graph.constants[name]
        relevant, key = self._model_graph.relevant(producer, conditions)
        found = self._ends.get((name, key, side))
        if found is None:
            table = self._ranges.table(key, name)
            if table is not None:
                found = self._looked_up(table.variables, table.ends[side > 0])
            else:
                found = self._at_corner(producer, name, relevant, key, side)
            self._ends[name, key, side] = found
        return found

    def _set(self, name: str, side: Side) -> Array:
        """Return a bound of a quantity that a variable sets in each box."""
        if (name, side) in self._own:
            return self._own[name, side]
        place = self._ranges.owners[name]
        axis = self._ranges.axes[place]
        if axis.continuous:
            level, cell = self._boxes.level[:, place], self._boxes.cell[:, place]
            end = axis.ends(level, cell)[side > 0]
            if side > 0:  # the finest cells are points, or the halving of a jump would never end
                end = np.where((level == 0) & (end < axis.count - 1), cell, end)
            value = np.asarray(axis.at(end), dtype=np.float64)
        else:
            value = self._ranges.cells[name][side > 0][self._index(place)]
        self._own[name, side] = value
        return value

    def _index(self, variable: int) -> NDArray[np.int64]:
        """Return the indices of the cells of a finite variable in its pyramids."""
        if variable not in self._places:
            self._places[variable] = self._ranges.axes[variable].index(self._boxes, variable)
        return self._places[variable]

    def _looked_up(self, variables: tuple[int, ...], values: Array) -> Array:
        rows: tuple[Any, ...] = tuple(self._index(i) for i in variables)
        return np.asarray(values[(..., *rows)] if rows else values[..., None])

    def _at_corner(
        self, model: Model, name: str, conditions: Conditions, key: Key, side: Side
    ) -> Array:
        """Return an output at the corner that its moves give; its domain if they do not.

        A floor that is declared counts if it is more.
        """
        outside = domain_end(self._model_graph.quantities[name], side)
        found: Any = self._of(model, name, conditions, key, side, outside)
        if side < 0:
            for place, floor in enumerate(model.lower_bounds.get(name, ())):
                own = (key, name, place)
                found = np.maximum(found, self._of(floor, name, conditions, own, side, outside))
        return np.asarray(found)

    def _of(
        self, model: Model, name: str, conditions: Conditions, key: Any, side: Side, outside: float
    ) -> Array:
        taken, unknown, pattern = self.corner(model, name, conditions, side)
        run = (key, pattern)
        if run not in self._runs:
            self._runs[run] = self._run(model, taken, unknown)
        value = np.asarray(self._runs[run][name], dtype=np.float64)
        margin = np.where(np.isinf(value), 0.0, MARGIN * np.abs(value))  # never is never
        value = value + side * margin
        if self._model_graph.quantities[name].integer:  # the domain has only whole numbers
            value = np.ceil(value) if side < 0 else np.floor(value)
        return np.where(unknown | np.isnan(value), outside, value)

    def floor(self, floor: Model, name: str, conditions: Conditions, row: int) -> float:
        """Return what an output is never below in the first box, in a scenario."""
        taken, unknown, _ = self.corner(floor, name, conditions, -1)
        value = np.where(unknown, -np.inf, call_model(floor, taken)[name]).ravel()
        least = float(value[min(row, value.size - 1)])
        return least if np.isinf(least) else least - MARGIN * abs(least)

    def _run(
        self, model: Model, taken: Mapping[str, Any], unknown: NDArray[np.bool_]
    ) -> Mapping[str, Array]:
        """Run a model at the corners of those boxes of which it is known that they are corners."""
        count = len(self._boxes.level)
        left = ~unknown.all(axis=tuple(range(unknown.ndim - 1)))
        if left.all():
            return call_model(model, taken)
        rows = np.flatnonzero(np.broadcast_to(left, count))
        some = {n: _last(v, rows, count) for n, v in taken.items()}
        found = (
            call_model(model, some) if len(rows) else dict.fromkeys(model.outputs, np.array(np.nan))
        )
        whole = {}
        for name, value in found.items():
            whole[name] = np.full((*np.shape(value)[:-1], count), np.nan)
            whole[name][..., rows] = value
        return whole

    def corner(
        self, model: Model, name: str, conditions: Conditions, side: Side
    ) -> tuple[dict[str, Any], NDArray[np.bool_], tuple[Side | None, ...]]:
        """Return the inputs at which an output has its least or greatest value in each box.

        Then whether that is not known, since an input without a declared move has several values;
        and which end of each input it is.
        """
        moves = model.monotonic.get(name, {})
        origins = (conditions, self._model_graph.producers, self._model_graph.constants)
        taken, unknown = {}, np.zeros(1, dtype=bool)
        pattern: list[Side | None] = []
        for each, declared in model.inputs.items():
            known = any(each in origin for origin in origins)
            if not known and each not in self._ranges.owners:
                continue  # left to its default
            if isinstance(declared, Resource):
                taken[each] = self._model_graph.constants[each]
                continue
            move = moves.get(each)
            given = self._taken(each, conditions, model, side * move if move else -1)
            if move is None:
                other = self._taken(each, conditions, model, 1)
                unknown = unknown | ~np.atleast_1d(np.asarray(given) == other)
            taken[each] = given
            pattern.append(side * move if move else move)
        return taken, unknown, tuple(pattern)

    def _taken(self, name: str, conditions: Conditions, model: Model, side: Side) -> Any:
        """Return an end of an input in the unit that a model takes it in."""
        given = self.end(name, conditions, side)
        conversions = self._model_graph.conversions[model.name]
        if name in conversions:
            scale, power = conversions[name]
            given = given * scale
            if power:  # a negative time or rate moves against the clock's power
                ends = (self.end("clock", conditions, end) for end in (-1, 1))
                low, high = (np.asarray(end, np.float64) ** power for end in ends)
                most = np.less(given, 0) == (side * power < 0)
                given = given * np.where(most, high, low)
        return given


def _last(value: Any, rows: NDArray[np.intp], count: int) -> Any:
    """Return some of a column's rows; a value for all rows stays as it is."""
    return value[..., rows] if np.ndim(value) and np.shape(value)[-1] == count else value


def make_ranges(evaluator: Evaluator, workers: Workers) -> Ranges:
    """Return the bounds of a search.

    A design that a model raises for is to be judged, and so counted: no table leaves it out. If
    processes work, models run in one of them.
    """
    until = 0.0 if evaluator.on_error == "skip" else workers.midway
    elsewhere = workers.call if workers.backend == "loky" else None
    return Ranges(skip_errors(evaluator), until, elsewhere)


# Relations over ranges: bounds of a relation's violation from bounds of its quantities.

Range: TypeAlias = tuple[Any, Any]
"""The least and the greatest value."""
_ROUNDING = 4 * float(np.finfo(np.float64).eps)


def violation_range(relation: Relation, ranges: Mapping[str, Range]) -> tuple[Array, Array]:
    """Return between what the violation of a relation lies; see `Relation.violation`.

    Each name has a range; equal ends for a value that is known.
    """
    with np.errstate(all="ignore"):
        left, right = (_range(node, ranges) for node in (relation.sides.left, relation.sides.right))
        if relation.sides.sign.startswith(">"):
            left, right = right, left
        low, high = _difference(left, right)
        if relation.sides.sign == "==":
            low, high = _magnitude((low, high))
            if relation.slack:  # of the lesser side
                sizes = zip(_magnitude(left), _magnitude(right), strict=True)
                least, most = (relation.slack * np.minimum(*ends) for ends in sizes)
                touch, (low, high) = low == 0, _outwards(low - most, high - least)
                high = np.where(touch, np.maximum(high, 0.0), high)  # sides that are equal: 0
        if relation.strict:  # equality breaks it by the least positive number
            tiny = np.finfo(np.float64).tiny
            low, high = np.where(low == 0, tiny, low), np.where(high == 0, tiny, high)
    # NaN says nothing
    return np.where(np.isnan(low), -np.inf, low), np.where(np.isnan(high), np.inf, high)


def _difference(left: Range, right: Range) -> Range:
    """Return the difference of two ranges; of equal infinities it is 0, as for a relation."""
    low, high = left[0] - right[1], left[1] - right[0]
    return np.where(left[0] == right[1], 0.0, low), np.where(left[1] == right[0], 0.0, high)


def _magnitude(range_: Range) -> Range:
    low, high = range_
    ends = np.abs(low), np.abs(high)
    inside = (low <= 0) & (high >= 0)
    return np.where(inside, 0.0, np.minimum(*ends)), np.maximum(*ends)


def _range(node: Expression, ranges: Mapping[str, Range]) -> Range:
    match node:
        case Number(written=number):
            return np.float64(number), np.float64(number)
        case Name(name=name):
            return ranges[name]
        case Call(function=function, parts=parts):
            return _operation_range(function, [_range(part, ranges) for part in parts])
    raise AssertionError(node)


def _operation_range(function: str, parts: list[Range]) -> Range:
    match function:
        case "+":
            (left_low, left_high), (right_low, right_high) = parts
            return _outwards(left_low + right_low, left_high + right_high)
        case "-":
            (left_low, left_high), (right_low, right_high) = parts
            return _outwards(left_low - right_high, left_high - right_low)
        case "negative":
            return -parts[0][1], -parts[0][0]
        case "abs":
            return _magnitude(parts[0])
        case "*":
            return _outwards(*_corners(np.multiply, *parts))
        case "/" | "//" | "**" | "%":
            return _partial_range(function, *parts)
    # each other function rises
    low, high = (OPERATIONS[function](*(part[side] for part in parts)) for side in (0, 1))
    return (low, high) if function in ("ceil", "floor", "max", "min") else _outwards(low, high)


def _partial_range(function: str, left: Range, right: Range) -> Range:
    """Return the range of an operation that is monotonic only on a part of its domain."""
    known = (left[0] == left[1]) & (right[0] == right[1])
    if function == "%":
        value = np.mod(left[0], right[0])
        return _or_unknown(known, (value, value))
    sound = left[0] > 0 if function == "**" else (right[0] > 0) | (right[1] < 0)
    return _or_unknown(known | sound, _outwards(*_corners(OPERATIONS[function], left, right)))


def _corners(function: Callable[..., Any], left: Range, right: Range) -> Range:
    values = [function(a, b) for a in left for b in right]
    low, high = values[0], values[0]
    for value in values[1:]:  # NaN, of 0 times infinity, stays: it says nothing
        low, high = np.minimum(low, value), np.maximum(high, value)
    return low, high


def _outwards(low: Any, high: Any) -> Range:
    """Widen a range by rounding; one of equal ends is a value, computed as the relation does."""
    same = low == high
    return (
        np.where(same, low, low - _ROUNDING * np.abs(low)),
        np.where(same, high, high + _ROUNDING * np.abs(high)),
    )


def _or_unknown(sound: Any, range_: Range) -> Range:
    return np.where(sound, range_[0], -np.inf), np.where(sound, range_[1], np.inf)


def domain_end(quantity: Quantity, side: int) -> float:
    """Return the least value of a declared domain (side -1), or the greatest (side 1)."""
    if side < 0:
        return max(quantity.low, quantity.above)
    return min(quantity.high, quantity.below)
