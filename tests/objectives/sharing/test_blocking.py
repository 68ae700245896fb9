"""A stream with one call at a time: against its definition, slot by slot, and its bounds."""

import itertools
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dse.testing import check_model
from objectives.sharing import blocking_interval, call_service


def test_keeps_the_contract() -> None:
    check_model(blocking_interval)


def interval_by_slots(
    streams: int,
    depth: int,
    switch: int,
    period: int,
    elements: int,
    turnaround: Fraction,
    start: int,
) -> Fraction:
    """Mean clocks from call to call, in exact numbers, once a place of the round comes again."""
    groups = -(-streams // depth)
    length = groups * (period * depth + (switch if groups > 1 else 0))

    def clock(slot: int) -> int:
        return slot // period * length + slot % period * depth

    last, seen = start, {start % period: (0, start)}
    for calls in itertools.count(1):
        arrived = clock(last) + depth + turnaround
        slot = int(arrived) // length * period
        while clock(slot) < arrived:
            slot += 1
        last = slot + elements - 1
        if last % period in seen:
            before, where = seen[last % period]
            return Fraction(clock(last) - clock(where), calls - before)
        seen[last % period] = calls, last
    raise AssertionError


DESIGNS = {
    "depth": st.integers(1, 8),
    "more": st.integers(0, 20),
    "switch": st.integers(0, 20),
    "period": st.integers(1, 30),
    "elements": st.integers(1, 70),
    "quarters": st.integers(0, 4000),
}


@settings(max_examples=200, deadline=None)
@given(**DESIGNS, start=st.integers(0, 29))
def test_equals_its_definition_from_any_start(
    depth: int, more: int, switch: int, period: int, elements: int, quarters: int, start: int
) -> None:
    setting = (depth + more, depth, switch, period)
    expected = interval_by_slots(*setting, elements, Fraction(quarters, 4), start)
    found = blocking_interval(*setting, 1.0, elements, quarters / 4).blocking_interval
    assert found == pytest.approx(float(expected), rel=1e-14)


@settings(max_examples=200, deadline=None)
@given(**DESIGNS)
def test_lies_between_its_bounds(
    depth: int, more: int, switch: int, period: int, elements: int, quarters: int
) -> None:
    setting = (depth + more, depth, switch, period)
    turnaround = quarters / 4
    interval = blocking_interval(*setting, 1.0, elements, turnaround).blocking_interval
    service = call_service(*setting, 1.0, elements)
    slack = 1 + 1e-12
    assert interval * slack >= service.engine_interval
    assert interval * slack >= turnaround + elements * depth
    assert interval <= (turnaround + service.engine_time_worst) * slack


def test_a_slot_is_met_in_spite_of_rounding() -> None:
    """Turnarounds of whole clocks in seconds: 3e-9/1e-9 is above 3, and 3 clocks are in time."""
    clocks = np.arange(0, 200)
    for period_of_clock in (1.0, 1e-9, 1.16e-9, 3e-8 / 7):
        found = blocking_interval(8, 4, 4, 5, period_of_clock, 3, clocks * period_of_clock)
        exact = [float(interval_by_slots(8, 4, 4, 5, 3, Fraction(int(z)), 0)) for z in clocks]
        assert np.allclose(found.blocking_interval / period_of_clock, exact, rtol=1e-12)


def test_whole_rounds_away_add_themselves() -> None:
    once = blocking_interval(8, 4, 4, 5, 1.0, 3, 11.0).blocking_interval
    later = blocking_interval(8, 4, 4, 5, 1.0, 3, 11.0 + 48 * 10.0**6).blocking_interval
    assert later == pytest.approx(once + 48 * 10.0**6, rel=1e-15)


def test_ends_of_the_domain() -> None:
    turnaround = np.array([0.0, 1.0, np.inf, -1.0])
    found = blocking_interval(8, 4, 4, 5, 1.0, 3, turnaround).blocking_interval
    assert np.isfinite(found).tolist() == [True, True, False, False]
    assert found[2] == np.inf and np.isnan(found[3])
    assert np.isnan(blocking_interval(3, 4, 4, 5, 1.0, 3, 1.0).blocking_interval)
    # one group is never swapped, and keeps its slots: 3 of them, and the next after 4 clocks away
    assert blocking_interval(4, 4, 9, 5, 1.0, 3, 4.0).blocking_interval == 16
    assert blocking_interval(4, 4, 9, 5, 1.0, 3, 4.5).blocking_interval == 20


def test_result_does_not_depend_on_the_company() -> None:
    rng = np.random.default_rng(3)
    depth = rng.integers(1, 17, 500)
    columns = np.stack(
        [
            depth + rng.integers(0, 48, 500),
            depth,
            rng.integers(0, 65, 500),
            rng.integers(1, 300, 500),
            np.full(500, 1e-9),
            rng.integers(1, 100, 500),
            rng.uniform(0, 1e-5, 500),
        ]
    )
    whole = blocking_interval(*columns).blocking_interval
    alone = [blocking_interval(*column).blocking_interval for column in columns.T]
    assert np.array_equal(whole, alone)
