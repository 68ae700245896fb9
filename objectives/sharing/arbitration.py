"""Arbitration: fixed slots for each stream, or a work-conserving engine (system.md).

With fixed slots, each stream has its turns in the schedule of Hall and Chamberlain, Performance
Modeling of Virtualized Custom Logic Computations, ASAP 2014 (:mod:`objectives.sharing.schedule`),
and an idle stream's slots stay idle. A work-conserving engine serves any call that waits
(:mod:`objectives.sharing.work_conserving`). The models here evaluate each design by its own
arbitration.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Annotated, NamedTuple, TypeAlias

import numpy as np

from dse.model import (
    Array,
    Floats,
    Quantity,
    Requirement,
    lower_bound,
    model,
    monotonic,
    requires,
)
from objectives.power_law import broadcast_alike, to_arrays
from objectives.quantities import (
    CALL_TIME,
    ROUNDING,
    CallRate,
    CallsInFlight,
    ClockPeriod,
    Lanes,
    PipelineDepth,
    SharedLink,
    Streams,
    declare_cost,
    declare_part,
)
from objectives.queues import constant_service_wait
from objectives.sharing.calls import (
    ENGINE_INTERVAL,
    ENGINE_TIME_ALONE,
    call_latency,
    call_service,
)
from objectives.sharing.pace import (
    STREAM_INTERVAL,
    CallWay,
    LinkUtilization,
    LinkWaitTime,
    Pace,
    SetUpTime,
    TravelTime,
    find_pace,
)
from objectives.sharing.queue_percentiles import find_queue_percentiles
from objectives.sharing.schedule import (
    LaneElements,
    Pipeline,
    SchedulePeriod,
    make_schedule,
)
from objectives.sharing.slot_percentiles import (
    Requests,
    Slots,
    find_slot_percentiles,
)
from objectives.sharing.slots import Chained
from objectives.sharing.work_conserving import (
    Load,
    find_interval,
    find_response,
    find_service,
)

WorkConserving: TypeAlias = Annotated[
    Floats,
    Quantity(
        "1",
        "1: the engine serves any call that waits; 0: each stream has fixed slots",
        low=0,
        high=1,
        integer=True,
        typical=(0, 1),
    ),
]


class Arbitration(NamedTuple):
    """How an engine serves the calls that wait."""

    work_conserving: WorkConserving
    chained: Chained
    lanes: Lanes
    schedule_period: SchedulePeriod


# ------------------------------------------------------------------------ each design by its own

Columns: TypeAlias = Sequence[Array]
Rows: TypeAlias = Callable[[Columns], tuple[Array, ...]]


def evaluate_each(
    work_conserving: Floats, columns: Sequence[Floats], slots: Rows, queue: Rows
) -> list[Array]:
    """Evaluate the designs with fixed slots by `slots`, the others by `queue`."""
    which, *table = np.broadcast_arrays(work_conserving, *columns)
    shape = which.shape
    queued = np.ravel(np.equal(which, 1))
    flat = [np.ravel(column).astype(np.float64) for column in table]
    merged: list[Array] = []
    for rows, evaluate in ((~queued, slots), (queued, queue)):
        if not rows.any() and (queued.size or merged):
            continue
        for i, values in enumerate(evaluate([column[rows] for column in flat])):
            if len(merged) <= i:
                merged.append(np.empty(queued.size))
            merged[i][rows] = values
    return [values.reshape(shape)[()] for values in merged]


def _evaluate(
    pipeline: Pipeline, arbitration: Arbitration, others: Sequence[Floats], slots: Rows, queue: Rows
) -> list[Array]:
    """Evaluate designs whose columns are the pipeline, chained, lanes, period, and the others."""
    columns = (*pipeline, *arbitration[1:], *others)
    return evaluate_each(arbitration.work_conserving, columns, slots, queue)


def _slots_of(
    streams: Array, pipeline_depth: Array, context_switch: Array, lanes: Array, chained: Array
) -> tuple[tuple[Array, Array, Array], Array]:
    """Return the pipeline that a stream's schedule sees, and its further clocks of latency."""
    one = chained == 1
    apart = np.where(one, pipeline_depth, 1.0)
    own = np.where(one, np.ceil(streams / lanes), streams)
    # a lane with fewer streams than stages leaves slots idle
    return (np.maximum(own, apart), apart, context_switch), pipeline_depth - apart


