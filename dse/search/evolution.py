"""Evolution: NSGA-II over whole generations as arrays, for spaces too large to enumerate.

Ranking by non-dominated sorting and crowding distance, feasible designs first (Deb et al., A fast
and elitist multiobjective genetic algorithm: NSGA-II, IEEE TEC 2002), simulated binary crossover
and polynomial mutation for numbers, uniform crossover for choices. The first generation is a
Latin hypercube; in a finite space no design is evaluated twice.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dse.evaluate.evaluator import Evaluated, Evaluator
from dse.evaluate.front import is_nondominated, ranks, scaled
from dse.evaluate.space import Space
from dse.model.quantity import Array
from dse.problems import Problem
from dse.search.base import Plan, Progress, Search, Settings, Trials
from dse.search.outcome import Outcome, of_sample
from dse.search.variation import children
from dse.search.workers import NEVER, Judges, Workers, is_late

EVALUATIONS = 100_000
"""Designs that are evaluated if the study does not say."""
_DRAWS = 4  # rounds of random designs before those left are counted
_LEFT = 20  # a space of at most this many times the designs seen is listed for what is left


def plan(
    method: str, settings: Settings, space: Space, objectives: int, problems: list[Problem]
) -> Plan:
    """Plan an evolution; see `base.Method`."""
    if settings.options:
        problems.append(
            Problem(
                "search.options",
                "evolution has no options",
                "use generation, evaluations and seed",
            )
        )
    total = settings.evaluations or EVALUATIONS
    generation = min(settings.generation or min(1_000, max(total // 10, 2)), total)
    most = total if space.size is None else min(total, space.size)
    return Plan(method, most, generation, settings.seed, settings.timeout, {})


def start(
    evaluator: Evaluator,
    plan: Plan,
    *,
    chunk: int,
    workers: Workers,
    state: Mapping[str, NDArray[Any]],
    trials: Trials | None,
) -> Search:
    """Return the evolution; see `base.Method`."""
    return _Evolution(evaluator, plan, Judges(evaluator, workers, chunk), state)


class _Evolution:
    def __init__(
        self,
        evaluator: Evaluator,
        plan: Plan,
        judges: Judges,
        arrays: Mapping[str, NDArray[Any]],
    ) -> None:
        self._evaluator, self._plan, self._judges = evaluator, plan, judges
        self._state: Evolved | None = None
        if arrays:
            judged = Evaluated(arrays["objectives"], arrays["constrained"], arrays["feasible"])
            self._state = Evolved(arrays["unit"], judged, arrays["parents"])
        self._earlier = self.progress()

    def steps(self, until: float = NEVER) -> Iterator[None]:
        states = evolve(self._evaluator, self._plan, self._state, self._judges, until)
        for self._state in states:
            yield

    def progress(self) -> Progress:
        if self._state is None:
            return Progress(0, self._plan.evaluations, 0)
        rows = self._state.parents[self._state.judged.feasible[self._state.parents]]
        points = self._state.judged.objectives[rows] * self._evaluator.signs
        front = int(is_nondominated(points).sum())
        done = len(self._state.unit)
        return Progress(done, self._plan.evaluations, front, kept=done)

    def earlier(self) -> Progress:
        return self._earlier

    def outcome(self) -> Outcome:
        if self._state is None:
            raise ValueError("the search has not begun")
        points = self._evaluator.space.from_unit(self._state.unit)
        return of_sample(self._evaluator, points, self._state.judged, self._plan.method)

    def state(self) -> dict[str, NDArray[Any]]:
        if self._state is None:
            return {}
        judged = self._state.judged
        return {
            "unit": self._state.unit,
            "parents": self._state.parents,
            "objectives": judged.objectives,
            "constrained": judged.constrained,
            "feasible": judged.feasible,
        }


@dataclass(frozen=True)
class Evolved:
    """All designs evaluated so far, in order, and which of them are the parents of the next.

    Parameters
    ----------
    unit : ndarray, shape (designs, variables)
        Points of the unit cube.
    judged : Evaluated
        What they give.
    parents : ndarray of int
        Rows of the population, best first.
    """

    unit: Array
    judged: Evaluated
    parents: NDArray[np.int64]


def evolve(
    evaluator: Evaluator,
    plan: Plan,
    start: Evolved | None = None,
    judges: Judges | None = None,
    until: float = NEVER,
) -> Iterator[Evolved]:
    """Search; yield the state after each generation.

    The random numbers of a generation depend on the seed and on how many designs there are, so that
    a resumed search goes on as an uninterrupted one would.

    Parameters
    ----------
    judges : Judges, optional
        Who judges a generation.
    until : float
        The `time.time` after which the search ends, in the midst of a generation if need be.

    Raises
    ------
    DesignError
        If a model raises.
    """
    state = start
    judges = judges or Judges(evaluator)
    seen: set[bytes] = set() if start is None else set(_keys(start.unit))
    history = _history(evaluator, start)
    while state is None or len(state.unit) < plan.evaluations:
        done = 0 if state is None else len(state.unit)
        if state is not None and is_late(until):
            return
        unit = _generation(evaluator.space, plan, state, seen)
        if len(unit) == 0:
            return  # every design of a finite space has been evaluated
        new = judges.judge(evaluator.space.from_unit(unit), done, until)
        unit, objectives, constrained, feasible = (
            rows.added(more)
            for rows, more in zip(
                history,
                (unit[: len(new)], new.objectives, new.constrained, new.feasible),
                strict=True,
            )
        )
        judged = Evaluated(objectives, constrained, feasible)
        candidates = np.arange(done, len(unit))
        if state is not None:
            candidates = np.concatenate([state.parents, candidates])
        rank, crowd = _fitness(evaluator, judged, candidates)
        order = np.lexsort((candidates, -crowd, rank))[: plan.generation]
        state = Evolved(unit, judged, candidates[order])
        yield state


def _generation(space: Space, plan: Plan, state: Evolved | None, seen: set[bytes]) -> Array:
    """Return new designs, as points of the unit cube."""
    done = 0 if state is None else len(state.unit)
    rng = np.random.default_rng([plan.seed, done])
    count = min(plan.generation, plan.evaluations - done)
    if state is None:
        unit = _first(space, count, rng)
    else:
        unit = children(space, state.unit[state.parents], count, rng)
    return _fresh(space, seen, unit, count, rng)


class _Rows:
    """An array that grows at its end; earlier views of it stay what they were."""

    def __init__(self, rows: NDArray[Any]) -> None:
        self._rows, self._count = rows, len(rows)

    def added(self, more: NDArray[Any]) -> NDArray[Any]:
        """Add rows and return all of them."""
        low, self._count = self._count, self._count + len(more)
        if self._count > len(self._rows):
            grown = np.empty((2 * self._count, *more.shape[1:]), dtype=more.dtype)
            grown[:low] = self._rows[:low]
            self._rows = grown
        self._rows[low : self._count] = more
        return self._rows[: self._count]


def _history(evaluator: Evaluator, start: Evolved | None) -> tuple[_Rows, _Rows, _Rows, _Rows]:
    if start is not None:
        judged = start.judged
        return (
            _Rows(start.unit),
            _Rows(judged.objectives),
            _Rows(judged.constrained),
            _Rows(judged.feasible),
        )
    widths = (len(evaluator.space.variables), len(evaluator.objectives), len(evaluator.constraints))
    unit, objectives, constrained = (_Rows(np.empty((0, width))) for width in widths)
    return unit, objectives, constrained, _Rows(np.empty(0, dtype=bool))


def _first(space: Space, count: int, rng: np.random.Generator) -> Array:
    """Draw a Latin hypercube: each variable's range evenly covered."""
    cells = np.tile(np.arange(count)[:, None], (1, len(space.variables)))
    return np.asarray((rng.permuted(cells, axis=0) + rng.random(cells.shape)) / count)


