"""Designs of the shipped crypto study, by the words of system.md, by its models and simulated.

Times are in seconds.
"""

from __future__ import annotations

import math
import tomllib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import fields
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

import dse
from dse.model.units import read_value
from dse.study.catalog import find_catalog, load_catalog
from objectives.machine import link
from objectives.sharing import call_percentiles
from tests.oracles.system import System, saturated_interval, simulate

STUDY = Path(__file__).parents[1] / "studies" / "crypto.toml"
CLOCK = 1.16e9
VARIABLES = [
    *("engine", "lanes", "pipeline_depth", "streams", "arbitration", "schedule_period"),
    *("calls_in_flight", "interface"),
]
PREDICTED = ["call_time", "call_interval"]


@cache
def study() -> dse.Study:
    return dse.load(STUDY)


def percentiles(systems: Sequence[System]) -> pd.DataFrame:
    """Return the percentiles of the time of a call."""
    table = pd.DataFrame([vars(system) for system in systems]).astype(float)
    meeting = np.where(table["shared_link"] == 1, table["total_streams"], table["streams"])
    occupied = table["link_occupancy_time"]
    found = link(1.0, table["call_rate"], occupied, 0, meeting, meeting)
    result = call_percentiles(
        *(table[n] for n in ("streams", "pipeline_depth", "context_switch")),
        *(table[n] for n in ("work_conserving", "chained", "lanes", "schedule_period")),
        table["clock_period"],
        [float(system.lane_elements) for system in systems],
        table["call_rate"],
        table["calls_in_flight"],
        table["set_up_time"],
        occupied + table["travel_time"],
        found.link_wait_time,
        found.link_utilization,
        table["shared_link"],
    )
    return pd.DataFrame(vars(result))


# ── A design by the words of the page ──


def rows(catalog: str) -> dict[str, dict[str, float]]:
    """Read a catalog: times of engines in seconds, times of interfaces in cycles."""
    time = "cycle" if catalog == "interfaces" else "s"
    units = {"ns": time, "ns/B": f"{time}/B"}
    return {
        row.name: {
            name: read_value(value.text, units.get(value.unit, value.unit), CLOCK)
            for name, value in row.values.items()
        }
        for row in load_catalog(find_catalog(catalog)).rows.values()
    }


INTERFACES, ENGINES = rows("interfaces"), rows("pipelined_engines")


class Design(NamedTuple):
    """A design of the study."""

    system: System
    engine: dict[str, float]
    interface: dict[str, float]
    host_time: float  # T0 [s]

    @property
    def engines(self) -> int:
        return math.ceil(64 / self.system.streams)

    @property
    def least_time(self) -> float:
        """Seconds of a call that waits for nothing."""
        s = self.system
        clocks = s.context_switch + s.lane_elements * s.apart
        if not s.work_conserving:
            # m slots in a row, and a round for each R of them
            rounds, rest = divmod(s.lane_elements - 1, s.schedule_period)
            clocks = rounds * s.groups * s.turn + (rest + 1) * s.apart
        clocks += s.pipeline_depth - s.apart
        return s.set_up_time + s.link_occupancy_time + s.travel_time + clocks * s.clock_period

    @property
    def engine_load(self) -> float:
        """Offered calls over the calls that an engine carries."""
        s = self.system
        if not s.work_conserving:
            return s.call_rate * s.lane_elements * self.slot_time
        held = (s.context_switch + s.lane_elements * s.apart) * s.clock_period
        return s.streams * s.call_rate * held / s.contexts

    @property
    def slot_time(self) -> float:
        """Mean seconds from slot to slot of a stream."""
        s = self.system
        return s.groups * s.turn / s.schedule_period * s.clock_period


