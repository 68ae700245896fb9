"""The engine of cores that offload: its load, and the response times of offloads and requests.

Service times are exponential about their mean, as in the queues that ``dse fit`` fits. Then the
wait of cores that stand still for their offloads (Sync) follows from mean value analysis, exactly
and whatever the distribution of the work between offloads: an offload meets at the engine what a
core less would have there on average (M. Reiser, S. S. Lavenberg, Mean-Value Analysis of Closed
Multichain Queuing Networks, Journal of the ACM 27(2), 1980). Offloads that nobody waits for meet
an M/M/1 queue.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

import numpy as np

from dse.model import Array, Floats, Quantity, Requirement, model, monotonic, requires
from objectives.accelerometer.quantities import (
    ENGINE_UTILIZATION,
    QUEUE_TIME,
    SERVICE_TIME,
    SYNC,
    SYNC_OS,
    Cores,
    Dispatch,
    QueueTime,
    SwitchTime,
    Threading,
    Work,
)
from objectives.power_law import arrays
from objectives.quantities import Acceleration

_LONGER = 0.01
"""Share of the offloads that are slower than the 99th percentile."""
_LEAST = 1e-250


@dataclass(frozen=True, eq=False)
class CoreWait:
    """What `core_wait` gives."""

    queue_time: Annotated[Array, QUEUE_TIME]


@dataclass(frozen=True, eq=False)
class OffloadTime:
    """What `offload_time` gives."""

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

    Parameters
    ----------
    threading : array_like
        0 Sync, 1 Sync-OS, 2 Async.
    work, dispatch, acceleration :
        As of :func:`~objectives.accelerometer.host_speedup`.
    cores_per_engine : array_like
        Cores that share one engine, 1 to 1,024. Time grows with the largest of them.

    >>> core_wait(0, 0.5, 5e-4, 20, 80, acceleration=10, cores_per_engine=[1, 8]).queue_time
    array([ 0.    , 96.0829])
    """
    how, share, rate, a, count = arrays(threading, *work, acceleration, cores_per_engine)
    o, fixed = arrays(*dispatch)
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
    " =switch_time"
    " +queue_time +engine_utilization +service_time",
    offload_time="=accelerable_share =offload_rate +overhead +latency =cores_per_engine"
    " =switch_time"
    " +queue_time +engine_utilization +service_time",
    latency_reduction="-overhead -latency =cores_per_engine -switch_time -queue_time"
    " -engine_utilization"
    " -service_time",
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
    threading, work, dispatch, switch_time :
        As of :func:`~objectives.accelerometer.host_speedup`. A switch away may overlap with the
        engine. The latency reduction of Sync-OS is therefore a lower bound.
    cores_per_engine : array_like
        Cores that share one engine.
    queue_time : array_like
        Q [cycle]. In Sync it is as :func:`core_wait` gives it; in Sync-OS and Async it is spent
        before the wait at the engine.
    engine_utilization, service_time : array_like
        [1] and [cycle], as :func:`~objectives.accelerometer.host_speedup` gives them.

    Returns
    -------
    OffloadTime
        Times in cycles, without thread switches; from a utilization of 1 on inf, except in Sync.
        `offload_time_p99` is exact for the queue. In M/M/1 wait and service together are
        exponential. In Sync they exceed t with the probability ``P(N, (Z + t)/s) / P(N, Z/s)``: P
        is the probability that a Poisson number of that mean is below N, the number of cores. (With
        N − 1 others, the number of working cores has a Poisson law cut off at N − 1.)

    >>> found = offload_time(2, 0.5, 5e-4, 20, 80, 8, 0, engine_utilization=0.5, service_time=100)
    >>> float(found.offload_time), float(found.offload_time_p99), float(found.latency_reduction)
    (300.0, 1021.034, 1.5385)
    """
    how, share, rate, count, switch, queue, load, s = arrays(
        threading,
        *work,
        cores_per_engine,
        switch_time,
        queue_time,
        engine_utilization,
        service_time,
    )
    o, fixed = arrays(*dispatch)
    beside = o + fixed + np.where(how == SYNC, 0.0, queue)
    between = (1.0 - share) / rate + o + fixed
    with np.errstate(all="ignore"):
        at_engine = np.where(s > 0, np.where(load < 1, s / (1.0 - load), np.inf), 0.0)
        waiting = np.where(how == SYNC, queue, np.where(at_engine < np.inf, at_engine - s, np.inf))
        longest = np.where(
            how == SYNC,
            _longest(between / s, count) * s,
            at_engine * -np.log(_LONGER),
        )
        tail = beside + np.where(s > 0, longest, 0.0)
    mean = beside + waiting + s
    reduction = 1.0 / (1.0 - share + rate * (mean + np.where(how == SYNC_OS, switch, 0.0)))
    shape = np.broadcast_shapes(tail.shape, reduction.shape)
    found = (waiting, mean, tail, reduction, _closed(how, s, between, count))
    return OffloadTime(*(np.broadcast_to(x, shape).copy()[()] for x in found))


def _longest(between: Array, cores: Array) -> Array:
    """Return the time at the engine that 1 % of the offloads exceed in Sync, over the service.

    If the load is so light that the probabilities are below the range of floats, the model returns
    the percentile of M/M/1, which has at least as many offloads in the queue.
    """
    from scipy.special import gammaincc, gammainccinv  # slow to import

    below = gammaincc(cores, between)  # P(N, z)
    found = gammainccinv(cores, _LONGER * below) - between
    return np.asarray(np.where(below > _LEAST, found, -np.log(_LONGER) / (1.0 - cores / between)))
