"""Objectives: quantities to maximize or minimize under conditions, as one number per design."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

from dse.evaluate.conditions import Conditions, Reduction, reduced, scenario, scenarios
from dse.model.quantity import Array

__all__ = ["Conditions", "Direction", "Objective", "scenario", "scenarios"]

Direction = Literal["maximize", "minimize"]


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
    reduction : Reduction or None
        How several scenarios become one number.
    """

    name: str
    quantity: str
    direction: Direction
    unit: str
    symbol: str
    about: str
    condition: str = ""
    conditions: Conditions = field(default_factory=dict)
    reduction: Reduction | None = None

    @property
    def sign(self) -> float:
        """1 if lower is better, -1 if higher is: the value times the sign is minimized."""
        return 1.0 if self.direction == "minimize" else -1.0

    @property
    def scenarios(self) -> int:
        """How many there are."""
        return scenarios(self.conditions)

    def reduced(self, values: Array, count: int) -> Array:
        """Return one value a design; see `dse.evaluate.conditions.reduced`."""
        return reduced(values, self.conditions, self.reduction, count)
