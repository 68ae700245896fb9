"""The front of a portfolio against all combinations, HiGHS, and its own certificate."""

from __future__ import annotations

import numpy as np
import pytest

from dse.model import Array
from dse.search.portfolio.merging import Merging, State
from dse.search.portfolio.portfolio import Portfolio
from dse.search.workers import Threads
from tests.search.portfolio.systems import (
    accelerators,
    enumerated,
    evaluate_sums,
    merge,
    random_system,
    shortest_time,
)


def excess(front: Array, others: Array) -> float:
    """Return by how much the best point of the front for another is above it, at most."""
    return max((float((front - point).max(axis=1).min()) for point in others), default=0.0)


@pytest.mark.parametrize("group", range(10))
def test_random_systems_equal_all_combinations(group: int) -> None:
    for seed in range(30 * group, 30 * group + 30):
        portfolio = random_system(seed)
        choices, objectives = enumerated(portfolio)
        front = merge(portfolio)
        # each covers the other to 1e-12 of sums up to about ten
        assert excess(front.objectives, objectives) <= 1e-12
        assert excess(objectives, front.objectives) <= 1e-12
        rows = np.concatenate(portfolio.options)
        if portfolio.evaluate is evaluate_sums and (rows == np.round(rows)).all():
            assert (front.choices == choices).all()
            assert (front.objectives == objectives).all()
        assert front.proven.max() == 0 and front.strict


def test_times_at_budgets_equal_highs() -> None:
    kernels = 20
    portfolio = accelerators(kernels, 12, seed=kernels)
    front = merge(portfolio)
    for area in np.linspace(0, 10_000 * kernels, 5) + 0.5:  # amounts are whole numbers
        within = front.objectives[:, 1] <= area
        best = front.objectives[within, 0].min()
        assert best == pytest.approx(shortest_time(portfolio, area), rel=1e-9)


@pytest.mark.parametrize("objectives", [2, 3])
def test_no_random_combination_is_better_by_more_than_the_tolerance(objectives: int) -> None:
    portfolio = accelerators(*((14, 200) if objectives == 2 else (5, 40)), objectives)
    front = merge(portfolio, tolerance=0.02)
    assert (front.tolerance <= 0.02 + 1e-12).all() and (front.proven <= 0.02 + 1e-9).all()
    assert len(front.choices) < len(merge(portfolio).choices) / 2
    rng = np.random.default_rng(1)
    columns = [rng.integers(0, len(options), 1_000) for options in portfolio.options]
    sums = portfolio.sums(np.column_stack(columns))
    allowed = sums + front.proven * np.maximum(np.abs(sums), front.objective_floors)
    assert excess(front.objectives, allowed) <= 1e-9


def test_workers_and_checkpoints_do_not_change_the_front() -> None:
    portfolio = accelerators(4, 40, 3)
    alone = merge(portfolio, tolerance=0.01)
    merging = Merging(portfolio, tolerance=0.01, threads=Threads(2))
    state = merging.start()
    for _ in portfolio.options:
        state = State.from_arrays(merging.step(state).to_arrays())
    front = merging.front(state)
    assert (front.choices == alone.choices).all()
    assert front.objectives.tobytes() == alone.objectives.tobytes()


def test_a_bounded_merge_says_so_and_still_covers_the_limited_front() -> None:
    unlimited = accelerators(4, 30, 3)
    limits = np.array([np.inf, 12_000.0, 15_000.0])
    portfolio = Portfolio(unlimited.options, limits, evaluate_sums)
    exact = merge(portfolio).objectives
    front = merge(portfolio, capacity=300)
    assert max(front.kept) <= 300 < len(exact)
    assert (front.sums <= limits).all()
    covered = exact
    if not front.strict:  # near the limits nothing is promised
        raised = exact + front.tolerance * np.maximum(exact, front.floors)
        covered = exact[(raised <= limits).all(axis=1)]
    allowed = covered + front.proven * np.maximum(np.abs(covered), front.objective_floors)
    assert len(covered) > 100
    assert excess(front.objectives, allowed) <= 1e-9


def test_floors_of_sums_are_floors_of_the_objectives() -> None:
    portfolio, floors = accelerators(3, 30, 3), np.array([1.0, 2_000.0, 3_000.0])
    exact = merge(portfolio).objectives
    front = merge(portfolio, points=50, floors=floors)
    assert front.objective_floors[1:].tolist() == [2_000, 3_000]
    assert (front.proven < 0.3).all()
    allowed = exact + front.proven * np.maximum(exact, front.objective_floors)
    assert excess(front.objectives, allowed) <= 1e-9
