"""Quantities that several packages of models take or give, each declared once.

An alias is an input of a model. An output of the same meaning is annotated with the declaration
itself: ``Annotated[Array, LANES]``.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, NamedTuple, TypeAlias

import numpy as np

from dse.model import Floats, Quantity
from dse.model.section import Study, StudyResult
from dse.problems import Problem

ROUNDING = 1e-12
"""Fraction by which a quotient may be above k and still count as k, for rounding's sake."""


def check_domains(values: Mapping[str, Any], declared: Mapping[str, object]) -> list[Problem]:
    """Return a problem for each value outside the domain of its quantity.

    >>> latency = Quantity("cycle", "latency", low=0)
    >>> check_domains({"latency": -1.0}, {"latency": latency})[0].message
    'is -1.0'
    """
    problems = []
    for name, value in values.items():
        quantity = declared.get(name)
        if isinstance(quantity, Quantity) and not quantity.contains_all(value):
            unit = "" if quantity.unit == "1" else f" {quantity.unit}"
            allowed = f"{quantity.about}: {quantity.domain()}{unit}"
            problems.append(Problem(name, f"is {value!r}", allowed))
    return problems


def declare_flag(about: str) -> Quantity:
    """Return the declaration of a number that is 0 or 1."""
    return Quantity("1", about, low=0, high=1, integer=True)


def declare_cost(unit: str, about: str, typical: tuple[float, float], symbol: str = "") -> Quantity:
    """Return the declaration of an input of at least 0, of which less is better."""
    return Quantity(unit, about, symbol, low=0, better="lower", typical=typical)


def declare_speedup(
    about: str,
    time: str = "accelerated_time",
    symbol: str = "T0/T1",
    reference: tuple[str, ...] = (),
) -> Quantity:
    """Return the declaration of a speedup whose denominator is the output `time`."""
    return Quantity("1", about, symbol, low=0, over=time, reference=reference, worth=1.0)


CALL_TIME = Quantity(
    "s",
    "mean time from the arrival of a request to the end of its call, under load",
    low=0,
    better="lower",
    label="call response time",
)


def declare_part(unit: str, whole: str, about: str, symbol: str = "") -> Quantity:
    """Return the declaration of an additive part of the output `whole`."""
    return Quantity(unit, about, symbol, low=0, part_of=whole)


# ------------------------------------------------------------------------- the offload of a kernel

Granularity: TypeAlias = Annotated[
    Floats, Quantity("B", "data offloaded per call", "g", above=0.0, typical=(16.0, 2.0**25))
]
ComputationalIndex: TypeAlias = Annotated[
    Floats,
    Quantity(
        "cycle/B",
        "host's work for each byte, to the power of the complexity",
        "C",
        above=0.0,
        better="higher",
        typical=(1.0, 1e4),
    ),
]
Complexity: TypeAlias = Annotated[
    Floats,
    Quantity(
        "1",
        "exponent of the kernel's work",
        "β",
        above=0.0,
        high=3.0,
        typical=(0.5, 2.0),
        exponent=True,
    ),
]


class Kernel(NamedTuple):
    """The work on the host: C g**β cycles for g bytes."""

    computational_index: ComputationalIndex
    complexity: Complexity = 1.0


Overhead: TypeAlias = Annotated[
    Floats, declare_cost("cycle", "host's set-up of a call", (10.0, 1e6), "o")
]
Latency: TypeAlias = Annotated[
    Floats,
    declare_cost("cycle", "interface latency of a call, whatever its size", (0.0, 5000.0), "L"),
]
LatencyPerByte: TypeAlias = Annotated[
    Floats, declare_cost("cycle/B", "interface latency for each byte", (0.0, 16.0), "l")
]
Acceleration: TypeAlias = Annotated[
    Floats,
    Quantity(
        "1", "peak speedup of the accelerator", "A", above=0.0, better="higher", typical=(2.0, 64.0)
    ),
]

# --------------------------------------------------------------------------------------- the calls