def design(row: Mapping[Any, Any], granularity: float = 1024.0) -> Design:
    """Describe a row of the study's variables."""
    engine, interface = ENGINES[row["engine"]], INTERFACES[row["interface"]]
    depth = int(row["pipeline_depth"])
    parts = math.ceil(engine["logic_steps"] / max(depth - engine["unsplit_stages"], 1))
    clock = engine["logic_delay"] * parts / engine["logic_steps"]
    clock += engine["register_delay"] + engine["routing_delay"] * depth
    set_up = interface["interface_overhead"]
    set_up += interface["interface_overhead_per_byte"] * granularity
    system = System(
        total_streams=64,
        streams=int(row["streams"]),
        granularity=granularity,
        call_rate=4e6 / granularity,
        calls_in_flight=int(row["calls_in_flight"]),
        set_up_time=set_up / CLOCK,
        link_occupancy_time=interface["interface_latency_per_byte"] * granularity / CLOCK,
        travel_time=interface["interface_latency"] / CLOCK,
        shared_link=interface["shared_link"] == 1,
        lanes=int(row["lanes"]),
        element_bytes=engine["element_bytes"],
        passes=int(engine["passes"]),
        pipeline_depth=depth,
        schedule_period=int(row["schedule_period"]),
        context_switch=4,
        clock_period=clock,
        chained=True,
        work_conserving=row["arbitration"] == "work-conserving",
    )
    return Design(system, engine, interface, 90 * granularity**1.01 / CLOCK)


def described(designs: pd.DataFrame) -> list[Design]:
    return [design(row) for row in designs.to_dict("records")]


# ── Samples of designs ──


def random_designs(count: int, seed: int) -> pd.DataFrame:
    """Sample designs of the study, each value as likely as any other of its variable."""
    rng = np.random.default_rng(seed)
    content = tomllib.loads(STUDY.read_text())["space"]
    drawn = {}
    for name in VARIABLES:
        entry = content[name]
        if "integer" in entry:
            low, high = entry["integer"]
            drawn[name] = rng.integers(low, high + 1, count)
        else:
            drawn[name] = rng.choice(entry.get("values", entry.get("options")), count)
    return pd.DataFrame(drawn)


@cache
def feasible_designs() -> pd.DataFrame:
    """Return 30 random feasible designs of each arbitration."""
    designs = random_designs(15_000, seed=20)
    feasible = designs[study().evaluate(designs)["feasible"].to_numpy()]
    return feasible.groupby("arbitration").head(30)


def front_designs(result: dse.StudyResult) -> pd.DataFrame:
    """Return 30 designs of the front that are far apart in the ranks of all objectives."""
    designs = result.front.designs
    names = [objective.name for objective in result.objectives]
    ranks = designs[names].rank().to_numpy() / len(designs)
    chosen = [int(ranks[:, 0].argmin())]
    distance = np.full(len(ranks), np.inf)
    while len(chosen) < 30:
        distance = np.minimum(distance, np.abs(ranks - ranks[chosen[-1]]).max(axis=1))
        chosen.append(int(distance.argmax()))
    return designs.iloc[chosen]


def harsh_systems(count: int, seed: int) -> list[System]:
    """Sample systems of all kinds in which no part is used above 0.6, by the models' own words."""
    rng = np.random.default_rng(seed)

    def within(low: float, high: float) -> float:
        return float(np.exp(rng.uniform(np.log(low), np.log(high))))

    def sample() -> System:
        depth = int(rng.choice([1, 2, 4, 8]))
        granularity = float(rng.choice([16, 64, 256, 1024]))
        return System(
            total_streams=64,
            streams=int(rng.choice([8, 16, 32, 64])),
            granularity=granularity,
            call_rate=within(1e6, 64e6) / granularity,
            calls_in_flight=int(rng.choice([1, 2, 3, 4, 8])),
            set_up_time=within(5e-8, 2e-6),
            link_occupancy_time=within(1e-9, 3e-7),
            travel_time=within(5e-8, 2e-6),
            shared_link=bool(rng.integers(2)),
            lanes=int(rng.integers(1, 9)),
            element_bytes=16,
            passes=int(rng.choice([1, 4])),
            pipeline_depth=depth,
            schedule_period=int(rng.choice([1, 2, 4, 8, 16, 32])),
            context_switch=4,
            clock_period=23e-9 / (1 + 0.7 * (depth - 1)),
            chained=bool(rng.integers(2)),
            work_conserving=bool(rng.integers(2)),
        )

    samples = [sample() for _ in range(60 * count)]
    names = ("stream_utilization", "engine_utilization", "link_utilization")
    used = predict(samples, names).max(axis=1, skipna=False)  # NaN: fewer streams than stages
    return [samples[i] for i in np.flatnonzero((used > 0.1) & (used < 0.6))[:count]]


