"""The quantities of the shared pipeline: what they mean, their units and their domains."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, TypeAlias, get_args

import numpy as np

from dse.model import Array, Floats, Quantity
from dse.problems import InputError, Problem

LONGEST_PERIOD = 65_536
"""Largest schedule period in the domain; the cost of the exact latency grows with the period."""

Streams: TypeAlias = Annotated[
    Floats,
    Quantity(
        "1",
        "streams that share the engine, at least one for each pipeline stage",
        "N",
        low=1,
        high=1_000_000,
        integer=True,
        typical=(16, 64),
    ),
]
PipelineDepth: TypeAlias = Annotated[
    Floats,
    Quantity(
        "1",
        "pipeline stages of the C-slowed engine, which are streams held at a time",
        "C",
        low=1,
        high=1_000_000,
        integer=True,
        typical=(1, 16),
    ),
]
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
    Quantity("1/s", "elements that arrive in one stream a second", "λ", low=0, typical=(1e3, 1e6)),
]
ClockPeriod: TypeAlias = Annotated[
    Floats,
    Quantity(
        "s", "clock period of the engine", "t_CLK", above=0, better="lower", typical=(1e-9, 1e-7)
    ),
]

ServiceRate: TypeAlias = Annotated[
    Array, Quantity("1/s", "service rate of a stream: its achievable throughput", "μ_s", low=0)
]
TotalThroughput: TypeAlias = Annotated[
    Array, Quantity("1/s", "achievable throughput of all streams together", "T_TOT", low=0)
]
Utilization: TypeAlias = Annotated[
    Array, Quantity("1", "arrival rate over service rate of a stream", "ρ", low=0)
]
QueueingTime: TypeAlias = Annotated[
    Array,
    Quantity(
        "s", "mean wait in the queue by the M/D/1 formula", "W_q", low=0, part_of="latency_printed"
    ),
]
SwappedOutTime: TypeAlias = Annotated[
    Array,
    Quantity(
        "s",
        "mean further wait while swapped out, as printed",
        "W_h",
        low=0,
        part_of="latency_printed",
    ),
]
PipelineTime: TypeAlias = Annotated[
    Array, Quantity("s", "time in the pipeline", "W_s", low=0, part_of="latency_printed")
]
LatencyPrinted: TypeAlias = Annotated[
    Array, Quantity("s", "mean latency by the printed approximation", "W", low=0)
]
QueueingOccupancy: TypeAlias = Annotated[
    Array, Quantity("1", "mean elements waiting by the M/D/1 formula", "N_q", low=0)
]
SwappedOutOccupancy: TypeAlias = Annotated[
    Array, Quantity("1", "mean further elements waiting while swapped out", "N_h", low=0)
]
Latency: TypeAlias = Annotated[
    Array, Quantity("s", "exact mean latency, from arrival to the end of the pipeline", "W", low=0)
]
LatencyError: TypeAlias = Annotated[
    Array, Quantity("s", "estimate of the rounding error of the exact mean latency", low=0)
]
BestSchedulePeriod: TypeAlias = Annotated[
    Array, Quantity("1", "schedule period of least exact mean latency", low=1, integer=True)
]
LeastLatency: TypeAlias = Annotated[
    Array, Quantity("s", "exact mean latency at the best schedule period", low=0)
]
SmallestStableSchedulePeriod: TypeAlias = Annotated[
    Array,
    Quantity("1", "smallest schedule period that keeps up with the arrivals", low=1, integer=True),
]

_DECLARED = {
    "streams": Streams,
    "pipeline_depth": PipelineDepth,
    "context_switch": ContextSwitch,
    "schedule_period": SchedulePeriod,
    "arrival_rate": ArrivalRate,
    "clock_period": ClockPeriod,
}


def problems_in(values: Mapping[str, float]) -> list[Problem]:
    """Return what is wrong with single numbers, by the names of the inputs; all at once.

    >>> problems_in({"schedule_period": 0})[0].message
    'is 0'
    """
    problems = []
    for name, value in values.items():
        quantity = next(note for note in get_args(_DECLARED[name]) if isinstance(note, Quantity))
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
    """Raise InputError where there are problems."""
    if problems:
        raise InputError(source, problems)
