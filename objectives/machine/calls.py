"""The calls of a stream, from its data rate."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, NamedTuple

import numpy as np

from dse.model import Array, Floats, Quantity, Requirement, lower_bound, model, monotonic, requires
from objectives.machine.quantities import (
    CALL_INTERVAL,
    LINK_INTERVAL,
    LINK_TIME,
    LINK_WAIT_TIME,
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
from objectives.power_law import power, to_arrays
from objectives.quantities import (
    CALL_RATE,
    STREAM_DATA_RATE,
    Granularity,
    InterfaceLatency,
    Kernel,
    LinkTimePerByte,
    SetUp,
    SharedLink,
    Streams,
    TotalStreams,
)
from objectives.queues import constant_service_wait


@dataclass(frozen=True, eq=False)
class Requests:
    """The output of `requests`."""

    call_rate: Annotated[Array, CALL_RATE]


@model
@monotonic(
    call_rate="+stream_data_rate -granularity",
)
def requests(
    stream_data_rate: Annotated[Floats, STREAM_DATA_RATE], granularity: Granularity
) -> Requests:
    """Return the calls of one stream a second: its data rate over the data of a call.

    >>> float(requests(4e6, 1000.0).call_rate)
    4000.0
    """
    return Requests(np.asarray(stream_data_rate, dtype=np.float64) / granularity)


# ----------------------------------------------------------------------------------------- the link


@dataclass(frozen=True, eq=False)
class Link:
    """The output of `link`."""

    link_time: Annotated[Array, LINK_TIME]
    link_utilization: Annotated[
        Array, Quantity("1", "offered load of all streams of the link over what it carries", low=0)
    ]
    link_wait_time: Annotated[Array, LINK_WAIT_TIME]
    link_interval: Annotated[Array, LINK_INTERVAL]


@requires(
    Requirement(
        "link_utilization < 1", "the link carries the calls of all the streams that meet on it"
    )
)
@model
@monotonic(
    link_time="+granularity =call_rate +interface_latency_per_byte =shared_link =streams"
    " =total_streams",
    link_utilization="+granularity +call_rate +interface_latency_per_byte +shared_link +streams"
    " +total_streams",
    link_wait_time="+granularity +call_rate +interface_latency_per_byte +shared_link +streams"
    " +total_streams",
    link_interval="+granularity +call_rate +interface_latency_per_byte +shared_link +streams"
    " +total_streams",
)
def link(
    granularity: Granularity,
    call_rate: CallRate,
    interface_latency_per_byte: LinkTimePerByte,
    shared_link: SharedLink,
    streams: Streams,
    total_streams: TotalStreams,
) -> Link:
    """Return how long calls wait for the link and occupy it, and its load.

    With occupancy ``x = l · g`` and load ``ρ = link_streams · Λ · x`` the wait is ``ρx / 2(1 − ρ)``
    (M/D/1). A stream that always has a call waiting gets what the others leave: a call each
    ``x / (1 − ρ_others)``.

    Each rises with the occupancy, with the calls and with the streams that meet. The wait is inf if
    the load reaches 1; the interval is inf if the load of the other streams does.

    >>> crowded = link(1000.0, 1e-5, 0.5, shared_link=1, streams=8, total_streams=64)
    >>> float(crowded.link_utilization), float(crowded.link_wait_time)
    (0.32, 117.6)
    """
    meeting = meeting_streams(shared_link, streams, total_streams)
    time = np.asarray(np.multiply(interface_latency_per_byte, granularity, dtype=np.float64))
    alone = time * call_rate
    load = meeting * alone
    free = np.maximum(1.0 - (meeting - 1.0) * alone, 0.0)
    with np.errstate(all="ignore"):
        interval = np.where(free > 0, time / free, np.inf)
        wait = np.where(time > 0, time * constant_service_wait(load), 0.0)
    return Link(time, load, wait, interval)


def meeting_streams(shared_link: Floats, streams: Floats, total_streams: Floats) -> Array:
    """Return how many streams' calls meet on a link."""
    own = np.minimum(np.asarray(streams, dtype=np.float64), total_streams)
    return np.where(np.equal(shared_link, 1.0), total_streams, own)


# ------------------------------------------------------------------------------- calls back to back


