"""The six programs partitioned for the tests of docs/partition*.md; gains in percent."""

from __future__ import annotations

from functools import cache
from typing import NamedTuple

import numpy as np

from objectives.partition.blocks import decide
from objectives.partition.estimate import cpu_time, estimate, theoretical_time
from objectives.partition.graph import Graph
from objectives.partition.quantities import Architecture
from objectives.partition.workloads import Workloads
from tests.docs_figures import ROOT

WORKLOADS = Workloads.load(ROOT / "studies" / "profiles")
GRAPHS: dict[str, Graph] = {n: g[0] for n, g in zip(WORKLOADS.names, WORKLOADS.graphs, strict=True)}
ORGANISATIONS = {"SL1": (1, 0), "SL2+": (2, 1), "SL2−": (2, 0), "SMM+": (3, 1), "SMM−": (3, 0)}
KINDS = ("greedy", "optimum")
SIZES = 2.0 ** np.arange(3, 12.5, 0.5)
DEFAULT = Architecture()


class Point(NamedTuple):
    """One program on one architecture: greedy first, then the optimum; in percent."""

    speedup: tuple[float, float]
    share: tuple[float, float]
    theoretical: float
    moved: tuple[frozenset[int], frozenset[int]]


def solve(graph: Graph, architecture: Architecture, size: float) -> Point:
    decision = decide(graph, architecture, size)
    alone = float(cpu_time(graph, architecture))
    gain = 100 * (alone / float(theoretical_time(graph, architecture)) - 1)
    both = (decision.greedy, decision.optimum)
    times = [float(estimate(graph, p.moved, architecture).accelerated_time) for p in both]
    greedy, optimum = (100 * (alone / time - 1) for time in times)
    shares = (100 * greedy / gain, 100 * optimum / gain)
    moved = (
        frozenset(np.flatnonzero(both[0].moved).tolist()),
        frozenset(np.flatnonzero(both[1].moved).tolist()),
    )
    return Point((greedy, optimum), shares, gain, moved)


@cache
def point(name: str, architecture: Architecture = DEFAULT, size: float = 128.0) -> Point:
    return solve(GRAPHS[name], architecture, size)


def mean(organisation: str, kind: int, penalty: float = 0.0) -> float:
    where = Architecture(*ORGANISATIONS[organisation], penalty)
    return float(np.mean([point(n, where).share[kind] for n in GRAPHS]))


def efficiency(name: str, cycles: float) -> Point:
    return point(name, DEFAULT._replace(accelerator_efficiency=cycles))


def factor(name: str, times: float) -> Point:
    return point(name, DEFAULT._replace(interface_latency_factor=times))
