"""The parts of a machine, and the costs of a call on it: the system of docs/explanation/system.md.

Modules:

* ``quantities``: quantities that one model gives and another takes, and the costs of an interface;
* ``engine``: clock, data rate and area of a C-slowed engine, and lanes from an acceleration;
* ``calls``: requests, the link, LogCA's terms of one call or of calls back to back, and load;
* ``breakeven``: the granularity from which calls are beneficial;
* ``area``: the area of all of it, and the memory of calls in flight.
"""

from objectives.machine.area import Area, CallBuffers, ChipArea, call_buffers, chip_area, total_area
from objectives.machine.breakeven import CallBreakEven, call_break_even
from objectives.machine.calls import (
    CallTime,
    InterfaceTerms,
    Link,
    Requests,
    call_interval,
    call_time,
    interface_terms,
    link,
    offload_terms,
    requests,
    turnaround,
)
from objectives.machine.engine import (
    Engine,
    LanesFor,
    engine,
    engine_clock,
    engine_rate,
    engine_size,
    lanes_for,
)

__all__ = [
    "Area",
    "CallBreakEven",
    "CallBuffers",
    "CallTime",
    "ChipArea",
    "Engine",
    "InterfaceTerms",
    "LanesFor",
    "Link",
    "Requests",
    "call_break_even",
    "call_buffers",
    "call_interval",
    "call_time",
    "chip_area",
    "engine",
    "engine_clock",
    "engine_rate",
    "engine_size",
    "interface_terms",
    "lanes_for",
    "link",
    "offload_terms",
    "requests",
    "total_area",
    "turnaround",
]
