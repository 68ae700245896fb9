"""Accelerometer: the gain of a busy core that offloads a part of its work.

Source: A. Sriraman, A. Dhanotia, Accelerometer: Understanding Acceleration Opportunities for Data
Center Overheads at Hyperscale, ASPLOS 2020 (doi 10.1145/3373376.3378450), and the authors' program
for it, which is in the public domain (github.com/akshithasriraman/Accelerometer). LogCA asks for
the time of one call; here a core makes n calls of the kernel in C cycles, and may do other
work while the engine does its part. Speedup is the authors' formula; all else is this module's own
(docs/explanation/accelerometer.md).

Service times are exponential about their mean, as in the queues that ``dse fit`` fits. Then the
wait of cores that stand still for their offloads (Sync) follows from mean value analysis, exactly
and whatever the distribution of the work between offloads: an offload meets at the engine what a
core less would have there on average (M. Reiser, S. S. Lavenberg, Mean-Value Analysis of Closed
Multichain Queuing Networks, Journal of the ACM 27(2), 1980). Offloads that nobody waits for meet
an M/M/1 queue.
"""

from __future__ import annotations

import functools
from dataclasses import dataclass
from typing import Annotated, NamedTuple, TypeAlias

import numpy as np

from dse.model import Array, Floats, Quantity, Requirement, model, monotonic, requires
from objectives.power_law import broadcast_alike, to_arrays
from objectives.quantities import (
    Acceleration,
    Latency,
    Overhead,
    declare_cost,
    declare_part,
    declare_speedup,
)

SYNC, SYNC_OS, ASYNC = 0.0, 1.0, 2.0

Threading: TypeAlias = Annotated[
    Floats,
    Quantity(
        "1",
        "activity of a core while the engine works; 0: wait (Sync), 1: switch to another thread"
        " (Sync-OS), 2: go on in the same thread (Async)",
        low=0,
        high=2,
        integer=True,
    ),
]
Cores: TypeAlias = Annotated[
    Floats,
    Quantity(
        "1",
        "cores that share one engine",
        low=1,
        high=1_024,  # they are followed one by one
        integer=True,
        typical=(1, 64),
    ),
]
QUEUE_TIME = Quantity(
    "cycle",
    "mean time that a core waits until the engine takes an offload",
    "Q",
    low=0,
    better="lower",
    typical=(0, 1e4),
    label="queueing delay",
)
QueueTime: TypeAlias = Annotated[Floats, QUEUE_TIME]
SwitchTime: TypeAlias = Annotated[
    Floats,
    declare_cost(
        "cycle",
        "time that a core loses to all thread switches of one offload together",
        (0, 2e4),
        "o1",
    ),
]
SERVICE_TIME = Quantity(
    "cycle", "mean time of the engine for an offload", "s", low=0, typical=(10, 1e5)
)
ENGINE_UTILIZATION = Quantity(
    "1",
    "offloads of all cores at full throughput per offload that the engine can serve",
    low=0,
    typical=(0, 0.9),
)


class Work(NamedTuple):
    """The work of a core before anything is offloaded."""

    accelerable_share: Annotated[
        Floats,
        Quantity(
            "1", "share of a core's time in the kernel", "α", low=0, high=1, typical=(0.05, 0.5)
        ),
    ]
    offload_rate: Annotated[
        Floats,
        Quantity(
            "call/cycle",
            "calls of the kernel a cycle, on a busy core that does all itself",
            "n/C",
            above=0,
            high=1,
            typical=(1e-7, 1e-4),
        ),
    ]


class Dispatch(NamedTuple):
    """The costs of an offload in addition to the time of the engine."""

    overhead: Overhead
    latency: Latency


# ----------------------------------------------------------------------------- throughput of a core

_ROUNDING = 1e-12
_INPUTS = (
    *("accelerable_share", "offload_rate", "overhead", "latency", "acceleration"),
    *("cores_per_engine", "queue_time", "switch_time"),
)


def _only(*signs: str) -> str:
    """Declare that an output depends on these inputs, perhaps on the threading, and on no other."""
    others = [f"={name}" for name in _INPUTS if not {f"+{name}", f"-{name}"} & {*signs}]
    return " ".join([*signs, *others])


_part = functools.partial(declare_part, "1", "core_time")


