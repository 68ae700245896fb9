"""Which basic blocks of a program belong on an accelerator, and what that gains.

Source: T. Kenter, M. Platzner, C. Plessl, M. Kauschke, "Performance Estimation for the Exploration
of CPU-Accelerator Architectures", 2010. The estimate is the paper's; the optimum, beside the
paper's greedy partitioner, is this package's (docs/partition.md).

:func:`optimal` and :func:`greedy` are the models, over programs that ``dse profile`` has profiled:

* :mod:`objectives.partition.graph` makes a profile a graph, :mod:`~objectives.partition.estimate`
  gives the time of a mapping of its blocks, for any number of architectures at once;
* :func:`~objectives.partition.problem.problem_of` makes graph and architecture an optimisation
  problem, :func:`~objectives.partition.solve.best_partition` solves it,
  :func:`~objectives.partition.solve.front` gives the whole front of area against time;
* :func:`~objectives.partition.blocks.decide` says which blocks move, and which of them only pay
  together.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from dse.model import Array, Floats, Quantity, declared, model
from objectives.partition.estimate import (
    Architecture,
    cpu_time,
    estimate,
    theoretical_time,
)
from objectives.partition.graph import Graph
from objectives.partition.problem import problem_of
from objectives.partition.quantities import (
    AcceleratorCache,
    AcceleratorEfficiency,
    AcceleratorSize,
    CacheConfiguration,
    ControlLatency,
    CpuEfficiency,
    Greedy,
    InterfaceLatencyFactor,
    Level1Latency,
    Level2Latency,
    MemoryLatency,
    Optimal,
    Profiles,
    RegisterPullLatency,
    RegisterPushLatency,
    SharedLevel,
    SharedPenalty,
    Workload,
)
from objectives.partition.solve import (
    Partition,
    best_partition,
    greedy_partition,
)
from objectives.partition.workloads import Workloads

NODE_LIMIT = 20_000
"""Nodes of the branch-and-bound tree at which :func:`optimal` stops: as everywhere, the same bytes
on every machine; real programs take a few."""

_REMEMBERED = 50_000
"""Designs whose figures are kept: tables, explanations and reports ask for them again and again."""


@model
def greedy(
    profiles: Profiles,
    workload: Workload,
    shared_level: SharedLevel = 2.0,
    accelerator_cache: AcceleratorCache = 1.0,
    shared_penalty: SharedPenalty = 0.0,
    accelerator_size: AcceleratorSize = 128.0,
    accelerator_efficiency: AcceleratorEfficiency = 0.5,
    interface_latency_factor: InterfaceLatencyFactor = 1.0,
    cpu_efficiency: CpuEfficiency = 1.0,
    control_latency: ControlLatency = 2.0,
    register_push_latency: RegisterPushLatency = 1.0,
    register_pull_latency: RegisterPullLatency = 3.0,
    level1_latency: Level1Latency = 3.0,
    level2_latency: Level2Latency = 15.0,
    memory_latency: MemoryLatency = 200.0,
    cache_configuration: CacheConfiguration = 0.0,
) -> Greedy:
    """Time and speedup of the paper's greedy partition; inputs and outputs as of :func:`optimal`.

    Blocks are moved one by one, by time saved for each instruction, as long as they fit and save
    time. It fails where blocks only pay together.

    Returns
    -------
    Greedy
        Arrays of the broadcast shape of the inputs.
    """
    inputs = {name: value for name, value in locals().items() if name != "profiles"}
    return Greedy(*_each_design(greedy, profiles, inputs, _greedy_row, len(Greedy._fields)))


@model
def optimal(
    profiles: Profiles,
    workload: Workload,
    shared_level: SharedLevel = 2.0,
    accelerator_cache: AcceleratorCache = 1.0,
    shared_penalty: SharedPenalty = 0.0,
    accelerator_size: AcceleratorSize = 128.0,
    accelerator_efficiency: AcceleratorEfficiency = 0.5,
    interface_latency_factor: InterfaceLatencyFactor = 1.0,
    cpu_efficiency: CpuEfficiency = 1.0,
    control_latency: ControlLatency = 2.0,
    register_push_latency: RegisterPushLatency = 1.0,
    register_pull_latency: RegisterPullLatency = 3.0,
    level1_latency: Level1Latency = 3.0,
    level2_latency: Level2Latency = 15.0,
    memory_latency: MemoryLatency = 200.0,
    cache_configuration: CacheConfiguration = 0.0,
) -> Optimal:
    """Time and speedup of the best partition of a program between CPU and accelerator.

    The estimate is that of Kenter et al. 2010, section II-A; defaults are their Table I. The memory
    organisations are rows of the catalog ``memory_organisations``: SL1, SL2+, SL2-, SMM+, SMM-.
    Speedups are ratios of times; the paper's percentages are these less 1. The CPU alone, to which
    times are compared, has caches of its own without penalty, so that a speedup below 1 says that
    sharing costs more than the accelerator gains.

    Equal designs are solved once. Each design is proven optimal, or `optimality_gap` is above 0.

    Returns
    -------
    Optimal
        Arrays of the broadcast shape of the inputs; NaN where there is no such workload or cache
        configuration, and where the latencies of the memory levels do not ascend.
    """
    inputs = {name: value for name, value in locals().items() if name != "profiles"}
    return Optimal(*_each_design(optimal, profiles, inputs, _optimal_row, len(Optimal._fields)))


Row = Callable[[Graph, Architecture, float], tuple[float, ...]]


def _each_design(
    model: Callable[..., Any],
    profiles: Workloads,
    inputs: Mapping[str, Floats],
    row: Row,
    width: int,
) -> list[Array]:
    """Return a column for each output; each distinct design is worked out once."""
    columns = np.broadcast_arrays(*(np.asarray(v, dtype=np.float64) for v in inputs.values()))
    shape = columns[0].shape
    quantities = [q for q in declared(model).values() if isinstance(q, Quantity)]
    inside = np.logical_and.reduce(
        [q.contains(column) for q, column in zip(quantities, columns, strict=True)]
    )
    designs = np.stack([column[inside] for column in columns], axis=1)
    distinct, position = np.unique(designs, axis=0, return_inverse=True)
    found = np.full((len(distinct), width), np.nan)
    for i, values in enumerate(distinct.tolist()):
        given = dict(zip(inputs, values, strict=True))
        program = _graph(profiles, given)
        architecture = architecture_of(given)
        if program is not None and _sensible(architecture):
            found[i] = row(program, _distinct(architecture), given["accelerator_size"])
    answers = np.full((*shape, width), np.nan)
    answers[inside] = found[position.ravel()]
    return [answers[..., i][()] for i in range(width)]


def architecture_of(values: Mapping[str, float]) -> Architecture:
    """Return the architecture of a design given by quantity names; Table I where one is absent."""
    return Architecture(**{name: values[name] for name in Architecture._fields if name in values})


def _distinct(architecture: Architecture) -> Architecture:
    """Return the same for architectures that only differ in what has no effect: solved once."""
    if architecture.shared_level == 3:  # main memory is no cache: no penalty
        return architecture._replace(shared_penalty=0.0)
    return architecture


def _graph(profiles: Workloads, given: Mapping[str, float]) -> Graph | None:
    """Return the graph that a design names, None where there is none."""
    workload, cache = given["workload"], given["cache_configuration"]
    if workload < len(profiles.graphs) and cache < len(profiles.graphs[int(workload)]):
        return profiles.graphs[int(workload)][int(cache)]
    return None


def _sensible(architecture: Architecture) -> bool:
    """Tell whether times are finite and memory levels ascend."""
    a = architecture
    largest = max(float(np.asarray(value)) for value in a)
    return largest < 1e12 and a.level1_latency <= a.level2_latency <= a.memory_latency  # type: ignore[return-value]


@functools.lru_cache(_REMEMBERED)
def _greedy_row(program: Graph, architecture: Architecture, size: float) -> tuple[float, ...]:
    partition = greedy_partition(problem_of(program, architecture), size)
    return _figures(program, architecture, partition)


@functools.lru_cache(_REMEMBERED)
def _optimal_row(program: Graph, architecture: Architecture, size: float) -> tuple[float, ...]:
    problem = problem_of(program, architecture)
    best = best_partition(problem, size, nodes=NODE_LIMIT)
    quick = greedy_partition(problem, size)
    figures = _figures(program, architecture, best)
    time, alone = figures[0], figures[5]
    greedy_time = time + max(quick.change - best.change, 0.0)
    gap = (best.change - best.bound) / time if time > 0 else 0.0
    greedy_gap = greedy_time / time - 1 if time > 0 else 0.0
    return (*figures, alone / greedy_time if greedy_time > 0 else 1.0, greedy_gap, gap)


def _figures(program: Graph, architecture: Architecture, partition: Partition) -> tuple[float, ...]:
    """Return what :class:`Greedy` has, of one partition."""
    times = estimate(program, partition.moved, architecture)
    time, alone = float(times.accelerated_time), float(cpu_time(program, architecture))
    least = float(theoretical_time(program, architecture))
    speedup, most = (alone / t if t > 0 else 1.0 for t in (time, least))
    return (
        *(float(part) for part in times),
        alone,
        speedup,
        (speedup - 1) / (most - 1) if most > 1 else 0.0,
        most,
        float(program.area[partition.moved].sum()),
        float(partition.moved.sum()),
    )
