"""How far to trust a law: points left out, outliers, kinks, crossings as measured."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
from scipy import stats

from dse.fit.law import COORDINATES, Law, Mask, Points, times
from dse.fit.series import Series
from dse.fit.solve import solve
from dse.model.quantity import Array
from dse.model.values import listed, show

WILD = 4.0
"""Standard deviations from which a point is called an outlier."""
_FEWEST = 6  # sizes in which a kink can be told from noise
_SURE = 0.001  # chance of a kink in times that have none
_SEEN = 0.02  # relative: a smaller kink is not worth a word


class Errors(NamedTuple):
    """Relative errors T/t − 1 of a law at the points of a table.

    Attributes
    ----------
    inside : ndarray, shape (points,)
        Of the law that all points are in.
    left_out : ndarray, shape (points,)
        Of the law that the point's size is not in.
    """

    inside: Array
    left_out: Array


def errors(points: Points, weight: Array, law: Law, at: Array) -> Errors:
    """Return the errors of the law of one table; each size is left out in turn, in both columns.

    Parameters
    ----------
    points : Points
        Of one table.
    weight : ndarray, shape (1, points)
    law : Law
        The terms; they are kept.
    at : ndarray, shape (7,)
        The law of all points.
    """
    sizes, which = np.unique(points.size[0], return_inverse=True)
    count = len(sizes)
    many = points.take(np.zeros(count, dtype=np.int64))
    start = np.tile(at, (count, 1))
    out = which == np.arange(count)[:, None]
    kept = np.where(out, 0.0, weight)
    free = np.broadcast_to(np.array(law.free), (count, COORDINATES))
    found, _ = solve(many, kept, start, free)
    told = times(found, many.size, many.returned, many.accelerated)[0]
    own = times(at[None], points.size, points.returned, points.accelerated)[0][0]
    of_size = told[which, np.arange(len(which))]
    return Errors(own / points.time[0] - 1.0, of_size / points.time[0] - 1.0)


def wild(points: Points, scale: Array, inside: Array) -> Iterator[str]:
    """Yield a sentence on points that the law is far from, against the noise."""
    for i, (word, column) in enumerate(_columns(points)):
        if not column.any():
            continue
        noise = max(float(scale[i]), 1e-6)
        far = np.flatnonzero(column & (np.abs(inside) > WILD * noise))
        if far.size:
            shown = [
                f"{show(points.size[0, k], 'B')} ({-inside[k] / (1 + inside[k]):+.0%})"
                for k in far[:3]
            ]
            more = f" and {far.size - 3} more" if far.size > 3 else ""
            yield (
                f"{word}: outlier{'s' if far.size > 1 else ''} at {listed(shown)}{more}, "
                "which count little"
            )


def kinks(points: Points, inside: Array) -> Iterator[str]:
    """Yield a sentence on each column in which a step or a bend is beyond noise.

    The errors are set against a step and a change of slope at each size; the best is told if its
    F-test, times the sizes tried, is below 0.001.
    """
    for word, column in _columns(points):
        sizes = np.unique(points.size[0, column])
        if len(sizes) < _FEWEST:
            continue
        x = np.log(points.size[0, column])
        y = -np.log1p(inside[column])
        best = min((*_split(x, y, np.log(size)), size) for size in sizes[2:-1])
        chance, explained, size = best
        if chance * (len(sizes) - 3) < _SURE and explained > _SEEN:
            before = sizes[np.searchsorted(sizes, size) - 1]
            yield (
                f"{word}: a kink between {show(before, 'B')} and {show(size, 'B')}, "
                f"{explained:.0%} of the time: a cache, a threshold, a second code path, "
                "or several requests in flight? Fit the sizes on each side by themselves"
            )


def _split(x: Array, y: Array, at: float) -> tuple[float, float]:
    """Return the chance of a step and bend at a place by noise alone, and how much it explains."""
    smooth = np.column_stack([np.ones_like(x), x])
    after = x >= at - 1e-9
    bent = np.column_stack([smooth, after, np.where(after, x - at, 0.0)])
    fits = [m @ np.linalg.lstsq(m, y, rcond=None)[0] for m in (smooth, bent)]
    plain, better = (float(((y - fit) ** 2).sum()) for fit in fits)
    freedom = len(x) - 4
    if freedom < 1 or better >= plain:
        return 1.0, 0.0
    ratio = (plain - better) / 2 / max(better / freedom, 1e-24)
    return float(stats.f.sf(ratio, 2, freedom)), float(np.ptp(fits[1]))


def _columns(points: Points) -> tuple[tuple[str, Mask], ...]:
    on_device = points.accelerated[0]
    return ("host", ~on_device), ("accelerated", on_device)


def measured_crossings(series: Series) -> list[float]:
    """Return the sizes at which the measured times cross: straight lines between neighbours.

    Of repeats the median counts.
    """
    common = np.unique(series.size[np.isfinite(series.host) & np.isfinite(series.accelerated)])
    ahead = np.array(
        [
            np.nanmedian(series.accelerated[series.size == size])
            - np.nanmedian(series.host[series.size == size])
            for size in common
        ]
    )
    found = []
    for i in np.flatnonzero(np.sign(ahead[1:]) != np.sign(ahead[:-1])):
        share = ahead[i] / (ahead[i] - ahead[i + 1])
        found.append(float(common[i] + share * (common[i + 1] - common[i])))
    return found
