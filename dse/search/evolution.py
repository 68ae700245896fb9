"""Evolution: NSGA-II over whole generations as arrays, for spaces too large to enumerate.

Ranking by non-dominated sorting and crowding distance, feasible designs first (Deb et al., A fast
and elitist multiobjective genetic algorithm: NSGA-II, IEEE TEC 2002), simulated binary crossover
and polynomial mutation for numbers, uniform crossover for choices. The first generation is a
scrambled Sobol sequence; in a finite space no design is evaluated twice.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import moocore
import numpy as np
from numpy.typing import NDArray

from dse.evaluate import Evaluated, Evaluator
from dse.front import scaled
from dse.quantity import Array
from dse.search.judging import judge
from dse.search.plan import Plan
from dse.space import Choice, Values

_CROSSOVER, _MUTATION = 15.0, 20.0  # distribution indices: how near children stay to parents


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
        Rows of the population.
    """

    unit: Array
    judged: Evaluated
    parents: NDArray[np.int64]


def evolve(evaluator: Evaluator, plan: Plan, start: Evolved | None = None) -> Iterator[Evolved]:
    """Search; yield the state after each generation.

    The random numbers of a generation depend on the seed and on how many designs there are, so that
    a resumed search goes on as an uninterrupted one would.

    Raises
    ------
    DesignError
        Where a model raises.
    """
    state = start
    while state is None or len(state.unit) < plan.evaluations:
        done = 0 if state is None else len(state.unit)
        rng = np.random.default_rng([plan.seed, done])
        count = min(plan.generation, plan.evaluations - done)
        unit = (
            _first(evaluator, count, rng)
            if state is None
            else _children(evaluator, state, count, rng)
        )
        if len(unit) == 0:
            return  # every design of a finite space has been evaluated
        judged = judge(evaluator, evaluator.space.from_unit(unit), done)
        if state is not None:
            unit = np.concatenate([state.unit, unit])
            judged = Evaluated(
                np.concatenate([state.judged.objectives, judged.objectives]),
                np.concatenate([state.judged.excess, judged.excess]),
                np.concatenate([state.judged.feasible, judged.feasible]),
            )
            candidates = np.concatenate([state.parents, np.arange(done, len(unit))])
        else:
            candidates = np.arange(len(unit))
        rank, crowd = _fitness(evaluator, judged, candidates)
        order = np.lexsort((candidates, -crowd, rank))[: plan.generation]
        state = Evolved(unit, judged, candidates[order])
        yield state


def _canonical(evaluator: Evaluator, unit: Array) -> Array:
    """Return one point of the cube for each design: the middle of its cell on grids."""
    return evaluator.space.to_unit(evaluator.space.from_unit(unit))


def _first(evaluator: Evaluator, count: int, rng: np.random.Generator) -> Array:
    from scipy.stats import qmc  # slow to import, and needed here alone

    dimensions = len(evaluator.space.variables)
    power = max(int(np.ceil(np.log2(max(count, 2)))), 1)
    unit = qmc.Sobol(dimensions, rng=rng).random_base2(power)[:count]
    return _fresh(evaluator, np.zeros((0, dimensions)), unit, count, rng)


