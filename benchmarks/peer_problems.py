"""The problems on which `benchmarks.peers` compares searches: four studies, small and large."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any, NamedTuple

import numpy as np

from dse import Array, Floats, Quantity
from dse.model import model, monotonic
from dse.study.study import ResolvedStudy, read_study, study_of_mapping
from objectives.logca import break_even, speedup

_PARTS = range(1, 5)  # accelerators of the large problem


class Cost(NamedTuple):
    cost: Annotated[Array, Quantity("1", "area, in arbitrary units", low=0)]


@model
@monotonic(cost="+acceleration +computational_index -overhead -latency -latency_per_byte")
def cost(
    acceleration: Annotated[Floats, Quantity("1", "acceleration", above=0)],
    computational_index: Annotated[Floats, Quantity("cycle/B", "work per byte", above=0)],
    overhead: Annotated[Floats, Quantity("cycle", "setup of a call", above=0)],
    latency: Annotated[Floats, Quantity("cycle", "latency of a call", above=0)],
    latency_per_byte: Annotated[Floats, Quantity("cycle/B", "transfer of a byte", above=0)],
) -> Cost:
    """Return a cost for which nothing is best at an end of its range."""
    logic = 200.0 * np.asarray(acceleration) + 300.0 * np.sqrt(computational_index)
    call = 3e5 / np.asarray(overhead) + 3e4 / np.asarray(latency)
    return Cost(logic + call + 2e3 / np.asarray(latency_per_byte))


class Chip(NamedTuple):
    whole_speedup: Annotated[Array, Quantity("1", "by Amdahl, of four equal parts", low=0)]
    mean_break_even: Annotated[Array, Quantity("B", "geometric mean of four", low=0)]
    whole_cost: Annotated[Array, Quantity("1", "area of four", low=0)]


def chip(**given: Floats) -> Chip:
    """Return four LogCA accelerators as one: what each input is called ends in its number."""
    times, evens, costs = [], [], []
    for k in _PARTS:
        a, c, o, per_byte, beta = (np.asarray(given[f"{name}{k}"]) for name in "acolb")
        once = {"overhead": o, "latency": 100.0, "latency_per_byte": per_byte}
        kernel = {"computational_index": c, "complexity": beta, "acceleration": a}
        times.append(0.25 / speedup(granularity=1024.0, **once, **kernel).speedup)
        evens.append(np.log(np.clip(break_even(**once, **kernel).break_even, 1e-9, 1e15)))
        costs.append(cost(a, c, o, 100.0, per_byte).cost)
    return Chip(
        np.asarray(1.0 / sum(times)), np.exp(sum(evens) / len(evens)), np.asarray(sum(costs))
    )


def _annotated() -> Any:
    """Give `chip` the signature of its twenty inputs."""
    import inspect

    units = {"a": "1", "c": "cycle/B", "o": "cycle", "l": "cycle/B", "b": "1"}
    parameters = [
        inspect.Parameter(
            f"{name}{k}",
            inspect.Parameter.KEYWORD_ONLY,
            annotation=Annotated[Floats, Quantity(unit, f"{name} of part {k}", above=0)],
        )
        for k in _PARTS
        for name, unit in units.items()
    ]
    chip.__signature__ = inspect.Signature(parameters, return_annotation=Chip)  # type: ignore[attr-defined]
    chip.__annotations__ = {p.name: p.annotation for p in parameters} | {"return": Chip}
    return chip


def five(steps: int = 24) -> ResolvedStudy:
    """Return LogCA with five variables on a grid: 64 · 4 · steps^3 designs."""
    return study_of_mapping(
        {
            "study": {"name": "five", "models": ["objectives.logca:offload", "cost"]},
            "space": {
                "acceleration": {"integer": [1, 64], "log": True},
                "computational_index": {"real": [1, 1e4], "log": True, "steps": steps},
                "overhead": {"real": [100, 1e5], "log": True, "steps": steps},
                "latency_per_byte": {"real": [0.01, 10], "log": True, "steps": steps},
                "latency": {"values": [10, 100, 1000, 5000]},
            },
            "objective": [
                {"maximize": "speedup", "at": {"granularity": "1 KiB"}},
                {"minimize": "break_even"},
                {"minimize": "cost"},
            ],
        },
        {"cost": cost},
    )


def twenty() -> ResolvedStudy:
    """Return four accelerators with five variables each: a space without a known front."""
    each: dict[str, Any] = {
        "a": {"integer": [1, 512], "log": True},
        "c": {"real": [1, 1e4], "log": True},
        "o": {"real": [100, 1e5], "log": True},
        "l": {"real": [0.01, 10], "log": True},
        "b": {"values": [0.9, 1.0, 1.01, 1.1]},
    }
    return study_of_mapping(
        {
            "study": {"name": "twenty", "models": ["chip"]},
            "space": {f"{n}{k}": dict(v) for k in _PARTS for n, v in each.items()},
            "objective": [
                {"maximize": "whole_speedup"},
                {"minimize": "mean_break_even"},
                {"minimize": "whole_cost"},
            ],
        },
        {"chip": _annotated()},
    )


def queue(most: int = 64) -> ResolvedStudy:
    """Return streams that share a pipeline in turns, at several rates."""
    return study_of_mapping(
        {
            "study": {"name": "queue", "models": ["objectives.sharing:round_robin"]},
            "inputs": {"context_switch": 4, "clock_period": "10 ns"},
            "space": {
                "streams": {"values": [8, 16, 32, 64]},
                "pipeline_depth": {"integer": [1, 8]},
                "schedule_period": {"integer": [1, most]},
                "arrival_rate": {"real": [1e5, 1e7], "log": True, "steps": 24},
            },
            "objective": [
                {"minimize": "latency"},
                {"maximize": "total_throughput"},
                {"minimize": "pipeline_depth"},
            ],
            "constraint": [{"quantity": "utilization", "at_most": 0.99}],
        }
    )


def crypto() -> ResolvedStudy:
    """Return the shipped study."""
    return read_study(Path(__file__).parents[1] / "studies" / "crypto.toml")


NAMES = ("crypto", "five", "twenty", "queue")