@dataclass(frozen=True, eq=False)
class HostSpeedup:
    """The outputs of `host_speedup`."""

    speedup: Annotated[
        Array, declare_speedup("throughput of a core over that before", "core_time", symbol="")
    ]
    core_time: Annotated[
        Array, Quantity("1", "time of a core for what took it 1 before", low=0, better="lower")
    ]
    core_work_time: Annotated[Array, _part("work that is not offloaded")]
    core_engine_time: Annotated[Array, _part("wait for the engine's work")]
    core_overhead_time: Annotated[Array, _part("set-up of offloads")]
    core_latency_time: Annotated[Array, _part("interface")]
    core_queue_time: Annotated[Array, _part("wait until the engine takes an offload")]
    core_switch_time: Annotated[Array, _part("thread switches")]
    engine_utilization: Annotated[Array, ENGINE_UTILIZATION]
    service_time: Annotated[Array, SERVICE_TIME]


@requires(
    Requirement(
        "engine_utilization < 1", "the engine serves what the cores offload at full throughput"
    )
)
@model
@monotonic(
    speedup="-offload_rate -overhead -latency +acceleration =cores_per_engine -queue_time"
    " -switch_time",
    core_time="+offload_rate +overhead +latency -acceleration =cores_per_engine +queue_time"
    " +switch_time",
    core_work_time=_only("=threading", "-accelerable_share"),
    core_engine_time=_only("-threading", "+accelerable_share", "-acceleration"),
    core_overhead_time=_only("=threading", "+offload_rate", "+overhead"),
    core_latency_time=_only("=threading", "+offload_rate", "+latency"),
    core_queue_time=_only("=threading", "+offload_rate", "+queue_time"),
    core_switch_time=_only("+offload_rate", "+switch_time"),
    engine_utilization="+accelerable_share -offload_rate -overhead -latency -acceleration"
    " +cores_per_engine -queue_time -switch_time",
    service_time=_only("=threading", "+accelerable_share", "-offload_rate", "-acceleration"),
)
def host_speedup(
    threading: Threading,
    work: Work,
    dispatch: Dispatch,
    acceleration: Acceleration,
    cores_per_engine: Cores,
    queue_time: QueueTime = 0.0,
    switch_time: SwitchTime = 0.0,
) -> HostSpeedup:
    """Return how much more a busy core gets done with the accelerator (the authors' program).

    ::

        Sync      1 / (1 − α + α/A + (n/C)(o0 + L + Q))
        Sync-OS   1 / (1 − α + (n/C)(o0 + L + Q + o1))
        Async     1 / (1 − α + (n/C)(o0 + L + Q))

    In Sync-OS and Async other work fills the time of the engine. The formulas therefore do not
    depend on its speed. A separate requirement checks its capacity: a core with speedup S makes S·n
    offloads in C cycles, each of s = αC/(nA) cycles of the engine. All cores load it with
    cores·S·α/A. Beyond 1 the engine sets the pace, and the core does not get the speedup.

    The sums rise with each of their terms. More accelerable work takes time from the core and
    gives it to the engine. Speedup may therefore rise or fall with it, as with the threading.
    Where S rises with A (Sync), it does so by less than A; it falls with α by less than α rises.

    α [1] and n/C [call/cycle] are of one core that does all itself: n calls of the kernel while it
    spends C cycles. The core spends o0 and L [cycle] whatever the threading. A may be infinite.
    `cores_per_engine`: all of them busy. Q [cycle] is the wait of the core itself, not the wait of
    an offload while the core works. o1 [cycle] is all time that the core loses to switches because
    of one offload in Sync-OS, with the cache misses that follow. It is counted once. A thread that
    blocks switches away and back: if one switch was measured, give two of them.

    Half of the time in a kernel that an engine does ten times as fast, in calls of 1,000 cycles:

    >>> found = host_speedup([0, 1, 2], 0.5, 5e-4, 20, 80, acceleration=10, cores_per_engine=8,
    ...                      switch_time=300)
    >>> found.speedup, found.engine_utilization
    (array([1.6667, 1.4286, 1.8182]), array([0.6667, 0.5714, 0.7273]))
    """
    how, share, rate, a, count = to_arrays(threading, *work, acceleration, cores_per_engine)
    o, fixed, queue, switch = to_arrays(*dispatch, queue_time, switch_time)
    engine = share / a
    parts = np.broadcast_arrays(
        1.0 - share,
        np.where(how == SYNC, engine, 0.0),
        rate * o,
        rate * fixed,
        rate * queue,
        np.where(how == SYNC_OS, rate * switch, 0.0),
    )
    total = np.asarray(sum(parts[1:], parts[0]))
    with np.errstate(divide="ignore"):
        speedup = 1.0 / total
        load = np.where(engine > 0, count * (engine / total), 0.0)
    # cores that wait never request more than the engine serves: rounding causes the excess
    rounded = (how == SYNC) & (load >= 1.0) & (load <= 1.0 + _ROUNDING)
    load = np.where(rounded, np.nextafter(1.0, 0.0), load)
    found = [speedup, total, *broadcast_alike(parts), load[()], (engine / rate)[()]]
    return HostSpeedup(*found)


