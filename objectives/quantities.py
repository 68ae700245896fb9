"""Quantities that several packages of models take or give, each declared once.

An alias is an input of a model. An output of the same meaning is annotated with the declaration
itself: ``Annotated[Array, LANES]``.
"""

from __future__ import annotations

from typing import Annotated, TypeAlias

from dse.model import Floats, Quantity

# ------------------------------------------------------------------------- the offload of a kernel

Overhead: TypeAlias = Annotated[
    Floats,
    Quantity("cycle", "host's set-up of a call", "o", low=0.0, better="lower", typical=(10.0, 1e6)),
]
Latency: TypeAlias = Annotated[
    Floats,
    Quantity(
        "cycle",
        "interface latency of a call, whatever its size",
        "L",
        low=0.0,
        better="lower",
        typical=(0.0, 5000.0),
    ),
]
LatencyPerByte: TypeAlias = Annotated[
    Floats,
    Quantity(
        "cycle/B",
        "interface latency for each byte",
        "l",
        low=0.0,
        better="lower",
        typical=(0.0, 16.0),
    ),
]
Acceleration: TypeAlias = Annotated[
    Floats,
    Quantity(
        "1", "peak speedup of the accelerator", "A", above=0.0, better="higher", typical=(2.0, 64.0)
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
LANES = Quantity("1", "copies of the pipeline", low=1, integer=True, typical=(1, 16))
Lanes: TypeAlias = Annotated[Floats, LANES]
ENGINES = Quantity("1", "engines on the chip", low=1, integer=True, typical=(1, 16))
Engines: TypeAlias = Annotated[Floats, ENGINES]

# -------------------------------------------------------------------------------------------- area

AREA = Quantity("LUT", "area of the accelerators", low=0)
AREA_INTERFACE = Quantity("LUT", "interfaces", low=0, part_of="area")
InterfaceArea: TypeAlias = Annotated[
    Floats,
    Quantity("LUT", "area of an interface", low=0, better="lower", typical=(0, 2e4)),
]

MemoryAreaPerBit: TypeAlias = Annotated[
    Floats,
    Quantity("LUT/bit", "area of a bit of memory", low=0, better="lower", typical=(0.01, 0.1)),
]

# ------------------------------------------------------------------------------------ the programs

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
