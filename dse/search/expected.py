"""Expected values of designs that are not evaluated: from evaluated ones and declarations.

Each objective, and each constraint that a model feeds and that a design broke, has a `Kriging` over
the axes that affect it. It learns from the designs nearest to the front. Objectives are seen in the
logarithm if they are positive, and constraints by the inverse hyperbolic sine of their violation.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtr

from dse.evaluate.evaluator import Evaluated, Evaluator
from dse.evaluate.front import is_nondominated
from dse.model.quantity import Array
from dse.search.axes import Axes, Places, reached
from dse.search.kriging import Kriging, learned

_MAX_LEARNED = 400  # designs that a kriging learns from: its cost grows with the third power
_COMPARED = 200  # front designs that declarations compare with a neighbour
_AGAIN = 1.6  # lengths are learned again once there are so many times the designs
_BLOCK = 256  # designs compared with a front at once
_OUTSIDE = 0.02  # of the front's width: how much further from the front infeasible designs count
_MARGIN = 1e-9  # relative; declarations are true up to rounding

Rows = NDArray[np.int64]


class Expected:
    """A prediction of objectives and violations from evaluated designs.

    Parameters
    ----------
    evaluator : Evaluator
        Whose objectives and constraints.
    axes : Axes
        Of its space.
    lengths : ndarray or None
        What an earlier session has learned.
    learned_from : int
        From how many designs.

    Attributes
    ----------
    lengths : ndarray, shape (objectives + constraints + 1, axes + 1)
        What was learned of each objective, each constraint, and of where objectives have values;
        NaN for nothing.
    front : ndarray of int
        The rows of the front.
    """

    def __init__(
        self, evaluator: Evaluator, axes: Axes, lengths: Array | None, learned_from: int
    ) -> None:
        self._evaluator, self._axes = evaluator, axes
        known = [c.name for c in evaluator.prefilter().constraints]
        self._fed = [k for k, c in enumerate(evaluator.constraints) if c.name not in known]
        self._moves = [
            reached(evaluator, axes, o.quantity, o.conditions) for o in evaluator.objectives
        ]
        self._reach = [move != 0 for move in self._moves]
        for constraint in evaluator.constraints:
            moves = [reached(evaluator, axes, n, constraint.conditions) for n in constraint.names]
            self._reach.append(np.any([move != 0 for move in moves], axis=0))
        self._reach.append(np.any(self._reach[: len(self._moves)], axis=0))
        shape = (len(self._reach), len(axes.all) + 1)
        self.lengths = np.full(shape, np.nan) if lengths is None else lengths.copy()
        self.learned_from = learned_from
        self.front: Rows = np.zeros(0, dtype=np.int64)

    def learn(self, places: Places, judged: Evaluated, rng: np.random.Generator) -> None:
        """Learn from all evaluated designs, given as places with their values."""
        signs = self._evaluator.signs
        points = judged.objectives * signs
        inside = np.flatnonzero(judged.feasible)
        self.front = inside[is_nondominated(points[inside])]
        self._places, self._seen = places, shown(points, signs)
        self.points = self._seen[self.front]
        self.width = (
            np.maximum(np.ptp(self._seen[self.front], axis=0), 1e-12)
            if len(self.front)
            else np.ones(points.shape[1])
        )
        violations = self._violations(judged)
        self._order = self._nearest_first(judged, violations)
        rows = self._order[:_MAX_LEARNED]
        again = len(places) >= _AGAIN * self.learned_from
        columns, owners = self._axes.columns(places[rows])
        self._krigings: dict[int, Kriging] = {}
        for output, values in self._values(violations):
            value = values[rows]
            known = np.isfinite(value)
            if known.sum() < 2 or np.ptp(value[known]) == 0:
                continue
            given = columns[known], value[known], owners
            start = None if np.isnan(self.lengths[output]).any() else self.lengths[output]
            if again or start is None:
                self.lengths[output] = learned(*given, self._reach[output], start, rng)
            self._krigings[output] = Kriging(*given, self.lengths[output])
        self.learned_from = len(places) if again else self.learned_from

    def nearest(self, count: int) -> Rows:
        """Return the rows of the designs nearest to the front, or to being feasible."""
        return self._order[:count]

    def __call__(self, places: Places) -> tuple[Array, Array, Array]:
        """Return the objectives expected as `points` has them, their errors, P(feasible)."""
        columns, _ = self._axes.columns(places)
        count = len(self._moves)
        mean = np.tile(np.nan_to_num(self._seen[self._order[0]]), (len(places), 1))
        error = np.zeros_like(mean)
        feasible = np.ones(len(places))
        for output, kriging in self._krigings.items():
            value, deviation = kriging(columns)
            if output < count:
                mean[:, output], error[:, output] = value, deviation
            else:
                feasible *= ndtr(-value / np.maximum(deviation, 1e-12))
        return mean, error, feasible

    def dominated(self, places: Places) -> NDArray[np.bool_]:
        """Return which designs a front design dominates or equals, by the models' declarations."""
        if any(np.isnan(move).all() for move in self._moves):
            return np.zeros(len(places), dtype=bool)
        least = np.full((len(places), len(self._moves)), -np.inf)
        rows = self._order[:_COMPARED]
        signs = self._evaluator.signs
        for i, (move, sign) in enumerate(zip(self._moves, signs, strict=True)):
            value = self._seen[rows, i]
            below = np.ones((len(places), len(rows)), dtype=bool)
            for k in np.flatnonzero(move != 0):
                ahead = places[:, k, None] - self._places[rows, k]
                below &= ahead == 0 if np.isnan(move[k]) else ahead * (sign * move[k]) >= 0
            least[:, i] = np.where(below & np.isfinite(value), value, -np.inf).max(axis=1)
        slack = _MARGIN * np.maximum(self.width, 1.0)
        return np.asarray(beyond(least + slack, self.points, self.width) <= 0.0)

    def _violations(self, judged: Evaluated) -> Array:
        """Return violations of the constraints that models feed, NaN for other constraints."""
        found = self._evaluator.violations(judged.constrained)
        known = np.setdiff1d(np.arange(found.shape[1]), self._fed)
        found[:, known] = np.nan
        return found

    def _values(self, violations: Array) -> Iterator[tuple[int, Array]]:
        """Yield the outputs to learn, each with its values; NaN where there is none."""
        count = len(self._moves)
        for i in range(count):
            yield i, self._seen[:, i]
        broken = violations > 0
        for k in self._fed:
            others = [j for j in self._fed if broken[:, j].sum() + (j < k) > broken[:, k].sum()]
            covered = any((broken[:, j] | ~broken[:, k]).all() for j in others if j != k)
            if broken[:, k].any() and not covered:  # an equivalent constraint is not learned
                finite = violations[np.isfinite(violations[:, k]), k]
                scale = np.median(np.abs(finite)) or 1.0
                yield count + k, np.arcsinh(np.clip(violations[:, k] / scale, -1e9, 1e9))
        nowhere = np.isnan(self._seen).any(axis=1)
        if nowhere.any():
            yield len(self._reach) - 1, np.where(nowhere, 1.0, -1.0)

    def _nearest_first(self, judged: Evaluated, violations: Array) -> Rows:
        """Order designs by how far they are from the front, or from being feasible."""
        if len(self.front):
            values = np.where(np.isnan(self._seen), np.nanmax(self._seen, axis=0), self._seen)
            far = _behind(values, self.points, self.width)
            far = far + np.where(judged.feasible, 0.0, _OUTSIDE)
        else:
            broken = np.where(np.isnan(violations), 0.0, np.maximum(violations, 0.0))
            scale = np.where(np.isfinite(broken), broken, 0.0).max(axis=0)
            far = (broken / np.where(scale > 0, scale, 1.0)).sum(axis=1)
            far = far + np.isnan(self._seen).any(axis=1)
        return np.argsort(far, kind="stable")


