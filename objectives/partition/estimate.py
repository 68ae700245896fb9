"""The time of a partitioned program: t = t_e + t_m + t_c + t_r.

Source: T. Kenter, M. Platzner, C. Plessl, M. Kauschke, "Performance Estimation for the Exploration
of CPU-Accelerator Architectures", 2010: section II-A for the sums, section III for write-backs,
free casts and the memory organisations. What each organisation costs is in :func:`latencies`.

Additions to the paper, which only charges the write-back: the read from the next level after it,
and the read for lines that the other core left unwritten (docs/partition.md).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from dse.model import Array, Floats
from objectives.partition.graph import Crossings, Graph, Registers
from objectives.partition.quantities import Architecture


class Crossing(NamedTuple):
    """Cycles that a core adds if it is the first to touch data that the other one holds."""

    dirty_to_accelerator: Array
    """The accelerator touches a line that the CPU wrote."""
    clean_to_accelerator: Array
    """… that the CPU brought in unchanged."""
    dirty_to_cpu: Array
    """The CPU touches a line that the accelerator wrote."""
    clean_to_cpu: Array
    """… that the accelerator brought in."""


class Latencies(NamedTuple):
    """What memory costs under an organisation, in cycles; arrays that broadcast."""

    cpu: tuple[Array, Array, Array]
    """An access of the CPU that the simulated caches answered from L1, L2 and main memory."""
    accelerator: tuple[Array, Array, Array]
    """The same for the accelerator."""
    level1: Crossing
    """A crossing of a line in L1."""
    level2: Crossing
    """A crossing of a line in L2, in addition to the crossing in L1 if the line is there too."""


def latencies(architecture: Architecture) -> Latencies:
    """Return what memory costs; NaN if the latencies of the levels do not ascend.

    * The penalty is added to accesses that the shared cache answers, of either core. Main memory
      is not a cache and has none.
    * An accelerator without caches takes at least the latency of the shared level.
    * A shared L1 (SL1) holds everything for both: no crossing costs anything.
    * Else, data of the other core is first written back, at the latency of the shared level.
      A core without caches leaves nothing to write back: it wrote to the shared level.
    * Additions to the paper: data that only the other core has in its private L1 is read from the
      next level, and from the one after it if that is private and does not have it either. A core
      without caches reads at the shared level anyway.
    * If blocks are charged in pairs, only lines in L1 count, and are read from the shared level.
    """
    a = architecture
    l1, l2, memory = (
        np.asarray(x, dtype=np.float64)
        for x in (a.level1_latency, a.level2_latency, a.memory_latency)
    )
    l1 = np.where((l1 <= l2) & (l2 <= memory), l1, np.nan)
    level = np.asarray(a.shared_level)
    cpu1 = l1 + np.where(level == 1, a.shared_penalty, 0.0)
    cpu2 = l2 + np.where(level == 2, a.shared_penalty, 0.0)
    shared = np.where(level == 1, cpu1, np.where(level == 2, cpu2, memory))
    cached = (np.asarray(a.accelerator_cache) == 1) | (level == 1)
    floor = np.where(cached, 0.0, shared)
    apart = (level == 3) & (np.asarray(a.pairwise_crossings) == 0)  # two caches of each core
    write_back = np.where(level == 1, 0.0, shared)
    read = np.where(level == 1, 0.0, shared - l1)
    return Latencies(
        cpu=(cpu1, cpu2, memory),
        accelerator=(np.maximum(cpu1, floor), np.maximum(cpu2, floor), np.maximum(memory, floor)),
        level1=_crossing(np.where(apart, l2 - l1, read), np.where(apart, 0.0, write_back), cached),
        level2=_crossing(
            np.where(apart, memory - l2, 0.0), np.where(apart, write_back, 0.0), cached
        ),
    )


def _crossing(read: Array, write_back: Array, cached: Array) -> Crossing:
    to_accelerator = np.where(cached, read, 0.0)
    return Crossing(
        dirty_to_accelerator=write_back + to_accelerator,
        clean_to_accelerator=to_accelerator,
        dirty_to_cpu=np.where(cached, write_back, 0.0) + read,
        clean_to_cpu=read,
    )


class Estimate(NamedTuple):
    """The time of a partitioned program and its parts, in cycles."""

    accelerated_time: Array
    execution_time: Array
    memory_time: Array
    control_time: Array
    register_time: Array


@dataclass(frozen=True, eq=False)
class Totals:
    """The totals of a mapping of blocks, whatever the architecture.

    Parameters
    ----------
    operations : tuple of tuple of float
        Instructions on registers of CPU and accelerator, by class.
    cpu_hits, accelerator_hits : tuple of float
        Accesses by level.
    controls : float
        Transfers of control.
    registers : Registers
        Values that are passed.
    crossings : tuple of Crossing
        How many of lines in L1, and in L2: each core once.
    pairs : Crossing
        How many of lines in L1: each reader once.
    """

    operations: tuple[tuple[float, ...], tuple[float, ...]]
    cpu_hits: tuple[float, ...]
    accelerator_hits: tuple[float, ...]
    controls: float
    registers: Registers
    crossings: tuple[Crossing, Crossing]
    pairs: Crossing


def totals(graph: Graph, moved: NDArray[np.bool_]) -> Totals:
    """Return what a mapping adds up to.

    Parameters
    ----------
    graph : Graph
        The program.
    moved : ndarray of bool, shape (blocks,)
        Which blocks are on the accelerator.
    """
    cpu = ~moved
    apart = moved[graph.controls.source] != moved[graph.controls.target]
    passed = moved[graph.registers.source] != moved[graph.registers.target]
    in_one, in_two, pairs = _crossed(graph.crossings, moved)
    return Totals(
        operations=(_counts(graph.operations[cpu]), _counts(graph.operations[moved])),
        cpu_hits=_counts(graph.hits[cpu]),
        accelerator_hits=_counts(graph.hits[moved]),
        controls=float(graph.controls.transfers[apart].sum()),
        registers=Registers(*(column[passed] for column in graph.registers)),
        crossings=(in_one, in_two),
        pairs=pairs,
    )


def _counts(rows: Array) -> tuple[float, ...]:
    return tuple(rows.sum(axis=0).tolist())


def _crossed(c: Crossings, moved: NDArray[np.bool_]) -> tuple[Crossing, Crossing, Crossing]:
    """Return the crossings of each core in L1 and in L2, and of each reader in L1."""
    there = np.append(moved, False)  # the last: what never ran here
    readers = np.bincount(c.row, minlength=len(c.level))
    on_accelerator = np.bincount(c.row, there[c.reader], minlength=len(c.level))
    inward = np.where(there[c.source], 0.0, on_accelerator)
    outward = np.where(there[c.source], readers - on_accelerator, 0.0)

    def counted(level: int, into: Array, out: Array) -> Crossing:
        at = c.level == level
        sums = (float(n[at] @ w[at]) for w in (into, out) for n in (c.dirty, c.clean))
        return Crossing(*sums)  # type: ignore[arg-type]  # numbers, for one mapping

    once = (np.minimum(inward, 1.0), np.minimum(outward, 1.0))
    return counted(1, *once), counted(2, *once), counted(1, inward, outward)


def estimate(graph: Graph, moved: NDArray[np.bool_], architecture: Architecture) -> Estimate:
    """Return the time of a mapping (Kenter et al. 2010, section II-A), for any architectures.

    Parameters
    ----------
    graph : Graph
        The program.
    moved : ndarray of bool, shape (blocks,)
        Which blocks are on the accelerator.
    architecture : Architecture
        Numbers, or arrays that broadcast.

    Returns
    -------
    Estimate
        Cycles, of the architecture's broadcast shape.
    """
    sums, a = totals(graph, moved), architecture
    memory = latencies(a)
    execution = _sum(sums.operations[0], a.cpu_costs) * np.asarray(a.cpu_efficiency)
    execution = execution + (
        _sum(sums.operations[1], a.accelerator_costs) * np.asarray(a.accelerator_efficiency)
    )
    access = _sum(sums.cpu_hits, memory.cpu)
    access = access + _sum(sums.accelerator_hits, memory.accelerator)
    crossing = np.where(
        np.asarray(a.pairwise_crossings) == 1,
        _sum(sums.pairs, memory.level1),
        _sum(sums.crossings[0], memory.level1) + _sum(sums.crossings[1], memory.level2),
    )
    factor = np.asarray(a.interface_latency_factor)
    control = sums.controls * (np.asarray(a.control_latency) * factor)
    push, pull = (
        np.asarray(x) * factor for x in (a.register_push_latency, a.register_pull_latency)
    )
    parts = (execution, access + crossing, control, register_time(sums.registers, push, pull))
    columns = [np.array(c) for c in np.broadcast_arrays(*parts)]
    return Estimate(sum(columns[1:], columns[0]), *columns)


def _sum(counts: Sequence[Floats], costs: Sequence[Floats]) -> Array:
    return np.asarray(sum(n * np.asarray(cost) for n, cost in zip(counts, costs, strict=True)))


def register_time(registers: Registers, push: Floats, pull: Floats) -> Array:
    """Return the time to pass values, each pushed or pulled, whichever is faster over the run.

    The ratio of their rates decides for which values pushing is faster. Any number of latencies
    therefore costs one search each.
    """
    push, pull = np.asarray(push, dtype=np.float64), np.asarray(pull, dtype=np.float64)
    rate = registers.defined / registers.used
    order = np.argsort(rate, kind="stable")
    pushed = np.concatenate([[0.0], np.cumsum((registers.values * registers.defined)[order])])
    pulled = np.concatenate([[0.0], np.cumsum((registers.values * registers.used)[order])])
    with np.errstate(divide="ignore", invalid="ignore"):
        faster = np.searchsorted(rate[order], np.where(push > 0, pull / push, np.inf), "right")
    return np.asarray(pushed[faster] * push + (pulled[-1] - pulled[faster]) * pull)


def cpu_time(graph: Graph, architecture: Architecture) -> Array:
    """Return the time of the program on a CPU that shares no caches, in cycles."""
    alone = architecture._replace(shared_level=3.0)  # no penalty: nothing is shared
    return estimate(graph, np.zeros(len(graph), bool), alone).accelerated_time


def block_times(graph: Graph, architecture: Architecture) -> Array:
    """Return the time of each block on a CPU that shares no caches, in cycles, shape (blocks,).

    They add up to :func:`cpu_time`. Of an architecture of numbers, no arrays.
    """
    memory = np.array(latencies(architecture._replace(shared_level=3.0)).cpu, dtype=np.float64)
    costs = np.array(architecture.cpu_costs, dtype=np.float64) * architecture.cpu_efficiency
    return np.asarray(graph.operations @ costs + graph.hits @ memory)


def theoretical_time(graph: Graph, architecture: Architecture) -> Array:
    """Return the paper's baseline: every instruction on the accelerator, memory as for the CPU.

    Area, communication, added memory latencies, and that some blocks cannot move are neglected
    (section III-A). Casts are free here as well.
    """
    a = architecture
    access = _sum(_counts(graph.hits), latencies(a._replace(shared_level=3.0)).cpu)
    operations = _sum(_counts(graph.operations), a.accelerator_costs)
    return np.asarray(operations * np.asarray(a.accelerator_efficiency) + access)