def _keys(unit: Array) -> list[bytes]:
    """Return what tells designs apart: the bytes of their points."""
    rows = np.ascontiguousarray(unit)
    keys: list[bytes] = rows.view(f"V{rows.shape[1] * rows.itemsize}").ravel().tolist()
    return keys


def _fresh(
    space: Space, seen: set[bytes], unit: Array, count: int, rng: np.random.Generator
) -> Array:
    """Return up to `count` designs that were not seen, filled up at random; they are seen now.

    Each design is given by one point of the cube: on grids by the middle of its cell.
    """
    found: list[Array] = []
    missing = count
    for attempt in range(_DRAWS + 2):
        canonical = space.to_unit(space.from_unit(np.clip(unit, 0.0, 1.0)))
        rows: list[int] = []
        for row, key in enumerate(_keys(canonical)):
            if key not in seen and len(rows) < missing:
                seen.add(key)
                rows.append(row)
        found.append(canonical[rows])
        missing -= len(rows)
        if missing == 0:
            break
        if attempt < _DRAWS:
            unit = rng.random((missing * 2, len(space.variables)))
        else:
            unit = _left(space, seen, missing, rng)
    return np.concatenate(found)


def _left(space: Space, seen: set[bytes], count: int, rng: np.random.Generator) -> Array:
    """Draw designs of a finite space that were not seen, if listing them is not too much."""
    size = space.size
    if size is None or size > _LEFT * len(seen):
        return np.zeros((0, len(space.variables)))
    known = np.frombuffer(b"".join(seen)).reshape(-1, len(space.variables))
    left = np.ones(size, dtype=bool)
    left[space.to_index(space.from_unit(known))] = False
    return space.to_unit(space.from_index(rng.permutation(np.flatnonzero(left))[:count]))


def _fitness(
    evaluator: Evaluator, judged: Evaluated, rows: NDArray[np.int64]
) -> tuple[NDArray[np.int64], Array]:
    """Return rank (less is better) and crowding distance (more is better) of these rows."""
    points = judged.objectives[rows] * evaluator.signs
    feasible = judged.feasible[rows]
    rank = np.zeros(len(rows), dtype=np.int64)
    crowd = np.zeros(len(rows))
    if feasible.any():
        inside = points[feasible]
        rank[feasible] = ranks(inside)
        crowd[feasible] = _crowding(scaled(inside, evaluator.signs)[0], rank[feasible])
    if not feasible.all():
        violation = np.maximum(evaluator.violations(judged.constrained[rows]), 0.0)
        finite = np.isfinite(violation)
        largest = np.where(finite, violation, 0.0).max(axis=0)
        with np.errstate(all="ignore"):
            share = np.where(finite, violation / np.where(largest > 0, largest, 1.0), 2.0)
        total = share.sum(axis=1) + np.isnan(points).any(axis=1) * (violation.shape[1] + 1.0)
        worst = rank[feasible].max(initial=0) + 1
        order = np.argsort(np.argsort(total[~feasible], kind="stable"), kind="stable")
        rank[~feasible] = worst + order
    return rank, crowd


def _crowding(unit: Array, rank: NDArray[np.int64]) -> Array:
    """Return for each point how far its neighbours on its own front are apart; inf at the ends."""
    distance = np.zeros(len(unit))
    for column in unit.T:
        order = np.lexsort((column, rank))
        value, front = column[order], rank[order]
        gaps = np.full(len(unit), np.inf)
        gaps[1:-1] = np.where(front[2:] == front[:-2], value[2:] - value[:-2], np.inf)
        distance[order] += gaps
    return distance
