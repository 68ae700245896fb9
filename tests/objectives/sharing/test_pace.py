"""The pace of a stream with calls in flight, and calls one at a time."""

from __future__ import annotations

import itertools
from fractions import Fraction

import numpy as np
import pytest
from numpy.typing import NDArray

from objectives.sharing import stream_interval
from objectives.sharing.pace import CallWay, find_pace
from objectives.sharing.schedule import Pipeline


def interval_by_slots(
    streams: int,
    depth: int,
    switch: int,
    period: int,
    elements: int,
    turnaround: Fraction,
) -> Fraction:
    """Mean clocks from call to call, in exact numbers, once a place of the round comes again."""
    groups = -(-streams // depth)
    length = groups * (period * depth + (switch if groups > 1 else 0))

    def clock(slot: int) -> int:
        return slot // period * length + slot % period * depth

    last, seen = 0, {0: (0, 0)}
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


def test_with_one_call_in_flight_it_is_the_exact_pace() -> None:
    rng = np.random.default_rng(0)
    count = 200
    design = {
        "streams": rng.integers(16, 64, count),
        "pipeline_depth": rng.integers(1, 16, count),
        "context_switch": np.full(count, 4),
        "schedule_period": rng.integers(1, 32, count),
        "lane_elements": rng.integers(1, 64, count),
    }
    quarters = rng.integers(0, 12_000, count)  # of a clock, from the end of a call to the next
    way = {"set_up_time": quarters / 8, "travel_time": quarters / 8}
    found = stream_interval(**design, clock_period=1.0, calls_in_flight=1, **way).stream_interval
    rows = np.stack([*design.values(), quarters], axis=1).tolist()
    exact = [float(interval_by_slots(n, c, s, r, m, Fraction(q, 4))) for n, c, s, r, m, q in rows]
    np.testing.assert_allclose(found, exact, rtol=2e-3)


@pytest.mark.parametrize("window", [1, 2, 3, 48, 100, 1000])
def test_a_window_of_calls_takes_the_time_of_one(window: int) -> None:
    # no set-up, a slot every 4 clocks and no pause: the calls come back one behind the other, so
    # that q of them end in each round of travel, wait for the slot (less than 4 clocks), pipeline
    travel = 50_000.5
    design = {"streams": 4, "pipeline_depth": 4, "context_switch": 0, "schedule_period": 16}
    way = {"set_up_time": 0.0, "travel_time": travel}
    found = stream_interval(
        **design, clock_period=1.0, lane_elements=1, calls_in_flight=window, **way
    )
    assert travel + 4 <= found.stream_interval * window < travel + 4 + 4


def test_designs_of_many_windows_are_followed_together_as_alone() -> None:
    rng = np.random.default_rng(1)
    window = rng.integers(1, 100, 50)
    travel = rng.uniform(1e3, 1e5, 50)
    design = {
        "streams": 16,
        "pipeline_depth": 4,
        "context_switch": 4,
        "schedule_period": 3,
        "clock_period": 1.0,
        "lane_elements": 2,
        "set_up_time": 10.0,
        "link_wait_time": 30.0,
        "link_utilization": 0.5,
    }
    twice = np.tile(np.arange(50), 2)  # equal designs are followed once
    found = stream_interval(
        **design, calls_in_flight=window[twice], travel_time=travel[twice]
    ).stream_interval
    alone = [
        float(stream_interval(**design, calls_in_flight=q, travel_time=t).stream_interval)
        for q, t in zip(window, travel, strict=True)
    ]
    assert found.tolist() == [*alone, *alone]


def test_with_a_limit_the_pace_is_on_its_side() -> None:
    rng = np.random.default_rng(2)

    def whole(low: int, high: int) -> NDArray[np.float64]:
        return rng.integers(low, high, 3000).astype(float)

    pipeline, period, elements = (
        Pipeline(whole(8, 64), whole(1, 9), 4.0),
        whole(1, 32),
        whole(1, 200),
    )
    clock, window, load = whole(1, 20) / 2, whole(1, 40), whole(0, 2) * whole(1, 90) / 100
    way = CallWay(10 ** (whole(0, 400) / 100), 10 ** (whole(0, 400) / 100), 500 * load**2, load)
    pace = find_pace(pipeline, period, clock, elements, window, way)
    for factor in (0.01, 0.3, 0.7, 0.9, 0.99, 1 - 1e-6, 1 + 1e-6, 1.01, 1.1, 1.5, 3, 100):
        limit = pace * factor
        limited = find_pace(pipeline, period, clock, elements, window, way, limit)
        np.testing.assert_array_equal(limited > limit, factor < 1)
