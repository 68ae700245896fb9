"""Tables as spaces: designs that were evaluated elsewhere, each a row with all its columns.

A row is a design, and its number is the row's. Searches that sample from the unit cube, or value by
value, get the nearest row: numbers count by their distance in their range, texts by being equal or
not. Of rows with the same variables they get the first.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from dse.evaluate.space import Choice, Points, Real, Space, Values, Variable
from dse.model.quantity import Array

if TYPE_CHECKING:
    from scipy.spatial import cKDTree

ROW = ""
"""The key of the row among the `Points` of a table: no column has this name."""
_LISTED = 64  # a column with more different numbers is a range, and not a list of values
_EXACT = 2.0**53  # whole numbers are floats without loss up to there
_DECADES = 100.0  # the ratio of maximum to minimum from which a range is spread in the logarithm


@dataclass(frozen=True)
class TableSpace(Space):
    """The rows of a table.

    Parameters
    ----------
    variables : mapping of str to Variable
        The columns that distinguish designs; see `column_variable`.
    numbers : mapping of str to ndarray, shape (rows,)
        Every column of numbers, NaN where one is missing.
    texts : mapping of str to ndarray of str, shape (rows,)
        Every column of texts, empty where one is missing.
    """

    numbers: Mapping[str, Array]
    texts: Mapping[str, NDArray[Any]]

    @property
    def size(self) -> int:
        """How many rows there are."""
        return len(next(iter((self.numbers or self.texts).values())))

    def quantities(self) -> dict[str, str]:
        """Return the columns of numbers, each by its own name."""
        return {name: name for name in self.numbers}

    def digits(self, index: NDArray[np.int64]) -> dict[str, NDArray[np.int64]]:
        """Return the rows themselves."""
        return {ROW: np.asarray(index, dtype=np.int64)}

    def from_digits(self, digits: Mapping[str, NDArray[np.int64]]) -> Points:
        """Return the designs in these rows."""
        rows = digits[ROW]
        return {ROW: rows} | {name: self._values[name][rows] for name in self.variables}

    def to_index(self, points: Points) -> NDArray[np.int64]:
        """Return the rows of these designs."""
        return points[ROW]

    def from_unit(self, unit: Array) -> Points:
        """Return the rows that are nearest to points of the unit cube."""
        return self.from_index(self._nearest(unit))

    def to_unit(self, points: Points) -> Array:
        """Return points of the unit cube to which these rows are the nearest."""
        return np.asarray(self._unit[points[ROW]])

    def settled(self, unit: Array) -> tuple[Array, NDArray[np.uint64]]:
        """Return the points of the nearest rows, and the rows as codes."""
        rows = self._nearest(unit)
        return np.asarray(self._unit[rows]), rows.astype(np.uint64)

    def columns(self, points: Points) -> dict[str, Array]:
        """Return every column of numbers of these designs."""
        return {name: values[points[ROW]] for name, values in self.numbers.items()}

    def labels(self, points: Points) -> dict[str, NDArray[Any]]:
        """Return the variables of these designs as in the table, and other texts."""
        names = dict.fromkeys([*self.variables, *self.texts])
        return {name: self._labels[name][points[ROW]] for name in names}

    def from_labels(self, labels: Mapping[str, Any]) -> Points:
        """Return the rows that are nearest to values of the variables."""
        return self.from_unit(self._cube(super().from_labels(labels)))

    @cached_property
    def repeats(self) -> int:
        """How many rows have the same variables as an earlier one."""
        return self.size - len(self._distinct)

    @cached_property
    def _values(self) -> dict[str, NDArray[Any]]:
        """The values of each variable in `Points`: numbers, and indices of texts."""
        found: dict[str, NDArray[Any]] = {}
        for name, variable in self.variables.items():
            if isinstance(variable, Choice):
                place = {option: i for i, option in enumerate(variable.names)}
                found[name] = np.array([place[o] for o in self.texts[name]], dtype=np.int64)
            else:
                found[name] = self.numbers[name]
        return found

    @cached_property
    def _labels(self) -> dict[str, NDArray[Any]]:
        """Every column as people write it: whole numbers without a point."""
        return {name: _whole(values) for name, values in self.numbers.items()} | {**self.texts}

    @cached_property
    def _unit(self) -> Array:
        return self._cube(self._values)

    def _cube(self, points: Points) -> Array:
        """Return values as points of the unit cube; a missing one is in the middle."""
        if not self.variables:
            return np.zeros((self.size, 0))
        return np.clip(np.nan_to_num(super().to_unit(points), nan=0.5), 0.0, 1.0)

    @cached_property
    def _distinct(self) -> NDArray[np.int64]:
        """The first row of each combination of values, ascending."""
        if not self.variables:
            return np.arange(self.size)
        return np.sort(np.unique(self._unit, axis=0, return_index=True)[1])

    @cached_property
    def _tree(self) -> cKDTree:
        from scipy.spatial import cKDTree  # slow to import; only samplers of tables need it

        return cKDTree(self._placed(self._unit[self._distinct]))

    def _nearest(self, unit: Array) -> NDArray[np.int64]:
        if not self.variables:
            return np.arange(len(unit)) % self.size
        return np.asarray(self._distinct[self._tree.query(self._placed(unit))[1]])

    def _placed(self, unit: Array) -> Array:
        """Return points whose distances compare designs; different texts have the distance 1."""
        columns: list[Array] = []
        for i, variable in enumerate(self.variables.values()):
            if isinstance(variable, Choice):
                marks = np.eye(variable.count) * np.sqrt(0.5)
                columns.append(marks[variable.from_unit(unit[:, i])])
            else:
                columns.append(unit[:, i : i + 1])
        return np.concatenate(columns, axis=1)


def _whole(values: Array) -> NDArray[Any]:
    whole = np.isfinite(values).all() and np.abs(values).max() < _EXACT
    return values.astype(np.int64) if whole and (values == np.floor(values)).all() else values


def column_variable(values: NDArray[Any]) -> Variable:
    """Return a column as a variable: its texts, its numbers if they are few, or their range.

    Not all of the numbers are missing.
    """
    if values.dtype == object:
        return Choice({option: {} for option in sorted(set(values))})
    finite = values[np.isfinite(values)]
    levels = np.unique(finite)
    if len(levels) <= _LISTED:
        return Values(tuple(levels.tolist()))
    low, high = float(levels[0]), float(levels[-1])
    return Real(low, high, log=low > 0 and high >= _DECADES * low)
