"""A space of up to 10^12 designs on which bounding is measured: an AES engine shared by streams.

Once the shipped study of AES, with areas in 4-input LUTs; of its 1,269,760 designs 565 are on the
front. More values of the acceleration, of the overlap of calls and of the buffers make it larger.
"""

from __future__ import annotations

from typing import Annotated, Any, NamedTuple

import numpy as np

from dse import Array, Floats, Quantity
from dse.evaluate.evaluator import Evaluator
from dse.model import model, monotonic
from dse.study.study import make_study

_ROUNDING = 1e-12  # an acceleration of exactly k lanes must not become k + 1 of them
_KIB = 1024.0
_ENGINE = {
    "logic_delay": "19.27 ns",
    "logic_steps": 1000,
    "register_delay": "3.228 ns",
    "routing_delay": "0.1458 ns",
    "unsplit_stages": 0,
    "lane_area": 13780,
    "stage_area": 2047,
}
_ROW = ("interface_overhead", "interface_latency", "latency_per_byte", "own", "interface_area")
_INTERFACES = {
    "pci-card": (2.59e6, 0, 43.5, 0, 8700),
    "privileged-dma": (2.9e4, 1500, 0, 0, 7739),
    "user-port": (435, 500, 0, 1, 208),
    "instruction": (111, 4, 0, 1, 104),
}


class Laid(NamedTuple):
    lanes: Annotated[Array, Quantity("1", "copies of the pipeline", low=1, integer=True)]


@model
@monotonic(lanes="+acceleration +clock_period")
def laid(
    acceleration: Annotated[Floats, Quantity("1", "peak speedup asked for", above=0)],
    clock_period: Annotated[Floats, Quantity("s", "clock period of the engine", above=0)],
    flat_period: Annotated[Floats, Quantity("s", "clock period of one stage", above=0)],
) -> Laid:
    """Return as many lanes as the acceleration takes if a lane of one stage gives 1.

    A lane accelerates by the flat period over the period, so lanes rise with both.
    """
    lane = np.asarray(flat_period) / clock_period
    return Laid(np.maximum(np.ceil(acceleration / lane * (1 - _ROUNDING)), 1.0))


class Load(NamedTuple):
    arrival_rate: Annotated[Array, Quantity("element/s", "of a stream at a lane", low=0)]


@model
@monotonic(arrival_rate="+stream_rate -lanes")
def load(
    stream_rate: Annotated[Floats, Quantity("element/s", "that a stream asks for", low=0)],
    lanes: Annotated[Floats, Quantity("1", "copies of the pipeline", low=1, integer=True)],
) -> Load:
    """Return what arrives at one of the lanes: the one over the other."""
    return Load(np.asarray(stream_rate, dtype=np.float64) / lanes)


class Attached(NamedTuple):
    overhead: Annotated[Array, Quantity("cycle", "set-up of a call that is not hidden", low=0)]
    latency: Annotated[Array, Quantity("cycle", "latency of a call that is not hidden", low=0)]
    buffer_bits: Annotated[Array, Quantity("bit", "memory of the queued calls", low=0)]


@model
@monotonic(
    overhead="+interface_overhead =interface_latency =wait -overlap =buffered",
    latency="=interface_overhead +interface_latency +wait -overlap =buffered",
    buffer_bits="=interface_overhead =interface_latency =wait +overlap +buffered",
)
def attached(
    interface_overhead: Annotated[Floats, Quantity("cycle", "set-up of a call", low=0)],
    interface_latency: Annotated[Floats, Quantity("cycle", "latency of a call", low=0)],
    wait: Annotated[Floats, Quantity("cycle", "time in the engine", low=0)],
    overlap: Annotated[Floats, Quantity("1", "share hidden behind the last", low=0, below=1)],
    buffered: Annotated[Floats, Quantity("B", "largest call that is queued", low=0)],
) -> Attached:
    """Return what the overlap leaves of a call, and the double buffer that hides the rest.

    What is left is 1 - x of the set-up and of the latency, and the buffer x of two calls.
    """
    left = 1.0 - np.asarray(overlap, dtype=np.float64)
    latency = left * (np.asarray(interface_latency) + wait)
    return Attached(left * interface_overhead, latency, 16.0 * np.asarray(overlap) * buffered)


def shared_aes(acceleration: int = 31, overlap: int | None = 64, buffers: int = 1) -> Evaluator:
    """Return the problem: 640 · its three grids of designs.

    Parameters
    ----------
    acceleration, buffers : int
        How many values the acceleration from 2 to 32, and the buffer from 16 to 64 KiB, have.
    overlap : int or None
        How many values the overlap has; None: all three are continuous.
    """
    own = [dict(zip(_ROW, row, strict=True)) for row in _INTERFACES.values()]

    def grid(count: int) -> dict[str, int]:
        return {} if overlap is None else {"steps": count}

    space: dict[str, Any] = {
        "acceleration": {"real": [2.0, 32.0], **grid(acceleration)},
        "pipeline_depth": {"values": [1, 2, 4, 8]},
        "overlap": {"real": [0.0, 0.75], **grid(overlap or 0)},
        "streams": {"values": [8, 16, 32, 64]},
        "schedule_period": {"values": [1, 2, 3, 4, 6, 8, 12, 16, 24, 32]},
        "interface": {"rows": dict(zip(_INTERFACES, own, strict=True))},
    }
    given: dict[str, Any] = {"buffered": 64 * _KIB}
    if buffers > 1:
        space["buffered"], given = {"real": [16 * _KIB, 64 * _KIB], **grid(buffers)}, {}
    study = {
        "study": {
            "name": "shared-aes",
            "models": [
                "objectives.machine.engine:engine_clock",
                "objectives.machine.engine:engine_size",
                "laid",
                "load",
                {
                    "use": "objectives.sharing.schedule:printed_latency",
                },
                {
                    "use": "objectives.sharing.slot_latency:exact_latency",
                    "rename": {"latency": "wait"},
                },
                "objectives.sharing:engine_count",
                "attached",
                "objectives.machine:total_area",
                "objectives.logca:speedup",
                "objectives.logca:times",
                "objectives.logca:break_even",
            ],
        },
        "inputs": {
            **_ENGINE,
            **given,
            "flat_period": "22.6438 ns",
            "memory_area_per_bit": 0.0625,
            "clock": "1.16 GHz",
            "computational_index": 90,
            "complexity": 1.01,
            "total_streams": 64,
            "stream_rate": 1e6,
            "context_switch": 4,
            "context_bits": 256,
        },
        "space": space,
        "objective": [
            {"maximize": "speedup", "at": {"granularity": "1 KiB"}},
            {"minimize": "break_even"},
            {"minimize": "accelerated_time", "at": {"granularity": "64 B"}},
            {"minimize": "area"},
        ],
        "constraint": [
            {"relation": "streams * own <= 8"},
            {"quantity": "utilization", "at_most": 0.9},
            {"quantity": "area", "at_most": "400 kLUT"},
        ],
    }
    models = {"laid": laid, "load": load, "attached": attached}
    return make_study(study, models).evaluator