@dataclass(frozen=True, eq=False)
class EngineService:
    """The outputs of `engine_service`."""

    engine_utilization: Annotated[
        Array, Quantity("1", "offered calls over the calls that the engine can carry", "ρ", low=0)
    ]
    engine_interval: Annotated[Array, ENGINE_INTERVAL]
    engine_time_alone: Annotated[Array, ENGINE_TIME_ALONE]


class _AloneBound(NamedTuple):
    engine_time_alone: Annotated[Array, Quantity("s", "never a shorter time", low=0)]


class _ServiceBound(NamedTuple):
    engine_utilization: Annotated[Array, Quantity("1", "never a lower load", low=0)]
    engine_interval: Annotated[Array, Quantity("s", "never a shorter interval", low=0)]
    engine_time_alone: Annotated[Array, Quantity("s", "never a shorter time", low=0)]


@monotonic(
    engine_utilization="+streams -lanes +clock_period +lane_elements +call_rate",
    engine_interval="=streams -lanes +clock_period +lane_elements =call_rate",
    engine_time_alone="=streams =lanes +clock_period +lane_elements =call_rate",
)
@model
def _busy_lanes(
    streams: Streams,
    lanes: Lanes,
    clock_period: ClockPeriod,
    lane_elements: LaneElements,
    call_rate: CallRate,
) -> _ServiceBound:
    """Return the service of lanes that take an element in each clock, by either arbitration.

    A call takes m slots of a lane, so N streams load all lanes by ``Λ · m · N / lanes`` clocks at
    least, and a call takes all lanes for m clocks over their number.
    """
    slots = np.multiply(lane_elements, clock_period) * (1 - ROUNDING)
    shared = slots / lanes
    load = np.multiply(streams, call_rate) * shared
    return _ServiceBound(*broadcast_alike((load, shared, slots)))


@monotonic(
    engine_time_alone="+streams -lanes +pipeline_depth -schedule_period -work_conserving"
    " +clock_period +lane_elements"
)
@model
def _turns_alone(
    streams: Streams,
    lanes: Lanes,
    pipeline_depth: PipelineDepth,
    chained: Chained,
    schedule_period: SchedulePeriod,
    work_conserving: WorkConserving,
    clock_period: ClockPeriod,
    lane_elements: LaneElements,
) -> _AloneBound:
    """Return the clocks of a call in whole turns of R slots, and half a mean gap before.

    Slots of a turn are C clocks apart. A stream has ``R`` slots in a turn of at least R times the
    streams of its lane, so of m slots all but one turn's come at that pace.
    """
    pace, apart, further = _paces(streams, lanes, pipeline_depth, chained)
    last = np.minimum(lane_elements, schedule_period)
    inside = (lane_elements - last) * pace + last * apart + pace / 2.0
    free = np.multiply(lane_elements, apart)
    clocks = np.where(np.equal(work_conserving, 1), free, inside) + further
    return _AloneBound(clocks * clock_period * (1 - ROUNDING))


@monotonic(
    engine_time_alone="+streams +context_switch -lanes +schedule_period -work_conserving"
    " +clock_period +lane_elements"
)
@model
def _gap_alone(
    pipeline: Pipeline,
    lanes: Lanes,
    chained: Chained,
    schedule_period: SchedulePeriod,
    work_conserving: WorkConserving,
    clock_period: ClockPeriod,
    lane_elements: LaneElements,
) -> _AloneBound:
    """Return m slots C clocks apart, and before them the mean wait in a round with one gap.

    A round of P clocks has ``R − 1`` gaps of C and one of ``g = P − (R − 1) C``: the wait is
    ``((R − 1) C² + g²) / 2P``. It rises with g. With R it does too: for G groups and
    ``r = (R − 1) C``, its derivative has the sign of ``r (G − 1)(2g − C) + g (C + (G − 2) g)``,
    where g ≥ C, and g = C if G = 1.
    """
    streams, depth, switch = to_arrays(*pipeline)
    own, further = _slots_of(streams, depth, switch, np.asarray(lanes), np.asarray(chained))
    length, _ = make_schedule(*own, schedule_period)
    within = np.subtract(schedule_period, 1.0) * own[1]
    wait = (within * own[1] + (length - within) ** 2) / (2.0 * length)
    waits = np.where(np.equal(work_conserving, 1), 0.0, wait)
    clocks = waits + np.multiply(lane_elements, own[1]) + further
    return _AloneBound(clocks * clock_period * (1 - ROUNDING))


