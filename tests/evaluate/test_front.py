"""Fronts: filter, archive, hypervolume, scaling and Nash design against brute force."""

from __future__ import annotations

import itertools
import math
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray
from optuna.study._multi_objective import _is_pareto_front

from dse.evaluate import front
from dse.evaluate.criteria import Direction, Objective
from dse.evaluate.front import (
    Archive,
    FrontBuilder,
    find_nash_design,
    hypervolume,
    is_nondominated,
    rank_points,
    scale_front,
)
from tests.core_examples import brute_front

Floats = NDArray[np.float64]
coordinates = (
    st.integers(0, 4).map(float) | st.floats(-10, 10) | st.sampled_from([math.inf, -math.inf, -0.0])
)


@st.composite
def points_of(draw: st.DrawFn, most: int = 40, finite: bool = False) -> Floats:
    objectives = draw(st.integers(1, 6))
    cell = coordinates.filter(math.isfinite) if finite else coordinates
    rows = draw(st.lists(st.tuples(*[cell] * objectives), min_size=1, max_size=most))
    return np.array(rows, dtype=np.float64)


@given(points_of())
def test_nondominated_is_brute_force(points: Floats) -> None:
    assert np.flatnonzero(is_nondominated(points)).tolist() == brute_front(points)


@given(points_of())
def test_ranks_are_peeled_fronts(points: Floats) -> None:
    wanted = np.full(len(points), -1)
    front = 0
    while (left := np.flatnonzero(wanted < 0)).size:
        wanted[left[brute_front(points[left])]] = front
        front += 1
    assert np.array_equal(rank_points(points), wanted)


def test_nothing_is_an_empty_front() -> None:
    assert is_nondominated(np.zeros((0, 3))).shape == (0,)
    assert Archive.empty(2).merged(Archive.empty(2)).points.size == 0
    assert len(FrontBuilder.empty(2).archive().index) == 0


def chunk_of(points: Floats, index: NDArray[np.intp]) -> Archive:
    return Archive(index, points[index], points[index] + 1)


@settings(max_examples=50)
@given(points_of(most=60), st.data())
def test_a_front_does_not_depend_on_cuts_nor_order(points: Floats, data: st.DataObject) -> None:
    wanted = brute_front(points)
    order = np.array(data.draw(st.permutations(range(len(points)))))
    cuts = sorted(data.draw(st.lists(st.integers(0, len(points)), max_size=6)))
    builder = FrontBuilder.empty(points.shape[1], points.shape[1])
    for low, high in itertools.pairwise([0, *cuts, len(points)]):
        builder = builder.added(chunk_of(points, order[low:high]))
        archive = builder.archive()
        assert archive.index.tolist() == sorted(order[brute_front(points[order[:high]])].tolist())
        assert len(builder) >= len(archive.index)
    assert archive.index.tolist() == wanted
    assert np.array_equal(archive.points, points[wanted])
    assert np.array_equal(archive.beside, points[wanted] + 1)


@pytest.mark.parametrize("whole_numbers", [True, False])
def test_many_chunks_settle_and_use_its_pivots(whole_numbers: bool) -> None:
    rng = np.random.default_rng(1)
    points = rng.random((8_000, 3))
    points = points / np.linalg.norm(points, axis=1)[:, None] + rng.exponential(0.02, (8_000, 3))
    if whole_numbers:
        points = np.round(points * 60)  # many ties and duplicates
    wanted = np.flatnonzero(_is_pareto_front(points, assume_unique_lexsorted=False))
    for chunk in (500, 3_001):
        builder = FrontBuilder.empty(3, 3)
        for start in range(0, len(points), chunk):
            index = np.arange(start, min(start + chunk, len(points)))
            builder = builder.added(chunk_of(points, index))
        assert np.array_equal(builder.archive().index, wanted)


