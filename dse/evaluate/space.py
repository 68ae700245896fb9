"""Search spaces: variables that are numbers or catalog entries, as arrays of designs.

A *design* is one value for each variable. Finite spaces number their designs by mixed radix, the
last variable fastest. A range of numbers is thus decoded in a few vectorised steps.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from dse.model.quantity import Array, Quantity

# Variables ----------------------------------------------------------------------------------------


SUBSET = "parts chosen"
"""The word for an option of a variable that selects named parts."""

Positions: TypeAlias = NDArray[np.int64]
"""Indices into a variable's values, from 0."""
_EQUAL = 1e-9  # relative: a number that is written with fewer digits is the same value


@dataclass(frozen=True)
class _Grid(ABC):
    """What all variables share: indices of values, and the cells that these have in [0, 1]."""

    @property
    @abstractmethod
    def count(self) -> Any:
        """How many values there are; None for a continuum."""

    @abstractmethod
    def at(self, position: Positions) -> NDArray[Any]:
        """Return the values at these indices."""

    @abstractmethod
    def position(self, values: NDArray[Any]) -> Positions:
        """Return the indices of the nearest values."""

    def place(self, unit: Array) -> Positions:
        """Return the indices of the cells with these coordinates in [0, 1]."""
        return np.asarray(np.minimum((unit * self.count).astype(np.int64), self.count - 1))

    def middle(self, position: Positions) -> Array:
        """Return the coordinates that represent these indices: the middles of their cells."""
        return np.asarray((position + 0.5) / self.count)

    def from_unit(self, unit: Array) -> NDArray[Any]:
        """Return values for coordinates in [0, 1]."""
        return self.at(self.place(unit))

    def to_unit(self, values: NDArray[Any]) -> Array:
        """Return coordinates in [0, 1] that decode to these values."""
        return self.middle(self.position(values))


@dataclass(frozen=True)
class Real(_Grid):
    """A number between two bounds, both included."""

    low: float
    high: float
    log: bool = False
    """Whether values are spread evenly in the logarithm."""
    steps: int | None = None
    """The number of evenly spread values; continuous if it is None."""

    @property
    def count(self) -> int | None:
        """How many values there are; None for a continuum."""
        return self.steps

    def levels(self) -> Array:
        """Return the values of the grid, ascending; read-only."""
        return self._grid

    @cached_property
    def _grid(self) -> Array:
        if self.steps is None:
            raise ValueError("a continuous variable has no levels")
        spread = np.geomspace if self.log else np.linspace
        grid = np.asarray(spread(self.low, self.high, self.steps), dtype=np.float64)
        grid[-1], grid[0] = self.high, self.low  # to the last bit
        grid.flags.writeable = False  # it is kept
        return grid

    def at(self, position: Positions) -> Array:
        """Return the values at these indices of the grid."""
        return self.levels()[position]

    def position(self, values: NDArray[Any]) -> Positions:
        """Return the indices of the nearest values of the grid."""
        return _nearest(self.levels(), values)

    def from_unit(self, unit: Array) -> Array:
        """Return values for coordinates in [0, 1]."""
        if self.steps is not None:
            return super().from_unit(unit)
        if self.log:
            values = np.exp(np.log(self.low) + unit * (np.log(self.high) - np.log(self.low)))
        else:
            values = self.low * (1.0 - unit) + self.high * unit
        values = np.clip(values, self.low, self.high)
        # exact bounds: optima are often there
        return np.where(unit <= 0.0, self.low, np.where(unit >= 1.0, self.high, values))

    def to_unit(self, values: NDArray[Any]) -> Array:
        """Return coordinates in [0, 1] that decode to these values."""
        if self.steps is not None:
            return super().to_unit(values)
        if self.high == self.low:
            return np.zeros(np.shape(values))
        ends = np.array([self.low, self.high])
        if self.log:
            values, ends = np.log(values), np.log(ends)
        # halved: the widest range must not overflow
        return np.asarray((values / 2 - ends[0] / 2) / (ends[1] / 2 - ends[0] / 2))


