"""The quantities of the communication models, and records of them.

M. A. Kim, S. A. Edwards, "Computation vs. Memory Systems: Pinning Down Accelerator Bottlenecks",
2010. The paper adds counts of instructions and of bytes; it leaves open what a byte costs against
an instruction, so both costs are inputs here, 1 cycle each if a study says nothing.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, TypeAlias

from dse.model import Floats, Quantity, Resource
from objectives.communication.dataflow import Dataflows
from objectives.communication.readers import load_dataflows
from objectives.quantities import (
    InterfaceArea,
    Latency,
    LatencyPerByte,
    MemoryAreaPerBit,
    Overhead,
    declare_cost,
    declare_flag,
)

Programs: TypeAlias = Annotated[
    Dataflows,
    Resource(
        load_dataflows,
        "a program's profile, or a folder of profiles (docs/explanation/communication.md)",
        Dataflows.greatest,
        Dataflows.parts,
        Dataflows.without,
        Dataflows.including,
        lambda programs: programs.kept(),
        Dataflows.unknown,
        lambda programs: {"workload": [p.program for p in programs.programs]},
    ),
]
Selection: TypeAlias = Annotated[
    Floats,
    Quantity(
        "1",
        "accelerated functions: the sum of 2^k over chosen candidates k",
        low=0,
        high=2**20 - 1,
        integer=True,
        typical=(0, 3),
    ),
]


def _factor(about: str, typical: tuple[float, float]) -> Quantity:
    return Quantity("1", about, above=0, better="higher", typical=typical)


ComputationFactor: TypeAlias = Annotated[
    Floats, _factor("speed of computation in an accelerator, over the host's", (1, 100))
]
CommunicationFactor: TypeAlias = Annotated[
    Floats, _factor("speed of an accelerator's own store, over the host's", (1, 100))
]
MediumFactor: TypeAlias = Annotated[
    Floats, _factor("how much faster the shared medium is", (0.1, 10))
]
SharedStore: TypeAlias = Annotated[
    Floats, declare_flag("1: the accelerators share one store; 0: each has its own")
]
KeepsData: TypeAlias = Annotated[
    Floats, declare_flag("1: an accelerator keeps data from call to call; 0: each call fetches it")
]
InstructionTime: TypeAlias = Annotated[
    Floats,
    Quantity(
        "cycle/instruction",
        "host's time for an arithmetic or logical instruction",
        above=0,
        below=float("inf"),
        typical=(0.25, 2),
    ),
]
ByteTime: TypeAlias = Annotated[
    Floats,
    Quantity(
        "cycle/B",
        "host's time to read a byte from its own store",
        low=0,
        below=float("inf"),
        typical=(0.1, 2),
    ),
]
InstructionArea: TypeAlias = Annotated[
    Floats,
    declare_cost(
        "LUT/instruction", "area of an instruction of the code at the host's speed", (1, 100)
    ),
]
BankArea: TypeAlias = Annotated[
    Floats,
    declare_cost("LUT", "area of the ports of a store at the speed of the host's", (100, 1e4)),
]


@dataclass(frozen=True)
class Accelerators:
    """The speed of accelerators over the host's, and the kind of their stores."""

    computation_factor: ComputationFactor
    communication_factor: CommunicationFactor = 1.0
    shared_store: SharedStore = 0.0
    keeps_data: KeepsData = 1.0


@dataclass(frozen=True)
class Costs:
    """The costs of instructions, bytes and calls; the paper has no cost of a call."""

    medium_factor: MediumFactor = 1.0
    instruction_time: InstructionTime = 1.0
    byte_time: ByteTime = 1.0
    overhead: Overhead = 0.0
    latency: Latency = 0.0
    latency_per_byte: LatencyPerByte = 1.0


@dataclass(frozen=True)
class StoreCosts:
    """The area of local memory."""

    memory_area_per_bit: MemoryAreaPerBit = 0.0
    bank_area: BankArea = 0.0


@dataclass(frozen=True)
class AreaCosts:
    """The areas of instructions of the code, stores and interfaces."""

    instruction_area: InstructionArea
    memory_area_per_bit: MemoryAreaPerBit = 0.0
    bank_area: BankArea = 0.0
    interface_area: InterfaceArea = 0.0
