"""Evolution: NSGA-II over whole generations as arrays, for spaces too large to enumerate.

`selection` selects parents, and `variation` varies them. There are few parents at first, to
approach the front soon, and more with the designs, to cover it. No design is evaluated twice, and
no design that a relation between variables forbids. The search ends when it has used its
evaluations, when no design is left, or when its front has stalled.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dse.evaluate.evaluator import Evaluated, Evaluator
from dse.evaluate.front import is_nondominated
from dse.evaluate.space import Space
from dse.model.quantity import Array
from dse.model.values import plural
from dse.problems import Problem
from dse.search.base import Plan, Progress, Search, Settings, Start, no_options
from dse.search.drawing import Drawing
from dse.search.judges import Judges
from dse.search.outcome import Outcome, of_sample
from dse.search.selection import selected
from dse.search.stall import GROWTH, Stall
from dse.search.variation import children, first
from dse.search.workers import NEVER, is_late

EVALUATIONS = 100_000
"""Designs that are evaluated if the study does not say."""
_GENERATION, _FEW_GENERATION = 1_000, 4_000
_FEW = 6  # variables: larger generations then find more, and a design costs less
_LEAST, _LIVING = 200, 16  # parents: at least, and one of so many designs, up to a generation


def plan(
    method: str, settings: Settings, space: Space, objectives: int, problems: list[Problem]
) -> Plan:
    """Plan an evolution; see `base.Method`."""
    no_options(method, settings, "use generation, evaluations and seed", problems)
    total = settings.evaluations or EVALUATIONS
    usual = _FEW_GENERATION if len(space.variables) <= _FEW else _GENERATION
    generation = min(settings.generation or min(usual, max(total // 10, 2)), total)
    most = total if space.size is None else min(total, space.size)
    return settings.planned(method, most, generation)


def start(begun: Start) -> Search:
    """Return the evolution; see `base.Method`."""
    return _Evolution(begun)


ALL = "every design that the relations between variables allow was evaluated"
_NONE_LEFT = "no further design was found that no relation between variables forbids"


class _Evolution:
    def __init__(self, begun: Start) -> None:
        evaluator, plan, arrays = begun.evaluator, begun.plan, begun.state
        self._evaluator, self._plan, self._judges = evaluator, plan, begun.judges()
        self._state: Evolved | None = None
        if arrays:
            judged = Evaluated.from_arrays(arrays)
            rows = arrays["parents"][judged.feasible[arrays["parents"]]]
            front = int(is_nondominated(judged.objectives[rows] * evaluator.signs).sum())
            self._state = Evolved(arrays["unit"], judged, arrays["parents"], front)
        self._earlier = self.progress()

    def steps(self, until: float = NEVER) -> Iterator[None]:
        states = evolve(self._evaluator, self._plan, self._state, self._judges, until)
        for self._state in states:
            yield

    def progress(self) -> Progress:
        if self._state is None:
            return Progress(0, self._plan.evaluations, 0)
        done = len(self._state.unit)
        return Progress(done, self._plan.evaluations, self._state.front, kept=done)

    def earlier(self) -> Progress:
        return self._earlier

    def outcome(self) -> Outcome:
        if self._state is None:
            raise ValueError("the search has not begun")
        state, points = self._state, self._evaluator.space.from_unit(self._state.unit)
        found = of_sample(self._evaluator, points, state.judged, self._plan.method)
        if found.complete:
            return found
        names = [constraint.name for constraint in self._evaluator.prefilter().constraints]
        if not names:
            return replace(found, ended=state.ended)
        relations = " and ".join(f"'{name}'" for name in names)
        if state.ended == ALL:
            count, front = len(found.numbers), int(found.on_front.sum())
            alls = "the 1 design" if count == 1 else f"all {count:,} designs"
            told = (
                f"Complete: {alls} of the space that {relations} "
                f"{'allows' if len(names) == 1 else 'allow'} "
                f"{'was' if count == 1 else 'were'} evaluated; the "
                f"{plural(front, 'non-dominated is', 'non-dominated are')} its whole Pareto front."
            )
            return replace(found, complete=True, statement=told)
        told = f"{found.statement} What violates {relations} was replaced before any model ran."
        return replace(found, statement=told, ended=state.ended)

    def state(self) -> dict[str, NDArray[Any]]:
        if self._state is None:
            return {}
        own = {"unit": self._state.unit, "parents": self._state.parents}
        return own | self._state.judged.to_arrays()


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
        Rows of the population, best first: at most as many as a generation.
    front : int
        How many of the candidates for it were feasible and non-dominated.
    ended : str
        Why the search ended before its evaluations were used; empty if it has not.
    """

    unit: Array
    judged: Evaluated
    parents: NDArray[np.int64]
    front: int = 0
    ended: str = ""


