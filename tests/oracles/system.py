"""The system of docs/explanation/system.md, call by call: host threads, a link, shared engines.

Written from the words of that page; no formula of a model is used. A call needs one event, the
end of its set-up: the earliest of all streams is the next to join a link, so the end of its link's
queue is known; travel takes a constant time. With fixed slots, its slots are the next of its
stream, for a schedule that skips no stream lets no stream disturb another. A work-conserving engine
serves calls in the order of their arrival, which is that of joining the link: a call takes the
context that is free first. Then the stream's next set-up can be dated, for all that it waits for
(request, thread, window) is known. `system_events` is the same system with a process for each
thread, call and engine; tests compare every time of the two.

Times within are in clocks of the engine. If links are not shared, engines have nothing in common,
and one is simulated; if they are, all engines are. Engines are alike: if streams are left over,
the last engine has the schedule of the others, and some of its slots stay idle.
"""

import heapq
import itertools
import math
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from scipy import stats

BATCHES = 32
ENDLESS = 2**31  # calls in flight that no window bounds
EARLY = 1e-6  # [clock] what is late by the rounding of its time is in time


@dataclass(frozen=True)
class System:
    """One design, in the words of system.md; times in seconds, clocks where it says so."""

    total_streams: int
    streams: int  # that share one engine
    granularity: float  # [B/call]
    call_rate: float  # [call/s] of one stream
    calls_in_flight: int
    set_up_time: float  # [s/call] o + h·g
    link_occupancy_time: float  # [s/call] l·g
    travel_time: float  # [s/call] L
    shared_link: bool
    lanes: int
    element_bytes: float
    passes: int
    pipeline_depth: int
    schedule_period: int  # [slot/turn]
    context_switch: float  # [clock]
    clock_period: float  # [s]
    chained: bool = True  # an element needs the result of the one before it
    work_conserving: bool = False  # else each stream has fixed slots

    @property
    def apart(self) -> int:
        """Clocks from one slot of a call to the next one in its turn."""
        return self.pipeline_depth if self.chained else 1

    @property
    def lane_streams(self) -> int:
        """Streams that share a lane in fixed slots."""
        return math.ceil(self.streams / self.lanes) if self.chained else self.streams

    @property
    def lane_elements(self) -> int:
        """Slots of a call in a lane."""
        elements = math.ceil(self.granularity / self.element_bytes)
        if self.chained:
            return elements * self.passes
        dealt = math.ceil(elements / self.lanes)
        # a further pass begins when the last one has gone through the pipeline
        return (self.passes - 1) * max(dealt, self.pipeline_depth) + dealt

    @property
    def contexts(self) -> int:
        """Calls that a work-conserving engine serves at a time."""
        return self.lanes * self.pipeline_depth if self.chained else 1

    @property
    def groups(self) -> int:
        """Groups of streams that take turns on a lane."""
        return math.ceil(self.lane_streams / self.apart)

    @property
    def turn(self) -> float:
        """Clocks from the start of a group's turn to the start of the next group's."""
        switch = self.context_switch if self.groups > 1 else 0
        return self.schedule_period * self.apart + switch

    @property
    def simulated(self) -> int:
        """Streams that are simulated: the chip's if they meet on the link, else one engine's."""
        return self.total_streams if self.shared_link else min(self.streams, self.total_streams)

    def slot_clock(self, stream: int, index: int) -> float:
        """Clocks from the start of the engine's first round to a slot of the stream, from 0 on."""
        place = stream % self.streams % self.lane_streams
        group, member = divmod(place, self.apart)
        rounds, slot = divmod(index, self.schedule_period)
        start = (rounds * self.groups + group) * self.turn
        return start + slot * self.apart + member


class Call(NamedTuple):
    """The clocks of a call's steps, and the indices of its slots: -1 without fixed slots."""

    stream: int
    request: float
    begun: float  # its set-up
    joined: float  # the queue of the link
    sent: float  # the link is its own
    arrived: float  # at the engine
    first_slot: int
    last_slot: int
    end: float


