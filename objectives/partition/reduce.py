"""Fewer blocks to choose from, with the same optimum.

* A block outside the optimum with no bound on area is not in the optimum with one: the time is
  submodular. Leaving the block out therefore costs nothing and frees area.
* A block larger than the accelerator stays on the CPU.
* If a moved block always gains by going back to the CPU unless a certain neighbour is moved too,
  it is moved only with that neighbour. Blocks that so require each other, around a circle, are one.

The smallest of the optima has all three properties at once.
"""

from __future__ import annotations

import numpy as np
from scipy.sparse import csr_array
from scipy.sparse.csgraph import connected_components

from objectives.partition.cut import minimum_cut
from objectives.partition.graph import Indices
from objectives.partition.problem import PartitionProblem

_LARGEST = 64  # nodes of a set whose pairs are looked at


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
    count, sizes = len(problem), problem.sizes
    small = (sizes <= _LARGEST)[problem.tie]
    tie, node = problem.tie[small], problem.node[small]
    # the maximum cost of moving a node back: every neighbour is moved
    cost = problem.cost - np.bincount(problem.node, problem.all_gain[problem.tie], minlength=count)
    # and the part that is lost with a neighbour: a set of two also costs, all others may be met
    lost = problem.all_gain + np.where(sizes == 2, problem.any_cost, 0.0)
    inside = csr_array((np.ones(len(tie)), (node, tie)), shape=(count, len(sizes)))
    weighed = csr_array((lost[tie], (node, tie)), shape=(count, len(sizes)))
    together = (weighed @ inside.T).tocoo()
    one, two = together.coords
    wish = (cost[one] + together.data >= 0) & (one != two)
    graph = csr_array((np.ones(int(wish.sum())), (one[wish], two[wish])), shape=(count, count))
    _, label = connected_components(graph, directed=True, connection="strong")
    return np.asarray(label, np.int64)
