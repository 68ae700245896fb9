"""Robust least squares in relative error: one table, one law.

The residual of a time t under a law T is 2 (√(t/T) − 1): the relative error to first order, and
hardly biased whether errors are normal or log-normal. From `HUBER` standard deviations it counts
linearly, so that a few wild points do not carry the fit away.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

import numpy as np
from scipy import optimize

from dse.fit.law import (
    EXPONENT,
    FIXED,
    GAIN,
    INDEX,
    PER_BYTE,
    PER_BYTE_OUT,
    SETUP,
    Mask,
    Points,
    times,
)
from dse.model.quantity import Array

HUBER = 2.5
"""Standard deviations from which an error counts linearly: 99 % efficient on normal errors."""
EXPONENTS = 0.02, 3.0
"""The range of the exponent of work."""
_RANGE = 100.0
"""Of the other coordinates, inside the range of floats."""
_VISIBLE = 1e-4  # of the shortest time
_TOLERANCE = 1e-12
"""Of loss and step. At 1e-8, fits stop on the way to an absent term, 1 % off in the noise."""
_MAX_STEPS = 120  # near exact times, rounding keeps the loss from settling
_FIRST_STEP = 0.4  # in each coordinate
Condition: TypeAlias = Callable[[Array], tuple[float, Array]]
"""A value that a law must make zero, in standard deviations, and its slopes in the coordinates."""


def residuals(points: Points, law: Array, weight: Array) -> tuple[Array, Array]:
    """Return residuals in standard deviations, and their slopes in the coordinates.

    Parameters
    ----------
    points : Points
    law : ndarray, shape (7,)
    weight : ndarray, shape (points,)
        One over the standard deviation; 0 for a point that does not count.
    """
    total, slopes = times(law, points.size, points.returned, points.accelerated)
    root = np.sqrt(points.time / total)
    return 2.0 * (root - 1.0) * weight, slopes * (-root * weight)[:, None]


def huber(errors: Array) -> Array:
    """Return Huber's loss, the square near zero.

    >>> huber(np.array([1.0, 4.0])).tolist()
    [1.0, 13.75]
    """
    size = np.abs(errors)
    return np.where(size <= HUBER, errors**2, HUBER * (2.0 * size - HUBER))


def minimize(
    points: Points, weight: Array, start: Array, free: Mask, condition: Condition | None = None
) -> tuple[Array, float]:
    """Return the law of least loss near a start, and its loss.

    Parameters
    ----------
    points : Points
    weight : ndarray, shape (points,)
    start : ndarray, shape (7,)
        A coordinate that is not free stays.
    free : ndarray of bool, shape (7,)
    condition : callable, optional
        It holds as well, as one more residual.
    """
    start = _visible(points, start, free)
    errors, slopes, law, last = np.zeros(0), np.zeros((0, 0)), start, np.full(1, np.nan)

    def evaluate(step: Array) -> Array:
        nonlocal errors, slopes, law, last
        law, last = start.copy(), step.copy()
        law[free] = np.minimum(np.maximum(start[free] + step, -_RANGE), _RANGE)
        law[EXPONENT] = min(max(law[EXPONENT], EXPONENTS[0]), EXPONENTS[1])
        errors, slopes = residuals(points, law, weight)
        if condition is not None:
            value, slope = condition(law)
            errors, slopes = np.append(errors, value), np.vstack([slopes, slope])
        # Roots of Huber's loss, whose slopes stay above zero: SciPy's own loss="huber" has none
        # where all points are far off, as at a rough start with exact times.
        roots = np.copysign(np.sqrt(huber(errors)), errors)
        slopes *= (HUBER / np.maximum(np.abs(roots), HUBER))[:, None]
        return np.nan_to_num(roots)

    def derive(step: Array) -> Array:
        if not np.array_equal(step, last):
            evaluate(step)
        return np.nan_to_num(slopes[:, free])

    if not free.any():
        return start, float((evaluate(np.zeros(0)) ** 2).sum())
    # MINPACK's first step is at most 100 times as long as the start: here about 1, e in a time. A
    # longer one may lead to where all times are infinite, the residuals constant, the slopes zero.
    found = _descend(evaluate, derive, np.full(int(free.sum()), _FIRST_STEP / 100.0))
    if condition is None:
        # The loss may have two valleys. A trust region takes shorter steps from the same start and
        # may end in the lower one.
        careful = optimize.least_squares(evaluate, np.zeros(int(free.sum())), derive)
        other = _descend(evaluate, derive, careful.x)
        found = min(found, other, key=lambda each: float(each.cost))
    evaluate(found.x)
    return law, 2.0 * float(found.cost)


@np.errstate(all="ignore")
def _descend(
    evaluate: Callable[[Array], Array], derive: Callable[[Array], Array], start: Array
) -> optimize.OptimizeResult:
    """Return the end of MINPACK's descent from a start."""
    return optimize.least_squares(
        evaluate,
        start,
        derive,
        method="lm",
        ftol=_TOLERANCE,
        xtol=_TOLERANCE,
        gtol=_TOLERANCE,
        max_nfev=_MAX_STEPS,
    )


def _visible(points: Points, start: Array, free: Mask) -> Array:
    """Return a start whose free terms can be seen in the times: an absent term has no slope."""
    shortest, longest = np.log(_VISIBLE * points.time.min()), float(np.log(points.size.max()))
    visible = start.copy()
    for place, size in ((FIXED, 0.0), (SETUP, 0.0), (PER_BYTE, longest), (PER_BYTE_OUT, longest)):
        visible[place] = max(start[place], shortest - size)
    visible[GAIN] = min(start[GAIN], start[INDEX] + start[EXPONENT] * longest - shortest)
    return np.where(free, visible, start)
