"""Constraints: one bound on a quantity, or a relation between quantities."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from dse.evaluate.conditions import Conditions, Reduction, reduced
from dse.model.quantity import Array
from dse.model.relation import Relation


@dataclass(frozen=True)
class Constraint:
    """One bound on a quantity, or one relation between quantities.

    Parameters
    ----------
    name : str
        As shown, such as ``"utilization <= 0.9"``.
    quantity, unit : str
        The bounded quantity, empty for a relation.
    bound : float
        The bound, in the quantity's unit; 0 for a relation.
    upper : bool
        Whether it is an upper bound; true for a relation.
    relation : Relation or None
        The relation, for a constraint by expression.
    conditions : mapping of str to float or tuple of float
        Inputs bound for it, and for several scenarios one number each.
    condition : str
        The same in words, such as ``"at granularity = 1 KiB"``; empty for none.
    reduction : Reduction or None
        How several scenarios become one number.
    required_by : str
        The model that requires it; empty for a constraint of the study.
    """

    name: str
    quantity: str
    unit: str
    bound: float
    upper: bool
    relation: Relation | None
    conditions: Conditions
    condition: str = ""
    reduction: Reduction | None = None
    required_by: str = ""

    @property
    def names(self) -> tuple[str, ...]:
        """The quantities that it needs."""
        return tuple(sorted(self.relation.names)) if self.relation else (self.quantity,)

    def value(self, values: Mapping[str, Any], count: int) -> Array:
        """Return the bounded quantity of each design, or by how much it violates the relation.

        Parameters
        ----------
        values : mapping of str to ndarray
            Each of `names`: of shape (designs,), or (scenarios, designs), or what broadcasts to it.
        count : int
            How many designs.
        """
        if self.relation is not None:
            given = self.relation.violation(values)
        else:
            given = np.asarray(values[self.quantity], dtype=np.float64)
        return reduced(given, self.conditions, self.reduction, count)

    def violation(self, value: Array) -> Array:
        """Return by how much designs with this value violate it; 0 or less if it holds."""
        return value - self.bound if self.upper else self.bound - value


def violations(constraints: Sequence[Constraint], constrained: Array) -> Array:
    """Return by how much designs violate each constraint (designs, constraints).

    0 or less if it holds, NaN if its quantity has no value.

    Parameters
    ----------
    constrained : ndarray, shape (designs, constraints)
        What `Constraint.value` gave.
    """
    found = np.empty_like(constrained)
    with np.errstate(all="ignore"):
        for k, constraint in enumerate(constraints):
            found[:, k] = constraint.violation(constrained[:, k])
    return found
