"""Search spaces: variables that are numbers or catalog rows, as arrays of designs.

A *design* is one value for each variable. Finite spaces number their designs by mixed radix, the
last variable fastest. A range of numbers is thus decoded in a few vectorised steps.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from dse.evaluate.variables import SUBSET, Choice, Integer, Real, Values, Variable
from dse.model.quantity import Array

__all__ = ["SUBSET", "Choice", "Integer", "Points", "Real", "Space", "Values", "Variable"]

_NUMBERED = 2**63  # designs of the spaces that are numbered

Points: TypeAlias = dict[str, NDArray[Any]]
"""Designs by variable: numbers, and for a `Choice` the position of the option."""


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


def _mixed(codes: NDArray[np.uint64], digits: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """Mix digits into codes: a step of SplitMix64 (Steele, Lea and Flood, OOPSLA 2014)."""
    mixed = (codes ^ digits) + np.uint64(0x9E3779B97F4A7C15)
    mixed = (mixed ^ (mixed >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    mixed = (mixed ^ (mixed >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return mixed ^ (mixed >> np.uint64(31))
