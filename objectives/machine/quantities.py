"""Quantities that one model of a machine gives and another takes."""

from __future__ import annotations

from typing import Annotated, NamedTuple, TypeAlias

from dse.model import Floats, Quantity

ENGINE_AREA = Quantity(
    "LUT", "area of all lanes without pipelining", low=0, better="lower", typical=(1e3, 1e6)
)
REGISTER_AREA = Quantity(
    "LUT", "area that pipelining adds", low=0, better="lower", typical=(0, 1e6)
)
BUFFER_BITS = Quantity("bit", "data of calls in flight", low=0, better="lower", typical=(0, 1e6))

# ------------------------------------------------------------------- times of a call, on the host

SET_UP_TIME = Quantity("cycle", "set-up of a call on the host", low=0, typical=(10, 1e4))
LINK_TIME = Quantity("cycle", "time that a call occupies the link", low=0, typical=(0, 1e4))
LINK_WAIT_TIME = Quantity(
    "cycle",
    "mean wait of a call for the link",
    low=0,
    typical=(0, 1e3),
    label="queueing delay at the link",
)
LINK_INTERVAL = Quantity(
    "cycle",
    "time from call to call that the link leaves to a stream that always has one waiting",
    low=0,
    typical=(0, 1e4),
)
TURNAROUND_TIME = Quantity(
    "cycle",
    "time of a call without its time at the engine",
    "Z",
    low=0,
    typical=(100, 1e5),
)
TRAVEL_TIME = Quantity(
    "cycle",
    "time of a call on the link and on its way to the engine and back, without waiting",
    low=0,
    typical=(100, 1e5),
    label="propagation latency",
)
CALL_INTERVAL = Quantity(
    "cycle",
    "mean time from end to end of calls of a stream that always has a request waiting",
    "T1",
    low=0,
    typical=(100, 1e5),
    label="cycle time of calls",
)

SetUpTime: TypeAlias = Annotated[Floats, SET_UP_TIME]
LinkTime: TypeAlias = Annotated[Floats, LINK_TIME]
LinkWaitTime: TypeAlias = Annotated[Floats, LINK_WAIT_TIME]
LinkInterval: TypeAlias = Annotated[Floats, LINK_INTERVAL]

# ------------------------------------------------------- what the engine takes, in the host's time

CallRate: TypeAlias = Annotated[
    Floats,
    Quantity("call/cycle", "calls of one stream a cycle", "Λ", low=0, typical=(1e-7, 1e-5)),
]
EngineInterval: TypeAlias = Annotated[
    Floats,
    Quantity(
        "cycle",
        "time from call to call at the engine of a stream that always has one waiting",
        low=0,
        better="lower",
        typical=(10, 1e5),
    ),
]
StreamInterval: TypeAlias = Annotated[
    Floats,
    Quantity(
        "cycle",
        "mean time from call to call of a stream with q calls in flight",
        low=0,
        better="lower",
        typical=(100, 1e5),
    ),
]
EngineTimeAlone: TypeAlias = Annotated[
    Floats,
    Quantity(
        "cycle",
        "mean time at the engine of a call that finds no earlier one",
        low=0,
        better="lower",
        typical=(10, 1e5),
    ),
]
EngineTime: TypeAlias = Annotated[
    Floats,
    Quantity(
        "cycle",
        "mean time of a call at the engine under load",
        low=0,
        better="lower",
        typical=(10, 1e5),
    ),
]

# ----------------------------------------------------------------- an engine as it was once built

EngineClock: TypeAlias = Annotated[
    Floats, Quantity("Hz", "clock of the engine", above=0, better="higher", typical=(5e7, 5e8))
]
ClocksPerElement: TypeAlias = Annotated[
    Floats,
    Quantity(
        "1",
        "clocks of the engine from one element of a call to the next",
        above=0,
        better="lower",
        typical=(1, 100),
    ),
]


class BuiltEngine(NamedTuple):
    """The clock of a built engine, and its clocks from one element of a call to the next."""

    engine_clock: EngineClock
    clocks_per_element: ClocksPerElement


def _count(about: str, unit: str = "1") -> Quantity:
    return Quantity(unit, about, low=0, better="lower")


class NativeResources(NamedTuple):
    """The resources of a built engine in the units of its device.

    None of them converts to another. A study that compares devices gives its own factors.
    """

    area_alm: Annotated[Floats, _count("area in Intel's adaptive logic modules", "ALM")]
    area_lut4: Annotated[Floats, _count("area in 4-input LUTs", "LUT4")]
    logic_elements: Annotated[Floats, _count("4-input LUTs with a flip-flop, of Intel's Cyclone")]
    slices: Annotated[Floats, _count("occupied slices of Xilinx' devices", "slice")]
    area_gates: Annotated[Floats, _count("area in gates of an ASIC", "GE")]
    area_silicon: Annotated[Floats, _count("area of silicon", "m**2")]
    process_node: Annotated[Floats, Quantity("m", "node of the silicon process", above=0)]
    flip_flops: Annotated[Floats, _count("flip-flops", "FF")]
    block_rams: Annotated[Floats, _count("block RAMs, in the device's own size")]
    ultra_rams: Annotated[Floats, _count("UltraRAM blocks of 288 Kibit")]
    dsp_blocks: Annotated[Floats, _count("multiplier blocks, of the device's own kind")]
    printed_data_rate: Annotated[
        Floats, Quantity("B/s", "data rate in bulk that the source prints", above=0)
    ]
