"""Calls of several elements: against brute force, a Markov chain, and more digits."""

from fractions import Fraction
from typing import Any

import mpmath
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from objectives.sharing import call_latency, call_service, exact_latency


def rounds(streams: int, depth: int, switch: int, period: int) -> tuple[int, int]:
    groups = -(-streams // depth)
    length = groups * (period * depth + (switch if groups > 1 else 0))
    return length, length - period * depth


# ------------------------------------------------------------------------------ a call by itself


def alone_by_phases(
    streams: int, depth: int, switch: int, period: int, elements: int
) -> tuple[Fraction, int]:
    """Mean and longest time over the phases of a round, clock by clock, slot by slot."""
    length, _ = rounds(streams, depth, switch, period)
    first = [slot * depth for slot in range(period)]
    slots = [t + r * length for r in range(elements // period + 3) for t in first]
    times = []
    for clock in range(length):  # arrivals after this clock and up to the next
        at = next(k for k, slot in enumerate(slots) if slot > clock)
        times.append(slots[at + elements - 1] + depth - clock)
    return Fraction(sum(times), length) - Fraction(1, 2), max(times)


@settings(max_examples=100, deadline=None)
@given(
    depth=st.integers(1, 8),
    more=st.integers(0, 20),
    switch=st.integers(0, 20),
    period=st.integers(1, 12),
    elements=st.integers(1, 40),
)
def test_a_call_alone_takes_what_its_phases_take(
    depth: int, more: int, switch: int, period: int, elements: int
) -> None:
    setting = (depth + more, depth, switch, period)
    mean, longest = alone_by_phases(*setting, elements)
    service = call_service(*setting, 2.0, elements)
    assert service.engine_time_alone == pytest.approx(2 * float(mean), rel=1e-13)
    assert service.engine_time_worst == 2 * longest
    length, _ = rounds(*setting)
    assert service.engine_interval == pytest.approx(2 * elements * length / period, rel=1e-15)


def test_a_lone_call_is_the_limit_of_light_loads() -> None:
    rng = np.random.default_rng(5)
    count = 2000
    depth = rng.integers(1, 17, count)
    setting = (
        depth + rng.integers(0, 48, count),
        depth,
        rng.integers(0, 65, count),
        rng.integers(1, 65, count),
    )
    elements = rng.integers(1, 200, count)
    alone = call_service(*setting, 1e-8, elements).engine_time_alone
    none = call_latency(*setting, 0.0, elements, 1e-8)
    assert np.allclose(none.engine_time, alone, rtol=1e-13)
    assert np.all(np.abs(none.engine_time - alone) <= none.engine_time_error + 1e-14 * alone)
    rare = call_latency(*setting, 1e-9, elements, 1e-8)  # about 1e-13 of the time in use
    assert np.allclose(rare.engine_time, alone, rtol=1e-10)
    assert np.all(rare.engine_time >= none.engine_time - none.engine_time_error)


# ------------------------------------------------------------------------- under load, exactly


def test_calls_of_one_element_are_elements() -> None:
    rng = np.random.default_rng(6)
    count = 2000
    depth = rng.integers(1, 17, count)
    period = np.exp(rng.uniform(0, np.log(300), count)).round()
    setting = (depth + rng.integers(0, 48, count), depth, rng.integers(0, 65, count), period)
    full = 1 / call_service(*setting, 1.0, 1).engine_interval
    rate = full * (1 - 10 ** rng.uniform(-6, 0, count))
    calls, elements = call_latency(*setting, rate, 1, 1.0), exact_latency(*setting, rate, 1.0)
    assert np.allclose(calls.engine_time, elements.latency, rtol=1e-12)
    assert np.array_equal(calls.element_latency, elements.latency)
    apart = np.abs(calls.engine_time - elements.latency)
    assert np.all(apart <= calls.engine_time_error + elements.latency_error)


def chain_times(
    streams: int, depth: int, switch: int, period: int, elements: int, load: float
) -> tuple[float, float]:
    """Mean times of a call and of an element from the stationary queue of a truncated chain."""
    length, away = rounds(streams, depth, switch, period)
    rate = load * period / length / elements
    size = 400
    states = np.arange(size)
    gaps = [depth] * (period - 1) + [depth + away]
    steps = []
    for gap in gaps:
        arrivals = np.zeros(size)
        calls = np.arange(0, size, elements)
        arrivals[calls] = stats.poisson.pmf(calls // elements, rate * gap)
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
    assert abs(queue[-20:].sum()) < 1e-12  # the truncation cuts nothing off
    waiting: Any = 0.0
    calls_waiting: Any = 0.0  # summed over the clocks of a round
    for gap, step in zip(gaps, steps, strict=True):
        after = np.maximum(states - 1, 0)
        waiting += gap * (queue @ after + elements * rate * gap / 2)
        calls_waiting += gap * (queue @ np.ceil(after / elements) + rate * gap / 2)
        queue = queue @ step
    return calls_waiting / length / rate + depth, waiting / length / rate / elements + depth


@pytest.mark.parametrize(
    ("streams", "depth", "switch", "period", "elements", "load"),
    [
        (8, 4, 4, 4, 1, 0.9),  # calls of one element: elements
        (8, 4, 4, 1, 3, 0.6),
        (8, 4, 4, 6, 4, 0.6),  # common factors of the two: roots on the unit circle
        (8, 4, 4, 6, 6, 0.5),
        (9, 4, 0, 5, 7, 0.5),
        (64, 16, 64, 3, 2, 0.7),
        (12, 1, 9, 16, 5, 0.6),
        (20, 5, 31, 12, 9, 0.3),
        (4, 4, 9, 5, 3, 0.7),
    ],
)
def test_equals_the_stationary_chain(
    streams: int, depth: int, switch: int, period: int, elements: int, load: float
) -> None:
    setting = (streams, depth, switch, period)
    rate = load / call_service(*setting, 1.0, elements).engine_interval
    exact = call_latency(*setting, rate, elements, 1.0)
    call, element = chain_times(*setting, elements, load)
    assert exact.engine_time == pytest.approx(call, rel=1e-9)
    assert exact.element_latency == pytest.approx(element, rel=1e-9)
    assert exact.engine_utilization == pytest.approx(load)


def generating_function_times(
    streams: int, depth: int, switch: int, period: int, elements: int, call_rate: float
) -> tuple[Any, Any]:
    """Mean times of a call and of an element by chances of empty queues, in 60 digits.

    The mean queue from slot to slot gives the elements that wait. The calls that wait are the
    quotient by m rounded up; the remainder comes from the generating functions at the m-th roots
    of unity, so nothing is shared with the formula under test, which sums over R-th ones.
    """
    length, _ = rounds(streams, depth, switch, period)
    lam = mpmath.mpf(call_rate)
    offered = lam * elements * length
    ratio = offered / period
    y = []
    for k in range(1, period):
        turn = mpmath.expjpi(mpmath.mpf(2 * ((k * elements) % period)) / period)
        v = -mpmath.lambertw(-ratio * mpmath.exp(-ratio) * turn) / ratio
        if (k * elements) % period == 0:
            v = mpmath.mpf(1)
        z = mpmath.expjpi(mpmath.mpf(2 * k) / period) * mpmath.exp(ratio / elements * (v - 1))
        y.append(z * mpmath.exp(-lam * depth * (v - 1)))
    empty = [mpmath.mpc(period - offered)]  # coefficients, lowest first
    for root in y:
        shifted = [mpmath.mpc(0), *empty]
        for s, value in enumerate(empty):
            shifted[s] -= root * value
        empty = [value / (1 - root) for value in shifted]
    gaps = [depth] * (period - 1) + [length - (period - 1) * depth]
    free = period - offered
    slack = 1 - lam * elements * depth
    queue = slack * mpmath.fsum(1 / (1 - root) for root in y)
    queue -= (free**2 - period - offered * (elements - 1)) / (2 * free)
    waiting = mpmath.mpf(0)
    for gap, chance in zip(gaps, empty, strict=True):
        after = queue - (1 - chance)
        waiting += gap * (after + lam * elements * mpmath.mpf(gap) / 2)
        queue = after + lam * elements * gap
    filled = mpmath.mpf(length * (elements - 1)) / 2  # gaps times the mean of −Q mod m
    for i in range(1, elements):
        root = mpmath.expjpi(mpmath.mpf(2 * i) / elements)
        if (i * period) % elements:
            value = (root - 1) / (root**period - 1)
            value *= mpmath.fsum(chance * root**s for s, chance in enumerate(empty))
        else:
            value = (root - 1) * slack / free
            value *= mpmath.fsum(s * chance * root**s for s, chance in enumerate(empty))
        for gap, chance in zip(gaps, empty, strict=True):
            value = value / root + chance * (1 - 1 / root)
            filled += gap * value / (root - 1)
    calls = (waiting + filled) / elements
    per_call = length * lam
    return (calls / per_call).real + depth, (waiting / elements / per_call).real + depth


@pytest.mark.parametrize("load", [1e-9, 0.3, 0.999, 1 - 1e-6])
@pytest.mark.parametrize(
    ("streams", "depth", "switch", "period", "elements"),
    [
        (8, 4, 4, 7, 1),
        (16, 1, 1000, 33, 1),
        (8, 4, 4, 2, 3),
        (8, 4, 4, 6, 9),
        (64, 16, 64, 24, 16),
        (16, 2, 30, 5, 64),
    ],
)
def test_equals_another_formula_within_its_own_error_estimate(
    streams: int, depth: int, switch: int, period: int, elements: int, load: float
) -> None:
    setting = (streams, depth, switch, period)
    rate = float(load / call_service(*setting, 1.0, elements).engine_interval)
    exact = call_latency(*setting, rate, elements, 1.0)
    with mpmath.workdps(60):
        call, element = generating_function_times(*setting, elements, rate)
        error = abs(float(mpmath.mpf(float(exact.engine_time)) - call))
        assert float(element) == pytest.approx(float(exact.element_latency), rel=1e-13 / (1 - load))
    assert error <= exact.engine_time_error
    assert exact.engine_time_error <= 1e-12 / (1 - load) * exact.engine_time


def test_result_does_not_depend_on_the_company() -> None:
    """Equal to the last bit alone, in another order, and in slabs of any size."""
    rng = np.random.default_rng(2)
    count = 1000
    depth = rng.integers(1, 17, count)
    columns = np.stack(
        [
            depth + rng.integers(0, 48, count),
            depth,
            rng.integers(0, 65, count),
            rng.integers(1, 80, count),
            10.0 ** rng.uniform(-7, -3, count),
            rng.integers(1, 100, count),
        ]
    )
    whole = np.array([*vars(call_latency(*columns, 1.0)).values()])
    order = rng.permutation(count)
    shuffled = np.array([*vars(call_latency(*columns[:, order], 1.0)).values()])
    assert np.array_equal(shuffled, whole[:, order])
    for size in (1, 7, 333):
        slab = slice(500, 500 + size)
        part = np.array([*vars(call_latency(*columns[:, slab], 1.0)).values()])
        assert np.array_equal(part, whole[:, slab])


def test_long_periods_of_large_calls_stay_finite() -> None:
    """The partial products over thousands of zeros neither overflow nor lose their digits."""
    setting = (32, 8, 100, 4096)
    for elements in (2, 3, 4097, 1_000_000):
        rate = 0.95 / call_service(*setting, 1.0, elements).engine_interval
        exact = call_latency(*setting, rate, elements, 1.0)
        assert exact.engine_time_error < 1e-8 * exact.engine_time
        assert exact.element_latency < exact.engine_time


def test_ends_of_the_domain() -> None:
    service = call_service(8, 4, 4, 4, 1.0, 5)
    rate = 1 / service.engine_interval * np.array([0.5, 1.0, 2.0])
    exact = call_latency(8, 4, 4, 4, rate, 5, 1.0)
    assert exact.engine_utilization.tolist() == pytest.approx([0.5, 1.0, 2.0])
    for name in ("engine_time", "engine_wait_time", "engine_time_error", "element_latency"):
        assert np.isinf(getattr(exact, name)).tolist() == [False, True, True], name
    assert exact.engine_pipeline_time.tolist() == [4, 4, 4]
    few = call_latency(3, 4, 4, 4, 1e-3, 5, 1.0)
    assert all(np.isnan(value) for value in vars(few).values())
    assert np.isnan(call_latency(8, 4, 4, 4, 1e-3, 1.5, 1.0).engine_time)
