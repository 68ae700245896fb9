"""The paper's partitioner: one block at a time, by gain for each instruction of area.

Source: T. Kenter, M. Platzner, C. Plessl, M. Kauschke, "Performance Estimation for the Exploration
of CPU-Accelerator Architectures", 2010, section II-B.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from objectives.partition.problem import PartitionProblem


def greedy_choice(problem: PartitionProblem, size: float) -> NDArray[np.bool_]:
    """Return the nodes that the greedy partitioner moves to an accelerator of a size.

    Candidates are blocks that still fit and that save time if only they move. The one with the
    largest saving per instruction is moved, until there is none; the first of equals.
    """
    count, sizes = len(problem), problem.sizes
    tie, node = problem.tie, problem.node
    gain = -problem.cost - np.bincount(node, problem.any_cost[tie], minlength=count)
    begin = np.searchsorted(tie, np.arange(len(sizes) + 1))
    order = np.argsort(node, kind="stable")
    start = np.searchsorted(node[order], np.arange(count + 1))
    area = problem.area.astype(np.float64)
    chosen, there = np.zeros(count, bool), np.zeros(len(sizes), np.int64)
    left = float(size)
    while True:
        open_ = ~chosen & (gain > 0) & (area <= left)
        if not open_.any():
            return chosen
        ratio = np.full(count, -np.inf)
        with np.errstate(divide="ignore"):
            np.divide(gain, area, out=ratio, where=open_)
        best = int(ratio.argmax())
        chosen[best] = True
        left -= area[best]
        for each in tie[order[start[best] : start[best + 1]]].tolist():
            there[each] += 1
            inside = node[begin[each] : begin[each + 1]]
            if there[each] == 1:  # the others no longer pay for it
                gain[inside] += problem.any_cost[each]
            if there[each] == sizes[each] - 1:  # the last one completes it
                gain[inside[~chosen[inside]]] += problem.all_gain[each]
