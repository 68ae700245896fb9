"""Published laws for several accelerators, from the models of a portfolio."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from objectives.portfolio import engine_queue, kernel_loads, link_queue, mix, rate_growth

QUIET = 1e-12  # calls per second at which nothing waits


def _speedup(fractions: np.ndarray, accelerations: np.ndarray) -> float:
    """Return the speedup of a mix in which nothing but service takes time."""
    loads = kernel_loads(QUIET, fractions, 0.0, 0.0, 0.0, fractions / accelerations, 0.0)
    total = [float(np.sum(values)) for values in (loads.call_time_load, loads.host_load_before)]
    return float(mix(QUIET, total[0], 0.0, total[1]).mix_speedup)


def test_a_mix_follows_amdahls_law() -> None:
    rng = np.random.default_rng(0)
    for _ in range(20):
        fractions = rng.dirichlet(np.ones(5))
        accelerations = rng.uniform(1, 50, 5)
        law = 1 / sum(f / a for f, a in zip(fractions, accelerations, strict=True))
        assert _speedup(fractions, accelerations) == pytest.approx(law, rel=1e-12)


@pytest.mark.parametrize(
    ("organization", "parallel", "expected"),
    [("symmetric", 0.975, 51.2), ("asymmetric", 0.975, 125.0), ("dynamic", 0.99, 222.6)],
)
def test_hill_and_martys_multicores(organization: str, parallel: float, expected: float) -> None:
    """M. D. Hill and M. R. Marty, Amdahl's Law in the Multicore Era, IEEE Computer 41(7), 2008."""
    resources = 256
    sizes = [256.0] if organization == "dynamic" else np.linspace(1, 256, 2551)
    best = 0.0
    for size in sizes:
        serial = size**0.5
        together = {
            "symmetric": serial * resources / size,
            "asymmetric": serial + resources - size,
            "dynamic": resources,
        }[organization]
        fractions = np.array([1 - parallel, parallel])
        best = max(best, _speedup(fractions, np.array([serial, together])))
    assert best == pytest.approx(expected, abs=0.06)


@pytest.mark.parametrize(
    ("fraction", "bandwidth", "intensity", "expected"),
    [
        (0.0, 10, 0.1, 40),
        (0.75, 10, 0.1, 1.3278008298755186),
        (0.75, 30, 0.1, 2),
        (0.75, 20, 8, 160),
    ],
)
def test_gables_examples(
    fraction: float, bandwidth: float, intensity: float, expected: float
) -> None:
    """M. D. Hill and V. J. Reddi, Gables, HPCA 2019, Figure 6: P_peak 40, A1 5, B0 6, B1 15, I0 8.

    With one call per operation, the memory is the link, and its growth limits the performance.
    Each block of the chip is an engine, as slow as its computation or its own port.
    """
    work = np.array([1 - fraction, fraction])
    bytes_per_operation = np.array([1 / 8, 1 / intensity])
    service = np.maximum(1 / (40 * np.array([1, 5])), bytes_per_operation / np.array([6, 15]))
    on_link = bytes_per_operation / bandwidth
    blocks = engine_queue(work, service, on_link).engine_utilization
    link = link_queue((work * on_link).sum(), (work * on_link**2).sum()).link_utilization
    grown = rate_growth(blocks.max(), link)
    assert float(grown.rate_growth) == pytest.approx(expected, rel=1e-12)


def test_areas_for_the_least_time_are_multi_amdahls() -> None:
    """T. Zidenberg, I. Keslassy and U. Weiser, MultiAmdahl, arXiv 1105.2960.

    If an engine of area a accelerates c · a^θ times, the least time Σ t / (c a^θ) within an area
    has areas in proportion to (t/c)^(1/(1+θ)).
    """
    rng = np.random.default_rng(5)
    steps = 60
    for _ in range(10):
        times, factors = rng.uniform(0.5, 5, 3), rng.uniform(0.5, 2, 3)
        power, budget = rng.uniform(0.3, 1.0), 100.0
        areas = np.arange(1, steps + 1) * budget / steps
        options = np.array(
            [
                kernel_loads(QUIET, t, 0, 0, 0, t / (c * areas**power), 0).call_time_load
                for t, c in zip(times, factors, strict=True)
            ]
        )
        found = min(
            options[0, i] + options[1, j] + options[2, steps - i - j - 3]
            for i, j in itertools.product(range(steps - 2), repeat=2)
            if i + j <= steps - 3
        )
        exact = (times / factors) ** (1 / (1 + power))
        exact *= budget / exact.sum()
        least = QUIET * (times / (factors * exact**power)).sum()
        assert least <= found * (1 + 1e-12)
        assert found <= least * 1.005  # areas are multiples of a sixtieth
