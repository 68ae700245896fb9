"""Evolution: NSGA-II over whole generations as arrays, for spaces too large to enumerate.

There are few parents at first, to approach the front soon, and more with the designs, to cover it.
Parents mate with neighbours on the front.
No design is evaluated twice, and no design that a relation between variables forbids. The search
ends when it has used its evaluations, when no design is left, or when its front has stalled.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dse.evaluate.evaluator import Evaluated, Evaluator
from dse.evaluate.front import is_nondominated, rank_points, scale_front
from dse.evaluate.samples import sobol_points
from dse.evaluate.space import Choice, Space, Values
from dse.model.quantity import Array
from dse.model.values import plural
from dse.problems import Problem
from dse.search.base import Progress, SearchSettings, Start, refuse_options
from dse.search.convergence import GROWTH, StallDetector
from dse.search.outcome import Outcome, make_sample_outcome
from dse.search.workers import NEVER, is_late

Rows = NDArray[np.int64]

EVALUATIONS = 100_000
"""Designs that are evaluated if the study does not say."""
_GENERATION, _FEW_GENERATION = 2_000, 4_000
_FEW = 6  # variables: larger generations then find more, and a design costs less
_MIN_PARENTS = 200
_DESIGNS_PER_PARENT = 32  # up to a generation of parents


def plan(
    settings: SearchSettings, space: Space, objectives: int, problems: list[Problem]
) -> SearchSettings:
    """Plan an evolution; see `base.Method`."""
    refuse_options(settings, "use generation, evaluations and seed", problems)
    total = settings.evaluations or EVALUATIONS
    usual = _FEW_GENERATION if len(space.variables) <= _FEW else _GENERATION
    generation = min(settings.generation or min(usual, max(total // 10, 2)), total)
    evaluations = total if space.size is None else min(total, space.size)
    return replace(settings, evaluations=evaluations, generation=generation)


# ---------------------------------------------------------------------------------- the search

ALL = "every design that the relations between variables allow was evaluated"
_NONE_LEFT = "no further design was found that no relation between variables forbids"


@dataclass(frozen=True)
class Population:
    """All designs evaluated so far, in order, and which of them are the parents of the next."""

    unit: Array
    """Points of the unit cube. Shape (designs, variables)."""
    evaluated: Evaluated
    parents: Rows
    """Rows of the parents, best first: at most as many as a generation."""
    front: int = 0
    """How many of the candidates for parents were feasible and non-dominated."""
    ended: str = ""
    """Why the search ended before its evaluations were used; empty if it has not."""

    @classmethod
    def from_arrays(cls, evaluator: Evaluator, arrays: Mapping[str, NDArray[Any]]) -> Population:
        """Return the population of a checkpoint, or the one before the first design."""
        if not arrays:
            unit = np.empty((0, len(evaluator.space.variables)))
            return cls(unit, Evaluated.empty(evaluator), np.empty(0, dtype=np.int64))
        evaluated, parents = Evaluated.from_arrays(arrays), arrays["parents"]
        feasible = parents[evaluated.feasible[parents]]
        front = int(is_nondominated(evaluated.objectives[feasible] * evaluator.signs).sum())
        return cls(arrays["unit"], evaluated, parents, front)


class Evolution:
    """The evolution; see `base.Search`.

    The random numbers of a generation depend on the seed and on the number of designs. Therefore
    a resumed search goes on as an uninterrupted one would.
    """

    def __init__(self, setup: Start) -> None:
        self._evaluator, self._plan = setup.evaluator, setup.plan
        self._batches = setup.batch_evaluator()
        self.population = Population.from_arrays(setup.evaluator, setup.state)

    def steps(self, until: float = NEVER) -> Iterator[None]:
        """Search; see `base.Search`."""
        evaluator, plan, state = self._evaluator, self._plan, self.population
        space, signs, evaluated = evaluator.space, evaluator.signs, state.evaluated
        visited = VisitedDesigns(evaluator, state.unit)
        stall = StallDetector(signs, plan.generation)
        # a budget for a whole space is used up, and certifies the front
        may_stall = space.size is None or space.size > plan.evaluations
        columns = state.unit, evaluated.objectives, evaluated.constrained, evaluated.feasible
        history = [_GrowingArray(column) for column in columns]
        leading = _GrowingArray(np.ones(len(state.unit), dtype=bool))
        while (done := len(state.unit)) < plan.evaluations:
            if done and is_late(until):
                return
            if done and may_stall:
                stall.add_generations(state.evaluated, leading.rows)
                if stall.has_stalled:
                    ended = (
                        f"the front has stalled: of {done:,} evaluations, the last "
                        f"{stall.window:,} let what it dominates grow by no more than {GROWTH:.3%}"
                    )
                    self.population = replace(state, ended=ended)
                    yield
                    return
            unit = self._generate(state, visited)
            if len(unit) == 0:
                if done:
                    ended = ALL if visited.exhausted else _NONE_LEFT
                    self.population = replace(state, ended=ended)
                    yield
                return
            new = self._batches.evaluate(space.from_unit(unit), done, until)
            rows = unit[: len(new)], new.objectives, new.constrained, new.feasible
            unit, objectives, constrained, feasible = (
                column.append(more) for column, more in zip(history, rows, strict=True)
            )
            failed = state.evaluated.failed
            if new.failed:
                failed = {**failed, **{done + row: error for row, error in new.failed.items()}}
            evaluated = Evaluated(objectives, constrained, feasible, failed)
            candidates = np.concatenate([state.parents, np.arange(done, len(unit))])
            count = min(plan.generation, max(_MIN_PARENTS, len(unit) // _DESIGNS_PER_PARENT))
            parents, best = select(evaluator, evaluated, candidates, count)
            leading.append(best[-len(new) :])
            state = Population(unit, evaluated, parents, int(best.sum()))
            self.population = state
            yield

    def _generate(self, state: Population, visited: VisitedDesigns) -> Array:
        """Return new designs, as points of the unit cube; none if no more is found."""
        space, plan, done = self._evaluator.space, self._plan, len(state.unit)
        rng = np.random.default_rng([plan.seed, done])
        count = min(plan.generation, plan.evaluations - done)
        if done == 0:  # scrambled Sobol points: the cube evenly covered
            return visited.visit(sobol_points(len(space.variables), count, rng), count, rng)
        parents = state.unit.take(state.parents, axis=0)
        costs = state.evaluated.objectives.take(state.parents, axis=0) * self._evaluator.signs
        places = scale_front(costs, self._evaluator.signs)[0]

        def generate(number: int) -> Array:
            return make_children(space, parents, places, number, rng)

        return visited.visit(generate(count), count, rng, parents, generate)

    def progress(self) -> Progress:
        """Return how far it is; see `base.Search`."""
        done = len(self.population.unit)
        return Progress(done, self._plan.evaluations, self.population.front, kept=done)

    def outcome(self) -> Outcome:
        """Return the designs found so far; see `base.Search`."""
        state, space = self.population, self._evaluator.space
        points = space.from_unit(state.unit)
        outcome = make_sample_outcome(self._evaluator, points, state.evaluated, self._plan.method)
        if outcome.complete:
            return outcome
        names = [constraint.name for constraint in self._evaluator.prefilter().constraints]
        if not names:
            return replace(outcome, ended=state.ended)
        relations = " and ".join(f"'{name}'" for name in names)
        if state.ended != ALL:
            replaced = f"What violates {relations} was replaced before any model ran."
            statement = f"{outcome.statement} {replaced}"
            return replace(outcome, statement=statement, ended=state.ended)
        count, front = len(outcome.numbers), int(outcome.on_front.sum())
        every = "the 1 design" if count == 1 else f"all {count:,} designs"
        statement = (
            f"Complete: {every} of the space that {relations} "
            f"{'allows' if len(names) == 1 else 'allow'} "
            f"{'was' if count == 1 else 'were'} evaluated; the "
            f"{plural(front, 'non-dominated is', 'non-dominated are')} its whole Pareto front."
        )
        return replace(outcome, complete=True, statement=statement)

    def state(self) -> dict[str, NDArray[Any]]:
        """Return what is needed to go on; see `base.Search`."""
        state = self.population
        if not len(state.unit):
            return {}
        return {"unit": state.unit, "parents": state.parents} | state.evaluated.to_arrays()


start = Evolution
"""Begin or resume the search; see `base.Method`."""


class _GrowingArray:
    """An array that grows at its end; earlier views of it stay what they were."""

    def __init__(self, rows: NDArray[Any]) -> None:
        self._buffer, self._count = rows, len(rows)

    @property
    def rows(self) -> NDArray[Any]:
        return self._buffer[: self._count]

    def append(self, more: NDArray[Any]) -> NDArray[Any]:
        """Add rows and return all of them."""
        low, self._count = self._count, self._count + len(more)
        if self._count > len(self._buffer):
            grown = np.empty((2 * self._count, *more.shape[1:]), dtype=more.dtype)
            grown[:low] = self._buffer[:low]
            self._buffer = grown
        self._buffer[low : self._count] = more
        return self.rows


# ----------------------------------------------------------------------------------- selection

_MAX_UINT16 = 65_535


def select(
    evaluator: Evaluator, evaluated: Evaluated, rows: Rows, count: int
) -> tuple[Rows, NDArray[np.bool_]]:
    """Return the best of some designs, best first, and which are feasible and non-dominated.

    Of all designs, `rows` are the candidates, of which `count` are selected. Non-dominated sorting
    and crowding distance, feasible designs first (Deb et al., A fast and elitist multiobjective
    genetic algorithm: NSGA-II, IEEE TEC 2002).
    """
    signs = evaluator.signs
    if evaluated.feasible.take(rows).all():
        points = evaluated.objectives.take(rows, axis=0)  # an index takes four times as long
        order, front = _order(points * signs, signs, count)
        return rows[order], front
    candidates = evaluated.rows(rows)
    inside = np.flatnonzero(candidates.feasible)
    order, best = _order(candidates.objectives[inside] * signs, signs, count)
    front = np.zeros(len(rows), dtype=bool)
    front[inside] = best
    selected = rows[inside[order]]
    if len(selected) < count:
        outside = np.flatnonzero(~candidates.feasible)
        total = _total_violation(evaluator, candidates.rows(outside))
        least_first = outside[np.argsort(total, kind="stable")]
        selected = np.concatenate([selected, rows[least_first[: count - len(selected)]]])
    return selected, front


def _order(points: Array, signs: Array, count: int) -> tuple[Rows, NDArray[np.bool_]]:
    """Order feasible points: by front, then the lonely ones first, then as they came."""
    if len(points) == 0:
        return np.zeros(0, dtype=np.int64), np.zeros(0, dtype=bool)
    best = is_nondominated(points)
    rows = np.flatnonzero(best)
    if len(rows) >= count:  # further fronts do not matter
        distance = _crowding(
            scale_front(points[rows], signs)[0], np.zeros(len(rows), dtype=np.uint16)
        )
        return rows[_descending(distance)[:count]], best
    rank = np.zeros(len(points), dtype=np.int64)
    rest = np.flatnonzero(~best)
    rank[rest] = 1 + rank_points(points[rest])
    short = np.minimum(rank, _MAX_UINT16).astype(np.uint16)
    order = _descending(_crowding(scale_front(points, signs)[0], short))
    return order[np.argsort(rank[order], kind="stable")[:count]], best


def _crowding(unit: Array, rank: NDArray[np.uint16]) -> Array:
    """Return for each point the distance of its neighbours on its own front; inf at both sides.

    To 1 / 65,535 of the range of each objective: 16 bits are sorted several times as quickly.
    """
    distance = np.zeros(len(unit))
    gaps = np.empty(len(unit))
    several = rank.any()
    for column in unit.T:
        order = np.argsort((column * _MAX_UINT16).astype(np.uint16), kind="stable")
        if several:
            order = order[np.argsort(rank[order], kind="stable")]
        value = column[order]
        gaps[:1], gaps[-1:] = np.inf, np.inf
        np.abs(value[2:] - value[:-2], out=gaps[1:-1])
        if several:
            front = rank[order]
            gaps[1:-1][front[2:] != front[:-2]] = np.inf
        distance[order] += gaps
    return distance


def _descending(distance: Array) -> Rows:
    """Order by distance, the largest first, to the first 8 bits of the mantissa."""
    short = (distance.astype(np.float32).view(np.uint32) >> np.uint32(16)).astype(np.uint16)
    return np.argsort(~short, kind="stable")


def _total_violation(evaluator: Evaluator, evaluated: Evaluated) -> Array:
    """Return the sum of the violations of each design, each as a fraction of the worst one."""
    violation = np.maximum(evaluator.violations(evaluated.constrained), 0.0)
    finite = np.isfinite(violation)
    largest = np.where(finite, violation, 0.0).max(axis=0)
    with np.errstate(all="ignore"):
        fraction = np.where(finite, violation / np.where(largest > 0, largest, 1.0), 2.0)
    undefined = np.isnan(evaluated.objectives).any(axis=1)
    return np.asarray(fraction.sum(axis=1) + undefined * (violation.shape[1] + 1.0))


# ----------------------------------------------------------------------------------- variation

_CROSSOVER, _MUTATION = 15.0, 20.0  # distribution indices: how near children stay to parents
_REDRAWN = 0.1  # of mutations of a number: a fresh draw
_NEAR = 32  # parents: nearer ones are too alike to approach the front
_MAX_CANDIDATES = 16  # to choose a neighbour from, for its cost
_SHIFTED, _SHIFT = 0.3, 0.5  # of children, by how much of a difference
_WORDS = 1 << 16  # a decision takes 16 random bits
_QUANTILES = (np.arange(4_096) + 0.5) / 4_096  # at which distributions are tabulated


def _crossover_quantiles() -> Array:
    # The distance of children, as a fraction of their parents' distance. Either child of a pair is
    # as likely: half of the quantiles are thus negative.
    near = np.minimum(2.0 * _QUANTILES, 2.0 - 2.0 * _QUANTILES) ** (1.0 / (_CROSSOVER + 1.0))
    spread = np.where(_QUANTILES < 0.5, near, 1.0 / near)
    return np.concatenate([spread, -spread])


def _mutation_quantiles() -> Array:
    size = np.minimum(2.0 * _QUANTILES, 2.0 - 2.0 * _QUANTILES) ** (1.0 / (_MUTATION + 1.0))
    return np.where(_QUANTILES < 0.5, size - 1.0, 1.0 - size)


_SPREADS, _STEPS = _crossover_quantiles(), _mutation_quantiles()


def make_children(
    space: Space, parents: Array, places: Array, count: int, rng: np.random.Generator
) -> Array:
    """Return children as points of the unit cube, not clipped to it.

    Mothers win tournaments of two. Fathers are near them on the front: distant parents seldom have
    a child on it (Ishibuchi and Shibata, GECCO 2003). Numbers have simulated binary crossover and
    polynomial mutation (Deb and Agrawal, Complex Systems 1995), choices have uniform crossover and
    a fresh draw. Other children are their mother, shifted along the front by the difference of two
    neighbours (Li and Zhang, MOEA/D-DE, IEEE TEC 2009).

    Parents (parents, variables) are points of the unit cube, best first; their places (parents,
    objectives) are their scaled objectives.
    """
    # the better of two: the lesser of two uniform numbers
    rows = ((1.0 - np.sqrt(1.0 - rng.random(count))) * len(parents)).astype(np.int64)
    mother = parents.take(rows, axis=0)
    father = parents.take(_find_neighbours(places, rows, rng), axis=0)
    named = np.array([isinstance(v, Choice | Values) for v in space.variables.values()], dtype=bool)
    # each coordinate is the mother's, the father's, or for half of the numbers between the two
    source, mutated = rng.integers(0, _WORDS, (2, *mother.shape), dtype=np.uint16)
    child = np.where(source < _WORDS // 2, mother, father)
    between = np.flatnonzero((source - np.uint16(_WORDS // 4) < _WORDS // 2) & ~named)
    spread = _SPREADS.take(rng.integers(0, len(_SPREADS), len(between), dtype=np.uint16))
    one, other = mother.take(between), father.take(between)
    child.ravel()[between] = 0.5 * ((one + other) + spread * (one - other))
    shifted = int(_SHIFTED * count)
    further = parents.take(_find_neighbours(places, rows[:shifted], rng), axis=0)
    shift = mother[:shifted] + _SHIFT * (father[:shifted] - further)
    child[:shifted] = np.where(named, child[:shifted], shift)
    crossed = child[shifted:]  # a mutation would undo the shift
    _mutate(crossed, np.flatnonzero(mutated[shifted:] < _WORDS / child.shape[1]), named, rng)
    return np.asarray(child)


def _find_neighbours(places: Array, rows: Rows, rng: np.random.Generator) -> Rows:
    """Return for each parent a near one: the nearest of some at random, by objectives."""
    candidates = min(max(len(places) // _NEAR, 1), _MAX_CANDIDATES)
    others = rng.integers(0, len(places), (candidates, len(rows)), dtype=np.uint32)
    distance = np.where(others == rows, np.float32(np.inf), np.float32(0.0))
    for column in places.T.astype(np.float32):  # single precision is enough, and quick
        gap = column.take(others)
        gap -= column.take(rows)
        gap *= gap
        distance += gap
    return np.asarray(others[distance.argmin(axis=0), np.arange(len(rows))])


def _mutate(
    unit: Array, cells: NDArray[np.int64], named: NDArray[np.bool_], rng: np.random.Generator
) -> None:
    """Mutate coordinates, one of each child or so: polynomially, or by a fresh draw."""
    step, fresh = rng.integers(0, _WORDS, (2, len(cells)), dtype=np.uint16)
    mutated = unit.take(cells) + _STEPS[step % len(_STEPS)]
    redrawn = np.flatnonzero(named.take(cells % unit.shape[1]) | (fresh < _REDRAWN * _WORDS))
    mutated[redrawn] = rng.random(len(redrawn))
    unit.ravel()[cells] = mutated  # a view: the quick way


# --------------------------------------------------------------------------- designs each once

_PROPOSAL_ROUNDS, _PROPOSALS = 2, 2  # further rounds, and proposals per missing design in each
_RANDOM_ROUNDS = 4  # of random designs before those left are listed
_REPAIRS = 4  # each takes about half of what still differs from an allowed parent
_MAX_RANDOM = 65_536  # designs of a round, if few are allowed
_MAX_LISTED = 100_000  # a space of so many designs is listed for what is left,
_MAX_LISTED_PER_VISIT = 20  # and one of at most this many times the designs visited


class VisitedDesigns:
    """The designs that a search has visited, and a source of designs that it has not.

    The search is `exhausted` if every allowed design of a finite space was visited.
    """

    def __init__(self, evaluator: Evaluator, unit: Array) -> None:
        self._space = evaluator.space
        self._rules = evaluator.prefilter()
        self.exhausted = False
        self._codes: set[int] = set(self._space.settled(unit)[1].tolist())

    def visit(
        self,
        unit: Array,
        count: int,
        rng: np.random.Generator,
        parents: Array | None = None,
        propose: Callable[[int], Array] | None = None,
    ) -> Array:
        """Return up to `count` designs that are new, and record them as visited.

        A design that a relation forbids is repaired towards a parent, which was evaluated. If it
        cannot be repaired, or is not new, others replace it: first from `propose`, then random
        ones. If no allowed design is known, the search gets the designs with the smallest
        violations. Points of the unit cube, of shape (designs, variables), are the designs;
        proposals may be outside it.
        """
        parents = unit[:0] if parents is None else parents
        around = parents[self._allowed(parents)] if len(parents) else parents
        batches = [self._record(self._repair(unit, around, rng), count)]
        missing, width = count - len(batches[0]), 2
        for _ in range(_PROPOSAL_ROUNDS if propose else 0):
            if missing and propose:
                more = self._repair(propose(_PROPOSALS * missing), around, rng)
                batches.append(self._record(more, missing))
                missing -= len(batches[-1])
        for _ in range(_RANDOM_ROUNDS):
            if not missing:
                break
            random = rng.random((min(missing * width, _MAX_RANDOM), unit.shape[1]))
            batches.append(self._record(self._repair(random, around, rng), missing))
            missing -= len(batches[-1])
            width *= 8 if self._rules.constraints else 1
        if missing:
            batches.append(self._record(self._list_rest(missing, rng), missing))
        designs = np.concatenate(batches)
        if len(designs) == 0 and len(around) == 0 and self._rules.constraints:
            return self._least_violating(np.concatenate([unit, rng.random(unit.shape)]), count)
        return designs

    def find_new(self, unit: Array) -> Array:
        """Return the allowed designs among some that were not visited, each once."""
        settled, rows, _ = self._new_rows(unit)
        return settled[rows][self._allowed(settled[rows])]

    def _allowed(self, unit: Array) -> NDArray[np.bool_]:
        if not self._rules.constraints:
            return np.ones(len(unit), dtype=bool)
        return self._rules.evaluate(self._space.from_unit(self._space.settled(unit)[0])).feasible

    def _repair(self, unit: Array, around: Array, rng: np.random.Generator) -> Array:
        """Return the allowed ones, and the others if they become so on the way to a parent."""
        if not self._rules.constraints:
            return unit
        unit = unit.copy()
        wrong = np.flatnonzero(~self._allowed(unit))
        for _ in range(_REPAIRS if len(around) else 0):
            nearer = around[rng.integers(0, len(around), len(wrong))]
            kept = rng.random((len(wrong), unit.shape[1])) < 0.5
            unit[wrong] = np.where(kept, unit[wrong], nearer)
            wrong = wrong[~self._allowed(unit[wrong])]
        return np.delete(unit, wrong, axis=0)

    def _new_rows(self, unit: Array) -> tuple[Array, Rows, list[int]]:
        """Return designs, the rows of those not visited, each once, and the codes of these."""
        settled, codes = self._space.settled(unit)
        first, rows = np.unique(codes, return_index=True)
        new = np.fromiter((c not in self._codes for c in first.tolist()), bool, len(first))
        rows = np.sort(rows[new])
        return settled, rows, codes[rows].tolist()

    def _record(self, unit: Array, limit: int) -> Array:
        """Return the first designs that were not visited, at most so many; they are visited now."""
        settled, rows, codes = self._new_rows(unit)
        self._codes.update(codes[:limit])
        rows = rows[:limit]
        return settled if len(rows) == len(settled) else settled[rows]

    def _list_rest(self, count: int, rng: np.random.Generator) -> Array:
        """Draw allowed designs of a finite space not visited, if listing them is not too much."""
        size = self._space.size
        if size is None or size > max(_MAX_LISTED, _MAX_LISTED_PER_VISIT * len(self._codes)):
            return np.zeros((0, len(self._space.variables)))
        left = np.ones(size, dtype=bool)
        left[np.fromiter(self._codes, np.int64, len(self._codes))] = False
        numbers = np.flatnonzero(left)
        if self._rules.constraints:
            numbers = numbers[self._rules.evaluate(self._space.from_index(numbers)).feasible]
        self.exhausted = len(numbers) <= count
        return self._space.to_unit(self._space.from_index(rng.permutation(numbers)[:count]))

    def _least_violating(self, unit: Array, count: int) -> Array:
        points = self._space.from_unit(self._space.settled(unit)[0])
        violation = self._rules.violations(self._rules.evaluate(points).constrained)
        worst = np.where(np.isfinite(violation), np.maximum(violation, 0.0), np.inf)
        scale = np.where(np.isfinite(worst), worst, 0.0).max(axis=0)
        total = (worst / np.where(scale > 0, scale, 1.0)).sum(axis=1)
        return self._record(unit[np.argsort(total, kind="stable")], count)
