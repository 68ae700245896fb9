"""A study with inputs that are uncertain, and a loop over its samples."""

from __future__ import annotations

import copy
import itertools
from collections.abc import Iterator
from typing import Any

import numpy as np

import dse
from objectives import logca

UNSURE: dict[str, Any] = {
    "latency": {"between": [1000, 1600]},
    "computational_index": {"normal": 90, "deviation": 9},
}
ROWS: dict[str, Any] = {
    "plain": {"overhead": 2000},
    "drawn": {"overhead": {"lognormal": 1500, "factor": 1.5}},
    "even": {"overhead": {"uniform": [500, 2500]}},
}


def content(*objectives: dict[str, Any], **more: Any) -> dict[str, Any]:
    made = {
        "study": {"name": "uncertain", "models": ["objectives.logca:offload"]},
        "inputs": {"latency_per_byte": 0.5, **UNSURE},
        "space": {"acceleration": {"values": [2, 8, 32]}, "engine": {"rows": ROWS}},
        "objective": [*objectives, {"minimize": "acceleration"}],
        "uncertainty": {"samples": 64},
        **more,
    }
    return copy.deepcopy(made)


def study(*objectives: dict[str, Any], **more: Any) -> dse.Study:
    return dse.from_mapping(content(*objectives, **more))


def values(made: dse.Study) -> Any:
    space = made.evaluator.space
    return made.evaluator.evaluate(space.from_index(np.arange(space.size or 0)))


def brute(made: dse.Study, sizes: list[float]) -> Iterator[tuple[int, int, int, float]]:
    """Yield design, sample, scenario and speedup, each of one scalar call."""
    drawn = {name: v for name, (_, v) in made.uncertainty.inputs.items()}
    options: list[Any] = [
        [2000.0] * made.uncertainty.samples,
        drawn["overhead of drawn"],
        drawn["overhead of even"],
    ]
    designs = itertools.product([2.0, 8.0, 32.0], options)
    for design, (acceleration, overheads) in enumerate(designs):
        for sample, (scenario, size) in itertools.product(
            range(made.uncertainty.samples), enumerate(sizes)
        ):
            found = logca.speedup(
                granularity=size,
                computational_index=drawn["computational_index"][sample],
                overhead=overheads[sample],
                latency=drawn["latency"][sample],
                latency_per_byte=0.5,
                acceleration=acceleration,
            )
            yield design, sample, scenario, float(found.speedup)
