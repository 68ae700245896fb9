"""The models: the paper's greedy partition of a program, and the best one."""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, fields
from typing import Annotated, TypeVar

import numpy as np

from dse.model import Array, Floats, Quantity, model, monotonic
from objectives.partition.estimate import cpu_time, estimate, theoretical_time
from objectives.partition.graph import COSTED, Graph
from objectives.partition.quantities import (
    AcceleratorSize,
    Architecture,
    CacheConfiguration,
    Profiles,
    Workloads,
)
from objectives.partition.solve import REMEMBERED, Partition, solve_best, solve_greedy
from objectives.quantities import Workload, declare_part, declare_speedup

_REPORTED_ROUNDING = 1e-6  # of the time: larger rounding errors are reported
_NOT_OF_THE_CPU = (
    " =accelerator_size =shared_level =accelerator_cache =shared_penalty =interface_latency_factor"
    " =control_latency =register_push_latency =register_pull_latency"
)
_ON_CPU, _ON_ACCELERATOR = (
    [f"{core}_instruction_time", *(f"{core}_{name}_cost" for name in COSTED)]
    for core in ("cpu", "accelerator")
)


def _all(sign: str, names: list[str]) -> str:
    return "".join(f" {sign}{name}" for name in names)


_MOVES = {
    "cpu_time": _all("+", _ON_CPU)
    + _all("=", _ON_ACCELERATOR)
    + " +level1_latency +level2_latency +memory_latency"
    + _NOT_OF_THE_CPU,
    "theoretical_speedup": _all("+", _ON_CPU) + _all("-", _ON_ACCELERATOR) + _NOT_OF_THE_CPU,
}
"""A count per cost. Results of a partition are not here: the greedy partition jumps, and the search
for the best partition may stop before it is proven."""


_part = functools.partial(declare_part, "cycle", "accelerated_time")


@dataclass(frozen=True, eq=False)
class Greedy:
    """The outputs of :func:`objectives.partition.greedy`."""

    accelerated_time: Annotated[
        Array,
        Quantity(
            "cycle",
            "time with the chosen blocks on the accelerator",
            "t",
            low=0.0,
            without="cpu_time",
            label="execution time with the accelerator",
        ),
    ]
    execution_time: Annotated[Array, _part("instructions on registers", "t_e")]
    memory_time: Annotated[Array, _part("loads, stores, and data that the other core holds", "t_m")]
    control_time: Annotated[Array, _part("control passed between cores", "t_c")]
    register_time: Annotated[Array, _part("values passed between cores", "t_r")]
    library_time: Annotated[Array, _part("libraries, which stay on the CPU", "t_l")]
    cpu_time: Annotated[Array, Quantity("cycle", "time of the program on the CPU only", low=0.0)]
    speedup: Annotated[
        Array,
        declare_speedup(
            "time on the CPU only over time with the accelerator",
            symbol="",
            reference=("cpu_time",),
        ),
    ]
    relative_speedup: Annotated[
        Array, Quantity("1", "share of the theoretical gain that is reached; 0 if there is none")
    ]
    theoretical_speedup: Annotated[
        Array,
        Quantity("1", "speedup of everything on the accelerator, at no cost of interface", low=0.0),
    ]
    size_used: Annotated[
        Array,
        Quantity(
            "instruction", "instructions of the blocks on the accelerator", low=0.0, worth=0.0
        ),
    ]
    blocks_moved: Annotated[Array, Quantity("1", "blocks on the accelerator", low=0.0)]


@dataclass(frozen=True, eq=False)
class Optimal(Greedy):
    """The outputs of :func:`objectives.partition.optimal`."""

    greedy_speedup: Annotated[Array, Quantity("1", "speedup of the greedy partition", low=0.0)]
    greedy_gap: Annotated[
        Array, Quantity("1", "time of the greedy partition over the optimum's, less 1", low=0.0)
    ]
    optimality_gap: Annotated[
        Array, Quantity("1", "share of the time not proven necessary; 0: proven optimal", low=0.0)
    ]


@model
@monotonic(**_MOVES)
def greedy(
    profiles: Profiles,
    workload: Workload,
    architecture: Architecture,
    accelerator_size: AcceleratorSize = 128.0,
    cache_configuration: CacheConfiguration = 0.0,
) -> Greedy:
    """Time and speedup of the paper's greedy partition; inputs and outputs as of :func:`optimal`.

    Blocks are moved one by one, by time saved for each instruction, as long as they fit and save
    time. It fails if blocks only pay together.
    """
    inputs = (workload, cache_configuration, accelerator_size, *architecture)
    return _each_design(Greedy, _greedy_row, profiles, inputs)


