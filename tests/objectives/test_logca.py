"""LogCA against the figures and the implications of its papers.

Parameters: M. S. B. Altaf and D. A. Wood, "LogCA: A High-Level Performance Model for Hardware
Accelerators", ISCA 2017, Table 5 (o, L, C, A) and Table 4 (β). On-chip engines have a latency that
does not depend on granularity, APU and discrete GPU one that does (section 4).
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from dse.testing import check_model
from objectives.logca import break_even, half_acceleration, limits, offload, speedup, target, times
from tests.oracles import logca_printed as oracle

AES = 1.01
T2 = {"overhead": 2.9e4, "latency": 1500, "computational_index": 90, "acceleration": 19}
APU = {"overhead": 4e8, "latency_per_byte": 15, "acceleration": 7}
GPU = {"overhead": 2e8, "latency_per_byte": 3e3, "acceleration": 30}
KERNELS = {  # C [cycle/B] on the GPUs' hosts, β
    "aes": {"computational_index": 174, "complexity": AES},
    "sort": {"computational_index": 290, "complexity": 0.94},
    "gemm": {"computational_index": 2, "complexity": 1.7},
    "fft": {"computational_index": 290, "complexity": 1.2},
    "search": {"computational_index": 116, "complexity": 0.14},
}
quick = settings(derandomize=True, deadline=None)


def design(o: Any, c: Any, b: Any, a: Any, line: Any = 0.0) -> dict[str, Any]:
    names = ("overhead", "computational_index", "complexity", "acceleration", "latency_per_byte")
    return dict(zip(names, (o, c, b, a, line), strict=True))


def ends(found: Any) -> list[float]:
    """Return both bounds of an interval of granularities."""
    return list(vars(found).values())


@pytest.mark.parametrize("fixed", [{"complexity": 0.6}, {"complexity": 1.0, "latency_per_byte": 0}])
def test_models_hold_the_contract_in_special_cases(fixed: dict[str, float]) -> None:
    check_model(offload, fixed=fixed, pairs=5_000)


# --- figures ------------------------------------------------------------------------------------


def test_t2_break_even_and_half_acceleration() -> None:
    # The paper marks them in Fig. 3 and 7 without numbers.
    b = np.array([AES, 1.0])
    g1, half = break_even(complexity=b, **T2), half_acceleration(complexity=b, **T2)
    assert g1.break_even[0] == pytest.approx(337.486, abs=1e-3)
    assert g1.break_even[1] == pytest.approx(19 / 18 * 30_500 / 90, rel=1e-14)
    assert half.half_acceleration[0] == pytest.approx(5903.369, abs=1e-3)
    assert half.half_acceleration[1] == pytest.approx(19 * 30_500 / 90, rel=1e-14)


def test_discrete_gpu_breaks_even_only_if_latency_is_not_read_as_cycles_per_byte() -> None:
    linear = {**KERNELS["aes"], "complexity": 1.0}
    assert pytest.approx(0.058) == 174 / 3e3
    assert np.isinf(break_even(**GPU, **linear).break_even)  # the paper's Fig. 7 shows one
    assert break_even(**GPU, **KERNELS["aes"]).break_even > 1e120  # β = 1.01: never in practice
    for per_byte in (0.3, 0.4):  # 1 / peak bandwidth, the paper's own rule, over PCIe
        g1 = break_even(**{**GPU, "latency_per_byte": per_byte}, **linear).break_even
        assert 1.1e6 < g1 < 1.3e6
        apu = break_even(**APU, **linear).break_even
        assert 1 / 3 < g1 / apu < 3  # "comparable", section 5.1


def test_apu_half_acceleration_exists() -> None:
    # Section 5.1 says that it does not, since C/L < A; but C/L = 11.6 > 7.
    bounds = limits(**APU, **KERNELS["aes"])
    assert float(bounds.accelerator_computational_intensity) == pytest.approx(1.657, abs=1e-3)
    # Section 5.2 says so of the FFT, since C/L < A/1.2; but C/L = 19.3 > 5.8.
    # Fig. 9-a marks it for radix sort; but the speedup peaks at 3.09 < 3.5.
    names = ("aes", "fft", "sort")
    half = [float(half_acceleration(**APU, **KERNELS[n]).half_acceleration) for n in names]
    assert half == pytest.approx([2.758e7, 6.756e5, np.inf], rel=1e-3)
    assert float(limits(**APU, **KERNELS["sort"]).peak_speedup) == pytest.approx(3.087, abs=1e-3)


def test_binary_search_never_breaks_even_and_falls_at_large_granularities() -> None:
    assert np.isinf(break_even(**APU, **KERNELS["search"]).break_even)
    bounds = limits(**APU, **KERNELS["search"])
    peak = float(bounds.peak_granularity)
    g = peak * np.array([1e-3, 0.1, 1.0, 10.0, 1e3])
    s = speedup(granularity=g, **APU, **KERNELS["search"]).speedup
    assert (np.diff(s[:3]) > 0).all() and (np.diff(s[2:]) < 0).all()
    assert float(s[2]) == pytest.approx(float(bounds.peak_speedup), rel=1e-12)
    assert bounds.peak_speedup < 1 and bounds.speedup_limit == 0


def test_matrix_multiplication_is_faster_than_fft_and_sort() -> None:
    at = {k: float(speedup(granularity=2.0**25, **APU, **KERNELS[k]).speedup) for k in KERNELS}
    assert at["gemm"] > at["fft"] > at["sort"] > 2


def test_sub_linear_kernel_pays_only_between_two_granularities() -> None:
    # Radix sort on the APU; equation 11 gives 1.83e6 B, where the speedup is 0.486.
    pays = break_even(**APU, **KERNELS["sort"])
    assert float(pays.break_even) == pytest.approx(4.7737535e6, rel=1e-6)
    assert float(pays.break_even_end) == pytest.approx(2.10216e20, rel=1e-5)
    printed = float(oracle.printed_break_even_newton(**APU, **KERNELS["sort"]))
    assert printed == pytest.approx(1.829e6, rel=1e-3)
    there = speedup(granularity=printed, **APU, **KERNELS["sort"]).speedup
    assert float(there) == pytest.approx(0.486, abs=1e-3)


def test_printed_newton_step_is_wrong_for_other_complexities() -> None:
    exact = float(break_even(**APU, **KERNELS["fft"]).break_even)
    printed = float(oracle.printed_break_even_newton(**APU, **KERNELS["fft"]))
    assert exact == pytest.approx(149_347, rel=1e-5)
    assert printed / exact == pytest.approx(9.45, abs=0.01)
    for engine, wrong in ((APU, -3.31e7), (GPU, -6.67e4)):
        printed = float(oracle.printed_break_even_newton(**engine, **KERNELS["gemm"]))
        assert printed == pytest.approx(wrong, rel=1e-3)
        root = float(break_even(**engine, **KERNELS["gemm"]).break_even)
        assert root == pytest.approx(8.37e4, rel=3e-3)


def test_printed_newton_step_is_one_step_from_one_byte() -> None:
    for kernel in KERNELS.values():
        c, b = kernel["computational_index"], kernel["complexity"]
        o, per_byte, a = APU["overhead"], APU["latency_per_byte"], APU["acceleration"]
        for s, printed in (
            (1.0, oracle.printed_break_even_newton),
            (a / 2, oracle.printed_half_acceleration_newton),
            (a, oracle.printed_unbounded_acceleration_newton),
        ):
            gain = c * (1 / s - (0 if s == a else 1 / a))  # equation 13: infinite acceleration
            step = 1 - (gain - per_byte - o) / (b * gain - per_byte)
            assert float(printed(**APU, **kernel)) == pytest.approx(step, rel=1e-12)


@given(o=st.floats(1, 1e8), c=st.floats(1, 1e4), a=st.floats(1.5, 100), line=st.floats(0.01, 0.3))
@quick
def test_printed_newton_step_is_exact_for_linear_kernels(
    o: float, c: float, a: float, line: float
) -> None:
    one = design(o, c, 1.0, a, line * c / a)
    got = offload(granularity=1.0, latency=0.0, **one)
    assert math.isclose(got.break_even, oracle.printed_break_even_newton(**one), rel_tol=1e-9)
    half = oracle.printed_half_acceleration_newton(**one)
    assert math.isclose(got.half_acceleration, half, rel_tol=1e-9)


@given(k=st.floats(1, 1e8), c=st.floats(1, 1e4), a=st.floats(1.01, 1e3), b=st.floats(0.1, 3))
@quick
def test_printed_closed_forms_without_a_latency_per_byte(
    k: float, c: float, a: float, b: float
) -> None:
    one = design(0.75 * k, c, b, a) | {"latency": 0.25 * k}
    got = offload(granularity=1.0, **one)
    del one["latency_per_byte"]
    assert math.isclose(got.break_even, oracle.printed_break_even(**one), rel_tol=1e-10)
    half = oracle.printed_half_acceleration(**one)
    assert math.isclose(got.half_acceleration, half, rel_tol=1e-10)
    assert math.isclose(half, (a - 1) ** (1 / b) * got.break_even, rel_tol=1e-9)  # equation 7


# --- implications of ISCA 2017, each under its conditions -----------------------------------------

INTERFACE = {"o": st.floats(1, 1e8), "c": st.floats(1, 1e4)}
SUB_LINEAR, ANY = st.floats(0.05, 0.99), st.floats(0.1, 3)


@given(**INTERFACE, b=ANY, a=st.floats(100, 1e6))
@quick
def test_implication_1_break_even_hardly_depends_on_large_acceleration(
    o: float, c: float, b: float, a: float
) -> None:
    found, least = break_even(**design(o, c, b, np.array([a, np.inf]))).break_even
    assert 1 - 1e-12 <= found / least <= (1 + 1 / 99) ** (1 / b) + 1e-9


@given(**INTERFACE, b=ANY, a=st.floats(1.1, 1e3))
@quick
def test_implication_2_doubling_the_computational_index(
    o: float, c: float, b: float, a: float
) -> None:
    g1 = break_even(**design(o, np.array([c, 2 * c]), b, a)).break_even
    assert math.isclose(g1[1] / g1[0], 2 ** (-1 / b), rel_tol=1e-9)


@given(**INTERFACE, b=ANY, a=st.floats(1.1, 1e3))
@quick
def test_implication_3_doubling_the_acceleration(o: float, c: float, b: float, a: float) -> None:
    half = half_acceleration(**design(o, c, b, np.array([a, 2 * a]))).half_acceleration
    assert math.isclose(half[1] / half[0], 2 ** (1 / b), rel_tol=1e-9)


@given(**INTERFACE, b=SUB_LINEAR, a=st.floats(1.1, 1e3), line=st.floats(0.01, 100))
@quick
def test_implication_4_sub_linear_speedup_falls_in_the_end(
    o: float, c: float, b: float, a: float, line: float
) -> None:
    bounds = limits(**design(o, c, b, a, line))
    g = bounds.peak_granularity * 10.0 ** np.arange(0, 8)
    assert (np.diff(speedup(g, **design(o, c, b, a, line)).speedup) < 0).all()
    assert bounds.speedup_limit == 0
    assert bounds.latency_bound == 1


@given(
    **INTERFACE,
    b=st.floats(0.05, 1),
    a=st.floats(1.1, 1e3),
    intensity=st.floats(1e-3, 1),
    g=st.floats(1, 1e9),
)
@quick
def test_implications_5_and_6_computational_intensity_above_one(
    o: float, c: float, b: float, a: float, intensity: float, g: float
) -> None:
    # Conditions: latency per byte, β ≤ 1 and at least one byte (below it g > g**β does not hold).
    assert speedup(g, **design(o, c, b, a, c / intensity)).speedup < 1
    pays = break_even(**design(o, c, b, a, c / intensity))
    assert pays.break_even_end <= 1 or np.isinf(pays.break_even)
    half = half_acceleration(**design(o, c, b, a, c / a / intensity))
    assert half.half_acceleration_end <= 1 or np.isinf(half.half_acceleration)


@given(
    **INTERFACE,
    b=st.floats(0.3, 1),
    a=st.floats(1.1, 1e3),
    line=st.floats(0.01, 100),
    more=st.floats(1, 1e6),
)
@quick
def test_implication_7_more_acceleration_does_not_help_where_half_is_out_of_reach(
    o: float, c: float, b: float, a: float, line: float, more: float
) -> None:
    half = half_acceleration(**design(o, c, b, a, line))
    endless = target(target_speedup=a, **design(o, c, b, np.inf, line))
    np.testing.assert_allclose(ends(endless), ends(half), rtol=1e-7)  # g_A of eq. 13 is g_{A/2}
    if np.isinf(half.half_acceleration):
        g = np.geomspace(1, 1e12, 25)
        s = speedup(g, **design(o, c, b, a * more, line)).speedup
        assert (s < a).all()
        assert (s <= c / line * g ** (b - 1) * (1 + 1e-12)).all()  # the computational intensity


# --- limits ---------------------------------------------------------------------------------------


def test_limits_in_closed_form() -> None:
    given_ = {"overhead": 100, "latency": 20, "computational_index": 50, "acceleration": 8}
    one_byte = 50 / (120 + 50 / 8)  # equation 4
    got = limits(**given_)
    assert float(got.speedup_at_one_byte) == pytest.approx(one_byte, rel=1e-14)
    assert got.speedup_limit == got.peak_speedup == 8  # equation 3
    assert np.isinf([got.peak_granularity, got.computational_intensity]).all()
    assert got.latency_bound == 0
    got = limits(latency_per_byte=5, **given_)
    assert float(got.speedup_limit) == pytest.approx(8 * 50 / (8 * 5 + 50), rel=1e-14)  # letter, 9
    assert got.computational_intensity == 10
    assert got.latency_bound == 1
    assert got.accelerator_computational_intensity == 10 / 8
    got = limits(latency_per_byte=5, complexity=2, **given_)
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
    one = design(o, c, b, a, line)
    got = limits(**one)
    s = speedup(np.geomspace(1e-9, 1e100, 400), **one).speedup
    assert (s <= got.peak_speedup * (1 + 1e-12)).all()
    if 0 < got.peak_granularity < 1e100:
        top = speedup(got.peak_granularity, **one).speedup
        assert math.isclose(top, got.peak_speedup, rel_tol=1e-12)
    # A target just below the peak is reached, one just above is not.
    below, above = (
        target(target_speedup=got.peak_speedup * x, **one) for x in (1 - 1e-9, 1 + 1e-9)
    )
    # Within rounding of β = 1 or of an end beyond the floats, "reached" shows as an open end only.
    assert below.target_from <= below.target_to
    assert np.isinf(above.target_from)


# --- edges ----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("given_", "expected"),
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
    given_: tuple[float, float, float, float, float], expected: tuple[float, float]
) -> None:
    k, line, c, b, a = given_
    got = break_even(**design(k, c, b, a, line))
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
    with np.errstate(divide="ignore"):
        log = {name: np.log(values) for name, values in grid.items()}
    work = log["computational_index"] + grid["complexity"] * log["granularity"]
    moved = log["latency_per_byte"] + log["granularity"]
    costs = [log["overhead"] - work, log["latency"] - work, moved - work, -log["acceleration"]]
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
    columns = np.array([[64.0], [1024.0]]), np.array([10.0, 20.0, 30.0])
    got = offload(*columns, 0, 0, 10**10, 1, 4)  # in the order that scripts rely on
    assert got.speedup.shape == (2, 3)
    assert got.break_even.shape == (3,)  # in the shape of its own inputs
    assert (got.speedup_limit == 4).all()
    assert offload(np.empty(0), 1, 0, 0, 1, 1, 2).speedup.shape == (0,)
    assert break_even(**design(np.empty(0), 1, 0.5, 2, line=1)).break_even.shape == (0,)


def test_parts_of_the_accelerated_time() -> None:
    got = times(100.0, latency=3, **design(7, 2, 1.5, 10, line=0.5))
    parts = (got.overhead_time, got.latency_time, got.compute_time)
    np.testing.assert_allclose((got.host_time, got.accelerated_time), (2000, 260), rtol=1e-13)
    np.testing.assert_allclose(parts, (7, 53, 200), rtol=1e-13)


# --- batches: what stands beside a design changes no bit of it ---------------------------------

AXES: dict[str, list[float]] = {
    "granularity": [1e-9, 1.0, 1024.0, 1e30],
    "overhead": [0.0, 1e-30, 1.0, 3e4, 1e30],
    "latency": [0.0, 1e-30, 1.0, 1e30],
    "latency_per_byte": [0.0, 0.5, 2.0, 90.0, 1e30],
    "computational_index": [1e-30, 1.0, 2.0, 90.0, 1e30],
    "acceleration": [0.5, 1.0, 1.0000000000000002, 2.0, 19.0, 1e30, np.inf],
}
ORDINARY = (1024.0, 3e4, 1.0, 0.5, 90.0, 19.0)
FREE = (1024.0, 0.0, 0.0)  # of all set-up and latency of a call


@pytest.mark.parametrize("model", [speedup, break_even, half_acceleration, target])
@given(designs=st.lists(st.tuples(*map(st.sampled_from, AXES.values())), min_size=2, max_size=8))
@example(designs=[ORDINARY, (*FREE, 45.0, 90.0, 2.0)])  # the gain is the latency's: always
@example(designs=[ORDINARY, (*FREE, 90.0, 90.0, 2.0)])  # less: never
@example(designs=[ORDINARY, (*FREE, 0.5, 90.0, np.inf), (1.0, 1.0, 1.0, 90.0, 90.0, np.inf)])
@example(designs=[ORDINARY, (-1.0, 1.0, 1.0, 1.0, 1.0, 1.0), (1.0, np.nan, 1.0, 1.0, 1.0, -np.inf)])
@settings(max_examples=60, deadline=None, derandomize=True)
def test_neighbours_change_no_bit(
    model: Callable[..., Any], designs: list[tuple[float, ...]]
) -> None:
    columns: dict[str, Any] = dict(zip(AXES, np.array(designs, dtype=float).T, strict=True))
    if model is not speedup:
        del columns["granularity"]
    if model is target:
        columns["target_speedup"] = np.full(len(designs), 1.5)
    with np.errstate(all="raise"):  # as a caller may have it: the models see to themselves
        together = vars(model(**columns))
        for i in range(len(designs)):
            alone = vars(model(**{name: float(values[i]) for name, values in columns.items()}))
            for name, whole in together.items():
                assert (
                    whole[i].tobytes() == alone[name].tobytes()
                    or np.isnan([whole[i], alone[name]]).all()
                )


def test_a_fixed_cost_on_the_host_enlarges_the_beneficial_granularities() -> None:
    """Break-even and its end by the speedup on a grid; β > 1 may have a second part, left out."""
    rng, count = np.random.default_rng(1), 1000
    c, o, h = (10 ** rng.uniform(low, high, count) for low, high in ((0, 4), (0, 5), (-2, 5)))
    b = np.where(rng.random(count) < 0.3, 1.0, rng.uniform(0.3, 1.8, count))
    per_byte = np.where(rng.random(count) < 0.3, 0.0, 10 ** rng.uniform(-2, 2, count))
    a = 10 ** rng.uniform(-0.5, 2, count)
    system = {"overhead": o, "latency_per_byte": per_byte, "acceleration": a}
    system |= {"computational_index": c, "complexity": b, "host_fixed_work": h}
    found = break_even(**system)
    grid = np.geomspace(1e-9, 1e15, 1200)
    gains = speedup(granularity=grid[:, None], **system).speedup >= 1.0
    first = np.where(gains.any(axis=0), grid[gains.argmax(axis=0)], np.inf)
    low = np.where(found.break_even < grid[0], grid[0], found.break_even)
    step = grid[1] / grid[0] * (1.0 + 1e-9)
    low = np.where(low > grid[-1], np.inf, low)
    assert (np.isinf(first) == np.isinf(low)).all()
    there = np.isfinite(low)
    assert (first[there] >= low[there] * (1.0 - 1e-9)).all()
    assert (first[there] <= low[there] * step).all()
    after = ~gains & (grid[:, None] > first)
    end = np.where(after.any(axis=0), grid[after.argmax(axis=0)], np.inf)[there]
    own = np.where(found.break_even_end > grid[-1], np.inf, found.break_even_end)[there]
    finite = np.isfinite(own)
    assert (np.isinf(end) == ~finite).all()
    assert (end[finite] / step <= own[finite]).all()
    assert (own[finite] <= end[finite] * (1.0 + 1e-9)).all()
    assert (found.break_even == 0.0).sum() > 100
