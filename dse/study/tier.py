"""Tiers: how well a figure is founded, and from where it is, carried along with its number."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal, TypeAlias, get_args

Tier: TypeAlias = Literal["measured", "fitted", "data sheet", "derived", "assumed"]
"""Measured; fitted to measurements; printed by its maker or in a paper; calculated; assumed."""
TIERS: tuple[Tier, ...] = get_args(Tier)
"""The best founded first."""
SOURCED: tuple[Tier, ...] = ("measured", "fitted", "data sheet")
"""Those that are worth nothing without a source."""


@dataclass(frozen=True)
class Origin:
    """Where a figure is from.

    Parameters
    ----------
    tier : Tier
        How well it is founded; assumed if nothing is said.
    source : str
        What it is taken from; empty if nothing is said.
    """

    tier: Tier = "assumed"
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

    >>> origin_of(sourced("1 KiB", Origin("measured", "a log"))).tier
    'measured'
    """
    found = SourcedText(value) if isinstance(value, str) else SourcedNumber(value)
    found.origin = origin
    return found


def origin_of(given: object) -> Origin:
    """Return where a number is from; assumed if it does not say.

    >>> origin_of(5.0)
    Origin(tier='assumed', source='')
    """
    found = getattr(given, "origin", ASSUMED)
    return found if isinstance(found, Origin) else ASSUMED


def worst(tiers: Iterable[Tier]) -> Tier | None:
    """Return the worst founded of some tiers; None if there are none.

    >>> worst(["fitted", "derived", "measured"])
    'derived'
    """
    return max(tiers, key=TIERS.index, default=None)
