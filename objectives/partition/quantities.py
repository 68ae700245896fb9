"""What the numbers of :mod:`objectives.partition` mean: inputs, outputs and results.

Symbols and defaults are those of T. Kenter, M. Platzner, C. Plessl, M. Kauschke, "Performance
Estimation for the Exploration of CPU-Accelerator Architectures", 2010, section II-A and Table I.
"""

from __future__ import annotations

from typing import Annotated, NamedTuple, TypeAlias

from dse.model import Array, Floats, Quantity, Resource
from objectives.partition.workloads import Workloads

Profiles: TypeAlias = Annotated[
    Workloads,
    Resource(Workloads.load, "profile of a program, or a folder of them", Workloads.greatest),
]
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
CacheConfiguration: TypeAlias = Annotated[
    Floats,
    Quantity(
        "1",
        "simulated caches, by their place in the profile's settings",
        low=0,
        integer=True,
        typical=(0, 0),
    ),
]
SharedLevel: TypeAlias = Annotated[
    Floats,
    Quantity(
        "1",
        "first level that CPU and accelerator share: 1 and 2 are caches, 3 is main memory",
        low=1,
        high=3,
        integer=True,
    ),
]
AcceleratorCache: TypeAlias = Annotated[
    Floats,
    Quantity(
        "1",
        "1: the accelerator has private caches above the shared level; 0: it has none",
        low=0,
        high=1,
        integer=True,
    ),
]
SharedPenalty: TypeAlias = Annotated[
    Floats,
    Quantity(
        "cycle",
        "latency that sharing adds to a shared cache",
        low=0.0,
        better="lower",
        typical=(0.0, 3.0),
    ),
]
AcceleratorSize: TypeAlias = Annotated[
    Floats,
    Quantity(
        "instruction",
        "LLVM instructions that the accelerator holds",
        low=0.0,
        better="higher",
        typical=(8.0, 128.0),
    ),
]
AcceleratorEfficiency: TypeAlias = Annotated[
    Floats,
    Quantity(
        "cycle/instruction",
        "accelerator's time for an instruction on registers",
        "ε(ACC)",
        above=0.0,
        better="lower",
        typical=(0.1, 0.9),
    ),
]
InterfaceLatencyFactor: TypeAlias = Annotated[
    Floats,
    Quantity(
        "1",
        "factor on the three latencies between CPU and accelerator",
        low=0.0,
        better="lower",
        typical=(0.25, 4.0),
    ),
]
CpuEfficiency: TypeAlias = Annotated[
    Floats,
    Quantity(
        "cycle/instruction",
        "CPU's time for an instruction on registers",
        "ε(CPU)",
        above=0.0,
        typical=(0.5, 2.0),
    ),
]
ControlLatency: TypeAlias = Annotated[
    Floats,
    Quantity("cycle", "transfer of control to the other core", "λ_c", low=0.0, typical=(1, 8)),
]
RegisterPushLatency: TypeAlias = Annotated[
    Floats,
    Quantity(
        "cycle", "transfer of a value that its producer sends", "λ_r,push", low=0.0, typical=(0, 4)
    ),
]
RegisterPullLatency: TypeAlias = Annotated[
    Floats,
    Quantity(
        "cycle", "transfer of a value that its consumer asks", "λ_r,pull", low=0.0, typical=(0, 8)
    ),
]
Level1Latency: TypeAlias = Annotated[
    Floats, Quantity("cycle", "access that hits in L1", "λ_m(L1)", low=0.0, typical=(1, 5))
]
Level2Latency: TypeAlias = Annotated[
    Floats, Quantity("cycle", "access that hits in L2", "λ_m(L2)", low=0.0, typical=(8, 40))
]
MemoryLatency: TypeAlias = Annotated[
    Floats,
    Quantity("cycle", "access that goes to main memory", "λ_m(MEM)", low=0.0, typical=(80, 400)),
]

CpuTime = Annotated[Array, Quantity("cycle", "time of the program on the CPU alone", low=0.0)]
AcceleratedTime = Annotated[
    Array, Quantity("cycle", "time with the chosen blocks on the accelerator", "t", low=0.0)
]
ExecutionTime = Annotated[
    Array,
    Quantity("cycle", "instructions on registers", "t_e", low=0.0, part_of="accelerated_time"),
]
MemoryTime = Annotated[
    Array,
    Quantity(
        "cycle",
        "loads, stores, and data that the other core holds",
        "t_m",
        low=0.0,
        part_of="accelerated_time",
    ),
]
ControlTime = Annotated[
    Array,
    Quantity("cycle", "control passed between cores", "t_c", low=0.0, part_of="accelerated_time"),
]
RegisterTime = Annotated[
    Array,
    Quantity("cycle", "values passed between cores", "t_r", low=0.0, part_of="accelerated_time"),
]
Speedup = Annotated[
    Array, Quantity("1", "time on the CPU alone over time with the accelerator", low=0.0)
]
RelativeSpeedup = Annotated[
    Array, Quantity("1", "share of the theoretical gain that is reached; 0 where there is none")
]
TheoreticalSpeedup = Annotated[
    Array,
    Quantity("1", "speedup of everything on the accelerator, at no cost of interface", low=0.0),
]
AreaUsed = Annotated[
    Array, Quantity("instruction", "instructions of the blocks on the accelerator", low=0.0)
]
BlocksMoved = Annotated[Array, Quantity("1", "blocks on the accelerator", low=0.0)]
GreedySpeedup = Annotated[Array, Quantity("1", "speedup of the greedy partition", low=0.0)]
GreedyGap = Annotated[
    Array, Quantity("1", "time of the greedy partition over the optimum's, less 1", low=0.0)
]
OptimalityGap = Annotated[
    Array, Quantity("1", "share of the time not proven necessary; 0: proven optimal", low=0.0)
]


class Greedy(NamedTuple):
    """The outputs of :func:`objectives.partition.greedy`."""

    accelerated_time: AcceleratedTime
    execution_time: ExecutionTime
    memory_time: MemoryTime
    control_time: ControlTime
    register_time: RegisterTime
    cpu_time: CpuTime
    speedup: Speedup
    relative_speedup: RelativeSpeedup
    theoretical_speedup: TheoreticalSpeedup
    area_used: AreaUsed
    blocks_moved: BlocksMoved


class Optimal(NamedTuple):
    """The outputs of :func:`objectives.partition.optimal`."""

    accelerated_time: AcceleratedTime
    execution_time: ExecutionTime
    memory_time: MemoryTime
    control_time: ControlTime
    register_time: RegisterTime
    cpu_time: CpuTime
    speedup: Speedup
    relative_speedup: RelativeSpeedup
    theoretical_speedup: TheoreticalSpeedup
    area_used: AreaUsed
    blocks_moved: BlocksMoved
    greedy_speedup: GreedySpeedup
    greedy_gap: GreedyGap
    optimality_gap: OptimalityGap
