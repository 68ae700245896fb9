"""Clock, lanes and area of a C-slowed engine.

A C-slowed engine cuts its logic into C stages and interleaves C independent streams or blocks, one
element a clock (Hall and Chamberlain, Performance Modeling of Virtualized Custom Logic
Computations, ASAP 2014, section II and equation 3). The clock and the areas are a fit to
measurements of Hall, Olson and Chamberlain, Utilizing Virtualized Hardware Logic Computations to
Benefit Multi-User Performance, Electronics 10(6):665, 2021; `docs/engine.md` states its errors. The
coefficients of measured engines are rows of the catalog ``engines``.

Assumptions: every lane has C independent elements to work on at any time; lanes are copies that
share nothing; acceleration counts throughput.
"""

from __future__ import annotations

from typing import Annotated, NamedTuple

import numpy as np

from dse.model import Array, Floats, Quantity, model
from objectives.machine.quantities import ENGINE_AREA, REGISTER_AREA
from objectives.quantities import CLOCK_PERIOD, LANES, Acceleration, PipelineDepth

_ROUNDING = 1e-12  # an acceleration of exactly k lanes must not become k + 1 of them


class Logic(NamedTuple):
    """A lane of one stage, and what cutting it into stages costs: a row of ``engines``."""

    base_acceleration: Annotated[
        Floats,
        Quantity(
            "1", "acceleration of a lane of one stage", above=0, better="higher", typical=(0.1, 20)
        ),
    ]
    logic_delay: Annotated[
        Floats,
        Quantity("s", "delay of all the logic", above=0, better="lower", typical=(1e-8, 4e-7)),
    ]
    logic_steps: Annotated[
        Floats,
        Quantity("1", "parts that stay whole", low=1, integer=True, typical=(4, 1000)),
    ]
    register_delay: Annotated[
        Floats,
        Quantity(
            "s", "delay of a stage beside its logic", low=0, better="lower", typical=(1e-9, 6e-9)
        ),
    ]
    routing_delay: Annotated[
        Floats,
        Quantity(
            "s",
            "delay that each stage adds to the wires",
            low=0,
            better="lower",
            typical=(0, 2e-10),
        ),
    ]
    unsplit_stages: Annotated[
        Floats,
        Quantity("1", "stages that hold no logic", low=0, integer=True, typical=(0, 2)),
    ]
    lane_area: Annotated[
        Floats,
        Quantity("LUT", "area of a lane of one stage", above=0, better="lower", typical=(300, 2e5)),
    ]
    stage_area: Annotated[
        Floats,
        Quantity("LUT", "area of a further stage", low=0, better="lower", typical=(0, 2000)),
    ]


class Engine(NamedTuple):
    """What `engine` gives."""

    clock_period: Annotated[Array, CLOCK_PERIOD]
    response_time: Annotated[Array, Quantity("s", "time of an element in a lane", "W_s", low=0)]
    lane_acceleration: Annotated[Array, Quantity("1", "acceleration of one lane", low=0)]
    lanes: Annotated[Array, LANES]
    engine_area: Annotated[Array, ENGINE_AREA]
    register_area: Annotated[Array, REGISTER_AREA]


@model
def engine(acceleration: Acceleration, pipeline_depth: PipelineDepth, logic: Logic) -> Engine:
    """Return clock, response time, lanes and areas of an engine.

    ``t(C) = logic_delay · ceil(n / (C − u)) / n + register_delay + routing_delay · C`` with n
    `logic_steps` and u `unsplit_stages` (C − u is at least 1): the slowest stage holds the largest
    number of parts. A lane takes one element a clock, so its acceleration is
    ``base_acceleration · t(1) / t(C)``; as many lanes are laid as the acceleration asks for. One
    stage and many lanes is a replicated engine.

    Parameters
    ----------
    acceleration : float or ndarray
        That the lanes together give at least.
    pipeline_depth : float or ndarray
        Stages C of a lane.
    logic : Logic
        Called by its fields, which broadcast with all else.

    Returns
    -------
    Engine
        `response_time` is ``C · t(C)`` (equation 3). The areas are
        ``lanes · lane_area`` and ``lanes · stage_area · (C − 1)``.

    Examples
    --------
    Four stages make a lane of this engine 2.7 times as fast, so two lanes do for three:

    >>> deep = engine(3.0, 4, 1.0, 20e-9, 1000, 4e-9, 0.0, 0, 10_000, 1_000)
    >>> flat = engine(3.0, 1, 1.0, 20e-9, 1000, 4e-9, 0.0, 0, 10_000, 1_000)
    >>> float(deep.lanes), float(flat.lanes), float(deep.register_area)
    (2.0, 3.0, 6000.0)
    """
    period = _clock_period(pipeline_depth, logic)
    lane_acceleration = logic.base_acceleration * _clock_period(1.0, logic) / period
    lanes = np.maximum(np.ceil(acceleration / lane_acceleration * (1 - _ROUNDING)), 1.0)
    return Engine(
        period,
        pipeline_depth * period,
        lane_acceleration,
        lanes,
        lanes * logic.lane_area,
        lanes * logic.stage_area * (np.asarray(pipeline_depth) - 1.0),
    )


def _clock_period(depth: Floats, logic: Logic) -> Array:
    split = np.maximum(np.asarray(depth, dtype=np.float64) - logic.unsplit_stages, 1.0)
    parts = np.ceil(logic.logic_steps / split)
    stage = logic.logic_delay * parts / logic.logic_steps
    period: Array = stage + logic.register_delay + logic.routing_delay * depth
    return period
