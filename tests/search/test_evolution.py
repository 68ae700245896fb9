"""Evolution: deterministic, resumable, without repetition, and not worse than Optuna's NSGA-II."""

from __future__ import annotations

import math
from collections import deque
from dataclasses import replace
from typing import Any

import numpy as np
import optuna
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray
from scipy.stats import kstest

from dse.evaluate.evaluator import Evaluated, Evaluator
from dse.evaluate.front import hypervolume, is_nondominated
from dse.evaluate.space import Choice, Integer, Real, Space, Values
from dse.model import Model
from dse.search.base import SearchSettings, Start
from dse.search.convergence import StallDetector
from dse.search.evolution import Evolution, Population, VisitedDesigns, make_children, select
from dse.search.workers import Workers
from tests.core_examples import MIXED, SPEED, constraint, evaluator, model, objective, relation
from tests.quality import recall

Floats = NDArray[np.float64]
GOALS = [objective("speed", "maximize"), objective("cost")]
SMALL = evaluator(MIXED, [SPEED], GOALS)


def begun(
    judge: Evaluator, evaluations: int, generation: int, seed: int = 0, **others: Any
) -> Evolution:
    settings = SearchSettings("evolution", evaluations, generation, seed)
    return Evolution(Start(judge, settings, **others))


def last(judge: Evaluator, evaluations: int, generation: int, seed: int = 0) -> Population:
    search = begun(judge, evaluations, generation, seed)
    deque(search.steps(), maxlen=0)
    return search.population


@pytest.mark.parametrize("generation", [7, 1_000])
def test_a_budget_beyond_the_space_evaluates_every_design_once_and_ends(generation: int) -> None:
    seen: list[Floats] = []

    def spy(lanes: Floats, base: Floats) -> Floats:
        seen.append(np.column_stack(np.broadcast_arrays(lanes, base)))
        return lanes * base

    judge = evaluator(
        {"lanes": Integer(1, 200, log=True), "row": MIXED["row"]},
        [model("spy", spy, ["lanes", "base"], ["product"])],
        [objective("product")],
    )
    state = last(judge, 5_000, generation)
    index = judge.space.to_index(judge.space.from_unit(state.unit))
    assert sorted(index.tolist()) == list(range(600))
    designs = np.concatenate(seen)
    assert len(designs) == len(np.unique(designs, axis=0)) == 600


def test_most_of_the_true_front_of_a_small_space_is_found() -> None:
    size = SMALL.space.size or 0
    assert size == 64 * 11 * 16 * 3 * 4
    truth = SMALL.evaluate(SMALL.space.from_index(np.arange(size))).objectives * SMALL.signs
    truth = truth[is_nondominated(truth)]
    found, drawn = [], []
    for seed in range(3):
        state = last(SMALL, 20_000, 500, seed)  # 15 % of the space
        found.append(recall(state.evaluated.objectives * SMALL.signs, truth))
        rng = np.random.default_rng(seed)
        points = SMALL.space.from_index(rng.choice(size, 20_000, replace=False))
        drawn.append(recall(SMALL.evaluate(points).objectives * SMALL.signs, truth))
    assert min(found) > 0.95
    assert max(drawn) < 0.3


def test_infinite_and_undefined_values_do_not_lead_astray() -> None:
    def odd(x: Floats, y: Floats) -> tuple[Any, ...]:
        out = np.where(x > 0.5, np.nan, np.where(y > 0.9, np.inf, (x - 0.25) ** 2 + y))
        third = np.where(y > 0.5, np.inf, np.where(x < 0.1, np.nan, y))
        return out, 1 - y, third

    judge = evaluator(
        {"x": Real(0, 1), "y": Real(0, 1)},
        [model("odd", odd, ["x", "y"], ["a", "b", "c"])],
        [objective("a"), objective("b")],
        [constraint("c", 0.01)],
    )
    state = last(judge, 2_000, 50)
    best = state.evaluated.objectives[state.evaluated.feasible]
    assert np.isfinite(best).all()
    assert best[:, 0].min() < 1e-3
    assert best[:, 1].min() < 0.9901