def evolve(
    evaluator: Evaluator,
    plan: Plan,
    start: Evolved | None = None,
    judges: Judges | None = None,
    until: float = NEVER,
) -> Iterator[Evolved]:
    """Search; yield the state after each generation.

    The random numbers of a generation depend on the seed and on the number of designs. Therefore
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
    state, space = start, evaluator.space
    signs = evaluator.signs
    judges = judges or Judges(evaluator)
    drawing = Drawing(evaluator, _nowhere(space) if start is None else start.unit)
    stall = Stall(signs, plan.generation)
    history = _history(evaluator, start)
    leading = _Rows(np.ones(0 if start is None else len(start.unit), dtype=bool))
    leads: NDArray[np.bool_] | None = None
    failed = start.judged.failed if start is not None else {}
    while state is None or len(state.unit) < plan.evaluations:
        if state is not None and is_late(until):
            return
        done = 0 if state is None else len(state.unit)
        if state is not None and _stalled(stall, state.judged, leads, space, plan):
            yield replace(state, ended=_why(stall, done))
            return
        unit = _generation(space, plan, state, drawing)
        if len(unit) == 0:
            if state is not None:
                yield replace(state, ended=ALL if drawing.exhausted else _NONE_LEFT)
            return
        new = judges.judge(space.from_unit(unit), done, until)
        unit, objectives, constrained, feasible = (
            rows.added(more)
            for rows, more in zip(
                history,
                (unit[: len(new)], new.objectives, new.constrained, new.feasible),
                strict=True,
            )
        )
        if new.failed:
            failed = {**failed, **{done + row: told for row, told in new.failed.items()}}
        judged = Evaluated(objectives, constrained, feasible, failed)
        candidates = np.arange(done, len(unit))
        if state is not None:
            candidates = np.concatenate([state.parents, candidates])
        living = min(plan.generation, max(_LEAST, len(unit) // _LIVING))
        parents, best = selected(evaluator, judged, candidates, living, signs)
        leads = leading.added(best[-len(new) :])
        state = Evolved(unit, judged, parents, int(best.sum()))
        yield state


def _generation(space: Space, plan: Plan, state: Evolved | None, drawing: Drawing) -> Array:
    """Return new designs, as points of the unit cube; none if no more is found."""
    done = 0 if state is None else len(state.unit)
    rng = np.random.default_rng([plan.seed, done])
    count = min(plan.generation, plan.evaluations - done)
    if state is None:
        return drawing.fresh(first(space, count, rng), count, rng, _nowhere(space))
    parents = state.unit.take(state.parents, axis=0)

    def born(number: int) -> Array:
        return children(space, parents, number, rng)

    return drawing.fresh(born(count), count, rng, parents, born)


def _nowhere(space: Space) -> Array:
    return np.empty((0, len(space.variables)))


def _stalled(
    stall: Stall, judged: Evaluated, leads: NDArray[np.bool_] | None, space: Space, plan: Plan
) -> bool:
    """Return whether to end: a budget for a whole space is used up, and certifies the front."""
    if space.size is not None and space.size <= plan.evaluations:
        return False
    stall.grown(judged, leads)
    return stall.has_stalled


def _why(stall: Stall, done: int) -> str:
    return (
        f"the front has stalled: of {done:,} evaluations, the last {stall.window:,} let what it "
        f"dominates grow by no more than {GROWTH:.3%}"
    )


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
