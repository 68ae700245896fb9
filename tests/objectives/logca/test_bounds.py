"""LogCA's bounds and edges: what holds over all granularities, and the whole range of floats."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from objectives.logca import break_even, limits, offload, speedup, target, times

AES = 1.01
T2 = {"overhead": 2.9e4, "latency": 1500, "computational_index": 90, "acceleration": 19}

quick = settings(derandomize=True, deadline=None)


def ends(found: Any) -> list[float]:
    """Return both ends of an interval of granularities."""
    return list(vars(found).values())


# --- limits ---------------------------------------------------------------------------------------


def test_limits_in_closed_form() -> None:
    design = {"overhead": 100, "latency": 20, "computational_index": 50, "acceleration": 8}
    one_byte = 50 / (120 + 50 / 8)  # equation 4
    got = limits(**design)
    assert float(got.speedup_at_one_byte) == pytest.approx(one_byte, rel=1e-14)
    assert got.speedup_limit == got.peak_speedup == 8  # equation 3
    assert np.isinf([got.peak_granularity, got.computational_intensity]).all()
    assert got.latency_bound == 0
    got = limits(latency_per_byte=5, **design)
    assert float(got.speedup_limit) == pytest.approx(8 * 50 / (8 * 5 + 50), rel=1e-14)  # letter, 9
    assert got.computational_intensity == 10
    assert got.latency_bound == 1
    assert got.accelerator_computational_intensity == 10 / 8
    got = limits(latency_per_byte=5, complexity=2, **design)
    assert got.speedup_limit == 8
    assert got.latency_bound == 0


@given(
    o=st.floats(0, 1e6),
    line=st.floats(0, 50),
    c=st.floats(1, 1e4),
    b=st.sampled_from([0.2, 0.7, 0.97, 1.0, 1.3, 2.5]),
    a=st.floats(0.5, 100),
)
@quick
def test_peak_speedup_bounds_every_granularity(
    o: float, line: float, c: float, b: float, a: float
) -> None:
    design = {
        "overhead": o,
        "latency_per_byte": line,
        "computational_index": c,
        "complexity": b,
        "acceleration": a,
    }
    got = limits(**design)
    s = speedup(granularity=np.geomspace(1e-9, 1e100, 400), **design).speedup
    assert (s <= got.peak_speedup * (1 + 1e-12)).all()
    if 0 < got.peak_granularity < np.inf:
        top = speedup(granularity=got.peak_granularity, **design).speedup
        assert math.isclose(top, got.peak_speedup, rel_tol=1e-12)
    # A target just below the peak is reached, one just above is not.
    below = target(target_speedup=got.peak_speedup * (1 - 1e-9), **design)
    above = target(target_speedup=got.peak_speedup * (1 + 1e-9), **design)
    # Within rounding of β = 1 or of an end beyond the floats, "reached" shows as an open end only.
    assert below.target_from <= below.target_to
    assert np.isinf(above.target_from)


# --- edges ----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("design", "expected"),
    [
        # (o + L, l, C, β, A): offloading pays from, to
        ((0, 0, 10, 1.0, 2), (0, np.inf)),
        ((0, 0, 10, 0.5, 1), (0, np.inf)),
        ((0, 0, 10, 1.0, 1), (0, np.inf)),
        ((1, 0, 10, 1.0, 1), (np.inf, np.inf)),
        ((0, 1, 10, 2.0, 1), (np.inf, np.inf)),
        ((0, 0, 10, 1.5, 0.9), (np.inf, np.inf)),
        ((0, 5, 10, 1.0, 2), (0, np.inf)),  # l = C (1 − 1/A): even at every granularity
        ((1, 5, 10, 1.0, 2), (np.inf, np.inf)),
        ((0, 6, 10, 1.0, 2), (np.inf, np.inf)),
        ((0, 1, 10, 2.0, 2), (0.2, np.inf)),
        ((0, 1, 10, 0.5, 2), (0, 25)),
        ((0, 20, 10, 0.5, 2), (0, 0.0625)),
        ((4, 0, 10, 0.5, 5), (0.25, np.inf)),
        ((4, 1, 10, 0.5, 2), (1, 16)),  # 5 √g = g + 4
        ((6.25 - 1e-11, 1, 10, 0.5, 2), (6.25, 6.25)),  # all but touches at the peak
        ((6.25 + 1e-11, 1, 10, 0.5, 2), (np.inf, np.inf)),
        ((6, 1, 2, 2.0, 2), (3, np.inf)),  # g² = g + 6
        ((6, 1, 2, 2.0, np.inf), (2, np.inf)),
    ],
)
def test_always_never_and_both_ends(
    design: tuple[float, float, float, float, float], expected: tuple[float, float]
) -> None:
    k, line, c, b, a = design
    got = break_even(
        overhead=k, latency_per_byte=line, computational_index=c, complexity=b, acceleration=a
    )
    np.testing.assert_allclose(ends(got), expected, rtol=1e-5 if 6 < k < 7 else 1e-13)


def test_no_nan_over_sixty_orders_of_magnitude() -> None:
    tiny, huge = 1e-30, 1e30
    axes = {
        "granularity": [tiny, 1.0, huge],
        "overhead": [0.0, tiny, 1.0, huge],
        "latency": [0.0, 1.0, huge],
        "latency_per_byte": [0.0, tiny, 1.0, huge],
        "computational_index": [tiny, 1.0, huge],
        "complexity": [1e-3, 0.5, 1.0, 1.5, 3.0],
        "acceleration": [tiny, 0.5, 1.0, 2.0, huge, np.inf],
    }
    grid = dict(zip(axes, map(np.ravel, np.meshgrid(*axes.values())), strict=True))
    got = offload(target_speedup=3.0, **grid)
    for name, values in vars(got).items():
        assert not np.isnan(values).any(), name
        assert (values >= 0).all(), name
    log = {name: np.log(np.maximum(values, 5e-324)) for name, values in grid.items()}
    work = log["computational_index"] + grid["complexity"] * log["granularity"]
    costs = np.stack(
        [
            np.where(grid["overhead"] > 0, log["overhead"] - work, -np.inf),
            np.where(grid["latency"] > 0, log["latency"] - work, -np.inf),
            np.where(
                grid["latency_per_byte"] > 0,
                log["latency_per_byte"] + log["granularity"] - work,
                -np.inf,
            ),
            np.where(grid["acceleration"] < np.inf, -log["acceleration"], -np.inf),
        ]
    )
    with np.errstate(all="ignore"):
        expected = np.exp(-np.logaddexp.reduce(costs))
    np.testing.assert_allclose(got.speedup, expected, rtol=1e-11)


@pytest.mark.parametrize("complexity", [0.7, 1.0, 1.01])
@pytest.mark.parametrize("per_byte", [0.0, 0.3])
def test_a_saturated_engine_never_pays(complexity: float, per_byte: float) -> None:
    got = offload(1024.0, 100.0, np.inf, per_byte, 90.0, complexity, 10.0, 2.0)
    assert got.speedup == got.speedup_limit == got.peak_speedup == 0
    assert got.accelerated_time == np.inf
    for granularity in (got.break_even, got.half_acceleration, got.target_from):
        assert granularity == np.inf


def test_integers_and_shapes() -> None:
    got = offload(
        np.array([[64.0], [1024.0]]),  # in the order that scripts rely on
        np.array([10.0, 20.0, 30.0]),
        0,
        0,
        10**10,
        1,
        4,
    )
    assert got.speedup.shape == (2, 3)
    assert got.break_even.shape == (3,)  # in the shape of its own inputs
    assert (got.speedup_limit == 4).all()
    assert offload(np.empty(0), 1, 0, 0, 1, 1, 2).speedup.shape == (0,)
    nothing = break_even(
        overhead=np.empty(0),
        latency_per_byte=1,
        computational_index=1,
        complexity=0.5,
        acceleration=2,
    )
    assert nothing.break_even.shape == (0,)


def test_parts_of_the_accelerated_time() -> None:
    got = times(
        granularity=100.0,
        overhead=7,
        latency=3,
        latency_per_byte=0.5,
        computational_index=2,
        complexity=1.5,
        acceleration=10,
    )
    parts = (got.overhead_time, got.latency_time, got.compute_time)
    np.testing.assert_allclose((got.host_time, got.accelerated_time), (2000, 260), rtol=1e-13)
    np.testing.assert_allclose(parts, (7, 53, 200), rtol=1e-13)
