"""The pace of a stream with calls in flight, and calls one at a time."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from dse.testing import check_model
from objectives.sharing import blocking_interval, engine_line, stream_interval


@pytest.mark.parametrize("model", [stream_interval, engine_line])
def test_conforms(model: Callable[..., Any]) -> None:
    check_model(model, pairs=0 if model is stream_interval else 100_000)  # see test_floors


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
