"""How the values of a fit vary together, for a study that draws them."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, replace

import numpy as np
from scipy import stats

from dse.fit.analysis import Analysis
from dse.fit.choose import Shape, fitted, widest
from dse.fit.law import EXPONENT, GAIN, INDEX, PER_BYTE, SETUP, Law, Points, times
from dse.model.quantity import Array

_TABLES = 160
_MIDDLE = (0.1587, 0.8413)  # of the fits: one standard deviation to either side
_ABSENT, _WIDEST = 100.0, 3.0  # logarithms
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
    shape: Shape,
) -> Together:
    """Return how values vary together: as fits of tables that the widest law and its noise make.

    The widest law is that which intervals are taken from: what evidence left out varies as well.
    Fits are not linear in the noise, least of all near a term that is hardly there: so no curvature
    at the best is asked. The deviation is half of what the middle 68 % of the fits span, and the
    correlation that of their normal scores: a term that is absent from some fits does not decide.

    Parameters
    ----------
    parameters : mapping of str to float
        The values that are told.
    given : collection of str
        Those that were given, and do not vary.
    """
    at, free = analysis.at, np.array(analysis.law.free)
    wide = widest(shape, analysis.law)
    best = fitted(points, weight, wide, shape)[0]
    fits = _refitted(points, weight, best, analysis.scale, wide, shape)
    total = float(np.exp(at[SETUP]))
    names: list[str] = []
    places: list[int] = []
    moves: list[float] = []
    for name, value in parameters.items():
        place = _PLACES.get(name)
        if place is None or name in given or not (free[place] or wide.free[place]):
            continue
        if not (np.isfinite(at[place]) and value > 0):
            continue
        names.append(name)
        places.append(place)
        moves.append(total / value if place == SETUP else 1.0)  # of the sum it is what remains
    move = np.array(moves)
    found = _spread(fits[:, places]) * move[:, None] * move[None, :] if places else np.eye(0)
    return Together(tuple(names), found)


def _spread(fits: Array) -> Array:
    """Return the covariance of fits, hardly moved by those far out."""
    inside = np.nan_to_num(fits, posinf=_ABSENT, neginf=-_ABSENT)
    low, high = np.quantile(inside, _MIDDLE, axis=0)
    deviation = np.minimum((high - low) / 2.0, _WIDEST)
    ranks = stats.rankdata(inside, axis=0)
    scores = stats.norm.ppf(ranks / (len(inside) + 1.0))
    size = np.sqrt((scores**2).sum(axis=0))
    correlation = scores.T @ scores / np.maximum(np.outer(size, size), 1e-300)
    np.fill_diagonal(correlation, 1.0)
    return np.asarray(correlation * np.outer(deviation, deviation))


def _refitted(
    points: Points, weight: Array, at: Array, scale: Array, wide: Law, shape: Shape
) -> Array:
    """Return the laws (tables, 7) of tables that a law and its noise make."""
    rows = np.zeros(_TABLES, dtype=np.int64)
    exact = times(at, points.size, points.returned, points.accelerated)[0][rows]
    noise = np.where(points.accelerated, scale[1], scale[0])
    drawn = np.random.default_rng(0).standard_normal(exact.shape)
    made = replace(points.take(rows), time=exact * np.exp(noise * drawn))
    return fitted(made, weight[rows], wide, shape)[0]
