"""The pace of a stream with calls in flight, and calls one at a time."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from dse.testing import check_model
from objectives.sharing import blocking_interval, engine_line, stream_interval
from objectives.sharing.pace import _distinct


@pytest.mark.parametrize("model", [stream_interval, engine_line])
def test_conforms(model: Callable[..., Any]) -> None:
    check_model(model, pairs=20_000)


def test_with_one_call_in_flight_it_is_the_exact_pace() -> None:
    rng = np.random.default_rng(0)
    design = {
        "streams": rng.integers(16, 64, 1000),
        "pipeline_depth": rng.integers(1, 16, 1000),
        "context_switch": 4,
        "schedule_period": rng.integers(1, 32, 1000),
        "clock_period": 1e-8,
        "lane_elements": rng.integers(1, 64, 1000),
    }
    away = rng.uniform(0, 3e-5, 1000)
    exact = blocking_interval(**design, turnaround_time=away).blocking_interval
    halves = {"set_up_time": away / 2, "travel_time": away / 2}
    found = stream_interval(**design, calls_in_flight=1, **halves).stream_interval
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
    found = stream_interval(**design, calls_in_flight=window, travel_time=travel).stream_interval
    alone = [
        float(stream_interval(**design, calls_in_flight=q, travel_time=t).stream_interval)
        for q, t in zip(window, travel, strict=True)
    ]
    assert found.tolist() == alone


def test_equal_designs_are_one_kind_and_equal_hashes_alone_are_not() -> None:
    rng = np.random.default_rng(2)
    table = rng.integers(0, 3, (4, 500)).astype(np.float64)
    first, same = _distinct(table)
    assert len(first) == len(np.unique(table, axis=1).T) == 81
    assert np.array_equal(table[:, first[same]], table)

    def mixed(number: float) -> int:  # what the hash of a first value leaves for the next one
        once = int(np.float64(number).view(np.uint64)) * 0x9E3779B97F4A7C15 % 2**64
        return once ^ once >> 29

    one = int(np.float64(5.0).view(np.uint64))
    other = np.uint64(one ^ mixed(1.0) ^ mixed(2.0)).view(np.float64)
    clash = np.array([[1.0, 2.0, 1.0], [5.0, other, 5.0]])
    first, same = _distinct(clash)
    assert np.array_equal(clash[:, first[same]], clash, equal_nan=True)
    assert same.tolist() == [0, 1, 2]  # each for itself, as the hash cannot tell