@dataclass(frozen=True)
class Integer(_Grid):
    """A whole number between two bounds, in steps from the lower one."""

    low: int
    """The lower bound, included."""
    high: int
    """The upper bound, included; the highest value is the last step that is not beyond it."""
    step: int = 1
    """The difference of neighbouring values."""
    log: bool = False
    """Whether samplers spread evenly in the logarithm; the values are the same."""

    @property
    def count(self) -> int:
        """How many values there are."""
        return (self.high - self.low) // self.step + 1

    def levels(self) -> Array:
        """Return the values, ascending."""
        return self.at(np.arange(self.count))

    def at(self, position: Positions) -> Array:
        """Return the values at these indices."""
        return np.asarray(position, dtype=np.float64) * self.step + self.low

    def position(self, values: NDArray[Any]) -> Positions:
        """Return the indices of the nearest values; of the lesser one of two."""
        steps = np.ceil((np.asarray(values) - self.low) / self.step - 0.5)
        return np.asarray(np.clip(steps, 0, self.count - 1).astype(np.int64))

    def place(self, unit: Array) -> Positions:
        """Return the indices of the cells with these coordinates in [0, 1]."""
        if not self.log:
            return super().place(unit)
        values = np.exp(np.log(self.low) + unit * np.log((self.high + 1) / self.low))
        steps = (np.floor(values) - self.low) / self.step  # cut below: // takes three times as long
        return np.asarray(np.clip(steps, 0, self.count - 1).astype(np.int64))

    def middle(self, position: Positions) -> Array:
        """Return the coordinates that represent these indices: the middles of their cells."""
        if not self.log:
            return super().middle(position)
        values = self.at(position)
        return np.asarray(np.log((values + 0.5) / self.low) / np.log((self.high + 1) / self.low))


@dataclass(frozen=True)
class Values(_Grid):
    """One of a list of numbers, in the order given."""

    values: tuple[float, ...]

    @property
    def count(self) -> int:
        """How many values there are."""
        return len(self.values)

    def levels(self) -> Array:
        """Return the values in their order."""
        return np.asarray(self.values, dtype=np.float64)

    def at(self, position: Positions) -> Array:
        """Return the values at these indices."""
        return self.levels()[position]

    def position(self, values: NDArray[Any]) -> Positions:
        """Return the indices of the nearest values."""
        return _nearest(self.levels(), values)


@dataclass(frozen=True)
class Choice(_Grid):
    """One of several catalog entries, each of which sets several quantities together."""

    rows: Mapping[str, Mapping[str, float]]
    """For each option, the quantities that it sets, in base units; all set the same ones."""
    about: str = "option"
    """The word for an option."""
    numbered: str = ""
    """If input values of the entries are uncertain: the column of the options' indices."""
    descriptions: Mapping[str, str] = field(default_factory=dict)

    @property
    def count(self) -> int:
        """How many options there are."""
        return len(self.rows)

    @property
    def names(self) -> tuple[str, ...]:
        """The options in order."""
        return tuple(self.rows)

    def levels(self) -> Positions:
        """Return the indices of the options."""
        return np.arange(self.count)

    def at(self, position: Positions) -> Positions:
        """Return the indices themselves: a design contains the index of its option."""
        return position

    def position(self, values: NDArray[Any]) -> Positions:
        """Return the indices themselves."""
        return np.asarray(values, dtype=np.int64)

    def columns(self, position: Positions) -> dict[str, Array]:
        """Return the quantities that the options at these indices set."""
        columns = {
            name: np.array([row[name] for row in self.rows.values()], dtype=np.float64)[position]
            for name in next(iter(self.rows.values()))
        }
        if self.numbered:
            columns[self.numbered] = np.asarray(position, dtype=np.float64)
        return columns


Variable: TypeAlias = Real | Integer | Values | Choice


def is_flag(variable: Real | Integer | Values | Choice, quantity: Quantity | None) -> bool:
    """Return whether the values of a variable are yes and no, written as 1 and 0."""
    if isinstance(variable, Choice):
        return False
    if quantity is not None and quantity.integer and (quantity.low, quantity.high) == (0, 1):
        return quantity.unit == "1"
    if isinstance(variable, Integer):
        return (variable.low, variable.high, variable.step) == (0, 1, 1)
    return isinstance(variable, Values) and set(variable.values) == {0.0, 1.0}


def _nearest(levels: Array, values: NDArray[Any]) -> Positions:
    order = np.argsort(levels, kind="stable")
    ascending = levels[order]
    right = np.clip(np.searchsorted(ascending, values), 1, max(len(levels) - 1, 1))
    if len(levels) == 1:
        return np.zeros(len(values), dtype=np.int64)
    left = right - 1
    nearer_left = np.abs(values - ascending[left]) <= np.abs(ascending[right] - values)
    return order[np.where(nearer_left, left, right)]