def test_one_objective_and_optima_on_the_bounds() -> None:
    names = [f"x{i}" for i in range(4)]
    sphere = model("m", lambda **v: sum((x - 1.5) ** 2 for x in v.values()), names, ["y"])
    judge = evaluator(dict.fromkeys(names, Real(-5, 5)), [sphere], [objective("y")])
    assert last(judge, 4_000, 50).evaluated.objectives.min() < 1e-2
    corner = evaluator(
        {"x": Real(0.1, 0.7), "y": Real(1e-3, 1e3, log=True)},
        [model("m", lambda x, y: -x - y, ["x", "y"], ["z"])],
        [objective("z")],
    )
    assert last(corner, 1_000, 50).evaluated.objectives.min() == -0.7 - 1e3


def _dtlz2(**v: Any) -> tuple[Any, ...]:
    x = list(v.values())
    g = 1 + sum((xi - 0.5) ** 2 for xi in x[2:])
    a, b = x[0] * math.pi / 2, x[1] * math.pi / 2
    return g * np.cos(a) * np.cos(b), g * np.cos(a) * np.sin(b), g * np.sin(a)


def test_quality_is_not_worse_than_optunas_nsga2() -> None:
    """Two objectives: the front of a plane, below."""
    names, outputs = [f"x{i}" for i in range(8)], ["f", "g", "h"]
    problem: Model = model("problem", _dtlz2, names, outputs)
    judge = evaluator({n: Real(0, 1) for n in names}, [problem], [objective(o) for o in outputs])
    corner = np.full(3, 1.6)
    optuna.logging.set_verbosity(optuna.logging.ERROR)

    def theirs(seed: int) -> float:
        study = optuna.create_study(
            directions=["minimize"] * len(outputs),
            sampler=optuna.samplers.NSGAIISampler(population_size=50, seed=seed),
        )

        def values(trial: optuna.Trial) -> tuple[float, ...]:
            costs = _dtlz2(**{n: trial.suggest_float(n, 0, 1) for n in names})
            return tuple(float(x) for x in costs)

        study.optimize(values, n_trials=800)
        return hypervolume(np.array([t.values for t in study.get_trials(deepcopy=False)]), corner)

    ours = [hypervolume(last(judge, 800, 50, s).evaluated.objectives, corner) for s in range(5)]
    peers = [theirs(seed) for seed in range(3)]
    assert np.median(ours) >= np.median(peers)
    assert min(ours) >= max(peers) * 0.97


# ----------------------------------------------------------------------- relations and the end


def test_if_no_design_is_known_that_a_relation_allows_the_search_finds_its_way() -> None:
    judge = evaluator(
        {f"x{i}": Real(0, 1) for i in range(6)},
        [model("m", lambda x0, x1: x0 + x1, ["x0", "x1"], ["y"])],
        [objective("y")],
        [relation(" + ".join(f"x{i}" for i in range(6)) + " <= 0.02")],  # one in 10^13
    )
    feasible = last(judge, 20_000, 200).evaluated.feasible
    assert not feasible[:1_000].any()
    assert feasible[-1_000:].all()


