"""The simulation of the whole system: against closed forms, by hand, and process by process."""

import itertools
import math
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from objectives.queues import constant_service_wait
from tests.oracles.system import (
    ENDLESS,
    System,
    calls,
    poisson,
    random_phases,
    saturated_interval,
    simulate,
)
from tests.oracles.system_events import events

# One stream whose engine takes an element a clock; times are in clocks, for a clock lasts 1 s.
ALONE = System(
    total_streams=1,
    streams=1,
    granularity=64,
    call_rate=0.01,
    calls_in_flight=1,
    set_up_time=5,
    link_occupancy_time=3,
    travel_time=2,
    shared_link=False,
    lanes=1,
    element_bytes=16,
    passes=1,
    pipeline_depth=1,
    schedule_period=1,
    context_switch=0,
    clock_period=1,
)


def random_systems(count: int, seed: int) -> Iterator[System]:
    """Draw small systems that differ in all that the page names, at loads up to about 0.9."""
    rng = np.random.default_rng(seed)
    for _ in range(count):
        depth, period = int(rng.integers(1, 5)), int(rng.integers(1, 5))
        streams = int(rng.integers(1, 10))
        system = replace(
            ALONE,
            total_streams=int(rng.integers(streams, 3 * streams + 1)),
            streams=streams,
            granularity=float(rng.integers(1, 400)),
            calls_in_flight=int(rng.choice([1, 2, 3, ENDLESS])),
            set_up_time=float(rng.uniform(0, 50)),
            link_occupancy_time=float(rng.uniform(0, 5)),
            travel_time=float(rng.uniform(0, 50)),
            shared_link=bool(rng.integers(2)),
            lanes=int(rng.integers(1, 4)),
            passes=int(rng.integers(1, 4)),
            pipeline_depth=depth,
            schedule_period=period,
            context_switch=int(rng.integers(0, 9)),
            chained=bool(rng.integers(2)),
            work_conserving=bool(rng.integers(2)),
        )
        slots = system.lane_elements * system.groups * system.turn / period
        longest = max(slots, system.set_up_time, system.link_occupancy_time * system.simulated)
        call = slots + depth + system.set_up_time + system.travel_time
        longest = max(longest, (call + system.groups * system.turn) / system.calls_in_flight)
        yield replace(system, call_rate=float(rng.uniform(0.1, 0.9)) / longest)


def offered(system: System, count: int, seed: int) -> tuple[list[list[float]], list[float]]:
    """So many requests of each stream, and phases of the engines."""
    rng = np.random.default_rng(seed)
    requests = [
        list(itertools.islice(poisson(system.call_rate, r), count))
        for r in rng.spawn(system.simulated)
    ]
    return requests, random_phases(system, rng)


@pytest.mark.parametrize("seed", range(16))
def test_every_time_of_every_call_equals_that_of_the_processes(seed: int) -> None:
    """Of all streams that offer their load, and of one in three that always has a request."""
    system = next(random_systems(1, seed))
    requests, phases = offered(system, 100, seed)
    if seed % 2:
        requests[::3] = [[0.0] * 100 for _ in requests[::3]]
    quick = np.array(sorted(calls(system, requests, phases)))
    plain = np.array(sorted(events(system, requests, phases)))
    assert len(quick) == 100 * system.simulated
    assert np.allclose(quick, plain, rtol=0, atol=1e-6)


# ---- closed forms ----


def test_a_link_with_many_streams_is_an_m_d_1_queue() -> None:
    load, occupied = 0.7, 4.0
    system = replace(
        ALONE,
        total_streams=100,
        shared_link=True,
        call_rate=load / occupied / 100,
        set_up_time=0.01,
        link_occupancy_time=occupied,
        calls_in_flight=ENDLESS,
    )
    measured = simulate(system, 100_000, seed=5)
    wait = occupied * load / (2 * (1 - load))
    assert measured.link_wait.low < wait < measured.link_wait.high
    assert measured.link_busy == pytest.approx(load, rel=0.01)
    assert measured.carried == pytest.approx(1, abs=1e-3)
    assert measured.stream_shares == pytest.approx(np.full(100, 0.01), rel=0.15)


def test_a_thread_with_room_in_flight_is_an_m_d_1_queue() -> None:
    system = replace(ALONE, call_rate=0.12, calls_in_flight=ENDLESS)
    wait = 5 * 0.6 / (2 * (1 - 0.6))
    measured = simulate(system, 100_000, seed=6)
    assert measured.host_wait.low < wait < measured.host_wait.high
    assert measured.link_wait.mean == 0  # set-up is the longer: calls come well apart


