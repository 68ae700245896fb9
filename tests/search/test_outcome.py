"""Outcomes: what is kept of a sampled search, and how it converged."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest

from dse.evaluate.evaluator import Evaluated
from dse.evaluate.front import Archive, hypervolume
from dse.evaluate.space import Points, Real
from dse.search.convergence import convergence_table, list_marks
from dse.search.diagnosis import describe_skipped
from dse.search.outcome import make_sample_outcome, state_certificate
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
    outcome = make_sample_outcome(JUDGE, points, judged, "x")
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
    outcome = make_sample_outcome(JUDGE, points, judged, "x")
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
    outcome = make_sample_outcome(JUDGE, points, judged, "x")
    assert outcome.on_front.all()
    assert outcome.convergence["hypervolume"].iloc[-1] == pytest.approx(1.0)
    nothing = Evaluated(objectives, np.zeros((3, 0)), np.zeros(3, dtype=bool))
    outcome = make_sample_outcome(JUDGE, points, nothing, "x")
    assert not outcome.on_front.any()
    assert len(outcome.convergence) == 0


@pytest.mark.parametrize("count", [1, 39, 20_001, 10**6])
def test_marks_are_dense_at_first_and_few_later(count: int) -> None:
    found = list_marks(count)
    assert found == sorted(set(found))
    assert (found[0], found[-1]) == (1, count)
    assert len(found) <= 47
    assert sum(found) <= 2 * count + 5 * 20_000  # what filtering the front anew at each costs


@pytest.mark.parametrize("objectives", [2, 4])
def test_the_growth_of_a_large_front_is_estimated_closely(objectives: int) -> None:
    rng = np.random.default_rng(objectives)
    directions = np.abs(rng.standard_normal((12_000, objectives)))
    directions /= np.linalg.norm(directions, axis=1)[:, None]
    radius = np.minimum(np.linspace(0.6, 2.0, 12_000), 1.0)[rng.permutation(12_000)]
    radius[-10_500:] = 1.0  # so many points do not dominate each other
    points = 2 - directions * radius[:, None]
    fronts, archive, start = [], Archive.empty(objectives), 0
    for stop in list_marks(12_000):
        rows = np.arange(start, stop)
        archive = archive.merged(Archive(rows, points[rows], np.zeros((len(rows), 0))))
        fronts.append((stop, archive))
        start = stop
    table = convergence_table(fronts, np.ones(objectives))
    assert table["front"].iloc[-1] > 10_000
    low, high = archive.points.min(axis=0), archive.points.max(axis=0)
    corner = np.full(objectives, 1.1)
    volumes = [hypervolume((front.points - low) / (high - low), corner) for _, front in fronts]
    assert (np.diff(table["hypervolume"]) >= 0).all()
    fractions = np.array(volumes) / volumes[-1]
    assert table["hypervolume"].to_numpy() == pytest.approx(fractions, abs=0.02)


def test_one_design_on_the_front_is_reported_in_the_singular() -> None:
    one, two = np.array([[1.0]]), np.array([[1.0], [1.0]])
    assert "the 1 design on the front is its whole Pareto front." in state_certificate(
        "x", 5, 5, one, 0, True
    )
    assert (
        "the 2 designs (1 distinct) on the front are its whole Pareto front."
        in state_certificate("x", 5, 5, two, 0, True)
    )
    part = state_certificate("exhaustive", 5, 3, one, 0, False)
    assert "evaluated by exhaustive search; 1 design is non-dominated" in part
    outcome = make_sample_outcome(JUDGE, *sampled(1), "x")
    raised = replace(outcome.tally, raised=1, evaluated=1)
    skipped = describe_skipped(replace(outcome, tally=raised))
    assert "for 1 of the 1 design that was looked at; it is left out" in skipped
