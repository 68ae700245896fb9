"""Programs to partition: the graphs of one profile, or of a folder of them."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, NamedTuple, Self, TypeAlias

from dse.model import Floats, Quantity, Resource
from dse.problems import InputError, Problem
from dse.profile.document import Profile
from objectives.partition.graph import COSTED, Graph, make_graph
from objectives.programs import Program, load_programs
from objectives.quantities import declare_cost, declare_flag


@dataclass(frozen=True, eq=False)
class Workloads:
    """Programs, in order of file name."""

    graphs: tuple[tuple[Graph, ...], ...]
    """For each program one graph per cache configuration."""
    partial: tuple[str, ...] = ()
    """Sentences on the parts of programs that profiles do not contain."""

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the programs: their file names without ``.profile.json``."""
        return tuple(each[0].program for each in self.graphs)

    def greatest(self) -> dict[str, tuple[float, str]]:
        """Return the largest `workload` and `cache_configuration`, and their options."""
        programs = ", ".join(f"{i} {name}" for i, name in enumerate(self.names))
        caches = max(len(each) for each in self.graphs)
        return {
            "workload": (len(self.graphs) - 1, f"the programs: {programs}"),
            "cache_configuration": (
                caches - 1,
                f"cache configurations that were profiled: {caches}, counted from 0",
            ),
        }

    @classmethod
    def load(cls, path: str | Path) -> Self:
        """Read a profile, or every ``*.json`` of a folder; InputError has every problem of all.

        OSError if it cannot be read, or there is nothing at the path.
        """
        programs = load_programs(path, lambda *given: (_graphs(*given), _partial(*given)), "*.json")
        graphs, partial = zip(*programs, strict=True)
        return cls(graphs, tuple(filter(None, partial)))


def _graphs(program: Program, name: str) -> tuple[Graph, ...]:
    """Return the graph of a program in each of its profile's cache configurations."""
    if not isinstance(program, Profile):
        message = "does not contain the program's basic blocks"
        raise InputError(name, [Problem("", message, "give a profile of `dse profile`")])
    if not program.settings.caches:
        remedy = "profile the program again, without --no-cache"
        raise InputError(name, [Problem("", "the profile has no caches", remedy)])
    return tuple(make_graph(program, name, cache) for cache in range(len(program.settings.caches)))


def _partial(program: Program, name: str) -> str:
    threads = program.threads if isinstance(program, Profile) else None
    return f"{name}: {threads.limitation}." if threads else ""


# --------------------------------------------------------------------------------------- quantities