def test_a_builder_merges_seldom(monkeypatch: pytest.MonkeyPatch) -> None:
    filtered: list[int] = []

    def counted(points: Floats) -> NDArray[np.bool_]:
        filtered.append(len(points))
        return is_nondominated(points)

    monkeypatch.setattr(front, "is_nondominated", counted)
    x = np.linspace(1, 2, 100_000)
    points = np.column_stack([x, 1 / x])
    builder = FrontBuilder.empty(2, 2)
    for low in range(0, len(x), 500):
        index = np.arange(low, low + 500)
        builder = builder.added(chunk_of(points, index))
    assert len(builder.archive().index) == len(x)
    assert sum(filtered) < 5 * len(x)  # merging each piece would filter 100 times as many


def inclusion_exclusion(points: Floats, reference: Floats) -> float:
    total = 0.0
    for size in range(1, len(points) + 1):
        for some in itertools.combinations(points, size):
            sides = np.maximum(reference - np.max(some, axis=0), 0.0)
            total += (-1) ** (size + 1) * float(np.prod(sides))
    return total


@settings(max_examples=50)
@given(points_of(most=8, finite=True), st.integers(0, 6))
def test_hypervolume_is_inclusion_exclusion(points: Floats, corner: int) -> None:
    reference = np.full(points.shape[1], float(corner))
    inside = points[(points < reference).all(axis=1)]
    assert hypervolume(points, reference) == pytest.approx(
        inclusion_exclusion(inside, reference), rel=1e-9, abs=1e-9
    )


@pytest.mark.parametrize("objectives", [6, 10])
def test_hypervolume_of_large_fronts_in_many_objectives_is_near_and_answers(
    objectives: int,
) -> None:
    # the region under x1 + … + xk = 1 seen from the corner 1, sampled densely enough to compare
    rng = np.random.default_rng(0)
    points = rng.dirichlet(np.ones(objectives), 1_500)
    reference = np.ones(objectives)
    covered = np.zeros(20_000, dtype=bool)
    drawn = rng.random((20_000, objectives))
    for point in points:  # only the others are compared with the next one
        left = np.flatnonzero(~covered)
        covered[left[(drawn[left] >= point).all(axis=1)]] = True
    share = covered.mean()
    assert hypervolume(points, reference) == pytest.approx(share, rel=0.02)


def test_scaled_is_logarithmic_over_more_than_two_decades_of_positive_values() -> None:
    values = np.array([1.0, 10.0, 1000.0])
    up, logs = scale_front(-values[:, None], np.array([-1.0]))
    assert up[:, 0] == pytest.approx([1.0, 2 / 3, 0.0])
    assert logs.tolist() == [True]
    down, _ = scale_front(values[:, None], np.array([1.0]))
    assert down[:, 0] == pytest.approx([0.0, 1 / 3, 1.0])
    for column in ([1.0, 50.0, 99.0], [0.0, 1.0, 1000.0], [-1.0, 5.0, 1e6]):
        assert not scale_front(np.array(column)[:, None], np.array([1.0]))[1].any()


def test_scaled_with_infinities_and_extremes() -> None:
    inf = math.inf
    unit, _ = scale_front(np.array([[inf, -inf], [3.0, 5.0], [4.0, inf]]), np.array([1.0, -1.0]))
    assert unit.tolist() == [[1.0, 0.0], [0.0, 0.0], [1.0, 1.0]]
    unit, _ = scale_front(np.array([[inf, -inf], [inf, -inf]]), np.ones(2))
    assert unit.tolist() == [[1.0, 0.0], [1.0, 0.0]]
    unit, _ = scale_front(np.array([[1e-300], [1.0], [1e300]]), np.ones(1))
    assert unit[:, 0].tolist() == [0.0, 0.5, 1.0]
    unit, _ = scale_front(np.array([[-1.7e308], [0.0], [1.7e308]]), np.ones(1))
    assert unit[:, 0].tolist() == [0.0, 0.5, 1.0]
    unit, _ = scale_front(np.array([[7.0], [7.0]]), np.ones(1))
    assert unit[:, 0].tolist() == [0.0, 0.0]


@given(points_of(most=30))
def test_scaled_stays_in_the_cube_and_keeps_the_order(points: Floats) -> None:
    unit, _ = scale_front(points, np.ones(points.shape[1]))
    assert ((unit >= 0) & (unit <= 1)).all()
    for column, share in zip(points.T, unit.T, strict=True):
        order = np.argsort(column, kind="stable")
        assert (np.diff(share[order]) >= 0).all()


