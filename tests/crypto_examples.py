"""Designs of the shipped crypto study, and what the words of docs/system.md make of them."""

from __future__ import annotations

import math
import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from dse.model.units import read
from dse.study.catalog import find_catalog, load_catalog
from tests.oracles.system import System

STUDY = Path(__file__).parents[1] / "studies" / "crypto.toml"
CLOCK = 1.16e9
VARIABLES = [
    "engine",
    "lanes",
    "pipeline_depth",
    "streams",
    "schedule_period",
    "calls_in_flight",
    "interface",
]


def rows(catalog: str) -> dict[str, dict[str, float]]:
    """Read a catalog's figures: times of engines in seconds, those of interfaces in cycles."""
    time = "cycle" if catalog == "interfaces" else "s"
    units = {"ns": time, "ns/B": f"{time}/B"}
    return {
        row.name: {
            name: read(figure.text, units.get(figure.unit, figure.unit), CLOCK)
            for name, figure in row.values.items()
        }
        for row in load_catalog(find_catalog(catalog)).rows.values()
    }


INTERFACES, ENGINES = rows("interfaces"), rows("engines")


class Design(NamedTuple):
    """A design of the study by the words of docs/system.md; times in seconds."""

    system: System
    engine: dict[str, float]
    interface: dict[str, float]
    granularity: float

    @property
    def host_time(self) -> float:
        """T0 [cycle]."""
        return float(90 * self.granularity**1.01)

    @property
    def engines(self) -> int:
        return math.ceil(64 / self.system.streams)

    @property
    def slot_time(self) -> float:
        """Mean seconds from slot to slot of a stream."""
        s = self.system
        return s.groups * s.turn / s.schedule_period * s.clock_period


def design(row: Mapping[str, Any], granularity: float = 1024.0) -> Design:
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
    )
    return Design(system, engine, interface, granularity)


def random_designs(count: int, seed: int) -> pd.DataFrame:
    """Draw designs of the study, each value as likely as any other of its variable."""
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
