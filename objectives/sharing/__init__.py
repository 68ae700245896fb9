"""An engine shared by streams: schedule period, throughput and latency under load.

Source of the schedule and of the printed formulas: M. J. Hall, R. D. Chamberlain, "Performance
Modeling of Virtualized Custom Logic Computations", ASAP 2014. The exact latency and its optimum are
this package's own (docs/sharing.md).

:func:`round_robin` is the model, of three parts that also stand alone:
:func:`~objectives.sharing.schedule.printed_latency` (equations 1–5 as printed),
:func:`~objectives.sharing.exact.exact_latency` and
:func:`~objectives.sharing.optimum.best_schedule_period`.
:func:`~objectives.sharing.tail.tail_latency` is a model of its own, the exact 99th percentile.
:func:`~objectives.sharing.exact.latency_by_stream` takes streams with rates of their own.
:func:`~objectives.sharing.load.share_out` says what a call brings to a lane, and counts engines.
:func:`~objectives.sharing.calls.call_service`, :func:`~objectives.sharing.calls.call_latency` and
:func:`~objectives.sharing.blocking.blocking_interval` are about calls of several elements: alone,
under load, and of a stream that has one call at a time.
:func:`~objectives.sharing.bound.engine_line` bounds a call's time by a line in its granularity.
:func:`~objectives.sharing.simulation.simulate` is the cycle-accurate simulation, for other arrivals
than Poisson too.
"""

from objectives.sharing.arrivals import read_trace
from objectives.sharing.blocking import blocking_interval
from objectives.sharing.bound import engine_line
from objectives.sharing.calls import call_latency, call_service
from objectives.sharing.exact import StreamLatencies, exact_latency, latency_by_stream
from objectives.sharing.following import following_calls
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
    "following_calls",
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
