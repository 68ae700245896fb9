"""Cycle-accurate simulation of one stream under the hierarchical round-robin schedule.

The schedule is fixed and skips nobody, so a stream never feels the others: each has slots of its
own, and one stream is simulated. Number its slots 0, 1, 2… in time, and let f_j be the first slot
at or after the arrival of element j. Elements leave in order, one a slot, so element k takes slot
``n_k = max(f_k, n_{k−1} + 1) = k + max_{j≤k} (f_j − j)``: a running maximum, and no event queue.
Of elements that arrive at once, the first of each call is enough: the maximum is at one of them.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Annotated, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from dse.model import Array, Quantity, list_declarations, model
from dse.problems import InputError, Problem
from objectives.quantities import check_domains
from objectives.sharing.schedule import (
    Pipeline,
    SchedulePeriod,
    Traffic,
    make_schedule,
    printed_latency,
)

ELEMENTS = 200_000
"""Elements of each simulation of the model, a tenth of them to warm up."""
_BATCHES = 32
"""Batch means behind an interval: enough for a t quantile near the normal one."""
_WARM_UP = 0.1
"""The fraction of the calls at the start that is left out; the queue starts empty."""
_LEVEL = 0.99
_LONGEST = 2.0**48  # clocks of a run; beyond, float64 does not resolve a hundredth of a clock
_CHUNK = 1 << 15
"""Calls generated at a time: the working set stays in the cache."""


class SimulatedLatency(NamedTuple):
    """The measurements of a simulation, after its warm-up."""

    latency: float
    """Mean latency [s], from arrival to the end of the pipeline; of calls of several elements, to
    the end of the last one."""
    low: float
    """The 99 % confidence interval of the mean [s], from 32 batch means."""
    high: float
    latencies: Array
    """Latency of each measured call [s], in order of arrival; one element is a call too."""


def simulate(
    streams: int,
    pipeline_depth: int,
    context_switch: int,
    schedule_period: int,
    arrival_rate: float,
    clock_period: float,
    *,
    elements: int = 1_000_000,
    batch: int = 1,
    seed: int = 0,
) -> SimulatedLatency:
    """Simulate one stream of a shared engine under Poisson arrivals and measure its latency.

    The first inputs are as in :func:`objectives.sharing.round_robin`. Of the `elements`, warm-up
    included, `batch` arrive at once: a call. Means, intervals and latencies are over calls. Batches
    of means must be long against the memory of the queue, so raise `elements` near saturation.

    InputError if an input is outside its domain, or the arrivals exceed the service rate.

    >>> measured = simulate(8, 4, 4, 4, 6e6, 10e-9)
    >>> measured.low < 211.194e-9 < measured.high  # the exact mean
    True
    """
    elements = int(elements)
    setting = (streams, pipeline_depth, context_switch, schedule_period, arrival_rate, clock_period)
    _check(setting, elements // max(batch, 1), batch)
    slots = _Slots.of(streams, pipeline_depth, context_switch, schedule_period)
    calls, rng = elements // batch, np.random.default_rng(seed)
    skipped, rate = int(_WARM_UP * calls), arrival_rate * clock_period / batch
    latencies = np.empty(calls)
    last, most = 0.0, -np.inf
    for first in range(0, calls, _CHUNK):
        gaps = rng.standard_exponential(min(_CHUNK, calls - first))
        gaps /= rate
        gaps[0] += last
        arrived = np.cumsum(gaps, out=gaps)
        last = float(arrived[-1])
        departed, most = slots.serve(arrived, first, most, batch)
        np.subtract(departed, arrived, out=latencies[first : first + arrived.size])
    return _summary(latencies[skipped:] * clock_period)


def departure_clocks(
    arrival_clocks: ArrayLike,
    streams: int,
    pipeline_depth: int,
    context_switch: int,
    schedule_period: int,
    stream: int = 0,
) -> Array:
    """Return the clock at which each element leaves the pipeline, for arrivals of any kind.

    Arrivals ascend, in clocks; whole numbers give exact whole numbers. An element that arrives at
    the clock of a slot is in time for it. Stream i is in group ``i // pipeline_depth``, at place
    ``i % pipeline_depth`` of its turn; the turn of group 0 starts at clock 0.
    """
    slots = _Slots.of(streams, pipeline_depth, context_switch, schedule_period, stream)
    return slots.serve(np.asarray(arrival_clocks, dtype=np.float64), 0, -np.inf, 1)[0]


class _Slots(NamedTuple):
    """The slots of one stream: slot n is at ``n·depth + ⌊n/period⌋·away + offset`` clocks."""

    period: float
    depth: float
    length: float
    away: float
    offset: float

    @classmethod
    def of(cls, streams: int, depth: int, switch: int, period: int, stream: int = 0) -> _Slots:
        length, away = (float(clocks) for clocks in make_schedule(streams, depth, switch, period))
        group, place = divmod(stream, depth)
        return cls(period, depth, length, away, group * (period * depth + switch) + place)

    def serve(self, arrived: Array, first: int, most: float, batch: int) -> tuple[Array, float]:
        """Return the departures of calls, of which `first` is the index of the first one.

        `most` is the running maximum of the calls before; the new one is returned as well. Arrays
        are used again, because fresh ones take as long as the arithmetic.
        """
        shifted = arrived - self.offset
        rounds = np.floor(shifted / self.length)
        shifted -= rounds * self.length
        shifted /= self.depth
        free = np.ceil(shifted, out=shifted)
        np.minimum(free, self.period, out=free)  # past its turn: the first slot of the next round
        rounds *= self.period
        free += rounds
        index = np.arange(first, first + arrived.size, dtype=np.float64)
        index *= batch
        ahead = np.subtract(free, index, out=rounds)
        ahead[:1] = np.maximum(ahead[:1], most)
        np.maximum.accumulate(ahead, out=ahead)
        slot = np.add(ahead, index, out=index)
        slot += batch - 1  # of the last element
        departed = np.floor(slot / self.period)
        departed *= self.away
        slot *= self.depth
        departed += slot
        departed += self.offset + self.depth
        return departed, float(ahead[-1]) if ahead.size else most


def _summary(latencies: Array) -> SimulatedLatency:
    from scipy.special import stdtrit  # slow to import, and most studies simulate nothing

    size = latencies.size // _BATCHES
    means = latencies[latencies.size - size * _BATCHES :].reshape(_BATCHES, size).mean(axis=1)
    mean = float(latencies.mean())
    spread = means.std(ddof=1) / np.sqrt(_BATCHES)
    half = float(stdtrit(_BATCHES - 1, 0.5 + _LEVEL / 2) * spread)
    return SimulatedLatency(mean, mean - half, mean + half, latencies)


def _check(setting: tuple[float, ...], calls: int, batch: int) -> None:
    """Raise InputError with all that is wrong with the inputs of a simulation."""
    domains = list_declarations(printed_latency)
    problems = check_domains(dict(zip(domains, setting, strict=True)), domains)
    if setting[0] < setting[1]:
        message = f"is {setting[0]}, fewer than pipeline_depth = {setting[1]}"
        problems.append(Problem("streams", message, "at least one for each pipeline stage"))
    if batch < 1:
        problems.append(Problem("batch", f"is {batch}", "at least 1"))
    elif calls < 4 * _BATCHES:
        least = 4 * _BATCHES * batch
        problems.append(Problem("elements", f"makes {calls} calls", f"at least {least} elements"))
    if not problems:
        load = float(printed_latency(*setting).utilization)
        clocks = calls * batch / (setting[4] * setting[5]) if setting[4] else np.inf
        if not load < 1:
            message = f"is {load:.4g} times the service rate: the queue grows without end"
            problems.append(Problem("arrival_rate", message, "lower it, or raise schedule_period"))
        elif not setting[4]:
            problems.append(Problem("arrival_rate", "is 0", "above 0 element/s"))
        elif clocks > _LONGEST:
            message = f"makes the run {clocks:.3g} clocks long, more than are resolved"
            problems.append(Problem("arrival_rate", message, "raise it, or take fewer elements"))
    if problems:
        raise InputError("simulate", problems)


# ------------------------------------------------------------------------ the simulation as a model


class SimulatedStream(NamedTuple):
    """The outputs of :func:`simulated_latency`."""

    latency_simulated: Annotated[
        Array, Quantity("s", "simulated mean latency", "W", low=0, better="lower")
    ]
    latency_simulated_low: Annotated[Array, Quantity("s", "lower end of its 99 % interval", low=0)]
    latency_simulated_high: Annotated[Array, Quantity("s", "upper end of its 99 % interval", low=0)]


@model
def simulated_latency(
    pipeline: Pipeline, schedule_period: SchedulePeriod, traffic: Traffic
) -> SimulatedStream:
    """Simulate the schedule of :func:`objectives.sharing.round_robin` under Poisson arrivals.

    For curves and checks: a simulation takes milliseconds. The same seed every time makes it a pure
    function. The mean is inf at saturation; without arrivals it is the latency of a lone element.
    """
    inputs = (*pipeline, schedule_period, *traffic)
    load = np.asarray(printed_latency(*inputs).utilization)
    columns = np.broadcast_arrays(*inputs)
    means = np.full((3, *load.shape), np.inf)
    for at in np.ndindex(load.shape):
        if load[at] < 1:
            n, c, s, r, rate, clock = (float(x[at]) for x in columns)
            rate = max(rate, 1e-6 / (n * clock))  # an element now and then
            means[(slice(None), *at)] = _measure(int(n), int(c), int(s), int(r), rate, clock)
    return SimulatedStream(means[0][()], means[1][()], means[2][()])


@lru_cache(maxsize=4096)  # the curves of several designs have most of their points in common
def _measure(
    streams: int, depth: int, switch: int, period: int, rate: float, clock: float
) -> tuple[float, float, float]:
    """Return the mean latency [s] of a simulation, and the limits of its interval."""
    found = simulate(streams, depth, switch, period, rate, clock, elements=ELEMENTS, seed=1)
    return found.latency, found.low, found.high
