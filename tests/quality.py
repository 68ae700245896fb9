"""How much of a known front a search has found."""

from __future__ import annotations

import numpy as np

from dse.evaluate.front import is_nondominated
from dse.model.quantity import Array

_PAIRS = 4_000_000  # compared at once


def recall(found: Array, truth: Array, tolerance: float = 0.0) -> float:
    """Return the share of a true front's distinct points that a found front holds.

    Parameters
    ----------
    found, truth : ndarray, shape (designs, objectives)
        Less is better.
    tolerance : float
        A true point also counts if a found one is worse by at most this share in each objective.
    """
    targets = np.unique(truth, axis=0)
    if len(targets) == 0:
        return 1.0
    if tolerance > 0:
        targets = targets + np.where(np.isfinite(targets), np.abs(targets) * tolerance, 0.0)
    found = found[is_nondominated(found)]
    hits = 0
    rows = max(_PAIRS // max(len(found), 1), 1)
    for start in range(0, len(targets), rows):
        some = targets[start : start + rows]
        reached = np.ones((len(some), len(found)), dtype=bool)
        for i in range(truth.shape[1]):
            reached &= found[:, i] <= some[:, i, None]
        hits += int(reached.any(axis=1).sum())
    return hits / len(targets)
