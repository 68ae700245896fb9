"""The shipped study of compression on 64 threads: its times by a simulation of the system."""

from __future__ import annotations

import tomllib
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from numpy.typing import NDArray

import dse
from tests.crypto_examples import check_deviations, deviations, front_designs
from tests.oracles.system import System

STUDY = Path(__file__).parents[1] / "studies" / "compress.toml"
CLOCK = 1.16e9
VARIABLES = [
    *("accelerated", "computation_factor", "communication_factor", "keeps_data", "streams"),
    *("arbitration", "schedule_period", "calls_in_flight", "interface"),
]


@cache
def study() -> dse.Study:
    return dse.load(STUDY)


def quantities(designs: pd.DataFrame, names: list[str]) -> dict[str, NDArray[Any]]:
    """Evaluate quantities of designs; times in seconds."""
    evaluator = study().evaluator
    points = evaluator.space.from_labels({n: designs[n].to_numpy() for n in VARIABLES})
    columns = evaluator.space.columns(points)
    graph = evaluator.model_graph
    found = graph.evaluate([(name, {}) for name in names], columns)
    units = [graph.quantities[name].unit for name in names]
    return {
        name: np.broadcast_to(value, len(designs)) / (CLOCK if unit.startswith("cycle") else 1)
        for name, value, unit in zip(names, found, units, strict=True)
    }


def systems(designs: pd.DataFrame) -> list[System]:
    """Describe designs by the words of system.md: a call takes the engine for m clocks."""
    names = [
        "granularity",
        "call_rate",
        "lane_elements",
        "set_up_time",
        "link_time",
        "work_conserving",
    ]
    names += ["interface_latency", "shared_link", "calls_in_flight", "streams", "schedule_period"]
    table = pd.DataFrame(quantities(designs, names))
    return [
        System(
            total_streams=64,
            streams=int(row["streams"]),
            granularity=row["lane_elements"],
            call_rate=row["call_rate"],
            calls_in_flight=int(row["calls_in_flight"]),
            set_up_time=row["set_up_time"],
            link_occupancy_time=row["link_time"],
            travel_time=row["interface_latency"],
            shared_link=row["shared_link"] == 1,
            lanes=1,
            element_bytes=1,
            passes=1,
            pipeline_depth=1,
            schedule_period=int(row["schedule_period"]),
            context_switch=16,
            clock_period=5e-9,
            work_conserving=row["work_conserving"] == 1,
        )
        for row in table.to_dict("records")
    ]


def check_designs(designs: pd.DataFrame) -> None:
    predicted = pd.DataFrame(quantities(designs, ["call_time", "call_interval"]))
    found = deviations(systems(designs), predicted)
    assert len(found) == 10
    check_deviations(found)


@pytest.fixture(scope="module")
def result() -> dse.StudyResult:
    return study().run()


def test_the_front_is_what_the_simulation_finds(result: dse.StudyResult) -> None:
    check_designs(front_designs(result)[VARIABLES].iloc[:10])


def test_the_recommended_engine_is_shared_and_busy(result: dse.StudyResult) -> None:
    """A work-conserving engine serves more streams with less area: no fixed slots on the front."""
    assert set(result.front.designs["arbitration"]) == {"work-conserving"}
    assert result.front.designs["engine_utilization"].max() > 0.5


@pytest.mark.parametrize("arbitration", ["fixed-slots", "work-conserving"])
def test_random_feasible_designs_are_what_the_simulation_finds(arbitration: str) -> None:
    space = study().evaluator.space
    assert space.size is not None
    index = np.random.default_rng(3).integers(0, space.size, 6_000)
    designs = pd.DataFrame(space.labels(space.from_index(index)))
    designs = designs[(designs["arbitration"] == arbitration).to_numpy()]
    feasible = designs[study().evaluate(designs)["feasible"].to_numpy()]
    check_designs(feasible.head(10))


def test_no_tiny_function_is_recommended_without_a_limit_on_the_speedup(
    result: dse.StudyResult,
) -> None:
    """A short call of a function that saves little does not make a short run."""
    content = tomllib.loads(STUDY.read_text())
    (limit,) = [c for c in content["constraint"] if c.get("quantity") == "speedup"]
    content["constraint"].remove(limit)
    profile = content["inputs"]["dataflow"]
    profile["file"] = str(STUDY.parent / profile["file"])
    free = dse.from_mapping(content).run()
    assert set(free.front.designs["accelerated"]) > set(result.front.designs["accelerated"])
    assert free.nash().name == result.nash().name
    assert free.nash()["accelerated"] == "compress_block"
