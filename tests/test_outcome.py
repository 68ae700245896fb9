"""Outcomes: what is kept of a sampled search, and how it converged."""

from __future__ import annotations

import math

import numpy as np
import pytest

from dse.evaluate.evaluator import Evaluated
from dse.evaluate.space import Points, Real
from dse.search.outcome import of_sample
from tests.core_examples import brute_front, evaluator, objective

JUDGE = evaluator(
    {"x": Real(0, 1), "y": Real(0, 1)}, [], [objective("x"), objective("y", "maximize")]
)


def sampled(count: int, seed: int = 0) -> tuple[Points, Evaluated]:
    rng = np.random.default_rng(seed)
    points = {"x": rng.random(count), "y": rng.random(count)}
    objectives = np.column_stack([points["x"], points["y"] - points["x"] ** 2 / 2])
    feasible = rng.random(count) < 0.8
    return points, Evaluated(objectives, np.zeros((count, 0)), feasible)


def test_front_and_convergence_against_brute_force() -> None:
    points, judged = sampled(700)
    outcome = of_sample(JUDGE, points, judged, "x")
    rows = np.flatnonzero(judged.feasible)
    signed = judged.objectives * [1.0, -1.0]
    assert outcome.numbers.tolist() == list(range(700))
    assert np.flatnonzero(outcome.on_front).tolist() == rows[brute_front(signed[rows])].tolist()
    table = outcome.convergence
    assert table["evaluations"].iloc[-1] == 700
    assert table["hypervolume"].iloc[-1] == 1.0
    assert (np.diff(table["hypervolume"]) >= 0).all()
    for evaluations, front in zip(table["evaluations"], table["front"], strict=True):
        some = rows[rows < evaluations]
        assert front == len(brute_front(signed[some]))


def test_a_design_drawn_twice_is_on_the_front_once() -> None:
    points = {"x": np.array([0.5, 0.5, 0.2]), "y": np.array([0.9, 0.9, 0.9])}
    objectives = np.array([[1.0, 2.0], [1.0, 2.0], [1.0, 2.0]])
    judged = Evaluated(objectives, np.zeros((3, 0)), np.ones(3, dtype=bool))
    outcome = of_sample(JUDGE, points, judged, "x")
    assert outcome.numbers.tolist() == [0, 2]  # by the first draw
    assert outcome.on_front.all()  # another design with equal merits stays
    assert outcome.tally.evaluated == outcome.tally.feasible == 2
    assert (
        "2 designs of a continuous space were evaluated by x in 3 draws, 1 of which repeated one"
        in (outcome.statement)
    )


def test_infinite_merits_and_no_feasible_design() -> None:
    points = {"x": np.arange(3.0), "y": np.arange(3.0)}
    objectives = np.array([[1.0, 2.0], [math.inf, math.inf], [2.0, 3.0]])
    judged = Evaluated(objectives, np.zeros((3, 0)), np.ones(3, dtype=bool))
    outcome = of_sample(JUDGE, points, judged, "x")
    assert outcome.on_front.all()
    assert outcome.convergence["hypervolume"].iloc[-1] == pytest.approx(1.0)
    nothing = Evaluated(objectives, np.zeros((3, 0)), np.zeros(3, dtype=bool))
    outcome = of_sample(JUDGE, points, nothing, "x")
    assert not outcome.on_front.any()
    assert len(outcome.convergence) == 0


def test_one_objective() -> None:
    judge = evaluator({"x": Real(0, 1)}, [], [objective("x")])
    points = {"x": np.array([0.4, 0.3, 0.6])}
    judged = Evaluated(points["x"][:, None], np.zeros((3, 0)), np.ones(3, dtype=bool))
    outcome = of_sample(judge, points, judged, "x")
    assert outcome.on_front.tolist() == [False, True, False]
    assert outcome.convergence["hypervolume"].iloc[-1] == 1.0
