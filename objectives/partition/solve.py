"""The best partition within an area, the paper's, and the blocks that only pay together."""

from __future__ import annotations

import functools
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array
from scipy.sparse.csgraph import connected_components

from objectives.partition.branch import LARGE, BranchSearch
from objectives.partition.cut import bound_rounding, minimum_cut, reduce_problem
from objectives.partition.graph import Graph, Indices
from objectives.partition.milp import PROVEN, solve_program
from objectives.partition.problem import PartitionProblem, greedy_choice, make_problem
from objectives.partition.quantities import Architecture


class Partition(NamedTuple):
    """Blocks to move, and how good that is at most and at least."""

    moved: NDArray[np.bool_]
    """Of the graph's blocks, which are on the accelerator."""
    change: float
    """Of the time, in cycles, against all blocks on the CPU."""
    bound: float
    """No partition within the size changes the time to less: equal to `change` if proven."""
    resolution: float = 0.0
    """The precision of the proof in cycles: rounding may hide smaller changes."""


def greedy_partition(problem: PartitionProblem, size: float) -> Partition:
    """Return the paper's greedy partition; nothing is proven of it."""
    chosen = greedy_choice(problem, size)
    return Partition(problem.moved(chosen), problem.value(chosen), -np.inf)


def best_partition(
    problem: PartitionProblem, size: float, *, nodes: int | None = None
) -> Partition:
    """Return the best partition within an area of `size` instructions.

    `nodes` limits the search; `bound` shows the part that is not proven.
    """
    few = reduce_problem(problem, size)
    lost = bound_rounding(problem)
    if few.area.sum() <= size:  # the rest is the minimum cut
        everything = np.ones(len(few), bool)
        value = few.value(everything)
        return Partition(few.moved(everything), value, value, lost)
    if len(few.tie) > LARGE:
        solved = BranchSearch(few, size).solve(nodes)
    else:
        solved = solve_program(few, size, nodes=nodes)
    chosen, value = solved.chosen, few.value(solved.chosen)
    other = greedy_choice(few, size)
    if few.value(other) < value:  # a bound was met, or the two are equal but for rounding
        chosen, value = other, few.value(other)
    inside = minimum_cut(few.restricted(chosen))  # the smallest of equal partitions
    chosen[np.flatnonzero(chosen)[~inside]] = False
    value = few.value(chosen)
    lost += PROVEN * few.magnitude
    return Partition(few.moved(chosen), value, min(solved.bound, value), lost)


# ------------------------------------------------------------------- partitions that are used again

NODE_LIMIT = 20_000
"""Nodes of the branch-and-bound tree at which a search stops: as everywhere, the same bytes on
every machine; real programs take a few."""
REMEMBERED = 50_000
"""Designs whose partitions are kept."""


def solve_best(graph: Graph, architecture: Architecture, size: float) -> Partition:
    """Return the best partition of a program on one architecture, found once."""
    return _best(graph, architecture.effective, _whole(graph, size))


def solve_greedy(graph: Graph, architecture: Architecture, size: float) -> Partition:
    """Return the greedy partition of a program on one architecture, found once."""
    return _greedy(graph, architecture.effective, _whole(graph, size))


def _whole(graph: Graph, size: float) -> float:
    """Return the same number for sizes that hold the same blocks."""
    return float(min(np.floor(size), graph.area.sum()))


@functools.lru_cache(REMEMBERED)
def _best(graph: Graph, architecture: Architecture, size: float) -> Partition:
    return best_partition(make_problem(graph, architecture), size, nodes=NODE_LIMIT)


@functools.lru_cache(REMEMBERED)
def _greedy(graph: Graph, architecture: Architecture, size: float) -> Partition:
    return greedy_partition(make_problem(graph, architecture), size)


# ------------------------------------------------------------------ blocks that only pay together


class Group(NamedTuple):
    """Neighbouring blocks that the optimum moves and greedy does not."""

    blocks: Indices
    """Positions in the graph."""
    area: int
    """Their instructions."""
    gain: float
    """Cycles that they save together, in addition to the blocks that both partitions move."""
    alone: float
    """Cycles that the best of them saves on its own; 0 or less: they had to move together."""


class Decision(NamedTuple):
    """The blocks that move for one design."""

    optimum: Partition
    greedy: Partition
    groups: tuple[Group, ...]
    """By falling gain."""


def decide_moves(graph: Graph, architecture: Architecture, size: float) -> Decision:
    """Return the blocks that the optimum and greedy move, and groups that only gain together.

    `architecture` has numbers, no arrays; the accelerator holds `size` instructions.
    """
    problem = make_problem(graph, architecture, capped=False)
    best, quick = (solve(graph, architecture, size) for solve in (solve_best, solve_greedy))
    return Decision(best, quick, find_groups(problem, best.moved, quick.moved))


def find_groups(
    problem: PartitionProblem, optimum: NDArray[np.bool_], greedy: NDArray[np.bool_]
) -> tuple[Group, ...]:
    """Return the connected groups of blocks that the optimum moves and greedy does not.

    Blocks are connected if separating them costs something. Gains are measured with the blocks that
    both partitions move already moved. They add up to the whole difference, as groups do not
    interact.
    """
    base, extra = problem.chosen(optimum & greedy), problem.chosen(optimum & ~greedy)
    inside, count = extra[problem.node], len(problem)
    ends = (problem.node[inside], count + problem.tie[inside])
    side = count + len(problem.any_cost)
    links = csr_array((np.ones(len(ends[0]), np.int8), ends), shape=(side, side))
    _, label = connected_components(links, directed=False)
    label = label[:count]
    before = problem.value(base)

    def gain(nodes: Indices) -> float:
        chosen = base.copy()
        chosen[nodes] = True
        return before - problem.value(chosen)

    found = []
    for each in np.unique(label[extra]):
        nodes = np.flatnonzero((label == each) & extra)
        alone = max(gain(node) for node in nodes[:, None])
        blocks = np.flatnonzero(np.isin(problem.members, nodes))
        found.append(Group(blocks, int(problem.area[nodes].sum()), gain(nodes), alone))
    return tuple(sorted(found, key=lambda group: -group.gain))
