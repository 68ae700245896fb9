"""How long a request takes from its arrival to the end of its call, all streams under load.

A call passes stations that each take a constant time, and a window. In a row of constant times
the slowest station determines the whole wait. Let T be the time of a call that meets no other, b
the time of the slowest station, and A_k the arrival of call k. Then call k ends at
``max(A_k + T, D_{k−1} + b, D_{k−q} + T)``. The waits of thread, engine and window therefore do not
add up; the largest counts. The link is an exception, because a call waits there for calls of other
streams.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, NamedTuple

import numpy as np

from dse.model import Array, Quantity, lower_bound, model, monotonic
from objectives.machine.interface import InterfaceLatency
from objectives.machine.quantities import (
    CallRate,
    EngineTime,
    EngineTimeAlone,
    LinkTime,
    LinkWaitTime,
    SetUpTime,
    StreamInterval,
)
from objectives.quantities import CallsInFlight
from objectives.queues import constant_service_wait


def _part(about: str) -> Quantity:
    return Quantity("cycle", about, low=0, part_of="call_time")


@dataclass(frozen=True, eq=False)
class CallTime:
    """What `call_time` gives."""

    call_time: Annotated[
        Array,
        Quantity(
            "cycle",
            "mean time from the arrival of a request to the end of its call, under load",
            low=0,
            better="lower",
            label="call response time",
        ),
    ]
    call_queue_time: Annotated[
        Array, _part("wait for the thread, the window and earlier calls at the engine")
    ]
    call_set_up_time: Annotated[Array, _part("set-up on the host")]
    call_link_time: Annotated[Array, _part("wait for the link, and its use")]
    call_travel_time: Annotated[Array, _part("travel to the engine and back")]
    call_engine_time: Annotated[Array, _part("at the engine, without the wait for earlier calls")]


class _Least(NamedTuple):
    call_time: Annotated[Array, Quantity("cycle", "never a shorter time", low=0)]


_RISES = (
    "+set_up_time +link_time +link_wait_time +interface_latency +engine_time_alone +engine_time"
)


@model
@monotonic(call_time=_RISES + " +call_rate")
def _without_window(
    call_rate: CallRate,
    set_up_time: SetUpTime,
    link_time: LinkTime,
    link_wait_time: LinkWaitTime,
    interface_latency: InterfaceLatency,
    engine_time_alone: EngineTimeAlone,
    engine_time: EngineTime,
) -> _Least:
    """Return what the time is if the window lets every call pass."""
    around = np.add(set_up_time, interface_latency) + np.add(link_time, link_wait_time)
    with np.errstate(all="ignore"):
        thread = set_up_time * constant_service_wait(np.multiply(call_rate, set_up_time))
        thread = np.where(np.equal(set_up_time, 0), 0.0, thread)
        engine = np.maximum(np.subtract(engine_time, engine_time_alone), 0.0)
    return _Least(around + engine_time_alone + np.maximum(thread, engine))


@lower_bound(call_time=_without_window)
@model
@monotonic(call_time=_RISES)
def call_time(
    call_rate: CallRate,
    calls_in_flight: CallsInFlight,
    set_up_time: SetUpTime,
    link_time: LinkTime,
    link_wait_time: LinkWaitTime,
    interface_latency: InterfaceLatency,
    engine_time_alone: EngineTimeAlone,
    engine_time: EngineTime,
    stream_interval: StreamInterval,
) -> CallTime:
    """Return the mean time of a call under load, and its parts.

    It rises with each part of the way, and with the waits, which rise with load and service. The
    time at the engine alone is added, and taken from the wait there at most once. Without the
    window it is not longer. The window's wait rises with rate and pace as well, but for rounding:
    under light load nothing else is left of it.

    Parameters
    ----------
    call_rate : float or ndarray
        Of one stream [call/cycle].
    calls_in_flight : float or ndarray
        q.
    set_up_time, link_time, link_wait_time, interface_latency : float or ndarray
        [cycle].
    engine_time_alone, engine_time : float or ndarray
        Mean time at the engine without earlier calls of the stream, and with earlier calls that
        come at `call_rate` [cycle].
    stream_interval : float or ndarray
        Pace b of a stream that always has a request [cycle]. The window's wait is the wait of M/D/q
        with a service of q · b, because calls behind others meet the schedule in their own phase.

    Returns
    -------
    CallTime
        All in cycles; inf if thread, window or engine cannot carry the calls.
    """
    way = (
        np.asarray(set_up_time, dtype=np.float64),
        np.add(link_wait_time, link_time, dtype=np.float64),
        np.asarray(interface_latency, dtype=np.float64),
    )
    around = way[0] + way[1] + way[2]
    with np.errstate(all="ignore"):
        thread = set_up_time * constant_service_wait(np.multiply(call_rate, set_up_time))
        thread = np.where(np.equal(set_up_time, 0), 0.0, thread)
        pace = np.asarray(stream_interval, dtype=np.float64)
        window = constant_service_wait(call_rate * pace, calls_in_flight) * calls_in_flight * pace
        engine = np.maximum(np.subtract(engine_time, engine_time_alone), 0.0)
    queue = np.maximum(np.maximum(thread, window), engine)
    worked = np.broadcast_to(engine_time_alone, queue.shape).astype(np.float64)
    return CallTime(around + worked + queue, queue, *way, worked)
