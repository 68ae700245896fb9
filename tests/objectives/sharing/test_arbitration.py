"""Arbitration: fixed slots by their own models, the other by queues and by simulation."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from objectives.queues import constant_service_wait
from objectives.sharing import (
    call_latency,
    call_pace,
    call_percentiles,
    call_response,
    call_service,
    call_slots,
    engine_service,
    stream_interval,
)
from objectives.sharing.work_conserving import (
    Load,
    Service,
    find_interval,
    server_wait,
)
from tests.oracles.system import System, simulate

PIPELINE = {"streams": 16, "pipeline_depth": 4, "context_switch": 4}
CALLS = {"clock_period": 1e-8, "lane_elements": 20, "call_rate": 2e4}
WAY = {
    **{"set_up_time": 1e-7, "travel_time": 5e-7, "link_wait_time": 1e-8},
    **{"link_utilization": 0.1, "shared_link": 1},
}


def arbitration(work_conserving: Any, chained: int = 1, lanes: int = 1) -> dict[str, Any]:
    rest = {"chained": chained, "lanes": lanes, "schedule_period": 2}
    return {"work_conserving": work_conserving, **rest}


def test_fixed_slots_are_those_of_the_schedule() -> None:
    """With one lane and chained elements, a stream has the slots of Hall and Chamberlain."""
    slots = {"schedule_period": 2}
    pace = {n: WAY[n] for n in ("set_up_time", "travel_time", "link_wait_time", "link_utilization")}
    service = call_service(**PIPELINE, **slots, clock_period=1e-8, lane_elements=20)
    found = engine_service(**PIPELINE, **arbitration(0), **CALLS)
    assert found.engine_interval == service.engine_interval
    assert found.engine_time_alone == service.engine_time_alone
    assert found.engine_utilization == pytest.approx(2e4 * service.engine_interval)
    expected = stream_interval(
        **PIPELINE, **slots, clock_period=1e-8, lane_elements=20, calls_in_flight=2, **pace
    )
    paced = call_pace(
        **PIPELINE, **arbitration(0), **CALLS, calls_in_flight=2, **WAY, link_interval=5e-8
    )
    assert paced.stream_interval == expected.stream_interval
    time = call_response(
        **PIPELINE,
        **arbitration(0),
        **CALLS,
        calls_in_flight=64,
        **WAY,
        engine_time_alone=found.engine_time_alone,
        stream_interval=0.0,
    )
    engine = call_latency(**PIPELINE, **slots, call_rate=2e4, lane_elements=20, clock_period=1e-8)
    assert time.call_time == pytest.approx(1e-7 + 1e-8 + 5e-7 + engine.engine_time)


@pytest.mark.parametrize("chained", [0, 1])
def test_designs_of_both_kinds_are_evaluated_each_by_its_own(chained: int) -> None:
    both = np.array([0, 1, 1, 0])
    table = {**PIPELINE, "streams": np.array([16, 16, 32, 32])}
    mixed = engine_service(**table, **arbitration(both, chained, lanes=2), **CALLS)
    for i, kind in enumerate(both):
        one = {**PIPELINE, "streams": [16, 16, 32, 32][i]}
        alone = engine_service(**one, **arbitration(kind, chained, lanes=2), **CALLS)
        for name, value in vars(alone).items():
            assert getattr(mixed, name)[i] == value


def test_slots_of_chained_and_independent_elements() -> None:
    """64 blocks of AES, 4 passes each, on 4 lanes of 8 stages; then a call of one block."""
    lane = {"element_bytes": 16, "lanes": 4, "pipeline_depth": 8, "passes": 4}
    all_streams = {"streams": 64, "total_streams": 64}
    sizes = np.array([1024.0, 16.0])
    chained = call_slots(sizes, **lane, chained=1, **all_streams)
    independent = call_slots(sizes, **lane, chained=0, **all_streams)
    assert chained.lane_elements.tolist() == [256, 4]
    assert independent.lane_elements.tolist() == [64, 25]  # the passes of one block, 8 clocks apart
    assert chained.stored_contexts == 64 - 4 * 8
    assert independent.stored_contexts == 4 * 63


@pytest.mark.parametrize("servers", [1, 2, 4, 8, 16])
def test_the_wait_of_many_servers_is_that_of_m_d_c(servers: int) -> None:
    load = np.array([0.3, 0.5, 0.7, 0.9])
    exact = constant_service_wait(load, servers)
    found = server_wait(load, np.full(4, float(servers)))
    assert np.abs(found / exact - 1)[1:].max() < 0.015
    assert np.abs(found - exact).max() < 0.012  # of a service
    assert np.isinf(server_wait(np.array(1.0), np.array(float(servers))))


def test_a_limit_changes_no_comparison_with_it() -> None:
    rng, count = np.random.default_rng(0), 20_000
    hold, drain, set_up, travel, wait, link = 10 ** rng.uniform(-8, -5, (6, count))
    servers, streams, window = (rng.integers(1, 65, count).astype(float) for _ in range(3))
    rate = servers / hold / streams * rng.uniform(0.01, 0.95, count)
    calls = Load(streams, rate, window, set_up, travel, wait, rng.random(count), np.ones(count))
    service = Service(hold, drain, servers)
    exact = find_interval(service, calls, link)
    for factor in (0.1, 0.8, 0.99, 1.01, 1.2, 10.0):
        limit = exact * factor
        with_limit = find_interval(service, calls, link, limit)
        assert np.array_equal(with_limit <= limit, exact <= limit)


@pytest.mark.parametrize(("lanes", "depth", "chained"), [(1, 1, 1), (2, 4, 1), (2, 4, 0)])
def test_a_full_engine_is_an_m_d_c_queue(lanes: int, depth: int, chained: int) -> None:
    """Mean and percentiles of many streams with room for all calls, straight at the engine."""
    system = System(
        total_streams=64,
        streams=64,
        granularity=64,
        call_rate=1,
        calls_in_flight=64,
        set_up_time=1e-9,
        link_occupancy_time=0,
        travel_time=0,
        shared_link=True,
        lanes=lanes,
        element_bytes=16,
        passes=1,
        pipeline_depth=depth,
        schedule_period=1,
        context_switch=2,
        clock_period=1e-6,
        chained=bool(chained),
        work_conserving=True,
    )
    held = (2 + system.lane_elements * system.apart) * 1e-6
    rate = 0.75 * system.contexts / held / 64
    measured = simulate(System(**{**vars(system), "call_rate": rate}), 60_000, seed=1)
    pipeline = {"streams": 64, "pipeline_depth": depth, "context_switch": 2}
    calls = {"clock_period": 1e-6, "lane_elements": system.lane_elements, "call_rate": rate}
    way = {**WAY, "set_up_time": 1e-9, "travel_time": 0, "link_wait_time": 0}
    setting = {**pipeline, **arbitration(1, chained, lanes), **calls, "calls_in_flight": 64, **way}
    setting["link_utilization"] = 0
    alone = engine_service(**pipeline, **arbitration(1, chained, lanes), **calls)
    assert alone.engine_utilization == pytest.approx(0.75)
    time = call_response(
        **setting, engine_time_alone=alone.engine_time_alone, stream_interval=0.0
    ).call_time
    assert measured.call_time.low * 0.99 < time < measured.call_time.high * 1.01
    tail = call_percentiles(**setting)
    assert tail.call_time_p95 == pytest.approx(measured.call_time_p95, rel=0.05)
    assert tail.call_time_p99 == pytest.approx(measured.call_time_p99, rel=0.05)
