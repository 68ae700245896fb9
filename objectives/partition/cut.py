"""Minimum cuts: the best partition with no bound on area, or with a price on area.

A block on the CPU is on the source's side. A set of blocks has two additional nodes: the first is
on the accelerator if any block of the set is, the second if all are. Two blocks only need an arc.
Costs are whole numbers. A cut is therefore exact: times of 10⁹ cycles and small differences fit
together.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array
from scipy.sparse.csgraph import connected_components, maximum_flow

from dse.model import Array
from objectives.partition.graph import Indices
from objectives.partition.problem import PartitionProblem

_BITS = 60  # of the sum of all capacities, prices on area included


class IntegerProblem:
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


def bound_rounding(problem: PartitionProblem) -> float:
    """Return by how many cycles a minimum cut is off the optimum, at most: amounts are rounded."""
    amounts = len(problem.cost) + len(problem.any_cost) + len(problem.all_gain)
    return math.ldexp(amounts, -_scale(problem))


def _whole(values: Array, scale: int) -> Indices:
    return np.rint(np.ldexp(values, scale)).astype(np.int64)


def minimum_cut(problem: PartitionProblem) -> NDArray[np.bool_]:
    """Return the nodes of the optimum with no bound on area, the fewest that reach it."""
    return IntegerProblem(problem).cut()


# ------------------------------------------------------------------------------------ maximum flows
#
# Whole numbers of up to 62 bits, by SciPy's flows, which take 31. Capacities are taken a few
# leading bits at a time. The flow that fits those bits is a flow of the whole network. Its unsent
# part is less than one unit of the last bit taken for each arc of a cut. The next round may
# therefore take as many bits less. The last round takes all bits.

_FLOW_BITS = 29  # SciPy adds flow and capacity in 31


class Network:
    """Arcs between nodes, of which the last two are the source and the sink.

    Arcs go from `tail` to `head`, both of shape (arcs,); several between two nodes add up.
    """

    def __init__(self, nodes: int, tail: Indices, head: Indices) -> None:
        self.nodes, self.tail, self.head = nodes, tail, head
        ways = np.concatenate([tail * nodes + head, head * nodes + tail])
        keys, place = np.unique(ways, return_inverse=True)
        self._place = place[: len(tail)]
        self._row, self._column = (x.astype(np.int32) for x in (keys // nodes, keys % nodes))
        self._first = np.searchsorted(self._row, np.arange(nodes + 1)).astype(np.int32)
        # One matrix for all capacities: SciPy's checks of a new one take longer than a small flow.
        empty = np.zeros(len(keys), np.int32)
        arrays = empty, self._column, self._first
        self._matrix = csr_array(arrays, shape=(nodes, nodes))

    def sink_side(self, capacity: Indices) -> NDArray[np.bool_]:
        """Return the sink's side of the minimum cut that has the fewest nodes there.

        Capacities, shape (arcs,), are not negative; between two nodes they sum to less than 2**62.
        """
        source, sink = self.nodes - 2, self.nodes - 1
        free = np.zeros(len(self._row), np.int64)
        np.add.at(free, self._place, capacity)
        ends = (capacity[self.tail == source].sum(), capacity[self.head == sink].sum())
        left = int(min(ends))
        leaving = slice(self._first[source], self._first[source + 1])
        while left:
            shift = max(0, left.bit_length() - _FLOW_BITS)
            part = (np.minimum(free, left) >> shift).astype(np.int32)
            self._matrix.data = part
            flow = maximum_flow(self._matrix, source, sink).flow.data.astype(np.int64)
            free -= flow << shift
            left = min(left - (int(flow[leaving].sum()) << shift), len(free) << shift)
            if not shift:
                break
        return self._reaching_sink(free)

    def _reaching_sink(self, free: Indices) -> NDArray[np.bool_]:
        """Return the nodes from which an arc with free capacity leads to the sink, step by step."""
        open_arc = free > 0
        tail, head = self._row[open_arc], self._column[open_arc]
        reached = np.zeros(self.nodes, bool)
        reached[self.nodes - 1] = True
        while len(new := tail[reached[head] & ~reached[tail]]):
            reached[new] = True
        return reached


# ----------------------------------------------------------- a smaller problem of the same optimum
#
# * A block outside the optimum with no bound on area is not in the optimum with one: the time is
#   submodular. Leaving the block out therefore costs nothing and frees area.
# * A block larger than the accelerator stays on the CPU.
# * If a moved block always gains by going back to the CPU unless a certain neighbour is moved too,
#   it is moved only with that neighbour. Blocks that so require each other, in a circle, are one.
#
# The smallest of the optima has all three properties at once.

_LARGEST = 64  # nodes of a set whose pairs are looked at


def reduce_problem(problem: PartitionProblem, size: float) -> PartitionProblem:
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
