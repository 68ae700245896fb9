"""The basic blocks of a program to move to an accelerator, and the gain of moving them.

Source: T. Kenter, M. Platzner, C. Plessl, M. Kauschke, "Performance Estimation for the Exploration
of CPU-Accelerator Architectures", 2010. The estimate and the greedy partitioner are the paper's;
the optimum is this package's (docs/explanation/partition.md).

Modules:

* ``quantities``: the quantities of the models, records of them, and the profiled programs;
* ``graph``: a profile as a graph of blocks;
* ``estimate``: the time of a mapping of blocks;
* ``problem``: graph and architecture as an optimization problem, and the paper's partitioner;
* ``cut``: the optimum without a bound on area, as a minimum cut, and smaller problems;
* ``branch``: the optimum with a bound on area, by branch and bound; ``milp``: as a linear program;
* ``solve``: the best partition, and the front of area against time;
* ``model``: :func:`optimal` and :func:`greedy`, the models of a study;
* ``decisions``: the blocks that move, and groups that are only beneficial together;
* ``report``, ``moved``: sections of the report.
"""

from objectives.partition.decisions import decide
from objectives.partition.estimate import block_times, cpu_time, estimate
from objectives.partition.graph import Graph, graph
from objectives.partition.model import architecture_of, greedy, optimal
from objectives.partition.problem import problem_of
from objectives.partition.quantities import Architecture, Workloads
from objectives.partition.solve import area_front, best_partition, greedy_partition

__all__ = [
    "Architecture",
    "Graph",
    "Workloads",
    "architecture_of",
    "area_front",
    "best_partition",
    "block_times",
    "cpu_time",
    "decide",
    "estimate",
    "graph",
    "greedy",
    "greedy_partition",
    "optimal",
    "problem_of",
]
