"""Calls over a link to an engine: by hand, against LogCA, and what more of anything does."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from objectives.logca import speedup, times
from objectives.machine import (
    call_buffers,
    interface_terms,
    link,
    offload_terms,
    requests,
    turnaround,
)
from objectives.queues import constant_service_wait


def test_by_hand() -> None:
    # 2 B/cycle over a link of 0.25 cycle/B: 4 streams of 0.5 B/cycle load it by a half
    rate = requests(0.5, 1000.0).call_rate
    assert rate == 0.0005
    crowded = link(1000.0, rate, 0.25, shared_link=0, streams=4, total_streams=64)
    assert [float(crowded.link_time), float(crowded.link_utilization)] == [250.0, 0.5]
    assert crowded.link_wait_time == pytest.approx(125.0)
    assert crowded.link_interval == pytest.approx(250 / (1 - 0.375))
    around = turnaround(1000.0, 100.0, 0.1, 250.0, 125.0, 600.0)
    assert [float(around.set_up_time), float(around.turnaround_time)] == [200.0, 1175.0]
    assert call_buffers(1024.0, 2, 8).buffer_bits == 8 * 1024 * 2 * 8


def test_one_call_alone_takes_the_sum_of_the_parts_that_the_catalog_gives() -> None:
    """AES of 4 KiB on a host with 90 cycle/B, through a port whose words the core moves itself."""
    size, host = 4096.0, 90 * 4096.0**1.01
    terms = interface_terms(20.0, 0.75, interface_latency=4.0, interface_latency_per_byte=0.0)
    found = speedup(
        granularity=size,
        **vars(terms),
        computational_index=90.0,
        complexity=1.01,
        acceleration=200.0,
    )
    assert found.speedup == pytest.approx(host / (20 + 4 + 0.75 * size + host / 200), rel=1e-12)


def test_who_meets_on_a_link() -> None:
    shared = link(1000.0, 1e-5, 0.5, [0, 1], streams=8, total_streams=32)
    assert shared.link_utilization.tolist() == pytest.approx([0.04, 0.16])
    few = link(1000.0, 1e-5, 0.5, 0, streams=64, total_streams=32)
    assert few.link_utilization == pytest.approx(0.16)  # an engine for 64 streams has but 32


def test_a_link_that_cannot_carry_the_load() -> None:
    full = link(1000.0, 1e-4, [0.0, 0.5, 1.0, 2.0], 0, streams=20, total_streams=20)
    assert full.link_utilization.tolist() == pytest.approx([0, 1, 2, 4])
    assert full.link_wait_time.tolist() == [0, np.inf, np.inf, np.inf]
    assert full.link_interval.tolist() == pytest.approx([0, 500 / 0.05, np.inf, np.inf])


def logca_inputs(granularity: Any, terms: Any, index: float, power: float) -> dict[str, Any]:
    return {
        "granularity": granularity,
        **vars(terms),
        "latency_per_byte": 0.0,
        "computational_index": index,
        "complexity": power,
    }


@given(
    granularity=st.floats(16, 1e6),
    index=st.floats(1, 1000),
    power=st.floats(0.5, 1.5),
    set_up=st.floats(0, 1e5),
    engine=st.floats(1, 1e6),
    more=st.floats(0, 1e6),
)
def test_logca_gives_the_interval_again(
    granularity: float, index: float, power: float, set_up: float, engine: float, more: float
) -> None:
    interval = max(set_up, engine) + more
    terms = offload_terms(
        granularity,
        index,
        power,
        set_up_time=set_up,
        engine_interval=engine,
        call_interval=interval,
    )
    given_ = logca_inputs(granularity, terms, index, power)
    found = times(**given_)
    assert found.accelerated_time == pytest.approx(interval, rel=1e-12)
    assert speedup(**given_).speedup == pytest.approx(found.host_time / interval, rel=1e-12)
    assert terms.overhead <= set_up


def test_mean_waits_of_constant_service() -> None:
    # M/D/1 by its formula; M/D/q by q queues that a sequence of calls takes in turn
    assert constant_service_wait(np.array([0.0, 0.5, 1.0, 2.0])).tolist() == [
        0,
        0.5,
        np.inf,
        np.inf,
    ]
    rng = np.random.default_rng(1)
    for servers, load in ((2, 0.5), (3, 0.9), (4, 0.8), (8, 0.7)):
        arrivals = np.cumsum(rng.exponential(1 / (servers * load), 240_000)).reshape(-1, servers)
        step = np.arange(len(arrivals))[:, None]
        ends = np.maximum.accumulate(arrivals - step, axis=0) + step + 1
        waits = (ends - arrivals - 1)[1000:].mean(axis=1)
        means = waits[: len(waits) // 32 * 32].reshape(32, -1).mean(axis=1)
        error = means.std(ddof=1) / 32**0.5
        assert abs(constant_service_wait(load, servers) - means.mean()) < 4 * error
