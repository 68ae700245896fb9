"""Laws of uncertain inputs, shares of a variance and boxes of failures, held to scipy and sums."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dse.evaluate.samples import Distribution as Law
from dse.explain.robustness import find_failure_box, sobol_indices


@settings(max_examples=40, deadline=None)
@given(
    kind=st.sampled_from(["between", "uniform", "normal", "lognormal", "triangular"]),
    low=st.floats(0.5, 10),
    width=st.floats(0.1, 10),
    ends=st.tuples(st.floats(0, 1), st.floats(12, 40)),
)
def test_laws_stay_in_their_domain_and_rise(
    kind: Any, low: float, width: float, ends: tuple[float, float]
) -> None:
    numbers = {
        "normal": (low, width),
        "lognormal": (low, 1 + width),
        "triangular": (low, low + width / 3, low + width),
    }.get(kind, (low, low + width))
    law = Law(kind, numbers, ends)
    drawn = law(np.linspace(0, 1, 101))
    assert (np.diff(drawn) >= 0).all()
    assert drawn.min() >= ends[0] and drawn.max() <= max(ends[1], low + width)


def test_laws_against_scipy() -> None:
    from scipy import stats

    share = np.array([0.001, 0.1, 0.5, 0.73, 0.999])
    normal = stats.truncnorm(-1, 2, loc=10, scale=4)
    assert Law("normal", (10, 4), (6, 18))(share) == pytest.approx(normal.ppf(share), rel=1e-9)
    lognormal = stats.lognorm(math.log(1.5), scale=10)
    assert Law("lognormal", (10, 1.5))(share) == pytest.approx(lognormal.ppf(share), rel=1e-9)
    triangular = stats.triang(0.25, loc=2, scale=8)
    assert Law("triangular", (2, 4, 10))(share) == pytest.approx(triangular.ppf(share), rel=1e-9)


def test_shares_of_a_sum_are_those_of_its_terms() -> None:
    rng = np.random.default_rng(0)
    inputs = {name: rng.normal(size=4096) for name in "abc"}
    found = sobol_indices(inputs, 3 * inputs["a"] + 4 * inputs["b"])
    assert found["b"] == pytest.approx(16 / 25, abs=0.03)
    assert found["a"] == pytest.approx(9 / 25, abs=0.03)
    assert found["c"] == pytest.approx(0, abs=0.01)
    assert list(found) == ["b", "a", "c"]


def test_the_box_of_failures_is_found() -> None:
    rng = np.random.default_rng(1)
    inputs = {name: ("s", rng.random(2000)) for name in "abc"}
    fails = (inputs["a"][1] > 0.7) & (inputs["b"][1] < 0.5)
    found = find_failure_box(inputs, fails)
    assert found is not None
    ends = {side.input: (side.low, side.high) for side in found.sides}
    assert set(ends) == {"a", "b"}
    assert ends["a"][0] == pytest.approx(0.7, abs=0.05) and ends["a"][1] == np.inf
    assert ends["b"][1] == pytest.approx(0.5, abs=0.05) and ends["b"][0] == -np.inf
    assert found.density > 0.95 and found.coverage > 0.85
    assert find_failure_box(inputs, np.zeros(2000, dtype=bool)) is None
