"""Clock, data rate and area of a C-slowed engine.

A C-slowed engine cuts its logic into C stages and interleaves C independent streams or blocks, one
element a clock (Hall and Chamberlain, Performance Modeling of Virtualized Custom Logic
Computations, ASAP 2014, section II and equation 3). The clock and the areas are a fit to
measurements of Hall, Olson and Chamberlain, Utilizing Virtualized Hardware Logic Computations to
Benefit Multi-User Performance, Electronics 10(6):665, 2021; `engine.md` states its errors. The
coefficients of measured engines are rows of the catalog ``pipelined_engines``.

Assumptions: lanes are copies that share nothing. An element that needs k passes takes k clocks of
its lane, whatever the pipeline's depth.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, NamedTuple

import numpy as np

from dse.model import Array, Floats, Quantity, composed_of, model, monotonic
from objectives.machine.quantities import ENGINE_AREA, REGISTER_AREA
from objectives.power_law import power, to_arrays
from objectives.quantities import (
    CLOCK_PERIOD,
    LANES,
    ROUNDING,
    Acceleration,
    ClockCycles,
    ElementBytes,
    Granularity,
    Kernel,
    Lanes,
    Passes,
    PipelineDepth,
    declare_cost,
)


class Stages(NamedTuple):
    """The logic of a lane and how it can be cut into stages."""

    logic_delay: Annotated[
        Floats,
        Quantity("s", "delay of all the logic", above=0, better="lower", typical=(1e-8, 4e-7)),
    ]
    logic_steps: Annotated[
        Floats,
        Quantity("1", "parts that stay whole", low=1, integer=True, typical=(4, 1000)),
    ]
    register_delay: Annotated[
        Floats, declare_cost("s", "delay of a stage without its logic", (1e-9, 6e-9))
    ]
    routing_delay: Annotated[
        Floats, declare_cost("s", "delay that each stage adds to the wires", (0, 2e-10))
    ]
    unsplit_stages: Annotated[
        Floats,
        Quantity("1", "stages that hold no logic", low=0, integer=True, typical=(0, 2)),
    ]


class LaneArea(NamedTuple):
    """The area of a lane."""

    lane_area: Annotated[
        Floats,
        Quantity("LUT", "area of a lane of one stage", above=0, better="lower", typical=(300, 2e5)),
    ]
    stage_area: Annotated[Floats, declare_cost("LUT", "area of a further stage", (0, 2000))]


class Elements(NamedTuple):
    """The work of a lane in a clock, and its passes."""

    element_bytes: ElementBytes
    passes: Passes


@dataclass(frozen=True, eq=False)
class EngineClock:
    """The output of `engine_clock`."""

    clock_period: Annotated[Array, CLOCK_PERIOD]
    response_time: Annotated[Array, Quantity("s", "time of a pass through a lane", "W_s", low=0)]


@dataclass(frozen=True, eq=False)
class EngineRate:
    """The output of `engine_rate`."""

    peak_data_rate: Annotated[
        Array, Quantity("B/s", "data of all streams that the engine takes a second at most", low=0)
    ]


@dataclass(frozen=True, eq=False)
class EngineSize:
    """The output of `engine_size`."""

    engine_area: Annotated[Array, ENGINE_AREA]
    register_area: Annotated[Array, REGISTER_AREA]


@dataclass(frozen=True, eq=False)
class Engine(EngineClock, EngineRate, EngineSize):
    """The output of `engine`."""


@model
@monotonic(
    clock_period="+logic_delay +register_delay +routing_delay +unsplit_stages",
    response_time="+logic_delay +register_delay +routing_delay +unsplit_stages",
)
def engine_clock(pipeline_depth: PipelineDepth, stages: Stages) -> EngineClock:
    """Return the clock and the response time of a lane.

    ``t(C) = logic_delay · ceil(n / (C − u)) / n + register_delay + routing_delay · C`` with n
    `logic_steps` and u `unsplit_stages` (C − u is at least 1): the slowest stage has the largest
    number of parts. The response time is ``C · t(C)`` (equation 3).

    Both rise with each delay, and with the stages that hold no logic, which leave more parts to the
    others. With the depth, and with the number of parts, they may do either.

    >>> float(engine_clock(4, 20e-9, 1000, 4e-9, 0.0, 0).clock_period)
    9e-09
    """
    depth = np.asarray(pipeline_depth, dtype=np.float64)
    parts = np.ceil(stages.logic_steps / np.maximum(depth - stages.unsplit_stages, 1.0))
    slowest = stages.logic_delay * parts / stages.logic_steps
    period: Array = slowest + stages.register_delay + stages.routing_delay * depth
    return EngineClock(period, depth * period)


@model
@monotonic(
    peak_data_rate="+lanes -clock_period +element_bytes -passes",
)
def engine_rate(
    lanes: Lanes,
    clock_period: Annotated[Floats, CLOCK_PERIOD],
    elements: Elements,
) -> EngineRate:
    """Return what the engine takes a second if no slot stays idle.

    ``lanes · element_bytes / (passes · clock_period)``: a lane takes an element every clock, which
    comes back for each further pass. A schedule that switches contexts gives less.

    >>> float(engine_rate(2, 10e-9, 16, 4).peak_data_rate)
    800000000.0
    """
    data = np.multiply(lanes, elements.element_bytes, dtype=np.float64)
    return EngineRate(data / (elements.passes * np.asarray(clock_period)))


@model
@monotonic(
    engine_area="+lanes =pipeline_depth +lane_area =stage_area",
    register_area="+lanes +pipeline_depth =lane_area +stage_area",
)
def engine_size(lanes: Lanes, pipeline_depth: PipelineDepth, area: LaneArea) -> EngineSize:
    """Return ``lanes · lane_area`` and ``lanes · stage_area · (C − 1)``.

    >>> float(engine_size(2, 4, 10_000, 1_000).register_area)
    6000.0
    """
    copies = np.asarray(lanes, dtype=np.float64)
    further = np.asarray(pipeline_depth, dtype=np.float64) - 1.0
    return EngineSize(copies * area.lane_area, copies * area.stage_area * further)


@composed_of(engine_clock, engine_rate, engine_size)
def engine(
    lanes: Lanes, pipeline_depth: PipelineDepth, stages: Stages, area: LaneArea, elements: Elements
) -> Engine:
    """Return clock, response time, data rate and areas of an engine.

    One stage and many lanes is a replicated engine. An entry of ``pipelined_engines`` has the
    fields of `stages`, `area` and `elements`.
    """


# ------------------------------------------------------------------------ lanes for an acceleration


@dataclass(frozen=True, eq=False)
class LanesFor:
    """The output of `lanes_for`."""

    lane_acceleration: Annotated[
        Array, Quantity("1", "acceleration of one lane that nobody shares", low=0)
    ]
    lanes: Annotated[Array, LANES]


@model
@monotonic(
    lane_acceleration="=acceleration +computational_index -clock_period +element_bytes -passes",
    lanes="+acceleration -computational_index +clock_period -element_bytes +passes",
)
def lanes_for(
    acceleration: Acceleration,
    granularity: Granularity,
    kernel: Kernel,
    clock_period: ClockCycles,
    elements: Elements,
) -> LanesFor:
    """Return as many lanes as give the acceleration to a call without other calls in the engine.

    A call of ``n = ceil(granularity / element_bytes)`` elements takes ``n · passes`` clocks of one
    lane, so a lane accelerates by ``host_time / (n · passes · clock_period)``. The pipeline is full
    meanwhile: other elements of the call, or other streams, are in its other stages.

    A lane accelerates by a product of powers of its inputs, except for the granularity, with
    which the elements jump. The lanes are the required acceleration over that, rounded up.

    >>> lane = lanes_for(200, 1024, 90, 1.0, clock_period=92.8, element_bytes=16, passes=1)
    >>> float(lane.lane_acceleration), float(lane.lanes)
    (15.517, 13.0)
    """
    size, period, width, passes = to_arrays(granularity, clock_period, *elements)
    c, b = to_arrays(*kernel)
    one = c * power(size, b) / (np.ceil(size / width * (1 - ROUNDING)) * passes * period)
    return LanesFor(one, np.maximum(np.ceil(acceleration / one * (1 - ROUNDING)), 1.0))
