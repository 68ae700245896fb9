"""How the values of a fit vary together, for a study that draws them."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass

import numpy as np

from dse.fit.analysis import Analysis
from dse.fit.law import EXPONENT, GAIN, INDEX, PER_BYTE, SETUP, Points
from dse.fit.solve import covariance
from dse.model.quantity import Array

_PLACES = {
    "computational_index": INDEX,
    "complexity": EXPONENT,
    "overhead_and_latency": SETUP,
    "overhead": SETUP,
    "latency": SETUP,
    "latency_per_byte": PER_BYTE,
    "acceleration": GAIN,
    "speedup_limit": GAIN,
}


@dataclass(frozen=True)
class Together:
    """Values that vary together, as the times leave them open.

    Parameters
    ----------
    names : tuple of str
        The values.
    covariance : ndarray, shape (values, values)
        Of their logarithms; of ``complexity`` itself.
    """

    names: tuple[str, ...]
    covariance: Array

    def renamed(self, names: Mapping[str, str]) -> Together:
        """Return those values that have another name, under it."""
        some = [i for i, name in enumerate(self.names) if name in names]
        return Together(
            tuple(names[self.names[i]] for i in some), self.covariance[np.ix_(some, some)]
        )


def together(
    points: Points,
    weight: Array,
    analysis: Analysis,
    parameters: Mapping[str, float],
    given: Collection[str],
    fixed: Collection[int],
) -> Together:
    """Return how values vary together: those of the chosen law, linearized at its best.

    The exponent varies as well, though evidence may have chosen 1: the times leave it open.

    Parameters
    ----------
    parameters : mapping of str to float
        The values that are told.
    given : collection of str
        Those that were given, and do not vary.
    fixed : collection of int
        The coordinates that are given.
    """
    at, free = analysis.at, list(analysis.law.free)
    free[EXPONENT] |= EXPONENT not in fixed and not free[PER_BYTE]  # else two slopes are one
    spread = covariance(points, weight, at, tuple(free))
    total = float(np.exp(at[SETUP]))
    names: list[str] = []
    places: list[int] = []
    moves: list[float] = []
    for name, value in parameters.items():
        place = _PLACES.get(name)
        if place is None or name in given or not free[place]:
            continue
        if not (np.isfinite(at[place]) and value > 0):
            continue
        names.append(name)
        places.append(place)
        moves.append(total / value if place == SETUP else 1.0)  # of the sum it is what remains
    move = np.array(moves)
    found = spread[np.ix_(places, places)] * move[:, None] * move[None, :]
    return Together(tuple(names), found)