def _paces(
    streams: Floats, lanes: Floats, pipeline_depth: Floats, chained: Floats
) -> tuple[Array, Array, Array]:
    """Return clocks per slot of a stream, clocks between slots of a turn, and those after all."""
    depth = np.asarray(pipeline_depth, dtype=np.float64)
    one = np.equal(chained, 1)
    apart = np.where(one, depth, 1.0)
    pace = np.maximum(np.where(one, np.divide(streams, lanes), streams), apart)
    return pace, apart, depth - apart


@lower_bound(engine_time_alone=_gap_alone)
@lower_bound(engine_time_alone=_turns_alone)
@lower_bound(
    engine_utilization=_busy_lanes, engine_interval=_busy_lanes, engine_time_alone=_busy_lanes
)
@requires(Requirement("engine_utilization < 1", "the engine carries the calls of all its streams"))
@model
@monotonic(
    engine_utilization="+streams +context_switch -lanes -schedule_period +clock_period"
    " +lane_elements +call_rate",
    engine_interval="+streams +context_switch -lanes -schedule_period +clock_period"
    " +lane_elements +call_rate",
    engine_time_alone="+streams +context_switch -lanes +clock_period +lane_elements =call_rate",
)
def engine_service(
    pipeline: Pipeline,
    arbitration: Arbitration,
    clock_period: ClockPeriod,
    lane_elements: LaneElements,
    call_rate: CallRate,
) -> EngineService:
    """Return the load of the engine and its service of a call.

    A stream of a work-conserving engine that always has a call waiting gets the capacity that the
    others leave: of c contexts, each taken for S + m · C clocks by a call, ``c − (N − 1) Λ hold``.

    More lanes serve more calls at a time, or share the streams: load and times do not rise. All
    else moves as for :func:`objectives.sharing.call_service`.
    `engine_interval` is inf if the other streams use all of a work-conserving engine.
    """

    def slots(columns: Columns) -> tuple[Array, ...]:
        streams, depth, switch, chained, lanes, period, clock, elements, rate = columns
        own, further = _slots_of(streams, depth, switch, lanes, chained)
        service = call_service(*own, period, clock, elements)
        interval = np.asarray(service.engine_interval)
        return rate * interval, interval, service.engine_time_alone + further * clock

    def queue(columns: Columns) -> tuple[Array, ...]:
        streams, depth, switch, chained, lanes, _, clock, elements, rate = columns
        hold, drain, servers = find_service(depth, switch, clock, elements, lanes, chained)
        left = servers - (streams - 1) * rate * hold
        with np.errstate(all="ignore"):
            interval = np.where(left > 0, hold / left, np.inf)
        return streams * rate * hold / servers, interval, hold + drain

    others = (clock_period, lane_elements, call_rate)
    return EngineService(*_evaluate(pipeline, arbitration, others, slots, queue))


# ------------------------------------------------------------------------------- calls back to back


class LinkWay(NamedTuple):
    """The steps of a call before it reaches the engine, and its link."""

    set_up_time: SetUpTime
    travel_time: TravelTime
    link_wait_time: LinkWaitTime
    link_utilization: LinkUtilization
    shared_link: SharedLink


_Time = Annotated[Floats, Quantity("s", "time of a step", low=0)]


_BELOW_CAPACITY = 1e-3


class _PaceBound(NamedTuple):
    stream_interval: Annotated[Array, Quantity("s", "never a shorter interval", low=0)]


class _TimeBound(NamedTuple):
    call_time: Annotated[Array, Quantity("s", "never a shorter time", low=0)]
    call_time_p95: Annotated[Array, Quantity("s", "never a shorter time", low=0)]
    call_time_p99: Annotated[Array, Quantity("s", "never a shorter time", low=0)]


_STEPS = "+pipeline_depth +clock_period +lane_elements +set_up_time +travel_time"


