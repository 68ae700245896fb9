"""The best partition within an area, and the paper's."""

from __future__ import annotations

import functools
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from objectives.partition.branch import LARGE, BranchSearch
from objectives.partition.cut import bound_rounding, minimum_cut, reduce_problem
from objectives.partition.graph import Graph
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
