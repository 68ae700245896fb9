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

from dse.model import Array, Quantity, Requirement, model, monotonic, requires
from objectives.machine.interface import InterfaceLatency, SetUp
from objectives.machine.quantities import (
    CALL_INTERVAL,
    SET_UP_TIME,
    TRAVEL_TIME,
    TURNAROUND_TIME,
    CallRate,
    EngineInterval,
    LinkInterval,
    LinkTime,
    LinkWaitTime,
    SetUpTime,
    StreamInterval,
)
from objectives.power_law import arrays, power
from objectives.quantities import Granularity, Kernel


@dataclass(frozen=True, eq=False)
class Turnaround:
    """What `turnaround` gives."""

    set_up_time: Annotated[Array, SET_UP_TIME]
    travel_time: Annotated[Array, TRAVEL_TIME]
    turnaround_time: Annotated[Array, TURNAROUND_TIME]


@dataclass(frozen=True, eq=False)
class Interval:
    """What `call_interval` gives."""

    call_interval: Annotated[Array, CALL_INTERVAL]
    stream_utilization: Annotated[
        Array,
        Quantity("1", "calls of a stream per call that it can make with q outstanding", low=0),
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
@monotonic(
    set_up_time="+granularity +interface_overhead +interface_overhead_per_byte =link_time"
    " =link_wait_time =interface_latency",
    travel_time="=granularity =interface_overhead =interface_overhead_per_byte +link_time"
    " =link_wait_time +interface_latency",
    turnaround_time="+granularity +interface_overhead +interface_overhead_per_byte +link_time"
    " +link_wait_time +interface_latency",
)
def turnaround(
    granularity: Granularity,
    set_up: SetUp,
    link_time: LinkTime,
    link_wait_time: LinkWaitTime,
    interface_latency: InterfaceLatency,
) -> Turnaround:
    """Return the time of a call outside the engine.

    Each is a sum that rises with its terms.

    Parameters
    ----------
    granularity : float or ndarray
        Data of a call [B].
    set_up : SetUp
        The thread is busy for ``o + h · g`` cycles.
    link_time, link_wait_time, interface_latency : float or ndarray
        [cycle].

    Returns
    -------
    Turnaround
        `travel_time` is on the link and on the way; with set-up and wait it is `turnaround_time`,
        from the end of a call until the next one of a stream with one in flight is at the engine.

    >>> around = turnaround(1000.0, 50.0, 0.5, link_time=250.0, link_wait_time=100.0,
    ...                     interface_latency=600.0)
    >>> float(around.set_up_time), float(around.turnaround_time)
    (550.0, 1500.0)
    """
    size = np.asarray(granularity, dtype=np.float64)
    time = set_up.interface_overhead + set_up.interface_overhead_per_byte * size
    travel = np.add(link_time, interface_latency, dtype=np.float64)
    return Turnaround(time, travel, time + travel + link_wait_time)


@requires(
    Requirement(
        "stream_utilization < 1",
        "a thread can make its calls with the outstanding calls that it may have",
    )
)
@model
@monotonic(
    call_interval="+link_interval +stream_interval =call_rate",
    stream_utilization="+link_interval +stream_interval +call_rate",
)
def call_interval(
    link_interval: LinkInterval, stream_interval: StreamInterval, call_rate: CallRate
) -> Interval:
    """Return the mean time between completions of calls of a stream that always has a request.

    The larger of the times that the link, and that thread, window and engine, need for a call
    (:func:`objectives.sharing.stream_interval`).

    Parameters
    ----------
    link_interval, stream_interval : float or ndarray
        Cycles of the host.
    call_rate : float or ndarray
        Calls that a stream offers [call/cycle].

    >>> found = call_interval(link_interval=50.0, stream_interval=600.0, call_rate=1e-3)
    >>> float(found.call_interval), float(found.stream_utilization)
    (600.0, 0.6)
    """
    interval = np.maximum(np.asarray(link_interval, dtype=np.float64), stream_interval)
    return Interval(interval, call_rate * interval)


@model
@monotonic(
    overhead="=granularity =computational_index =complexity +set_up_time -engine_interval"
    " +call_interval",
    latency="=granularity =computational_index =complexity -set_up_time -engine_interval"
    " +call_interval",
    acceleration="+granularity +computational_index =set_up_time -engine_interval =call_interval",
)
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

    The exposed time is the interval less the engine's part. Overhead is the smaller of it and
    set-up, latency its part beyond set-up. Each is therefore monotonic in all three.

    Parameters
    ----------
    granularity : float or ndarray
        Data of a call [B].
    kernel : Kernel
        The work on the host.
    set_up_time, engine_interval, call_interval : float or ndarray
        [cycle].

    >>> terms = offload_terms(1000.0, 20.0, set_up_time=50.0, engine_interval=400.0,
    ...                       call_interval=600.0)
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