def _fresh(
    evaluator: Evaluator, known: Array, unit: Array, count: int, rng: np.random.Generator
) -> Array:
    """Return up to `count` designs that are not among the known ones, filled up at random."""
    seen = {row.tobytes() for row in known}
    found: list[Array] = []
    for attempt in range(20):
        for row in _canonical(evaluator, np.clip(unit, 0.0, np.nextafter(1.0, 0.0))):
            key = row.tobytes()
            if key not in seen:
                seen.add(key)
                found.append(row)
                if len(found) == count:
                    return np.array(found)
        unit = rng.random((count * (attempt + 1), len(evaluator.space.variables)))
    return np.array(found).reshape(-1, len(evaluator.space.variables))


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
        ranks = (
            moocore.pareto_rank(inside)
            if inside.shape[1] > 1
            else np.unique(inside[:, 0], return_inverse=True)[1]
        )
        rank[feasible] = ranks
        unit, _ = scaled(inside, evaluator.signs)
        distance = np.zeros(len(inside))
        for r in np.unique(ranks):
            members = np.flatnonzero(ranks == r)
            distance[members] = _crowding(unit[members])
        crowd[feasible] = distance
    if not feasible.all():
        excess = np.maximum(np.nan_to_num(judged.excess[rows], nan=1e300), 0.0)
        largest = np.where(excess.max(axis=0) > 0, excess.max(axis=0), 1.0)
        total = (excess / largest).sum(axis=1) + np.isnan(points).any(axis=1) * excess.shape[1]
        worst = rank[feasible].max(initial=0) + 1
        order = np.argsort(np.argsort(total[~feasible], kind="stable"), kind="stable")
        rank[~feasible] = worst + order
    return rank, crowd


def _crowding(unit: Array) -> Array:
    distance = np.zeros(len(unit))
    for column in unit.T:
        order = np.argsort(column, kind="stable")
        gaps = np.empty(len(unit))
        gaps[order[0]] = gaps[order[-1]] = np.inf
        gaps[order[1:-1]] = column[order[2:]] - column[order[:-2]]
        distance += gaps
    return distance


def _children(evaluator: Evaluator, state: Evolved, count: int, rng: np.random.Generator) -> Array:
    rank, crowd = _fitness(evaluator, state.judged, state.parents)
    standing = np.empty(len(state.parents), dtype=np.int64)
    standing[np.lexsort((-crowd, rank))] = np.arange(len(state.parents))
    pairs = rng.integers(0, len(state.parents), (2, 2, count))
    winners = np.where(standing[pairs[0]] <= standing[pairs[1]], pairs[0], pairs[1])
    mother, father = state.unit[state.parents[winners[0]]], state.unit[state.parents[winners[1]]]
    named = np.array(
        [isinstance(v, Choice | Values) for v in evaluator.space.variables.values()], dtype=bool
    )
    child = np.where(named, _mixed(mother, father, rng), _crossed(mother, father, rng))
    child = _mutated(child, named, rng)
    return _fresh(evaluator, state.unit, child, count, rng)


def _mixed(mother: Array, father: Array, rng: np.random.Generator) -> Array:
    return np.where(rng.random(mother.shape) < 0.5, mother, father)


def _crossed(mother: Array, father: Array, rng: np.random.Generator) -> Array:
    """Cross by simulated binary crossover, on each coordinate with probability one half."""
    u = rng.random(mother.shape)
    spread = np.where(
        u <= 0.5,
        (2.0 * u) ** (1.0 / (_CROSSOVER + 1.0)),
        (1.0 / np.maximum(2.0 * (1.0 - u), 1e-300)) ** (1.0 / (_CROSSOVER + 1.0)),
    )
    sign = np.where(rng.random(mother.shape) < 0.5, 1.0, -1.0)
    child = 0.5 * ((mother + father) + sign * spread * (mother - father))
    return np.where(rng.random(mother.shape) < 0.5, child, _mixed(mother, father, rng))


def _mutated(unit: Array, named: NDArray[np.bool_], rng: np.random.Generator) -> Array:
    """Mutate: polynomially for numbers, a fresh draw for choices and now and then for numbers."""
    u = rng.random(unit.shape)
    step = np.where(
        u < 0.5,
        (2.0 * u) ** (1.0 / (_MUTATION + 1.0)) - 1.0,
        1.0 - (2.0 * (1.0 - u)) ** (1.0 / (_MUTATION + 1.0)),
    )
    drawn = rng.random(unit.shape)
    anew = named | (rng.random(unit.shape) < 0.1)
    mutant = np.where(anew, drawn, unit + step)
    return np.where(rng.random(unit.shape) < 1.0 / unit.shape[1], mutant, unit)