@pytest.mark.parametrize("depth", [1, 4])
def test_a_group_alone_on_an_engine_waits_as_m_d_1_and_half_a_slot(depth: int) -> None:
    """Requests straight at the engine: work comes in any phase, and is served slot by slot."""
    load, slots = 0.6, 4
    system = replace(
        ALONE,
        streams=depth,
        total_streams=depth,
        pipeline_depth=depth,
        call_rate=load / (slots * depth),
        calls_in_flight=ENDLESS,
        set_up_time=0,
        link_occupancy_time=0,
        travel_time=0,
        schedule_period=3,  # plays no part, nor does the switch
        context_switch=50,
    )
    measured = simulate(system, 100_000, seed=7)
    exact = depth * (1 / 2 + slots * load / (2 * (1 - load)) + slots)
    assert measured.engine_time.low < exact < measured.engine_time.high
    assert measured.call_time == measured.engine_time
    assert measured.engine_busy == pytest.approx(load, rel=0.02)


def test_more_than_is_carried_shows() -> None:
    """One call in flight takes 14 clocks; a request each 12 is too much, one each 16 is not."""
    assert simulate(replace(ALONE, call_rate=1 / 12), 20_000, 0).carried < 0.88
    assert simulate(replace(ALONE, call_rate=1 / 16), 20_000, 0).carried > 0.99


def test_a_work_conserving_engine_with_many_streams_is_an_m_d_c_queue() -> None:
    load, contexts, held = 0.7, 4, 4 * 4 + 2
    system = replace(
        ALONE,
        total_streams=100,
        streams=100,
        work_conserving=True,
        pipeline_depth=contexts,
        context_switch=2,
        call_rate=load * contexts / held / 100,
        set_up_time=0.01,
        link_occupancy_time=0,
        calls_in_flight=ENDLESS,
    )
    measured = simulate(system, 200_000, seed=5)
    exact = held * (1 + float(constant_service_wait(load, contexts)))
    assert measured.engine_time.low < exact < measured.engine_time.high
    assert measured.engine_busy == pytest.approx(load, rel=0.01)


# ---- a stream that always has a request waiting, by hand ----

TWO = {"streams": 2, "total_streams": 2}
QUICK = {"set_up_time": 1, "link_occupancy_time": 0, "travel_time": 0}
EXAMPLES: dict[str, tuple[dict[str, Any], float]] = {
    # 5 set-up, 3 link, 2 travel, elements at 10, 11, 12, 13, the last one ends at 14
    "blocking": ({}, 14),
    # from an end e: arrives at e+10, slots e+12, e+16, e+20, e+24, ends at e+28
    "depth 4, one group": ({"pipeline_depth": 4}, 28),
    # slots 0, 1, 6, 7, …: a call in 0, 1, 6 ends at 7 and the next arrives at 8: 12, 13, 18
    "two groups": (
        {**TWO, **QUICK, "schedule_period": 2, "context_switch": 1, "granularity": 48},
        12,
    ),
    # 7 elements are 4 in the fullest of two lanes, each 3 slots: from an end e, slots e+2 … e+24
    "lanes and passes": (
        {
            **{**TWO, **QUICK, "pipeline_depth": 2, "lanes": 2, "passes": 3, "granularity": 100},
            "chained": False,
        },
        26,
    ),
    # from an end e: arrives at e+10, takes a context for 2 + 4·4 clocks
    "context": ({"work_conserving": True, "pipeline_depth": 4, "context_switch": 2}, 28),
    # the last of 4 independent elements enters at e+15 and takes 4 clocks
    "independent": (
        {"work_conserving": True, "pipeline_depth": 4, "context_switch": 2, "chained": False},
        19,
    ),
    # two contexts, each with a call for 4·2 clocks
    "contexts": (
        {**QUICK, "work_conserving": True, "pipeline_depth": 2, "calls_in_flight": 8},
        4,
    ),
    # begins at 0 and 5, ends at 24 and 29, and so on: two calls each 24
    "two in flight": ({"calls_in_flight": 2, "travel_time": 12}, 12),
    # room for all: the slowest of set-up, link and engine
    "set-up": ({"calls_in_flight": 8}, 5),
    "link": ({"calls_in_flight": 8, "link_occupancy_time": 7}, 7),
    "engine": ({"calls_in_flight": 8, "granularity": 144}, 9),
    # 4 slots of a call, 2 in each round of 2·(2 + 3)
    "schedule": ({**TWO, "calls_in_flight": 8, "schedule_period": 2, "context_switch": 3}, 20),
}


@pytest.mark.parametrize("name", EXAMPLES)
def test_saturated_stream_by_hand(name: str) -> None:
    changes, interval = EXAMPLES[name]
    found = saturated_interval(replace(ALONE, **changes), 1_000, seed=9)
    assert math.isclose(found.mean, interval, rel_tol=1e-9)


def test_a_saturated_stream_gets_what_others_leave_of_a_link() -> None:
    """On a link that all share it is served between the others' calls, which take 0.6 of it."""
    system = replace(
        ALONE,
        total_streams=31,
        shared_link=True,
        call_rate=0.6 / 30 / 3,
        calls_in_flight=64,
        set_up_time=0.1,
        lanes=4,
    )
    found = saturated_interval(system, 8_000, seed=10)
    assert found.mean == pytest.approx(3 / (1 - 0.6), rel=0.05)
