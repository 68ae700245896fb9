"""The quantities of the models of a shared pipeline, and records of them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, NamedTuple, TypeAlias, get_args

import numpy as np

from dse.model import Floats, Quantity, declared
from dse.problems import InputError, Problem
from objectives.quantities import ClockPeriod, PipelineDepth, Streams

LONGEST_PERIOD = 65_536
"""Largest schedule period in the domain; the cost of the exact latency grows with the period."""

ContextSwitch: TypeAlias = Annotated[
    Floats,
    Quantity(
        "1",
        "clocks of the engine to swap one group of streams for the next",
        "S",
        low=0,
        high=1_000_000_000,
        integer=True,
        better="lower",
        typical=(0, 64),
    ),
]
SchedulePeriod: TypeAlias = Annotated[
    Floats,
    Quantity(
        "1",
        "turns of each stream before its group is swapped out",
        "R_S",
        low=1,
        high=LONGEST_PERIOD,
        integer=True,
        typical=(1, 128),
    ),
]
ArrivalRate: TypeAlias = Annotated[
    Floats,
    Quantity(
        "element/s",
        "elements that arrive in one stream a second, at a lane",
        "λ",
        low=0,
        typical=(1e3, 1e6),
    ),
]
LANE_ELEMENTS = Quantity(
    "element/call",
    "elements that a call brings to each lane at once",
    "m",
    low=1,
    high=1_000_000_000,
    integer=True,
    typical=(1, 64),
)
LaneElements: TypeAlias = Annotated[Floats, LANE_ELEMENTS]


class Pipeline(NamedTuple):
    """A pipeline and the streams that share it."""

    streams: Streams
    pipeline_depth: PipelineDepth
    context_switch: ContextSwitch


class Traffic(NamedTuple):
    """What arrives in each stream, and the clock that serves it."""

    arrival_rate: ArrivalRate
    clock_period: ClockPeriod


_DECLARED = {
    **declared(Pipeline),
    "schedule_period": get_args(SchedulePeriod)[1],
    **declared(Traffic),
}


def problems_in(values: Mapping[str, float]) -> list[Problem]:
    """Return what is wrong with single numbers, by the names of the inputs; all at once.

    >>> problems_in({"schedule_period": 0})[0].message
    'is 0'
    """
    problems = []
    for name, value in values.items():
        quantity = _DECLARED[name]
        if np.ndim(value) or not quantity.contains_all(value):
            shown = f"has shape {np.shape(value)}" if np.ndim(value) else f"is {value:g}"
            unit = "" if quantity.unit == "1" else f" {quantity.unit}"
            remedy = f"{quantity.about}; allowed: {quantity.domain()}{unit}"
            problems.append(Problem(name, shown, remedy))
    wrong = {problem.where for problem in problems}
    pair = [None if name in wrong else values.get(name) for name in ("streams", "pipeline_depth")]
    streams, depth = pair
    if streams is not None and depth is not None and streams < depth:
        problems.append(
            Problem(
                "streams",
                f"is {streams:g}, fewer than pipeline_depth = {depth:g}",
                "give at least one stream for each pipeline stage, or a shallower pipeline",
            )
        )
    return problems


def refuse(source: str, problems: list[Problem]) -> None:
    """Raise InputError if there are problems."""
    if problems:
        raise InputError(source, problems)
