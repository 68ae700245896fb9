"""Objectives: which quantity is to be how, under which conditions, as one number a design."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal, TypeAlias

import numpy as np

from dse.model.quantity import Array

Conditions: TypeAlias = Mapping[str, float | tuple[float, ...]]
"""Inputs that are bound for one objective or constraint alone: a number, or one a scenario."""
Reduction = Literal["mean", "min", "max", "harmonic mean", "quantile"]


@dataclass(frozen=True)
class Objective:
    """One resolved objective.

    Parameters
    ----------
    name : str
        The column; the quantity's name if only one objective asks for it.
    quantity, unit, symbol, about : str
        The quantity.
    direction : {"maximize", "minimize"}
        Which way is better.
    condition : str
        The conditions in words, such as ``"at granularity = 1 KiB"``; empty for none.
    conditions : mapping of str to float or tuple of float
        Inputs bound for it (``at``), and for several scenarios (``over``) one number each.
    reduction : str or None
        How several scenarios become one number.
    quantile : float
        For ``"quantile"``.
    """

    name: str
    quantity: str
    direction: Literal["maximize", "minimize"]
    unit: str
    symbol: str
    about: str
    condition: str = ""
    conditions: Conditions = field(default_factory=dict)
    reduction: Reduction | None = None
    quantile: float = 0.5

    @property
    def sign(self) -> float:
        """1 if less is better, -1 if more is: times the value, less is always better."""
        return 1.0 if self.direction == "minimize" else -1.0

    @property
    def scenarios(self) -> int:
        """How many there are."""
        return scenarios(self.conditions)

    def reduced(self, values: Array, count: int) -> Array:
        """Return one value a design; NaN if one of its scenarios has none.

        Parameters
        ----------
        values : ndarray
            The quantity: of shape (designs,), or (scenarios, designs), or what broadcasts to it.
        count : int
            How many designs.
        """
        if self.reduction is None:
            return np.broadcast_to(values, (count,))
        every = np.broadcast_to(values, (self.scenarios, count))
        with np.errstate(all="ignore"):
            match self.reduction:
                case "mean":
                    return np.asarray(every.mean(axis=0))
                case "min":
                    return np.asarray(every.min(axis=0))
                case "max":
                    return np.asarray(every.max(axis=0))
                case "harmonic mean":
                    return np.asarray(len(every) / (1.0 / every).sum(axis=0))
                case "quantile":
                    return _quantile(every, self.quantile)


def scenarios(conditions: Conditions) -> int:
    """Return how many scenarios some conditions describe."""
    return max((len(v) for v in conditions.values() if isinstance(v, tuple)), default=1)


def scenario(conditions: Conditions, number: int) -> dict[str, float]:
    """Return the conditions of one scenario, counted from 0."""
    return {n: v[number] if isinstance(v, tuple) else v for n, v in conditions.items()}


def _quantile(every: Array, share: float) -> Array:
    """Return a quantile along the first axis, between two values by their distance.

    As numpy's, but for infinities: between a number and infinity lies infinity, not NaN.
    """
    place = share * (len(every) - 1)
    low, weight = int(place), place - int(place)
    ascending = np.sort(every, axis=0)  # NaN last
    left, right = ascending[low], ascending[min(low + 1, len(every) - 1)]
    found = (
        left
        if weight == 0.0
        else np.where(left == right, left, left * (1 - weight) + right * weight)
    )
    return np.asarray(np.where(np.isnan(ascending[-1]), np.nan, found))
