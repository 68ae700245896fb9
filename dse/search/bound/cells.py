"""Cells: ranges of values of one variable, halved again and again; boxes of cells; tables.

The values of a variable are in ascending order. A cell of level s is the k-th run of 2**s values.
Of a continuum it is the k-th interval between 2**s + 1 neighbouring points of a grid. An interval
includes both its limits, and neighbouring intervals leave no gap.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray

from dse.evaluate.criteria import Conditions
from dse.evaluate.evaluator import Evaluator
from dse.evaluate.lookup_tables import combine_values
from dse.evaluate.model_graph import ModelGraph
from dse.evaluate.space import Choice, Real, Values, Variable
from dse.model.quantity import Array

T = TypeVar("T", bound=np.generic)

_FINEST = 30
"""A continuum is halved so many times at most: to a part in 10**9."""


def take_rows(values: NDArray[T], rows: Any) -> NDArray[T]:
    """Return some rows of an array: a view of a slice, else a copy, several times as fast."""
    if isinstance(rows, slice):
        return values[rows]
    return values.take(np.flatnonzero(rows) if rows.dtype == bool else rows, axis=0)


class Boxes(NamedTuple):
    """Boxes of designs: for each variable, the level of its cell, and which it is."""

    level: NDArray[np.signedinteger[Any]]
    cell: NDArray[np.signedinteger[Any]]

    def rows(self, rows: Any) -> Boxes:
        """Return some of the boxes: positions, or a mask."""
        return Boxes(take_rows(self.level, rows), take_rows(self.cell, rows))


class Bounds(NamedTuple):
    """The bounds of all designs of each box."""

    ideal: Array
    """No design has less in an objective, signed so that less is better. Shape (boxes,
    objectives)."""
    least: Array
    most: Array
    """The violation of each constraint lies between them. Shape (boxes, constraints)."""
    possible: NDArray[np.bool_]
    """False if no design of the box is feasible. Shape (boxes,)."""


@dataclass(frozen=True)
class Axis:
    """One variable, its values in ascending order."""

    name: str
    variable: Variable

    @property
    def continuous(self) -> bool:
        """Whether it is a continuum."""
        return self.variable.count is None

    @cached_property
    def count(self) -> int:
        """How many values there are; points of the grid of a continuum."""
        return self.variable.count or (1 << _FINEST) + 1

    @cached_property
    def top(self) -> int:
        """The level of the cell that holds all."""
        return _FINEST if self.continuous else max(self.count - 1, 0).bit_length()

    @cached_property
    def order(self) -> NDArray[np.int64]:
        """The positions of a finite variable's values, ascending by value."""
        if isinstance(self.variable, Values):
            return np.argsort(self.variable.levels(), kind="stable")
        return np.arange(self.count)

    @cached_property
    def starts(self) -> NDArray[np.int64]:
        """Where the cells of each level start in a finite variable's `build_pyramid`."""
        sizes = [(self.count + (1 << level) - 1) >> level for level in range(self.top + 1)]
        return np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)

    def index(self, boxes: Boxes, place: int) -> NDArray[np.int64]:
        """Return the indices of the boxes' cells in the pyramids of one axis."""
        return np.asarray(self.starts[boxes.level[:, place]] + boxes.cell[:, place])

    def ends(
        self, level: NDArray[np.int64], cell: NDArray[np.int64]
    ) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Return the first and the last place of cells, in ascending order of values."""
        first = cell << level
        if self.continuous:
            return first, (cell + 1) << level
        return first, np.minimum(((cell + 1) << level) - 1, self.count - 1)

    def at(self, place: NDArray[np.int64]) -> NDArray[Any]:
        """Return the values at places of the ascending order, as `Points` hold them."""
        if isinstance(self.variable, Real) and self.continuous:
            return self.variable.from_unit(place / float(1 << _FINEST))
        return self.variable.at(self.order[place])

    def quantities(self) -> dict[str, Array]:
        """Return what a finite variable's values set, ascending by value, by quantity name."""
        if isinstance(self.variable, Choice):
            return self.variable.columns(self.order)
        return {self.name: np.asarray(self.at(np.arange(self.count)), dtype=np.float64)}


