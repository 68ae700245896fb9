"""How long a request takes from its arrival to the end of its call, all streams under load.

A call's way has stations that each take a constant time, and a window. Of a row of constant times
the whole wait is that of the slowest station alone: with T the time of a call that meets nobody
and b that of the slowest station, call k ends at ``max(A_k + T, D_{k−1} + b, D_{k−q} + T)``, if A
is its arrival. So the waits of thread, engine and window do not add up; the largest counts. The
link is an exception, for it is other streams' calls that a call waits for there.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, NamedTuple

import numpy as np

from dse.model import Array, Floats, Quantity, model
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


def _time(about: str) -> Quantity:
    return Quantity("cycle", about, low=0, better="lower", typical=(100, 1e5))


class OneAtATime(NamedTuple):
    """Calls of a stream with one in flight: the first ones of busy periods, and the others."""

    first_time: Annotated[Floats, _time("mean time of a call that waits for none of its stream")]
    first_deviation: Annotated[Floats, _time("standard deviation of the time of such a call")]
    following_time: Annotated[
        Floats, _time("mean time of a call that begins when the last one ends")
    ]
    following_deviation: Annotated[
        Floats, _time("standard deviation of the time of a call that follows")
    ]


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
        ),
    ]
    call_queue_time: Annotated[
        Array, _part("wait for the thread, the window and earlier calls at the engine")
    ]
    call_set_up_time: Annotated[Array, _part("set-up on the host")]
    call_link_time: Annotated[Array, _part("wait for the link, and its use")]
    call_travel_time: Annotated[Array, _part("travel to the engine and back")]
    call_engine_time: Annotated[
        Array, _part("at the engine, if no earlier call of the stream is there")
    ]


@model
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
    one_at_a_time: OneAtATime,
) -> CallTime:
    """Return the mean time of a call under load, and its parts.

    Parameters
    ----------
    call_rate : float or ndarray
        Of one stream [call/cycle].
    calls_in_flight : float or ndarray
        q.
    set_up_time, link_time, link_wait_time, interface_latency : float or ndarray
        [cycle].
    engine_time_alone, engine_time : float or ndarray
        Mean time at the engine without earlier calls of the stream, and with those that come at
        `call_rate` [cycle].
    stream_interval : float or ndarray
        Pace b of a stream that always has a request [cycle]: the window's wait is that of M/D/q
        with a service of q · b, for calls behind others meet the schedule in their own phase.
    one_at_a_time : OneAtATime
        Outputs of :func:`objectives.sharing.following_calls` in cycles; they count if q is 1.

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
        wait, served = _one_at_a_time(call_rate, one_at_a_time)
    single = np.equal(calls_in_flight, 1)
    queue = np.where(single, wait, np.maximum(np.maximum(thread, window), engine))
    worked = np.where(single, np.maximum(served - around, 0.0), engine_time_alone)
    return CallTime(around + worked + queue, queue, *way, worked)


def _one_at_a_time(rate: Floats, calls: OneAtATime) -> tuple[Array, Array]:
    """Return the mean wait for the last call to end, and the mean time from there.

    M/G/1 with an exceptional first service in each busy period (P. D. Welch, On a generalized M/G/1
    queuing process in which the first customer of each busy period receives exceptional service,
    Operations Research 12(5), 1964).
    """
    first, following = np.multiply(rate, calls.first_time), np.multiply(rate, calls.following_time)
    first_square = np.square(calls.first_time) + np.square(calls.first_deviation)
    square = np.square(calls.following_time) + np.square(calls.following_deviation)
    free = 1 - following
    started = rate * (first_square - square) / (2 * (free + first))
    wait = np.where(free > 0, rate * square / (2 * free) + started, np.inf)
    begins = np.maximum(free, 0.0) / (free + first)  # share of calls that wait for none
    served = begins * calls.first_time + (1 - begins) * calls.following_time
    return np.maximum(wait, 0.0), np.where(free > 0, served, calls.following_time)
