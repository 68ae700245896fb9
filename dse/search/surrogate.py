"""The surrogate of guided search: values that kriging expects of designs, and their errors.

Each objective, and each constraint that a model feeds and that a design broke, has a `Kriging` over
the axes that affect it. It learns from the designs nearest to the front. Objectives are seen in the
logarithm if they are positive, and constraints by the inverse hyperbolic sine of their violation.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import LinAlgError, cho_factor, cho_solve, solve_triangular
from scipy.optimize import minimize
from scipy.special import ndtr

from dse.evaluate.evaluator import Evaluated, Evaluator
from dse.evaluate.front import is_nondominated
from dse.model.quantity import Array
from dse.search.axes import Axes, Places, find_directions

Rows = NDArray[np.int64]

_MAX_LEARNED = 400  # designs that a kriging learns from: its cost grows with the third power
_MAX_COMPARED = 200  # front designs that declarations compare with a neighbour
_LEARN_AGAIN = 1.6  # lengths are learned again once there are so many times the designs
_BLOCK = 256  # designs compared with a front at once
_INFEASIBLE = 0.02  # of the front's width: how much further from the front infeasible designs count
_ROUNDING = 1e-9  # relative; declarations are true up to rounding


class Surrogate:
    """A prediction of objectives and violations from evaluated designs.

    Attributes
    ----------
    lengths : ndarray, shape (objectives + constraints + 1, axes + 1)
        What was learned, here or in an earlier session, of each objective, each constraint, and of
        where objectives have values; NaN for nothing.
    learned_from : int
        From how many designs.
    front : ndarray of int
        The rows of the front.
    points, width : ndarray, shape (front, objectives) and (objectives,)
        The front, less being better, on the scale of `learning_scale`, and its width there.
    """

    def __init__(
        self, evaluator: Evaluator, axes: Axes, lengths: Array | None, learned_from: int
    ) -> None:
        self._evaluator, self._axes = evaluator, axes
        known = [c.name for c in evaluator.prefilter().constraints]
        self._fed = [k for k, c in enumerate(evaluator.constraints) if c.name not in known]
        self._directions = [
            find_directions(evaluator, axes, o.quantity, o.conditions) for o in evaluator.objectives
        ]
        self._affecting = [direction != 0 for direction in self._directions]
        for constraint in evaluator.constraints:
            each = [
                find_directions(evaluator, axes, name, constraint.conditions) != 0
                for name in constraint.names
            ]
            self._affecting.append(np.any(each, axis=0))
        self._affecting.append(np.any(self._affecting[: len(self._directions)], axis=0))
        shape = (len(self._affecting), len(axes.all) + 1)
        self.lengths = np.full(shape, np.nan) if lengths is None else lengths.copy()
        self.learned_from = learned_from
        self.front: Rows = np.zeros(0, dtype=np.int64)

    def learn(self, places: Places, evaluated: Evaluated, rng: np.random.Generator) -> None:
        """Learn from all evaluated designs, given as places with their values."""
        signs = self._evaluator.signs
        points = evaluated.objectives * signs
        inside = np.flatnonzero(evaluated.feasible)
        self.front = inside[is_nondominated(points[inside])]
        self._places, self._values = places, learning_scale(points, signs)
        self.points = self._values[self.front]
        self.width = np.ones(points.shape[1])
        if len(self.front):
            self.width = np.maximum(np.ptp(self.points, axis=0), 1e-12)
        violations = self._violations(evaluated)
        self._order = self._nearest_first(evaluated, violations)
        rows = self._order[:_MAX_LEARNED]
        again = len(places) >= _LEARN_AGAIN * self.learned_from
        columns, owners = self._axes.columns(places[rows])
        self._krigings: dict[int, Kriging] = {}
        for output, all_values in self._outputs(violations):
            values = all_values[rows]
            known = np.isfinite(values)
            if known.sum() < 2 or np.ptp(values[known]) == 0:
                continue
            sample = columns[known], values[known], owners
            start = None if np.isnan(self.lengths[output]).any() else self.lengths[output]
            if again or start is None:
                self.lengths[output] = learn_lengths(*sample, self._affecting[output], start, rng)
            self._krigings[output] = Kriging(*sample, self.lengths[output])
        self.learned_from = len(places) if again else self.learned_from

    def nearest(self, count: int) -> Rows:
        """Return the rows of the designs nearest to the front, or to being feasible."""
        return self._order[:count]

    def predict(self, places: Places) -> Prediction:
        """Return the expected objectives of designs, their errors and P(feasible)."""
        columns, _ = self._axes.columns(places)
        count = len(self._directions)
        mean = np.tile(np.nan_to_num(self._values[self._order[0]]), (len(places), 1))
        objectives: dict[int, Expected] = {}
        violations = []
        for output, kriging in self._krigings.items():
            expected = kriging.predict(columns)
            if output < count:
                mean[:, output], objectives[output] = expected.mean, expected
            else:
                violations.append(expected)
        return Prediction(mean, objectives, violations)

    def are_dominated(self, places: Places) -> NDArray[np.bool_]:
        """Return which designs a front design dominates or equals, by the models' declarations."""
        if any(np.isnan(direction).all() for direction in self._directions):
            return np.zeros(len(places), dtype=bool)
        bounds = np.full((len(places), len(self._directions)), -np.inf)
        rows = self._order[:_MAX_COMPARED]
        signs = self._evaluator.signs
        for i, (direction, sign) in enumerate(zip(self._directions, signs, strict=True)):
            value = self._values[rows, i]
            below = np.ones((len(places), len(rows)), dtype=bool)
            for k in np.flatnonzero(direction != 0):
                ahead = places[:, k, None] - self._places[rows, k]
                below &= ahead == 0 if np.isnan(direction[k]) else ahead * sign * direction[k] >= 0
            bounds[:, i] = np.where(below & np.isfinite(value), value, -np.inf).max(axis=1)
        slack = _ROUNDING * np.maximum(self.width, 1.0)
        return np.asarray(distance_beyond(bounds + slack, self.points, self.width) <= 0.0)

    def _violations(self, evaluated: Evaluated) -> Array:
        """Return violations of the constraints that models feed, NaN for other constraints."""
        violations = self._evaluator.violations(evaluated.constrained)
        violations[:, np.setdiff1d(np.arange(violations.shape[1]), self._fed)] = np.nan
        return violations

    def _outputs(self, violations: Array) -> Iterator[tuple[int, Array]]:
        """Yield the outputs to learn, each with its values; NaN where there is none."""
        count = len(self._directions)
        for i in range(count):
            yield i, self._values[:, i]
        broken = violations > 0
        for k in self._fed:
            others = [j for j in self._fed if broken[:, j].sum() + (j < k) > broken[:, k].sum()]
            covered = any((broken[:, j] | ~broken[:, k]).all() for j in others if j != k)
            if broken[:, k].any() and not covered:  # an equivalent constraint is not learned
                finite = violations[np.isfinite(violations[:, k]), k]
                scale = np.median(np.abs(finite)) or 1.0
                yield count + k, np.arcsinh(np.clip(violations[:, k] / scale, -1e9, 1e9))
        undefined = np.isnan(self._values).any(axis=1)
        if undefined.any():
            yield len(self._affecting) - 1, np.where(undefined, 1.0, -1.0)

    def _nearest_first(self, evaluated: Evaluated, violations: Array) -> Rows:
        """Order designs by how far they are from the front, or from being feasible."""
        if len(self.front):
            values = np.where(np.isnan(self._values), np.nanmax(self._values, axis=0), self._values)
            distance = np.where(evaluated.feasible, 0.0, _INFEASIBLE)
            distance -= distance_beyond(values, self.points, self.width)
        else:
            broken = np.where(np.isnan(violations), 0.0, np.maximum(violations, 0.0))
            scale = np.where(np.isfinite(broken), broken, 0.0).max(axis=0)
            distance = (broken / np.where(scale > 0, scale, 1.0)).sum(axis=1)
            distance = distance + np.isnan(self._values).any(axis=1)
        return np.argsort(distance, kind="stable")


