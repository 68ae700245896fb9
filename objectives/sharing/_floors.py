"""Lower bounds of times on a shared engine, which are monotonic where the times jump.

A round of P clocks gives a stream R slots, C clocks apart in its turn. Its ⌈N/C⌉ groups take C
slots a turn, so a slot comes every ``P/R ≥ ⌈N/C⌉·C ≥ N`` clocks in the mean, whatever the schedule.
A search that bounds knows so much before it knows the depth and the schedule
(:func:`dse.model.at_least`).
"""

from __future__ import annotations

from typing import Annotated, NamedTuple

import numpy as np

from dse.model import Array, Floats, Quantity, model, monotonic
from objectives.quantities import (
    CallsInFlight,
    ClockPeriod,
    ElementBytes,
    Lanes,
    Passes,
    PipelineDepth,
    Streams,
)
from objectives.sharing.quantities import LaneElements, Pipeline, SchedulePeriod
from objectives.sharing.schedule import schedule

_ON_THE_SLOT = 1e-9
_Time = Annotated[Floats, Quantity("s", "time of a call outside the engine", low=0)]


class _StreamInterval(NamedTuple):
    stream_interval: Annotated[Array, Quantity("s", "never a shorter interval", low=0)]


class _EngineInterval(NamedTuple):
    engine_interval: Annotated[Array, Quantity("s", "never a shorter interval", low=0)]


class _EngineTimeAlone(NamedTuple):
    engine_time_alone: Annotated[Array, Quantity("s", "never a shorter time", low=0)]


class _EngineTime(NamedTuple):
    engine_time: Annotated[Array, Quantity("s", "never a shorter time", low=0)]


class _EngineLine(NamedTuple):
    engine_time_per_byte: Annotated[Array, Quantity("s/B", "never a shorter time", low=0)]
    engine_rounding_time: Annotated[Array, Quantity("s", "never a shorter time", low=0)]
    engine_delay: Annotated[Array, Quantity("s", "never a shorter time", low=0)]


@monotonic(
    stream_interval="+streams +pipeline_depth +clock_period +lane_elements -calls_in_flight"
    " +set_up_time +travel_time"
)
@model
def window_interval(
    streams: Streams,
    pipeline_depth: PipelineDepth,
    clock_period: ClockPeriod,
    lane_elements: LaneElements,
    calls_in_flight: CallsInFlight,
    set_up_time: _Time,
    travel_time: _Time,
) -> _StreamInterval:
    """Return the largest of set-up, m·N clocks, and what q calls in flight need at least.

    The call q after another begins its set-up when that one has ended, and ends after set-up and
    travel, m − 1 further slots of C clocks and the pipeline: T later. So q calls take T at least.
    """
    slots = np.multiply(lane_elements, pipeline_depth) - _ON_THE_SLOT
    one = np.add(set_up_time, travel_time) + slots * clock_period
    carried = np.multiply(lane_elements, streams) * clock_period
    return _StreamInterval(np.maximum(np.maximum(set_up_time, carried), one / calls_in_flight))


@monotonic(
    stream_interval="+streams +context_switch -schedule_period +clock_period +lane_elements"
    " +set_up_time"
)
@model
def slots_interval(
    pipeline: Pipeline,
    schedule_period: SchedulePeriod,
    clock_period: ClockPeriod,
    lane_elements: LaneElements,
    set_up_time: _Time,
) -> _StreamInterval:
    """Return the larger of set-up and the slots of a call.

    They move as :func:`objectives.sharing.schedule.printed_latency` says.
    """
    length, _ = schedule(*pipeline, schedule_period)
    slots = lane_elements * length / schedule_period * clock_period
    return _StreamInterval(np.maximum(set_up_time, slots))


@monotonic(engine_interval="+streams +clock_period +lane_elements")
@model
def turn_interval(
    streams: Streams, clock_period: ClockPeriod, lane_elements: LaneElements
) -> _EngineInterval:
    """Return m·N clocks."""
    return _EngineInterval(np.multiply(lane_elements, streams) * clock_period)


@monotonic(engine_time_alone="+streams +pipeline_depth +clock_period +lane_elements")
@model
def time_alone(
    streams: Streams,
    pipeline_depth: PipelineDepth,
    clock_period: ClockPeriod,
    lane_elements: LaneElements,
) -> _EngineTimeAlone:
    """Return N/2 + m·C clocks: half a mean gap between slots, m − 1 slots, the pipeline.

    The mean wait for a slot is half the mean gap if all gaps are equal, and else more.
    """
    clocks = np.divide(streams, 2.0) + np.multiply(lane_elements, pipeline_depth)
    return _EngineTimeAlone(clocks * clock_period)


@monotonic(engine_time="+streams +pipeline_depth +clock_period +lane_elements")
@model
def time_loaded(
    streams: Streams,
    pipeline_depth: PipelineDepth,
    clock_period: ClockPeriod,
    lane_elements: LaneElements,
) -> _EngineTime:
    """Return :func:`time_alone`: earlier calls hasten none."""
    alone = time_alone(streams, pipeline_depth, clock_period, lane_elements)
    return _EngineTime(alone.engine_time_alone)


@monotonic(
    engine_time_per_byte="+streams +clock_period -lanes -element_bytes +passes",
    engine_rounding_time="+streams +clock_period +passes",
    engine_delay="+pipeline_depth +clock_period",
)
@model
def line(
    streams: Streams,
    pipeline_depth: PipelineDepth,
    clock_period: ClockPeriod,
    lanes: Lanes,
    element_bytes: ElementBytes,
    passes: Passes,
) -> _EngineLine:
    """Return the line of an engine whose slots are N clocks apart, without a pause."""
    slot = np.multiply(streams, clock_period) * passes
    return _EngineLine(
        slot / np.multiply(element_bytes, lanes),
        slot,
        np.multiply(pipeline_depth, clock_period),
    )
