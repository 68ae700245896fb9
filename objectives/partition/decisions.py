"""Which blocks move, and which of them only pay together."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array
from scipy.sparse.csgraph import connected_components

from objectives.partition.graph import Graph, Indices
from objectives.partition.problem import PartitionProblem, make_problem
from objectives.partition.quantities import Architecture
from objectives.partition.solve import Partition, solve_best, solve_greedy


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
