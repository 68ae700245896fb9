"""The time of a partitioned program: t = t_e + t_m + t_c + t_r + t_l.

Source: T. Kenter, M. Platzner, C. Plessl, M. Kauschke, "Performance Estimation for the Exploration
of CPU-Accelerator Architectures", 2010: section II-A for the sums, section III for write-backs,
free casts and the memory organisations. :func:`memory_latencies` has the costs of each.

Additions to the paper, which only charges the write-back: the read from the next level after it,
the read for lines that the other core left unwritten, and t_l, the time of libraries
(docs/explanation/partition.md).
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from dse.model import Array, Floats
from objectives.partition.graph import Crossings, Graph, Registers
from objectives.partition.quantities import Architecture


class Crossing(NamedTuple):
    """Cycles that a core adds if it is the first to touch data that the other one holds."""

    dirty_to_accelerator: float
    """The accelerator touches a line that the CPU wrote."""
    clean_to_accelerator: float
    """… that the CPU brought in unchanged."""
    dirty_to_cpu: float
    """The CPU touches a line that the accelerator wrote."""
    clean_to_cpu: float
    """… that the accelerator brought in."""


class MemoryLatencies(NamedTuple):
    """The costs of memory under an organisation, in cycles."""

    cpu: tuple[float, float, float]
    """An access of the CPU that the simulated caches answered from L1, L2 and main memory."""
    accelerator: tuple[float, float, float]
    """The same for the accelerator."""
    level1: Crossing
    """A crossing of a line in L1."""
    level2: Crossing
    """A crossing of a line in L2, in addition to the crossing in L1 if the line is there too."""


def memory_latencies(architecture: Architecture) -> MemoryLatencies:
    """Return what memory costs.

    * The penalty is added to accesses that the shared cache answers, of either core. Main memory
      is not a cache and has none.
    * An accelerator without caches takes at least the latency of the shared level.
    * A shared L1 (SL1) holds everything for both: no crossing costs anything.
    * Else, data of the other core is first written back, at the latency of the shared level.
      A core without caches leaves nothing to write back: it wrote to the shared level.
    * Additions to the paper: data that only the other core has in its private L1 is read from the
      next level, and from the one after it if that is private and does not have it either. A core
      without caches reads at the shared level anyway.
    """
    a, level = architecture, int(architecture.shared_level)
    l1, l2, memory = float(a.level1_latency), float(a.level2_latency), float(a.memory_latency)
    penalty = float(a.shared_penalty)
    cpu = (l1 + penalty * (level == 1), l2 + penalty * (level == 2), memory)
    shared = cpu[level - 1]
    cached = a.accelerator_cache == 1 or level == 1
    in_level1 = {1: (0.0, 0.0), 2: (shared - l1, shared), 3: (l2 - l1, 0.0)}[level]
    in_level2 = (memory - l2, shared) if level == 3 else (0.0, 0.0)
    return MemoryLatencies(
        cpu,
        cpu if cached else (max(cpu[0], shared), max(cpu[1], shared), max(memory, shared)),
        _crossing(*in_level1, cached),
        _crossing(*in_level2, cached),
    )


def _crossing(read: float, write_back: float, cached: bool) -> Crossing:
    """Return the costs of a crossing; `cached` says whether the accelerator has caches."""
    return Crossing(
        write_back + (read if cached else 0.0),
        read if cached else 0.0,
        (write_back if cached else 0.0) + read,
        read,
    )


class Estimate(NamedTuple):
    """The time of a partitioned program and its parts, in cycles."""

    accelerated_time: float
    execution_time: float
    memory_time: float
    control_time: float
    register_time: float
    library_time: float


def estimate(graph: Graph, moved: NDArray[np.bool_], architecture: Architecture) -> Estimate:
    """Return the time of a mapping (Kenter et al. 2010, section II-A; libraries are an addition).

    `moved`, shape (blocks,), are the blocks on the accelerator; `architecture` has numbers, no
    arrays.
    """
    parts = _parts(graph, moved, architecture)
    library = _library_time(graph, architecture)
    return Estimate(sum(parts) + library, *parts, library)


def _parts(
    graph: Graph, moved: NDArray[np.bool_], architecture: Architecture
) -> tuple[float, float, float, float]:
    """Return the time of the blocks, and of values and control that pass between them, by parts."""
    a, cpu, memory = architecture, ~moved, memory_latencies(architecture)
    controls, registers = graph.controls, graph.registers
    execution = _sum(graph.operations[cpu], a.cpu_costs) * float(a.cpu_instruction_time)
    there = _sum(graph.operations[moved], a.accelerator_costs)
    execution += there * float(a.accelerator_instruction_time)
    access = _sum(graph.hits[cpu], memory.cpu) + _sum(graph.hits[moved], memory.accelerator)
    crossing = _crossing_time(graph.crossings, moved, memory)
    factor = float(a.interface_latency_factor)
    passages = controls.transfers[moved[controls.source] != moved[controls.target]].sum()
    passed = moved[registers.source] != moved[registers.target]
    return (
        execution,
        access + crossing,
        float(passages) * (float(a.control_latency) * factor),
        _register_time(
            Registers(*(column[passed] for column in registers)),
            float(a.register_push_latency) * factor,
            float(a.register_pull_latency) * factor,
        ),
    )


def _register_time(registers: Registers, push: float, pull: float) -> float:
    """Return the time to pass values, each pushed or pulled, whichever is faster over the run.

    The ratio of its rates decides how a value is passed: those of the smallest ratios are pushed.
    """
    rate = registers.defined / registers.used
    order = np.argsort(rate, kind="stable")
    pushed = np.cumsum(np.append(0.0, (registers.values * registers.defined)[order]))
    pulled = np.cumsum(np.append(0.0, (registers.values * registers.used)[order]))
    count = np.searchsorted(rate[order], pull / push if push > 0 else np.inf, "right")
    return float(pushed[count] * push + (pulled[-1] - pulled[count]) * pull)


def _sum(rows: Array, costs: Iterable[Floats]) -> float:
    """Return the columns' sums times their costs."""
    counts = rows.sum(axis=0).tolist()
    return float(sum(n * float(cost) for n, cost in zip(counts, costs, strict=True)))


