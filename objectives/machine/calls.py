"""Calls of a stream back to back: how often one ends, and what LogCA's terms are of that.

A stream may have q calls in flight. Back to back, its calls follow each other as fast as the
slowest of four lets them: the thread's set-up, its share of the link, its slots of the engine, and
the window, which lets q calls pass in the time of one. This is the asynchronous form of offloads
(Sriraman and Dhanotia, Accelerometer: Understanding Acceleration Opportunities for Data Center
Overheads at Hyperscale, ASPLOS 2020), with contention for link and engine. For LogCA, overhead and
latency are then the parts that do not overlap (Altaf and Wood, LogCA: A Performance Model for
Hardware Accelerators, IEEE Computer Architecture Letters 14(2), 2015, section 2).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

import numpy as np

from dse.model import Array, Quantity, model
from objectives.machine.interface import InterfaceLatency, SetUp
from objectives.machine.quantities import (
    CALL_INTERVAL,
    SET_UP_TIME,
    TURNAROUND_TIME,
    BlockingInterval,
    CallRate,
    CallsInFlight,
    EngineInterval,
    LinkInterval,
    LinkTime,
    LinkWaitTime,
    SetUpTime,
)
from objectives.power_law import arrays, power
from objectives.quantities import Granularity, Kernel


@dataclass(frozen=True, eq=False)
class Turnaround:
    """What `turnaround` gives."""

    set_up_time: Annotated[Array, SET_UP_TIME]
    turnaround_time: Annotated[Array, TURNAROUND_TIME]


@dataclass(frozen=True, eq=False)
class Interval:
    """What `call_interval` gives."""

    call_interval: Annotated[Array, CALL_INTERVAL]
    stream_utilization: Annotated[
        Array,
        Quantity("1", "calls of a stream over those that it can make with q in flight", low=0),
    ]


@dataclass(frozen=True, eq=False)
class Terms:
    """What `offload_terms` gives: LogCA's, at one granularity."""

    overhead: Annotated[
        Array, Quantity("cycle", "set-up of a call that nothing else hides", "o", low=0)
    ]
    latency: Annotated[
        Array, Quantity("cycle", "other time of a call that nothing else hides", "L", low=0)
    ]
    acceleration: Annotated[
        Array, Quantity("1", "host's time over a call's share of the engine", "A", low=0)
    ]


@model
def turnaround(
    granularity: Granularity,
    set_up: SetUp,
    link_time: LinkTime,
    link_wait_time: LinkWaitTime,
    interface_latency: InterfaceLatency,
) -> Turnaround:
    """Return the set-up of a call, and its time from one end at the engine to reaching it again.

    Parameters
    ----------
    granularity : float or ndarray
        Data of a call [B].
    set_up : SetUp
        The thread is busy for ``o + h · g`` cycles.
    link_time, link_wait_time, interface_latency : float or ndarray
        [cycle]; with the set-up they add up to `turnaround_time`.

    >>> around = turnaround(1000.0, 50.0, 0.5, link_time=250.0, link_wait_time=100.0,
    ...                     interface_latency=600.0)
    >>> float(around.set_up_time), float(around.turnaround_time)
    (550.0, 1500.0)
    """
    time = set_up.interface_overhead + set_up.interface_overhead_per_byte * np.asarray(
        granularity, dtype=np.float64
    )
    return Turnaround(time, time + link_wait_time + link_time + interface_latency)


@model
def call_interval(
    set_up_time: SetUpTime,
    link_interval: LinkInterval,
    engine_interval: EngineInterval,
    blocking_interval: BlockingInterval,
    calls_in_flight: CallsInFlight,
    call_rate: CallRate,
) -> Interval:
    """Return the mean time between ends of calls of a stream that always has a request waiting.

    ``max(set_up_time, link_interval, engine_interval, blocking_interval / q)``: exact if one of
    them is well above the rest. With q > 1 the phase in which a call meets the schedule is that of
    calls in general and not of these, and a link that others use is late at times.

    Parameters
    ----------
    set_up_time, link_interval, engine_interval, blocking_interval : float or ndarray
        Cycles of the host; the last one of a stream with one call in flight.
    calls_in_flight : float or ndarray
        q.
    call_rate : float or ndarray
        Calls that a stream offers [call/cycle].

    >>> found = call_interval(50.0, 0.0, 400.0, 1200.0, calls_in_flight=2, call_rate=1e-3)
    >>> float(found.call_interval), float(found.stream_utilization)
    (600.0, 0.6)
    """
    slowest = np.maximum(np.maximum(set_up_time, link_interval), engine_interval)
    interval = np.maximum(slowest, np.divide(blocking_interval, calls_in_flight))
    return Interval(interval, call_rate * interval)


@model
def offload_terms(
    granularity: Granularity,
    kernel: Kernel,
    set_up_time: SetUpTime,
    engine_interval: EngineInterval,
    call_interval: Annotated[Array, CALL_INTERVAL],
) -> Terms:
    """Return LogCA's overhead, latency and acceleration of calls back to back.

    The engine's part of a call is its slots, `engine_interval`, so the acceleration is what one
    stream gets from its share of the engine. The rest of the interval is exposed: overhead as far
    as set-up goes, latency beyond. Then :func:`objectives.logca.speedup` at this granularity, with
    no latency per byte, is the host's time over `call_interval`.

    Parameters
    ----------
    granularity : float or ndarray
        Data of a call [B].
    kernel : Kernel
        The work on the host.
    set_up_time, engine_interval, call_interval : float or ndarray
        [cycle].

    >>> terms = offload_terms(1000.0, 20.0, 1.0, 50.0, 400.0, call_interval=600.0)
    >>> float(terms.overhead), float(terms.latency), float(terms.acceleration)
    (50.0, 150.0, 50.0)
    """
    size, set_up, share, interval = arrays(granularity, set_up_time, engine_interval, call_interval)
    c, b = arrays(*kernel)
    with np.errstate(all="ignore"):
        exposed = np.maximum(interval - share, 0.0)
        overhead = np.minimum(set_up, exposed)
        rest = np.where(exposed < np.inf, exposed - overhead, np.inf)
        return Terms(overhead, rest, c * power(size, b) / share)
