"""Fewer blocks to choose from, with the same optimum.

* A block outside the optimum with no bound on area is not in the optimum with one: the time is
  submodular, so that leaving it out costs nothing and frees area.
* A block larger than the accelerator stays on the CPU.
* If a moved block always gains by going back to the CPU unless a certain neighbour is moved too,
  it is moved only with that neighbour. Blocks that so demand each other, around a circle, are one.

The smallest of the optima has all three properties, so that they hold at once.
"""

from __future__ import annotations

import numpy as np
from scipy.sparse import csr_array
from scipy.sparse.csgraph import connected_components

from objectives.partition.cut import minimum_cut
from objectives.partition.graph import Indices
from objectives.partition.problem import PartitionProblem


def reduced(problem: PartitionProblem, size: float) -> PartitionProblem:
    """Return a smaller problem with the same optimum within a size."""
    count = -1
    while count != len(problem):
        count = len(problem)
        fitting = problem.restricted(problem.area <= size)
        useful = fitting.restricted(minimum_cut(fitting))
        problem = useful.contracted(_inseparable(useful))
    return problem


def _inseparable(problem: PartitionProblem) -> Indices:
    """Return a label (0, 1, …) for each node; nodes of one label are moved together or not."""
    count = len(problem)
    first, second = problem.first, problem.second
    both = problem.inward + problem.outward
    # the most that moving a node back can cost: every neighbour is moved
    cost = problem.cost - np.bincount(first, problem.inward, minlength=count)
    cost -= np.bincount(second, problem.outward, minlength=count)
    demands, demanded = cost[first] + both >= 0, cost[second] + both >= 0
    tail = np.concatenate([first[demands], second[demanded]])
    head = np.concatenate([second[demands], first[demanded]])
    wish = csr_array((np.ones(len(tail), np.int8), (tail, head)), shape=(count, count))
    _, label = connected_components(wish, directed=True, connection="strong")
    return np.asarray(label, np.int64)
