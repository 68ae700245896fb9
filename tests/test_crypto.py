"""The shipped study of AES on an UltraSPARC T2 class host: front, values, times by other means."""

from __future__ import annotations

import math
import tomllib
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
import pytest
from numpy.typing import NDArray

import dse
from tests.crypto_examples import CLOCK, STUDY, VARIABLES, Design, design, random_designs

OBJECTIVES = ["speedup", "break_even", "call_time", "area"]


class Drawn(NamedTuple):
    design: Design
    values: dict[str, Any]
    row: dict[str, Any]


def records(table: pd.DataFrame) -> list[dict[str, Any]]:
    return [{str(k): v for k, v in row.items()} for row in table.to_dict("records")]


@cache
def study() -> dse.Study:
    return dse.load(STUDY)


@pytest.fixture(scope="module")
def result(crypto_run: Path) -> tuple[dse.StudyResult, Path]:
    return dse.load_result(crypto_run), crypto_run


@cache
def drawn() -> tuple[pd.DataFrame, list[Drawn]]:
    """Draw designs; return them, and each with its values and what the words make of it."""
    designs = random_designs(12_000, seed=1)
    designs = designs[designs["streams"] >= designs["pipeline_depth"]].reset_index(drop=True)
    values = records(study().evaluate(designs))
    pairs = zip(records(designs), values, strict=True)
    return designs, [Drawn(design(row), value, row) for row, value in pairs]


def feasible() -> list[Drawn]:
    return [found for found in drawn()[1] if found.values["feasible"]]


def _front(points: NDArray[np.float64]) -> NDArray[np.int64]:
    """Return the non-dominated rows by repeated sweeps: no library, no archive."""
    left = np.arange(len(points))
    found: list[int] = []
    while len(left):
        here = points[left]
        best = left[np.argmin(here.sum(axis=1))]  # nothing dominates a point of least sum
        found.append(int(best))
        point = points[best]
        equal = (here == point).all(axis=1)
        found += [int(i) for i in left[equal] if i != best]
        left = left[~((here >= point).all(axis=1))]
    return np.array(sorted(found))


def test_front_by_other_means(result: tuple[dse.StudyResult, Path]) -> None:
    found, folder = result
    space = study().evaluator.space
    assert found.certificate.complete
    assert found.certificate.evaluated == space.size == 1_182_720
    points = space.from_index(np.arange(space.size))
    judged = study().evaluator.evaluate(points)
    values = pd.DataFrame(judged.objectives, columns=OBJECTIVES)
    at = np.flatnonzero(judged.feasible)
    assert found.certificate.feasible == len(at)
    some = slice(0, None, 97)  # the same designs by the names of their options
    designs = pd.DataFrame({name: points[name][some] for name in VARIABLES})
    for name, entry in tomllib.loads(STUDY.read_text())["space"].items():
        if "options" in entry:  # by place
            designs[name] = np.array(entry["options"], dtype=object)[designs[name].astype(int)]
    named = study().evaluate(designs)
    np.testing.assert_array_equal(named["feasible"], judged.feasible[some])
    np.testing.assert_array_equal(named[OBJECTIVES], judged.objectives[some])
    signs = np.array([-1.0, 1.0, 1.0, 1.0])
    # scaled so that the sum that picks the next point is not ruled by the area
    points = values[OBJECTIVES].to_numpy()[at] * signs / np.array([1.0, 1e1, 1e4, 1e5])
    front = at[_front(points)]
    written = pd.read_csv(folder / "front.csv", index_col="design").sort_index()
    np.testing.assert_array_equal(written.index, front)
    for name in OBJECTIVES:
        np.testing.assert_array_equal(written[name], values[name].to_numpy()[front])


def _area(d: Design) -> float:
    s = d.system
    contexts = s.lanes * max(s.streams - s.pipeline_depth, 0) * 256
    buffers = 8 * 4096 * s.calls_in_flight * s.streams
    engine = s.lanes * (d.engine["lane_area"] + d.engine["stage_area"] * (s.pipeline_depth - 1))
    interfaces = 1 if s.shared_link else d.engines
    return d.engines * (engine + (contexts + buffers) / 64) + (
        interfaces * d.interface["interface_area"]
    )


def _loads(d: Design) -> tuple[float, float]:
    """Offered load of an engine's slots, and of a link."""
    s = d.system
    meeting = 64 if s.shared_link else s.streams
    return s.call_rate * s.lane_elements * d.slot_time, (
        meeting * s.call_rate * s.link_occupancy_time
    )


