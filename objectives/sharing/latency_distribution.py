"""The exact distribution of the latency under Poisson arrivals, and its 99th percentile.

An element that leaves at slot s has waited longer than x if, x before the slot, more elements
were waiting than there are slots in between. So the share of elements that wait longer than x is
the sum of these probabilities over the slots of a round, over the arrivals of a round. The queue
after each slot comes from its generating function (:mod:`objectives.sharing.slot_latency`),
inverted by a Fourier transform on a circle just inside the unit circle, which damps what wraps
round.

A design takes some milliseconds, and time and memory grow with the square of the schedule period.
Only studies that need the tail should use this model.
"""

from __future__ import annotations

import functools
import math
from typing import Annotated, NamedTuple, TypeAlias

import numpy as np

from dse.model import Array, Floats, Quantity, model
from objectives.queues import Complex, complex_expm1, log_zero
from objectives.sharing.schedule import Pipeline, Traffic, make_schedule, utilization

LONGEST_TAIL_PERIOD = 1024
"""Largest schedule period in the domain; time and memory grow with its square."""
_DAMPING = 1e-13
"""Weight of what wraps round; rounding is amplified by the inverse of its fourth root."""
_SETTLED = 1e-9
_REMEMBERED = 50_000
"""Designs whose quantiles are kept: tables, explanations and reports ask for them again."""
_LEAST_LOAD = 1e-6
"""A lighter load differs from this one by less than the inversion resolves."""


TailSchedulePeriod: TypeAlias = Annotated[
    Floats,
    Quantity(
        "1",
        "turns of each stream before its group is swapped out",
        "R_S",
        low=1,
        high=LONGEST_TAIL_PERIOD,
        integer=True,
        typical=(1, 128),
    ),
]


class TailLatency(NamedTuple):
    """The outputs of :func:`tail_latency`."""

    latency_p99: Annotated[
        Array, Quantity("s", "latency that 99 % of the elements do not exceed", low=0)
    ]


@model
def tail_latency(
    pipeline: Pipeline, schedule_period: TailSchedulePeriod, traffic: Traffic
) -> TailLatency:
    """Find the 99th percentile of the latency exactly, to about six digits.

    Assumptions are as of :func:`objectives.sharing.slot_latency.exact_latency`.

    Returns
    -------
    TailLatency
        Array of the broadcast shape of the inputs: inf if the arrival rate reaches the service
        rate, NaN if ``streams < pipeline_depth``.
    """
    return TailLatency(latency_quantile(*pipeline, schedule_period, *traffic, level=0.99))


def latency_quantile(
    streams: Floats,
    pipeline_depth: Floats,
    context_switch: Floats,
    schedule_period: Floats,
    arrival_rate: Floats,
    clock_period: Floats,
    level: float,
) -> Array:
    """Return the latency [s] that a share `level` of the elements does not exceed.

    As :func:`tail_latency`, for any level above 0 and below 1. NaN outside its domains.

    Raises
    ------
    ValueError
        If the level is not such a share.
    """
    if not 0 < level < 1:
        raise ValueError(f"level is {level:g}; give a share above 0 and below 1")
    length, away = make_schedule(streams, pipeline_depth, context_switch, schedule_period)
    load = utilization(length, schedule_period, arrival_rate, clock_period)
    columns = np.broadcast_arrays(length, away, pipeline_depth, schedule_period, load)
    shape = columns[0].shape
    rows = np.stack([np.ravel(c).astype(np.float64) for c in columns], axis=1)
    rows, inverse = np.unique(rows, axis=0, return_inverse=True)
    clocks = np.array([_quantile(*(float(x) for x in row), level=level) for row in rows])
    return (clocks[inverse.reshape(-1)].reshape(shape) * clock_period)[()]


@functools.lru_cache(_REMEMBERED)
def _quantile(
    length: float, away: float, depth: float, period: float, load: float, *, level: float
) -> float:
    if not (load == load and 1 <= period <= LONGEST_TAIL_PERIOD):
        return np.nan
    if load >= 1:
        return np.inf
    if away == 0:
        period, length = 1.0, depth  # every turn is a round
    load, left = max(load, _LEAST_LOAD), 1 - level
    rounds = max(4, math.ceil(32 / period))
    queue = WaitDistribution(length, depth, int(period), load, rounds)
    while (longer := queue.longer((rounds - 1) * length)) > left:
        # far out, each further round has the same share of the one before
        decay = period * _log_ratio(load)
        start = (rounds - 2) * length
        before = queue.longer(start)
        if abs(longer / before - math.exp(-decay)) < _SETTLED:
            skipped = math.floor(math.log(before / left) / decay)
            left *= math.exp(decay * skipped)
            return skipped * length + queue.wait(left, start, start + length) + depth
        rounds *= 2
        queue = WaitDistribution(length, depth, int(period), load, rounds)
    return queue.wait(left, 0.0, (rounds - 1) * length) + depth


