"""Minimum cuts: the best partition with no bound on area, and the best ones as area gets a price.

A block on the CPU is on the source's side. A set of blocks has two additional nodes: the first is
on the accelerator if any block of the set is, the second if all are. Two blocks only need an arc.
Costs are whole numbers. A cut is therefore exact: times of 10⁹ cycles and small differences fit
together.

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
from objectives.partition.flow import Network
from objectives.partition.graph import Indices
from objectives.partition.problem import PartitionProblem

_BITS = 60  # of the sum of all capacities, prices on area included


class Whole:
    """A problem in whole numbers, which add up without rounding."""

    def __init__(self, problem: PartitionProblem) -> None:
        self.scale = _scale(problem)
        self.cost, self.any_cost, self.all_gain = (
            _whole(x, self.scale) for x in (problem.cost, problem.any_cost, problem.all_gain)
        )
        self.problem = problem
        self._pairs = int(np.searchsorted(problem.sizes, 2, "right"))
        self._ends = problem.node[: 2 * self._pairs].reshape(-1, 2).T
        self._network = self._wired()

    def _wired(self) -> Network:
        """Return the network: arcs of nodes, of pairs, of larger sets, and of their members."""
        count, (first, second) = len(self.problem), self._ends
        larger = len(self.any_cost) - self._pairs
        tie = self.problem.tie[2 * self._pairs :] - self._pairs
        member = self.problem.node[2 * self._pairs :]
        nodes, some = np.arange(count), count + np.arange(larger)
        every, source = some + larger, count + 2 * larger
        sources, sinks = (np.full(count + larger, x) for x in (source, source + 1))
        arcs = [
            (sources, np.concatenate([nodes, some])),
            (np.concatenate([nodes, every]), sinks),
            (second, first),
            (first, second),
            (some[tie], member),
            (member, every[tie]),
        ]
        tail, head = (np.concatenate(each) for each in zip(*arcs, strict=True))
        return Network(source + 2, tail, head)

    def value(self, chosen: NDArray[np.bool_]) -> int:
        """Return the change of the time if these nodes are on the accelerator."""
        some, every = self.problem.met(chosen)
        sets = int(self.any_cost[some].sum()) - int(self.all_gain[every].sum())
        return int(self.cost[chosen].sum()) + sets

    def cut(self, times: int = 1, price: int = 0) -> NDArray[np.bool_]:
        """Return the smallest set with the least ``times · value + price · area``."""
        pairs, (first, second) = self._pairs, self._ends
        change = times * self.cost + price * self.problem.area
        any_cost, all_gain = times * self.any_cost, times * self.all_gain
        # of two nodes, any costs and both gain: that is an arc each way and a cost of each
        both = any_cost[:pairs] + all_gain[:pairs]
        back = both // 2
        np.add.at(change, first, any_cost[:pairs] - back)
        np.add.at(change, second, any_cost[:pairs] - (both - back))
        members = len(self.problem.tie) - 2 * pairs
        capacity = [
            np.maximum(change, 0),
            any_cost[pairs:],
            np.maximum(-change, 0),
            all_gain[pairs:],
            back,
            both - back,
            np.full(2 * members, 2**_BITS),
        ]
        found = self._network.sink_side(np.concatenate(capacity))
        return np.asarray(found[: len(self.problem)])


def _scale(problem: PartitionProblem) -> int:
    """Return the power of 2 that amounts are taken times before they are rounded."""
    bits = _BITS - int(problem.area.sum()).bit_length() - 1
    return bits - math.ceil(math.log2(max(problem.magnitude, 1e-300)))


def rounding(problem: PartitionProblem) -> float:
    """Return by how many cycles a minimum cut is off the optimum, at most: amounts are rounded."""
    amounts = len(problem.cost) + len(problem.any_cost) + len(problem.all_gain)
    return math.ldexp(amounts, -_scale(problem))


def _whole(values: Array, scale: int) -> Indices:
    return np.rint(np.ldexp(values, scale)).astype(np.int64)


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
    gain, area = -whole.value(everything), int(problem.area.sum())
    part = whole.cut(area, gain)
    if not part.any() or part.all():
        return [nodes]
    return [
        *_split(problem.restricted(part), nodes[part]),
        *_split(problem.beyond(part), nodes[~part]),
    ]