@monotonic(call_time=_STEPS, call_time_p95=_STEPS, call_time_p99=_STEPS)
@model
def _without_waits(
    pipeline_depth: PipelineDepth,
    chained: Chained,
    clock_period: ClockPeriod,
    lane_elements: LaneElements,
    set_up_time: _Time,
    travel_time: _Time,
) -> _TimeBound:
    """Return set-up, travel and the clocks in the pipeline, if nothing waits for a slot."""
    _, apart, further = _paces(1.0, 1.0, pipeline_depth, chained)
    clocks = np.multiply(lane_elements, apart) + further
    steps = np.add(set_up_time, travel_time) + clocks * clock_period
    return _TimeBound(*(np.asarray(steps * (1 - ROUNDING)) for _ in range(3)))


@monotonic(
    stream_interval="+pipeline_depth +clock_period +lane_elements -calls_in_flight +set_up_time"
    " +travel_time"
)
@model
def _window_pace(
    pipeline_depth: PipelineDepth,
    chained: Chained,
    clock_period: ClockPeriod,
    lane_elements: LaneElements,
    calls_in_flight: CallsInFlight,
    set_up_time: _Time,
    travel_time: _Time,
) -> _PaceBound:
    """Return the larger of set-up and, for q calls in flight, the time of a call over q."""
    _, apart, further = _paces(1.0, 1.0, pipeline_depth, chained)
    clocks = np.multiply(lane_elements, apart) + further
    time = np.add(set_up_time, travel_time) + clocks * clock_period
    return _PaceBound(np.maximum(set_up_time, time * (1 - ROUNDING) / calls_in_flight))


@monotonic(stream_interval="+streams -lanes -work_conserving +clock_period +lane_elements")
@model
def _slots_share(
    streams: Streams,
    lanes: Lanes,
    pipeline_depth: PipelineDepth,
    chained: Chained,
    work_conserving: WorkConserving,
    clock_period: ClockPeriod,
    lane_elements: LaneElements,
) -> _PaceBound:
    """Return the slots of a call at the pace of a stream's slots; 0 for a work-conserving engine.

    In fixed slots each stream of a lane has one of as many slots as the lane has streams: all N, or
    N over the lanes if an element stays in one lane.
    """
    pace, _, _ = _paces(streams, lanes, pipeline_depth, chained)
    slots = np.multiply(lane_elements, clock_period) * (1 - ROUNDING)
    return _PaceBound(np.where(np.equal(work_conserving, 1), 0.0, pace * slots))


@monotonic(
    stream_interval="+streams +context_switch -lanes -pipeline_depth +work_conserving"
    " +clock_period +lane_elements +call_rate"
)
@model
def _left_by_others(
    pipeline: Pipeline,
    lanes: Lanes,
    chained: Chained,
    work_conserving: WorkConserving,
    clock_period: ClockPeriod,
    lane_elements: LaneElements,
    call_rate: CallRate,
) -> _PaceBound:
    """Return the interval at the capacity that others leave; 0 for an engine with fixed slots.

    Of c contexts, each taken for S + m·C clocks, the others use (N − 1) Λ of c over that time. A
    stream with one call at a time at one context is followed by an exponential, which falls below
    this capacity by at most 0.09 % (:mod:`objectives.sharing.work_conserving`).
    """
    service = find_service(*to_arrays(*pipeline[1:], clock_period, lane_elements, lanes, chained))
    with np.errstate(all="ignore"):
        left = service.servers / service.hold - np.subtract(pipeline.streams, 1.0) * call_rate
        interval = np.where(left > 0, (1 - _BELOW_CAPACITY) / left, np.inf)
    return _PaceBound(np.where(np.equal(work_conserving, 1), interval, 0.0))