class Prediction:
    """The expected objectives of designs on the scale of `Surrogate.points`, and P(feasible).

    Objectives that kriging has not learned have the same mean for all designs. Violations are those
    of the constraints that some design broke.
    """

    def __init__(
        self, mean: Array, objectives: Mapping[int, Expected], violations: Sequence[Expected]
    ) -> None:
        self.mean, self._learned, self._violations = mean, objectives, violations

    @property
    def feasible(self) -> Array:
        """The probability that each design is feasible."""
        feasible = np.ones(len(self.mean))
        for expected in self._violations:
            feasible *= ndtr(-expected.mean / np.maximum(expected.error, 1e-12))
        return feasible

    @property
    def error(self) -> Array:
        """The errors, shape (designs, objectives)."""
        error = np.zeros_like(self.mean)
        for k, expected in self._learned.items():
            error[:, k] = expected.error
        return error

    def select(self, row: int) -> None:
        """Reduce the errors as if a design had its expected values."""
        for expected in (*self._learned.values(), *self._violations):
            expected.select(row)


def learning_scale(points: Array, signs: Array) -> Array:
    """Return objectives, less being better, on the scale on which they are learned.

    In the logarithm if all are positive; infinities a tenth of the range beyond the others.
    """
    scaled = np.empty_like(points)
    for i, sign in enumerate(signs):
        value = points[:, i] * sign
        finite = value[np.isfinite(value)]
        with np.errstate(all="ignore"):
            column = sign * np.log(value) if len(finite) and finite.min() > 0 else points[:, i]
        inside = column[np.isfinite(column)]
        low, high = (inside.min(), inside.max()) if len(inside) else (0.0, 0.0)
        margin = 0.1 * (high - low)
        scaled[:, i] = np.clip(column, low - margin, high + margin)
    return scaled


