"""The parts of a machine, and the costs of a call on it: the system of docs/system.md.

* :func:`engine`: clock, data rate and area of a C-slowed engine (:mod:`objectives.machine.engine`);
* :func:`lanes_for`: lanes from an acceleration (:mod:`objectives.machine.lanes`);
* :func:`requests`: calls of a stream from its data rate (:mod:`objectives.machine.requests`);
* :func:`link`: calls of several streams on a link (:mod:`objectives.machine.link`);
* :func:`turnaround`, :func:`call_interval`, :func:`offload_terms`: calls back to back, and LogCA's
  terms of them (:mod:`objectives.machine.calls`);
* :func:`call_time`: a call under load (:mod:`objectives.machine.latency`);
* :func:`call_break_even`: granularity from which calls are beneficial
  (:mod:`objectives.machine.breakeven`);
* :func:`call_buffers`: memory of calls in flight (:mod:`objectives.machine.buffers`);
* :func:`total_area`: the area of all of it (:mod:`objectives.machine.area`);
* ``interface``: the overhead and latency of an interface; ``quantities``: quantities of the models.
"""

from objectives.machine.area import Area, total_area
from objectives.machine.breakeven import CallBreakEven, call_break_even
from objectives.machine.buffers import CallBuffers, call_buffers
from objectives.machine.calls import call_interval, offload_terms, turnaround
from objectives.machine.engine import Engine, engine, engine_clock, engine_rate, engine_size
from objectives.machine.lanes import LanesFor, lanes_for
from objectives.machine.latency import CallTime, call_time
from objectives.machine.link import Link, link
from objectives.machine.requests import Requests, requests

__all__ = [
    "Area",
    "CallBreakEven",
    "CallBuffers",
    "CallTime",
    "Engine",
    "LanesFor",
    "Link",
    "Requests",
    "call_break_even",
    "call_buffers",
    "call_interval",
    "call_time",
    "engine",
    "engine_clock",
    "engine_rate",
    "engine_size",
    "lanes_for",
    "link",
    "offload_terms",
    "requests",
    "total_area",
    "turnaround",
]
