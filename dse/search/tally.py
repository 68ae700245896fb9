"""The tally: how many designs were judged, and which constraints excluded how many."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from dse.evaluate import Evaluated, Limit
from dse.quantity import Array
from dse.units import show


@dataclass(frozen=True)
class Tally:
    """Counts over designs; tallies of parts add up to the tally of the whole, in any order.

    Parameters
    ----------
    evaluated, feasible, undefined : int
        Designs judged; that satisfy everything; that have an objective without a value.
    broken : ndarray of int, shape (limits,)
        Designs that break each limit.
    least : ndarray, shape (limits,)
        The least excess of each limit over the designs that satisfy all others; inf for none.
    admitted : ndarray of int, shape (limits,)
        The design with that least excess, the first of several; -1 for none.
    distance, nearest : float, int
        The least sum of excesses, each as a share of its bound, and the design that has it; inf
        and -1 for none.
    missed : ndarray, shape (limits,)
        The excesses of that design.
    """

    evaluated: int
    feasible: int
    undefined: int
    broken: NDArray[np.int64]
    least: Array
    admitted: NDArray[np.int64]
    distance: float
    nearest: int
    missed: Array

    @classmethod
    def empty(cls, limits: int) -> Tally:
        """Return the tally of no design."""
        none = np.full(limits, -1, dtype=np.int64)
        zeros = np.zeros(limits, dtype=np.int64)
        least, missed = np.full(limits, np.inf), np.zeros(limits)
        return cls(0, 0, 0, zeros, least, none, np.inf, -1, missed)

    @classmethod
    def of(cls, index: NDArray[np.int64], judged: Evaluated, bounded: tuple[Limit, ...]) -> Tally:
        """Return the tally of judged designs with these numbers, under these limits."""
        defined = ~np.isnan(judged.objectives).any(axis=1)
        limits = len(bounded)
        holds = judged.excess <= 0  # False where the excess is NaN
        least = np.full(limits, np.inf)
        admitted = np.full(limits, -1, dtype=np.int64)
        for k in range(limits):
            others = defined & ~np.isnan(judged.excess[:, k])
            others &= np.delete(holds, k, axis=1).all(axis=1)
            if others.any():
                rows = np.flatnonzero(others)
                best = rows[np.argmin(judged.excess[rows, k])]
                least[k], admitted[k] = judged.excess[best, k], index[best]
        distance, nearest, missed = np.inf, -1, np.zeros(limits)
        if (
            limits and len(index) and not judged.feasible.any()
        ):  # of use only where nothing is feasible
            scales = np.array([abs(limit.bound) or 1.0 for limit in bounded])
            far = (np.maximum(judged.excess, 0.0) / scales).sum(axis=1)
            far = np.where(defined & ~np.isnan(far), far, np.inf)
            row = int(np.argmin(far))
            if far[row] < np.inf:
                distance, nearest, missed = float(far[row]), int(index[row]), judged.excess[row]
        return cls(
            len(index),
            int(judged.feasible.sum()),
            int((~defined).sum()),
            (~holds).sum(axis=0),
            least,
            admitted,
            distance,
            nearest,
            missed,
        )

    def __add__(self, other: Tally) -> Tally:
        nearer = (other.least < self.least) | (
            (other.least == self.least)
            & (other.admitted >= 0)
            & ((self.admitted < 0) | (other.admitted < self.admitted))
        )
        closer = (other.distance, other.nearest) < (self.distance, self.nearest)
        near = other if other.nearest >= 0 and (closer or self.nearest < 0) else self
        return Tally(
            self.evaluated + other.evaluated,
            self.feasible + other.feasible,
            self.undefined + other.undefined,
            self.broken + other.broken,
            np.where(nearer, other.least, self.least),
            np.where(nearer, other.admitted, self.admitted),
            near.distance,
            near.nearest,
            near.missed,
        )


def why_infeasible(
    tally: Tally, limits: tuple[Limit, ...], undefined: Sequence[str] = ()
) -> tuple[str, str]:
    """Return in words what excludes every design, and which relaxation would admit one.

    Parameters
    ----------
    tally : Tally
        Of all designs.
    limits : tuple of Limit
        The constraints.
    undefined : sequence of str
        The objectives that have no value for some designs.
    """
    parts = []
    if tally.undefined:
        which = f" of {', '.join(undefined)}" if undefined else ""
        parts.append(
            f"{tally.undefined:,} have no value{which}, as an input is outside a model's domain "
            "(see them with: dse list)"
        )
    for limit, count in zip(limits, tally.broken, strict=True):
        parts.append(f"'{limit.name}' excludes {count:,}")
    ways = [
        f"{_relaxed(limit, tally.least[k])} would admit design {tally.admitted[k]:,}"
        for k, limit in enumerate(limits)
        if 0 < tally.least[k] < np.inf
    ]
    if not ways and tally.nearest >= 0:
        missed = [
            _relaxed(limit, excess)
            for limit, excess in zip(limits, tally.missed, strict=True)
            if excess > 0
        ]
        ways.append(
            f"no single constraint is to blame; {' and '.join(missed)} "
            f"would admit design {tally.nearest:,}, the nearest"
        )
    return (
        f"no design is feasible: of {tally.evaluated:,} designs, {', '.join(parts)}",
        "; ".join(ways),
    )


def _relaxed(limit: Limit, excess: float) -> str:
    """Return how a limit would have to be written to let a design with this excess in."""
    if limit.relation is not None:
        if limit.relation.strict and excess <= np.finfo(np.float64).tiny:
            return f"writing {limit.relation.relation}= in '{limit.name}'"
        return f"relaxing '{limit.name}' by {_rounded(excess, True)}"
    outwards = np.inf if limit.upper else -np.inf
    bound = limit.bound + (excess if limit.upper else -excess)
    if abs(np.nextafter(bound, outwards) - limit.bound) <= excess:  # the sum lost digits
        bound = limit.bound + np.copysign(np.nextafter(excess, np.inf), outwards)
    shown = _rounded(bound, limit.upper)
    key = "at_most" if limit.upper else "at_least"
    return f"{key} = {shown} ({show(float(shown), limit.unit)}) for {limit.quantity}"


def _rounded(value: float, up: bool) -> str:
    """Write a number in as few digits, six or more, as do not round it the wrong way."""
    for digits in range(6, 18):
        shown = f"{value:.{digits}g}"
        if float(shown) == value or (float(shown) > value) == up:
            break
    return shown
