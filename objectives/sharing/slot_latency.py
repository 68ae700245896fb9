"""The exact mean latency of the slotted schedule under Poisson arrivals.

A stream owns R slots a round of P clocks: C clocks apart in its turn, and H = P − R·C clocks more
while it is swapped out. A slot takes the head of the queue, if an element has arrived by
then. Q_s is the number of elements that wait just before slot s, q_s the probability of none, and
g_s the clocks to the next slot. With a = λP arrivals per round, the generating functions are::

    F_{s+1}(z) = ((F_s(z) − q_s)/z + q_s)·exp(λg_s(z − 1))
    F_0(z)·(z^R − exp(a(z − 1))) = (z − 1)·exp(a(z − 1))·Σ_s q_s y^s,    y = z·exp(−λC(z − 1))

F_0 is finite in the unit disc, so the sum is zero at the zeros z_1 … z_{R−1} of the bracket other
than 1. The derivative at 1 gives the mean queue::

    Σ_s q_s y^s = (R − a)·Π (y − y_k)/(1 − y_k)
    E[Q_0] = a + (1 − λC)·Σ 1/(1 − y_k) − (R(R−1) − a²)/(2(R − a))
    E[Q_{s+1}] = E[Q_s] − (1 − q_s) + λg_s

The mean over the clocks of a round is Σ g_s·(E[Q_s] − (1 − q_s) + λg_s/2)/P. All gaps except the
last are C. So only Σ q_s = R − a, Σ s·q_s = (R − a)·Σ 1/(1 − y_k) and q_0 enter, and q_0 cancels.
With Little's law, ρ = a/R, ω_k = exp(2πik/R), δ = ρH/P and y_k = ω_k·exp(δ(z_k − 1)), the mean
latency in clocks is::

    P/(2R(1 − ρ)) + H²/(RP) · Σ_{k=1}^{R−1} ω_k·g_k / ((1 − y_k)(1 − ω_k)) + C
    g_k = (exp(δ(z_k − 1)) − 1)/δ

The first term is the wait for slots spread evenly over the round, the second what their bunching
adds, the third the pipeline. Nothing cancels, at any load. Elements that arrive m at once change
little: the zeros are v_k = z_k^m with ln v_k = ρ(v_k − 1) + 2πimk/R, δ = ρH/(mP), the first term
is m times as large, and the factor of the sum is H²/(mRP).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, NamedTuple

import numpy as np
from numpy.typing import NDArray

from dse.model import Array, Floats, Quantity, composed_of, model, monotonic
from objectives.queues import ROUNDING, complex_expm1, find_zeros, turn_angle
from objectives.sharing.schedule import (
    LONGEST_PERIOD,
    Pipeline,
    PrintedLatency,
    SchedulePeriod,
    Traffic,
    make_schedule,
    printed_latency,
    utilization,
)

_PAIRS = 1 << 13
"""Roots taken at a time: their dozen complex temporaries stay in the cache."""


@dataclass(frozen=True, eq=False)
class ExactLatency:
    """The outputs of :func:`exact_latency`."""

    latency: Annotated[
        Array,
        Quantity("s", "exact mean latency, from arrival to the end of the pipeline", "W", low=0),
    ]
    latency_error: Annotated[
        Array, Quantity("s", "estimate of the rounding error of the exact mean latency", low=0)
    ]


@model
@monotonic(latency="+arrival_rate +clock_period")
def exact_latency(
    pipeline: Pipeline, schedule_period: SchedulePeriod, traffic: Traffic
) -> ExactLatency:
    """Mean latency of an element under the hierarchical round-robin schedule, exactly.

    Assumes Poisson arrivals, independent of the schedule, and room for every element that waits.
    The schedule comes from Hall & Chamberlain 2014; the formula is this module's own.

    If more elements arrive, the additional ones delay the next ones and hasten
    none; an element meets the queue at a random time of the round. So latency rises with the
    arrival rate, and with the clock period, which slows the clocks and brings more arrivals to
    each. With the schedule period and the pipeline depth it may do either. It is inf if the arrival
    rate reaches the service rate, NaN if ``streams < pipeline_depth``.
    """
    length, away = make_schedule(*pipeline, schedule_period)
    load = utilization(length, schedule_period, *traffic)
    wait, error = slot_wait(length, away, schedule_period, load)
    clocks = wait + pipeline.pipeline_depth
    error = error + ROUNDING * clocks
    return ExactLatency(clocks * traffic.clock_period, error * traffic.clock_period)


def slot_wait(
    length: Floats,
    away: Floats,
    schedule_period: Floats,
    load: Floats,
    lane_elements: Floats = 1.0,
) -> tuple[Array, Array]:
    """Return the exact mean wait for a slot and the estimate of its rounding error, in clocks.

    `length` and `away` are of :func:`objectives.sharing.schedule.make_schedule`. The mean is over
    elements, of which `lane_elements` arrive at once. It is inf from a load of 1 on.
    """
    columns = np.broadcast_arrays(length, away, schedule_period, load, lane_elements)
    shape = columns[0].shape
    length, away, period, load, batch = (np.ravel(c).astype(np.float64) for c in columns)
    stable = (load < 1) & (period >= 1)
    free = np.where(stable, 1 - load, np.nan)
    even = batch * length / (2 * period * free)
    wait, error = even, 4 * ROUNDING * even / free
    some = np.flatnonzero(stable & (away > 0) & (period > 1))
    if some.size:
        share = away[some] / (batch[some] * length[some])
        turned = np.mod(batch[some], period[some])
        total, spread = _bunching(period[some], load[some], share, turned)
        scale = away[some] ** 2 / (batch[some] * period[some] * length[some])
        wait[some] += scale * total
        error[some] += scale * (spread + 4 * ROUNDING * total / free[some])
    for clocks in (wait, error):
        clocks[load >= 1] = np.inf
    return wait.reshape(shape)[()], error.reshape(shape)[()]


def _bunching(period: Array, load: Array, share: Array, turned: Array) -> tuple[Array, Array]:
    """Sum over the zeros for each design, in blocks of whole designs."""
    pairs = period.astype(np.int64) // 2  # zeros come in conjugate pairs, k and R − k
    total, error = np.empty_like(load), np.empty_like(load)
    ends = np.cumsum(pairs)
    first = 0
    while first < pairs.size:
        before = ends[first] - pairs[first]
        last = max(first + 1, int(np.searchsorted(ends, before + _PAIRS, side="right")))
        block = slice(first, last)
        starts = ends[block] - pairs[block] - before
        repeats = pairs[block]
        k = np.arange(1, ends[last - 1] - before + 1) - np.repeat(starts, repeats)
        of_pair = (np.repeat(c[block], repeats) for c in (period, load, share, turned))
        terms, errors = _terms(k, *of_pair)
        total[block] = np.add.reduceat(terms, starts)
        error[block] = np.add.reduceat(errors, starts)
        first = last
    return total, error


def _terms(
    k: NDArray[np.int64], period: Array, load: Array, share: Array, turned: Array
) -> tuple[Array, Array]:
    """Return each pair's share of the sum, and of its error from the residual of the zero."""
    angle = 2 * np.pi * k / period
    moved, size = find_zeros(turn_angle(k * turned, period), load)
    delta = np.maximum(load * share, 1e-200)  # a rate of 0 is the limit
    omega_less_1 = complex_expm1(1j * angle)
    omega = 1 + omega_less_1
    growth = complex_expm1(delta * moved) / delta
    one_less_y = -(omega_less_1 + omega * delta * growth)
    weight = np.where(2 * k == period, 1.0, 2.0)
    terms = weight * (omega * growth / (-omega_less_1 * one_less_y)).real
    square = one_less_y.real**2 + one_less_y.imag**2
    # d(term)/dv = y/(1 − y)²; |y| and |v| are at most 1
    return terms, weight * size / square + 4 * ROUNDING * np.abs(terms)


