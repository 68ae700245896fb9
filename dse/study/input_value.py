"""Input values: numbers with their unit, their provenance, their source and their distribution."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Any, Literal, TypeAlias, get_args

Provenance: TypeAlias = Literal["measured", "fitted", "data sheet", "derived", "assumed"]
"""Measured; fitted to measurements; printed by its maker or in a paper; calculated; assumed."""
PROVENANCES: tuple[Provenance, ...] = get_args(Provenance)
"""The best founded first."""
SOURCED: tuple[Provenance, ...] = ("measured", "fitted", "data sheet")
"""Kinds of provenance that need a source."""


@dataclass(frozen=True, slots=True)
class InputValue:
    """A number of a study or of a catalog, as it is written or in the unit of its quantity.

    Parameters
    ----------
    value : float or str
        The number, or a text with a number and a unit.
    unit : str
        The unit of a number; empty for the base unit of its quantity.
    provenance : Provenance
        How well it is founded.
    source : str
        The reference that it is taken from; empty if the file names none.
    distribution : UncertainTable, Uncertain or None
        If it is not known exactly: as it is written, or as it is sampled.
    note : str
        How to read it.
    """

    value: float | str
    unit: str = ""
    provenance: Provenance = "assumed"
    source: str = ""
    distribution: Any = None
    note: str = ""

    @property
    def text(self) -> str:
        """Number and unit as one text, for `dse.model.units.read`.

        >>> InputValue(900.0, "LUT").text, InputValue("1.16 GHz", "GHz").text
        ('900.0 LUT', '1.16 GHz')
        """
        if isinstance(self.value, str):
            return self.value
        return f"{self.value!r} {self.unit}".rstrip()

    @property
    def written(self) -> float | str:
        """The value as a study would give it: a text with a unit, or a number in the base unit.

        >>> InputValue(900.0).written, InputValue(1.16, "GHz").written
        (900.0, '1.16 GHz')
        """
        return self.text if self.unit else self.value

    def with_value(self, value: float, unit: str, distribution: Any = None) -> InputValue:
        """Return the same input value in the unit of its quantity."""
        return replace(self, value=value, unit=unit, distribution=distribution)


def worst(provenances: Iterable[Provenance]) -> Provenance | None:
    """Return the worst founded of some provenances; None if there are none.

    >>> worst(["fitted", "derived", "measured"])
    'derived'
    """
    return max(provenances, key=PROVENANCES.index, default=None)
