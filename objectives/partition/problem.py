"""Partitioning as an optimisation: choose the blocks that save most, within the area.

A block on the accelerator changes the time by `cost` (negative if it saves), and each pair of
blocks that is separated adds to it, by an amount that may depend on which of them is on the
accelerator. None of these is negative, so that the time is submodular in the set of moved blocks:
with no bound on area the optimum is a minimum cut (docs/partition.md).
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from dse.model import Array
from objectives.partition.estimate import latencies
from objectives.partition.graph import Graph, Indices
from objectives.partition.quantities import Architecture


@dataclass(frozen=True, eq=False)
class PartitionProblem:
    """Blocks that can move, what moving each changes, and what separating two costs.

    Parameters
    ----------
    cost : ndarray, shape (nodes,)
        Change of the time if this node alone is on the accelerator, in cycles.
    area : ndarray of int, shape (nodes,)
        Its instructions.
    first, second : ndarray of int, shape (pairs,)
        The pairs of nodes that interact; `first` is less than `second`, no pair occurs twice.
    inward : ndarray, shape (pairs,)
        Cost if `second` alone of the two is on the accelerator, in cycles.
    outward : ndarray, shape (pairs,)
        Cost if `first` alone is.
    members : ndarray of int, shape (blocks,)
        The node of each block of the graph, -1 for one that stays on the CPU.
    """

    cost: Array
    area: Indices
    first: Indices
    second: Indices
    inward: Array
    outward: Array
    members: Indices

    def __len__(self) -> int:
        return len(self.cost)

    def value(self, chosen: NDArray[np.bool_]) -> float:
        """Return the change of the time if these nodes are on the accelerator, in cycles."""
        one, two = chosen[self.first], chosen[self.second]
        inside = float(self.inward[two & ~one].sum()) + float(self.outward[one & ~two].sum())
        return float(self.cost[chosen].sum()) + inside

    def moved(self, chosen: NDArray[np.bool_]) -> NDArray[np.bool_]:
        """Return which blocks of the graph these nodes are."""
        return np.asarray(np.append(chosen, False)[self.members])

    def chosen(self, moved: NDArray[np.bool_]) -> NDArray[np.bool_]:
        """Return the nodes that hold these blocks of the graph."""
        found = np.zeros(len(self) + 1, bool)
        found[self.members[moved]] = True
        return found[:-1]

    def restricted(self, kept: NDArray[np.bool_]) -> PartitionProblem:
        """Return the problem of some nodes, the others on the CPU."""
        one, two = kept[self.first], kept[self.second]
        cost = self.cost.copy()
        np.add.at(cost, self.first[one & ~two], self.outward[one & ~two])
        np.add.at(cost, self.second[two & ~one], self.inward[two & ~one])
        number = np.where(kept, np.cumsum(kept) - 1, -1)
        inside = one & two
        return PartitionProblem(
            cost[kept],
            self.area[kept],
            number[self.first[inside]],
            number[self.second[inside]],
            self.inward[inside],
            self.outward[inside],
            np.append(number, -1)[self.members],
        )

    def beyond(self, chosen: NDArray[np.bool_]) -> PartitionProblem:
        """Return the problem of the nodes that are not chosen, the chosen ones being moved.

        Its values are changes against the time with the chosen ones alone.
        """
        one, two = chosen[self.first], chosen[self.second]
        cost = self.cost.copy()
        # what separated the two costs is saved, what separates the moved one from the CPU is not
        np.subtract.at(cost, self.second[one & ~two], self.outward[one & ~two])
        np.subtract.at(cost, self.first[two & ~one], self.inward[two & ~one])
        loose = replace(self, cost=cost)._pairs(~one & ~two)
        return loose.restricted(~chosen)

    def _pairs(self, kept: NDArray[np.bool_]) -> PartitionProblem:
        return replace(
            self,
            first=self.first[kept],
            second=self.second[kept],
            inward=self.inward[kept],
            outward=self.outward[kept],
        )

    def contracted(self, label: Indices) -> PartitionProblem:
        """Return the problem with nodes of one label (0, 1, …) joined into one node."""
        count = int(label.max(initial=-1)) + 1
        first, second, inward, outward = joined(
            label[self.first], label[self.second], self.inward, self.outward
        )
        return PartitionProblem(
            _sums(label, self.cost, count),
            _sums(label, self.area, count).astype(np.int64),
            first,
            second,
            inward,
            outward,
            np.append(label, -1)[self.members],
        )


def joined(
    source: Indices, target: Indices, inward: Array, outward: Array
) -> tuple[Indices, Indices, Array, Array]:
    """Return pairs once each, the smaller node first, with their costs added up.

    `inward` is the cost if `target` alone is on the accelerator, `outward` if `source` is.
    """
    apart = source != target
    source, target, inward, outward = (x[apart] for x in (source, target, inward, outward))
    turned = source > target
    first, second = np.minimum(source, target), np.maximum(source, target)
    width = int(second.max(initial=0)) + 1
    keys, position = np.unique(first * width + second, return_inverse=True)
    return (
        keys // width,
        keys % width,
        _sums(position, np.where(turned, outward, inward), len(keys)),
        _sums(position, np.where(turned, inward, outward), len(keys)),
    )


def _sums(label: Indices, values: Array | Indices, count: int) -> Array:
    """Return the sum of the values of each label."""
    return np.bincount(label, values, minlength=count).astype(np.float64)


def problem_of(graph: Graph, architecture: Architecture) -> PartitionProblem:
    """Return the partitioning problem of a program on one architecture (numbers, no arrays)."""
    a = architecture
    memory = latencies(a)
    saved = np.array(
        [float(x) - float(y) for x, y in zip(memory.accelerator, memory.cpu, strict=True)]
    )
    cost = graph.operations * (float(a.accelerator_efficiency) - float(a.cpu_efficiency))
    cost = cost - graph.casts * float(a.cpu_efficiency) + graph.hits @ saved
    factor = float(a.interface_latency_factor)
    control = graph.controls.transfers * (float(a.control_latency) * factor)
    reg, dep = graph.registers, graph.dependencies
    register = reg.values * np.minimum(
        reg.defined * (float(a.register_push_latency) * factor),
        reg.used * (float(a.register_pull_latency) * factor),
    )
    to_accelerator = dep.dirty * float(memory.dirty_to_accelerator)
    to_accelerator += dep.clean * float(memory.clean_to_accelerator)
    to_cpu = dep.dirty * float(memory.dirty_to_cpu) + dep.clean * float(memory.clean_to_cpu)
    first, second, inward, outward = joined(
        np.concatenate([graph.controls.source, reg.source, dep.source]),
        np.concatenate([graph.controls.target, reg.target, dep.target]),
        np.concatenate([control, register, to_accelerator]),
        np.concatenate([control, register, to_cpu]),
    )
    members = np.arange(len(graph))
    whole = PartitionProblem(cost, graph.area, first, second, inward, outward, members)
    return whole._pairs((inward > 0) | (outward > 0)).restricted(graph.movable)
