"""The parts of a machine, and the costs of a call on it: the system of docs/explanation/system.md.

Modules:

* ``quantities``: quantities that one model gives and another takes;
* ``engine``: the lanes of a C-slowed engine (records of stages and elements): their number, clock,
  data rate and area;
* ``calls``: requests, the link, turnaround and interval; LogCA's terms of one call on an interface
  or of calls back to back;
* ``area``: the total area of a machine or a chip, and the memory of calls in flight.
"""

from objectives.machine.area import call_buffers, chip_area, total_area
from objectives.machine.calls import (
    call_interval,
    interface_terms,
    link,
    offload_terms,
    requests,
    turnaround,
)
from objectives.machine.engine import (
    engine,
    engine_clock,
    engine_rate,
    engine_size,
    lanes_for,
)

__all__ = [
    "call_buffers",
    "call_interval",
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
