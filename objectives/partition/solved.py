"""A store of partitions: a run finds them, explanations and reports look them up."""

from __future__ import annotations

import functools

import numpy as np

from objectives.partition.graph import Graph
from objectives.partition.problem import problem_of
from objectives.partition.quantities import Architecture
from objectives.partition.solve import Partition, best_partition, greedy_partition

NODE_LIMIT = 20_000
"""Nodes of the branch-and-bound tree at which a search stops: as everywhere, the same bytes on
every machine; real programs take a few."""
REMEMBERED = 50_000
"""Designs whose partitions are kept."""


def solved_best(graph: Graph, architecture: Architecture, size: float) -> Partition:
    """Return the best partition of a program on one architecture, found once."""
    return _best(graph, architecture.effective, _whole(graph, size))


def solved_greedy(graph: Graph, architecture: Architecture, size: float) -> Partition:
    """Return the greedy partition of a program on one architecture, found once."""
    return _greedy(graph, architecture.effective, _whole(graph, size))


def _whole(graph: Graph, size: float) -> float:
    """Return the same number for sizes that hold the same blocks."""
    return float(min(np.floor(size), graph.area.sum()))


@functools.lru_cache(REMEMBERED)
def _best(graph: Graph, architecture: Architecture, size: float) -> Partition:
    return best_partition(problem_of(graph, architecture), size, nodes=NODE_LIMIT)


@functools.lru_cache(REMEMBERED)
def _greedy(graph: Graph, architecture: Architecture, size: float) -> Partition:
    return greedy_partition(problem_of(graph, architecture), size)
