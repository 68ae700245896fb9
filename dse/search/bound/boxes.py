"""Boxes of designs: small ones to enumerate, their middles, and how the others are halved."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from dse.model.quantity import Array
from dse.search.bound.cells import Axis, Bounds, Boxes, take_rows
from dse.search.bound.cover import DOUBLINGS, Marks
from dse.search.bound.monotonicity import find_best_ends, find_unordered_variables
from dse.search.bound.ranges import Ranges

MEASURED = 4  # halvings after which the effect of each variable is measured again
Small: TypeAlias = NDArray[np.int8]
Widths: TypeAlias = NDArray[np.float32]
_KEPT = ("ideal", "widths", "age", "miss")  # the columns of a checkpoint, next to the boxes


@dataclass(frozen=True)
class OpenBoxes:
    """Boxes that are still to be looked at: columns with a row per box."""

    boxes: Boxes
    ideal: Array
    """Shape (boxes, objectives): no design of the box is better."""
    widths: Widths
    """Shape (boxes, variables): the part of the box's uncertainty that each variable makes."""
    age: Small
    """Halvings since the widths were measured."""
    miss: Small
    """How far the designs found are from covering the ideal, in doublings of the tolerance."""
    asked: Marks
    """The mark of the cover that was compared last."""

    def __len__(self) -> int:
        return len(self.age)

    @property
    def _columns(self) -> tuple[NDArray[Any], ...]:
        return self.ideal, self.widths, self.age, self.miss, self.asked

    def rows(self, rows: Any) -> OpenBoxes:
        """Return some of them: positions, or a mask."""
        if not isinstance(rows, slice) and rows.dtype == bool:
            rows = np.flatnonzero(rows)  # once for all columns
        columns = (take_rows(column, rows) for column in self._columns)
        return OpenBoxes(self.boxes.rows(rows), *columns)

    def arrays(self) -> dict[str, NDArray[Any]]:
        """Return them as arrays, for a checkpoint."""
        return {**self.boxes._asdict(), **{name: getattr(self, name) for name in _KEPT}}

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, NDArray[Any]]) -> OpenBoxes:
        """Return the boxes from `arrays`; the search checks all of them again against its cover."""
        boxes = Boxes(arrays["level"], arrays["cell"])
        ideal, widths, age, miss = (arrays[name] for name in _KEPT)
        return cls(boxes, ideal, widths, age, miss, make_unasked_marks(len(age)))

    def joined(self, other: OpenBoxes) -> OpenBoxes:
        """Return these and others."""
        boxes = Boxes(*map(np.concatenate, zip(self.boxes, other.boxes, strict=True)))
        return OpenBoxes(
            boxes, *map(np.concatenate, zip(self._columns, other._columns, strict=True))
        )


def make_unasked_marks(count: int) -> Marks:
    """Return the marks of new boxes, for which a cover was never asked."""
    return np.full(count, -1, dtype=np.int32)


def make_whole_box(root: Boxes, objectives: int) -> OpenBoxes:
    """Return one box as one of which nothing is known."""
    ideal, widths = np.full((1, objectives), -np.inf), np.ones(root.level.shape, dtype=np.float32)
    age, miss = (np.full(1, each, dtype=np.int8) for each in (MEASURED, DOUBLINGS))
    return OpenBoxes(root, ideal, widths, age, miss, make_unasked_marks(1))