def distance_beyond(points: Array, front: Array, width: Array) -> Array:
    """Return how far points are beyond a front, as a fraction of its width.

    By so much a point is better than each design of it in one objective at least; 0 or less if a
    design dominates or equals it. The width may differ between points.
    """
    distance, width = np.empty(len(points)), np.broadcast_to(width, points.shape)
    for low in range(0, len(points), _BLOCK):
        rows = slice(low, low + _BLOCK)
        lead = np.full((len(points[rows]), len(front)), -np.inf)
        for k in range(points.shape[1]):  # reducing so short an axis takes ten times as long
            gaps = (front[:, k] - points[rows, k, None]) / width[rows, k, None]
            np.maximum(lead, gaps, out=lead)
        distance[rows] = lead.min(axis=1, initial=np.inf)
    return distance


# ------------------------------------------------------------------------------------- kriging

_MAX_FITTED = 160  # designs that lengths are learned from: the cost grows with the third power
_MAX_ITERATIONS = 25  # of the optimizer
_JITTER = 1e-8
_MIN_LEFT = 1e-10  # of the variance at a point
_START, _NOISE = -0.5, -9.0  # logarithms of inverse lengths and of the noise's variance


class Kriging:
    """A prediction of values at other points from values at some points, with its uncertainty.

    A Gaussian process with a Matern kernel, as smooth as twice differentiable functions, and a
    length for each axis: the shorter, the more the values change along it (Rasmussen and Williams,
    Gaussian Processes for Machine Learning, 2006, sections 2.2, 4.2, 5.4).

    Points have the shape (points, columns); `owners` has the axis of each column, and `lengths` is
    as `learn_lengths` returns it.
    """

    def __init__(
        self, points: Array, values: Array, owners: NDArray[np.int64], lengths: Array
    ) -> None:
        self._scale = np.exp(lengths[:-1])[owners]
        self._mean, self._spread = values.mean(), values.std() or 1.0
        self._points = points * self._scale
        matrix = _kernel(_square_distances(self._points, self._points))[0]
        self._noise = float(np.exp(lengths[-1])) + _JITTER
        matrix[np.diag_indices_from(matrix)] += self._noise
        self._factor = cho_factor(matrix, lower=True, check_finite=False)
        unit = (values - self._mean) / self._spread
        self._weights = cho_solve(self._factor, unit, check_finite=False)
        self._variance = max(float(unit @ self._weights) / len(values), 1e-9)

    def predict(self, points: Array) -> Expected:
        """Return the expected values at other points."""
        scaled = points * self._scale
        near = _kernel(_square_distances(scaled, self._points))[0]
        explained = solve_triangular(self._factor[0], near.T, lower=True, check_finite=False)
        left = np.maximum(1.0 - np.einsum("ij,ij->j", explained, explained), _MIN_LEFT)
        mean = self._mean + self._spread * (near @ self._weights)
        scale = self._spread * np.sqrt(self._variance)
        return Expected(mean, scaled, explained, left, scale, self._noise)


