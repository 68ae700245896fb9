"""Evolution: deterministic, resumable, without repetition, and not worse than Optuna's NSGA-II."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import optuna
import pytest
from numpy.typing import NDArray

from dse.evaluate.evaluator import Evaluator
from dse.evaluate.front import hypervolume, is_nondominated
from dse.evaluate.space import Integer, Real
from dse.model import Model
from dse.search.base import Plan
from dse.search.evolution import Evolved, evolve
from tests.core_examples import MIXED, SPEED, constraint, evaluator, model, objective
from tests.quality import recall

Floats = NDArray[np.float64]


def plan(evaluations: int, generation: int, seed: int = 0) -> Plan:
    return Plan("evolution", evaluations, generation, seed, None, {})


def last(judge: Evaluator, chosen: Plan, start: Evolved | None = None) -> Evolved:
    return list(evolve(judge, chosen, start))[-1]


SMALL = evaluator(MIXED, [SPEED], [objective("speed", "maximize"), objective("cost")])


def equal(one: Evolved, other: Evolved) -> bool:
    pairs = [
        (one.unit, other.unit),
        (one.parents, other.parents),
        (one.judged.objectives, other.judged.objectives),
        (one.judged.constrained, other.judged.constrained),
        (one.judged.feasible, other.judged.feasible),
    ]
    return all(a.tobytes() == b.tobytes() and a.shape == b.shape for a, b in pairs)


def test_the_same_seed_gives_the_same_run_and_another_seed_another() -> None:
    first, second = last(SMALL, plan(900, 100)), last(SMALL, plan(900, 100))
    assert equal(first, second)
    assert not equal(first, last(SMALL, plan(900, 100, seed=1)))
    assert len(first.unit) == 900


@pytest.mark.parametrize("cut", [1, 4, 8])
def test_a_resumed_run_ends_as_an_uninterrupted_one(cut: int) -> None:
    states = list(evolve(SMALL, plan(950, 100), None))
    assert [len(s.unit) for s in states] == [*range(100, 901, 100), 950]
    kept = states[cut - 1]
    copied = Evolved(kept.unit.copy(), kept.judged, kept.parents.copy())
    assert equal(last(SMALL, plan(950, 100), copied), states[-1])
    assert equal(kept, copied)  # earlier states stay what they were


def test_a_finished_run_has_nothing_to_resume() -> None:
    done = last(SMALL, plan(200, 50))
    assert list(evolve(SMALL, plan(200, 50), done)) == []


def test_no_design_is_evaluated_twice() -> None:
    seen: list[Floats] = []

    def spy(lanes: Floats, base: Floats) -> Floats:
        seen.append(np.column_stack(np.broadcast_arrays(lanes, base)))
        return lanes * base

    judge = evaluator(
        {"lanes": Integer(1, 200), "row": MIXED["row"]},
        [model("spy", spy, ["lanes", "base"], ["product"])],
        [objective("product")],
    )
    last(judge, plan(500, 60))
    designs = np.concatenate(seen)
    assert len(designs) == 500
    assert len(np.unique(designs, axis=0)) == 500


@pytest.mark.parametrize("generation", [7, 100, 1_000])
def test_a_budget_beyond_the_space_finds_every_design_and_ends(generation: int) -> None:
    judge = evaluator(
        {"lanes": Integer(1, 200, log=True), "row": MIXED["row"]},
        [model("m", lambda lanes, base: lanes * base, ["lanes", "base"], ["product"])],
        [objective("product")],
    )
    state = last(judge, plan(5_000, generation))
    index = judge.space.to_index(judge.space.from_unit(state.unit))
    assert sorted(index.tolist()) == list(range(600))


def test_designs_are_what_their_points_decode_to() -> None:
    state = last(SMALL, plan(300, 50))
    again = SMALL.evaluate(SMALL.space.from_unit(state.unit))
    assert np.array_equal(again.objectives, state.judged.objectives)
    assert ((state.unit >= 0) & (state.unit <= 1)).all()


def test_most_of_the_true_front_of_a_small_space_is_found() -> None:
    size = SMALL.space.size or 0
    assert size == 64 * 11 * 16 * 3 * 4
    truth = SMALL.evaluate(SMALL.space.from_index(np.arange(size))).objectives * SMALL.signs
    truth = truth[is_nondominated(truth)]
    found, drawn = [], []
    for seed in range(3):
        state = last(SMALL, plan(20_000, 500, seed))  # 15 % of the space
        found.append(recall(state.judged.objectives * SMALL.signs, truth))
        rng = np.random.default_rng(seed)
        points = SMALL.space.from_index(rng.choice(size, 20_000, replace=False))
        drawn.append(recall(SMALL.evaluate(points).objectives * SMALL.signs, truth))
    assert min(found) > 0.95
    assert max(drawn) < 0.3


def test_constraints_are_respected_and_reached_from_outside() -> None:
    # feasible is one design in four hundred: 40 <= cost <= 60 and speed >= 5
    constraints = [
        constraint("cost", 60.0),
        constraint("cost", 40.0, upper=False),
        constraint("speed", 5.0, upper=False),
    ]
    judge = evaluator(
        MIXED, [SPEED], [objective("speed", "maximize"), objective("cost")], constraints
    )
    size = judge.space.size or 0
    every = judge.evaluate(judge.space.from_index(np.arange(size)))
    assert 0 < every.feasible.mean() < 0.003
    state = last(judge, plan(3_000, 100))
    assert state.judged.feasible.mean() > 5 * every.feasible.mean()
    parents = state.judged.feasible[state.parents]
    assert parents.sum() == min(state.judged.feasible.sum(), 100)
    assert (np.diff(parents.astype(int)) <= 0).all()  # the feasible ones stand first
    truth = every.objectives[every.feasible] * judge.signs
    found = state.judged.objectives[state.judged.feasible] * judge.signs
    assert recall(found, truth[is_nondominated(truth)]) > 0.9


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
    state = last(judge, plan(2_000, 50))
    best = state.judged.objectives[state.judged.feasible]
    assert np.isfinite(best).all()
    assert best[:, 0].min() < 1e-3
    assert best[:, 1].min() < 0.9901


def test_one_objective() -> None:
    judge = evaluator(
        {f"x{i}": Real(-5, 5) for i in range(4)},
        [
            model(
                "m",
                lambda **v: sum((x - 1.5) ** 2 for x in v.values()),
                [f"x{i}" for i in range(4)],
                ["y"],
            )
        ],
        [objective("y")],
    )
    assert last(judge, plan(4_000, 50)).judged.objectives.min() < 1e-2


def test_optima_on_the_bounds_are_met_exactly() -> None:
    judge = evaluator(
        {"x": Real(0.1, 0.7), "y": Real(1e-3, 1e3, log=True)},
        [model("m", lambda x, y: -x - y, ["x", "y"], ["z"])],
        [objective("z")],
    )
    state = last(judge, plan(1_000, 50))
    assert state.judged.objectives.min() == -0.7 - 1e3


def _zdt1(**v: Floats) -> tuple[Any, ...]:
    x = list(v.values())
    g = 1 + 9 * sum(x[1:]) / (len(x) - 1)
    return x[0], g * (1 - np.sqrt(x[0] / g))


def _dtlz2(**v: Floats) -> tuple[Any, ...]:
    x = list(v.values())
    g = 1 + sum((xi - 0.5) ** 2 for xi in x[2:])
    a, b = x[0] * math.pi / 2, x[1] * math.pi / 2
    return g * np.cos(a) * np.cos(b), g * np.cos(a) * np.sin(b), g * np.sin(a)


@pytest.mark.parametrize(
    ("function", "outputs", "reference"),
    [(_zdt1, ["f", "g"], [1.1, 7.0]), (_dtlz2, ["f", "g", "h"], [1.6, 1.6, 1.6])],
)
def test_quality_is_not_worse_than_optunas_nsga2(
    function: Callable[..., Any], outputs: list[str], reference: list[float]
) -> None:
    names = [f"x{i}" for i in range(8)]
    problem: Model = model("problem", function, names, outputs)
    judge = evaluator({n: Real(0, 1) for n in names}, [problem], [objective(o) for o in outputs])
    corner = np.array(reference)
    optuna.logging.set_verbosity(optuna.logging.ERROR)

    def ours(seed: int) -> float:
        return hypervolume(last(judge, plan(800, 50, seed)).judged.objectives, corner)

    def theirs(seed: int) -> float:
        study = optuna.create_study(
            directions=["minimize"] * len(outputs),
            sampler=optuna.samplers.NSGAIISampler(population_size=50, seed=seed),
        )

        def objective(trial: optuna.Trial) -> tuple[float, ...]:
            values = function(**{n: trial.suggest_float(n, 0, 1) for n in names})
            return tuple(float(x) for x in values)

        study.optimize(objective, n_trials=800)
        return hypervolume(np.array([t.values for t in study.get_trials(deepcopy=False)]), corner)

    mine, peers = [ours(s) for s in range(5)], [theirs(s) for s in range(3)]
    assert np.median(mine) >= np.median(peers)
    assert min(mine) >= max(peers) * 0.97
