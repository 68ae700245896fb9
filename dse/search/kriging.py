"""Kriging: a prediction from few evaluated designs, with its uncertainty.

A Gaussian process with a Matern kernel, as smooth as twice differentiable functions, and a length
for each axis: the shorter, the more the values move along it. Lengths are the most likely ones
(Rasmussen and Williams, Gaussian Processes for Machine Learning, 2006, sections 2.2, 4.2, 5.4).
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import LinAlgError, cho_factor, cho_solve, solve_triangular
from scipy.optimize import minimize

from dse.model.quantity import Array

_MAX_LEARNED = 160  # designs that lengths are learned from: the cost grows with the third power
_STEPS = 25  # of the optimizer
_JITTER = 1e-8
_START, _NOISE = -0.5, -9.0  # logarithms of inverse lengths and of the noise's variance


class Kriging:
    """A prediction of values at other points from values at some points.

    Parameters
    ----------
    points : ndarray, shape (points, columns)
        Where values are known.
    values : ndarray, shape (points,)
        What they are.
    owners : ndarray of int, shape (columns,)
        The axis of each column.
    lengths : ndarray, shape (axes + 1,)
        As `learned` returns them.
    """

    def __init__(
        self, points: Array, values: Array, owners: NDArray[np.int64], lengths: Array
    ) -> None:
        self._scale = np.exp(lengths[:-1])[owners]
        self._mean, self._spread = values.mean(), values.std() or 1.0
        self._points = points * self._scale
        matrix = _kernel(_apart(self._points, self._points))[0]
        matrix[np.diag_indices_from(matrix)] += np.exp(lengths[-1]) + _JITTER
        self._factor = cho_factor(matrix, lower=True, check_finite=False)
        unit = (values - self._mean) / self._spread
        self._weights = cho_solve(self._factor, unit, check_finite=False)
        self._variance = max(float(unit @ self._weights) / len(values), 1e-9)

    def __call__(self, points: Array) -> tuple[Array, Array]:
        """Return at other points the values expected, and their standard deviations."""
        near = _kernel(_apart(points * self._scale, self._points))[0]
        told = solve_triangular(self._factor[0], near.T, lower=True, check_finite=False)
        left = np.maximum(1.0 - np.einsum("ij,ij->j", told, told), 1e-10)
        mean = self._mean + self._spread * (near @ self._weights)
        return mean, self._spread * np.sqrt(left * self._variance)


def learned(
    points: Array,
    values: Array,
    owners: NDArray[np.int64],
    used: NDArray[np.bool_],
    start: Array | None,
    rng: np.random.Generator,
) -> Array:
    """Return the logarithms of inverse lengths, one per axis, and of the noise's variance.

    Parameters
    ----------
    used : ndarray of bool, shape (axes,)
        The axes along which the values may move; the others get the length infinity.
    start : ndarray or None
        Lengths of before.
    rng : Generator
        Draws the points to learn from, if there are many.
    """
    chosen = rng.permutation(len(points))[:_MAX_LEARNED]
    values = values[chosen] - values[chosen].mean()
    values = values / (values.std() or 1.0)
    axes = np.flatnonzero(used)
    squares = np.array([_apart(p, p) for p in (points[np.ix_(chosen, owners == a)] for a in axes)])
    whole = np.full(len(used) + 1, -np.inf)
    whole[-1] = _NOISE
    first = np.append(np.full(len(axes), _START), _NOISE)
    if start is not None:
        first = np.append(np.maximum(start[axes], -5.0), start[-1])
    if len(axes):
        bounds = [(-5.0, 4.0)] * len(axes) + [(-18.0, -2.0)]
        found = minimize(
            _unlikely,
            first,
            args=(squares, values),
            jac=True,
            method="L-BFGS-B",
            bounds=bounds,
            options={"maxiter": _STEPS},
        )
        whole[axes], whole[-1] = found.x[:-1], found.x[-1]
    return whole


def _unlikely(lengths: Array, squares: Array, values: Array) -> tuple[float, Array]:
    """Return the negative log-likelihood of values, up to a constant, and its gradient."""
    weights, noise, count = np.exp(2.0 * lengths[:-1]), np.exp(lengths[-1]), len(values)
    matrix, slope = _kernel(np.tensordot(weights, squares, 1))
    matrix[np.diag_indices(count)] += noise + _JITTER
    try:
        factor = cho_factor(matrix, lower=True, check_finite=False)
    except LinAlgError:
        return 1e10, np.zeros_like(lengths)
    inverse = cho_solve(factor, np.eye(count), check_finite=False)
    known = inverse @ values
    variance = max(float(values @ known) / count, 1e-12)
    surplus = np.outer(known, known) / variance - inverse
    each = np.tensordot(squares, slope * surplus, 2)
    prior = (lengths[:-1] - _START) / 4.0
    slopes = np.append(prior - weights * each, -0.5 * np.trace(surplus) * noise)
    unlikely = 0.5 * count * np.log(variance) + np.log(np.diag(factor[0])).sum()
    return float(unlikely + 2.0 * (prior**2).sum()), slopes


def _apart(one: Array, other: Array) -> Array:
    """Return squared distances (points, other points)."""
    sums = (one**2).sum(axis=1)[:, None] + (other**2).sum(axis=1)[None]
    return np.asarray(np.maximum(sums - 2.0 * one @ other.T, 0.0))


def _kernel(squares: Array) -> tuple[Array, Array]:
    """Return the Matern 5/2 kernel of squared distances, and its derivative."""
    far = np.sqrt(5.0 * squares)
    fall = np.exp(-far)
    return (1.0 + far + far * far / 3.0) * fall, (-5.0 / 6.0) * (1.0 + far) * fall