@lower_bound(stream_interval=_left_by_others)
@lower_bound(stream_interval=_slots_share)
@lower_bound(stream_interval=_window_pace)
@model
def call_pace(
    pipeline: Pipeline,
    arbitration: Arbitration,
    clock_period: ClockPeriod,
    lane_elements: LaneElements,
    call_rate: CallRate,
    calls_in_flight: CallsInFlight,
    way: LinkWay,
    link_interval: Annotated[
        Floats,
        declare_cost(
            "s",
            "time from call to call that the link leaves to a stream that always has one waiting",
            (0, 1e-5),
        ),
    ],
) -> Pace:
    """Return the mean time from end to end of calls of a stream that always has one waiting.

    By :func:`objectives.sharing.stream_interval` with fixed slots, by
    :func:`objectives.sharing.work_conserving.find_interval` else.
    """
    others = (clock_period, lane_elements, call_rate, calls_in_flight, *way, link_interval)
    return Pace(*_evaluate(pipeline, arbitration, others, slots_pace, queue_pace))


def slots_pace(columns: Columns, limit: Array | None = None) -> tuple[Array, ...]:
    """Return the pace of designs with fixed slots; the columns are as of :func:`call_pace`.

    With a limit, the pace is only on the right side of it.
    """
    streams, depth, switch, chained, lanes, period, clock, elements, _, window, *way = columns
    own, further = _slots_of(streams, depth, switch, lanes, chained)
    set_up, travel, wait, load, *_ = way
    steps = CallWay(set_up, travel + further * clock, wait, load)
    return (find_pace(Pipeline(*own), period, clock, elements, window, steps, limit),)


def queue_pace(columns: Columns, limit: Array | None = None) -> tuple[Array, ...]:
    """Return the pace of work-conserving designs; the columns are as of :func:`call_pace`.

    With a limit, the pace is only on the right side of it.
    """
    streams, depth, switch, chained, lanes, _, clock, elements, rate, window, *rest = columns
    *way, link = rest
    service = find_service(depth, switch, clock, elements, lanes, chained)
    return (find_interval(service, Load(streams, rate, window, *way), link, limit),)


# --------------------------------------------------------------------------------- calls under load


_part = functools.partial(declare_part, "s", "call_time")


@dataclass(frozen=True, eq=False)
class CallResponse:
    """The outputs of `call_response`."""

    call_time: Annotated[Array, CALL_TIME]
    call_queue_time: Annotated[
        Array, _part("wait for the thread, the window and other calls at the engine")
    ]
    call_set_up_time: Annotated[Array, _part("set-up on the host")]
    call_link_time: Annotated[Array, _part("wait for the link")]
    call_travel_time: Annotated[Array, _part("on the link, to the engine and back")]
    call_engine_time: Annotated[Array, _part("at the engine, without the wait for other calls")]


class _StepsBound(NamedTuple):
    call_time: Annotated[Array, Quantity("s", "never a shorter time", low=0)]


@monotonic(
    call_time="+set_up_time +travel_time +link_wait_time +engine_time_alone -work_conserving"
)
@model
def _steps_alone(
    work_conserving: WorkConserving,
    set_up_time: _Time,
    travel_time: _Time,
    link_wait_time: _Time,
    engine_time_alone: _Time,
) -> _StepsBound:
    """Return the steps of a call without its waits; with fixed slots, the engine's is an input."""
    engine = np.where(np.equal(work_conserving, 1), 0.0, engine_time_alone)
    steps = np.add(set_up_time, travel_time) + link_wait_time + engine
    return _StepsBound(np.asarray(steps * (1 - ROUNDING)))


@lower_bound(call_time=_steps_alone)
@lower_bound(call_time=_without_waits)
@model
def call_response(
    pipeline: Pipeline,
    arbitration: Arbitration,
    clock_period: ClockPeriod,
    lane_elements: LaneElements,
    call_rate: CallRate,
    calls_in_flight: CallsInFlight,
    way: LinkWay,
    engine_time_alone: Annotated[Floats, ENGINE_TIME_ALONE],
    stream_interval: Annotated[Floats, STREAM_INTERVAL],
) -> CallResponse:
    """Return the mean time of a call under load, and its parts.

    With fixed slots, the largest of three waits counts: for the thread (M/D/1), for the window
    (M/D/q with a service of q times the pace), and for the slots of earlier calls (exact, by
    :func:`objectives.sharing.call_latency`). For a work-conserving engine see
    :func:`objectives.sharing.work_conserving.find_response`.
    All in seconds; inf if thread, window or engine cannot carry the calls.
    """
    calls = (clock_period, lane_elements, call_rate, calls_in_flight)
    others = (*calls, *way, engine_time_alone, stream_interval)
    return CallResponse(*_evaluate(pipeline, arbitration, others, _slots_response, _queue_response))