def shown(points: Array, signs: Array) -> Array:
    """Return objectives, less being better, on the scale on which they are learned.

    In the logarithm if all are positive; infinities a tenth of the range beyond the others.
    """
    found = np.empty_like(points)
    for i, sign in enumerate(signs):
        value = points[:, i] * sign
        finite = value[np.isfinite(value)]
        with np.errstate(all="ignore"):
            each = sign * np.log(value) if len(finite) and finite.min() > 0 else points[:, i]
        inside = each[np.isfinite(each)]
        low, high = (inside.min(), inside.max()) if len(inside) else (0.0, 0.0)
        beyond_all = 0.1 * (high - low)
        found[:, i] = np.clip(each, low - beyond_all, high + beyond_all)
    return found


def beyond(points: Array, front: Array, width: Array) -> Array:
    """Return how far points are beyond a front, as a fraction of its width.

    By so much a point is better than each design of it in one objective at least; 0 or less if a
    design dominates or equals it.
    """
    found = np.empty(len(points))
    for low in range(0, len(points), _BLOCK):
        gaps = (front - points[low : low + _BLOCK, None]) / width
        found[low : low + _BLOCK] = gaps.max(axis=2).min(axis=1, initial=np.inf)
    return found


def _behind(points: Array, front: Array, width: Array) -> Array:
    """Return how far points are behind a front: by how much all objectives are worse at most."""
    found = np.empty(len(points))
    for low in range(0, len(points), _BLOCK):
        gaps = (points[low : low + _BLOCK, None] - front) / width
        found[low : low + _BLOCK] = gaps.min(axis=2).max(axis=1)
    return found