def test_all_that_a_relation_allows_is_the_whole_front() -> None:
    judge = evaluator(
        {"lanes": Integer(1, 100), "streams": Integer(1, 100)},
        [model("m", lambda lanes, streams: (lanes, streams), ["lanes", "streams"], ["a", "b"])],
        [objective("a", "maximize"), objective("b", "maximize")],
        [relation("lanes * streams <= 30")],
    )
    search = begun(judge, 5_000, 50)
    deque(search.steps(), maxlen=0)
    allowed = sum(30 // lanes for lanes in range(1, 31))
    outcome = search.outcome()
    assert outcome.complete
    assert len(outcome.numbers) == allowed
    assert f"all {allowed} designs of the space that 'lanes * streams <= 30' allow" in (
        outcome.statement
    )
    every = judge.evaluate(judge.space.from_index(np.arange(10_000)))
    truth = every.objectives[every.feasible] * judge.signs
    truth = truth[is_nondominated(truth)]
    found = outcome.evaluated.objectives[outcome.on_front] * judge.signs
    assert sorted(map(tuple, found.tolist())) == sorted(map(tuple, truth.tolist()))


def test_a_constraint_is_known_beforehand_if_no_model_feeds_it() -> None:
    constraints = [constraint("cost", 60.0), constraint("lanes", 32.0), relation("lanes <= cost")]
    rules = evaluator(MIXED, [SPEED], GOALS, constraints).prefilter()
    assert [c.name for c in rules.constraints] == ["lanes <= 32"]
    points = SMALL.space.from_index(np.arange(0, SMALL.space.size or 0, 997))
    assert np.array_equal(rules.evaluate(points).feasible, points["lanes"] <= 32)


def _plane(x: Floats, y: Floats, z: Floats) -> tuple[Any, ...]:
    return x + (z - 0.5) ** 2, 1 - np.sqrt(x) + (y - 0.25) ** 2


PLANE = evaluator(
    {name: Real(0, 1) for name in "xyz"},
    [model("plane", _plane, ["x", "y", "z"], ["a", "b"])],
    [objective("a"), objective("b")],
)


def test_a_stalled_front_ends_the_search_and_the_certificate_says_so() -> None:
    search = begun(PLANE, 400_000, 500)
    checkpoint: dict[str, Any] = {}
    for _ in search.steps():
        if len(search.population.unit) == 6_000:
            checkpoint = {name: array.copy() for name, array in search.state().items()}
    outcome = search.outcome()
    assert len(outcome.numbers) < 100_000
    assert "the front has stalled" in outcome.ended
    # what it had found by then is within 0.1 % of the true front's hypervolume: a = x, b = 1 - √x
    found = outcome.evaluated.objectives[outcome.on_front]
    assert hypervolume(found, np.ones(2)) > (2 / 3) * 0.999
    # neither workers nor chunks nor a resumption matter
    other = begun(PLANE, 400_000, 500, state=checkpoint, workers=Workers(2), chunk=77)
    deque(other.steps(), maxlen=0)
    assert other.outcome().statement == outcome.statement
    assert other.outcome().ended == outcome.ended


def test_a_search_whose_front_grows_goes_on() -> None:
    feasible = np.ones(50_000, dtype=bool)
    x = np.tile(np.random.default_rng(0).random(500), 100)  # the same designs in each generation
    front = np.column_stack([x, 1 - x])
    grows = np.linspace(1, 0.5, 50_000)[:, None]
    nothing = ~feasible  # without a feasible design there is nothing to stall
    for points, some, stalls in (
        (front, feasible, True),
        (front * grows, feasible, False),
        (front, nothing, False),
    ):
        stall = StallDetector(np.ones(2), 500)
        stall.add_generations(Evaluated(points, np.empty((50_000, 0)), some))
        assert stall.has_stalled == stalls


def test_designs_that_another_dominates_do_not_matter_for_a_stall() -> None:
    evaluated = last(PLANE, 3_000, 60).evaluated
    costs = evaluated.objectives
    leading = np.array(  # no earlier design dominates it
        [not (costs[:row] <= costs[row]).all(axis=1).any() for row in range(len(costs))]
    )
    assert 0.02 < leading.mean() < 0.9
    one, other = StallDetector(np.ones(2), 60), StallDetector(np.ones(2), 60)
    one.add_generations(evaluated)
    for stop in range(60, 3_001, 60):
        other.add_generations(evaluated.rows(slice(stop)), leading[:stop])
    assert one.volumes == other.volumes


# ------------------------------------------------------------------------ selection, variation

_CROSSOVER, _MUTATION = 15.0, 20.0  # distribution indices


def _sbx(spread: Any) -> Floats:
    """Return how probable it is that a spread is less: Deb and Agrawal's density, integrated."""
    power = _CROSSOVER + 1.0
    near = 0.5 * np.minimum(spread, 1.0) ** power
    return np.asarray(np.where(spread <= 1.0, near, 1.0 - 0.5 * np.maximum(spread, 1.0) ** -power))


def _polynomial(step: Any) -> Floats:
    power = _MUTATION + 1.0
    less, more = 1.0 + np.minimum(step, 0.0), 1.0 - np.maximum(step, 0.0)
    return np.asarray(np.where(step < 0.0, 0.5 * less**power, 1.0 - 0.5 * more**power))


def _cube(width: int) -> Space:
    return Space({f"x{i}": Real(0, 1) for i in range(width)})


def test_what_is_crossed_is_spread_as_by_simulated_binary_crossover() -> None:
    parents = np.repeat([[0.4], [0.6]], 50, axis=1)
    unit = make_children(_cube(50), parents, parents[:, :2], 6_000, np.random.default_rng(3))
    unit = unit[1_800:]  # without those that are shifted
    spread = np.abs(unit - 0.5) / 0.1
    crossed = spread[(np.abs(spread - 1.0) > 1e-12) & (spread < 1.7)]
    # mother and father differ in half of the families; half of their coordinates are crossed, and
    # a mutation moves one in fifty
    assert len(crossed) / spread.size == pytest.approx(0.5 * 0.5 + 0.02, abs=0.01)
    inside = crossed[(crossed > 0.8) & (crossed < 1.2)]  # where mutations are few
    ends = _sbx(np.array([0.8, 1.2]))
    found = kstest(inside, lambda s: (_sbx(s) - ends[0]) / (ends[1] - ends[0]))
    assert found.statistic < 0.02


def test_a_mutation_is_polynomial_or_a_fresh_draw() -> None:
    parents, places = np.full((5, 40), 0.5), np.zeros((5, 2))
    unit = make_children(_cube(40), parents, places, 14_000, np.random.default_rng(0))
    moved = unit[unit != 0.5] - 0.5
    assert len(moved) / unit.size == pytest.approx(0.7 / 40, rel=0.03)  # one of a crossed child
    mixed = kstest(moved, lambda s: 0.9 * _polynomial(s) + 0.1 * np.clip(s + 0.5, 0.0, 1.0))
    assert mixed.statistic < 0.02


def test_choices_are_a_parents_or_drawn_afresh() -> None:
    row = Choice({name: {"base": float(i)} for i, name in enumerate("abcdefgh")})
    parents = np.array([[1 / 16, 0.5], [3 / 16, 0.5]])
    space = Space({"row": row, "lanes": Integer(1, 64)})
    unit = make_children(space, parents, parents, 20_000, np.random.default_rng(1))
    kept = np.isin(unit[:, 0], parents[:, 0])
    assert kept.mean() == pytest.approx(0.65, abs=0.02)  # a crossed child mutates one of two
    assert kstest(unit[~kept, 0], "uniform").statistic < 0.02


def test_better_parents_have_more_children() -> None:
    parents = np.repeat(np.linspace(0.0, 1.0, 1_000)[:, None], 10, axis=1)
    unit = make_children(_cube(10), parents, parents[:, :2], 30_000, np.random.default_rng(2))
    unit = unit[9_000:]  # without those that are shifted
    kept = unit[np.isin(unit, parents)]  # neither crossed nor mutated
    assert len(kept) / unit.size == pytest.approx(0.5 * 0.9, abs=0.02)
    # of two at random the better one is in the better half three times of four
    assert (kept < 0.5).mean() == pytest.approx(0.75, abs=0.01)


def test_parents_are_neighbours_on_the_front() -> None:
    # two variables along a front, and a third in no relation to it
    along = np.linspace(0.2, 0.8, 1_000)
    parents = np.column_stack([along, 1 - along, np.random.default_rng(0).random(1_000)])
    places = np.column_stack([along, 1 - along])
    unit = make_children(_cube(3), parents, places, 10_000, np.random.default_rng(4))
    shifted = unit[:3_000]
    assert np.allclose(shifted[:, 0] + shifted[:, 1], 1.0)  # as their mothers
    # a child is off the front by as much as its parents are apart; at random it would be 0.2
    off = np.abs(unit[3_000:, 0] + unit[3_000:, 1] - 1.0)
    assert np.median(off) < 0.03


def test_there_are_few_parents_at_first_and_a_generation_of_them_later() -> None:
    search, parents = begun(PLANE, 16_000, 800), []
    for _ in search.steps():
        parents.append(len(search.population.parents))
    assert parents[6:10] == [200, 200, 225, 250]
    assert parents[-1] == max(parents) == 500


def test_selection_takes_the_front_then_the_feasible_then_the_least_violations() -> None:
    judge = evaluator(
        {"x": Integer(0, 5)},
        [model("m", lambda x: (x, -x, x), ["x"], ["a", "b", "c"])],
        [objective("a"), objective("b")],
        [constraint("c", 2.0)],
    )
    costs = np.array([[0.0, 3.0], [1.0, 1.0], [2.0, 2.0], [3.0, 0.0], [0.0, 0.0], [0.0, 0.0]])
    values = np.array([[0.0], [0.0], [0.0], [0.0], [5.0], [3.0]])
    evaluated = Evaluated(costs * judge.signs, values, values[:, 0] <= 2.0)
    rows, front = select(judge, evaluated, np.arange(6), 5)
    assert set(rows[:3].tolist()) == {0, 1, 3}
    assert rows[3:].tolist() == [2, 5]
    assert front.tolist() == [True, True, False, True, False, False]


# --------------------------------------------------------------------------- designs each once


def test_what_was_visited_before_is_replaced_by_more_of_what_is_wanted() -> None:
    calls: list[int] = []
    wanted = SMALL.space.to_unit(SMALL.space.from_index(np.arange(100)))
    more = SMALL.space.to_unit(SMALL.space.from_index(np.arange(90, 300)))

    def propose(count: int) -> Floats:
        calls.append(count)
        return more[:count]

    visited, rng = VisitedDesigns(SMALL, wanted[:80]), np.random.default_rng(0)
    found = visited.visit(wanted, 100, rng, wanted[:80], propose)
    numbers = SMALL.space.to_index(SMALL.space.from_unit(found))
    assert len(set(numbers.tolist())) == 100
    assert numbers[:100].tolist() == list(range(80, 180))  # 20 new ones, then those that are more
    assert calls == [160]
    rest = visited.visit(wanted, 10, rng, wanted[:80], lambda count: wanted[:count])
    assert len(rest) == 10  # if there is nothing more, by designs drawn at random
    assert not set(SMALL.space.to_index(SMALL.space.from_unit(rest)).tolist()) & set(range(180))


GRID = Space(
    {
        "lanes": Integer(1, 64, log=True),
        "depth": Integer(0, 30, 3),
        "clock": Real(0.5, 2.0, steps=16),
        "row": Choice({"a": {"base": 1.0}, "b": {"base": 3.0}, "c": {"base": 0.5}}),
        "width": Values((8.0, 64.0, 16.0, 32.0)),
    }
)


@given(st.lists(st.lists(st.integers(0, 200), max_size=60), max_size=6))
def test_a_design_is_visited_once(batches: list[list[int]]) -> None:
    visited, seen = VisitedDesigns(replace(SMALL, space=GRID), np.empty((0, 5))), set[int]()
    for batch in batches:
        unit = GRID.to_unit(GRID.from_index(np.array(batch, dtype=np.int64)))
        new = GRID.to_index(GRID.from_unit(visited.find_new(unit))).tolist()
        assert new == [*dict.fromkeys(n for n in batch if n not in seen)]
        count = len(new)
        taken = visited.visit(unit, count, np.random.default_rng(0))
        assert GRID.to_index(GRID.from_unit(taken)).tolist() == new
        seen |= set(batch)


def test_settled_points_stand_for_their_designs() -> None:
    unit = np.random.default_rng(0).random((5_000, 5)) * 1.2 - 0.1
    settled, codes = GRID.settled(unit)
    points = GRID.from_unit(np.clip(unit, 0, 1))
    assert np.array_equal(settled, GRID.to_unit(points))
    assert np.array_equal(codes, GRID.to_index(points).astype(np.uint64))
    again = GRID.settled(settled)
    assert np.array_equal(again[0], settled)
    assert np.array_equal(again[1], codes)


@pytest.mark.parametrize("large", [Real(0, 1), Integer(0, 2**62)])
def test_codes_of_a_continuum_and_of_a_huge_space_differ_if_designs_do(
    large: Real | Integer,
) -> None:
    space = Space({"a": large, "b": Integer(0, 9), "c": Integer(0, 9)})
    unit = np.random.default_rng(0).random((100_000, 3))
    settled, codes = space.settled(np.concatenate([unit, unit[:100]]))
    assert len(np.unique(codes)) == len(np.unique(settled, axis=0)) == 100_000
    zero = space.settled(np.array([[0.0, 0.5, 0.5], [-0.0, 0.5, 0.5], [-3.0, 0.5, 0.5]]))[1]
    assert len(np.unique(zero)) == 1