def _slots_response(columns: Columns) -> tuple[Array, ...]:
    streams, depth, switch, chained, lanes, period, clock, elements, rate, window, *rest = columns
    set_up, travel, link_wait, _, _, alone, pace = rest
    own, further = _slots_of(streams, depth, switch, lanes, chained)
    with np.errstate(all="ignore"):
        latency = call_latency(*own, period, rate, elements, clock)
        engine = np.maximum(latency.engine_time + further * clock - alone, 0.0)
        thread = np.where(set_up > 0, set_up * constant_service_wait(rate * set_up), 0.0)
        around = constant_service_wait(rate * pace, window) * window * pace
    queue = np.maximum(np.maximum(thread, around), engine)
    time = set_up + link_wait + travel + alone + queue
    return time, queue, set_up, link_wait, travel, alone


def _queue_response(columns: Columns) -> tuple[Array, ...]:
    streams, depth, switch, chained, lanes, _, clock, elements, rate, window, *rest = columns
    *way, _, _ = rest
    set_up, travel, link_wait, *_ = way
    service = find_service(depth, switch, clock, elements, lanes, chained)
    time = find_response(service, Load(streams, rate, window, *way)).mean
    alone = service.hold + service.drain
    queue = time - set_up - link_wait - travel - alone
    queue = np.where(np.isfinite(time), np.maximum(queue, 0.0), time)
    return time, queue, set_up, link_wait, travel, alone


_LEVELS = (0.95, 0.99)


@dataclass(frozen=True, eq=False)
class CallPercentiles:
    """The outputs of `call_percentiles`."""

    call_time_p95: Annotated[Array, Quantity("s", "time in which 95 % of the calls end", low=0)]
    call_time_p99: Annotated[Array, Quantity("s", "time in which 99 % of the calls end", low=0)]


@lower_bound(call_time_p95=_without_waits, call_time_p99=_without_waits)
@model
def call_percentiles(
    pipeline: Pipeline,
    arbitration: Arbitration,
    clock_period: ClockPeriod,
    lane_elements: LaneElements,
    call_rate: CallRate,
    calls_in_flight: CallsInFlight,
    way: LinkWay,
) -> CallPercentiles:
    """Return percentiles of the time of a call under load.

    By :func:`objectives.sharing.slot_percentiles.find_slot_percentiles` with fixed slots, by
    :func:`objectives.sharing.queue_percentiles.find_queue_percentiles` else. A design takes one or
    two milliseconds, so only studies that need percentiles should use this model.
    All in seconds; inf if thread, window or engine cannot carry the calls. NaN if a turn of fixed
    slots has room for more than 32 calls: ``schedule_period > 32 · lane_elements``.
    """
    others = (clock_period, lane_elements, call_rate, calls_in_flight, *way)
    return CallPercentiles(
        *_evaluate(pipeline, arbitration, others, _slots_percentiles, _queue_percentiles)
    )


def _slots_percentiles(columns: Columns) -> tuple[Array, ...]:
    streams, depth, switch, chained, lanes, period, clock, elements, rate, window, *way = columns
    set_up, travel, link_wait, load, shared = way
    (own, apart, switch), further = _slots_of(streams, depth, switch, lanes, chained)
    length, away = make_schedule(own, apart, switch, period)
    with np.errstate(all="ignore"):
        occupied = np.where(link_wait > 0, 2 * (1 - load) * link_wait / load, 0.0)
        occupied = np.where(np.isfinite(link_wait), occupied, link_wait)
    others = np.where(shared == 1, load, load * (streams - 1) / streams)
    found = find_slot_percentiles(
        Slots(length, away, apart, period, apart + further, elements),
        Requests(rate * clock, window, set_up / clock, travel / clock, occupied / clock, others),
        _LEVELS,
    )
    return tuple(clocks * clock for clocks in found)


def _queue_percentiles(columns: Columns) -> tuple[Array, ...]:
    streams, depth, switch, chained, lanes, _, clock, elements, rate, window, *way = columns
    service = find_service(depth, switch, clock, elements, lanes, chained)
    return find_queue_percentiles(service, Load(streams, rate, window, *way), _LEVELS)
