"""Maximum flows in whole numbers of up to 62 bits, by SciPy's, which takes 31.

Capacities are taken a few leading bits at a time. The flow that fits those bits is a flow of the
whole network; what it leaves unsent is less than one unit of the last bit taken for each arc of a
cut, so that the next round may take as many bits less. The last one takes them all.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array
from scipy.sparse.csgraph import breadth_first_order, maximum_flow

from objectives.partition.graph import Indices

_BITS = 29  # SciPy adds flow and capacity in 31


def sink_side(
    nodes: int, tail: Indices, head: Indices, capacity: Indices, source: int, sink: int
) -> NDArray[np.bool_]:
    """Return the sink's side of the minimum cut that has the fewest nodes there.

    Parameters
    ----------
    nodes : int
        Source and sink among them.
    tail, head : ndarray of int, shape (arcs,)
        Where arcs begin and end; several between two nodes add up.
    capacity : ndarray of int, shape (arcs,)
        Of each arc, not negative; between two nodes they sum to less than 2**62.
    source, sink : int
        Nodes.
    """
    keys, place = np.unique(
        np.concatenate([tail * nodes + head, head * nodes + tail]), return_inverse=True
    )
    free = np.zeros(len(keys), np.int64)
    np.add.at(free, place[: len(tail)], capacity)
    rows, columns = (keys // nodes).astype(np.int32), (keys % nodes).astype(np.int32)
    first = np.searchsorted(rows, np.arange(nodes + 1)).astype(np.int32)

    def matrix(values: NDArray[np.int32]) -> csr_array:
        return csr_array((values, columns, first), shape=(nodes, nodes))

    left = int(min(capacity[tail == source].sum(), capacity[head == sink].sum()))
    while left:
        shift = max(0, left.bit_length() - _BITS)
        part = (np.minimum(free, left) >> shift).astype(np.int32)
        flow = maximum_flow(matrix(part), source, sink).flow.data.astype(np.int64)
        free -= flow << shift
        left = min(left - (int(flow[rows == source].sum()) << shift), len(keys) << shift)
        if not shift:
            break
    backwards = csr_array(((free > 0).astype(np.int8), (columns, rows)), shape=(nodes, nodes))
    backwards.eliminate_zeros()
    reached = np.zeros(nodes, bool)
    reached[breadth_first_order(backwards, sink, return_predecessors=False)] = True
    return reached