@model
@monotonic(**_MOVES)
def optimal(
    profiles: Profiles,
    workload: Workload,
    architecture: Architecture,
    accelerator_size: AcceleratorSize = 128.0,
    cache_configuration: CacheConfiguration = 0.0,
) -> Optimal:
    """Time and speedup of the best partition of a program between CPU and accelerator.

    The estimate follows Kenter et al. 2010, section II-A; defaults are their Table I. The memory
    organisations are entries of the catalog ``memory_organisations``: SL1, SL2+, SL2-, SMM+, SMM-.
    Speedups are ratios of times; the paper's percentages are these less 1. The CPU without
    accelerator, to which times are compared, has its own caches without penalty. A speedup below 1
    therefore means that sharing costs more than the accelerator gains.

    Equal designs are solved once. Each design is proven optimal, to a millionth of its time, or
    `optimality_gap` is above 0. Outputs are NaN if there is no such workload or cache
    configuration, and if the latencies of the memory levels do not ascend.
    """
    inputs = (workload, cache_configuration, accelerator_size, *architecture)
    return _each_design(Optimal, _optimal_row, profiles, inputs)


Row = Callable[[Graph, Architecture, float], tuple[float, ...]]
G = TypeVar("G", bound=Greedy)


def _each_design(kind: type[G], row: Row, profiles: Workloads, inputs: Sequence[Floats]) -> G:
    """Return the outputs; each distinct design is worked out once.

    Inputs are workload, cache configuration, size, and the fields of an architecture.
    """
    columns = np.broadcast_arrays(*(np.asarray(v, dtype=np.float64) for v in inputs))
    designs = np.stack([column.ravel() for column in columns], axis=1)
    distinct, position = np.unique(designs, axis=0, return_inverse=True)
    found: Array = np.full((len(distinct), len(fields(kind))), np.nan)
    for i, (workload, cache, size, *rest) in enumerate(distinct.tolist()):
        program, architecture = _graph(profiles, workload, cache), Architecture(*rest)
        if program is not None and _sensible(architecture, size):
            found[i] = row(program, architecture.effective, size)
    rows = found[position.reshape(columns[0].shape)]
    return kind(*(rows[..., k][()] for k in range(rows.shape[-1])))


def make_architecture(values: Mapping[str, float]) -> Architecture:
    """Return the architecture of a design given by quantity names; Table I if one is absent."""
    return Architecture(**{name: values[name] for name in Architecture._fields if name in values})


def _graph(profiles: Workloads, workload: float, cache: float) -> Graph | None:
    """Return the graph that a design names, None if there is none."""
    if 0 <= workload < len(profiles.graphs) and 0 <= cache < len(profiles.graphs[int(workload)]):
        return profiles.graphs[int(workload)][int(cache)]
    return None


def _sensible(architecture: Architecture, size: float) -> bool:
    """Return whether times are finite, the shared level exists, and the memory levels ascend."""
    a = architecture
    levels = [float(x) for x in (a.level1_latency, a.level2_latency, a.memory_latency)]
    inside = all(0 <= float(value) < 1e12 for value in a) and a.shared_level in (1, 2, 3)
    return size >= 0 and inside and levels == sorted(levels)


@functools.lru_cache(REMEMBERED)
def _greedy_row(program: Graph, architecture: Architecture, size: float) -> tuple[float, ...]:
    return _figures(program, architecture, solve_greedy(program, architecture, size))


@functools.lru_cache(REMEMBERED)
def _optimal_row(program: Graph, architecture: Architecture, size: float) -> tuple[float, ...]:
    best = solve_best(program, architecture, size)
    quick = solve_greedy(program, architecture, size)
    figures = _figures(program, architecture, best)
    time, alone = figures[0], figures[6]
    greedy_time = time + max(quick.change - best.change, 0.0)
    lost = best.resolution if best.resolution > _REPORTED_ROUNDING * time else 0.0
    gap = max(best.change - best.bound, lost) / time if time > 0 else 0.0
    greedy_gap = greedy_time / time - 1 if time > 0 else 0.0
    return (*figures, alone / greedy_time if greedy_time > 0 else 1.0, greedy_gap, gap)


def _figures(program: Graph, architecture: Architecture, partition: Partition) -> tuple[float, ...]:
    """Return what :class:`Greedy` has, of one partition."""
    times = estimate(program, partition.moved, architecture)
    time, alone = times.accelerated_time, cpu_time(program, architecture)
    least = theoretical_time(program, architecture)
    speedup, most = (alone / t if t > 0 else 1.0 for t in (time, least))
    return (
        *times,
        alone,
        speedup,
        (speedup - 1) / (most - 1) if most > 1 else 0.0,
        most,
        float(program.area[partition.moved].sum()),
        float(partition.moved.sum()),
    )