def test_areas_and_constraints_by_hand() -> None:
    for d, values, _ in drawn()[1]:
        assert values["area"] == pytest.approx(_area(d), rel=1e-12)
        engine, link = _loads(d)
        allowed = d.system.streams * d.interface["engines_per_core"] <= 8
        allowed &= d.system.calls_in_flight <= d.interface["most_calls_in_flight"]
        allowed &= engine < 1 and link <= 0.5
        allowed &= values["area"] <= 400e3 and values["speedup"] >= 1
        if values["feasible"]:
            assert allowed
        elif allowed:
            assert d.system.call_rate / CLOCK * d.host_time / values["speedup"] > 0.6
    assert len(feasible()) > 500


def test_what_must_hold_of_every_feasible_design() -> None:
    """An engine carries its load, a thread its set-ups, and nothing is sooner than its parts."""
    for d, values, _ in feasible():
        s = d.system
        peak = s.lanes * s.element_bytes / (s.passes * s.clock_period)
        assert s.streams * 4e6 < peak
        interval = d.host_time / values["speedup"] / CLOCK * (1 + 1e-9)
        assert interval >= s.set_up_time
        assert interval >= s.lane_elements * d.slot_time
        assert interval >= s.link_occupancy_time
        least = s.set_up_time + s.link_occupancy_time + s.travel_time
        # m slots in a row, C clocks apart, and the pipeline; a round for each R of them
        rounds, rest = divmod(s.lane_elements - 1, s.schedule_period)
        least += (rounds * s.groups * s.turn + (rest + 1) * s.pipeline_depth) * s.clock_period
        assert interval >= least / s.calls_in_flight
        assert values["call_time"] / CLOCK >= least * (1 - 1e-9)


def test_more_of_one_thing() -> None:
    some = drawn()[0].iloc[[found.values["feasible"] for found in drawn()[1]]]
    base = study().evaluate(some)
    lanes = study().evaluate(some.assign(lanes=32))
    alone = study().evaluate(some.assign(calls_in_flight=1))
    assert (lanes["area"] >= base["area"]).all()
    # a call that comes back sooner may just miss its slot
    assert (lanes["call_time"] <= base["call_time"] * 1.02).all()
    assert (lanes["speedup"] >= base["speedup"] * 0.98).all()
    assert (alone["speedup"] <= base["speedup"] * 1.02).all()
    assert (alone["break_even"] >= base["break_even"]).all()
    assert (alone["area"] <= base["area"]).all()


def _worst_interval(d: Design, clocks_a_round: float) -> float:
    """Follow a stream back to back from every phase; return its slowest mean pace [s]."""
    s = d.system
    slowest = 0.0
    for start in np.arange(0.0, clocks_a_round, max(clocks_a_round / 16, 0.5)):
        ends = [start * s.clock_period] * s.calls_in_flight
        thread, free, calls = 0.0, 0, 40 * s.calls_in_flight
        for _ in range(calls):
            thread = max(thread, ends[-s.calls_in_flight]) + s.set_up_time
            arrived = thread + s.link_occupancy_time + s.travel_time
            slot = free
            while s.slot_clock(0, slot) * s.clock_period < arrived - 1e-15:
                slot += 1
            free = slot + s.lane_elements
            ends.append((s.slot_clock(0, free - 1) + s.pipeline_depth) * s.clock_period)
        half = calls // 2
        slowest = max(slowest, (ends[-1] - ends[-1 - half]) / half)
    return slowest


def test_from_the_break_even_on_calls_are_as_fast_as_on_the_host() -> None:
    slow = [found for found in feasible() if found.values["break_even"] > 40][::12]
    assert len(slow) > 5
    for _, values, row in slow:
        pays = values["break_even"]
        for granularity in (pays, pays + 1, 1.3 * pays, 2.9 * pays):
            d = design(row, granularity)
            s = d.system
            _, load = _loads(d)
            wait = s.link_occupancy_time * load / (2 * (1 - load))
            late = d._replace(system=replace(s, travel_time=s.travel_time + wait))
            round_clocks = s.groups * s.turn
            # the mean over half the calls starts and ends anywhere in a round
            slack = round_clocks * s.clock_period / (20 * s.calls_in_flight)
            assert _worst_interval(late, round_clocks) <= d.host_time / CLOCK + slack


def test_sampled_search_finds_much_of_the_front(
    tmp_path: Path, result: tuple[dse.StudyResult, Path]
) -> None:
    path = tmp_path / "crypto.toml"
    path.write_text(
        STUDY.read_text() + '\n[search]\nmethod = "evolution"\nevaluations = 20000\nseed = 1\n'
    )
    found = dse.load(path).run()
    whole = result[0]
    worst = {o.name: float(whole.front.designs[o.name].max()) * 1.1 for o in whole.objectives}
    worst["speedup"] = 0.0
    share = found.hypervolume(worst) / whole.hypervolume(worst)
    assert math.isfinite(share)
    assert 0.95 < share <= 1.0
