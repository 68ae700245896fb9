"""Search of a system: the front over all combinations of options, merged kernel by kernel.

The options of each variable add to totals, and objectives depend on each total in one direction.
A total that objectives want low and high is two sums, so that only equal values cover each other.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dse.evaluate.evaluator import Evaluated, concatenate_batches
from dse.evaluate.front import is_nondominated
from dse.evaluate.space import Points, Space, sample_designs
from dse.evaluate.totals import System, find_system
from dse.model.quantity import Array
from dse.problems import Problem
from dse.search.base import Progress, SearchSettings, Start
from dse.search.bound.evidence import KeptDesigns, make_outcome, mark_first_rows
from dse.search.bound.monotonicity import find_best_ends, find_moves
from dse.search.bound.ranges import Ranges
from dse.search.outcome import Gap, Outcome, Tolerance
from dse.search.portfolio.merging import Merging, PortfolioFront, State
from dse.search.portfolio.portfolio import Portfolio
from dse.search.tally import Tally
from dse.search.workers import NEVER, is_late

_SAMPLE = 2_000  # random designs, to plot the designs behind the front
_OPTIONS = {"points": "the maximum number of points on the front; the tolerance then grows"}
_MAX_NUMBERED = 2**63


def plan(
    settings: SearchSettings, space: Space, objectives: int, problems: list[Problem]
) -> SearchSettings:
    """Plan to merge all kernels; see `base.Method`."""
    for name, value in settings.options.items():
        if name not in _OPTIONS:
            remedy = f"known: points, {_OPTIONS['points']}"
            problems.append(Problem(f"search.options.{name}", "is unknown", remedy))
        elif not isinstance(value, int) or value < 1:
            problems.append(Problem(f"search.options.{name}", f"is {value!r}", "give 1 or more"))
    if settings.tolerances:
        message = "merge takes one tolerance for all totals"
        problems.append(Problem("search.tolerance", message, 'give a fraction, such as "1 %"'))
    return replace(settings, evaluations=len(space.variables), generation=1)


@dataclass(frozen=True)
class SystemSums:
    """The sums of a system: each total once, or with both signs."""

    system: System
    columns: NDArray[np.int64]
    signs: Array
    """The total of each sum, and 1 if less of it is better, else -1. Shape (sums,)."""
    affects: NDArray[np.bool_]
    """Whether an objective, and then a constraint, depends on a total. Shape (criteria, totals)."""

    @classmethod
    def of(cls, system: System) -> SystemSums:
        """Return the sums of a system, by the declarations of its models."""
        ranges = Ranges(system.inner)
        ends, moves = find_best_ends(ranges), np.array([*find_moves(ranges)])
        both = [(i, sign) for i in range(len(system.totals)) for sign in (1.0, -1.0)]
        kept = [(i, sign) for i, sign in both if ends.get(i, -sign) == -sign]
        columns, signs = np.array([i for i, _ in kept]), np.array([s for _, s in kept])
        return cls(system, columns, signs, np.asarray(moves != 0))

    def portfolio(self) -> Portfolio:
        """Return the problem of merging."""
        limits = np.full(len(self.columns), np.inf)
        for k, (column, sign) in enumerate(zip(self.columns, self.signs, strict=True)):
            if sign > 0:
                limits[k] = self.system.limits.get(self.system.totals[column], np.inf)
        options = tuple(v[:, self.columns] * self.signs for v in self.system.options.values())
        return Portfolio(options, limits, self.evaluate)

    def evaluate(self, sums: Array) -> tuple[Array, NDArray[np.bool_]]:
        """Return the signed objectives of sums, and which no constraint excludes.

        In a bound, a total with both signs is between two values. Nothing is then known of the
        objectives and constraints that depend on it.
        """
        inner, values = self.system.inner, sums * self.signs
        own = [values[:, self.columns == i] for i in range(len(self.system.totals))]
        columns = {n: v[:, 0] for n, v in zip(self.system.totals, own, strict=True)}
        evaluated = inner.evaluate_columns(columns, len(sums))
        violations = inner.violations(evaluated.constrained)
        between = np.column_stack([v[:, 0] != v[:, -1] for v in own])
        unknown = np.asarray(between @ self.affects.T)
        unknown, unchecked = np.split(unknown, [len(inner.objectives)], axis=1)
        possible = ((violations <= 0) | np.isnan(violations) | unchecked).all(axis=1)
        unknown |= np.isnan(violations).any(axis=1, keepdims=True)
        return np.where(unknown, np.nan, evaluated.objectives * inner.signs), possible


class _Merge:
    """A merge under way: constants, and one state, which each step replaces."""

    def __init__(self, begun: Start) -> None:
        system = find_system(begun.evaluator)
        if system is None:
            raise AssertionError("the study is not a system")
        self._evaluator, self._plan = begun.evaluator, begun.plan
        self._system = system
        self._merging = Merging(
            SystemSums.of(system).portfolio(),
            tolerance=begun.plan.tolerance,
            points=begun.plan.options.get("points"),
            threads=begun.workers.threads(),
        )
        self._state = State.from_arrays(begun.state) if begun.state else self._merging.start()

    def steps(self, until: float = NEVER) -> Iterator[None]:
        while len(self._state.kept) < self._kernels and not (self._merged and is_late(until)):
            self._state = self._merging.step(self._state)
            yield

    @property
    def _kernels(self) -> int:
        return len(self._system.names)

    @property
    def _merged(self) -> int:
        return len(self._state.kept)

    def progress(self) -> Progress:
        kept = self._state.kept
        front = int(kept[-1]) if len(kept) else 0
        work = int(kept.sum())
        return Progress(self._merged, self._kernels, front, kept=front, bounded=work)

    def state(self) -> dict[str, NDArray[Any]]:
        return self._state.to_arrays()

    def outcome(self) -> Outcome:
        done = self._merged == self._kernels
        front = self._merging.front(self._state) if done else None
        choices = self._completed() if front is None else front.choices
        places = dict(zip(self._system.names, choices.T, strict=True))
        points = self._evaluator.space.from_digits(places)
        others = sample_designs(self._evaluator.space, _SAMPLE)
        evaluated = concatenate_batches([self._evaluator.evaluate(p) for p in (points, others)])
        points = {name: np.concatenate([points[name], others[name]]) for name in points}
        return self._outcome(points, evaluated, len(choices), front)

    def _completed(self) -> NDArray[np.int64]:
        """Return the combinations of the kernels so far, with the first option of the others."""
        order = self._merging.order[: self._merged]
        choices = np.zeros((len(self._state.choices), self._kernels), dtype=np.int64)
        choices[:, order] = self._state.choices
        return choices[:_SAMPLE]

    def _outcome(
        self, points: Points, evaluated: Evaluated, front: int, merged: PortfolioFront | None
    ) -> Outcome:
        evaluator, space = self._evaluator, self._evaluator.space
        size = space.size or 0
        numbered = size < _MAX_NUMBERED
        digits = np.column_stack([points[name] for name in space.variables])
        rows = np.flatnonzero(mark_first_rows(digits))
        numbers = space.to_index(points) if numbered else np.arange(len(digits))
        rows = rows[np.argsort(numbers[rows], kind="stable")]
        numbers = numbers[rows] if numbered else np.arange(len(rows))
        on_front = rows < front
        if merged is None:  # the best of what is there
            signed = evaluated.objectives[rows] * evaluator.signs
            on_front = _nondominated(signed, evaluated.feasible[rows])
        points = {name: values[rows] for name, values in points.items()}
        evaluated = evaluated.rows(rows)
        tally = Tally.of(numbers, evaluated, evaluator.constraints, evaluator.domains)
        signed = evaluated.objectives[on_front] * evaluator.signs
        kept = KeptDesigns(numbers, points, evaluated, on_front)
        return make_outcome(evaluator, kept, signed, tally, self._gap(merged), numbered)

    def _gap(self, merged: PortfolioFront | None) -> Gap:
        """Return the tolerance that the merges have proven.

        It is none before the last, or if designs near the limits may be missing.
        """
        tolerance = self._plan.tolerance
        names = [objective.name for objective in self._evaluator.objectives]
        if merged is None:
            return Gap(tolerance, np.inf, {}, 0, 0.0, unbounded=tuple(names))
        boxes = int(self._state.kept.sum())
        why = ""
        if not merged.strict:
            why = "there are too many partial sums, and sums near the limits were joined"
        elif merged.undefined:
            why = (
                "models have no value for some totals, whose combinations may have replaced others"
            )
        elif (merged.proven >= 1).any():
            why = "combinations that others replaced may be far better"
        if why:
            return Gap(tolerance, np.inf, {}, boxes, 0.0, unbounded=tuple(names), missing=(why,))
        if not merged.proven.any():
            return Gap(0.0, 0.0, {}, boxes, 1.0)
        finite = np.where(np.isfinite(merged.objectives), merged.objectives, 0.0)
        low, high = merged.objectives.min(axis=0), np.abs(finite).max(axis=0)
        proven = {}
        for name, part, least, most, floor in zip(
            names, merged.proven.tolist(), low, high, merged.objective_floors, strict=True
        ):
            # A point a of the front has f(a) <= f + part * max(|f|, floor). If f(a) >= floor > 0,
            # then f >= floor * (1 - part), so the floor adds part / (1 - part) of f at most.
            # Else |f| <= |f(a)| / (1 - part) for f < f(a).
            if least >= floor:
                proven[name] = Tolerance(part / (1 - part))
            else:
                proven[name] = Tolerance(0.0, part * float(max(most / (1 - part), floor)))
        return Gap(tolerance, float(merged.proven.max()), proven, boxes, 1.0)


start = _Merge
"""Begin or resume the search; see `base.Method`."""


def _nondominated(signed: Array, feasible: NDArray[np.bool_]) -> NDArray[np.bool_]:
    """Return which feasible designs no other dominates."""
    rows = np.flatnonzero(feasible)
    on_front = np.zeros(len(signed), dtype=bool)
    on_front[rows[is_nondominated(signed[rows])]] = True
    return on_front
