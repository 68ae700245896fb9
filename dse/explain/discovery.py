"""First-order Sobol indices of uncertain inputs, and boxes of samples in which a design fails.

Both are taken from samples that are at hand: no model is run again.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from dse.model.quantity import Array

_BINS, _FEWEST = 16, 8  # parts of the samples, and samples in a part
_PEEL = 0.1  # share of the samples in a box that one cut takes away
_SUPPORT = 0.05  # share of all samples that a box has at least
_PURE = 0.98  # a box is not cut further if so many of its samples fail
_WORSE = 0.02  # by which a side must raise the share that fails, or it is left out


def sobol_indices(inputs: Mapping[str, Array], values: Array) -> dict[str, float]:
    """Return the first-order Sobol index of each input: its own fraction of the variance.

    The first-order sensitivity index (Sobol 1993), estimated from the samples themselves: they are
    cut into parts of equal count along the input, and the variance between the parts' means, less
    the part of chance, is compared with the whole (analysis of variance).

    Parameters
    ----------
    inputs : mapping of str to ndarray, shape (samples,)
    values : ndarray, shape (samples,)
        Draws without a finite value are left out.

    Returns
    -------
    dict of str to float
        The greatest first; empty if the values do not vary.
    """
    known = np.isfinite(values)
    y = values[known]
    bins = int(min(_BINS, len(y) // _FEWEST))
    if bins < 2 or not np.ptp(y) > 1e-12 * np.abs(y).max():
        return {}
    y = (y - y.mean()) / np.abs(y - y.mean()).max()  # squares then neither overflow nor vanish
    found = {name: _share(x[known], y, bins) for name, x in inputs.items()}
    return dict(sorted(found.items(), key=lambda item: -item[1]))


def _share(x: Array, y: Array, bins: int) -> float:
    if not np.ptp(x) > 0:
        return 0.0
    parts = np.array_split(y[np.argsort(x, kind="stable")], bins)
    sizes = np.array([len(part) for part in parts])
    means = np.array([part.mean() for part in parts])
    within = sum(((part - part.mean()) ** 2).sum() for part in parts) / (len(y) - bins)
    between = (sizes * (means - y.mean()) ** 2).sum() / (bins - 1)
    explained = max(0.0, (between - within) / sizes.mean())
    return float(explained / (explained + within))


@dataclass(frozen=True)
class Side:
    """One side of a box: an input is at least `low` and at most `high`; infinite if it is open."""

    input: str
    unit: str
    low: float
    high: float


@dataclass(frozen=True)
class Box:
    """Where something fails: a few inputs, each between two numbers.

    Parameters
    ----------
    sides : tuple of Side
        The inputs that matter.
    density : float
        The share of the samples in the box that fail.
    coverage : float
        The share of all that fail that is in it.
    """

    sides: tuple[Side, ...]
    density: float
    coverage: float


def find_failure_box(
    inputs: Mapping[str, tuple[str, Array]], fails: NDArray[np.bool_]
) -> Box | None:
    """Return a box of the inputs in which most samples fail; None if none or all of them do.

    Found by peeling (PRIM; Friedman and Fisher 1999): the end of one input whose removal raises
    the share that fails most is cut off, a tenth of the samples at a time; then each side without
    which the share is as high is left out.

    Parameters
    ----------
    inputs : mapping of str to (str, ndarray)
        By name: unit, and values (samples,).
    """
    if not fails.any() or fails.all():
        return None
    table = {name: values for name, (_, values) in inputs.items() if np.ptp(values) > 0}
    ends = {name: [-np.inf, np.inf] for name in table}
    least = max(2, int(np.ceil(_SUPPORT * len(fails))))
    while True:
        inside = _inside(table, ends)
        if fails[inside].mean() >= _PURE:
            break
        cut = _best_cut(table, fails, inside, least)
        if cut is None:
            break
        name, side, end = cut
        ends[name][side] = end
    kept = _pasted(table, ends, fails)
    inside = _inside(table, kept)
    sides = tuple(Side(n, inputs[n][0], low, high) for n, (low, high) in kept.items())
    if not sides:
        return None
    return Box(sides, float(fails[inside].mean()), float(fails[inside].sum() / fails.sum()))


def _inside(table: Mapping[str, Array], ends: Mapping[str, list[float]]) -> NDArray[np.bool_]:
    found = np.ones(len(next(iter(table.values()))), dtype=bool)
    for name, (low, high) in ends.items():
        found &= (table[name] >= low) & (table[name] <= high)
    return found


def _best_cut(
    table: Mapping[str, Array], fails: NDArray[np.bool_], inside: NDArray[np.bool_], least: int
) -> tuple[str, int, float] | None:
    """Return the input, the side and the new end that raise the share that fails most."""
    best, found = float(fails[inside].mean()), None
    for name, values in table.items():
        here = np.sort(values[inside])
        drop = max(1, int(_PEEL * len(here)))
        if len(here) - drop < least:
            continue
        for side, end in ((0, here[drop]), (1, here[-drop - 1])):
            left = inside & ((values >= end) if side == 0 else (values <= end))
            if left.sum() >= least and left.sum() < inside.sum():
                share = float(fails[left].mean())
                if share > best:
                    best, found = share, (name, side, float(end))
    return found


def _pasted(
    table: Mapping[str, Array], ends: Mapping[str, list[float]], fails: NDArray[np.bool_]
) -> dict[str, list[float]]:
    """Return the sides that matter."""
    kept = {name: list(each) for name, each in ends.items()}
    for name in list(kept):
        for side, open_ in ((0, -np.inf), (1, np.inf)):
            if not np.isinf(kept[name][side]):
                wider = {n: list(each) for n, each in kept.items()}
                wider[name][side] = open_
                share = fails[_inside(table, kept)].mean()
                if fails[_inside(table, wider)].mean() >= share - _WORSE:
                    kept = wider
    return {n: each for n, each in kept.items() if not np.isinf(each).all()}
