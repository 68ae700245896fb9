"""The problems of `benchmarks.bounds`: LogCA with lanes, and finer shipped studies."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any, NamedTuple

import numpy as np

import dse
from dse import Array, Floats, Quantity
from dse.evaluate.evaluator import Evaluator
from dse.evaluate.space import Integer, Space, Values
from dse.model import model, monotonic
from dse.study.study import make_study


class Call(NamedTuple):
    latency: Annotated[Array, Quantity("cycle", "of a call, what calls ahead do not hide", low=0)]
    queue_time: Annotated[Array, Quantity("cycle", "behind the calls ahead", low=0)]


@model
@monotonic(
    latency="+interface_latency -overlap",
    queue_time="+interface_latency +overlap",
)
def ahead(
    interface_latency: Annotated[Floats, Quantity("cycle", "of a call", low=0)],
    overlap: Annotated[Floats, Quantity("1", "share hidden behind calls ahead", low=0, below=1)],
) -> Call:
    """Return what is left of a latency, and the wait behind the calls that hide the rest.

    The latency that is left is (1 - x) L, and calls ahead take x / (1 - x) of it: the one rises
    with L and falls with x, the other rises with both.
    """
    x, whole = np.asarray(overlap), np.asarray(interface_latency)
    return Call(whole * (1.0 - x), whole * x / (1.0 - x))


class Response(NamedTuple):
    response: Annotated[Array, Quantity("cycle", "of a call behind others", low=0)]


@model
@monotonic(response="+accelerated_time +queue_time")
def respond(
    accelerated_time: Annotated[Floats, Quantity("cycle", "of a call", low=0)],
    queue_time: Annotated[Floats, Quantity("cycle", "behind the calls ahead", low=0)],
) -> Response:
    """Return the sum."""
    return Response(np.add(accelerated_time, queue_time))


def lanes(acceleration: int, depth: int, overlap: int | None, **real: Any) -> Evaluator:
    """Return an AES engine of as many lanes as an acceleration takes: 8 · its grids of designs.

    Parameters
    ----------
    acceleration, depth : int
        How many values the acceleration and the buffer have.
    overlap : int or None
        How many values the overlap has; None: it is continuous.
    **real
        Variables instead of those.
    """
    variables: dict[str, Any] = {
        "engine": {"catalog": "pipelined_engines", "options": ["aes-4-rounds", "aes-14-rounds"]},
        "pipeline_depth": {"integer": [1, 16]},
        "acceleration": {"real": [2.0, 64.0], "steps": acceleration},
        "buffer_bits": {"real": [1e3, 1e6], "steps": depth},
        "overlap": {"real": [0.0, 0.95], **({"steps": overlap} if overlap else {})},
        "interface": {
            "catalog": "interfaces",
            "options": ["pci-card", "privileged-dma", "user-port", "instruction"],
            "rename": {"interface_overhead": "overhead"},
        },
    }
    study = {
        "study": {
            "name": "lanes",
            "models": [
                "objectives.machine.engine:engine_clock",
                "objectives.machine.engine:engine_size",
                "objectives.machine:lanes_for",
                "objectives.machine:total_area",
                "objectives.logca:speedup",
                "objectives.logca:times",
                "objectives.logca:break_even",
                "ahead",
                "respond",
            ],
        },
        "inputs": {
            "kernel": {"catalog": "kernels", "row": "aes-ultrasparc-t2"},
            "memory": {"catalog": "memories", "row": "lut-ram-6-input"},
            "clock": "1.16 GHz",
            "granularity": "1 KiB",
            "latency_per_byte": 0,
        },
        "space": variables | real,
        "objective": [
            {"maximize": "speedup"},
            {"minimize": "break_even"},
            {"minimize": "response", "at": {"granularity": "64 B"}},
            {"minimize": "area"},
        ],
    }
    return make_study(study, {"ahead": ahead, "respond": respond}).evaluator


def _factors(count: int) -> Values:
    """Return so many factors from 2 to 32, evenly spaced in their logarithms."""
    return Values(tuple(np.round(np.geomspace(2.0, 32.0, count), 4).tolist()))


FINER: dict[str, dict[str, Integer | Values]] = {
    "crypto": {
        "pipeline_depth": Integer(1, 32),
        "streams": Integer(8, 64),
        "schedule_period": Integer(1, 32),
        "calls_in_flight": Integer(1, 8),
    },
    "compress": {
        "computation_factor": _factors(24),
        "communication_factor": _factors(24),
        "streams": Integer(1, 64),
        "schedule_period": Integer(16, 128),
        "calls_in_flight": Integer(1, 4),
    },
    "jpeg": {"computation_factor": _factors(300), "communication_factor": _factors(300)},
    "rotate": {"computation_factor": _factors(800), "communication_factor": _factors(800)},
}
"""Shipped studies whose variables have more values, 10^8 to 10^10 designs."""


def finer(study: str, variables: Mapping[str, Integer | Values] | None = None) -> Evaluator:
    """Return a shipped study in whose space variables have more values; those of `FINER`."""
    path = Path(__file__).resolve().parents[1] / "studies" / f"{study}.toml"
    evaluator = dse.load(path).evaluator
    given = FINER[study] if variables is None else variables
    return replace(evaluator, space=Space({**evaluator.space.variables, **given}))
