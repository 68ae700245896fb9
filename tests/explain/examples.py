"""Small studies, whose every design can be computed by hand."""

from __future__ import annotations

from collections.abc import Callable
from typing import Annotated, Any, NamedTuple

import numpy as np

import dse
from dse.model import Array, Floats, Quantity


class Made(NamedTuple):
    speedup: Annotated[Array, Quantity("1", "speedup over the host", low=0, over="time", worth=1.0)]
    time: Annotated[Array, Quantity("cycle", "time of a call", low=0)]
    work: Annotated[Array, Quantity("cycle", "work", low=0, part_of="time")]
    wait: Annotated[Array, Quantity("cycle", "wait for the bus", low=0, part_of="time")]
    area: Annotated[Array, Quantity("LUT", "area", low=0)]


def machine(
    lanes: Annotated[Floats, Quantity("1", "lanes", low=1, integer=True, better="higher")],
    depth: Annotated[Floats, Quantity("1", "stages", low=1, integer=True)],
    bus_wait: Annotated[Floats, Quantity("cycle", "wait", low=0, better="lower")],
    bus_area: Annotated[Floats, Quantity("LUT", "area of a bus", low=0)],
    host_time: Annotated[Floats, Quantity("cycle", "host's time", low=0, better="higher")],
) -> Made:
    lanes, depth, bus_wait, bus_area, host_time = map(
        np.asarray, np.broadcast_arrays(lanes, depth, bus_wait, bus_area, host_time)
    )
    work = 1000.0 / lanes * (1 + 1 / depth)
    time = work + bus_wait
    area = lanes * (100 + 10 * depth) + bus_area
    return Made(host_time / time, time, work, bus_wait * 1.0, area)


def content(host_time: float = 900.0, **change: Any) -> dict[str, Any]:
    """Return a study; the host's time decides what pays."""
    return {
        "study": {"name": "made", "models": ["machine"]},
        "inputs": {"host_time": host_time},
        "space": {
            "lanes": {"integer": [1, 8]},
            "depth": {"values": [1, 2, 4, 8]},
            "bus": {
                "rows": {
                    "slow": {"bus_wait": 400, "bus_area": 10},
                    "fast": {"bus_wait": 50, "bus_area": 300},
                    "none": {"bus_wait": 900, "bus_area": 0},
                }
            },
        },
        "objective": [{"maximize": "speedup"}, {"minimize": "area"}],
    } | change


def study(host_time: float = 900.0, **change: Any) -> dse.Study:
    """Return the study, ready to run."""
    return dse.from_mapping(content(host_time, **change), {"machine": machine})


def logca(**change: Any) -> dse.Study:
    """Return the study of the README, but for what is changed."""
    made: dict[str, Any] = {
        "study": {"name": "aes", "models": ["objectives.logca:offload"]},
        "inputs": {"computational_index": 90, "clock": "1.16 GHz", "latency": "1.3 us"},
        "space": {
            "acceleration": {"integer": [2, 64]},
            "overhead": {"real": ["0.1 us", "30 us"], "log": True, "steps": 64},
        },
        "objective": [
            {"maximize": "speedup", "at": {"granularity": "1 KiB"}},
            {"minimize": "acceleration"},
            {"maximize": "overhead"},
        ],
    }
    return dse.from_mapping(made | change)


# Calls of a few lanes, over two sizes


class Call(NamedTuple):
    time: Annotated[Array, Quantity("s", "time of a call", low=0)]
    setup: Annotated[Array, Quantity("s", "set-up", low=0, part_of="time")]
    work: Annotated[Array, Quantity("s", "work", low=0, part_of="time")]
    speed: Annotated[Array, Quantity("1/s", "calls a second", low=0)]


class Loaded(NamedTuple):
    load: Annotated[Array, Quantity("1", "load", low=0)]


def call(
    size: Annotated[Floats, Quantity("B", "data of a call", above=0)],
    overlap: Annotated[
        Floats, Quantity("1", "share that is hidden", low=0, below=1, better="higher")
    ],
    lanes: Annotated[Floats, Quantity("1", "lanes", low=1, integer=True)],
) -> Call:
    setup = np.asarray((1 - overlap) * 1e-6 + 0.0 * size * lanes)
    work = np.asarray(size * 1e-8 / lanes + 0.0 * overlap)
    with np.errstate(divide="ignore"):
        return Call(setup + work, setup, work, 1 / (setup + work))


def loaded(lanes: Annotated[Floats, Quantity("1", "lanes", low=1, integer=True)]) -> Loaded:
    return Loaded(np.asarray(lanes / 8.0))


MODELS: dict[str, Callable[..., Any]] = {"call": call, "loaded": loaded}


def calls(**change: Any) -> dse.Study:
    """Return a study of calls over two sizes."""
    made: dict[str, Any] = {
        "study": {"name": "calls", "models": list(MODELS)},
        "inputs": {"overlap": 0.75},
        "space": {"lanes": {"integer": [1, 16]}},
        "objective": [
            {"minimize": "time", "over": {"size": ["64 B", "1 KiB"]}, "reduce": "mean"},
            {"minimize": "load"},
        ],
    }
    return dse.from_mapping(made | change, MODELS)


TINY: dict[str, Any] = {
    "study": {"name": "tiny", "models": list(MODELS)},
    "inputs": {"overlap": 0.5, "size": 1.0},
    "space": {"lanes": {"integer": [1, 2]}},
    "objective": [{"minimize": "time"}, {"minimize": "load"}],
}
"""A study of two designs."""
