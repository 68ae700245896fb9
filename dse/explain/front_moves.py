"""How far one front lies from another, as a share of their objectives."""

from __future__ import annotations

import numpy as np

from dse.model.quantity import Array

_LEAST = np.finfo(np.float64).smallest_subnormal
"""The size of 0, so that 0 is no change from 0."""


def distance(before: Array, after: Array) -> float:
    """Return by which share the points of one front miss the other, on average; the greater way.

    What a point lacks against another is the greatest share, over the objectives, by which it is
    worse: their difference over the greater of both sizes. Each point of one front is held against
    that point of the other to which it lacks least, or which lacks least to it, as in the modified
    inverted generational distance (IGD+; Ishibuchi et al. 2015), in shares. 0 for equal fronts.

    Parameters
    ----------
    before, after : ndarray, shape (points, objectives)
        Less is better. 1 is returned if one of them has no points, 0 if neither has.
    """
    if not len(before) or not len(after):
        return float(len(before) != len(after))
    return float(max(_lack(before, after).mean(), _lack(after, before).mean()))


def _lack(wanted: Array, had: Array) -> Array:
    """Return what each wanted point lacks where others were had: that to the nearest of them.

    Nothing, if it is one of them.
    """
    there = {*map(tuple, had.tolist())}
    rows = np.array([k for k, one in enumerate(map(tuple, wanted.tolist())) if one not in there])
    found = np.zeros(len(wanted))
    if len(rows):
        worst = np.zeros((len(rows), len(had)))
        for one, other in zip(wanted[rows].T, had.T, strict=True):  # an objective: fewer at once
            np.maximum(worst, change(one[:, None], other[None]), out=worst)
        found[rows] = worst.min(axis=1)
    return found


def change(before: Array, after: Array) -> Array:
    """Return the change from one value to another as a share of the greater of both sizes.

    From −2 to 2; 1 in size if one alone is infinite.
    """
    with np.errstate(all="ignore"):
        size = np.maximum(np.maximum(np.abs(before), _LEAST), np.abs(after))
        share: Array = np.asarray((after - before) / size)
    if np.isinf(before).any() or np.isinf(after).any():
        share = np.where(np.isinf(size), np.where(after > before, 1.0, -1.0), share)
        share = np.where(before == after, 0.0, share)
    return share