def calls(
    system: System, requests: Iterable[Iterable[float]], phases: list[float]
) -> Iterator[Call]:
    """Yield all calls in the order in which they join a link.

    Parameters
    ----------
    requests
        For each simulated stream, the clocks of its requests' arrivals in order.
    phases
        For each engine, the clock at which a round of its schedule starts.
    """
    s = system
    apart, period, round_clocks = s.apart, s.schedule_period, s.groups * s.turn
    served = s.context_switch + s.lane_elements * apart
    set_up, occupied, travel, window, slots = (
        s.set_up_time / s.clock_period,
        s.link_occupancy_time / s.clock_period,
        s.travel_time / s.clock_period,
        s.calls_in_flight,
        s.lane_elements,
    )
    sources = [iter(times) for times in requests]
    engines = [stream // s.streams for stream in range(len(sources))]
    offsets = [phases[e] + s.slot_clock(stream, 0) for stream, e in enumerate(engines)]
    link_free = [-math.inf] * (engines[-1] + 1)
    free_slot = [-(2**62)] * len(sources)
    free_context = [[-math.inf] * s.contexts for _ in phases]
    ends: list[list[float]] = [[] for _ in sources]  # a stream's calls end in their order
    waiting = []  # (end of set-up, stream, request, start of set-up), one a stream
    for stream, source in enumerate(sources):
        if (request := next(source, None)) is not None:
            waiting.append((request + set_up, stream, request, request))
    heapq.heapify(waiting)
    while waiting:
        joined, stream, request, begun = waiting[0]
        link = 0 if s.shared_link else engines[stream]
        sent = max(joined, link_free[link])
        link_free[link] = sent + occupied
        arrived = link_free[link] + travel
        if s.work_conserving:
            contexts = free_context[engines[stream]]
            leaves = max(contexts[0], arrived) + served
            heapq.heapreplace(contexts, leaves)
            slot = last = -1
            end = leaves - apart + s.pipeline_depth
        else:
            rounds, clocks = divmod(arrived - offsets[stream] - EARLY, round_clocks)
            slot = int(rounds) * period + min(math.ceil(clocks / apart), period)
            slot = max(slot, free_slot[stream])
            free_slot[stream] = slot + slots
            last = slot + slots - 1
            rounds, rest = divmod(last, period)
            end = offsets[stream] + rounds * round_clocks + rest * apart + s.pipeline_depth
        done = ends[stream]
        done.append(end)
        yield Call(stream, request, begun, joined, sent, arrived, slot, last, end)
        following = next(sources[stream], None)
        if following is None:
            heapq.heappop(waiting)
            continue
        begun = max(following, joined)
        if len(done) >= window:
            begun = max(begun, done[-window])
        heapq.heapreplace(waiting, (begun + set_up, stream, following, begun))


class Estimate(NamedTuple):
    """A mean and its 99 % interval by batch means."""

    mean: float
    low: float
    high: float

    @classmethod
    def of(cls, values: np.ndarray[Any, Any]) -> "Estimate":
        """Take equal batches of consecutive values as independent."""
        means = values[: len(values) // BATCHES * BATCHES].reshape(BATCHES, -1).mean(axis=1)
        half = stats.t.ppf(0.995, BATCHES - 1) * means.std(ddof=1) / math.sqrt(BATCHES)
        return cls(means.mean(), means.mean() - half, means.mean() + half)


@dataclass(frozen=True)
class Measured:
    """What calls took on average [s], and what was carried."""

    call_time: Estimate  # from the request's arrival to the end of its call
    call_time_p95: float
    call_time_p99: float
    host_wait: Estimate  # for the thread and the window, before set-up
    link_wait: Estimate
    engine_time: Estimate  # from reaching the engine to the end
    carried: float  # calls ended over requests arrived while it was measured
    stream_shares: np.ndarray[Any, Any]  # of all calls ended, for each stream
    engine_busy: float  # fraction of the slots or contexts in use
    link_busy: float  # share of time, mean over links


def random_phases(system: System, rng: np.random.Generator) -> list[float]:
    """Draw for each simulated engine the clock at which a round starts, at most 0."""
    engines = math.ceil(system.simulated / system.streams)
    return (-rng.uniform(0, system.groups * system.turn, engines)).tolist()  # type: ignore[no-any-return]


def poisson(rate: float, rng: np.random.Generator) -> Iterator[float]:
    """Yield the times of a Poisson process, without end."""
    now = 0.0
    while True:
        times = now + np.cumsum(rng.exponential(1 / rate, 1_000))
        now = float(times[-1])
        yield from times.tolist()


def simulate(system: System, calls_offered: int, seed: int) -> Measured:
    """Offer about so many calls in all and measure the steady state.

    The first fifth of the time warms up; calls that arrive in the last twentieth are served and not
    measured, for some that would compete with them have not been offered.
    """
    rng = np.random.default_rng(seed)
    phases = random_phases(system, rng)
    rate = system.call_rate * system.clock_period  # a clock
    horizon = calls_offered / (rate * system.simulated)
    requests = [
        itertools.takewhile(lambda time: time < horizon, poisson(rate, child))
        for child in rng.spawn(system.simulated)
    ]
    seen = np.array(list(calls(system, requests, phases)))
    start, stop = 0.2 * horizon, 0.95 * horizon
    seen = seen[np.argsort(seen[:, 1])]
    _, request, begun, joined, sent, arrived, _, _, end = seen[
        (start <= seen[:, 1]) & (seen[:, 1] < stop)
    ].T
    ended = seen[(start <= seen[:, 8]) & (seen[:, 8] < stop)]
    clock, links = system.clock_period, 1 if system.shared_link else len(phases)
    rate = system.schedule_period / (system.groups * system.turn) / system.lane_elements
    if system.work_conserving:
        held = system.context_switch + system.lane_elements * system.apart
        rate = system.contexts * len(phases) / held / system.simulated
    return Measured(
        call_time=Estimate.of((end - request) * clock),
        call_time_p95=float(np.quantile(end - request, 0.95)) * clock,
        call_time_p99=float(np.quantile(end - request, 0.99)) * clock,
        host_wait=Estimate.of((begun - request) * clock),
        link_wait=Estimate.of((sent - joined) * clock),
        engine_time=Estimate.of((end - arrived) * clock),
        carried=len(ended) / len(request),
        stream_shares=np.bincount(ended[:, 0].astype(int), minlength=system.simulated) / len(ended),
        engine_busy=len(ended) / (rate * (stop - start) * system.simulated),
        link_busy=len(ended) * system.link_occupancy_time / clock / (stop - start) / links,
    )


def saturated_interval(system: System, calls_ended: int, seed: int) -> Estimate:
    """Mean time [s] between ends of calls of a stream that always has a request waiting.

    All other streams offer their load. The first tenth of the calls warms up.
    """
    rng = np.random.default_rng(seed)
    rate = system.call_rate * system.clock_period
    requests: list[Iterable[float]] = [poisson(rate, r) for r in rng.spawn(system.simulated)]
    requests[0] = itertools.repeat(0.0)
    seen = calls(system, requests, random_phases(system, rng))
    tagged = (call.end for call in seen if call.stream == 0)
    ends = np.array(list(itertools.islice(tagged, calls_ended)))
    return Estimate.of(np.diff(ends[calls_ended // 10 :]) * system.clock_period)
