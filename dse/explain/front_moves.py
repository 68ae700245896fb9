"""How far one front lies from another, as a share of their objectives."""

from __future__ import annotations

import numpy as np

from dse.model.quantity import Array


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
    lost = _lack(before[:, None], after[None])  # what `after` lacks where `before` was
    gained = _lack(after[:, None], before[None])
    return float(max(lost.min(axis=1).mean(), gained.min(axis=1).mean()))


def _lack(wanted: Array, had: Array) -> Array:
    """Return what points lack against wanted ones: the greatest share over objectives."""
    return np.asarray(change(wanted, had).clip(0.0).max(axis=-1))


def change(before: Array, after: Array) -> Array:
    """Return the change from one value to another as a share of the greater of both sizes.

    From −2 to 2; 1 in size if one alone is infinite.
    """
    with np.errstate(all="ignore"):
        size = np.maximum(np.abs(before), np.abs(after))
        share = (after - before) / size
    share = np.where(np.isinf(size), np.where(after > before, 1.0, -1.0), share)
    return np.where(before == after, 0.0, share)