Profiles: TypeAlias = Annotated[
    Workloads,
    Resource(
        Workloads.load,
        "profile of a program, or a folder of them",
        Workloads.greatest,
        unknown=lambda workloads: workloads.partial,
        names=lambda workloads: {"workload": workloads.names},
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

_CPU, _ACC = "CPU's", "accelerator's"
_FLOAT = "a sum, difference or product in floating point"
_FLOAT_DIVIDE = "a quotient, root or function in floating point"


def _cost(core: str, instructions: str) -> Quantity:
    about = f"{core} time for {instructions}, in other instructions on registers"
    return Quantity("1", about, low=0.0, high=1e6, better="lower", typical=(1.0, 32.0))


def _time(about: str, symbol: str, typical: tuple[float, float]) -> Quantity:
    return Quantity("cycle", about, symbol, low=0.0, typical=typical)


class Architecture(NamedTuple):
    """CPU, accelerator, interface and memory: numbers, or arrays that broadcast.

    Defaults are from Table I, and from section III for the classes of instructions: all take the
    same time except casts, which are wires on the accelerator.
    """

    shared_level: Annotated[
        Floats,
        Quantity(
            "1",
            "first level that CPU and accelerator share: 1 and 2 are caches, 3 is main memory",
            low=1,
            high=3,
            integer=True,
        ),
    ] = 2.0
    accelerator_cache: Annotated[
        Floats,
        declare_flag(
            "1: the accelerator has private caches above the shared level; 0: it has none"
        ),
    ] = 1.0
    shared_penalty: Annotated[
        Floats, declare_cost("cycle", "latency that sharing adds to a shared cache", (0.0, 3.0))
    ] = 0.0
    accelerator_instruction_time: Annotated[
        Floats,
        Quantity(
            "cycle/instruction",
            "accelerator's time for an instruction on registers",
            "ε(ACC)",
            above=0.0,
            better="lower",
            typical=(0.1, 0.9),
        ),
    ] = 0.5
    interface_latency_factor: Annotated[
        Floats,
        declare_cost("1", "factor on the three latencies between CPU and accelerator", (0.25, 4.0)),
    ] = 1.0
    cpu_instruction_time: Annotated[
        Floats,
        Quantity(
            "cycle/instruction",
            "CPU's time for an instruction on registers",
            "ε(CPU)",
            above=0.0,
            typical=(0.5, 2.0),
        ),
    ] = 1.0
    control_latency: Annotated[
        Floats, _time("transfer of control to the other core", "λ_c", (1, 8))
    ] = 2.0
    register_push_latency: Annotated[
        Floats, _time("transfer of a value that its producer sends", "λ_r,push", (0, 4))
    ] = 1.0
    register_pull_latency: Annotated[
        Floats, _time("transfer of a value that its consumer asks", "λ_r,pull", (0, 8))
    ] = 3.0
    level1_latency: Annotated[Floats, _time("access that hits in L1", "λ_m(L1)", (1, 5))] = 3.0
    level2_latency: Annotated[Floats, _time("access that hits in L2", "λ_m(L2)", (8, 40))] = 15.0
    memory_latency: Annotated[
        Floats, _time("access that goes to main memory", "λ_m(MEM)", (80, 400))
    ] = 200.0
    cpu_logical_cost: Annotated[Floats, _cost(_CPU, "a logical operation or shift")] = 1.0
    cpu_multiply_cost: Annotated[Floats, _cost(_CPU, "a product of integers")] = 1.0
    cpu_divide_cost: Annotated[Floats, _cost(_CPU, "a quotient or remainder of integers")] = 1.0
    cpu_float_cost: Annotated[Floats, _cost(_CPU, _FLOAT)] = 1.0
    cpu_float_divide_cost: Annotated[Floats, _cost(_CPU, _FLOAT_DIVIDE)] = 1.0
    cpu_cast_cost: Annotated[Floats, _cost(_CPU, "a cast")] = 1.0
    accelerator_logical_cost: Annotated[Floats, _cost(_ACC, "a logical operation or shift")] = 1.0
    accelerator_multiply_cost: Annotated[Floats, _cost(_ACC, "a product of integers")] = 1.0
    accelerator_divide_cost: Annotated[
        Floats, _cost(_ACC, "a quotient or remainder of integers")
    ] = 1.0
    accelerator_float_cost: Annotated[Floats, _cost(_ACC, _FLOAT)] = 1.0
    accelerator_float_divide_cost: Annotated[Floats, _cost(_ACC, _FLOAT_DIVIDE)] = 1.0
    accelerator_cast_cost: Annotated[Floats, _cost(_ACC, "a cast")] = 0.0

    @property
    def cpu_costs(self) -> tuple[Floats, ...]:
        """Factors of `cpu_instruction_time`: of instructions without a class, then of COSTED."""
        return (1.0, *(getattr(self, f"cpu_{name}_cost") for name in COSTED))

    @property
    def accelerator_costs(self) -> tuple[Floats, ...]:
        """The same factors of `accelerator_instruction_time`."""
        return (1.0, *(getattr(self, f"accelerator_{name}_cost") for name in COSTED))

    @property
    def effective(self) -> Architecture:
        """The same for architectures of numbers that only differ in what has no effect."""
        numbers = Architecture(*map(float, self))
        main_memory = numbers.shared_level == 3  # which is not a cache: no penalty
        return numbers._replace(shared_penalty=0.0) if main_memory else numbers
