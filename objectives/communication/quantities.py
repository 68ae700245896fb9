"""What the numbers of the communication models mean: inputs and results.

M. A. Kim, S. A. Edwards, "Computation vs. Memory Systems: Pinning Down Accelerator Bottlenecks",
2010. The paper adds counts of instructions and of bytes; it leaves open what a byte costs against
an instruction, so both costs are inputs here, 1 cycle each where a study says nothing.
"""

from __future__ import annotations

from typing import Annotated, NamedTuple

from dse.model import Array, Floats, Quantity, Resource
from objectives.communication.dataflow import Dataflows
from objectives.communication.readers import load_dataflows

Programs = Annotated[
    Dataflows,
    Resource(
        load_dataflows,
        "a program's profile, or a folder of such (docs/communication.md)",
        Dataflows.greatest,
    ),
]
Workload = Annotated[
    Floats,
    Quantity(
        "1",
        "which of the programs, by position in the folder",
        low=0,
        integer=True,
        typical=(0, 0),
    ),
]
Selection = Annotated[
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
ComputationFactor = Annotated[
    Floats,
    Quantity(
        "1",
        "speed of computation in an accelerator, over the host's",
        above=0,
        better="higher",
        typical=(1, 100),
    ),
]
CommunicationFactor = Annotated[
    Floats,
    Quantity(
        "1",
        "speed of an accelerator's own store, over the host's",
        above=0,
        better="higher",
        typical=(1, 100),
    ),
]
MediumFactor = Annotated[
    Floats,
    Quantity(
        "1", "how much faster the shared medium is", above=0, better="higher", typical=(0.1, 10)
    ),
]
SharedStore = Annotated[
    Floats,
    Quantity(
        "1",
        "1: the accelerators share one store; 0: each has its own",
        low=0,
        high=1,
        integer=True,
    ),
]
InstructionTime = Annotated[
    Floats,
    Quantity(
        "cycle/instruction",
        "host's time for an arithmetic or logical instruction",
        above=0,
        below=float("inf"),
        typical=(0.25, 2),
    ),
]
ByteTime = Annotated[
    Floats,
    Quantity(
        "cycle/B",
        "host's time to read a byte from its own store",
        low=0,
        below=float("inf"),
        typical=(0.1, 2),
    ),
]
InstructionArea = Annotated[
    Floats,
    Quantity(
        "LUT/instruction",
        "area of an instruction of the code at the host's speed",
        low=0,
        better="lower",
        typical=(1, 100),
    ),
]
StoreArea = Annotated[
    Floats,
    Quantity(
        "LUT",
        "area of a store at the speed of the host's",
        low=0,
        better="lower",
        typical=(100, 1e4),
    ),
]
InterfaceArea = Annotated[
    Floats,
    Quantity(
        "LUT",
        "area of the interface of one accelerator",
        low=0,
        better="lower",
        typical=(0, 2e4),
    ),
]

_Ratio = Annotated[Array, Quantity("1", "speedup of the whole program", "T0/T1", low=0)]
_HostTime = Annotated[Array, Quantity("cycle", "time on the host alone", "T0", low=0)]
_Accelerated = Annotated[Array, Quantity("cycle", "time with the accelerators", "T1", low=0)]
_MediumBytes = Annotated[Array, Quantity("B", "bytes over the shared medium", low=0)]
_StoreBytes = Annotated[Array, Quantity("B", "bytes in the accelerators' stores", low=0)]
_Accelerators = Annotated[Array, Quantity("1", "accelerators", low=0, integer=True)]


def _part(about: str) -> Quantity:
    return Quantity("cycle", about, low=0, part_of="accelerated_time")


_HostComputation = Annotated[Array, _part("computing on the host")]
_HostCommunication = Annotated[Array, _part("data in the host's store")]
_Computation = Annotated[Array, _part("computing in accelerators")]
_Local = Annotated[Array, _part("data in the accelerators' stores")]
_Global = Annotated[Array, _part("data on the shared medium")]
_Calls = Annotated[Array, _part("overhead and latency of the calls")]

_MemoryWall = Annotated[
    Array, Quantity("1", "speedup where accelerators compute in no time: memory wall", low=0)
]
_LocalLimit = Annotated[
    Array, Quantity("1", "speedup where accelerators' stores take no time", low=0)
]
_AcceleratorLimit = Annotated[
    Array,
    Quantity("1", "speedup where neither does: environment and interfaces remain", low=0),
]
_MediumLimit = Annotated[Array, Quantity("1", "speedup where the medium takes no time", low=0)]
_AmdahlLimit = Annotated[
    Array, Quantity("1", "speedup where only the rest of the program takes time: Amdahl", low=0)
]
_Area = Annotated[Array, Quantity("LUT", "area of the accelerators", low=0)]
_EngineArea = Annotated[Array, Quantity("LUT", "computation", low=0, part_of="area")]
_StoresArea = Annotated[Array, Quantity("LUT", "stores", low=0, part_of="area")]
_InterfacesArea = Annotated[Array, Quantity("LUT", "interfaces", low=0, part_of="area")]


class Acceleration(NamedTuple):
    """What `acceleration` gives."""

    speedup: _Ratio
    host_time: _HostTime
    accelerated_time: _Accelerated
    host_computation_time: _HostComputation
    host_communication_time: _HostCommunication
    computation_time: _Computation
    local_time: _Local
    global_time: _Global
    call_time: _Calls
    medium_bytes: _MediumBytes
    store_bytes: _StoreBytes
    accelerators: _Accelerators


class Ceilings(NamedTuple):
    """What `ceilings` gives."""

    memory_wall: _MemoryWall
    local_limit: _LocalLimit
    accelerator_limit: _AcceleratorLimit
    medium_limit: _MediumLimit
    amdahl_limit: _AmdahlLimit


class Areas(NamedTuple):
    """What `accelerator_area` gives."""

    area: _Area
    area_engine: _EngineArea
    area_store: _StoresArea
    area_interface: _InterfacesArea


class Offloading(NamedTuple):
    """What `offload_functions` gives."""

    speedup: _Ratio
    host_time: _HostTime
    accelerated_time: _Accelerated
    host_computation_time: _HostComputation
    host_communication_time: _HostCommunication
    computation_time: _Computation
    local_time: _Local
    global_time: _Global
    call_time: _Calls
    medium_bytes: _MediumBytes
    store_bytes: _StoreBytes
    accelerators: _Accelerators
    memory_wall: _MemoryWall
    local_limit: _LocalLimit
    accelerator_limit: _AcceleratorLimit
    medium_limit: _MediumLimit
    amdahl_limit: _AmdahlLimit
    area: _Area
    area_engine: _EngineArea
    area_store: _StoresArea
    area_interface: _InterfacesArea
