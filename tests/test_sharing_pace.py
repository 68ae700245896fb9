"""The pace of a stream with calls in flight, and calls one at a time."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from dse.testing import check_model
from objectives.sharing import blocking_interval, engine_line, following_calls, stream_interval


@pytest.mark.parametrize("model", [stream_interval, following_calls, engine_line])
def test_conforms(model: Callable[..., Any]) -> None:
    check_model(model)


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


def test_rarely_called_a_call_meets_any_phase() -> None:
    # R = 1 of 40 clocks: a wait evenly spread over the round, and a pipeline of 4
    calls = following_calls(8, 4, 16, 1, 1.0, 1, 10.0, 5.0, call_rate=1e-9)
    assert calls.first_time == pytest.approx(15 + 20 + 4, rel=0.01)
    assert calls.first_deviation == pytest.approx(40 / 12**0.5, rel=0.05)
    assert calls.following_time == pytest.approx(40)