def _log_ratio(load: float) -> float:
    """Return ln z of the zero beyond 1: far out, n + 1 elements wait 1/z as often as n."""
    zeta = 2 * (1 - load) / load  # above the zero, from where Newton's method falls to it
    for _ in range(60):
        step = (zeta - load * math.expm1(zeta)) / (1 - load * math.exp(zeta))
        zeta -= step
        if step <= 1e-15 * zeta:
            break
    return zeta


class WaitDistribution:
    """The wait for a slot in one stable design, up to some rounds.

    Parameters
    ----------
    length, depth : float
        Clocks of a round, and between the slots of a turn.
    period : int
        Slots of a round.
    load : float
        Utilization, above 0 and below 1.
    rounds : int
        The longest wait to ask for, plus one, in rounds.
    """

    def __init__(self, length: float, depth: float, period: int, load: float, rounds: int) -> None:
        self.length, self.depth, self.period = length, depth, period
        self.rate = load * period / length
        self.at_most = np.cumsum(_queues(length, depth, period, load, rounds * period + 1), axis=1)

    def wait(self, share: float, low: float, high: float) -> float:
        """Return the wait [clocks] in a range that a fraction of the elements exceeds."""
        from scipy.optimize import brentq  # slow to import, and most studies ask for no tail

        return float(brentq(lambda x: self.longer(x) - share, low, high, xtol=1e-9, rtol=1e-12))

    def longer(self, clocks: float) -> float:
        """Return the share of the elements that wait longer than so many clocks."""
        from scipy.special import gammaln, xlogy  # slow to import, as above

        slot = np.arange(self.period)
        before = slot * self.depth - clocks
        rounds = np.floor(before / self.length)
        before -= rounds * self.length
        last = np.minimum(np.floor(before / self.depth), self.period - 1)  # slot before that time
        arrivals = self.rate * (before - last * self.depth)
        between = (slot - last - 1 - self.period * rounds).astype(np.int64)
        count = np.arange(between.max() + 1)
        chance = np.exp(xlogy(count, arrivals[:, None]) - arrivals[:, None] - gammaln(count + 1))
        room = between[:, None] - count
        left = self.at_most[last.astype(np.int64)[:, None], np.maximum(room, 0)]
        gone = np.where(room >= 0, chance * left, 0.0).sum(axis=1)
        return float((1 - gone).sum() / (self.rate * self.length))


def _queues(length: float, depth: float, period: int, load: float, size: int) -> Array:
    """Return the chances of 0, 1… `size` − 1 elements waiting just after each slot of a round."""
    points = 1 << int(4 * (size + period) - 1).bit_length()
    radius = _DAMPING ** (1 / points)
    log_z = np.log(radius) - 2j * np.pi / points * np.arange(points // 2 + 1)
    moved = complex_expm1(log_z)  # z − 1
    z, rate, arrivals = 1 + moved, load * period / length, load * period
    grown = np.exp(rate * depth * moved)
    inverse = grown / z  # 1/y
    queue = _empty_slots(inverse, length, depth, period, load) * inverse
    queue *= moved * period * (1 - load) * np.exp(rate * (length - period * depth) * moved)
    queue /= -np.expm1(arrivals * moved - period * log_z)
    undamped = radius ** -np.arange(size)
    after = np.empty((period, size))
    for slot in range(period):
        empty = (2 * queue.real.sum() - queue[0].real - queue[-1].real) / points
        queue = (queue - empty) / z + empty
        after[slot] = np.fft.irfft(queue, points)[:size] * undamped
        queue *= grown
    return after


def _empty_slots(
    inverse: Complex, length: float, depth: float, period: int, load: float
) -> Complex:
    """Multiply (1 − y_k/y)/(1 − y_k) over the zeros, at 1/y.

    Times y^(R − 1) it is the polynomial of the chances that slots find the queue empty. Zeros
    are taken in the order of reversed bits, which keeps the partial products near one.
    """
    pairs = np.arange(1, period // 2 + 1)
    angle = 2 * np.pi * pairs / period
    moved = complex_expm1(log_zero(angle, np.full(pairs.shape, load)))
    share = load * (1 - period * depth / length)
    less = complex_expm1(1j * angle + share * moved)  # y_k − 1
    width = period.bit_length()
    product = np.ones_like(inverse)
    for k in sorted(range(pairs.size), key=lambda k: f"{k:0{width}b}"[::-1]):
        root, distance = complex(1 + less[k]), abs(complex(less[k]))
        if 2 * pairs[k] == period:
            product *= (1 - root.real * inverse) / distance
        else:
            product *= (1 - (2 * root.real - abs(root) ** 2 * inverse) * inverse) / distance**2
    return product
