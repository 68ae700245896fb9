"""The schedule period of least exact mean latency, and the smallest period that keeps up.

A short period wastes clocks on switches, a long one keeps the other groups waiting; the best period
depends on the load (Hall & Chamberlain 2014, second conclusion).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, NamedTuple

import numpy as np
from numpy.typing import NDArray

from dse.model import Array, Quantity, model
from objectives.sharing.exact import mean_wait
from objectives.sharing.quantities import LONGEST_PERIOD, Pipeline, Traffic
from objectives.sharing.schedule import schedule, utilization


@dataclass(frozen=True, eq=False)
class ScheduleOptimum:
    """The outputs of :func:`best_schedule_period`."""

    best_schedule_period: Annotated[
        Array, Quantity("1", "schedule period of least exact mean latency", low=1, integer=True)
    ]
    least_latency: Annotated[
        Array, Quantity("s", "exact mean latency at the best schedule period", low=0)
    ]
    smallest_stable_schedule_period: Annotated[
        Array,
        Quantity(
            "1", "smallest schedule period that keeps up with the arrivals", low=1, integer=True
        ),
    ]


@model
def best_schedule_period(pipeline: Pipeline, traffic: Traffic) -> ScheduleOptimum:
    """Find the integer schedule period of least exact mean latency.

    The search is a bisection on the sign of ``W(R + 1) − W(R)``, from the smallest stable period to
    one beyond which the wait without any other element already exceeds a latency that was found.
    The upper end is proven. That the latency falls and then rises in between is not, but held for
    each of some thousand designs that were compared with a full scan. Of equal latencies (a single
    group is never swapped) the smallest period is taken.

    Returns
    -------
    ScheduleOptimum
        Arrays of the broadcast shape of the inputs. The periods are inf if no period keeps up
        (offered load ≥ 1), the best one also if none in the domain does; the latency too.
        NaN if ``streams < pipeline_depth``.
    """
    columns = np.broadcast_arrays(*pipeline, np.multiply(*traffic))
    shape = columns[0].shape
    rows = np.stack([np.ravel(c).astype(np.float64) for c in columns], axis=1)
    rows, inverse = np.unique(rows, axis=0, return_inverse=True)  # grids repeat them
    designs = _Designs(*np.ascontiguousarray(rows.T))
    smallest = _smallest_stable(designs)
    found = np.isfinite(smallest) & (smallest <= LONGEST_PERIOD)
    best = np.where(found, np.nan, np.where(np.isnan(smallest), np.nan, np.inf))
    least = best.copy()
    some = np.flatnonzero(found)
    if some.size:
        chosen = designs.at(some)
        best[some] = _least(chosen, smallest[some])
        least[some] = _wait(chosen, best[some]) + chosen.depth
    spread = inverse.reshape(-1)
    least = least[spread].reshape(shape) * traffic.clock_period
    return ScheduleOptimum(
        best[spread].reshape(shape)[()], least[()], smallest[spread].reshape(shape)[()]
    )


class _Designs(NamedTuple):
    """Columns of designs without a schedule period; the rate is per clock."""

    streams: Array
    depth: Array
    switch: Array
    rate: Array

    def at(self, index: NDArray[np.intp]) -> _Designs:
        return _Designs(*(column[index] for column in self))

    def round(self, period: Array) -> tuple[Array, Array, Array]:
        length, away = schedule(self.streams, self.depth, self.switch, period)
        return length, away, utilization(length, period, self.rate, 1.0)


def _wait(designs: _Designs, period: Array) -> Array:
    length, away, load = designs.round(period)
    return mean_wait(length, away, period, load)[0]


def _smallest_stable(designs: _Designs) -> Array:
    """Solve λ(R·C·G + S·G) < R for G groups, with the rounding of the utilization itself."""
    one = np.ones_like(designs.rate)
    slots = schedule(designs.streams, designs.depth, 0.0, one).length  # C·G
    switches = designs.round(one)[0] - slots  # S·G
    with np.errstate(all="ignore"):
        offered = designs.rate * slots
        period = np.floor(designs.rate * switches / (1 - offered)) + 1
        period = np.where(offered >= 1, np.inf, period)
        # if the bound is a whole number, rounding may have put it on the wrong side
        lower = (period > 1) & (designs.round(period - 1)[2] < 1)
        period = np.where(lower, period - 1, period)
        return np.where(designs.round(period)[2] >= 1, period + 1, period)


def _least(designs: _Designs, smallest: Array) -> Array:
    """Bisect for the first period from which on the latency does not fall."""
    low, middle, high = _bracket(designs, smallest)
    step = np.ones_like(low)
    while (active := np.flatnonzero(low < high)).size:
        here, chosen = middle[active], designs.at(active)
        falls = _wait(chosen, here + 1) < _wait(chosen, here)
        low[active] = np.where(falls, here + 1, low[active])
        high[active] = np.where(falls, high[active], here)
        # the guess is mostly near: leave it by doubling steps before halving what is left
        step[active] *= 2
        half = np.floor((low[active] + high[active]) / 2)
        near = np.where(falls, low[active] + step[active], high[active] - step[active])
        middle[active] = np.where(falls, np.minimum(near, half), np.maximum(near, half))
    return low


def _bracket(designs: _Designs, smallest: Array) -> tuple[Array, Array, Array]:
    """Return the smallest period, a guess of the best, and an upper bound of the best.

    The guess adds the bunching of an idle engine to the evenly spaced wait. The upper end is where
    the mean time to the next slot, which every element waits at least, exceeds the guess's wait.
    """
    low, high = smallest.copy(), np.full_like(smallest, float(LONGEST_PERIOD))
    guess = low.copy()
    for _ in range(LONGEST_PERIOD.bit_length()):
        guess = np.minimum(np.floor((low + high) / 2), LONGEST_PERIOD - 1.0)
        falls = _guessed_wait(designs, guess + 1) < _guessed_wait(designs, guess)
        low, high = np.where(falls, guess + 1, low), np.where(falls, high, guess)
    guess = np.clip(low, smallest, LONGEST_PERIOD)
    _, away, _ = designs.round(np.ones_like(guess))
    turn, others = designs.depth, designs.round(guess + 1)[1] - designs.round(guess)[1]
    switches = away - others
    # ((R − 1)C² + (H + C)²)/(2P) ≤ W, with H and P linear in R, as a quadratic in R
    wait = _wait(designs, guess)
    linear = 2 * others * (switches + turn) + turn**2 - 2 * wait * (others + turn)
    constant = (switches + turn) ** 2 - turn**2 - 2 * wait * switches
    with np.errstate(all="ignore"):
        root = np.sqrt(np.maximum(linear**2 - 4 * others**2 * constant, 0)) - linear
        end = np.floor(root / (2 * others**2)) + 1
    end = np.where(others > 0, np.clip(end, guess, LONGEST_PERIOD), smallest)
    return smallest.copy(), np.minimum(guess, np.maximum(end - 1, smallest)), end


def _guessed_wait(designs: _Designs, period: Array) -> Array:
    length, away, load = designs.round(period)
    even = length / (2 * period * (1 - load))
    return even + away**2 * (period - 1) / (2 * period * length)