def variable_range(
    variable: Real | Integer | Values, values: NDArray[Any]
) -> tuple[float, float, NDArray[np.bool_]]:
    """Return the minimum and maximum of a variable, and which of some values it has."""
    values = np.asarray(values, dtype=np.float64)
    if isinstance(variable, Real) and variable.steps is None:
        slack = _EQUAL * np.abs(values)
        inside = (values >= variable.low - slack) & (values <= variable.high + slack)
        return variable.low, variable.high, inside
    levels = variable.levels()
    near = variable.at(variable.position(values))
    same = np.isclose(values, near, rtol=_EQUAL, atol=0.0)
    return float(levels.min()), float(levels.max()), np.asarray(same)


# Spaces -------------------------------------------------------------------------------------------


_NUMBERED = 2**63  # designs of the spaces that are numbered

Points: TypeAlias = dict[str, NDArray[Any]]
"""Designs by variable: numbers, and for a `Choice` the position of the option."""


@dataclass(frozen=True)
class Space:
    """Named variables, in order."""

    variables: Mapping[str, Variable]

    @property
    def size(self) -> int | None:
        """How many designs there are; None if a variable is continuous."""
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
        """Return the designs with the values at these indices."""
        return {name: variable.at(digits[name]) for name, variable in self.variables.items()}

    def from_index(self, index: NDArray[np.int64]) -> Points:
        """Return the designs with these numbers; see `digits`."""
        return self.from_digits(self.digits(index))

    def to_index(self, points: Points) -> NDArray[np.int64]:
        """Return the numbers of these designs; the inverse of `from_index`.

        Raises
        ------
        ValueError
            For a space with a continuous variable, or with more designs than 64 bits number.
        """
        if self.size is not None and self.size > np.iinfo(np.int64).max:
            raise ValueError(f"{self.size:,} designs are too many to number")
        index = np.zeros(len(next(iter(points.values()))), dtype=np.int64)
        for name, variable in self.variables.items():
            if variable.count is None:
                raise ValueError(f"'{name}' is continuous: its designs have no numbers")
            index = index * variable.count + variable.position(points[name])
        return index

    def from_unit(self, unit: Array) -> Points:
        """Return the designs at points of the unit cube, an array (designs, variables)."""
        return {n: v.from_unit(unit[:, i]) for i, (n, v) in enumerate(self.variables.items())}

    def to_unit(self, points: Points) -> Array:
        """Return points of the unit cube that decode to these designs."""
        return np.column_stack([v.to_unit(points[n]) for n, v in self.variables.items()])

    def settled(self, unit: Array) -> tuple[Array, NDArray[np.uint64]]:
        """Return for points of the unit cube the points that represent their designs, and codes.

        On a grid, the middle of its cell represents a design. Equal designs have equal codes. In a
        space that 64 bits number, the code is the number of `from_index`, and different designs
        have different codes. In a larger space or a continuum, two of 10^6 designs have the same
        code once in 10^7 cases.
        """
        settled = np.empty(unit.shape)
        inside = np.ascontiguousarray(np.minimum(np.maximum(unit, 0.0), 1.0).T)
        numbered = self.size is not None and self.size < _NUMBERED
        codes = np.zeros(len(unit), dtype=np.uint64)
        for i, variable in enumerate(self.variables.values()):
            if variable.count is None:
                fixed = isinstance(variable, Real) and variable.low == variable.high
                settled[:, i] = 0.0 if fixed else inside[i]
                digits = (settled[:, i] + 0.0).view(np.uint64)  # of -0.0 as of 0.0
            else:
                position = variable.place(inside[i])
                settled[:, i] = variable.middle(position)
                digits = position.view(np.uint64)
            if numbered:
                codes = codes * np.uint64(variable.count or 1) + digits
            else:
                codes = _mixed(codes, digits)
        return settled, codes

    def columns(self, points: Points) -> dict[str, Array]:
        """Return the quantities that these designs set, by quantity name."""
        columns: dict[str, Array] = {}
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
        if isinstance(variable, Real) and variable.steps is None:
            return min(max(value, variable.low), variable.high)
        return float(variable.at(variable.position(np.array([value])))[0])


def sample_designs(space: Space, size: int) -> Points:
    """Return designs spread over a space, the same ones every time."""
    cells = np.tile(np.arange(size)[:, None], (1, len(space.variables)))
    rng = np.random.default_rng(0)
    return space.from_unit((rng.permuted(cells, axis=0) + rng.random(cells.shape)) / size)


def _mixed(codes: NDArray[np.uint64], digits: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """Mix digits into codes: a step of SplitMix64 (Steele, Lea and Flood, OOPSLA 2014)."""
    mixed = (codes ^ digits) + np.uint64(0x9E3779B97F4A7C15)
    mixed = (mixed ^ (mixed >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    mixed = (mixed ^ (mixed >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return mixed ^ (mixed >> np.uint64(31))