def _crossing_time(c: Crossings, moved: NDArray[np.bool_], memory: MemoryLatencies) -> float:
    """Return the time of crossings: whichever core has the owner, the other one pays once."""
    there = np.append(moved, False)  # the last: what never ran here
    readers = np.bincount(c.row, minlength=len(c.level))
    on_accelerator = np.bincount(c.row, there[c.reader], minlength=len(c.level))
    inward = ~there[c.source] & (on_accelerator > 0)
    outward = there[c.source] & (on_accelerator < readers)
    time = 0.0
    for level, costs in ((1, memory.level1), (2, memory.level2)):
        into, out = inward & (c.level == level), outward & (c.level == level)
        counts = (c.dirty[into], c.clean[into], c.dirty[out], c.clean[out])
        time += sum(float(n.sum()) * cost for n, cost in zip(counts, costs, strict=True))
    return time


def cpu_time(graph: Graph, architecture: Architecture) -> float:
    """Return the time of the program and its libraries on a CPU that shares no caches, in cycles.

    An instruction of a library takes as long as one of the program does in the mean: assumption.
    """
    return _block_time(graph, architecture) + _library_time(graph, architecture)


def _library_time(graph: Graph, architecture: Architecture) -> float:
    return graph.library * _block_time(graph, architecture) if graph.library else 0.0


def _block_time(graph: Graph, architecture: Architecture) -> float:
    """Return the time of all blocks on a CPU that shares no caches, in cycles."""
    alone = architecture._replace(shared_level=3.0)  # no penalty: nothing is shared
    return sum(_parts(graph, np.zeros(len(graph), bool), alone))


def block_times(graph: Graph, architecture: Architecture) -> Array:
    """Return the time of each block on a CPU that shares no caches, in cycles, shape (blocks,).

    With the time of libraries, they add up to :func:`cpu_time`.
    """
    memory = np.array(memory_latencies(architecture._replace(shared_level=3.0)).cpu)
    costs = np.array(architecture.cpu_costs, dtype=np.float64) * float(
        architecture.cpu_instruction_time
    )
    return np.asarray(graph.operations @ costs + graph.hits @ memory)


def theoretical_time(graph: Graph, architecture: Architecture) -> float:
    """Return the paper's baseline: every instruction on the accelerator, memory as for the CPU.

    Area, communication, added memory latencies, and that some blocks cannot move are neglected
    (section III-A). Casts are free here as well. Libraries stay on the CPU.
    """
    a = architecture
    access = _sum(graph.hits, memory_latencies(a._replace(shared_level=3.0)).cpu)
    operations = _sum(graph.operations, a.accelerator_costs)
    own = operations * float(a.accelerator_instruction_time) + access
    return own + _library_time(graph, a)
