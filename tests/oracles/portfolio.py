"""The system of docs/explanation/portfolio.md, call by call: kernels, cores, a link, engines.

Written from the words of that page; no formula of a model is used. Without polling, calls pass
queue after queue, and each queue is replayed for all calls at once: a single server by Lindley's
recursion, which is a running maximum, several servers with a heap of the times when each is free.
`follow_events` keeps the time of the next event of each call instead, and so does polling too.
"""

import heapq
from collections import deque
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

Times = NDArray[np.float64]
BATCHES = 20


@dataclass(frozen=True)
class Kernel:
    """A kernel: calls per second, and times of a call in seconds."""

    rate: float
    host_time: float
    set_up_time: float = 0.0
    link_time: float = 0.0
    latency: float = 0.0
    service_time: float = 0.0
    engine: int | None = None  # the host does the calls if there is none
    polling: bool = False


@dataclass(frozen=True)
class System:
    """Kernels on cores; each engine has a number of copies."""

    kernels: tuple[Kernel, ...]
    cores: int = 1
    copies: tuple[int, ...] = ()


class Observed(NamedTuple):
    """Means over the calls after the first tenth, and the standard error of the time."""

    mix_time: float
    standard_error: float
    kernel_times: Times
    host_utilization: float
    link_utilization: float
    engine_utilization: Times  # of each engine


def simulate(system: System, calls: int, seed: int = 0) -> Observed:
    """Return what is observed of a system's calls."""
    rates = np.array([kernel.rate for kernel in system.kernels])
    rng = np.random.default_rng(seed)
    arrivals = np.cumsum(rng.exponential(1 / rates.sum(), calls))
    kinds = rng.choice(len(rates), calls, p=rates / rates.sum())
    polls = any(kernel.polling for kernel in system.kernels)
    follow = follow_events if polls else replay_queues
    ends, busy = follow(system, arrivals, kinds)
    late = slice(calls // 10, None)
    times, kinds = (ends - arrivals)[late], kinds[late]
    means = [float(part.mean()) for part in np.array_split(times, BATCHES)]
    duration = ends.max() - arrivals[0]
    link = _times(system, "link_time")
    service, engines = _times(system, "service_time"), _engines(system)
    counts = np.bincount(kinds, minlength=len(rates)) * calls / len(kinds)
    return Observed(
        float(times.mean()),
        float(np.std(means, ddof=1)) / BATCHES**0.5,
        np.array([times[kinds == kind].mean() for kind in range(len(rates))]),
        float(busy.sum()) / duration / system.cores,
        float((counts * link)[engines >= 0].sum()) / duration,
        np.array(
            [
                (counts * service)[engines == j].sum() / duration / c
                for j, c in enumerate(system.copies)
            ]
        ),
    )


def _times(system: System, name: str) -> Times:
    return np.array([getattr(kernel, name) for kernel in system.kernels])


def _engines(system: System) -> NDArray[np.int64]:
    return np.array([-1 if k.engine is None else k.engine for k in system.kernels])


def serve_in_order(arrivals: Times, times: Times, servers: int) -> Times:
    """Return the ends of calls that servers take in order of arrival."""
    if servers == 1:
        done = np.cumsum(times)
        result: Times = np.maximum.accumulate(arrivals - done + times) + done
        return result
    free, ends = [0.0] * servers, []
    for arrival, time in zip(arrivals.tolist(), times.tolist(), strict=True):
        end = max(arrival, free[0]) + time
        heapq.heapreplace(free, end)
        ends.append(end)
    return np.array(ends)


def replay_queues(system: System, arrivals: Times, kinds: NDArray[np.int64]) -> tuple[Times, Times]:
    """Return the end of each call, and how long it kept a core busy; no kernel polls."""
    engines = _engines(system)[kinds]
    busy = np.where(
        engines < 0, _times(system, "host_time")[kinds], _times(system, "set_up_time")[kinds]
    )
    ends = serve_in_order(arrivals, busy, system.cores)
    built = np.flatnonzero(engines >= 0)
    built = built[np.argsort(ends[built], kind="stable")]
    crossed = serve_in_order(ends[built], _times(system, "link_time")[kinds[built]], 1)
    reached = crossed + _times(system, "latency")[kinds[built]]
    for engine, copies in enumerate(system.copies):
        here = np.flatnonzero(engines[built] == engine)
        here = here[np.argsort(reached[here], kind="stable")]
        calls = built[here]
        service = _times(system, "service_time")[kinds[calls]]
        ends[calls] = serve_in_order(reached[here], service, copies)
    return ends, busy


def follow_events(system: System, arrivals: Times, kinds: NDArray[np.int64]) -> tuple[Times, Times]:
    """Return the end of each call, and how long it kept a core busy."""
    kernels = [system.kernels[kind] for kind in kinds]
    starts, released, ends = (np.zeros(len(kinds)) for _ in range(3))
    events = [(time, call, "arrive") for call, time in enumerate(arrivals.tolist())]
    waiting: deque[int] = deque()
    idle, link_free = system.cores, 0.0
    free = [[0.0] * copies for copies in system.copies]
    while events:
        now, call, event = heapq.heappop(events)
        kernel = kernels[call]
        if event == "arrive":
            waiting.append(call)
        elif event == "set up":
            link_free = max(now, link_free) + kernel.link_time
            heapq.heappush(events, (link_free + kernel.latency, call, "at engine"))
        elif event == "at engine":
            queue = free[kernel.engine or 0]
            ends[call] = max(now, queue[0]) + kernel.service_time
            heapq.heapreplace(queue, ends[call])
            if kernel.polling:
                heapq.heappush(events, (ends[call], call, "end"))
        elif kernel.engine is None:
            ends[call] = now
        if event == "end" or (event == "set up" and not kernel.polling):
            released[call] = now
            idle += 1
        while idle and waiting:
            first = waiting.popleft()
            idle -= 1
            starts[first] = now
            own = kernels[first]
            step = (own.host_time, "end") if own.engine is None else (own.set_up_time, "set up")
            heapq.heappush(events, (now + step[0], first, step[1]))
    return ends, released - starts
