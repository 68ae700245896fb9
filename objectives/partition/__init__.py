"""Which basic blocks of a program belong on an accelerator, and what that gains.

Source: T. Kenter, M. Platzner, C. Plessl, M. Kauschke, "Performance Estimation for the Exploration
of CPU-Accelerator Architectures", 2010. The estimate is the paper's; the optimum, beside the
paper's greedy partitioner, is this package's (docs/partition.md).

:func:`optimal` and :func:`greedy` are the models, over programs that ``dse profile`` has profiled:

* :mod:`objectives.partition.graph` makes a profile a graph, :mod:`~objectives.partition.estimate`
  gives the time of a mapping of its blocks, for any number of architectures at once;
* :func:`~objectives.partition.problem.problem_of` makes graph and architecture an optimisation
  problem, :func:`~objectives.partition.solve.best_partition` solves it,
  :func:`~objectives.partition.solve.area_front` gives the whole front of area against time;
* :func:`~objectives.partition.blocks.decide` says which blocks move, and which of them only pay
  together.
"""

from objectives.partition.blocks import Decision, Group, blocks_table, decide, moved_together
from objectives.partition.estimate import (
    Estimate,
    block_times,
    cpu_time,
    estimate,
    theoretical_time,
)
from objectives.partition.graph import Graph, graph
from objectives.partition.model import (
    Greedy,
    Optimal,
    architecture_of,
    greedy,
    optimal,
)
from objectives.partition.problem import PartitionProblem, problem_of
from objectives.partition.quantities import Architecture
from objectives.partition.solve import (
    AreaFront,
    Partition,
    area_front,
    best_partition,
    greedy_partition,
)
from objectives.partition.solved import NODE_LIMIT
from objectives.partition.workloads import Workloads

__all__ = [
    "NODE_LIMIT",
    "Architecture",
    "AreaFront",
    "Decision",
    "Estimate",
    "Graph",
    "Greedy",
    "Group",
    "Optimal",
    "Partition",
    "PartitionProblem",
    "Workloads",
    "architecture_of",
    "area_front",
    "best_partition",
    "block_times",
    "blocks_table",
    "cpu_time",
    "decide",
    "estimate",
    "graph",
    "greedy",
    "greedy_partition",
    "moved_together",
    "optimal",
    "problem_of",
    "theoretical_time",
]
