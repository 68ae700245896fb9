"""An engine shared by streams: schedule period, throughput and latency under load.

Source of the schedule and of the printed formulas: M. J. Hall, R. D. Chamberlain, "Performance
Modeling of Virtualized Custom Logic Computations", ASAP 2014. The exact latency and its optimum are
this package's own (docs/sharing.md).

Modules:

* ``quantities``: the quantities of the models, and records of them;
* ``model``: :func:`round_robin`, the model of latency and its best schedule period;
* ``schedule``: the schedule, and equations 1–5 as printed;
* ``exact``: the exact mean latency, also of streams with different rates;
* ``optimum``: the best schedule period;
* ``tail``: the exact 99th percentile;
* ``load``: the elements of a call per lane, and the number of engines;
* ``calls``: calls of several elements, without other calls and under load;
* ``blocking``: a stream that has one call at a time; ``pace``: several outstanding calls;
* ``bound``: a bound of a call's time, a line in its granularity; ``_floors``: lower bounds of times
  on a shared engine;
* ``simulation``: the cycle-accurate simulation; ``arrivals``: its arrivals; ``simulated``: the
  simulation as a model.
"""

from objectives.sharing.arrivals import read_trace
from objectives.sharing.blocking import blocking_interval
from objectives.sharing.bound import engine_line
from objectives.sharing.calls import call_latency, call_service
from objectives.sharing.exact import StreamLatencies, exact_latency, latency_by_stream
from objectives.sharing.load import engine_count, lane_arrivals, share_out
from objectives.sharing.model import RoundRobin, round_robin
from objectives.sharing.optimum import best_schedule_period
from objectives.sharing.pace import stream_interval
from objectives.sharing.schedule import printed_latency
from objectives.sharing.simulated import simulated_latency
from objectives.sharing.simulation import SimulatedLatency, departure_clocks, simulate
from objectives.sharing.tail import latency_quantile, tail_latency

__all__ = [
    "RoundRobin",
    "SimulatedLatency",
    "StreamLatencies",
    "best_schedule_period",
    "blocking_interval",
    "call_latency",
    "call_service",
    "departure_clocks",
    "engine_count",
    "engine_line",
    "exact_latency",
    "lane_arrivals",
    "latency_by_stream",
    "latency_quantile",
    "printed_latency",
    "read_trace",
    "round_robin",
    "share_out",
    "simulate",
    "simulated_latency",
    "stream_interval",
    "tail_latency",
]