# ----------------------------------------------------------------------------------- response times

_LONGER = 0.01
"""Share of the offloads that are slower than the 99th percentile."""
_LEAST = 1e-250


@dataclass(frozen=True, eq=False)
class CoreWait:
    """The outputs of `core_wait`."""

    queue_time: Annotated[Array, QUEUE_TIME]


@dataclass(frozen=True, eq=False)
class OffloadTime:
    """The outputs of `offload_time`."""

    engine_wait_time: Annotated[
        Array, Quantity("cycle", "mean wait of an offload for the engine", low=0)
    ]
    offload_time: Annotated[
        Array,
        Quantity("cycle", "mean time from set-up of an offload to result, no switches", low=0),
    ]
    offload_time_p99: Annotated[
        Array, Quantity("cycle", "time that 99 % of the offloads do not exceed, no switches", low=0)
    ]
    latency_reduction: Annotated[
        Array,
        Quantity("1", "time of a request on a free core, before over after", low=0, worth=1.0),
    ]
    sync_wait_time: Annotated[
        Array, Quantity("cycle", "mean wait of cores that stand still for one another", low=0)
    ]


@model
@monotonic(
    queue_time="-threading +accelerable_share -offload_rate -overhead -latency -acceleration"
    " +cores_per_engine",
)
def core_wait(
    threading: Threading,
    work: Work,
    dispatch: Dispatch,
    acceleration: Acceleration,
    cores_per_engine: Cores,
) -> CoreWait:
    """Return how long a core waits for an engine that works for other cores: Q of Sync.

    In Sync each core has one offload at most. The wait is therefore the wait in a closed network:
    a core works for Z = (1 − α)C/n + o0 + L cycles, then waits and is served in s = αC/(nA). In
    Sync-OS and Async the core does not wait for its turn, and Q is 0.

    A longer service means longer waits, more work in between shorter ones, and each further core
    adds what it may have at the engine. More offloads of the same work are shorter ones, with more
    overhead in between.

    >>> core_wait(0, 0.5, 5e-4, 20, 80, acceleration=10, cores_per_engine=[1, 8]).queue_time
    array([ 0.    , 96.0829])
    """
    how, share, rate, a, count = to_arrays(threading, *work, acceleration, cores_per_engine)
    o, fixed = to_arrays(*dispatch)
    return CoreWait(_closed(how, share / (rate * a), (1.0 - share) / rate + o + fixed, count))


def _closed(how: Array, service: Array, between: Array, count: Array) -> Array:
    """Return the mean wait in a closed queue of cores in Sync; 0 for others."""
    shape = np.broadcast_shapes(how.shape, service.shape, between.shape, count.shape)
    how, service, between, count = (
        np.broadcast_to(x, shape).ravel() for x in (how, service, between, count)
    )
    # a value outside the domain becomes NaN
    count = np.where((how == SYNC) & (count >= 1), count, 1.0)
    waiting = np.zeros(service.shape)
    # the largest counts come first: finished rows are cut off at the end
    order = np.argsort(-count, kind="stable")
    s, z, left = service[order], between[order], count[order]
    queued = np.zeros(service.shape)  # at the engine on average, with one core less
    for cores_so_far in range(1, int(left.max(initial=1.0))):
        has = slice(int(np.searchsorted(-left, -cores_so_far, side="left")))
        there = s[has] * (1.0 + queued[has])
        with np.errstate(invalid="ignore"):
            share_there = there / (z[has] + there)
        queued[has] = cores_so_far * np.where(there > 0, share_there, 0.0)
    waiting[order] = s * queued
    return np.asarray(waiting.reshape(shape)[()])


