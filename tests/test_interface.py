"""Non-overlapped overhead and latency, and what hiding the rest costs."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dse.model import Model
from dse.testing import check_model
from objectives.machine.interface import attach, call_buffer, call_cost


def test_by_hand() -> None:
    # UltraSPARC T2: o = 29,000, L = 1,500; a pipeline of 100 cycles; three quarters hidden
    got = attach(29_000.0, 1_500.0, 4096.0, response_time=100.0, overlap=0.75)
    assert tuple(map(float, (got.overhead, got.latency, got.buffer_bits))) == (
        7_250,
        400,
        2 * 0.75 * 4096 * 8,
    )


def test_without_overlap_it_is_the_interface_itself() -> None:
    got = attach(29_000.0, 1_500.0, 4096.0)
    assert tuple(map(float, (got.overhead, got.latency, got.buffer_bits))) == (29_000, 1_500, 0)


@given(overlap=st.floats(0, 0.99), more=st.floats(0, 0.009))
def test_more_overlap_costs_less_time_and_more_memory(overlap: float, more: float) -> None:
    few, many = (attach(1e4, 500.0, 1024.0, 50.0, share) for share in (overlap, overlap + more))
    assert many.overhead <= few.overhead
    assert many.latency <= few.latency
    assert many.buffer_bits >= few.buffer_bits


def test_everything_hidden_is_outside_the_domain() -> None:
    got = attach(1e4, 500.0, 1024.0, 0.0, np.array([0.5, 1.0, -0.1]))
    assert np.isnan(got.overhead).tolist() == [False, True, True]


def test_cost_needs_no_buffer() -> None:
    cost = next(part for part in Model.from_function(attach).leaves if "overhead" in part.outputs)
    assert "buffered_granularity" not in cost.inputs


@pytest.mark.parametrize("model", [attach, call_cost, call_buffer])
def test_conforms(model: Callable[..., Any]) -> None:
    check_model(model)
