"""The simulation of the whole system: by hand, and process by process."""

import itertools
import math
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

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


def test_more_than_is_carried_shows() -> None:
    """One call in flight takes 14 clocks; a request each 12 is too much, one each 16 is not."""
    assert simulate(replace(ALONE, call_rate=1 / 12), 20_000, 0).carried < 0.88
    assert simulate(replace(ALONE, call_rate=1 / 16), 20_000, 0).carried > 0.99


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