# ── Predictions of the models, and their deviations from the simulation ──


def predict(systems: Sequence[System], names: Iterable[str]) -> pd.DataFrame:
    """Return quantities of systems by the study's models, whatever the study's own inputs are."""
    table = pd.DataFrame([vars(system) for system in systems]).astype(float)
    times = ("set_up_time", "link_occupancy_time", "travel_time")
    bound = {field.name: table[field.name] for field in fields(System) if field.name not in times}
    bound |= {
        "interface_overhead": table["set_up_time"] * CLOCK,
        "interface_overhead_per_byte": 0 * table["granularity"],
        "interface_latency": table["travel_time"] * CLOCK,
        "interface_latency_per_byte": table["link_occupancy_time"] / table["granularity"] * CLOCK,
    }
    conditions = {name: tuple(map(float, column)) for name, column in bound.items()}
    space, model_graph = study().evaluator.space, study().evaluator.model_graph
    columns = space.columns(space.from_index(np.zeros(1, int)))
    values = model_graph.evaluate([(name, conditions) for name in names], columns)
    found = {}
    for name, value in zip(names, values, strict=True):
        clock = CLOCK if model_graph.quantities[name].unit == "cycle" else 1.0
        found[name] = np.asarray(value, dtype=np.float64).reshape(-1) / clock
    return pd.DataFrame(found)


def deviations_of_designs(designs: pd.DataFrame) -> pd.DataFrame:
    """Return the deviations of the study's values from the simulation of its designs."""
    found = described(designs)
    values = study().evaluate(designs).reset_index(drop=True)
    host = pd.Series([d.host_time for d in found])
    times = {"call_time": values["call_time"], "call_interval": host / values["speedup"]}
    return deviations([d.system for d in found], pd.DataFrame(times))


def deviations(systems: Sequence[System], predicted: pd.DataFrame) -> pd.DataFrame:
    """Return the deviations of predicted times as fractions of the simulated, a row per system."""
    predicted = predicted.join(percentiles(systems))
    table = zip(systems, predicted.to_dict("records"), strict=True)
    return pd.DataFrame([_deviation(system, row, seed) for seed, (system, row) in enumerate(table)])


def _deviation(
    system: System, predicted: Mapping[Any, float], seed: int, calls: int = 10_000
) -> dict[str, float]:
    """Simulate a system; simulate it again with twenty times the calls if it is off by above 4 %.

    A deviation of that size may be chance.
    """
    measured = simulate(system, calls, seed)
    simulated = {
        "call_time": measured.call_time.mean,
        "call_time_p95": measured.call_time_p95,
        "call_time_p99": measured.call_time_p99,
        "call_interval": saturated_interval(system, calls // 25, seed).mean,
    }
    found = {name: predicted[name] / simulated[name] - 1 for name in simulated}
    doubtful = max(abs(found["call_time"]), abs(found["call_interval"])) > 0.04
    doubtful |= max(abs(found["call_time_p95"]), abs(found["call_time_p99"])) > 0.08
    if (doubtful or abs(measured.carried - 1) > 0.01) and calls <= 10_000:
        return _deviation(system, predicted, seed + 1, 20 * calls)
    return found | {"carried": measured.carried}


def check_deviations(found: pd.DataFrame) -> None:
    assert not found.isna().any().any()
    assert found[["call_time", "call_interval"]].abs().max().max() < 0.05
    assert found[["call_time_p95", "call_time_p99"]].abs().max().max() < 0.10
    assert found["carried"].min() > 0.99  # no design has more to do than it can
