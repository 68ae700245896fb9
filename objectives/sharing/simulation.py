"""Cycle-accurate simulation of one stream under the hierarchical round-robin schedule.

The schedule is fixed and skips nobody, so a stream never feels the others: each has slots of its
own, and one stream is simulated. Number its slots 0, 1, 2… in time, and let f_j be the first slot
at or after the arrival of element j. Elements leave in order, one a slot, so element k takes slot
``n_k = max(f_k, n_{k−1} + 1) = k + max_{j≤k} (f_j − j)``: a running maximum, and no event queue.
Of elements that arrive at once, the first of each call is enough: the maximum is at one of them.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from functools import cached_property
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dse.model import Array
from dse.problems import Problem
from objectives.sharing.arrivals import CHUNK, ArrivalProcess, arrival_problems, generate
from objectives.sharing.quantities import problems_in, refuse
from objectives.sharing.schedule import schedule, utilization

BATCHES = 32
"""Batch means behind an interval: enough for a t quantile near the normal one."""
_FEWEST = 4 * BATCHES
_LONGEST = 2.0**48
"""Clocks of a run, beyond which float64 does not resolve a hundredth of a clock."""


@dataclass(frozen=True, eq=False)
class SimulatedLatency:
    """The measurements of a simulation, after its warm-up.

    Parameters
    ----------
    latency : float
        Mean latency [s], from arrival to the end of the pipeline; of calls of several elements, to
        the end of the last one.
    low, high : float
        Confidence interval of the mean [s], from batch means.
    level : float
        Confidence of the interval.
    occupancy : ndarray
        Share of the arrivals that find 0, 1, 2… elements waiting in their queue; under Poisson
        arrivals also the share of time.
    latencies : ndarray
        Latency of each measured call [s], in order of arrival; one element is a call too.
    warm_up : int
        Calls at the start that were left out.
    """

    latency: float
    low: float
    high: float
    level: float
    occupancy: Array = field(repr=False)
    latencies: Array = field(repr=False)
    warm_up: int

    @cached_property
    def percentiles(self) -> tuple[float, float, float]:
        """The 50th, 95th and 99th percentile of the latency [s]; found when first asked for."""
        p50, p95, p99 = np.percentile(self.latencies, (50, 95, 99))
        return float(p50), float(p95), float(p99)

    @property
    def p50(self) -> float:
        """Median latency [s]."""
        return self.percentiles[0]

    @property
    def p95(self) -> float:
        """95th percentile of the latency [s]."""
        return self.percentiles[1]

    @property
    def p99(self) -> float:
        """99th percentile of the latency [s]."""
        return self.percentiles[2]


def simulate(
    streams: int,
    pipeline_depth: int,
    context_switch: int,
    schedule_period: int,
    arrival_rate: float | None,
    clock_period: float,
    arrivals: ArrivalProcess | ArrayLike = "poisson",
    elements: int = 1_000_000,
    seed: int = 0,
    *,
    batch: int = 1,
    stream: int = 0,
    warm_up: float = 0.1,
    level: float = 0.99,
    burst_length: float = 8.0,
    peak_to_mean: float = 4.0,
) -> SimulatedLatency:
    """Simulate one stream of a shared engine and measure its latency.

    Parameters
    ----------
    streams, pipeline_depth, context_switch, schedule_period, clock_period
        As in :func:`objectives.sharing.round_robin`.
    arrival_rate : float or None
        Elements a second; None if `arrivals` are times.
    arrivals : {"poisson", "deterministic", "bursty"} or array_like
        A process (:func:`objectives.sharing.arrivals.generate`), or arrival times [s] in ascending
        order, such as :func:`objectives.sharing.arrivals.read_trace` returns.
    elements : int
        How many elements a process gives, warm-up included. Memory is 8 bytes a call.
    seed : int
        Of a process.
    batch : int
        Elements that arrive at once: a call. A process gives ``elements // batch`` calls, and each
        time of `arrivals` is one of a call. Means, intervals and percentiles are over calls.
    stream : int
        Which stream is followed; its place in the round matters to arrivals in step with the clock.
    warm_up : float
        Share of the calls at the start to leave out; the queue starts empty.
    level : float
        Confidence of the interval of the mean. It rests on 32 batch means; batches must be long
        against the memory of the queue, so raise `elements` near saturation.
    burst_length, peak_to_mean : float
        Of ``"bursty"``: mean elements of a burst, and the rate within it over the mean rate.

    Raises
    ------
    InputError
        If an input is outside its domain, or the arrivals exceed the service rate; all at once.

    >>> measured = simulate(8, 4, 4, 4, 6e6, 10e-9)
    >>> measured.low < 211.194e-9 < measured.high  # the exact mean
    True
    """
    setting = {
        "streams": streams,
        "pipeline_depth": pipeline_depth,
        "context_switch": context_switch,
        "schedule_period": schedule_period,
        "clock_period": clock_period,
    }
    process = arrivals if isinstance(arrivals, str) else None
    if process is not None and arrival_rate is not None:
        setting["arrival_rate"] = arrival_rate
    problems = problems_in(setting)
    fewest = _FEWEST * max(batch, 1) if process is not None else _FEWEST
    problems += arrival_problems(arrival_rate, arrivals, elements, seed, fewest)
    problems += _option_problems(batch, stream, streams, warm_up, level, burst_length, peak_to_mean)
    refuse("simulate", problems)
    slots = _Slots.of(streams, pipeline_depth, context_switch, schedule_period, stream)
    chunks: Iterable[Array]
    if process is not None and arrival_rate is not None:
        rate = arrival_rate * clock_period
        refuse("simulate", _load_problems(slots, rate, elements))
        calls = int(elements) // batch
        chunks = generate(process, rate / batch, calls, seed, burst_length, peak_to_mean)
    else:
        times = np.asarray(arrivals, dtype=np.float64) / clock_period
        calls = times.size
        chunks = (times[first : first + CHUNK] for first in range(0, calls, CHUNK))
    skipped = int(warm_up * calls)
    latencies, occupancy = _measure(slots, chunks, calls, skipped, batch)
    latencies *= clock_period
    return _summary(latencies, occupancy, skipped, level)


def departure_clocks(
    arrival_clocks: ArrayLike,
    streams: int,
    pipeline_depth: int,
    context_switch: int,
    schedule_period: int,
    stream: int = 0,
) -> Array:
    """Return the clock at which each element leaves the pipeline.

    Parameters
    ----------
    arrival_clocks : array_like
        Ascending arrival times in clocks; whole numbers give exact whole numbers. An element that
        arrives at the clock of a slot is in time for it.
    streams, pipeline_depth, context_switch, schedule_period
        As in :func:`simulate`.
    stream : int
        Stream i is in group ``i // pipeline_depth``, at place ``i % pipeline_depth`` of its turn;
        the turn of group 0 starts at clock 0.
    """
    slots = _Slots.of(streams, pipeline_depth, context_switch, schedule_period, stream)
    arrived = np.asarray(arrival_clocks, dtype=np.float64)
    departed, _, _ = slots.serve(arrived, 0, -np.inf, 1)
    return departed


class _Slots(NamedTuple):
    """The slots of one stream: slot n is at ``n·depth + ⌊n/period⌋·away + offset`` clocks."""

    period: float
    depth: float
    length: float
    away: float
    offset: float

    @classmethod
    def of(cls, streams: int, depth: int, switch: int, period: int, stream: int) -> _Slots:
        length, away = (float(clocks) for clocks in schedule(streams, depth, switch, period))
        group, place = divmod(stream, depth)
        return cls(period, depth, length, away, group * (period * depth + switch) + place)

    def serve(
        self, arrived: Array, first: int, most: float, batch: int
    ) -> tuple[Array, Array, float]:
        """Return departures of calls, elements found waiting, and the maximum to go on from.

        `arrived` is not changed; `first` is the index of its first call.
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
        if ahead.size:
            ahead[0] = max(ahead[0], most)
        np.maximum.accumulate(ahead, out=ahead)
        most = float(ahead[-1]) if ahead.size else most
        slot = np.add(ahead, index, out=index)
        found = np.subtract(slot, free, out=free)
        slot += batch - 1  # of the last element
        departed = np.floor(slot / self.period)
        departed *= self.away
        slot *= self.depth
        departed += slot
        departed += self.offset + self.depth
        return departed, found, most