class Expected:
    """The expected values of points, and their errors, given the points that were selected.

    Attributes
    ----------
    mean : ndarray, shape (points,)
    """

    def __init__(
        self, mean: Array, points: Array, explained: Array, left: Array, scale: float, noise: float
    ) -> None:
        self.mean = mean
        self._points, self._explained, self._left = points, explained, left
        self._scale, self._noise = scale, noise
        self._selected: list[Array] = []

    @property
    def error(self) -> Array:
        """The standard deviations, shape (points,)."""
        return np.asarray(self._scale * np.sqrt(self._left))

    def select(self, row: int) -> None:
        """Reduce the errors as if a point was evaluated, with its expected value.

        The errors of a Gaussian process do not depend on the values (Rasmussen and Williams,
        equation 2.26). The point is one more row of the triangular factor.
        """
        kernel = _kernel(_square_distances(self._points, self._points[row : row + 1]))[0][:, 0]
        rest = kernel - self._explained[:, row] @ self._explained
        for before in self._selected:
            rest -= before[row] * before
        more = rest / np.sqrt(self._left[row] + self._noise)
        self._selected.append(more)
        self._left = np.maximum(self._left - more**2, _MIN_LEFT)


def learn_lengths(
    points: Array,
    values: Array,
    owners: NDArray[np.int64],
    used: NDArray[np.bool_],
    start: Array | None,
    rng: np.random.Generator,
) -> Array:
    """Return the most likely logarithms of inverse lengths, one per axis, and of the noise.

    Axes that are not `used` do not change the values, and get the length infinity. The optimizer
    starts at the lengths of before. Of many points, some drawn at random are learned from.
    """
    rows = rng.permutation(len(points))[:_MAX_FITTED]
    values = values[rows] - values[rows].mean()
    values = values / (values.std() or 1.0)
    axes = np.flatnonzero(used)
    columns = (points[np.ix_(rows, owners == axis)] for axis in axes)
    squares = np.array([_square_distances(column, column) for column in columns])
    lengths = np.full(len(used) + 1, -np.inf)
    lengths[-1] = _NOISE
    first = np.append(np.full(len(axes), _START), _NOISE)
    if start is not None:
        first = np.append(np.maximum(start[axes], -5.0), start[-1])
    if len(axes):
        optimum = minimize(
            negative_log_likelihood,
            first,
            args=(squares, values),
            jac=True,
            method="L-BFGS-B",
            bounds=[(-5.0, 4.0)] * len(axes) + [(-18.0, -2.0)],
            options={"maxiter": _MAX_ITERATIONS},
        )
        lengths[axes], lengths[-1] = optimum.x[:-1], optimum.x[-1]
    return lengths


def negative_log_likelihood(lengths: Array, squares: Array, values: Array) -> tuple[float, Array]:
    """Return the negative log-likelihood of values, up to a constant, and its gradient.

    The lengths (axes + 1,) are the logarithms of inverse lengths and of the noise's variance, the
    squares (axes, points, points) squared distances of the points along each axis.
    """
    weights, noise, count = np.exp(2.0 * lengths[:-1]), np.exp(lengths[-1]), len(values)
    matrix, slope = _kernel(np.tensordot(weights, squares, 1))
    matrix[np.diag_indices(count)] += noise + _JITTER
    try:
        factor = cho_factor(matrix, lower=True, check_finite=False)
    except LinAlgError:
        return 1e10, np.zeros_like(lengths)
    inverse = cho_solve(factor, np.eye(count), check_finite=False)
    solved = inverse @ values
    variance = max(float(values @ solved) / count, 1e-12)
    surplus = np.outer(solved, solved) / variance - inverse
    gradient = np.tensordot(squares, slope * surplus, 2)
    prior = (lengths[:-1] - _START) / 4.0
    slopes = np.append(prior - weights * gradient, -0.5 * np.trace(surplus) * noise)
    unlikely = 0.5 * count * np.log(variance) + np.log(np.diag(factor[0])).sum()
    return float(unlikely + 2.0 * (prior**2).sum()), slopes


def _square_distances(one: Array, other: Array) -> Array:
    sums = (one**2).sum(axis=1)[:, None] + (other**2).sum(axis=1)[None]
    return np.asarray(np.maximum(sums - 2.0 * one @ other.T, 0.0))


def _kernel(squares: Array) -> tuple[Array, Array]:
    """Return the Matern 5/2 kernel of squared distances, and its derivative."""
    far = np.sqrt(5.0 * squares)
    fall = np.exp(-far)
    return (1.0 + far + far * far / 3.0) * fall, (-5.0 / 6.0) * (1.0 + far) * fall
