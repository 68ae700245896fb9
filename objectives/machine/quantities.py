"""Quantities that one model of a machine gives and another takes."""

from __future__ import annotations

from typing import Annotated, TypeAlias

from dse.model import Floats, Quantity
from objectives.quantities import declare_cost

ENGINE_AREA = declare_cost("LUT", "area of all lanes without pipelining", (1e3, 1e6))
REGISTER_AREA = declare_cost("LUT", "area that pipelining adds", (0, 1e6))
BUFFER_BITS = declare_cost("bit", "data of calls in flight", (0, 1e6))

# ------------------------------------------------------------------- times of a call, on the host

SET_UP_TIME = Quantity("cycle", "set-up of a call on the host", low=0, typical=(10, 1e4))
LINK_TIME = Quantity("cycle", "time that a call occupies the link", low=0, typical=(0, 1e4))
LINK_WAIT_TIME = Quantity(
    "cycle",
    "mean wait of a call for the link",
    low=0,
    typical=(0, 1e3),
    label="queueing delay at the link",
)
LINK_INTERVAL = Quantity(
    "cycle",
    "time from call to call that the link leaves to a stream that always has one waiting",
    low=0,
    typical=(0, 1e4),
)
TURNAROUND_TIME = Quantity(
    "cycle",
    "time of a call without its time at the engine",
    "Z",
    low=0,
    typical=(100, 1e5),
)
TRAVEL_TIME = Quantity(
    "cycle",
    "time of a call on the link and on its way to the engine and back, without waiting",
    low=0,
    typical=(100, 1e5),
    label="propagation latency",
)
CALL_INTERVAL = Quantity(
    "cycle",
    "mean time from end to end of calls of a stream that always has a request waiting",
    "T1",
    low=0,
    typical=(100, 1e5),
    label="cycle time of calls",
)

SetUpTime: TypeAlias = Annotated[Floats, SET_UP_TIME]
LinkTime: TypeAlias = Annotated[Floats, LINK_TIME]
LinkWaitTime: TypeAlias = Annotated[Floats, LINK_WAIT_TIME]
LinkInterval: TypeAlias = Annotated[Floats, LINK_INTERVAL]

# ------------------------------------------------------- what the engine takes, in the host's time

CallRate: TypeAlias = Annotated[
    Floats,
    Quantity("call/cycle", "calls of one stream a cycle", "Λ", low=0, typical=(1e-7, 1e-5)),
]
EngineInterval: TypeAlias = Annotated[
    Floats,
    declare_cost(
        "cycle",
        "time from call to call at the engine of a stream that always has one waiting",
        (10, 1e5),
    ),
]
StreamInterval: TypeAlias = Annotated[
    Floats,
    declare_cost(
        "cycle", "mean time from call to call of a stream with q calls in flight", (100, 1e5)
    ),
]
