"""Partitioning as an optimisation: choose the blocks that save most, within the area.

A block on the accelerator changes the time by `cost` (negative if it saves). Blocks interact in
sets: a set adds an amount if any of its blocks is on the accelerator, and another is saved if all
are. Two blocks that pass a value are a set, and so are the owner and the readers of a line. None of
these amounts is negative. The time is therefore submodular in the set of moved blocks: with no
bound on area the optimum is a minimum cut (docs/explanation/partition.md).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from dse.model import Array
from objectives.partition.estimate import memory_latencies
from objectives.partition.graph import Graph, Indices
from objectives.partition.quantities import Architecture


@dataclass(frozen=True, eq=False)
class PartitionProblem:
    """Blocks that can move, the change by moving each, and the costs of separating them."""

    cost: Array
    """Per node: the change of the time if it is on the accelerator, in cycles, sets apart."""
    area: Indices
    """Per node: its instructions."""
    tie: Indices
    node: Indices
    """The members of the sets: which set (`tie`, ascending), and which node. A set has at least two
    nodes, no two sets are equal, and sets of two nodes come first."""
    any_cost: Array
    """Per set: added if a node of the set is on the accelerator, in cycles."""
    all_gain: Array
    """Per set: saved if all are."""
    members: Indices
    """The node of each block of the graph; -1 for a block that stays on the CPU."""

    def __len__(self) -> int:
        return len(self.cost)

    @property
    def sizes(self) -> Indices:
        """How many nodes each set has."""
        return np.bincount(self.tie, minlength=len(self.any_cost))

    @property
    def magnitude(self) -> float:
        """The sum of all amounts: what rounding is to be seen against."""
        return float(np.abs(self.cost).sum() + self.any_cost.sum() + self.all_gain.sum())

    def value(self, chosen: NDArray[np.bool_]) -> float:
        """Return the change of the time if these nodes are on the accelerator, in cycles."""
        some, every = self.met(chosen)
        sets = float(self.any_cost[some].sum()) - float(self.all_gain[every].sum())
        return float(self.cost[chosen].sum()) + sets

    def met(self, chosen: NDArray[np.bool_]) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
        """Return for each set whether any of its nodes is chosen, and whether all are."""
        count = np.bincount(self.tie, chosen[self.node], minlength=len(self.any_cost))
        return count > 0, count == self.sizes

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
        _, every = self.met(kept)
        return self._of(kept, self.any_cost, np.where(every, self.all_gain, 0.0))

    def beyond(self, chosen: NDArray[np.bool_]) -> PartitionProblem:
        """Return the problem of the nodes that are not chosen, the chosen ones being moved.

        Its values are changes against the time with only the chosen nodes moved.
        """
        some, _ = self.met(chosen)
        return self._of(~chosen, np.where(some, 0.0, self.any_cost), self.all_gain)

    def _of(self, kept: NDArray[np.bool_], any_cost: Array, all_gain: Array) -> PartitionProblem:
        number = np.where(kept, np.cumsum(kept) - 1, -1)
        inside = kept[self.node]
        return gather_problem(
            self.cost[kept],
            self.area[kept],
            (self.tie[inside], number[self.node[inside]], any_cost, all_gain),
            np.append(number, -1)[self.members],
        )

    def contracted(self, label: Indices) -> PartitionProblem:
        """Return the problem with nodes of one label (0, 1, …) joined into one node."""
        count = int(label.max(initial=-1)) + 1
        return gather_problem(
            np.bincount(label, self.cost, minlength=count).astype(np.float64),
            np.bincount(label, self.area, minlength=count).astype(np.int64),
            (self.tie, label[self.node], self.any_cost, self.all_gain),
            np.append(label, -1)[self.members],
        )


Sets = tuple[Indices, Indices, Array, Array]
"""The set and the node of each member, what any of a set costs, what all of it save."""


def gather_problem(cost: Array, area: Indices, sets: Sets, members: Indices) -> PartitionProblem:
    """Return a problem from sets in any order, of any size, with equal ones among them."""
    tie, node, any_cost, all_gain = sets
    width = max(len(cost), 1)
    keys = np.unique(tie * width + node)
    tie, node = keys // width, keys % width
    size = np.bincount(tie, minlength=len(any_cost))
    one = size[tie] == 1
    cost = cost + np.bincount(node[one], (any_cost - all_gain)[tie[one]], minlength=len(cost))
    begin = np.cumsum(size) - size
    kept = np.flatnonzero((size > 1) & ((any_cost > 0) | (all_gain > 0)))
    kept = kept[np.argsort(size[kept], kind="stable")]
    # sets are equal if sums of 64 random bits for each node are: of 20,000 sets two that differ
    # have the same one once in 10¹¹ problems
    words = np.random.default_rng(0).integers(0, 2**64, len(cost), np.uint64)
    sums = np.concatenate([np.zeros(1, np.uint64), np.cumsum(words[node])])
    _, first, place = np.unique(
        (sums[begin + size] - sums[begin])[kept], return_index=True, return_inverse=True
    )
    order = np.argsort(first)  # as they came, by size
    rank = np.empty_like(order)
    rank[order] = np.arange(len(order))
    kept_once, count = kept[first[order]], len(order)
    lengths = size[kept_once]
    within = np.arange(lengths.sum()) - np.repeat(np.cumsum(lengths) - lengths, lengths)
    return PartitionProblem(
        cost,
        area,
        np.repeat(np.arange(count), lengths),
        node[np.repeat(begin[kept_once], lengths) + within],
        np.bincount(rank[place], any_cost[kept], minlength=count).astype(np.float64),
        np.bincount(rank[place], all_gain[kept], minlength=count).astype(np.float64),
        members,
    )


def make_problem(
    graph: Graph, architecture: Architecture, *, capped: bool = True
) -> PartitionProblem:
    """Return the partitioning problem of a program on one architecture (numbers, no arrays).

    If it is `capped`, a cost of more than twice all possible savings is set to just that. Such a
    node is in no partition that saves time, and small amounts are not lost next to it by rounding.
    """
    a, memory = architecture, memory_latencies(architecture)
    saved = np.subtract(memory.accelerator, memory.cpu)
    slower = np.array(a.accelerator_costs, float) * float(a.accelerator_instruction_time)
    slower -= np.array(a.cpu_costs, float) * float(a.cpu_instruction_time)
    cost = graph.operations @ slower + graph.hits @ saved
    most = 2.0 * float(-cost[graph.movable & (cost < 0)].sum()) if capped else np.inf
    cost = np.minimum(cost, most)
    controls, registers, lines = graph.controls, graph.registers, graph.crossings
    factor = float(a.interface_latency_factor)
    passages = controls.transfers * (float(a.control_latency) * factor)
    values = registers.values * np.minimum(
        registers.defined * (float(a.register_push_latency) * factor),
        registers.used * (float(a.register_pull_latency) * factor),
    )
    first = np.concatenate([controls.source, registers.source])
    second = np.concatenate([controls.target, registers.target])
    apart = np.minimum(np.concatenate([passages, values]), most)
    # Whichever core has the owner of a line, the others pay once if any of them is on the other:
    # `inward` if the owner is on the CPU, `outward` if it is on the accelerator. That is `inward`
    # if any of all moves, less `outward` if all do, plus the difference if the owner does.
    each = np.where(lines.level[:, None] == 1, memory.level1, memory.level2)
    inward = np.minimum(lines.dirty * each[:, 0] + lines.clean * each[:, 1], most)
    outward = np.minimum(lines.dirty * each[:, 2] + lines.clean * each[:, 3], most)
    blocks, pairs, rows = len(graph), len(first), len(lines.level)
    # the last node is code that never ran: it stays on the CPU, as blocks that cannot move do
    source, reader = (np.where(x < 0, blocks, x) for x in (lines.source, lines.reader))
    cost = np.append(cost, 0.0) + np.bincount(source, outward - inward, minlength=blocks + 1)
    ties = [np.repeat(np.arange(pairs), 2), pairs + np.arange(rows), pairs + lines.row]
    nodes = [np.stack([first, second], axis=1).ravel(), source, reader]
    sets = (
        np.concatenate(ties),
        np.concatenate(nodes),
        np.concatenate([apart, inward]),
        np.concatenate([apart, outward]),
    )
    whole = gather_problem(cost, np.append(graph.area, 0), sets, np.arange(blocks))
    return whole.restricted(np.append(graph.movable, False))


def greedy_choice(problem: PartitionProblem, size: float) -> NDArray[np.bool_]:
    """Return the nodes that the paper's partitioner moves to an accelerator of a size.

    Source: Kenter, Platzner, Plessl, Kauschke 2010, section II-B: one block at a time, by gain for
    each instruction of area. Candidates are blocks that still fit and that save time if only they
    move. The one with the largest saving per instruction is moved, until there is none; the first
    of equals.
    """
    count, sizes = len(problem), problem.sizes
    tie, node = problem.tie, problem.node
    gain = -problem.cost - np.bincount(node, problem.any_cost[tie], minlength=count)
    begin = np.searchsorted(tie, np.arange(len(sizes) + 1))
    order = np.argsort(node, kind="stable")
    start = np.searchsorted(node[order], np.arange(count + 1))
    area = problem.area.astype(np.float64)
    chosen, there = np.zeros(count, bool), np.zeros(len(sizes), np.int64)
    left = float(size)
    while True:
        open_ = ~chosen & (gain > 0) & (area <= left)
        if not open_.any():
            return chosen
        ratio = np.full(count, -np.inf)
        with np.errstate(divide="ignore"):
            np.divide(gain, area, out=ratio, where=open_)
        best = int(ratio.argmax())
        chosen[best] = True
        left -= area[best]
        for each in tie[order[start[best] : start[best + 1]]].tolist():
            there[each] += 1
            inside = node[begin[each] : begin[each + 1]]
            if there[each] == 1:  # the others no longer pay for it
                gain[inside] += problem.any_cost[each]
            if there[each] == sizes[each] - 1:  # the last one completes it
                gain[inside[~chosen[inside]]] += problem.all_gain[each]