@dataclass(frozen=True, eq=False)
class Turnaround:
    """The output of `turnaround`."""

    set_up_time: Annotated[Array, SET_UP_TIME]
    travel_time: Annotated[Array, TRAVEL_TIME]
    turnaround_time: Annotated[Array, TURNAROUND_TIME]


@dataclass(frozen=True, eq=False)
class Interval:
    """The output of `call_interval`."""

    call_interval: Annotated[Array, CALL_INTERVAL]
    stream_utilization: Annotated[
        Array,
        Quantity("1", "calls of a stream per call that it can make with q outstanding", low=0),
    ]


@dataclass(frozen=True, eq=False)
class Terms:
    """The output of `offload_terms`: LogCA's, at one granularity."""

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

    `travel_time` is on the link and on the way; with set-up and wait it is `turnaround_time`, from
    the end of a call until the next one of a stream with one in flight is at the engine. Each is a
    sum that rises with its terms.

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

    >>> found = call_interval(link_interval=50.0, stream_interval=600.0, call_rate=1e-3)
    >>> float(found.call_interval), float(found.stream_utilization)
    (600.0, 0.6)
    """
    interval = np.maximum(np.asarray(link_interval, dtype=np.float64), stream_interval)
    return Interval(interval, call_rate * interval)


class _Exposed(NamedTuple):
    overhead: Annotated[Array, Quantity("cycle", "never less", low=0)]
    latency: Annotated[Array, Quantity("cycle", "never less", low=0)]


@monotonic(overhead="=set_up_time", latency="=set_up_time")
@model
def _nothing_exposed(set_up_time: SetUpTime) -> _Exposed:
    """Return 0: the slots of a call may take all of its interval."""
    none = np.zeros(np.shape(set_up_time))[()]
    return _Exposed(none, none)


@lower_bound(overhead=_nothing_exposed, latency=_nothing_exposed)
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

    >>> terms = offload_terms(1000.0, 20.0, set_up_time=50.0, engine_interval=400.0,
    ...                       call_interval=600.0)
    >>> float(terms.overhead), float(terms.latency), float(terms.acceleration)
    (50.0, 150.0, 50.0)
    """
    size, set_up, share, interval = to_arrays(
        granularity, set_up_time, engine_interval, call_interval
    )
    c, b = to_arrays(*kernel)
    with np.errstate(all="ignore"):
        exposed = np.where(np.isinf(interval), np.inf, np.maximum(interval - share, 0.0))
        overhead = np.minimum(set_up, exposed)
        rest = np.where(exposed < np.inf, exposed - overhead, np.inf)
        return Terms(overhead, rest, c * power(size, b) / share)


# -------------------------------------------------------------------------- a call without others


@dataclass(frozen=True, eq=False)
class InterfaceTerms:
    """The output of `interface_terms`: LogCA's costs of a call through an interface."""

    overhead: Annotated[Array, Quantity("cycle", "set-up of a call on the host", "o", low=0)]
    latency: Annotated[Array, Quantity("cycle", "travel to the engine and back", "L", low=0)]
    latency_per_byte: Annotated[
        Array, Quantity("cycle/B", "time of each byte on the host and on the link", "l", low=0)
    ]


@model
@monotonic(
    overhead="+interface_overhead =interface_overhead_per_byte",
    latency="+interface_latency",
    latency_per_byte="=interface_overhead +interface_overhead_per_byte +interface_latency_per_byte",
)
def interface_terms(
    set_up: SetUp, interface_latency: InterfaceLatency, interface_latency_per_byte: LinkTimePerByte
) -> InterfaceTerms:
    """Return LogCA's costs of a call that meets no other call on an interface of the catalogs.

    Nothing overlaps in LogCA (equation 2). So the host's time for each byte and the link's time for
    each byte add up.

    >>> terms = interface_terms(20.0, 0.75, interface_latency=4.0, interface_latency_per_byte=0.25)
    >>> float(terms.overhead), float(terms.latency), float(terms.latency_per_byte)
    (20.0, 4.0, 1.0)
    """
    overhead, host, latency, link = to_arrays(
        *set_up, interface_latency, interface_latency_per_byte
    )
    return InterfaceTerms(overhead, latency, host + link)
