"""Evaluation: scenarios reduced, limits and relations judged, NaN and infinity handled."""

from __future__ import annotations

import itertools
import math
import statistics
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dse.space import Choice, Integer, Values
from tests.core_examples import evaluator, goal, limit, model, relation

SPACE: dict[str, Any] = {
    "lanes": Integer(1, 8),
    "row": Choice({"card": {"overhead": 9.0}, "port": {"overhead": 1.0}}),
}
TIME = model(
    "time",
    lambda lanes, overhead, size: overhead + size / lanes,
    ["lanes", "overhead", "size"],
    ["time"],
)
AREA = model("area", lambda lanes: lanes**2, ["lanes"], ["area"])

positive = st.lists(st.floats(1e-3, 1e6), min_size=1, max_size=9)


def reduced(values: list[float], how: str, quantile: float = 0.5) -> float:
    arrays = [np.array([v, v]) for v in values]
    result = goal("y", reduction=how, quantile=quantile).reduce(arrays)
    assert result.shape == (2,)
    assert np.array_equal(result[0], result[1], equal_nan=True)
    return float(result[0])


@given(positive, st.floats(0, 1))
def test_reductions_agree_with_the_standard_library(values: list[float], share: float) -> None:
    assert reduced(values, "mean") == pytest.approx(statistics.fmean(values), rel=1e-12)
    assert reduced(values, "min") == min(values)
    assert reduced(values, "max") == max(values)
    assert reduced(values, "harmonic mean") == pytest.approx(
        statistics.harmonic_mean(values), rel=1e-12
    )
    assert reduced(values, "quantile") == pytest.approx(statistics.median(values), rel=1e-12)
    assert reduced(values, "quantile", share) == pytest.approx(
        float(np.quantile(values, share)), rel=1e-9
    )


@given(st.lists(st.floats(-1e6, 1e6), min_size=2, max_size=9))
def test_deciles_agree_with_the_standard_library(values: list[float]) -> None:
    wanted = statistics.quantiles(values, n=10, method="inclusive")
    got = [reduced(values, "quantile", k / 10) for k in range(1, 10)]
    assert got == pytest.approx(wanted, rel=1e-9, abs=1e-6)


@pytest.mark.parametrize(
    ("values", "how", "share", "wanted"),
    [
        ([1.0, math.inf, math.inf], "quantile", 0.5, math.inf),
        ([1.0, 2.0, math.inf], "quantile", 0.5, 2.0),
        ([1.0, 2.0, math.inf], "quantile", 0.75, math.inf),
        ([-math.inf, 2.0], "quantile", 0.5, -math.inf),
        ([math.inf, math.inf], "quantile", 0.3, math.inf),
        ([1.0, math.nan, 3.0], "quantile", 0.0, math.nan),
        ([1.0, math.inf], "mean", 0, math.inf),
        ([1.0, math.inf], "min", 0, 1.0),
        ([1.0, math.nan], "min", 0, math.nan),
        ([1.0, math.nan], "max", 0, math.nan),
        ([1.0, math.inf], "harmonic mean", 0, 2.0),
        ([math.inf, math.inf], "harmonic mean", 0, math.inf),
        ([1.0, 0.0], "harmonic mean", 0, 0.0),
        ([1.0, math.nan], "harmonic mean", 0, math.nan),
    ],
)
def test_infinity_and_nan(values: list[float], how: str, share: float, wanted: float) -> None:
    assert np.array_equal(reduced(values, how, share), wanted, equal_nan=True)


def test_scenarios_that_do_not_depend_on_the_design_broadcast() -> None:
    combined = goal("y", reduction="mean").reduce([np.array([1.0, 3.0]), np.array(5.0)])
    assert combined.tolist() == [3.0, 4.0]


def test_objectives_and_limits_against_a_loop_over_designs() -> None:
    sizes = (4.0, 8.0, 32.0)
    judge = evaluator(
        SPACE,
        [AREA, TIME],
        [
            goal("time", scenarios=[{"size": s} for s in sizes], reduction="harmonic mean"),
            goal("area", "maximize"),
        ],
        [limit("time", 12.0), limit("area", 4.0, upper=False), relation("lanes * overhead < 36")],
        size=16.0,
    )
    judged = judge.evaluate(judge.space.from_index(np.arange(16)))
    for row, (lanes, overhead) in enumerate(itertools.product(range(1, 9), (9.0, 1.0))):
        times = [overhead + s / lanes for s in sizes]
        assert judged.objectives[row].tolist() == [
            pytest.approx(statistics.harmonic_mean(times), rel=1e-14),
            lanes**2,
        ]
        time = overhead + 16.0 / lanes
        assert judged.excess[row, 0] == time - 12.0
        assert judged.excess[row, 1] == 4.0 - lanes**2
        holds = time <= 12.0 and lanes**2 >= 4.0 and lanes * overhead < 36
        assert judged.feasible[row] == holds
    assert judge.signs.tolist() == [1.0, -1.0]
    assert 0 < judged.feasible.sum() < 16


@pytest.mark.parametrize("bound", [4.0, 9.0, 16.5, 64.0, 0.5])
def test_a_relation_says_what_a_bound_says(bound: float) -> None:
    pairs = [
        (limit("area", bound), relation(f"area <= {bound}")),
        (limit("area", bound, upper=False), relation(f"area >= {bound}")),
    ]
    for by_bound, by_relation in pairs:
        judge = evaluator(SPACE, [AREA], [goal("area")], [by_bound, by_relation])
        judged = judge.evaluate(judge.space.from_index(np.arange(16)))
        assert np.array_equal(judged.excess[:, 0], judged.excess[:, 1])


def test_strict_relations_leave_the_edge_out() -> None:
    judge = evaluator(SPACE, [AREA], [goal("area")], [relation("area < 16"), relation("1 < area")])
    judged = judge.evaluate(judge.space.from_index(np.arange(16)))
    assert judged.objectives[judged.feasible, 0].tolist() == [4.0, 4.0, 9.0, 9.0]


def test_undefined_objectives_and_limits_are_infeasible_and_infinite_ones_are_not() -> None:
    odd = model(
        "odd",
        lambda x: (
            np.where(x == 2, np.nan, np.where(x == 3, np.inf, x)),
            np.where(x == 4, np.nan, 0),
        ),
        ["x"],
        ["y", "z"],
    )
    judge = evaluator({"x": Values((1.0, 2.0, 3.0, 4.0))}, [odd], [goal("y")], [limit("z", 1.0)])
    judged = judge.evaluate(judge.space.from_index(np.arange(4)))
    assert judged.feasible.tolist() == [True, False, True, False]
    assert judged.objectives[2, 0] == math.inf
    bare = evaluator({"x": Values((1.0, 2.0, 3.0, 4.0))}, [odd], [goal("y")])
    assert bare.evaluate(bare.space.from_index(np.arange(4))).excess.shape == (4, 0)
    assert bare.evaluate(bare.space.from_index(np.arange(4))).feasible.tolist() == [1, 0, 1, 1]


def test_objectives_alone_are_the_objectives() -> None:
    judge = evaluator(SPACE, [AREA, TIME], [goal("time"), goal("area")], size=16.0)
    points = judge.space.from_index(np.arange(16))
    alone = judge.objectives(judge.space.columns(points), 16)
    assert np.array_equal(alone, judge.evaluate(points).objectives)