def find_box_places(ranges: Ranges, boxes: Boxes) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return the first and the last place of each box along each variable (boxes, variables)."""
    first, last = np.empty_like(boxes.cell), np.empty_like(boxes.cell)
    for i, axis in enumerate(ranges.axes):
        first[:, i], last[:, i] = axis.ends(boxes.level[:, i], boxes.cell[:, i])
    return first, last


def count_box_designs(ranges: Ranges, boxes: Boxes) -> Array:
    """Return how many designs boxes hold; of a continuum, inf until a cell is the finest."""
    first, last = find_box_places(ranges, boxes)
    counts = (last - first + 1).astype(np.float64)
    for i, axis in enumerate(ranges.axes):
        if axis.continuous:
            counts[:, i] = np.where(boxes.level[:, i] == 0, 1.0, np.inf)
    return np.asarray(counts.prod(axis=1))


def space_fractions(ranges: Ranges, boxes: Boxes) -> Array:
    """Return which share of the space boxes are."""
    first, last = find_box_places(ranges, boxes)
    found = np.ones(len(first))
    for i, axis in enumerate(ranges.axes):
        width = last[:, i] - first[:, i] + (0 if axis.continuous else 1)
        found *= width / (axis.count - 1 if axis.continuous else axis.count)
    return found


def enumerate_designs(ranges: Ranges, boxes: Boxes) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return every design of small boxes as places (designs, variables), and of which box it is."""
    first, last = find_box_places(ranges, boxes)
    for i, axis in enumerate(ranges.axes):
        if axis.continuous:
            first[:, i] = last[:, i] = _point(axis, boxes.level[:, i], first[:, i])
    widths = last - first + 1
    counts = widths.prod(axis=1)
    box = np.repeat(np.arange(len(counts)), counts)
    rest = np.arange(len(box)) - np.repeat(np.cumsum(counts) - counts, counts)
    found = np.empty((len(box), widths.shape[1]), dtype=np.int64)
    for i in range(widths.shape[1] - 1, -1, -1):
        rest, digit = np.divmod(rest, widths[box, i])
        found[:, i] = first[box, i] + digit
    return found, box


