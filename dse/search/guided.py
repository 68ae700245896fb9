"""Guided search, for models that take milliseconds: it learns from designs near the front.

After evenly spread designs, each generation is selected among the neighbours of the front: designs
one or two steps away from a front design (`axes`), and mixtures of two. For each objective and each
constraint, a kriging learns its change along each axis that affects it. It then expects a value and
an error for each neighbour (`expected`). A neighbour that is dominated by declarations of models
(`dse.monotonic`) is not evaluated. Half of a generation fills gaps in the front: these designs are
as far as possible beyond the front and from each other, and the distance is multiplied by the
probability that they are feasible (maximin improvement: Svenson and Santner, Computational
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

from dse.evaluate.evaluator import Evaluated, Evaluator, concatenate
from dse.evaluate.front import is_nondominated
from dse.evaluate.space import Space
from dse.model.quantity import Array
from dse.problems import Problem
from dse.search.axes import Axes, Places
from dse.search.base import Plan, Progress, Search, Settings, Start, no_options
from dse.search.drawing import Drawing
from dse.search.expected import Expected, beyond
from dse.search.outcome import Outcome, of_sample
from dse.search.variation import first
from dse.search.workers import NEVER, is_late

EVALUATIONS = 2_000
"""Designs that are evaluated if the study does not say."""
_GENERATION = 8  # 95 % of the hypervolume with fewer designs than generations of 32
_FIRST = 32  # evenly spread designs of the first generation, at least
_POOL = 400  # neighbours one move away, two moves away, and of before, that are looked at
_GAPS = 0.5  # of a generation fills gaps in the front; the rest are the most probable designs
_BLOCK = 256  # neighbours compared with the front at once
_SURE = 1e-9  # of the front's width: no error is taken to be less
_PARENTS = 16  # of which neighbours are looked at, as long as nothing is feasible
ENDED = (
    "no design is left one move away from the front: each was evaluated, or is dominated by what "
    "models declare"
)


def plan(
    method: str, settings: Settings, space: Space, objectives: int, problems: list[Problem]
) -> Plan:
    """Plan a guided search; see `base.Method`."""
    no_options(method, settings, "use generation, evaluations and seed", problems)
    total = settings.evaluations or EVALUATIONS
    most = total if space.size is None else min(total, space.size)
    generation = min(settings.generation or _GENERATION, total)
    return settings.planned(method, most, generation)


def start(begun: Start) -> Search:
    """Return the search; see `base.Method`."""
    return _Guided(begun)


@dataclass(frozen=True)
class State:
    """The designs evaluated so far, in order, and the basis of the next generation.

    Parameters
    ----------
    unit : ndarray, shape (designs, variables)
        Points of the unit cube.
    waiting : ndarray, shape (designs, variables)
        Neighbours of earlier generations that were not evaluated.
    judged : Evaluated
        The values of the designs.
    lengths : ndarray or None
        What kriging has learned; see `Expected`.
    learned_from : int
        From how many designs.
    ended : str
        Why the search ended before its evaluations were used; empty if it has not.
    """

    unit: Array
    waiting: Array
    judged: Evaluated
    lengths: Array | None = None
    learned_from: int = 0
    ended: str = ""

    @classmethod
    def begin(cls, evaluator: Evaluator, arrays: Mapping[str, NDArray[Any]]) -> State:
        """Return the state of a checkpoint, or the one before the first design."""
        if not arrays:
            none = np.empty((0, len(evaluator.space.variables)))
            return cls(none, none, Evaluated.empty(evaluator))
        judged, learned = Evaluated.from_arrays(arrays), int(arrays["learned"][0])
        return cls(arrays["unit"], arrays["waiting"], judged, arrays["lengths"], learned)


class _Guided:
    def __init__(self, begun: Start) -> None:
        self._evaluator, self._plan, self._judges = begun.evaluator, begun.plan, begun.judges()
        self._state = State.begin(begun.evaluator, begun.state)
        self._earlier = self.progress()

    def steps(self, until: float = NEVER) -> Iterator[None]:
        """Search; see `base.Search`."""
        generations = _Generations(self._evaluator, self._plan, self._state)
        state, space = self._state, self._evaluator.space
        while len(state.unit) < self._plan.evaluations and not state.ended:
            if len(state.unit) and is_late(until):
                return
            unit, waiting = generations.next(state)
            if len(unit) == 0:
                self._state = replace(state, ended=ENDED)
                return
            new = self._judges.judge(space.from_unit(unit), len(state.unit), until)
            self._state = state = State(
                np.concatenate([state.unit, unit[: len(new)]]),
                waiting,
                concatenate([state.judged, new]),
                generations.expected.lengths.copy(),
                generations.expected.learned_from,
            )
            yield

    def progress(self) -> Progress:
        """Return how far it is; see `base.Search`."""
        judged, total = self._state.judged, self._plan.evaluations
        points = judged.objectives[judged.feasible] * self._evaluator.signs
        return Progress(len(judged), total, int(is_nondominated(points).sum()), kept=len(judged))

    def earlier(self) -> Progress:
        """Return how far it was; see `base.Search`."""
        return self._earlier

    def outcome(self) -> Outcome:
        """Return what was found; see `base.Search`."""
        state = self._state
        points = self._evaluator.space.from_unit(state.unit)
        found = of_sample(self._evaluator, points, state.judged, self._plan.method)
        return found if found.complete else replace(found, ended=state.ended)

    def state(self) -> dict[str, NDArray[Any]]:
        """Return what is needed to go on; see `base.Search`."""
        state = self._state
        if state.lengths is None:
            return {}
        return {
            "unit": state.unit,
            "waiting": state.waiting,
            **state.judged.to_arrays(),
            "lengths": state.lengths,
            "learned": np.array([state.learned_from]),
        }


class _Generations:
    """The next designs of a search, from its state; remembers only what follows from states."""

    def __init__(self, evaluator: Evaluator, plan: Plan, state: State) -> None:
        self._evaluator, self._plan, self._axes = evaluator, plan, Axes(evaluator.space)
        self.expected = Expected(evaluator, self._axes, state.lengths, state.learned_from)
        self._drawing = Drawing(evaluator, state.unit)
        # its matrices are too small to share: on a busy machine its threads would wait for each
        # other busily, and their number would change the last bits of the expected values
        self._linear_algebra = ThreadpoolController().select(user_api="blas")

    def next(self, state: State) -> tuple[Array, Array]:
        """Return new designs, as points of the unit cube, and the pool for later generations."""
        with self._linear_algebra.limit(limits=1):
            return self._chosen_from(state)

    def _chosen_from(self, state: State) -> tuple[Array, Array]:
        done = len(state.unit)
        rng = np.random.default_rng([self._plan.seed, done])
        left = self._plan.evaluations - done
        if done == 0:
            count = min(left, max(_FIRST, 4 * len(self._axes.all)))
            spread = self._axes.unit(self._axes.places(first(self._evaluator.space, count, rng)))
            return self._drawing.fresh(spread, count, rng, state.unit), state.waiting
        count = min(left, self._plan.generation)
        places = self._axes.places(state.unit)
        expected = self.expected
        expected.learn(places, state.judged, rng)
        parents = expected.front if len(expected.front) else expected.nearest(_PARENTS)
        near = self._near(places[parents], rng)
        if len(near) == 0:
            return self._none_near(state, len(expected.front), count, rng), state.waiting
        far = np.concatenate(
            [
                self._axes.twice_moved(places[parents], _POOL, rng),
                self._axes.mixed(places[parents], _POOL // 2, rng),
            ]
        )
        far = self._unseen(self._drawing.new(self._axes.unit(far)))
        waiting = self._drawing.new(state.waiting)
        pool = self._drawing.new(np.concatenate([near, far, waiting]))
        chosen, probable = self._chosen(pool, count)
        waiting = pool[np.argsort(-probable, kind="stable")[: _POOL + count]]
        return self._drawing.fresh(pool[chosen], count, rng, state.unit), waiting

    def _near(self, parents: Places, rng: np.random.Generator) -> Array:
        """Return some designs one move from parents that may be on the front; none if none is."""
        unit = self._drawing.new(self._axes.unit(self._axes.neighbours(parents)))
        unit = unit[rng.permutation(len(unit))]
        for low in range(0, len(unit), _POOL):
            found = self._unseen(unit[low : low + _POOL])
            if len(found):
                return found
        return unit[:0]

    def _unseen(self, unit: Array) -> Array:
        """Return the designs that are not dominated by declarations of models."""
        return unit[~self.expected.dominated(self._axes.places(unit))]

    def _chosen(self, pool: Array, count: int) -> tuple[NDArray[np.int64], Array]:
        """Return the best of a pool, and how probable it is that each is on the front."""
        expected = self.expected
        mean, error, feasible = expected(self._axes.places(pool))
        if len(expected.front) == 0:
            return np.argsort(-feasible, kind="stable")[:count], feasible
        errors = np.maximum(error, _SURE * expected.width)
        probable = feasible * _undominated(mean, errors, expected.points)
        order = np.argsort(-probable, kind="stable").tolist()
        hoped = mean - error
        gap = beyond(hoped, expected.points, expected.width)
        chosen: list[int] = []
        while len(chosen) < min(count, len(pool)):
            merit = np.maximum(gap, 0.0) * feasible
            merit[chosen] = -1.0
            row = int(np.argmax(merit))
            if merit[row] <= 0.0 or len(chosen) >= round(count * _GAPS):
                row = next(each for each in order if each not in chosen)
            chosen.append(row)
            gap = np.minimum(gap, ((mean[row] - hoped) / expected.width).max(axis=1))
        return np.array(chosen), probable

    def _none_near(self, state: State, front: int, count: int, rng: np.random.Generator) -> Array:
        """Return designs drawn at random if nothing is feasible yet; else the search has ended."""
        if front:
            return state.unit[:0]
        drawn = rng.random((count, state.unit.shape[1]))
        return self._drawing.fresh(drawn, count, rng, state.unit)


def _undominated(mean: Array, error: Array, front: Array) -> Array:
    """Return about how probable it is that no design of a front dominates each expected one."""
    found = np.empty(len(mean))
    for low in range(0, len(mean), _BLOCK):
        gaps = front - mean[low : low + _BLOCK, None]
        found[low : low + _BLOCK] = (gaps / error[low : low + _BLOCK, None]).max(axis=2).min(axis=1)
    return np.asarray(ndtr(found))