def _goals(
    *directions: Direction, worth: float | None = None, weights: Any = ()
) -> list[Objective]:
    """Return objectives such as ``"minimize"``; `worth` is of the maximized ones."""
    weights = weights or [1.0] * len(directions)
    return [
        Objective(
            f"o{i}", "", way, "1", "", "", worth=worth if way == "maximize" else None, weight=weight
        )
        for i, (way, weight) in enumerate(zip(directions, weights, strict=True))
    ]


def _signed(values: Any, goals: list[Objective]) -> Floats:
    return np.asarray(values, dtype=float) * [goal.sign for goal in goals]


BENEFIT_AND_COST = [(1.1, 1), (3, 10), (4, 40)]  # a gain of 0.1, 0.2 and 0.075 per unit of cost


@pytest.mark.parametrize(
    ("values", "goals", "row"),
    [
        ([(1, 8), (2, 3), (8, 1)], _goals("minimize", "minimize"), 1),  # products 8, 6, 8
        ([(1, 8), (3, 3), (8, 1)], _goals("minimize", "minimize"), 0),  # 8, 9, 8: the first
        ([(1, 8), (2, 3), (8, 1)], _goals("minimize", "minimize", weights=[1, 3]), 2),
        (BENEFIT_AND_COST, _goals("maximize", "minimize", worth=1.0), 1),
        (BENEFIT_AND_COST, _goals("maximize", "minimize"), 0),
        ([(1, 1e-9), *BENEFIT_AND_COST], _goals("maximize", "minimize", worth=1.0), 2),
        ([(0.9, 1), (0.5, 0.05)], _goals("maximize", "minimize", worth=1.0), 1),  # no gain in any
        ([(5, 0), (1, 1), (9, -1)], _goals("minimize", "minimize"), 2),  # 5√10, 10, 9
        ([(math.inf, 1), (9, 9)], _goals("minimize", "minimize"), 1),
        ([(math.inf, 2), (math.inf, 1)], _goals("minimize", "minimize"), 1),
    ],
)
def test_nash_design_has_the_largest_product(values: Any, goals: Any, row: int) -> None:
    assert find_nash_design(_signed(values, goals), goals) == row


MIXED = _goals("maximize", "maximize", "minimize")


@st.composite
def mixed_points(draw: st.DrawFn) -> Floats:
    cell = st.integers(1, 12)
    rows = draw(st.lists(st.tuples(cell, cell, cell), min_size=1, max_size=12))
    return _signed(rows, MIXED)


@given(mixed_points(), st.data())
def test_nash_design_stays_if_others_come_go_or_are_copied(points: Floats, data: Any) -> None:
    row = find_nash_design(points, MIXED)
    counts = data.draw(st.lists(st.integers(0, 3), min_size=len(points), max_size=len(points)))
    counts[row] = max(counts[row], 1)  # others are removed, any is copied
    some = np.repeat(points, counts, axis=0)
    assert some[find_nash_design(some, MIXED)].tolist() == points[row].tolist()
    worse = points + np.array(data.draw(st.tuples(*[st.integers(1, 3)] * 3)))  # dominated
    more = np.concatenate([worse * [1, 1, 100], points])
    assert more[find_nash_design(more, MIXED)].tolist() == points[row].tolist()


@given(mixed_points(), st.tuples(*[st.floats(1e-9, 1e9)] * 3))
def test_nash_design_is_the_same_in_any_unit(points: Floats, factors: Any) -> None:
    assert find_nash_design(points * factors, MIXED) == find_nash_design(points, MIXED)


@given(mixed_points(), st.integers(0, 2), st.sampled_from([2.0, 3.0]))
def test_a_weight_never_makes_its_objective_worse(points: Floats, k: int, weight: float) -> None:
    weighted = [replace(goal, weight=weight if i == k else 1.0) for i, goal in enumerate(MIXED)]
    chosen = points[find_nash_design(points, weighted), k]
    assert chosen <= points[find_nash_design(points, MIXED), k]