def _measure(
    slots: _Slots, chunks: Iterable[Array], calls: int, skipped: int, batch: int
) -> tuple[Array, Array]:
    """Run the chunks; return the latencies in clocks and the counts of elements found waiting."""
    latencies = np.empty(calls - skipped)
    counts: NDArray[np.intp] = np.zeros(1, dtype=np.intp)
    first, most = 0, -np.inf
    for arrived in chunks:
        departed, found, most = slots.serve(arrived, first, most, batch)
        after = max(skipped - first, 0)
        first += arrived.size
        if after < arrived.size:
            measured = latencies[first - arrived.size + after - skipped : first - skipped]
            np.subtract(departed[after:], arrived[after:], out=measured)
            more = np.bincount(found[after:].astype(np.intp), minlength=counts.size)
            more[: counts.size] += counts
            counts = more
    return latencies, counts / max(int(counts.sum()), 1)


def _summary(latencies: Array, occupancy: Array, warm_up: int, level: float) -> SimulatedLatency:
    from scipy.special import stdtrit  # slow to import, and most studies simulate nothing

    size = latencies.size // BATCHES
    means = latencies[latencies.size - size * BATCHES :].reshape(BATCHES, size).mean(axis=1)
    mean = float(latencies.mean())
    half = float(stdtrit(BATCHES - 1, 0.5 + level / 2) * means.std(ddof=1) / np.sqrt(BATCHES))
    return SimulatedLatency(mean, mean - half, mean + half, level, occupancy, latencies, warm_up)


def _option_problems(
    batch: int,
    stream: int,
    streams: int,
    warm_up: float,
    level: float,
    burst_length: float,
    peak_to_mean: float,
) -> list[Problem]:
    fits = {
        "batch": (batch, batch >= 1 and float(batch).is_integer(), "a whole number of 1 or more"),
        "stream": (stream, 0 <= stream < streams, f"a whole number from 0 to {streams - 1}"),
        "warm_up": (warm_up, 0 <= warm_up <= 0.5, "a share from 0 to 0.5"),
        "level": (level, 0 < level < 1, "a share above 0 and below 1"),
        "burst_length": (burst_length, 1 <= burst_length < np.inf, "a number of 1 or more"),
        "peak_to_mean": (peak_to_mean, 1 < peak_to_mean < np.inf, "a number above 1"),
    }
    return [
        Problem(name, f"is {value:g}", f"give {allowed}")
        for name, (value, fit, allowed) in fits.items()
        if not fit
    ]


def _load_problems(slots: _Slots, rate: float, elements: int) -> list[Problem]:
    load = float(utilization(np.array(slots.length), slots.period, rate, 1.0))
    if load >= 1:
        return [
            Problem(
                "arrival_rate",
                f"is {load:.4g} times the service rate, and the queue grows without end",
                "lower it, or raise schedule_period (see smallest_stable_schedule_period)",
            )
        ]
    if elements / rate > _LONGEST:
        remedy = "raise arrival_rate, or take fewer elements"
        message = f"makes the run {elements / rate:.3g} clocks long, more than are resolved"
        return [Problem("arrival_rate", message, remedy)]
    return []
