"""Provenance: how well a value is founded, and its source, carried along with the number."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal, TypeAlias, get_args

Provenance: TypeAlias = Literal["measured", "fitted", "data sheet", "derived", "assumed"]
"""Measured; fitted to measurements; printed by its maker or in a paper; calculated; assumed."""
PROVENANCES: tuple[Provenance, ...] = get_args(Provenance)
"""The best founded first."""
SOURCED: tuple[Provenance, ...] = ("measured", "fitted", "data sheet")
"""Those that are worth nothing without a source."""


@dataclass(frozen=True)
class Origin:
    """Where a figure is from.

    Parameters
    ----------
    provenance : Provenance
        How well it is founded; assumed if nothing is said.
    source : str
        What it is taken from; empty if nothing is said.
    """

    provenance: Provenance = "assumed"
    source: str = ""


ASSUMED = Origin()


class SourcedNumber(float):
    """A number as a study or a catalog gives it, with its origin."""

    origin: Origin = ASSUMED


class SourcedText(str):
    """A number with a unit, as a study or a catalog gives it, with its origin."""

    origin: Origin = ASSUMED


def sourced(value: float | str, origin: Origin) -> float | str:
    """Return the same number or text with its origin.

    >>> origin_of(sourced("1 KiB", Origin("measured", "a log"))).provenance
    'measured'
    """
    found = SourcedText(value) if isinstance(value, str) else SourcedNumber(value)
    found.origin = origin
    return found


def origin_of(given: object) -> Origin:
    """Return where a number is from; assumed if it does not say.

    >>> origin_of(5.0)
    Origin(provenance='assumed', source='')
    """
    found = getattr(given, "origin", ASSUMED)
    return found if isinstance(found, Origin) else ASSUMED


def worst(provenances: Iterable[Provenance]) -> Provenance | None:
    """Return the worst founded of some provenances; None if there are none.

    >>> worst(["fitted", "derived", "measured"])
    'derived'
    """
    return max(provenances, key=PROVENANCES.index, default=None)
