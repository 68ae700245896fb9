"""LogCA against the figures and the implications of its papers.

Parameters: M. S. B. Altaf and D. A. Wood, "LogCA: A High-Level Performance Model for Hardware
Accelerators", ISCA 2017, Table 5 (o, L, C, A) and Table 4 (β). On-chip engines have a latency that
does not depend on granularity, APU and discrete GPU one that does (section 4).
"""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dse.testing import check_model
from objectives.logca import break_even, half_acceleration, limits, offload, speedup, target
from tests.oracles import logca_printed as oracle

AES = 1.01
T2 = {"overhead": 2.9e4, "latency": 1500, "computational_index": 90, "acceleration": 19}
T4 = {"overhead": 435, "latency": 500, "computational_index": 32, "acceleration": 12}
T4_INSTRUCTIONS = {"overhead": 111, "latency": 4, "computational_index": 32, "acceleration": 12}
APU = {"overhead": 4e8, "latency_per_byte": 15, "acceleration": 7}
GPU = {"overhead": 2e8, "latency_per_byte": 3e3, "acceleration": 30}
KERNELS = {  # C [cycle/B] on the GPUs' hosts, β
    "aes": {"computational_index": 174, "complexity": AES},
    "sort": {"computational_index": 290, "complexity": 0.94},
    "gemm": {"computational_index": 2, "complexity": 1.7},
    "fft": {"computational_index": 290, "complexity": 1.2},
    "search": {"computational_index": 116, "complexity": 0.14},
}


@pytest.mark.parametrize("fixed", [{"complexity": 1.0}, {"complexity": 0.6}])
def test_models_hold_the_contract(fixed: dict[str, float]) -> None:
    check_model(offload, fixed=fixed, pairs=5_000)
    for model in (speedup, break_even, half_acceleration, target):  # without a latency per byte
        check_model(model, fixed={"latency_per_byte": 0.0}, pairs=2_000)


# --- figures ------------------------------------------------------------------------------------


def test_t2_break_even_and_half_acceleration() -> None:
    # The paper marks them in Fig. 3 and 7 without numbers.
    assert float(break_even(complexity=AES, **T2).break_even) == pytest.approx(337.486, abs=1e-3)
    assert float(break_even(**T2).break_even) == pytest.approx(19 / 18 * 30_500 / 90, rel=1e-14)
    half = half_acceleration(complexity=AES, **T2).half_acceleration
    assert float(half) == pytest.approx(5903.369, abs=1e-3)
    half = half_acceleration(**T2).half_acceleration
    assert float(half) == pytest.approx(19 * 30_500 / 90, rel=1e-14)


def improved(design: dict[str, float], name: str, g: float, complexity: float) -> float:
    """Factor by which a 10x improvement of one input raises the speedup at g bytes."""
    better = {**design, name: design[name] * (0.1 if name in ("overhead", "latency") else 10.0)}
    after = speedup(granularity=g, complexity=complexity, **better).speedup
    return float(after / speedup(granularity=g, complexity=complexity, **design).speedup)


def cut_off(design: dict[str, float], name: str, complexity: float = AES) -> float | None:
    """Granularity up to 1 TiB where the gain of 10x passes 20 % (section 3.2), by bisection."""
    low, high = 1.0, 2.0**40
    before = improved(design, name, low, complexity) >= 1.2
    if before == (improved(design, name, high, complexity) >= 1.2):
        return None
    while high / low > 1 + 1e-12:
        middle = math.sqrt(low * high)
        inside = improved(design, name, middle, complexity) >= 1.2
        low, high = (middle, high) if inside == before else (low, middle)
    return low


def closed_form(design: dict[str, float], name: str) -> float:
    """Where T1 of the 10x better design is 1/1.2 of T1, from C g**β: without a latency per byte."""
    o, latency = design["overhead"], design["latency"]
    c, a = design["computational_index"], design["acceleration"]
    work = {
        "overhead": a * (4.4 * o - latency),
        "latency": a * (4.4 * latency - o),
        "computational_index": a * 4.4 * (o + latency),
        "acceleration": a * (o + latency) / 4.4,
    }
    return float((work[name] / c) ** (1 / AES))