STREAM_DATA_RATE = Quantity(
    "B/s", "data that one stream asks to have processed a second", above=0, typical=(1e5, 1e8)
)
CALL_RATE = Quantity("call/s", "calls of one stream a second", "Λ", low=0, typical=(1e2, 1e5))
CallRate: TypeAlias = Annotated[Floats, CALL_RATE]
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
TotalStreams: TypeAlias = Annotated[
    Floats, Quantity("1", "streams on the chip", low=1, integer=True, typical=(1, 256))
]
CallsInFlight: TypeAlias = Annotated[
    Floats,
    Quantity(
        "1",
        "calls of a stream that may be in flight",
        "q",
        low=1,
        high=1_024,  # they are followed one by one; the rings of known devices hold no more
        integer=True,
        better="higher",
        typical=(1, 4),
    ),
]
ElementBytes: TypeAlias = Annotated[
    Floats,
    Quantity("B/element", "data that a lane takes in a clock", above=0, typical=(4, 128)),
]
Passes: TypeAlias = Annotated[
    Floats,
    Quantity(
        "1",
        "times that an element goes through the pipeline",
        "k",
        low=1,
        integer=True,
        better="lower",
        typical=(1, 8),
    ),
]

# -------------------------------------------------------------------------------------- the engine

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
CLOCK_PERIOD = Quantity(
    "s", "clock period of the engine", "t_CLK", above=0, better="lower", typical=(1e-9, 1e-7)
)
ClockPeriod: TypeAlias = Annotated[Floats, CLOCK_PERIOD]
ClockCycles: TypeAlias = Annotated[
    Floats,
    Quantity("cycle", "clock period of the engine", above=0, better="lower", typical=(1, 100)),
]
LANES = Quantity("1", "copies of the pipeline", low=1, integer=True, typical=(1, 16))
Lanes: TypeAlias = Annotated[Floats, LANES]
ENGINES = Quantity("1", "engines on the chip", low=1, integer=True, typical=(1, 16))
Engines: TypeAlias = Annotated[Floats, ENGINES]

# ------------------------------------------------------------------------------------- an interface

SharedLink = Annotated[
    Floats,
    Quantity(
        "1",
        "1: one link carries the calls of all streams of the chip; 0: each engine has its own",
        low=0,
        high=1,
        integer=True,
        better="lower",
        typical=(0, 1),
    ),
]
LinkTimePerByte = Annotated[
    Floats, declare_cost("cycle/B", "time that each byte occupies the link", (0.01, 2), "l")
]


class SetUp(NamedTuple):
    """What keeps a thread of the host busy before a call is on its way."""

    interface_overhead: Annotated[
        Floats, declare_cost("cycle", "set-up of a call on the host", (10, 1e4), "o")
    ]
    interface_overhead_per_byte: Annotated[
        Floats, declare_cost("cycle/B", "the host's own moving of each byte", (0, 2), "h")
    ]


InterfaceLatency = Annotated[
    Floats,
    declare_cost(
        "cycle", "travel to the engine and back, during which the link is free", (1, 1e4), "L"
    ),
]

# -------------------------------------------------------------------------------------------- area

AREA = Quantity("LUT", "area of the accelerators", low=0, worth=0.0)
AREA_INTERFACE = declare_part("LUT", "area", "interfaces")
InterfaceArea: TypeAlias = Annotated[Floats, declare_cost("LUT", "area of an interface", (0, 2e4))]

MemoryAreaPerBit: TypeAlias = Annotated[
    Floats, declare_cost("LUT/bit", "area of a bit of memory", (0.01, 0.1))
]

# ------------------------------------------------------------------------------------ the programs


def list_workloads(study: Study, result: StudyResult) -> list[int]:
    """Return the programs that the study's designs are of, in order; the first if it names none."""
    if "workload" in result.designs:
        return sorted({int(w) for w in result.designs["workload"]})
    if "workload" in study.constants:
        return [int(study.constants["workload"])]
    bound = [np.atleast_1d(each.get("workload", ())) for each in study.conditions]
    return sorted({int(w) for w in np.concatenate([*bound, ()])}) or [0]


Workload: TypeAlias = Annotated[
    Floats,
    Quantity(
        "1",
        "program, by its place among the profiles in order of file name",
        low=0,
        integer=True,
        typical=(0, 0),
    ),
]
