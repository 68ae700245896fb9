"""Designs of a study as systems to simulate, and how far its models are from the simulation."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import fields
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from dse.api import Study
from dse.evaluate.model_graph import ModelGraph
from tests.oracles.system import Estimate, System, saturated_interval, simulate

PREDICTED = ("call_time", "call_interval")
HOST = (
    "clock",
    "interface_overhead",
    "interface_overhead_per_byte",
    "interface_latency",
    "interface_latency_per_byte",
)
SAME = tuple(
    field.name
    for field in fields(System)
    if field.name not in ("set_up_time", "link_occupancy_time", "travel_time")
)

# ---- a study's designs ----


def quantities(
    study: Study, designs: pd.DataFrame, names: Iterable[str], granularity: float
) -> pd.DataFrame:
    """Return quantities of designs at a granularity; times in seconds, rates a second."""
    space, model_graph = study.evaluator.space, study.evaluator.model_graph
    points = space.from_labels({name: designs[name].to_numpy() for name in space.variables})
    requests = [(name, {"granularity": granularity}) for name in names]
    found = dict(zip(names, model_graph.evaluate(requests, space.columns(points)), strict=True))
    clock = float(model_graph.constants["clock"])
    columns = {
        n: np.broadcast_to(_si(model_graph, n, v, clock), len(designs)) for n, v in found.items()
    }
    return pd.DataFrame(columns, index=designs.index)


def _si(model_graph: ModelGraph, name: str, value: Any, clock: float) -> NDArray[np.float64]:
    """Convert from cycles of the host."""
    unit = model_graph.quantities[name].unit if name in model_graph.quantities else ""
    power = unit.startswith("cycle") - unit.endswith("/cycle")
    return np.asarray(value, dtype=np.float64) / clock**power


def systems(study: Study, designs: pd.DataFrame, granularity: float) -> list[System]:
    """Return what is to be simulated: the designs' inputs, and what the words make of them."""
    found = quantities(study, designs, HOST + SAME, granularity)
    whole = [field.name for field in fields(System) if field.type in (int, bool)]
    found = found.astype(dict.fromkeys(whole, int))
    return [
        System(
            **{name: row[name] for name in SAME},
            set_up_time=float(
                row["interface_overhead"] + row["interface_overhead_per_byte"] * granularity
            ),
            link_occupancy_time=float(row["interface_latency_per_byte"] * granularity),
            travel_time=float(row["interface_latency"]),
        )
        for row in found.to_dict("records")
    ]


def spread(table: pd.DataFrame, count: int) -> pd.DataFrame:
    """Return rows that lie far apart in the ranks of all columns: each the farthest from those."""
    ranks = table.rank().to_numpy() / len(table)
    chosen = [int(ranks[:, 0].argmin())]
    distance = np.full(len(table), np.inf)
    while len(chosen) < count:
        distance = np.minimum(distance, np.abs(ranks - ranks[chosen[-1]]).max(axis=1))
        chosen.append(int(distance.argmax()))
    return table.iloc[chosen]


# ---- what the models say of any system ----


def predicted(study: Study, found: Sequence[System], names: Iterable[str]) -> pd.DataFrame:
    """Return quantities of systems by the study's models, whatever the study's own inputs are."""
    model_graph = study.evaluator.model_graph
    clock = float(model_graph.constants["clock"])
    table = pd.DataFrame([vars(system) for system in found]).astype(float)
    bound = {name: table[name] for name in SAME}
    bound |= {
        "call_rate": table["call_rate"],
        "interface_overhead": table["set_up_time"] * clock,
        "interface_overhead_per_byte": 0 * table["granularity"],
        "interface_latency": table["travel_time"] * clock,
        "interface_latency_per_byte": table["link_occupancy_time"] / table["granularity"] * clock,
    }
    conditions = {name: tuple(map(float, column)) for name, column in bound.items()}
    columns = study.evaluator.space.columns(study.evaluator.space.from_index(np.zeros(1, int)))
    values = model_graph.evaluate([(name, conditions) for name in names], columns)
    return pd.DataFrame(
        {
            name: _si(model_graph, name, value, clock).reshape(-1)
            for name, value in zip(names, values, strict=True)
        }
    )


# ---- and how far that is from the simulation ----


def compared(
    system: System, said: Mapping[Any, float], seed: int, calls: int = 20_000
) -> dict[str, float]:
    """Simulate a system and return how far the models' times are off, as shares of the simulated.

    What is off by more than 3 % is simulated once more with twenty times the calls, for that may
    be chance.
    """
    measured = simulate(system, calls, seed)
    interval = saturated_interval(system, calls // 50, seed)
    found = {
        "call_time": _off(said["call_time"], measured.call_time),
        "call_interval": _off(said["call_interval"], interval),
        "carried": measured.carried,
    }
    doubtful = max(abs(found[n]) for n in PREDICTED) > 0.03 or abs(found["carried"] - 1) > 0.005
    if doubtful and calls <= 20_000:
        return compared(system, said, seed + 1, 20 * calls)
    return found


def _off(said: float, simulated: Estimate) -> float:
    return said / simulated.mean - 1


def deviations(found: Sequence[System], said: pd.DataFrame) -> pd.DataFrame:
    """Return how far what is said of systems is from the simulation, a row each."""
    rows = zip(found, said.to_dict("records"), strict=True)
    return pd.DataFrame([compared(system, row, seed) for seed, (system, row) in enumerate(rows)])


def deviations_of_designs(study: Study, designs: pd.DataFrame, granularity: float) -> pd.DataFrame:
    """Return how far the study's models are from the simulation of its designs."""
    said = quantities(study, designs, PREDICTED, granularity)
    return deviations(systems(study, designs, granularity), said)
