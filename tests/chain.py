"""A chain of small models with requirements, for the tests of a study's requirements."""

from __future__ import annotations

from typing import Annotated, Any, NamedTuple

import numpy as np

from dse import Array, Floats, Quantity, Requirement, requires

Lanes = Annotated[Floats, Quantity("1", "lanes", low=1, better="higher")]
CallRate = Annotated[Floats, Quantity("call/s", "calls that are offered", above=0)]
Size = Annotated[Floats, Quantity("B", "bytes of a call", above=0)]
Waiting = Annotated[Floats, Quantity("cycle", "time that a call may wait", low=0)]
LOADED = Requirement("utilization < 1", "the engine carries the calls that it is offered")


class Speed(NamedTuple):
    carried: Annotated[Array, Quantity("call/s", "calls that the engine carries")]
    area: Annotated[Array, Quantity("LUT", "area")]


class Queue(NamedTuple):
    utilization: Annotated[Array, Quantity("1", "share of the time that the engine is busy")]
    latency: Annotated[Array, Quantity("s", "mean time of a call")]


class Margin(NamedTuple):
    margin: Annotated[Array, Quantity("cycle", "what is left of the time that a call may wait")]


def engine(lanes: Lanes, size: Size) -> Speed:
    """Carry a lane's calls, each 64 bytes a microsecond."""
    return Speed(np.asarray(lanes * 64e6 / size), np.asarray(1000.0 * lanes + 0 * size))


@requires(LOADED)
def queue(
    call_rate: CallRate, carried: Annotated[Floats, Quantity("call/s", "calls", above=0)]
) -> Queue:
    """Return the mean time of a call by M/M/1, which is negative above the capacity."""
    with np.errstate(all="ignore"):
        return Queue(np.asarray(call_rate / carried), 1.0 / (np.asarray(carried) - call_rate))


@requires(Requirement("latency <= waiting", "a call is served before its time is over"))
def margin(
    waiting: Waiting, latency: Annotated[Floats, Quantity("cycle", "mean time of a call")]
) -> Margin:
    return Margin(np.asarray(waiting - latency))


def study(**changes: Any) -> dict[str, Any]:
    """Return a study of engine and queue; 8 of its 16 designs cannot carry the load."""
    content = {
        "study": {"name": "chain", "models": ["engine", "queue"]},
        "inputs": {"call_rate": "8.5 Mcall/s", "size": 64},
        "space": {"lanes": {"integer": [1, 16]}},
        "objective": [{"minimize": "latency"}, {"minimize": "area"}],
    }
    return content | changes


MODELS = {"engine": engine, "queue": queue, "margin": margin}