@requires(
    Requirement(
        "max(1 - threading, 0) * queue_time == sync_wait_time",
        "in Sync, queue_time is what core_wait gives: cores wait for one another",
    )
)
@model
@monotonic(
    engine_wait_time="=accelerable_share =offload_rate =overhead =latency =cores_per_engine"
    " =switch_time +queue_time +engine_utilization +service_time",
    offload_time="=accelerable_share =offload_rate +overhead +latency =cores_per_engine"
    " =switch_time +queue_time +engine_utilization +service_time",
    latency_reduction="-overhead -latency =cores_per_engine -switch_time -queue_time"
    " -engine_utilization -service_time",
    sync_wait_time="-threading +accelerable_share +offload_rate -overhead -latency"
    " +cores_per_engine =switch_time =queue_time =engine_utilization +service_time",
)
def offload_time(
    threading: Threading,
    work: Work,
    dispatch: Dispatch,
    cores_per_engine: Cores,
    queue_time: QueueTime,
    engine_utilization: Annotated[Floats, ENGINE_UTILIZATION],
    service_time: Annotated[Floats, SERVICE_TIME],
    switch_time: SwitchTime = 0.0,
) -> OffloadTime:
    """Return how long offloads take, and requests, while all cores are busy.

    Speedup is throughput; a request sees another quantity. It waits for its results whatever the
    core does meanwhile. If a core is free when it needs one, its time becomes
    1 − α + (n/C)(o0 + L + W + s + o1) of the time before, with o1 only in Sync-OS. W is
    `queue_time` in Sync, else the wait of M/M/1. Sums rise with their terms, and M/M/1 with load
    and service.

    The percentile of Sync comes from the closed queue of the cores. `queue_time` must be the mean
    of the same queue, `sync_wait_time`. With another value, such as 0, mean and percentile would
    describe two queues.

    Parameters
    ----------
    threading, work, dispatch, cores_per_engine, switch_time :
        As of :func:`~objectives.accelerometer.host_speedup`. A switch away may overlap with the
        engine. The latency reduction of Sync-OS is therefore a lower bound.
    queue_time : array_like
        Q [cycle]. In Sync it is as :func:`core_wait` gives it; in Sync-OS and Async it is spent
        before the wait at the engine.
    engine_utilization, service_time : array_like
        [1] and [cycle], as :func:`~objectives.accelerometer.host_speedup` gives them.

    Times are without thread switches; from a utilization of 1 on they are inf, except in Sync.
    `offload_time_p99` is exact for the queue. In M/M/1 wait and service together are exponential.
    In Sync they exceed t with the probability ``P(N, (Z + t)/s) / P(N, Z/s)``: P is the probability
    that a Poisson number of that mean is below N, the number of cores. (With N − 1 others, the
    number of working cores has a Poisson law cut off at N − 1.)

    >>> found = offload_time(2, 0.5, 5e-4, 20, 80, 8, 0, engine_utilization=0.5, service_time=100)
    >>> float(found.offload_time), float(found.offload_time_p99), float(found.latency_reduction)
    (300.0, 1021.034, 1.5385)
    """
    how, share, rate, o, fixed, count = to_arrays(threading, *work, *dispatch, cores_per_engine)
    switch, queue, load, s = to_arrays(switch_time, queue_time, engine_utilization, service_time)
    beside = o + fixed + np.where(how == SYNC, 0.0, queue)
    between = (1.0 - share) / rate + o + fixed
    with np.errstate(all="ignore"):
        at_engine = np.where(s > 0, np.where(load < 1, s / (1.0 - load), np.inf), 0.0)
        waiting = np.where(how == SYNC, queue, np.where(at_engine < np.inf, at_engine - s, np.inf))
        alone = at_engine * -np.log(_LONGER)
        longest = np.where(how == SYNC, _longest(between / s, count) * s, alone)
        tail = beside + np.where(s > 0, longest, 0.0)
    mean = beside + waiting + s
    reduction = 1.0 / (1.0 - share + rate * (mean + np.where(how == SYNC_OS, switch, 0.0)))
    closed = _closed(how, s, between, count)
    return OffloadTime(*broadcast_alike((waiting, mean, tail, reduction, closed)))


def _longest(between: Array, cores: Array) -> Array:
    """Return the time at the engine that 1 % of the offloads exceed in Sync, over the service.

    If the load is so light that the probabilities are below the range of floats, the model returns
    the percentile of M/M/1, which has at least as many offloads in the queue.
    """
    from scipy.special import gammaincc, gammainccinv  # slow to import

    below = gammaincc(cores, between)  # P(N, z)
    found = gammainccinv(cores, _LONGER * below) - between
    return np.asarray(np.where(below > _LEAST, found, -np.log(_LONGER) / (1.0 - cores / between)))