# ------------------------------------------------------------------------- the best schedule period


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

    The search is a bisection on the sign of ``W(R + 1) − W(R)``, from the smallest stable period
    on. That the latency falls and then rises is not proven, but held for each of some thousand
    designs that were compared with a full scan. Of equal latencies (a single group is never
    swapped) the smallest period is taken. The periods are inf if no period keeps up (offered
    load ≥ 1), the best one also if none in the domain does; the latency too. NaN if
    ``streams < pipeline_depth``.
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
        length, away = make_schedule(self.streams, self.depth, self.switch, period)
        return length, away, utilization(length, period, self.rate, 1.0)


def _wait(designs: _Designs, period: Array) -> Array:
    length, away, load = designs.round(period)
    return slot_wait(length, away, period, load)[0]


def _smallest_stable(designs: _Designs) -> Array:
    """Solve λ(R·C·G + S·G) < R for G groups, with the rounding of the utilization itself."""
    one = np.ones_like(designs.rate)
    slots = make_schedule(designs.streams, designs.depth, 0.0, one).length  # C·G
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
    """Return the first period from which on the latency does not fall, by bisection.

    Steps from the smallest period are doubled until it rises.
    """
    low, middle = smallest.copy(), smallest.copy()
    high, step = np.full_like(smallest, float(LONGEST_PERIOD)), np.ones_like(low)
    while (active := np.flatnonzero(low < high)).size:
        here, chosen = middle[active], designs.at(active)
        falls = _wait(chosen, here + 1) < _wait(chosen, here)
        low[active] = np.where(falls, here + 1, low[active])
        high[active] = np.where(falls, high[active], here)
        step[active] *= 2
        half = np.floor((low[active] + high[active]) / 2)
        middle[active] = np.minimum(np.where(falls, low[active] + step[active], half), half)
    return low


# ------------------------------------------------------------------------------------ all at once


@dataclass(frozen=True, eq=False)
class RoundRobin(PrintedLatency, ExactLatency, ScheduleOptimum):
    """The outputs of :func:`round_robin`, all of one shape."""

    def __post_init__(self) -> None:
        columns = np.broadcast_arrays(*vars(self).values())
        for name, column in zip(tuple(vars(self)), columns, strict=True):
            object.__setattr__(self, name, column[()])


@model
@composed_of(printed_latency, exact_latency, best_schedule_period)
def round_robin(
    pipeline: Pipeline, schedule_period: SchedulePeriod, traffic: Traffic
) -> RoundRobin:
    """Latency and throughput of streams that share an engine by hierarchical round robin.

    Assumes Poisson arrivals of equal rate in each stream, room for every element that waits, and
    elements that need one pass of the pipeline. See :mod:`objectives.sharing.schedule` for streams
    that are not a multiple of the pipeline depth. Waits are inf if the arrival rate reaches the
    service rate; all is NaN if ``streams < pipeline_depth``.

    >>> shared = round_robin(8, 4, 4, 5, 6e6, 10e-9)
    >>> shared.latency * 1e9, shared.latency_printed * 1e9, shared.best_schedule_period
    (213.15, 186.87, 4.0)
    """