def build_pyramid(values: Array, axis: int, extreme: Callable[..., Any]) -> Array:
    """Return an extreme, such as ``np.minimum``, over every cell of an axis.

    Cells of level 0 come first, then those of level 1, and so on. Along the axis, the values are in
    the ascending order of the variable.
    """
    level = np.moveaxis(values, axis, -1)
    levels = [level]
    while level.shape[-1] > 1:
        left, right = level[..., 0::2], level[..., 1::2]
        level = left.copy()
        level[..., : right.shape[-1]] = extreme(left[..., : right.shape[-1]], right)
        levels.append(level)
    return np.ascontiguousarray(np.moveaxis(np.concatenate(levels, axis=-1), -1, axis))


def find_extremes(grid: Array, axes: int, extreme: Callable[..., Any]) -> Array:
    """Return an extreme over all cells of the last axes."""
    for i in range(-axes, 0):
        grid = build_pyramid(grid, i, extreme)
    return grid


@dataclass(frozen=True)
class Extremes:
    """Extremes of a quantity over all cells of a few variables.

    NaN in a cell: one of its values is NaN. The `defined` extremes leave such values out; NaN there
    is a cell without any other value.
    """

    variables: tuple[int, ...]
    ends: tuple[Array, Array]
    defined: tuple[Array, Array]


# Tables: an output over all cells of the few variables that it depends on, with its extremes.

TABLE_ROWS = 1 << 17  # combinations beyond which there is no table
_TABLE_CELLS = 1 << 20  # combinations of cells beyond which there is none


def has_table(axes: Sequence[Axis], bound: Mapping[str, Any]) -> bool:
    """Return whether an output has a table over some variables, under some conditions."""
    width = max((len(v) for v in bound.values() if isinstance(v, tuple)), default=1)
    if any(axis.continuous for axis in axes):
        return False
    rows = math.prod(axis.count for axis in axes) * width
    return rows <= TABLE_ROWS and math.prod(2 * axis.count for axis in axes) * width <= _TABLE_CELLS


def tabulate_extremes(
    evaluator: Evaluator,
    request: tuple[str, Conditions],
    axes: Sequence[Axis],
    used: tuple[int, ...],
    until: float,
) -> Extremes | None:
    """Return the extremes of an output over all cells; None if the deadline comes first.

    The output depends on the `used` ones of all axes. No model is run after `until`, by
    `time.time`.

    Raises
    ------
    ModelError
        If a model raises.
    """
    shape = tuple(axes[i].count for i in used)
    rows, names = math.prod(shape), tuple(axes[i].name for i in used)
    columns = combine_values(evaluator.space, names, range(rows))
    value = evaluate_in_pieces(evaluator.model_graph, request, columns, rows, until)
    if value is None:
        return None
    grid = value.reshape((*value.shape[:-1], *shape))
    for place, i in enumerate(used, -len(used)):
        grid = grid.take(axes[i].order, axis=place)
    ends = find_extremes(grid, len(shape), np.minimum), find_extremes(grid, len(shape), np.maximum)
    if not np.isnan(grid).any():
        return Extremes(used, ends, ends)
    defined = find_extremes(grid, len(shape), np.fmin), find_extremes(grid, len(shape), np.fmax)
    return Extremes(used, ends, defined)


_PIECE = 1 << 12  # designs evaluated together, at most
_QUICK = 0.05  # seconds; a piece that takes longer is followed by none that is larger


def evaluate_in_pieces(
    model_graph: ModelGraph,
    request: tuple[str, Conditions],
    columns: Mapping[str, Any],
    rows: int,
    until: float = np.inf,
) -> Array | None:
    """Return a quantity for some designs; None if the time is over before.

    Columns have the shape (rows,), or are numbers; the result has (rows,) or (scenarios, rows).
    Without a deadline, by `time.time`, all designs are evaluated at once.
    """
    parts: list[Array] = []
    low, size = 0, rows if until == np.inf else 1
    while low < rows:
        began = time.time()
        if began > until:
            return None
        high = min(low + size, rows)
        some = {n: v[low:high] if np.ndim(v) else v for n, v in columns.items()}
        (value,) = model_graph.evaluate([request], some)
        value = np.asarray(value, dtype=np.float64)
        parts.append(np.broadcast_to(value, (*value.shape[:-1], high - low)))
        low = high
        if time.time() - began < _QUICK:
            size = min(8 * size, _PIECE)
    return np.concatenate(parts, axis=-1)
