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

    Of the blocks that still fit and whose move alone saves time, the one that saves most for each
    instruction is moved, until there is none; the first of equals.
    """
    count = len(problem)
    gain = -problem.cost
    np.subtract.at(gain, problem.second, problem.inward)
    np.subtract.at(gain, problem.first, problem.outward)
    # once a node is moved, each neighbour no longer pays for it and pays no more for staying
    both = np.concatenate([problem.inward + problem.outward] * 2)
    ends = np.concatenate([problem.first, problem.second])
    others = np.concatenate([problem.second, problem.first])
    order = np.argsort(ends, kind="stable")
    start = np.searchsorted(ends[order], np.arange(count + 1))
    area = problem.area.astype(np.float64)
    chosen = np.zeros(count, bool)
    left = float(size)
    while True:
        open_ = ~chosen & (gain > 0) & (area <= left)
        if not open_.any():
            return chosen
        ratio = np.full(count, -np.inf)
        with np.errstate(divide="ignore"):
            np.divide(gain, area, out=ratio, where=open_)
        node = int(ratio.argmax())
        chosen[node] = True
        left -= area[node]
        touched = order[start[node] : start[node + 1]]
        gain[others[touched]] += both[touched]