def find_middles(ranges: Ranges, boxes: Boxes) -> NDArray[np.int64]:
    """Return the place in the middle of each box."""
    first, last = find_box_places(ranges, boxes)
    found = np.asarray(first + (last - first) // 2)
    for i, axis in enumerate(ranges.axes):
        if axis.continuous:
            found[:, i] = _point(axis, boxes.level[:, i], found[:, i])
    return found


def _point(axis: Axis, level: NDArray[Any], place: NDArray[Any]) -> NDArray[Any]:
    """Return places of a continuum; the finest cell at a bound represents the bound itself."""
    return np.where((level == 0) & (place == axis.count - 2), axis.count - 1, place)


def make_box_at_best_ends(ranges: Ranges) -> Boxes:
    """Return the box of every design, with variables of a known best value only at that value."""
    found = ranges.whole()
    for variable, end in find_best_ends(ranges).items():
        found = collapse_boxes(ranges, found, variable, float(end > 0))
    return found


def collapse_boxes(ranges: Ranges, boxes: Boxes, variable: int, share: float = 0.5) -> Boxes:
    """Return boxes with one variable at a value: the middle, the first (0) or the last (1)."""
    axis = ranges.axes[variable]
    first, last = axis.ends(boxes.level[:, variable], boxes.cell[:, variable])
    if axis.continuous:  # the last point of the grid is an end of the last cell
        last = np.minimum(last, axis.count - 2)
    level, cell = boxes.level.copy(), boxes.cell.copy()
    level[:, variable] = 0
    cell[:, variable] = first + ((last - first) * share).astype(cell.dtype)
    return Boxes(level, cell)


def halve_boxes(ranges: Ranges, boxes: Boxes, variable: NDArray[np.int64]) -> tuple[Boxes, Any]:
    """Return both halves of each box along a variable, and of which box each is.

    The second half of a cell at the end of a variable's values may be empty; it is left out.
    """
    rows = np.arange(len(variable))
    level, cell = boxes.level.copy(), boxes.cell.copy()
    level[rows, variable] -= 1
    cell[rows, variable] *= 2
    second = cell.copy()
    second[rows, variable] += 1
    ends = np.array([a.count - 1 if a.continuous else a.count for a in ranges.axes], dtype=np.int64)
    there = (second[rows, variable] << level[rows, variable]) < ends[variable]
    both = Boxes(np.concatenate([level, level[there]]), np.concatenate([cell, second[there]]))
    return both, np.concatenate([rows, rows[there]])


def measure_bound_change(before: Array, after: Array) -> Array:
    """Return the fraction by which bounds changed, at most 2; a change from infinity is 2."""
    with np.errstate(all="ignore"):
        share = np.abs(after - before) / np.maximum(np.abs(after), np.abs(before))
    share = np.where(before == after, 0.0, np.where(np.isfinite(share), share, 2.0))
    return np.asarray(np.minimum(share, 2.0))


def measure_variables(ranges: Ranges, bounds: Callable[[Boxes], Bounds], boxes: Boxes) -> Array:
    """Measure how the bounds of boxes change if a variable has one value, for each variable.

    Variables whose outputs are known only for single values are measured together too. All are
    bounded at once: to follow the models for one box costs as much as for a thousand.

    Returns
    -------
    ndarray, shape (boxes, variables)
        0 or more; -1 for a variable with one value.
    """
    before, free = bounds(boxes), boxes.level > 0
    undecided = np.where(before.most > 0, before.most / ranges.scales, 0.0)
    together = np.array(find_unordered_variables(ranges), dtype=np.int64)
    groups = [*np.arange(free.shape[1])[:, None], together]
    several = free[:, together].sum(axis=1) > 1
    group, rows = np.nonzero(np.vstack([free.T, several]))
    width = np.zeros(len(rows))
    for share in (0.5, 1.0, 0.0):  # of two choices, the middle may be the limiting one
        left = np.flatnonzero(width == 0)
        if not len(left):
            break
        own, edges = rows[left], np.searchsorted(group[left], np.arange(len(groups) + 1))
        single = boxes.rows(own)
        for variables, low, high in zip(groups, edges, edges[1:], strict=False):
            part = Boxes(single.level[low:high], single.cell[low:high])  # views
            for i in variables:
                part.level[:], part.cell[:] = collapse_boxes(ranges, part, i, share)
        after = bounds(single)
        change = measure_bound_change(before.ideal[own], after.ideal).sum(axis=1)
        tighter = _moved(ranges.scales, before.least[own], after.least)
        tighter += _moved(ranges.scales, before.most[own], after.most)
        change += (tighter * (undecided[own] > 0)).sum(axis=1)
        broken = (after.least > 0).any(axis=1)
        # a little, if all that it may be broken by is little
        part_broken = np.minimum(undecided[own].sum(axis=1), 1.0)
        width[left] = change + 4.0 * np.where(broken, part_broken, ~after.possible)
    widths = np.full((len(free), len(groups)), -1.0)
    widths[rows, group] = width
    found = np.where(free, widths[:, :-1] + 1e-6 * boxes.level, -1.0)
    found[:, together] = np.where(free, np.maximum(found, widths[:, -1:]), -1.0)[:, together]
    return found


def _moved(scale: Array, before: Array, after: Array) -> Array:
    """Return by how much violations changed relative to a scale; at most 2."""
    with np.errstate(all="ignore"):
        share = np.abs(after - before) / scale
    return np.minimum(np.where(before == after, 0.0, np.where(np.isnan(share), 2.0, share)), 2.0)


def design_numbers(ranges: Ranges, places: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return the numbers that the space gives to designs; `design_places` is the inverse."""
    found = np.zeros(len(places), dtype=np.int64)
    for axis, column in zip(ranges.axes, places.T, strict=True):
        found = found * axis.count + axis.order[column]
    return found


def design_places(ranges: Ranges, index: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return the places (designs, variables) of the designs with these numbers."""
    found = np.empty((len(index), len(ranges.axes)), dtype=np.int64)
    for i, digits in enumerate(ranges.evaluator.space.digits(index).values()):
        found[:, i] = np.argsort(ranges.axes[i].order)[digits]
    return found


def make_random_boxes(
    axes: tuple[Axis, ...], places: NDArray[np.int64], rng: np.random.Generator
) -> Boxes:
    """Return a random box around each design: of any size along each variable."""
    level = np.column_stack([rng.integers(0, axis.top + 1, len(places)) for axis in axes])
    cell = places >> level
    for i, axis in enumerate(axes):
        if axis.continuous:  # the last point of the grid is an end of the last cell
            last = ((axis.count - 1) >> level[:, i]) - 1
            cell[:, i] = np.minimum(cell[:, i], last)
    return Boxes(level, cell)
