"""The front over all combinations of one option per kernel, merged kernel by kernel.

The front of k kernels follows from the front of k - 1: F_k = nondominated(F_{k-1} + options_k),
because a dominated part makes a dominated combination (Nemhauser and Ullmann, Discrete Dynamic
Programming and Capital Allocation, Management Science 15(9), 1969). Limits and bounds drop partial
sums that cannot be completed to a point of the front, as in Bazgan, Hugot and Vanderpooten,
Solving efficiently the 0-1 multi-objective knapsack problem, Computers & Operations Research 36(1),
2009.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property, partial
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dse.evaluate.front import find_distinct_front
from dse.model.quantity import Array
from dse.search.bound.cover import Cover, find_factor, relax_points
from dse.search.portfolio.completions import Bounds, Completions, find_completions
from dse.search.portfolio.outer_sum import OuterSum, ToleranceGrid
from dse.search.portfolio.portfolio import Portfolio
from dse.search.workers import Threads

_CAPACITY = 2_000_000
_EXACT = 100_000
_ALONE = Threads()
_DIGITS = 2.0**43
_FIRST_WIDTH = 1e-4
_MAX_WIDTH = (
    500.0  # the logarithm of a tolerance: infinite objectives have none, and `exp` overflows
)
_ROUNDING = 2e-12  # of the largest sum
_SLACK = 1e-11  # of objectives: more than the rounding of sums
_BISECTIONS = 6  # of the tolerance that leaves few enough points: to 1 % of it


@dataclass(frozen=True, eq=False)
class State:
    """The partial sums after some merges."""

    sums: Array
    """Sums over the kernels that are merged. Shape (points, coordinates)."""
    choices: NDArray[np.uint16]
    """The option of each merged kernel, in the order of merging. Shape (points, merged)."""
    kept: NDArray[np.int64]
    """The number of points after each merge. Shape (merged,)."""
    widths: Array
    """The logarithm of one plus the tolerance that each merge used. Shape (merged, coordinates)."""
    strict: NDArray[np.bool_]
    """Whether the merge kept each combination that is within the limits. Shape (merged,)."""

    def to_arrays(self) -> dict[str, NDArray[Any]]:
        """Return the state as arrays, for a checkpoint."""
        return dict(vars(self))

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, NDArray[Any]]) -> State:
        """Return the state that `to_arrays` gave."""
        return cls(**arrays)


class PortfolioFront(NamedTuple):
    """The Pareto front of a portfolio, and the numbers of its certificate.

    For each feasible combination, a point of the front has objectives that are at most higher by
    `proven`. Without a tolerance that is zero: the points are the distinct front.
    If a merge was not `strict`, this holds for the combinations that stay within the limits with
    their sums higher by `tolerance`. If a combination is `undefined`, it does not hold.
    """

    choices: NDArray[np.int64]
    """The option of each kernel, shape (points, kernels); of equal sums the lowest choices."""
    sums: Array
    """Shape (points, coordinates), added in the order of kernels."""
    objectives: Array
    """Shape (points, objectives), ascending."""
    kept: tuple[int, ...]
    """The number of partial sums after each merge."""
    strict: bool
    """Whether the front covers each combination within the limits."""
    undefined: bool
    """Whether models have no value for a combination that may have replaced others."""
    tolerance: Array
    """Of each sum s, as a fraction of max(s, floor)."""
    floors: Array
    """The sums below which the tolerance is a fraction of these values."""
    proven: Array
    """Of each objective f, as a fraction of max(|f|, floor)."""
    objective_floors: Array
    """The objectives below which that is a fraction of these values: of the sums `floors`, or the
    range of an objective that can be negative."""


@dataclass(frozen=True, eq=False)
class Merging:
    """The merges of a portfolio: a step for each kernel, and the front after the last."""

    portfolio: Portfolio
    tolerance: ArrayLike = 0.0
    """The fraction by which a sum of the front may be higher than necessary; see `ToleranceGrid`.
    It is divided over the merges; small ones are `exact`. Shape (coordinates,)."""
    floors: ArrayLike | None = None
    """Positive; for sums below, the tolerance is a fraction of these values. By default the lowest
    positive sum, or the range of sums that can be negative. Shape (coordinates,)."""
    points: int | None = None
    """The front has at most as many points. The tolerance grows as necessary."""
    capacity: int = _CAPACITY
    """A merge keeps at most as many partial sums. The tolerance grows as necessary. A step uses
    about 200 bytes per coordinate for each of them, and 100 MB. In four and more coordinates, time
    grows with them: for a cover, 5 to 10 times `points` are enough."""
    exact: int = _EXACT
    """A merge of at most as many sums uses no tolerance."""
    threads: Threads = _ALONE
    """Who works. The result does not depend on them."""

    @cached_property
    def rows(self) -> tuple[NDArray[np.int64], ...]:
        """The options of each kernel that no other option of the kernel dominates."""
        fronts = []
        for options in self.portfolio.options:
            finite = np.flatnonzero(np.isfinite(options).all(axis=1))
            fronts.append(finite[find_distinct_front(options[finite])])
        return tuple(fronts)

    @cached_property
    def order(self) -> tuple[int, ...]:
        """The order of merging: kernels with many options first, while there are few points."""
        sizes = [len(rows) for rows in self.rows]
        return tuple(sorted(range(len(sizes)), key=lambda kernel: (-sizes[kernel], kernel)))

    @cached_property
    def _options(self) -> list[Array]:
        """The options in `rows`, in the order of merging."""
        return [self.portfolio.options[kernel][self.rows[kernel]] for kernel in self.order]

    @cached_property
    def _completions(self) -> list[Completions]:
        return find_completions(self._options, self.portfolio.ceiling)

    @cached_property
    def _lowest(self) -> Array:
        """The lowest sum of each coordinate, added in the order of kernels: no sum is below."""
        rows = zip(self.portfolio.options, self.rows, strict=True)
        return np.asarray(sum(options[kept].min(axis=0) for options, kept in rows))

    @cached_property
    def _is_paired(self) -> NDArray[np.bool_]:
        """Which coordinates are of a total with two: its values must agree, without a tolerance."""
        every = np.concatenate(self._options)
        pairs = (every[:, :, None] == -every[:, None, :]).all(axis=0) & (every != 0).any(axis=0)
        return np.asarray(pairs.any(axis=0))

    @cached_property
    def _rounding(self) -> Array:
        """The difference of sums that are equal but for the order of their kernels."""
        return np.where(self._is_paired, 0.0, _ROUNDING * self.portfolio.scale)

    @cached_property
    def _floors(self) -> Array:
        whole = self._completions[0]
        floors = _find_floors(np.concatenate(self._options), whole.low, whole.high)
        return np.array(
            np.broadcast_to(floors if self.floors is None else self.floors, floors.shape)
        )

    def start(self) -> State:
        """Return the state before the first merge: the sum of no kernel."""
        coordinates = len(self.portfolio.limits)
        zero, nothing = np.zeros((1, coordinates)), np.zeros((0, coordinates))
        choices, kept = np.zeros((1, 0), np.uint16), np.zeros(0, np.int64)
        return State(zero, choices, kept, nothing, np.zeros(0, np.bool_))

    def step(self, state: State) -> State:
        """Return the state after the merge of the next kernel."""
        stage = len(state.kept)
        before, after = self._completions[stage : stage + 2]
        lower = partial(self._lower, np.expm1(state.widths.sum(axis=0)))
        bounds = Bounds.of(self.portfolio, self._lowest, state.sums, before.samples, lower)
        viable = bounds.viable_rows(state.sums, before.corners)
        sums, earlier = state.sums[viable], state.choices[viable]
        options, rows = self._options[stage], self.rows[self.order[stage]].astype(np.uint16)
        by_kernel = np.argsort(self.order[: stage + 1])

        def choices(parents: NDArray[np.int64], picks: NDArray[np.int64]) -> NDArray[np.uint16]:
            return np.column_stack([earlier[parents], rows[picks]])

        outer = OuterSum(
            sums,
            options,
            lambda values: bounds.viable(values, after.low),
            lambda parents, picks: choices(parents, picks)[:, by_kernel],
            self.threads,
        )
        total = np.where(self._is_paired, 0.0, np.log1p(self.tolerance))
        left = np.maximum(total - state.widths.sum(axis=0), 0) / (len(self.order) - stage)
        widths = np.zeros(len(left)) if len(sums) * len(options) <= self.exact else left
        if stage and (state.widths[-1] > left).any():  # the last merge had too many sums
            widths = np.maximum(widths, state.widths[-1] / 2)
        grid = ToleranceGrid(after.low, self._floors, self.portfolio.limits - after.high, widths)
        weights = np.where(total > 0, total, total.max() or 1.0)  # of all, if sums are too many
        front, used = outer.front(grid, self.capacity, weights)
        return State(
            front.values,
            choices(front.parents, front.picks),
            np.append(state.kept, len(front.parents)),
            np.vstack([state.widths, used.widths]),
            np.append(state.strict, (used.safe == grid.safe).all()),
        )

    def front(self, state: State) -> PortfolioFront:
        """Return the front after the last merge."""
        portfolio = self.portfolio
        choices = state.choices[:, np.argsort(self.order)].astype(np.int64)
        choices = choices[np.lexsort(choices.T[::-1])]
        sums = portfolio.sums(choices)
        objectives, possible = portfolio.judge(sums)
        undefined = possible & np.isnan(objectives).any(axis=1)
        tolerance = np.expm1(state.widths.sum(axis=0))
        replaced = self._ideal(self._lower(tolerance, sums[~possible]) - self._rounding)
        feasible = possible & ~undefined
        choices, sums, objectives = choices[feasible], sums[feasible], objectives[feasible]
        cover = Cover.empty(objectives.shape[1]).added(objectives)
        proven, floors = self._proven(sums, objectives, tolerance)

        def is_covered(slack: Array) -> bool:
            return bool(cover.weakly(relax_points(replaced, slack, slack * floors)).all())

        # near a pole, a design may be far from the best that it replaced, and another one close
        if (proven >= 1).any() or not is_covered(np.maximum(proven, _SLACK)):
            ideal = np.concatenate([self._ideal(self._lower(tolerance, sums)), replaced])
            ideal = ideal[find_distinct_front(ideal)]
            factor = find_factor(cover, ideal, np.ones(len(floors)), floors)
            proven[:] = factor if tolerance.any() else np.inf
        rows = np.flatnonzero(find_distinct_front(_without_last_digits(objectives)))
        if self.points is not None and len(rows) > self.points:
            kept, width = _thin(objectives[rows], self.points, floors)
            rows, proven = rows[kept], (1 + proven) * np.exp(width) - 1
        rows = rows[np.lexsort(objectives[rows].T[::-1])]
        return PortfolioFront(
            choices[rows],
            sums[rows],
            objectives[rows],
            tuple(state.kept.tolist()),
            bool(state.strict.all()),
            bool(undefined.any()),
            tolerance,
            self._floors,
            proven,
            floors,
        )

    def _proven(self, sums: Array, objectives: Array, tolerance: Array) -> tuple[Array, Array]:
        """Return by how much the objectives may be higher than of combinations that sums cover.

        A sum s' covers sums s with s' <= s + e max(s, floor); the lowest of them has the best
        objectives that may be missed.
        """
        if not len(objectives):
            return np.zeros(objectives.shape[1]), np.ones(objectives.shape[1])
        finite = np.isfinite(objectives)
        low = np.where(finite, objectives, np.inf).min(axis=0)
        high = np.where(finite, objectives, -np.inf).max(axis=0)
        floors, _ = self.portfolio.evaluate(np.maximum(self._floors, self._lowest)[None])
        usable = np.isfinite(floors[0]) & (floors[0] > 0) & (objectives >= 0).all(axis=0)
        floors = np.where(usable, floors[0], _find_floors(objectives, low, high))
        lowered = self._lower(tolerance, sums)
        best, _ = self.portfolio.evaluate(np.maximum(lowered, self._lowest))
        excess = np.zeros_like(objectives)
        np.subtract(objectives, best, out=excess, where=objectives != best)
        with np.errstate(invalid="ignore"):  # of a best that is unknown or infinite: no tolerance
            fraction = excess / np.maximum(np.abs(best), floors)
        fraction = np.where(excess == 0, 0.0, np.where(np.isnan(fraction), np.inf, fraction))
        return fraction.max(axis=0), floors

    def _lower(self, tolerance: Array, sums: Array) -> Array:
        """Return the lowest sums that some sums cover."""
        if not tolerance.any():
            return sums
        step = tolerance * self._floors
        return np.where(sums - step > self._floors, sums / (1 + tolerance), sums - step)

    def _ideal(self, lowest: Array) -> Array:
        """Return the best objectives of lowest sums, as far as no constraint excludes them."""
        best, possible = self.portfolio.judge(np.maximum(lowest, self._lowest))
        return np.where(np.isnan(best), -np.inf, best)[possible]


def _without_last_digits(values: Array) -> Array:
    """Return values to 13 significant digits: sums that are equal but for rounding are equal."""
    mantissa, exponent = np.frexp(values)
    return np.asarray(np.ldexp(np.round(mantissa * _DIGITS) / _DIGITS, exponent))


def _find_floors(values: Array, low: Array, high: Array) -> Array:
    """Return the lowest positive value of each column, or its range if it has negative values."""
    positive = np.where(low > 0, low, np.where(values > 0, values, np.inf).min(axis=0))
    with np.errstate(invalid="ignore"):  # infinite values have no range
        floors = np.where(values.min(axis=0) < 0, high - low, positive)
    return np.where(np.isfinite(floors) & (floors > 0), floors, 1.0)


def _thin(objectives: Array, points: int, floors: Array) -> tuple[NDArray[np.bool_], float]:
    """Return which rows cover all others within a tolerance, and the logarithm of one plus it."""
    zero = np.zeros_like(floors)

    def cover(width: float) -> NDArray[np.bool_]:
        grid = ToleranceGrid(zero, floors, zero + np.inf, zero + width)
        return find_distinct_front(grid.keys(objectives))

    low, high = 0.0, _FIRST_WIDTH
    while np.count_nonzero(rows := cover(high)) > points and high < _MAX_WIDTH:
        low, high = high, 2 * high
    for _ in range(_BISECTIONS):
        middle = (low + high) / 2
        fewer = cover(middle)
        if np.count_nonzero(fewer) > points:
            low = middle
        else:
            rows, high = fewer, middle
    return rows, high
