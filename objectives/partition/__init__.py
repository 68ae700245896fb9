"""The basic blocks of a program to move to an accelerator, and the gain of moving them.

Source: T. Kenter, M. Platzner, C. Plessl, M. Kauschke, "Performance Estimation for the Exploration
of CPU-Accelerator Architectures", 2010. The estimate and the greedy partitioner are the paper's;
the optimum is this package's (docs/explanation/partition.md).

Modules:

* ``quantities``: the quantities of the models, the record `Architecture`, and the programs;
* ``graph``: a profile as a graph of blocks: control, registers and cache lines between them;
* ``estimate``: the time of a mapping of blocks, with the latencies of memory and cache crossings;
* ``problem``: graph and architecture as an optimization problem, and the nodes that the paper's
  greedy partitioner moves;
* ``cut``: the optimum without a bound on area, as a minimum cut, and smaller problems;
* ``branch``: the set of blocks within an area, by branch and bound; ``milp``: as a linear program;
* ``solve``: best and greedy partitions, each solved once, and groups of blocks that are only
  beneficial together;
* ``model``: :func:`optimal` and :func:`greedy`, the models of a study;
* ``moved``: the section on the moved blocks of a design, with tables per block, function and line;
* ``report``: the section on memory integration: programs and organisations in comparison.
"""

from objectives.partition.estimate import block_times, cpu_time, estimate
from objectives.partition.graph import Graph, make_graph
from objectives.partition.model import greedy, make_architecture, optimal
from objectives.partition.problem import make_problem
from objectives.partition.quantities import Architecture, Workloads
from objectives.partition.solve import best_partition, decide_moves, greedy_partition

__all__ = [
    "Architecture",
    "Graph",
    "Workloads",
    "best_partition",
    "block_times",
    "cpu_time",
    "decide_moves",
    "estimate",
    "greedy",
    "greedy_partition",
    "make_architecture",
    "make_graph",
    "make_problem",
    "optimal",
]
