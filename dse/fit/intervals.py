"""Intervals by profile likelihood: how far a value can go before the times speak against it.

A value is held, all else is fitted anew, and the loss may rise by the square of Student's t for
95 % and the degrees of freedom of its noise. That needs no guess of how the value spreads, and
holds for values that the times do not determine: their interval is open (0 or inf). The noise is
estimated once, from the widest law, of host and accelerated times each by itself. A value that
hangs on both has the degrees of freedom of Welch and Satterthwaite, (a + b)²/(a²/m + b²/n), if the
two noises give it the variances a and b: these are to each other as the parts of the loss that
rise, for the change of the fitted times as a value is moved is that of its own estimator.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import stats

from dse.fit.law import COORDINATES, EXPONENT, GAIN, INDEX, Mask, Points, both, times
from dse.fit.solve import LEAST_EXPONENT, MOST_EXPONENT, Pin, solve
from dse.model.quantity import Array

_NEAR = 2e-3  # of the threshold, at which an end is found
_WIDENINGS, _NARROWINGS = 48, 25
_TRIED = 40
_STIFFNESSES = (2.0, 100.0)
"""Of a condition that laws are held to, in the weight of a point: a soft one leads to where a
stiff one alone gets stuck, and the stiff one holds to a thousandth of the noise."""
_SMALL = 1e-4
_FAR = 30.0  # in logarithms: beyond any size that was measured
BREAK_EVEN, HALF, LINE = -1, -2, -3
"""Beside the coordinates: log g1, log g_{A/2}, and log C/A."""


class Value(NamedTuple):
    """What an interval is asked of.

    Attributes
    ----------
    place : int
        A coordinate, or one of `BREAK_EVEN`, `HALF` and `LINE`.
    freedom : (int, int)
        Degrees of freedom of the noise of host and of accelerated times.
    """

    place: int
    freedom: tuple[int, int]


@dataclass(frozen=True)
class Fitted:
    """Laws of tables at their best, from which values are moved.

    Parameters
    ----------
    points : Points
    weight : ndarray, shape (tables, points)
    at : ndarray, shape (tables, 7)
    cost : ndarray, shape (tables,)
    free : tuple of bool
        Of the coordinates.
    ratio : ndarray, shape (tables,)
        Bytes returned for each byte sent.
    """

    points: Points
    weight: Array
    at: Array
    cost: Array
    free: tuple[bool, ...]
    ratio: Array


def interval(fitted: Fitted, value: Value, best: Array) -> tuple[Array, Array]:
    """Return the ends of the 95 % interval of a value, for each table.

    Parameters
    ----------
    fitted : Fitted
    value : Value
    best : ndarray, shape (tables,)
        The value at its best: a logarithm, or the exponent itself. NaN for a size that no law has.

    Returns
    -------
    low, high : ndarray, shape (tables,)
        As `best`; −inf and inf for open ends. NaN if `best` is.
    """
    held = _Held(fitted, value.place)
    limit = _limit(held, value.freedom, best)
    ends = [_end(held, best, side, limit) for side in (-1.0, 1.0)]
    return ends[0], ends[1]


def possible(
    fitted: Fitted, value: Value, rows: NDArray[np.int64]
) -> dict[int, tuple[float, float] | None]:
    """Return the sizes that a crossing may have at 95 %, of tables whose best law has none.

    Each from the sixteenth of the least measured size to 1,000 times the largest, or None.
    """
    limit = float(stats.t.ppf(0.975, max(min(value.freedom), 1)))
    held = _Held(fitted, value.place)
    found: dict[int, tuple[float, float] | None] = {}
    for row in rows.tolist():
        sizes = fitted.points.size[row]
        grid = np.geomspace(sizes.min() / 16.0, sizes.max() * 1e3, _TRIED)
        of = np.full(_TRIED, row)
        allowed = grid[held.rise(fitted.at[of], of, np.log(grid))[0] < limit]
        found[row] = (float(allowed[0]), float(allowed[-1])) if allowed.size else None
    return found


def _limit(held: _Held, freedom: tuple[int, int], best: Array) -> Array:
    """Return how many standard deviations the loss may rise by, for each table."""
    fitted = held.fitted
    host, device = (max(each, 1) for each in freedom)
    rows = np.flatnonzero(np.isfinite(best))
    share = np.full(len(best), 1.0 if host < device else 0.0)  # of the host; the fewer, if unknown
    moved = held.rise(fitted.at[rows], rows, best[rows] + _SMALL)[1]
    part = fitted.points.take(rows)
    of = part.size, part.returned, part.accelerated
    change = fitted.weight[rows] * (times(moved, *of)[0] / times(fitted.at[rows], *of)[0] - 1.0)
    on_host = (np.where(part.accelerated, 0.0, change) ** 2).sum(axis=1)
    both = (change**2).sum(axis=1)
    known = both > 0.0
    share[rows[known]] = on_host[known] / both[known]
    effective = 1.0 / (share**2 / host + (1.0 - share) ** 2 / device)
    return np.asarray(stats.t.ppf(0.975, effective))


class _Held:
    """The rise of the loss if a value is held, with the laws that were found last as the start."""

    def __init__(self, fitted: Fitted, place: int) -> None:
        self.fitted, self.place = fitted, place
        self.free = np.array(fitted.free)
        if place >= 0:
            self.free[place] = False

    def rise(self, at: Array, rows: NDArray[np.int64], target: Array) -> tuple[Array, Array]:
        """Return the root of the rise, in standard deviations, and the laws."""
        fitted, start = self.fitted, at.copy()
        free: Mask = np.broadcast_to(self.free, start.shape)
        part, weight = fitted.points.take(rows), fitted.weight[rows]
        if self.place >= 0:
            start[:, self.place] = target
            found, cost = solve(part, weight, start, free)
        else:
            found = start
            for stiffness in _STIFFNESSES:
                found, cost = solve(part, weight, found, free, self._pin(rows, target, stiffness))
        return np.sqrt(np.maximum(cost - fitted.cost[rows], 0.0)), found

    def _pin(self, of: NDArray[np.int64], target: Array, stiffness: float) -> Pin:
        stiff = stiffness * np.max(self.fitted.weight, axis=1)[of]

        def pin(at: Array, rows: NDArray[np.int64]) -> tuple[Array, Array]:
            goal = target[rows]
            if self.place == LINE:
                value = at[:, INDEX] - at[:, GAIN] - goal
                slopes = np.zeros((len(at), COORDINATES))
                slopes[:, INDEX], slopes[:, GAIN] = 1.0, -1.0
            else:
                ratio = self.fitted.ratio[of][rows]
                host, accelerated, slopes = both(at, np.exp(goal), ratio)
                value = np.log(accelerated / host)
                if self.place == HALF:
                    value = value + at[:, GAIN] - np.log(2.0)
                    slopes = slopes.copy()
                    slopes[:, GAIN] += 1.0
            weight = stiff[rows]
            return value * weight, slopes * weight[:, None]

        return pin


def _end(held: _Held, best: Array, side: float, limits: Array) -> Array:
    """Return one end: widen until the loss has risen too far, then narrow it down."""
    fitted = held.fitted
    end = np.full(len(best), np.nan)
    rows = np.flatnonzero(np.isfinite(best))
    absent = _absent(held.place, side)
    if absent is not None and rows.size:
        gone = np.full(len(rows), absent)
        open_ = held.rise(fitted.at[rows], rows, gone)[0] < limits[rows]
        end[rows[open_]] = absent
        rows = rows[~open_]
    inner, law, limit = best[rows].copy(), fitted.at[rows], limits[rows]
    rise_inner = np.zeros(len(rows))
    outer, rise_outer = np.full(len(rows), np.nan), np.full(len(rows), np.nan)
    step = np.full(len(rows), 1e-2)
    active = np.ones(len(rows), dtype=bool)
    lowest, highest = (
        (LEAST_EXPONENT, MOST_EXPONENT) if held.place == EXPONENT else (-np.inf, np.inf)
    )
    if held.place != EXPONENT:
        step = _scaled(held, rows, inner, law, side, limit)
    for _ in range(_WIDENINGS):
        at = np.flatnonzero(active)
        if not at.size:
            break
        target = np.clip(inner[at] + side * step[at], lowest, highest)
        rise, found = held.rise(law[at], rows[at], target)
        over = rise >= limit[at]
        outer[at[over]], rise_outer[at[over]] = target[over], rise[over]
        stay = at[~over]
        inner[stay], rise_inner[stay], law[stay] = target[~over], rise[~over], found[~over]
        step[stay] *= 2.0
        far = np.abs(inner - best[rows]) > _FAR
        ended = (inner <= lowest) if side < 0 else (inner >= highest)
        active &= ~(np.isfinite(outer) | far | ended)
    bracketed = np.isfinite(outer)
    end[rows[~bracketed]] = inner[~bracketed] if held.place == EXPONENT else side * np.inf
    at = np.flatnonzero(bracketed)
    end[rows[at]] = _narrowed(
        held, rows[at], (inner[at], rise_inner[at], law[at]), (outer[at], rise_outer[at]), limit[at]
    )
    return end


def _scaled(
    held: _Held, rows: NDArray[np.int64], inner: Array, law: Array, side: float, limit: Array
) -> Array:
    """Return first steps: so far as a parabola through a small step says."""
    small = np.full(len(rows), _SMALL)
    if not rows.size:
        return small
    rise = held.rise(law, rows, inner + side * small)[0]
    return np.clip(small * limit / np.maximum(rise, 1e-12), 1e-10, 2.0) * 0.9


def _narrowed(
    held: _Held,
    rows: NDArray[np.int64],
    inside: tuple[Array, Array, Array],
    outside: tuple[Array, Array],
    limit: Array,
) -> Array:
    """Return where the loss has risen to the limit, between two places."""
    inner, rise_inner, law = inside
    outer, rise_outer = outside
    active = np.ones(len(rows), dtype=bool)
    found_end = outer.copy()
    for _ in range(_NARROWINGS):
        at = np.flatnonzero(active)
        if not at.size:
            break
        share = (limit[at] - rise_inner[at]) / np.maximum(rise_outer[at] - rise_inner[at], 1e-300)
        target = inner[at] + np.clip(share, 0.05, 0.95) * (outer[at] - inner[at])
        rise, found = held.rise(law[at], rows[at], target)
        over = rise >= limit[at]
        outer[at[over]], rise_outer[at[over]] = target[over], rise[over]
        stay = at[~over]
        inner[stay], rise_inner[stay], law[stay] = target[~over], rise[~over], found[~over]
        found_end[at] = target
        near = (np.abs(rise - limit[at]) < _NEAR * limit[at]) | (np.abs(outer - inner)[at] < 1e-11)
        active[at[near]] = False
    return found_end


def _absent(place: int, side: float) -> float | None:
    """Return the open end that a value may have on a side: the term is not there."""
    if place == GAIN:
        return np.inf if side > 0 else None
    if place in (INDEX, EXPONENT) or place < 0:
        return None
    return -np.inf if side < 0 else None
