"""The tally: how many designs were judged, and which constraints excluded how many."""

from __future__ import annotations

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
    """

    evaluated: int
    feasible: int
    undefined: int
    broken: NDArray[np.int64]
    least: Array
    admitted: NDArray[np.int64]

    @classmethod
    def empty(cls, limits: int) -> Tally:
        """Return the tally of no design."""
        none = np.full(limits, -1, dtype=np.int64)
        return cls(0, 0, 0, np.zeros(limits, dtype=np.int64), np.full(limits, np.inf), none)

    @classmethod
    def of(cls, index: NDArray[np.int64], judged: Evaluated) -> Tally:
        """Return the tally of judged designs with these numbers."""
        defined = ~np.isnan(judged.objectives).any(axis=1)
        limits = judged.excess.shape[1]
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
        return cls(
            len(index),
            int(judged.feasible.sum()),
            int((~defined).sum()),
            (~holds).sum(axis=0),
            least,
            admitted,
        )

    def __add__(self, other: Tally) -> Tally:
        nearer = (other.least < self.least) | (
            (other.least == self.least)
            & (other.admitted >= 0)
            & ((self.admitted < 0) | (other.admitted < self.admitted))
        )
        return Tally(
            self.evaluated + other.evaluated,
            self.feasible + other.feasible,
            self.undefined + other.undefined,
            self.broken + other.broken,
            np.where(nearer, other.least, self.least),
            np.where(nearer, other.admitted, self.admitted),
        )


def why_infeasible(tally: Tally, limits: tuple[Limit, ...]) -> tuple[str, str]:
    """Return in words what excludes every design, and which relaxation would admit one."""
    parts = []
    if tally.undefined:
        parts.append(f"{tally.undefined:,} have an objective without a value (outside a domain)")
    for limit, count in zip(limits, tally.broken, strict=True):
        parts.append(f"'{limit.name}' excludes {count:,}")
    ways = []
    for k, limit in enumerate(limits):
        if not 0 < tally.least[k] < np.inf:
            continue
        design = f"admits design {tally.admitted[k]:,}"
        if limit.relation is not None:
            ways.append(f"relaxing '{limit.name}' by {tally.least[k]:.6g} {design}")
        else:
            bound = limit.bound + tally.least[k] * (1 if limit.upper else -1)
            key = "at_most" if limit.upper else "at_least"
            ways.append(
                f"{key} = {bound:.10g} ({show(bound, limit.unit)}) for {limit.quantity} {design}"
            )
    if not ways and len(limits) > 1:
        ways.append("no single constraint is to blame: relax two of them together")
    return (
        f"no design is feasible: of {tally.evaluated:,} designs, {', '.join(parts)}",
        "; ".join(ways),
    )
