"""Intervals by profile likelihood: how far a value can go before the times speak against it.

A value is held, all else is fitted again, and the loss may rise by the square of Student's t for
95 % and the degrees of freedom of its noise. That needs no assumption on the distribution of the
value. A value that the times do not determine has an open interval (0 or inf). The noise is
estimated once, from the widest law, for host and accelerated times separately. A value that depends
on both has the degrees of freedom of Welch and Satterthwaite, (a + b)²/(a²/m + b²/n), if the two
noises give it the variances a and b. Their ratio is that of the parts of the loss that rise: the
change of the fitted times with a value is that of its own estimator.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy import optimize, stats

from dse.fit.law import COORDINATES, EXPONENT, GAIN, INDEX, Points, times
from dse.fit.least_squares import EXPONENTS, Condition, minimize, residuals
from dse.model.quantity import Array

BREAK_EVEN, HALF, LINE = -1, -2, -3
"""Values next to the coordinates: log g1, log g_{A/2}, and log C/A."""
_STIFFNESSES = (2.0, 100.0)
"""Of a condition that laws are held to, in the weight of a point: a soft one leads to where a
stiff one on its own gets stuck, and the stiff one holds to a thousandth of the noise."""
_SMALL = 1e-4  # in logarithms: a step from which the width is extrapolated
_ABSENT = 1e-3
"""In standard deviations: a term with less effect on all times is absent. A fit leaves an absent
term with about 1e-6, and rounding decides which times change with it."""
_FAR = 30.0  # in logarithms: beyond any size that was measured
_NEAR = 5e-4  # of the distance from the value, at which an end is found
_GRID = 40  # sizes at which a crossing is tried that the best law does not have


@dataclass(frozen=True)
class Best:
    """A law at its best, whose values are held elsewhere.

    Parameters
    ----------
    points : Points
    weight : ndarray, shape (points,)
    law : ndarray, shape (7,)
    loss : float
    free : tuple of bool
        Of the coordinates.
    ratio : float
        Bytes returned for each byte sent.
    freedom : (int, int)
        Degrees of freedom of the noise of host and of accelerated times.
    """

    points: Points
    weight: Array
    law: Array
    loss: float
    free: tuple[bool, ...]
    ratio: float
    freedom: tuple[int, int]

    def hold(self, place: int, value: float, start: Array) -> tuple[float, Array]:
        """Return the root of the rise of the loss if a value is held, and the law.

        Parameters
        ----------
        place : int
            A coordinate, or one of `BREAK_EVEN`, `HALF` and `LINE`.
        value : float
            Its logarithm, or the exponent.
        start : ndarray, shape (7,)
            A law nearby.
        """
        free = np.array(self.free)
        law = start.copy()
        if place >= 0:
            free[place], law[place] = False, value
            law, loss = minimize(self.points, self.weight, law, free)
        else:
            for stiffness in _STIFFNESSES:
                condition = self._condition(place, value, stiffness * float(self.weight.max()))
                law, loss = minimize(self.points, self.weight, law, free, condition)
        return float(np.sqrt(max(loss - self.loss, 0.0))), law

    def _condition(self, place: int, goal: float, stiffness: float) -> Condition:
        def line(law: Array) -> tuple[float, Array]:
            slopes = np.zeros(COORDINATES)
            slopes[INDEX], slopes[GAIN] = stiffness, -stiffness
            return stiffness * (law[INDEX] - law[GAIN] - goal), slopes

        size = np.exp(np.array([goal, goal]))

        def crossing(law: Array) -> tuple[float, Array]:
            total, slopes = times(law, size, size * self.ratio, np.array([False, True]))
            value, slope = np.log(total[1] / total[0]), slopes[1] - slopes[0]
            if place == HALF:
                value += law[GAIN] - np.log(2.0)
                slope[GAIN] += 1.0
            return stiffness * value, stiffness * slope

        return line if place == LINE else crossing


def interval(best: Best, place: int, value: float) -> tuple[float, float]:
    """Return the ends of the 95 % interval of a value; −inf and inf for open ends.

    Parameters
    ----------
    best : Best
    place : int
        As in `Best.hold`.
    value : float
        The value at its best: a logarithm, or the exponent itself.
    """
    limit = threshold(best, place, value)
    return _end(best, place, value, -1.0, limit), _end(best, place, value, 1.0, limit)


def possible_sizes(best: Best, place: int) -> tuple[float, float] | None:
    """Return the sizes that a crossing may have at 95 % if the best law has none; None for no size.

    They are from the sixteenth of the smallest measured size to 1,000 times the largest.
    """
    limit = float(stats.t.ppf(0.975, max(min(best.freedom), 1)))
    sizes = best.points.size
    grid = np.geomspace(sizes.min() / 16.0, sizes.max() * 1e3, _GRID)
    allowed = [g for g in grid.tolist() if best.hold(place, np.log(g), best.law)[0] < limit]
    return (allowed[0], allowed[-1]) if allowed else None


def threshold(best: Best, place: int, value: float) -> float:
    """Return how many standard deviations the loss may rise by."""
    host, device = (max(freedom, 1) for freedom in best.freedom)
    points = best.points
    slopes = residuals(points, best.law, best.weight)[1]
    if place >= 0 and np.linalg.norm(np.nan_to_num(slopes[:, place])) < _ABSENT:
        return float(stats.t.ppf(0.975, min(host, device)))
    moved = best.hold(place, value + _SMALL, best.law)[1]
    before, after = (
        times(law, points.size, points.returned, points.accelerated)[0] for law in (best.law, moved)
    )
    change = (best.weight * (after / before - 1.0)) ** 2
    on_host = float(change[~points.accelerated].sum() / change.sum())
    return float(stats.t.ppf(0.975, 1.0 / (on_host**2 / host + (1.0 - on_host) ** 2 / device)))


def _end(best: Best, place: int, value: float, side: float, limit: float) -> float:
    """Return one end: widen until the loss has risen too far, then narrow it down."""
    absent = _absent_term(place, side)
    if absent is not None and best.hold(place, absent, best.law)[0] < limit:
        return absent
    law, rises = best.law, {value: -limit}

    def rise(target: float) -> float:
        nonlocal law
        if target not in rises:
            # Of two valleys of the loss, the last law may be in the higher one.
            starts = (law,) if law is best.law else (law, best.law)
            risen, found = min(
                (best.hold(place, target, start) for start in starts), key=lambda held: held[0]
            )
            rises[target] = risen - limit
            if risen < limit:
                law = found  # the next law is near the last one that the times allow
        return rises[target]

    lowest, highest = EXPONENTS if place == EXPONENT else (value - _FAR, max(value, 0.0) + _FAR)
    last = lowest if side < 0 else highest
    # The root of the rise is nearly a straight line: a small step gives a first one.
    step = 1e-2
    if place != EXPONENT:
        small = rise(value + side * _SMALL) + limit
        step = 0.9 * float(np.clip(_SMALL * limit / max(small, 1e-12), 1e-10, 2.0))
    inner, outer = value, value
    while True:
        inner, outer = outer, float(np.clip(outer + side * step, lowest, highest))
        if rise(outer) >= 0.0:
            width = max(abs(outer - value), 1e-11)
            return float(optimize.brentq(rise, inner, outer, xtol=_NEAR * width))
        if outer == last:
            return last if place == EXPONENT else side * np.inf
        step *= 2.0


def _absent_term(place: int, side: float) -> float | None:
    """Return the open end that a value may have on a side: the term is not there."""
    if place == GAIN:
        return np.inf if side > 0 else None
    if place in (INDEX, EXPONENT) or place < 0:
        return None
    return -np.inf if side < 0 else None