@pytest.mark.parametrize(
    ("design", "name", "expected"),
    [
        # The paper reads cut-offs off a plot with a point at each power of two.
        (T2, "acceleration", "1361.5"),  # A starts to help: 2 KB, the next power of two
        (T2, "overhead", "24066.5"),  # 32 KB, the next power of two
        (T2, "computational_index", "25596.6"),  # 32 KB
        (T4_INSTRUCTIONS, "overhead", "172.53"),  # 128 B, the last power of two
        (T4_INSTRUCTIONS, "acceleration", "9.582"),  # 16 B, where the plot starts
        (T4, "overhead", "498.3"),  # 512 B
        (T4, "acceleration", "76.3"),  # the paper: from 32 B
        (T4, "latency", "620.7"),  # the paper: L in no region of the on-chip engines
    ],
)
def test_region_cut_offs(design: dict[str, float], name: str, expected: str) -> None:
    found = cut_off(design, name)
    assert found == pytest.approx(closed_form(design, name), rel=1e-9)
    assert f"{found:.{len(expected.partition('.')[2])}f}" == expected


@pytest.mark.parametrize("design", [T2, T4_INSTRUCTIONS])
def test_latency_is_in_no_region_of_the_engines_with_a_short_one(design: dict[str, float]) -> None:
    assert all(improved(design, "latency", 2.0**e, AES) < 1.2 for e in range(26))


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
    assert float(half_acceleration(**APU, **KERNELS["aes"]).half_acceleration) == pytest.approx(
        2.758e7, rel=1e-3
    )
    # Section 5.2 says so of the FFT, since C/L < A/1.2; but C/L = 19.3 > 5.8.
    assert float(half_acceleration(**APU, **KERNELS["fft"]).half_acceleration) == pytest.approx(
        6.756e5, rel=1e-3
    )
    # Fig. 9-a marks it for radix sort; but the speedup peaks at 3.09 < 3.5.
    assert np.isinf(half_acceleration(**APU, **KERNELS["sort"]).half_acceleration)
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
    for design, wrong in ((APU, -3.31e7), (GPU, -6.67e4)):
        printed = float(oracle.printed_break_even_newton(**design, **KERNELS["gemm"]))
        assert printed == pytest.approx(wrong, rel=1e-3)
        root = float(break_even(**design, **KERNELS["gemm"]).break_even)
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
@settings(derandomize=True, deadline=None)
def test_printed_newton_step_is_exact_for_linear_kernels(
    o: float, c: float, a: float, line: float
) -> None:
    design = {
        "overhead": o,
        "latency_per_byte": line * c / a,
        "computational_index": c,
        "complexity": 1.0,
        "acceleration": a,
    }
    got = offload(granularity=1.0, latency=0.0, **design)
    assert math.isclose(got.break_even, oracle.printed_break_even_newton(**design), rel_tol=1e-9)
    assert math.isclose(
        got.half_acceleration,
        oracle.printed_half_acceleration_newton(**design),
        rel_tol=1e-9,
    )


@given(k=st.floats(1, 1e8), c=st.floats(1, 1e4), a=st.floats(1.01, 1e3), b=st.floats(0.1, 3))
@settings(derandomize=True, deadline=None)
def test_printed_closed_forms_without_a_latency_per_byte(
    k: float, c: float, a: float, b: float
) -> None:
    design = {
        "overhead": 0.75 * k,
        "latency": 0.25 * k,
        "computational_index": c,
        "complexity": b,
        "acceleration": a,
    }
    got = offload(granularity=1.0, latency_per_byte=0.0, **design)
    assert math.isclose(got.break_even, oracle.printed_break_even(**design), rel_tol=1e-10)
    half = oracle.printed_half_acceleration(**design)
    assert math.isclose(got.half_acceleration, half, rel_tol=1e-10)
    assert math.isclose(half, (a - 1) ** (1 / b) * got.break_even, rel_tol=1e-9)  # equation 7


