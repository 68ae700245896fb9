"""Guided search: deterministic, resumable, inside the relations, and frugal with designs."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.optimize import check_grad
from threadpoolctl import ThreadpoolController

import dse
from benchmarks import peer_problems
from dse.evaluate.evaluator import Evaluated, Evaluator
from dse.evaluate.front import is_nondominated
from dse.evaluate.space import SUBSET, Choice, Integer, Real, Space
from dse.run import run
from dse.search.axes import Axes, find_directions
from dse.search.base import Search, SearchSettings, Start, find_method
from dse.search.outcome import Outcome
from dse.search.surrogate import (
    Kriging,
    Surrogate,
    distance_beyond,
    learn_lengths,
    negative_log_likelihood,
)
from dse.search.workers import BatchEvaluator
from tests.core_examples import (
    MIXED,
    SPEED,
    brute_front,
    evaluator,
    model,
    objective,
)
from tests.quality import recall
from tests.toy import STUDY, written

Floats = NDArray[np.float64]

GOALS = [objective("speed", "maximize"), objective("cost")]
SMALL = evaluator(MIXED, [SPEED], GOALS)
PARTS = Choice(
    {" + ".join("xyz"[b] for b in range(3) if n >> b & 1) or "none": {"set": float(n << 1)}
     for n in range(7)},  # all three at once is no option
    SUBSET,
)  # fmt: skip


def begun(
    judge: Evaluator,
    evaluations: int,
    seed: int = 0,
    generation: int = 16,
    state: dict[str, Any] | None = None,
) -> Search:
    plan = SearchSettings("guided", evaluations, generation, seed)
    return find_method("guided").start(Start(judge, plan, chunk=10_000, state=state or {}))


def searched(judge: Evaluator, evaluations: int, seed: int = 0) -> Outcome:
    search = begun(judge, evaluations, seed)
    for _ in search.steps():
        pass
    return search.outcome()


def signed(judge: Evaluator, judged: Evaluated) -> Floats:
    return np.asarray((judged.objectives * judge.signs)[judged.feasible])


def truth(judge: Evaluator) -> Floats:
    every = judge.evaluate(judge.space.from_index(np.arange(judge.space.size or 0)))
    points = signed(judge, every)
    return np.asarray(points[is_nondominated(points)])


def test_the_front_of_a_small_space_is_found_with_few_designs() -> None:
    whole = truth(SMALL)  # of 135,168 designs
    found, evolved = [], []
    for seed in range(2):
        found.append(recall(signed(SMALL, searched(SMALL, 300, seed).evaluated), whole))
        plan = SearchSettings("evolution", 300, 50, seed)
        search = find_method("evolution").start(Start(SMALL, plan, chunk=10_000))
        for _ in search.steps():
            pass
        evolved.append(recall(signed(SMALL, search.outcome().evaluated), whole))
    assert min(found) > 2 * max(evolved)
    assert min(found) > 0.3


def test_objectives_without_a_value_and_infinite_ones_do_no_harm() -> None:
    def cut(lanes: Floats, depth: Floats) -> tuple[Floats, Floats]:
        hole = np.where(depth < 30, np.nan, np.inf)
        return np.where(lanes < 20, hole, 100.0 / lanes + depth), lanes * (1.0 + depth)

    judge = evaluator(
        {"lanes": Integer(1, 60), "depth": Integer(0, 60)},
        [model("cut", cut, ["lanes", "depth"], ["time", "cost"])],
        [objective("time"), objective("cost")],
    )
    assert recall(signed(judge, searched(judge, 300).evaluated), truth(judge)) == 1.0


def test_a_search_without_values_anywhere_goes_on() -> None:
    judge = evaluator(
        {"x": Integer(1, 500)},
        [model("m", lambda x: x * np.nan, ["x"], ["y"])],
        [objective("y")],
    )
    outcome = searched(judge, 60)
    assert len(outcome.numbers) == 60
    assert not outcome.evaluated.feasible.any()


def test_a_continuum_is_searched_on_a_grid() -> None:
    judge = evaluator(
        {"x": Real(0.0, 1.0), "z": Real(0.0, 1.0)},
        [model("m", lambda x, z: (x + (z - 0.25) ** 2, 1 - x), ["x", "z"], ["a", "b"])],
        [objective("a"), objective("b")],
    )
    outcome = searched(judge, 300)
    assert np.allclose(outcome.points["x"] * 1024, np.round(outcome.points["x"] * 1024))
    best = outcome.points["z"][outcome.on_front]
    assert np.median(np.abs(best - 0.25)) < 0.05  # 0.25 of designs at random


def declared() -> Evaluator:
    return peer_problems.five(3).evaluator


@pytest.mark.usefixtures("no_report")
def test_a_run_that_ends_so_says_it_and_is_finished(tmp_path: Path) -> None:
    one = STUDY.replace('minimize = "cost"', 'minimize = "lanes"')
    written(tmp_path, '[search]\nmethod = "guided"\n', one)
    result = run(dse.load(tmp_path / "study.toml"), tmp_path / "out")
    assert result.certificate.stopped == "stalled"
    assert "The search ended because no design is left one move away" in (
        result.certificate.statement
    )
    again = run(dse.load(tmp_path / "study.toml"), tmp_path / "out")
    assert again.certificate == result.certificate


# ── Axes ─────────────────────────────────────────────────────────────────────


def test_places_and_points_of_the_unit_cube_are_each_others_inverse() -> None:
    space = Space({**MIXED, "parts": PARTS, "real": Real(1.0, 5.0)})
    axes = Axes(space)
    assert [axis.count for axis in axes.all] == [64, 11, 16, 3, 4, 2, 2, 2, 1_025]
    rng = np.random.default_rng(0)
    unit = axes.unit(axes.places(rng.random((500, 7))))
    again = axes.unit(axes.places(unit))
    assert np.array_equal(unit, again)
    assert len(unit) == 500
    wrong = axes.places(unit[:1])
    wrong[:, 5:8] = 1
    assert len(axes.unit(wrong)) == 0  # no option has all three parts


def test_neighbours_differ_on_one_axis_and_parts_go_in_and_out() -> None:
    axes = Axes(Space({"n": Integer(1, 6), "row": MIXED["row"], "parts": PARTS}))
    here = np.array([[2, 1, 0, 0, 1]])
    near = axes.neighbours(here)
    assert ((near != here).sum(axis=1) == 1).all()
    assert sorted(near[near[:, 0] != 2, 0]) == [0, 1, 3, 4]  # by 1 and 2, 4 is beyond
    assert sorted(near[near[:, 1] != 1, 1]) == [0, 2]
    assert len(near) == 4 + 2 + 3
    far = axes.random_neighbours(here, 200, np.random.default_rng(0))
    assert ((far != here).sum(axis=1) <= 2).all()
    counts = np.array([axis.count for axis in axes.all])
    assert ((far >= 0) & (far < counts)).all()
    mixed = axes.mixtures(
        np.array([[0, 0, 0, 0, 0], [5, 2, 1, 1, 1]]), 50, np.random.default_rng(0)
    )
    assert set(mixed[:, 0]) == {0, 5}


def test_how_objectives_move_along_axes_is_what_models_declare() -> None:
    judge = declared()
    axes = Axes(judge.space)
    found = [
        find_directions(judge, axes, o.quantity, o.conditions).tolist() for o in judge.objectives
    ]
    names = list(judge.space.variables)
    assert names == [
        "acceleration", "computational_index", "overhead", "latency_per_byte", "latency",
    ]  # fmt: skip
    assert found == [[1, 1, -1, -1, -1], [-1, -1, 1, 1, 1], [1, 1, -1, -1, -1]]
    mixed = evaluator(MIXED, [SPEED], GOALS)
    undeclared = find_directions(mixed, Axes(mixed.space), "speed", {})
    assert np.isnan(undeclared).all()
    assert find_directions(mixed, Axes(mixed.space), "lanes", {}).tolist() == [1, 0, 0, 0, 0]


def test_what_is_declared_to_be_dominated_is_dominated() -> None:
    judge = declared()
    axes = Axes(judge.space)
    rng = np.random.default_rng(0)
    unit = axes.unit(axes.places(rng.random((400, 5))))
    places, judged = axes.places(unit), judge.evaluate(judge.space.from_unit(unit))
    surrogate = Surrogate(judge, axes, None, 0)
    surrogate.learn(places[:200], judged.rows(slice(200)), rng)
    said = surrogate.are_dominated(places[200:])
    points = judged.objectives * judge.signs
    front = points[:200][brute_front(points[:200])]
    true = np.array([(front <= p).all(axis=1).any() for p in points[200:]])
    assert said.sum() > 10
    assert not (said & ~true).any()


def test_how_far_a_point_is_beyond_a_front() -> None:
    front = np.array([[0.0, 2.0], [1.0, 1.0], [2.0, 0.0]])
    points = np.array([[0.5, 0.5], [1.5, 1.5], [1.0, 1.0], [0.0, 0.0]])
    assert distance_beyond(points, front, np.ones(2)).tolist() == [0.5, -0.5, 0.0, 1.0]


# ── Kriging ──────────────────────────────────────────────────────────────────


def test_kriging_is_the_conditional_of_a_normal_distribution() -> None:
    rng = np.random.default_rng(0)
    points, asked = rng.random((30, 3)), rng.random((5, 3))
    values = np.sin(3 * points[:, 0]) + points[:, 1]
    lengths = np.array([0.5, -0.3, -np.inf, -12.0])
    expected = Kriging(points, values, np.array([0, 1, 2]), lengths).predict(asked)

    def kernel(one: Floats, other: Floats) -> float:
        far = np.sqrt(5 * (((one - other) * np.exp(lengths[:3])) ** 2).sum())
        return float((1 + far + far**2 / 3) * np.exp(-far))

    def solved(known: Floats) -> tuple[Floats, Floats]:
        """Return covariances with known points, and these by the inverse matrix."""
        near = np.array([[kernel(a, b) for b in known] for a in asked])
        matrix = np.array([[kernel(a, b) for b in known] for a in known])
        return near, near @ np.linalg.inv(matrix + (np.exp(-12.0) + 1e-8) * np.eye(len(known)))

    unit = (values - values.mean()) / values.std()
    near, weights = solved(points)
    matrix = np.array([[kernel(a, b) for b in points] for a in points])
    variance = unit @ np.linalg.inv(matrix + (np.exp(-12.0) + 1e-8) * np.eye(30)) @ unit / 30
    assert expected.mean == pytest.approx(values.mean() + values.std() * weights @ unit, rel=1e-6)
    left = 1 - (near * weights).sum(axis=1)
    assert expected.error == pytest.approx(values.std() * np.sqrt(left * variance), rel=1e-3)
    for row in (3, 1):  # a selected point is one more known point
        expected.select(row)
    near, weights = solved(np.concatenate([points, asked[[3, 1]]]))
    left = 1 - (near * weights).sum(axis=1)
    assert expected.error == pytest.approx(values.std() * np.sqrt(left * variance), rel=1e-2)


def test_lengths_tell_which_axes_move_the_values() -> None:
    rng = np.random.default_rng(1)
    points = rng.random((80, 3))
    values = np.sin(6 * points[:, 0]) + 0.1 * points[:, 1]
    used = np.array([True, True, False])
    found = learn_lengths(points, values, np.array([0, 1, 2]), used, None, rng)
    assert found[0] > found[1] + 0.5
    assert np.isneginf(found[2])
    asked = rng.random((50, 3))
    expected = Kriging(points, values, np.array([0, 1, 2]), found).predict(asked)
    error = np.abs(expected.mean - np.sin(6 * asked[:, 0]) - 0.1 * asked[:, 1])
    assert error.max() < 0.05
    assert np.mean(error <= 3 * expected.error) > 0.9
    squares = (points.T[:2, :, None] - points.T[:2, None]) ** 2
    unit = (values - values.mean()) / values.std()

    def value(at: Floats) -> float:
        return negative_log_likelihood(at, squares, unit)[0]

    def slope(at: Floats) -> Floats:
        return negative_log_likelihood(at, squares, unit)[1]

    wrong = check_grad(value, slope, np.array([0.3, -0.8, -5.0]))
    assert wrong < 1e-2


def test_linear_algebra_of_the_search_takes_one_core_and_that_of_models_what_it_took(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """On a busy machine its threads waited for each other, for ten times as long."""
    libraries = ThreadpoolController().select(user_api="blas")
    seen: dict[str, set[int]] = {"search": set(), "models": set()}

    def noted(what: str, work: Any) -> Any:
        def noting(*given: Any) -> Any:
            seen[what] |= {library["num_threads"] for library in libraries.info()}
            return work(*given)

        return noting

    monkeypatch.setattr(Surrogate, "learn", noted("search", Surrogate.learn))
    evaluate = BatchEvaluator.evaluate
    monkeypatch.setattr(BatchEvaluator, "evaluate", noted("models", evaluate))
    with libraries.limit(limits=2):
        searched(SMALL, 64)
    assert seen == {"search": {1}, "models": {2}}
