"""The exact mean latency against other formulas, more digits, and a plain Markov chain."""

from typing import Any

import mpmath
import numpy as np
import pytest
from scipy.stats import poisson

from objectives.sharing.exact import exact_latency, mean_wait
from objectives.sharing.schedule import schedule


def rounds(streams: int, depth: int, switch: int, period: int) -> tuple[int, int]:
    groups = -(-streams // depth)
    length = groups * (period * depth + (switch if groups > 1 else 0))
    return length, length - period * depth


def chain_latency(streams: int, depth: int, switch: int, period: int, rate: float) -> float:
    """Mean latency from the stationary queue of a truncated chain, slot by slot."""
    length, away = rounds(streams, depth, switch, period)
    size = 400
    gaps = [depth] * (period - 1) + [depth + away]
    steps = []
    for gap in gaps:
        arrivals = poisson.pmf(np.arange(size), rate * gap)
        step = np.zeros((size, size))
        for before in range(size):
            left = max(before - 1, 0)
            step[before, left:] = arrivals[: size - left]
            step[before, -1] += 1 - step[before].sum()
        steps.append(step)
    whole = np.linalg.multi_dot(steps) if len(steps) > 1 else steps[0]
    system = whole.T - np.eye(size)
    system[-1] = 1.0  # one balance equation follows from the others; the sum takes its place
    queue = np.linalg.solve(system, np.eye(size)[-1])
    assert queue[-20:].sum() < 1e-12  # the truncation cuts nothing off
    waiting: Any = 0.0  # summed over the clocks of a round
    states = np.arange(size)
    for gap, step in zip(gaps, steps, strict=True):
        after = queue @ np.maximum(states - 1, 0)
        waiting += gap * (after + rate * gap / 2)
        queue = queue @ step
    return float(waiting / length / rate + depth)


@pytest.mark.parametrize(
    ("streams", "depth", "switch", "period", "load"),
    [
        (8, 4, 4, 1, 0.6),
        (8, 4, 4, 2, 0.72),
        (8, 4, 4, 4, 0.9),
        (9, 4, 0, 5, 0.8),
        (64, 16, 64, 3, 0.5),
        (12, 1, 9, 16, 0.85),
        (20, 5, 31, 24, 0.3),
    ],
)
def test_equals_the_stationary_chain(
    streams: int, depth: int, switch: int, period: int, load: float
) -> None:
    rate = load * period / rounds(streams, depth, switch, period)[0]
    exact = exact_latency(streams, depth, switch, period, rate, 1.0)
    assert exact.latency == pytest.approx(
        chain_latency(streams, depth, switch, period, rate), rel=1e-9
    )


def generating_function_latency(
    streams: int, depth: int, switch: int, period: int, rate: float
) -> Any:
    """Mean latency by the probabilities of an empty queue at each slot, in 60 digits.

    The zeros by Lambert's W, the probabilities as coefficients of a polynomial, the mean queue from
    slot to slot, and Little's law: nothing is simplified.
    """
    length, _ = rounds(streams, depth, switch, period)
    lam = mpmath.mpf(rate)
    offered = lam * length
    y = []
    for k in range(1, period):
        turn = mpmath.expjpi(mpmath.mpf(2 * k) / period)
        ratio = offered / period
        z = -mpmath.lambertw(-ratio * mpmath.exp(-ratio) * turn) / ratio
        y.append(z * mpmath.exp(-lam * depth * (z - 1)))
    empty = [mpmath.mpc(period - offered)]  # coefficients, lowest first
    for root in y:
        shifted = [mpmath.mpc(0), *empty]
        for s, value in enumerate(empty):
            shifted[s] -= root * value
        empty = [value / (1 - root) for value in shifted]
    queue = (
        offered
        + (1 - lam * depth) * mpmath.fsum(1 / (1 - root) for root in y)
        - (period * (period - 1) - offered**2) / (2 * (period - offered))
    )
    waiting = mpmath.mpf(0)
    for s in range(period):
        gap = depth if s < period - 1 else length - (period - 1) * depth
        after = queue - (1 - empty[s])
        waiting += gap * (after + lam * gap / 2)
        queue = after + lam * gap
        assert -1e-20 < empty[s].real < 1 + 1e-20
    return (waiting / length / lam).real + depth


@pytest.mark.parametrize("load", [1e-9, 1e-3, 0.3, 0.9, 0.999, 1 - 1e-9])
@pytest.mark.parametrize(
    ("streams", "depth", "switch", "period"),
    [(8, 4, 4, 2), (8, 4, 4, 7), (64, 16, 64, 24), (16, 1, 1000, 33)],
)
def test_equals_another_formula_within_its_own_error_estimate(
    streams: int, depth: int, switch: int, period: int, load: float
) -> None:
    rate = load * period / rounds(streams, depth, switch, period)[0]
    exact = exact_latency(streams, depth, switch, period, rate, 1.0)
    with mpmath.workdps(60):
        truth = generating_function_latency(streams, depth, switch, period, rate)
        error = abs(float(mpmath.mpf(float(exact.latency)) - truth))
    assert error <= exact.latency_error
    assert exact.latency_error <= 1e-13 / (1 - load) * exact.latency


@pytest.mark.parametrize("load", [0.05, 0.95, 0.999])
def test_longest_periods_in_many_digits(load: float) -> None:
    """R_S = 4096: Little's law before it is simplified, in 40 digits."""
    streams, depth, switch, period = 32, 8, 100, 4096
    length, away = rounds(streams, depth, switch, period)
    rate = load * period / length
    with mpmath.workdps(40):
        lam, offered = mpmath.mpf(rate), mpmath.mpf(rate) * length
        ratio = offered / period
        total = mpmath.mpf(0)
        for k in range(1, period // 2 + 1):
            turn = mpmath.expjpi(mpmath.mpf(2 * k) / period)
            z = mpmath.mpc(double_zero(float(ratio), 2 * np.pi * k / period))
            for _ in range(2):  # Newton doubles the digits
                value = z * mpmath.exp(-ratio * (z - 1)) - turn
                z -= value / ((1 - ratio * z) * mpmath.exp(-ratio * (z - 1)))
            y = z * mpmath.exp(-lam * depth * (z - 1))
            total += (1 if 2 * k == period else 2) * (1 / (1 - y)).real
        queue = (
            offered
            + (1 - lam * depth) * total
            - (period * (period - 1) - offered**2) / (2 * (period - offered))
        )
        waiting = (
            queue * length
            + depth * (period - 1) * (period - offered - 1)
            + depth * (lam * depth - 1) * mpmath.mpf((period - 1) * (period - 2)) / 2
            - depth * (period - offered) * total
            - lam * (depth + away) ** 2 / 2
            + lam * (period - 1) * depth**2 / 2
        )
        truth = waiting / length / lam + depth
        exact = exact_latency(streams, depth, switch, period, rate, 1.0)
        error = abs(float(mpmath.mpf(float(exact.latency)) - truth))
    assert error <= exact.latency_error <= 1e-11 * exact.latency


def double_zero(load: float, angle: float) -> complex:
    """Find the zero in the disc to double precision, by the contraction z ← exp(iθ + ρ(z − 1))."""
    z = np.exp(1j * angle)
    for _ in range(20_000):
        z, last = np.exp(1j * angle + load * (z - 1)), z
        if abs(z - last) < 1e-13:
            break
    return complex(z)


def test_result_does_not_depend_on_the_company() -> None:
    """Equal to the last bit alone, in another order, and in slabs of any size."""
    rng = np.random.default_rng(2)
    period = rng.integers(1, 300, 2000)
    load = rng.uniform(0, 1, 2000)
    length, away = schedule(40.0, 8.0, 16.0, period.astype(float))
    whole = np.array(mean_wait(length, away, period.astype(float), load))
    order = rng.permutation(2000)
    shuffled = np.array(
        mean_wait(length[order], away[order], period[order].astype(float), load[order])
    )
    assert np.array_equal(shuffled, whole[:, order])
    for size in (1, 7, 333):
        slab = slice(1000, 1000 + size)
        part = mean_wait(length[slab], away[slab], period[slab].astype(float), load[slab])
        assert np.array_equal(np.array(part), whole[:, slab])


def test_error_estimate_stays_small_over_the_domain() -> None:
    rng = np.random.default_rng(3)
    period = np.exp(rng.uniform(0, np.log(4096), 2000)).round()
    load = 1 - 10 ** rng.uniform(-3, 0, 2000)
    length, away = schedule(64.0, 8.0, 16.0, period)
    wait, error = mean_wait(length, away, period, load)
    assert np.all(wait > 0)
    assert np.all(error < 1e-11 * wait)