# --- implications of ISCA 2017, each under its conditions -----------------------------------------

INTERFACE = {"o": st.floats(1, 1e8), "c": st.floats(1, 1e4)}
SUB_LINEAR, ANY = st.floats(0.05, 0.99), st.floats(0.1, 3)
quick = settings(derandomize=True, deadline=None)


@given(**INTERFACE, b=ANY, a=st.floats(100, 1e6))
@quick
def test_implication_1_break_even_hardly_depends_on_large_acceleration(
    o: float, c: float, b: float, a: float
) -> None:
    fixed = {"overhead": o, "computational_index": c, "complexity": b}
    least = break_even(acceleration=np.inf, **fixed).break_even
    assert break_even(acceleration=a, **fixed).break_even / least * (1 + 1e-12) >= 1
    assert break_even(acceleration=a, **fixed).break_even / least <= (1 + 1 / 99) ** (1 / b) + 1e-9


@given(**INTERFACE, b=ANY, a=st.floats(1.1, 1e3))
@quick
def test_implication_2_doubling_the_computational_index(
    o: float, c: float, b: float, a: float
) -> None:
    g1 = break_even(
        overhead=o, computational_index=np.array([c, 2 * c]), complexity=b, acceleration=a
    ).break_even
    assert math.isclose(g1[1] / g1[0], 2 ** (-1 / b), rel_tol=1e-9)


@given(**INTERFACE, b=ANY, a=st.floats(1.1, 1e3))
@quick
def test_implication_3_doubling_the_acceleration(o: float, c: float, b: float, a: float) -> None:
    half = half_acceleration(
        overhead=o, computational_index=c, complexity=b, acceleration=np.array([a, 2 * a])
    ).half_acceleration
    assert math.isclose(half[1] / half[0], 2 ** (1 / b), rel_tol=1e-9)


@given(**INTERFACE, b=SUB_LINEAR, a=st.floats(1.1, 1e3), line=st.floats(0.01, 100))
@quick
def test_implication_4_sub_linear_speedup_falls_in_the_end(
    o: float, c: float, b: float, a: float, line: float
) -> None:
    design = {
        "overhead": o,
        "latency_per_byte": line,
        "computational_index": c,
        "complexity": b,
        "acceleration": a,
    }
    bounds = limits(**design)
    g = bounds.peak_granularity * 10.0 ** np.arange(0, 8)
    assert (np.diff(speedup(granularity=g, **design).speedup) < 0).all()
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
    shared = {"overhead": o, "computational_index": c, "complexity": b, "acceleration": a}
    assert speedup(granularity=g, latency_per_byte=c / intensity, **shared).speedup < 1
    pays = break_even(latency_per_byte=c / intensity, **shared)
    assert pays.break_even_end <= 1 or np.isinf(pays.break_even)
    half = half_acceleration(latency_per_byte=c / a / intensity, **shared)
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
    shared = {
        "overhead": o,
        "latency_per_byte": line,
        "computational_index": c,
        "complexity": b,
    }
    half = half_acceleration(acceleration=a, **shared)
    endless = target(target_speedup=a, acceleration=np.inf, **shared)
    np.testing.assert_allclose(
        list(vars(endless).values()), list(vars(half).values()), rtol=1e-7
    )  # g_A of equation 13 is g_{A/2}
    if np.isinf(half.half_acceleration):
        g = np.geomspace(1, 1e12, 25)
        s = speedup(granularity=g, acceleration=a * more, **shared).speedup
        assert (s < a).all()
        assert (s <= c / line * g ** (b - 1) * (1 + 1e-12)).all()  # the computational intensity
