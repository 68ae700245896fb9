"""Search spaces: variables that are numbers or catalog rows, as arrays of designs.

A *design* is one value for each variable. Finite spaces number their designs by mixed radix, the
last variable fastest, so that a range of indices decodes in a few vectorised steps.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

Points: TypeAlias = dict[str, NDArray[Any]]
"""Designs by variable: numbers, and for a `Choice` the position of the option."""


@dataclass(frozen=True)
class Real:
    """A number between two bounds, on a grid of `steps` values where that is given.

    Parameters
    ----------
    low, high : float
        Bounds, both included.
    log : bool
        Spread evenly in the logarithm.
    steps : int, optional
        How many evenly spread values; continuous where it is None.
    """

    low: float
    high: float
    log: bool = False
    steps: int | None = None

    @property
    def count(self) -> int | None:
        """How many values there are; None for a continuum."""
        return self.steps

    def levels(self) -> NDArray[np.float64]:
        """Return the values of the grid."""
        if self.steps is None:
            raise ValueError("a continuous variable has no levels")
        if self.log:
            grid = np.geomspace(self.low, self.high, self.steps)
            grid[0], grid[-1] = self.low, self.high
            return grid
        return np.linspace(self.low, self.high, self.steps)

    def from_unit(self, unit: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return values for coordinates in [0, 1)."""
        if self.steps is not None:
            return self.levels()[_level(unit, self.steps)]
        if self.log:
            values = np.exp(np.log(self.low) + unit * (np.log(self.high) - np.log(self.low)))
        else:
            values = self.low + unit * (self.high - self.low)
        return np.asarray(np.clip(values, self.low, self.high))

    def to_unit(self, values: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return coordinates in [0, 1) that decode to these values."""
        if self.steps is not None:
            return np.asarray((_nearest(self.levels(), values) + 0.5) / self.steps)
        if self.high == self.low:
            return np.zeros_like(values)
        if self.log:
            return np.asarray(np.log(values / self.low) / np.log(self.high / self.low))
        return (values - self.low) / (self.high - self.low)


@dataclass(frozen=True)
class Integer:
    """A whole number between two bounds, both included."""

    low: int
    high: int
    step: int = 1
    log: bool = False

    @property
    def count(self) -> int:
        """How many values there are."""
        return (self.high - self.low) // self.step + 1

    def levels(self) -> NDArray[np.float64]:
        """Return the values, ascending."""
        return np.arange(self.low, self.high + 1, self.step, dtype=np.float64)

    def from_unit(self, unit: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return values for coordinates in [0, 1)."""
        if self.log:
            values = np.exp(np.log(self.low) + unit * np.log((self.high + 1) / self.low))
            level = np.clip((np.floor(values) - self.low) // self.step, 0, self.count - 1)
        else:
            level = _level(unit, self.count)
        return np.asarray(self.low + self.step * level.astype(np.float64))

    def to_unit(self, values: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return coordinates in [0, 1) that decode to these values."""
        if self.log:
            return np.asarray(
                np.log((values + 0.5) / self.low) / np.log((self.high + 1) / self.low)
            )
        return np.asarray(((values - self.low) / self.step + 0.5) / self.count)


@dataclass(frozen=True)
class Values:
    """One of a list of numbers, in the order given."""

    values: tuple[float, ...]

    @property
    def count(self) -> int:
        """How many values there are."""
        return len(self.values)

    def levels(self) -> NDArray[np.float64]:
        """Return the values in their order."""
        return np.asarray(self.values, dtype=np.float64)

    def from_unit(self, unit: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return values for coordinates in [0, 1)."""
        return self.levels()[_level(unit, self.count)]

    def to_unit(self, values: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return coordinates in [0, 1) that decode to these values."""
        return (_nearest(self.levels(), values) + 0.5) / self.count


@dataclass(frozen=True)
class Choice:
    """One of several named rows, each of which sets several quantities together.

    Parameters
    ----------
    rows : mapping of str to mapping of str to float
        For each option, the quantities it sets, in their base units; all rows set the same ones.
    """

    rows: Mapping[str, Mapping[str, float]]

    @property
    def count(self) -> int:
        """How many options there are."""
        return len(self.rows)

    @property
    def names(self) -> tuple[str, ...]:
        """The options in order."""
        return tuple(self.rows)

    def levels(self) -> NDArray[np.int64]:
        """Return the positions of the options."""
        return np.arange(self.count)

    def from_unit(self, unit: NDArray[np.float64]) -> NDArray[np.int64]:
        """Return positions for coordinates in [0, 1)."""
        return _level(unit, self.count)

    def to_unit(self, values: NDArray[Any]) -> NDArray[np.float64]:
        """Return coordinates in [0, 1) that decode to these positions."""
        return (np.asarray(values, dtype=np.float64) + 0.5) / self.count

    def columns(self, position: NDArray[np.int64]) -> dict[str, NDArray[np.float64]]:
        """Return the quantities that the options at these positions set."""
        quantities = next(iter(self.rows.values()))
        return {
            name: np.array([row[name] for row in self.rows.values()], dtype=np.float64)[position]
            for name in quantities
        }


Variable: TypeAlias = Real | Integer | Values | Choice


@dataclass(frozen=True)
class Space:
    """Named variables, in order.

    Parameters
    ----------
    variables : mapping of str to Variable
        At least one.
    """

    variables: Mapping[str, Variable]

    @property
    def size(self) -> int | None:
        """How many designs there are; None where a variable is continuous."""
        counts = [v.count for v in self.variables.values()]
        return None if None in counts else math.prod(c for c in counts if c is not None)

    def quantities(self) -> dict[str, str]:
        """Return which variable sets which quantity (quantity → variable)."""
        owners: dict[str, str] = {}
        for name, variable in self.variables.items():
            if isinstance(variable, Choice):
                owners.update(dict.fromkeys(next(iter(variable.rows.values())), name))
            else:
                owners[name] = name
        return owners

    def digits(self, index: NDArray[np.int64]) -> dict[str, NDArray[np.int64]]:
        """Return for designs with these numbers the position of each variable's value.

        Raises
        ------
        ValueError
            For a space with a continuous variable.
        """
        found: dict[str, NDArray[np.int64]] = {}
        rest = np.asarray(index)
        for name, variable in reversed(tuple(self.variables.items())):
            if variable.count is None:
                raise ValueError(f"'{name}' is continuous: its designs have no numbers")
            rest, found[name] = np.divmod(rest, variable.count)
        return {name: found[name] for name in self.variables}

    def from_digits(self, digits: Mapping[str, NDArray[np.int64]]) -> Points:
        """Return the designs whose values stand at these positions."""
        return {
            name: digits[name] if isinstance(variable, Choice) else variable.levels()[digits[name]]
            for name, variable in self.variables.items()
        }

    def from_index(self, index: NDArray[np.int64]) -> Points:
        """Return the designs with these numbers; see `digits`."""
        return self.from_digits(self.digits(index))

    def to_index(self, points: Points) -> NDArray[np.int64]:
        """Return the numbers of these designs; the inverse of `from_index`."""
        index = np.zeros(len(next(iter(points.values()))), dtype=np.int64)
        for name, variable in self.variables.items():
            count = variable.count
            if count is None:
                raise ValueError(f"'{name}' is continuous: its designs have no numbers")
            values = points[name]
            digit = values if isinstance(variable, Choice) else _nearest(variable.levels(), values)
            index = index * count + digit
        return index

    def from_unit(self, unit: NDArray[np.float64]) -> Points:
        """Return the designs at points of the unit cube, an array (designs, variables)."""
        return {n: v.from_unit(unit[:, i]) for i, (n, v) in enumerate(self.variables.items())}

    def to_unit(self, points: Points) -> NDArray[np.float64]:
        """Return points of the unit cube that decode to these designs."""
        return np.column_stack([v.to_unit(points[n]) for n, v in self.variables.items()])

    def columns(self, points: Points) -> dict[str, NDArray[np.float64]]:
        """Return the quantities that these designs set, by quantity name."""
        columns: dict[str, NDArray[np.float64]] = {}
        for name, variable in self.variables.items():
            if isinstance(variable, Choice):
                columns.update(variable.columns(points[name]))
            else:
                columns[name] = points[name]
        return columns

    def labels(self, points: Points) -> dict[str, NDArray[Any]]:
        """Return the designs as people write them: numbers, and option names for choices."""
        labels: dict[str, NDArray[Any]] = {}
        for name, variable in self.variables.items():
            values = points[name]
            if isinstance(variable, Choice):
                labels[name] = np.array(variable.names, dtype=object)[values]
            elif isinstance(variable, Integer):
                labels[name] = values.astype(np.int64)
            else:
                labels[name] = values
        return labels

    def from_labels(self, labels: Mapping[str, Any]) -> Points:
        """Return designs from what `labels` gave; the inverse."""
        points: Points = {}
        for name, variable in self.variables.items():
            if isinstance(variable, Choice):
                position = {option: i for i, option in enumerate(variable.names)}
                points[name] = np.array([position[str(o)] for o in labels[name]], dtype=np.int64)
            else:
                points[name] = np.asarray(labels[name], dtype=np.float64)
        return points

    def snap(self, name: str, value: float) -> float:
        """Return the nearest allowed value of a numeric variable."""
        variable = self.variables[name]
        if isinstance(variable, Choice) or variable.count is None:
            return value
        if isinstance(variable, Integer):
            return value  # samplers draw whole numbers on the step already
        levels = variable.levels()
        return float(levels[_nearest(levels, np.array([value]))[0]])


def _level(unit: NDArray[np.float64], count: int) -> NDArray[np.int64]:
    return np.minimum((unit * count).astype(np.int64), count - 1)


def _nearest(levels: NDArray[np.float64], values: NDArray[Any]) -> NDArray[np.int64]:
    order = np.argsort(levels, kind="stable")
    ascending = levels[order]
    right = np.clip(np.searchsorted(ascending, values), 1, max(len(levels) - 1, 1))
    if len(levels) == 1:
        return np.zeros(len(values), dtype=np.int64)
    left = right - 1
    nearer_left = np.abs(values - ascending[left]) <= np.abs(ascending[right] - values)
    return order[np.where(nearer_left, left, right)]
