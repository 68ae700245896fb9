"""The problems on which `benchmarks.bounds` measures: LogCA with lanes, on grids and continua."""

from __future__ import annotations

from typing import Annotated, Any, NamedTuple

import numpy as np

from dse import Array, Floats, Quantity
from dse.evaluate.evaluator import Evaluator
from dse.model import model, monotonic
from dse.study.study import study_of_mapping


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
    return study_of_mapping(study, {"ahead": ahead, "respond": respond}).evaluator
