"""Minimum cuts: the best partition with no bound on area, and the best ones as area gets a price.

A block on the CPU is on the source's side. Capacities are whole numbers of any size (Python's), so
that a cut is exact: times of 10⁹ cycles and small differences fit together, which they do not in
the 32 bits of `scipy.sparse.csgraph.maximum_flow`. The flow algorithm is Dinic's (1970).

With a price on area, the moved blocks only become fewer as the price rises: the sets are nested,
as each block's cost rises with it (Gallo, Grigoriadis, Tarjan, SIAM J. Computing 18(1), 1989).
The area–time hull is therefore a sequence of groups of blocks, found by halving.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from dse.model import Array
from objectives.partition.problem import PartitionProblem

_BITS = 60  # of the sum of all capacities


class Network:
    """Nodes 0 … n−1, a source n and a sink n+1, with arcs of whole capacities."""

    def __init__(self, nodes: int) -> None:
        self.nodes = nodes
        self._out: list[list[int]] = [[] for _ in range(nodes + 2)]
        self._head: list[int] = []
        self._free: list[int] = []

    def add(self, tail: int, head: int, capacity: int, back: int) -> None:
        """Add an arc and the one against it."""
        self._out[tail].append(len(self._head))
        self._head.append(head)
        self._free.append(capacity)
        self._out[head].append(len(self._head))
        self._head.append(tail)
        self._free.append(back)

    def sink_side(self) -> NDArray[np.bool_]:
        """Return the nodes on the sink's side of the minimum cut that has the fewest there."""
        while (level := self._levels())[self.nodes] >= 0:
            self._block(level)
        reached = np.array(level, np.int64) >= 0
        return np.asarray(reached[: self.nodes])

    def _levels(self) -> list[int]:
        """Return each node's distance to the sink by arcs with room; -1 if there is no way."""
        level = [-1] * (self.nodes + 2)
        level[self.nodes + 1] = 0
        queue = [self.nodes + 1]
        for node in queue:
            below = level[node] + 1
            for arc in self._out[node]:
                tail = self._head[arc]
                if level[tail] < 0 and self._free[arc ^ 1]:
                    level[tail] = below
                    queue.append(tail)
        return level

    def _block(self, level: list[int]) -> None:
        """Send flow along shortest ways until none is left."""
        source, sink = self.nodes, self.nodes + 1
        head, free, out = self._head, self._free, self._out
        upcoming = [0] * (self.nodes + 2)
        way: list[int] = []
        node = source
        while True:
            if node == sink:
                node = self._send(way, source)
                continue
            arcs, i = out[node], upcoming[node]
            below = level[node] - 1
            while i < len(arcs) and not (free[arcs[i]] and level[head[arcs[i]]] == below):
                i += 1
            upcoming[node] = i
            if i < len(arcs):
                way.append(arcs[i])
                node = head[arcs[i]]
            elif way:
                node = head[way.pop() ^ 1]
                upcoming[node] += 1
            else:
                return

    def _send(self, way: list[int], source: int) -> int:
        """Send what fits along a way, cut it before its first full arc; return where it ends."""
        free = self._free
        amount = min(free[arc] for arc in way)
        full = -1
        for i in range(len(way) - 1, -1, -1):
            arc = way[i]
            free[arc] -= amount
            free[arc ^ 1] += amount
            if not free[arc]:
                full = i
        tail = self._head[way[full] ^ 1]
        del way[full:]
        return tail


class Whole:
    """A problem in whole numbers, which add up without rounding."""

    def __init__(self, problem: PartitionProblem) -> None:
        every = (problem.cost, problem.inward, problem.outward)
        most = max(float(sum(np.abs(x).sum() for x in every)), 1e-300)
        scale = _BITS - math.ceil(math.log2(most))
        self.cost, self.inward, self.outward = (_whole(x, scale) for x in every)
        self.problem = problem
        self.area: list[int] = problem.area.tolist()

    def value(self, chosen: NDArray[np.bool_]) -> int:
        """Return the change of the time if these nodes are on the accelerator."""
        p = self.problem
        one, two = chosen[p.first], chosen[p.second]
        inside = sum(self.inward[i] for i in np.flatnonzero(two & ~one).tolist())
        inside += sum(self.outward[i] for i in np.flatnonzero(one & ~two).tolist())
        return sum(self.cost[i] for i in np.flatnonzero(chosen).tolist()) + inside

    def cut(self, times: int = 1, price: int = 0) -> NDArray[np.bool_]:
        """Return the smallest set with the least ``times · value + price · area``."""
        p = self.problem
        network = Network(len(p))
        for node, (cost, area) in enumerate(zip(self.cost, self.area, strict=True)):
            change = times * cost + price * area
            if change > 0:
                network.add(network.nodes, node, change, 0)
            elif change < 0:
                network.add(node, network.nodes + 1, -change, 0)
        pairs = zip(p.first.tolist(), p.second.tolist(), self.inward, self.outward, strict=True)
        for first, second, inward, outward in pairs:
            network.add(first, second, times * inward, times * outward)
        return network.sink_side()


def _whole(values: Array, scale: int) -> list[int]:
    return [int(x) for x in np.rint(np.ldexp(values, scale)).tolist()]


def minimum_cut(problem: PartitionProblem) -> NDArray[np.bool_]:
    """Return the nodes of the optimum with no bound on area, the fewest that reach it."""
    return Whole(problem).cut()


def nested_groups(problem: PartitionProblem) -> list[NDArray[np.bool_]]:
    """Return the sets on the hull of area against time, from the smallest to the largest.

    The first is empty, the last is :func:`minimum_cut`. Each is optimal for its area; the straight
    line between two neighbours bounds the time of every area between them from below.
    """
    best = minimum_cut(problem)
    sets = [np.zeros(len(problem), bool)]
    for group in _split(problem.restricted(best), np.flatnonzero(best)):
        grown = sets[-1].copy()
        grown[group] = True
        sets.append(grown)
    return sets


def _split(problem: PartitionProblem, nodes: NDArray[np.int64]) -> Sequence[NDArray[np.int64]]:
    """Cut nodes, which pay together, into groups of falling gain for each unit of area."""
    if len(nodes) == 0:
        return []
    whole = Whole(problem)
    everything = np.ones(len(problem), bool)
    gain, area = -whole.value(everything), sum(whole.area)
    part = whole.cut(area, gain)
    if not part.any() or part.all():
        return [nodes]
    return [
        *_split(problem.restricted(part), nodes[part]),
        *_split(problem.beyond(part), nodes[~part]),
    ]
