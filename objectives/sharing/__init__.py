"""An engine shared by streams: schedule period, throughput and latency under load.

Source of the schedule and of the printed formulas: M. J. Hall, R. D. Chamberlain, "Performance
Modeling of Virtualized Custom Logic Computations", ASAP 2014. The exact latency and its optimum are
this package's own (docs/explanation/sharing.md). Results have the broadcast shape of the inputs.

Modules:

* ``schedule``: the quantities, the schedule, equations 1–5 as printed, and :func:`find_distinct`,
  the designs with equal columns;
* ``slot_latency``: the exact mean latency and wait of an element, the best schedule period, and
  :func:`round_robin` for all;
* ``calls``: calls of several elements by the schedule: :func:`call_service` without waits for
  earlier calls, and :func:`call_latency` under load;
* ``pace``: the way of a call to the engine, and the interval of a stream with several outstanding
  calls by the schedule: :func:`find_pace`;
* ``work_conserving``: the formulas of an engine that serves any call: ``find_service``,
  ``find_response``, ``find_interval``, means and variances of waits;
* ``queue_percentiles``: :func:`find_queue_percentiles` of whole calls at a work-conserving engine;
* ``slot_percentiles``: requests of streams, and :func:`find_slot_percentiles` of whole calls
  with fixed slots;
* ``slots``: the slots of a call, the number of engines, and their stored contexts;
* ``arbitration``: the models that a study lists, such as :func:`engine_service` with its outputs:
  each gives a design to the formulas of its arbitration;
* ``break_even``: the granularity from which on calls are as fast as on the host;
* ``simulation``: the cycle-accurate simulation of a stream.
"""

from objectives.sharing.arbitration import (
    call_pace,
    call_percentiles,
    call_response,
    engine_service,
)
from objectives.sharing.break_even import call_crossing
from objectives.sharing.calls import call_latency, call_service
from objectives.sharing.pace import stream_interval
from objectives.sharing.schedule import printed_latency
from objectives.sharing.simulation import (
    departure_clocks,
    simulate,
    simulated_latency,
)
from objectives.sharing.slot_latency import (
    RoundRobin,
    best_schedule_period,
    exact_latency,
    round_robin,
)
from objectives.sharing.slots import call_slots, context_store, engine_count, lane_slots

__all__ = [
    "RoundRobin",
    "best_schedule_period",
    "call_crossing",
    "call_latency",
    "call_pace",
    "call_percentiles",
    "call_response",
    "call_service",
    "call_slots",
    "context_store",
    "departure_clocks",
    "engine_count",
    "engine_service",
    "exact_latency",
    "lane_slots",
    "printed_latency",
    "round_robin",
    "simulate",
    "simulated_latency",
    "stream_interval",
]
