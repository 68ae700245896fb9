"""The basic blocks of a program to move to an accelerator, and the gain of moving them.

Source: T. Kenter, M. Platzner, C. Plessl, M. Kauschke, "Performance Estimation for the Exploration
of CPU-Accelerator Architectures", 2010. The estimate and the greedy partitioner are the paper's;
the optimum is this package's (docs/partition.md).

Modules:

* ``quantities``: the quantities of the models, and records of them;
* ``workloads``: the programs that ``dse profile`` has profiled, as an input of the models;
* ``model``: :func:`optimal` and :func:`greedy`, the models of a study;
* ``graph``: a profile as a graph of blocks;
* ``estimate``: the time of a mapping of blocks, for any number of architectures at once;
* ``problem``: graph and architecture as an optimization problem;
* ``reduce``: a smaller problem with the same optimum;
* ``flow``: maximum flows; ``cut``: the optimum without a bound on area, as a minimum cut;
* ``branch``: the optimum with a bound on area, by branch and bound; ``milp``: as a linear program;
* ``solve``: the best partition, and the front of area against time;
* ``solved``: a store of partitions that are used again;
* ``greedy``: the paper's partitioner;
* ``blocks``: the blocks that move, and groups that are only beneficial together;
* ``compare``: organisations and partitioners compared;
* ``report``, ``moved``: sections of the report.
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
