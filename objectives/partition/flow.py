"""Maximum flows in whole numbers of up to 62 bits, by SciPy's, which takes 31.

Capacities are taken a few leading bits at a time. The flow that fits those bits is a flow of the
whole network. Its unsent part is less than one unit of the last bit taken for each arc of a cut.
The next round may therefore take as many bits less. The last one takes them all.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array
from scipy.sparse.csgraph import maximum_flow

from objectives.partition.graph import Indices

_BITS = 29  # SciPy adds flow and capacity in 31


class Network:
    """Arcs between nodes, of which the last two are the source and the sink.

    Parameters
    ----------
    nodes : int
        Source and sink among them.
    tail, head : ndarray of int, shape (arcs,)
        Where arcs begin and end; several between two nodes add up.
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

        Parameters
        ----------
        capacity : ndarray of int, shape (arcs,)
            Of each arc, not negative; between two nodes they sum to less than 2**62.
        """
        source, sink = self.nodes - 2, self.nodes - 1
        free = np.zeros(len(self._row), np.int64)
        np.add.at(free, self._place, capacity)
        ends = (capacity[self.tail == source].sum(), capacity[self.head == sink].sum())
        left = int(min(ends))
        leaving = slice(self._first[source], self._first[source + 1])
        while left:
            shift = max(0, left.bit_length() - _BITS)
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
