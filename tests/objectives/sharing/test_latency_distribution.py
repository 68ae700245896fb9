"""The exact distribution of the latency: its mean, its quantiles, its limits."""

from itertools import pairwise

import numpy as np
import pytest
from scipy import stats

from dse.model import Quantity, list_declarations
from dse.testing import check_model
from objectives.sharing import exact_latency, latency_quantile, simulate, tail_latency
from objectives.sharing.latency_distribution import LONGEST_TAIL_PERIOD, WaitDistribution

SETTINGS = [  # streams, depth, switch, period, utilization
    (8, 4, 4, 1, 0.6),
    (8, 4, 4, 4, 0.8),
    (9, 4, 13, 7, 0.3),
    (64, 16, 64, 24, 0.5),
    (4, 4, 0, 1, 0.7),
    (40, 8, 16, 128, 0.9),
]


def round_length(streams: int, depth: int, switch: int, period: int) -> int:
    groups = -(-streams // depth)
    return groups * (period * depth + (switch if groups > 1 else 0))


def test_the_longest_period_of_its_domain_is_computed() -> None:
    longest = list_declarations(tail_latency)["schedule_period"]
    assert isinstance(longest, Quantity) and longest.high == LONGEST_TAIL_PERIOD
    design = {"streams": 8, "pipeline_depth": 4, "context_switch": 4, "arrival_rate": 5e5}
    fixed = {**design, "clock_period": 1e-8, "schedule_period": longest.high}
    check_model(tail_latency, fixed=fixed, samples=4)
    beyond = tail_latency(**{**fixed, "schedule_period": longest.high + 1})
    assert np.isnan(beyond.latency_p99)


@pytest.mark.parametrize(("streams", "depth", "switch", "period", "load"), SETTINGS)
def test_integral_of_the_distribution_is_the_exact_mean(
    streams: int, depth: int, switch: int, period: int, load: float
) -> None:
    """The mean wait is that of the share that waits longer; the two come by different sums."""
    length = round_length(streams, depth, switch, period)
    rounds = 16 + int(60 / period)
    waits = WaitDistribution(length, depth, period, load, rounds)
    # smooth between the slots' multiples of C and the ends of rounds: Gauss–Legendre on each piece
    ends = {0.0}
    for r in range(rounds - 1):
        ends |= {r * length + s * depth for s in range(period + 1)}
        ends |= {(r + 1) * length - s * depth for s in range(period + 1)}
    edges = np.array(sorted(ends))
    nodes, weights = np.polynomial.legendre.leggauss(6)
    total = 0.0
    for low, high in pairwise(edges):
        points = low + (nodes + 1) / 2 * (high - low)
        piece = (
            (high - low)
            / 2
            * sum(w * waits.longer(x) for w, x in zip(weights, points, strict=True))
        )
        total += piece
        if piece < 1e-13 * total:
            break
    rate = load * period / length
    exact = exact_latency(streams, depth, switch, period, rate, 1.0).latency
    assert total + depth == pytest.approx(float(exact), rel=1e-8)


@pytest.mark.parametrize("level", [0.5, 0.99])
@pytest.mark.parametrize(("streams", "depth", "switch", "period", "load"), SETTINGS)
def test_simulation_exceeds_the_quantile_as_often_as_it_should(
    streams: int, depth: int, switch: int, period: int, load: float, level: float
) -> None:
    rate = load * period / round_length(streams, depth, switch, period)
    quantile = latency_quantile(streams, depth, switch, period, rate, 1.0, level)
    measured = simulate(streams, depth, switch, period, rate, 1.0, elements=800_000, seed=1)
    beyond = (measured.latencies > quantile).reshape(32, -1).mean(axis=1)
    score = (beyond.mean() - (1 - level)) / (beyond.std(ddof=1) / np.sqrt(32))
    # 12 tests: each at 1 in 2,000 leaves 1 in 160 for any to fail by chance
    assert abs(score) < stats.t.ppf(1 - 0.00025, 31)


def test_idle_engine_leaves_the_time_to_the_next_slot() -> None:
    # R_S = 1: the wait is uniform over the round
    assert tail_latency(8, 4, 4, 1, 0.0, 1.0).latency_p99 == pytest.approx(0.99 * 16 + 4, rel=1e-5)
    # R_S = 2: gaps of 4 and 20 clocks; 24 · 1 % of the clocks lie before the last 20 − 0.24
    assert tail_latency(8, 4, 4, 2, 0.0, 1.0).latency_p99 == pytest.approx(19.76 + 4, rel=1e-5)


def test_far_tail_near_saturation_goes_on_geometrically() -> None:
    """Where the quantile lies many rounds out it is extrapolated; many rounds agree."""
    for streams, depth, switch, period, load in ((8, 4, 4, 1, 0.99), (64, 16, 64, 32, 0.995)):
        length = round_length(streams, depth, switch, period)
        rate = load * period / length
        quantile = latency_quantile(streams, depth, switch, period, rate, 1.0, 0.99)
        rounds = int(quantile / length) + 3
        assert rounds > 2 * max(4, 32 // period)
        waits = WaitDistribution(length, depth, period, load, rounds)
        assert waits.longer(float(quantile) - depth) == pytest.approx(0.01, rel=1e-6)


def test_saturation_and_domain() -> None:
    rates = np.array([1e-3, 0.99 / 16, 1 / 16, 1.0])
    found = tail_latency(8, 4, 4, 1, rates, 1.0).latency_p99
    assert np.all(np.isfinite(found[:2]))
    assert found[0] < found[1]
    assert np.all(found[2:] == np.inf)
    assert np.isnan(tail_latency(3, 4, 4, 1, 0.01, 1.0).latency_p99)
    assert np.isnan(tail_latency(8, 4, 4, 1025, 0.01, 1.0).latency_p99)
    with pytest.raises(ValueError, match="level is 99"):
        latency_quantile(8, 4, 4, 1, 0.01, 1.0, 99)


def test_one_group_ignores_period_and_switch() -> None:
    found = tail_latency(4, 4, np.array([0.0, 9.0]), np.array([1.0, 50.0]), 0.2, 1.0).latency_p99
    assert found[0] == found[1]
