"""Guided search, for models that take milliseconds: it learns from designs near the front.

After evenly spread designs, each generation is selected among the neighbours of the front: designs
one or two steps away from a front design (`axes`), and mixtures of two. For each objective and each
constraint, a kriging learns its change along each axis that affects it (`surrogate`). It then
expects a value and an error for each neighbour. A neighbour that is dominated by declarations of
models (`dse.monotonic`) is not evaluated. Half of a generation fills gaps in the front: these
designs are as far as possible beyond the front and from each other, and the distance is multiplied
by the probability that they are feasible (maximin improvement: Svenson and Santner, Computational
Statistics and Data Analysis 2016). The others are the neighbours that are most probably feasible
and not dominated.

The search ends when it has used its evaluations, or when no design one step away from the front is
left.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtr
from threadpoolctl import ThreadpoolController

from dse.evaluate.evaluator import Evaluated, Evaluator, concatenate_batches
from dse.evaluate.front import is_nondominated
from dse.evaluate.samples import sobol_points
from dse.evaluate.space import Space
from dse.model.quantity import Array
from dse.problems import Problem
from dse.search.axes import Axes, Places
from dse.search.base import Progress, SearchSettings, Start, refuse_options
from dse.search.evolution import VisitedDesigns
from dse.search.outcome import Outcome, make_sample_outcome
from dse.search.surrogate import Surrogate, distance_beyond
from dse.search.workers import NEVER, is_late

EVALUATIONS = 2_000
"""Designs that are evaluated if the study does not say."""
_GENERATION = 8  # 95 % of the hypervolume with fewer designs than generations of 32
_FIRST = 16  # evenly spread designs of the first generation, at least
_FIRST_PER_AXIS = 2  # half of both misses the feasible part of `rotate`, twice costs designs
_POOL = 400  # neighbours one move away, two moves away, and of before, that are looked at
_POOL_PER_DESIGN = 150  # of a generation, two moves away: one at a time, each design has new ones
_GAPS = 0.5  # of a generation fills gaps in the front; the rest are the most probable designs
_MIN_ERROR = 1e-9  # of the front's width
_PARENTS = 16  # of which neighbours are looked at, as long as nothing is feasible
ENDED = (
    "no design is left one move away from the front: each was evaluated, or is dominated by what "
    "models declare"
)


def plan(
    settings: SearchSettings, space: Space, objectives: int, problems: list[Problem]
) -> SearchSettings:
    """Plan a guided search; see `base.Method`."""
    refuse_options(settings, "use generation, evaluations and seed", problems)
    total = settings.evaluations or EVALUATIONS
    evaluations = total if space.size is None else min(total, space.size)
    generation = min(settings.generation or _GENERATION, total)
    return replace(settings, evaluations=evaluations, generation=generation)


@dataclass(frozen=True)
class State:
    """The designs evaluated so far, in order, and the basis of the next generation."""

    unit: Array
    """Points of the unit cube. Shape (designs, variables)."""
    waiting: Array
    """Neighbours of earlier generations that were not evaluated. Shape (designs, variables)."""
    evaluated: Evaluated
    lengths: Array | None = None
    """The lengths that kriging has learned, see `Surrogate`; None before it has learned."""
    learned_from: int = 0
    """The number of designs that the lengths were learned from."""
    ended: str = ""
    """Why the search ended before its evaluations were used; empty if it has not."""

    @classmethod
    def from_arrays(cls, evaluator: Evaluator, arrays: Mapping[str, NDArray[Any]]) -> State:
        """Return the state of a checkpoint, or the one before the first design."""
        if not arrays:
            none = np.empty((0, len(evaluator.space.variables)))
            return cls(none, none, Evaluated.empty(evaluator))
        evaluated, learned_from = Evaluated.from_arrays(arrays), int(arrays["learned"][0])
        return cls(arrays["unit"], arrays["waiting"], evaluated, arrays["lengths"], learned_from)


class _Guided:
    """The search; see `base.Search`."""

    def __init__(self, setup: Start) -> None:
        self._evaluator, self._plan = setup.evaluator, setup.plan
        self._batches = setup.batch_evaluator()
        self._state = state = State.from_arrays(setup.evaluator, setup.state)
        self._axes = Axes(setup.evaluator.space)
        self._surrogate = Surrogate(setup.evaluator, self._axes, state.lengths, state.learned_from)
        self._visited = VisitedDesigns(setup.evaluator, state.unit)
        # its matrices are too small to share: on a busy machine its threads would wait for each
        # other busily, and their number would change the last bits of the expected values
        self._linear_algebra = ThreadpoolController().select(user_api="blas")

    def steps(self, until: float = NEVER) -> Iterator[None]:
        state, space = self._state, self._evaluator.space
        while len(state.unit) < self._plan.evaluations and not state.ended:
            if len(state.unit) and is_late(until):
                return
            with self._linear_algebra.limit(limits=1):
                unit, waiting = self._select_next(state)
            if len(unit) == 0:
                self._state = replace(state, ended=ENDED)
                return
            new = self._batches.evaluate(space.from_unit(unit), len(state.unit), until)
            self._state = state = State(
                np.concatenate([state.unit, unit[: len(new)]]),
                waiting,
                concatenate_batches([state.evaluated, new]),
                self._surrogate.lengths.copy(),
                self._surrogate.learned_from,
            )
            yield

    def progress(self) -> Progress:
        evaluated, total = self._state.evaluated, self._plan.evaluations
        points = evaluated.objectives[evaluated.feasible] * self._evaluator.signs
        done = len(evaluated)
        return Progress(done, total, int(is_nondominated(points).sum()), kept=done)

    def outcome(self) -> Outcome:
        state, evaluator = self._state, self._evaluator
        points = evaluator.space.from_unit(state.unit)
        outcome = make_sample_outcome(evaluator, points, state.evaluated, self._plan.method)
        return outcome if outcome.complete else replace(outcome, ended=state.ended)

    def state(self) -> dict[str, NDArray[Any]]:
        state = self._state
        if state.lengths is None:
            return {}
        return {
            "unit": state.unit,
            "waiting": state.waiting,
            **state.evaluated.to_arrays(),
            "lengths": state.lengths,
            "learned": np.array([state.learned_from]),
        }

    # ---------------------------------------------------------------- the next generation

    def _select_next(self, state: State) -> tuple[Array, Array]:
        """Return new designs, as points of the unit cube, and the pool for later generations."""
        done, axes, visited, surrogate = len(state.unit), self._axes, self._visited, self._surrogate
        rng = np.random.default_rng([self._plan.seed, done])
        left = self._plan.evaluations - done
        if done == 0:
            count = min(left, max(_FIRST, _FIRST_PER_AXIS * len(axes.all)))
            points = sobol_points(state.unit.shape[1], count, rng)
            spread = axes.unit(axes.places(points))
            return visited.visit(spread, count, rng), state.waiting
        count = min(left, self._plan.generation)
        places = axes.places(state.unit)
        surrogate.learn(places, state.evaluated, rng)
        has_front = len(surrogate.front) > 0
        parents = places[surrogate.front if has_front else surrogate.nearest(_PARENTS)]
        near = self._find_neighbours(parents, rng)
        if len(near) == 0:
            if has_front:  # the search has ended
                return near, state.waiting
            random = rng.random((count, state.unit.shape[1]))
            return visited.visit(random, count, rng, state.unit), state.waiting
        others = max(_POOL, _POOL_PER_DESIGN * count)
        two_moves = axes.random_neighbours(parents, others, rng)
        mixtures = axes.mixtures(parents, others // 2, rng)
        far = axes.unit(np.concatenate([two_moves, mixtures]))
        far = self._drop_dominated(visited.find_new(far))
        waiting = visited.find_new(state.waiting)
        pool = visited.find_new(np.concatenate([near, far, waiting]))
        gaps = int((done + count) * _GAPS) - int(done * _GAPS)  # of one design, every other time
        rows, probability = self._select(pool, count, gaps)
        waiting = pool[np.argsort(-probability, kind="stable")[: _POOL + count]]
        return visited.visit(pool[rows], count, rng, state.unit), waiting

    def _find_neighbours(self, parents: Places, rng: np.random.Generator) -> Array:
        """Return some designs one move from parents that may be on the front; none if none is."""
        unit = self._visited.find_new(self._axes.unit(self._axes.neighbours(parents)))
        unit = unit[rng.permutation(len(unit))]
        for low in range(0, len(unit), _POOL):
            near = self._drop_dominated(unit[low : low + _POOL])
            if len(near):
                return near
        return unit[:0]

    def _drop_dominated(self, unit: Array) -> Array:
        """Return the designs that are not dominated by declarations of models."""
        return unit[~self._surrogate.are_dominated(self._axes.places(unit))]

    def _select(self, pool: Array, count: int, gaps: int) -> tuple[NDArray[np.int64], Array]:
        """Return the best of a pool, and how probable it is that each is on the front.

        Each design that is selected counts as evaluated, with its expected values ("kriging
        believer": Ginsbourger, Le Riche and Carraro, 2010): it reduces the errors of the others,
        so a generation does not contain the same step several times.
        """
        surrogate, rows = self._surrogate, list[int]()
        expected = surrogate.predict(self._axes.places(pool))
        has_front, front = len(surrogate.front) > 0, surrogate.points
        probability = feasible = expected.feasible
        while len(rows) < min(count, len(pool)):
            if has_front:
                errors = np.maximum(expected.error, _MIN_ERROR * surrogate.width)
                merit = feasible * ndtr(distance_beyond(expected.mean, front, errors))
            else:
                merit = expected.feasible
            if not rows:
                probability = merit.copy()
            if has_front and len(rows) < gaps:
                optimistic = expected.mean - expected.error
                gap = distance_beyond(optimistic, front, surrogate.width)
                gap = np.maximum(gap, 0.0) * feasible
                gap[rows] = 0.0
                merit = gap if gap.any() else merit
            merit[rows] = -1.0
            rows.append(int(np.argmax(merit)))
            front = np.concatenate([front, expected.mean[rows[-1:]]])
            expected.select(rows[-1])
        return np.array(rows), probability


start = _Guided
"""Begin or resume the search; see `base.Method`."""
