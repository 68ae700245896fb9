"""Many small robust least-squares problems at once.

`scipy.optimize.least_squares` solves one; an interval takes a hundred such fits, and the proof that
the intervals are true takes thousands of tables. So this is Levenberg's and Marquardt's method over
arrays, each problem with its own damping; a test holds it to scipy's answers.

The residual of a time t under a law T is 2 (√(t/T) − 1): the relative error to first order, and
hardly biased whether errors are normal or log-normal. Beyond `HUBER` standard deviations it counts
linearly (Huber's loss), so that a few wild points do not carry the fit away.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from dse.fit.law import COORDINATES, EXPONENT, Mask, Points, times
from dse.model.quantity import Array

HUBER = 2.5
"""Standard deviations from which an error counts linearly: 99 % efficient on normal errors."""
LEAST_EXPONENT, MOST_EXPONENT = 0.02, 3.0
_FEWEST, _LOWEST, _HIGHEST = 1e-13, -100.0, 100.0
_STEPS = 120

Rows: TypeAlias = NDArray[np.int64]
Pin: TypeAlias = Callable[[Array, Rows], tuple[Array, Array]]
"""What a law must make zero: from laws and the rows that they are of, the value and its slopes."""


def residuals(points: Points, at: Array, weight: Array) -> tuple[Array, Array]:
    """Return residuals in standard deviations, and their slopes in the coordinates.

    Parameters
    ----------
    points : Points
    at : ndarray, shape (tables, 7)
    weight : ndarray, shape (tables, points)
        One over the standard deviation; 0 for a point that does not count.
    """
    total, slopes = times(at, points.size, points.returned, points.accelerated)
    root = np.sqrt(points.time / total)
    return 2.0 * (root - 1.0) * weight, slopes * (-root * weight)[..., None]


def loss(errors: Array) -> Array:
    """Return Huber's loss, the square near zero.

    >>> loss(np.array([1.0, 4.0])).tolist()
    [1.0, 13.75]
    """
    size = np.abs(errors)
    return np.where(size <= HUBER, errors**2, HUBER * (2.0 * size - HUBER))


@np.errstate(all="ignore")
def solve(
    points: Points, weight: Array, start: Array, free: Mask, pin: Pin | None = None
) -> tuple[Array, Array]:
    """Return the laws of least loss, and the loss of each.

    Parameters
    ----------
    points : Points
    weight : ndarray, shape (tables, points)
    start : ndarray, shape (tables, 7)
        Where to begin; a coordinate that is not free stays.
    free : ndarray of bool, shape (tables, 7)
    pin : callable, optional
        A condition that holds as well, in units of a standard deviation.
    """
    at = start.copy()
    rows = np.arange(len(at), dtype=np.int64)
    cost, slope, curvature = _model(points, weight, at, free, rows, pin)
    best = cost.copy()
    damping = np.full(len(at), 1e-3)
    for _ in range(_STEPS):
        step = _step(slope, curvature, damping)
        tried = _bounded(at[rows] + step)
        part = points.take(rows)
        found = _model(part, weight[rows], tried, free[rows], rows, pin)
        better = found[0] < best[rows]
        gained = best[rows] - found[0]
        settled = np.where(better, gained <= _FEWEST * (1e-9 + best[rows]), damping > 1e9)
        took = rows[better]
        at[took], best[took] = tried[better], found[0][better]
        slope[better], curvature[better] = found[1][better], found[2][better]
        damping = np.where(better, damping * 0.15, damping * 6.0).clip(1e-12, 1e12)
        keep = ~settled
        rows, damping = rows[keep], damping[keep]
        slope, curvature = slope[keep], curvature[keep]
        if not rows.size:
            break
    return at, best


def _model(
    points: Points, weight: Array, at: Array, free: Mask, rows: Rows, pin: Pin | None
) -> tuple[Array, Array, Array]:
    """Return the loss, its slope and Gauss and Newton's curvature in the free coordinates."""
    errors, slopes = residuals(points, at, weight)
    cost = loss(errors).sum(axis=1)
    share = np.minimum(1.0, HUBER / np.maximum(np.abs(errors), 1e-300))
    slopes = np.where(np.isfinite(slopes), slopes, 0.0) * free[:, None, :]
    weighted = slopes * share[..., None]
    slope = np.einsum("bni,bn->bi", weighted, errors)
    curvature = np.matmul(weighted.transpose(0, 2, 1), slopes)
    if pin is not None:
        value, moves = pin(at, rows)
        moves = np.where(np.isfinite(moves), moves, 0.0) * free
        cost = cost + value**2
        slope = slope + moves * value[:, None]
        curvature = curvature + moves[:, :, None] * moves[:, None, :]
    return np.where(np.isnan(cost), np.inf, cost), slope, curvature


def _step(slope: Array, curvature: Array, damping: Array) -> Array:
    """Return the damped step, at most e² in a positive coordinate and a half in the exponent."""
    diagonal = np.einsum("bii->bi", curvature)
    most = np.maximum(diagonal.max(axis=1, keepdims=True), 1e-300)
    scaled = np.sqrt(np.maximum(diagonal, 1e-14 * most))
    normal = curvature / (scaled[:, :, None] * scaled[:, None, :])
    normal = normal + np.eye(COORDINATES) * (damping[:, None, None] + 1e-14)
    normal = np.where(np.isfinite(normal), normal, np.eye(COORDINATES))
    right = np.where(np.isfinite(slope / scaled), -slope / scaled, 0.0)
    step = np.linalg.solve(normal, right[..., None])[..., 0] / scaled
    longest = np.full(COORDINATES, 2.0)
    longest[EXPONENT] = 0.5
    return np.asarray(np.clip(step, -longest, longest))


def _bounded(at: Array) -> Array:
    """Return laws inside the range of floats; what is absent stays so."""
    inside = np.where(np.isfinite(at), np.clip(at, _LOWEST, _HIGHEST), at)
    inside[:, EXPONENT] = np.clip(at[:, EXPONENT], LEAST_EXPONENT, MOST_EXPONENT)
    return inside
