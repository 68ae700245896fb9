"""The hierarchical round-robin schedule of a C-slowed engine: quantities, and latency as printed.

Source: M. J. Hall, R. D. Chamberlain, "Performance Modeling of Virtualized Custom Logic
Computations", ASAP 2014, equations 1–5.

An engine of C pipeline stages holds C streams at a time, each of which may enter an element every
C clocks. After R turns of each (the schedule period) the group is swapped for the next one, which
takes S clocks. The N streams form ⌈N/C⌉ groups. The paper has N a multiple of C; here a last group
with fewer streams keeps its C slots a turn, some of them idle. Every formula then holds with
⌈N/C⌉·C in the place of N. A single group is never swapped: S has no effect if N = C.
"""

from __future__ import annotations

import functools
from dataclasses import dataclass
from typing import Annotated, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from dse.model import Array, Floats, Quantity, model, monotonic
from objectives.quantities import ClockPeriod, PipelineDepth, Streams, declare_part

LONGEST_PERIOD = 65_536
"""Largest schedule period in the domain; the cost of the exact latency grows with the period."""

ContextSwitch: TypeAlias = Annotated[
    Floats,
    Quantity(
        "1",
        "clocks of the engine to swap one group of streams for the next",
        "S",
        low=0,
        high=1_000_000_000,
        integer=True,
        better="lower",
        typical=(0, 64),
    ),
]
SchedulePeriod: TypeAlias = Annotated[
    Floats,
    Quantity(
        "1",
        "turns of each stream before its group is swapped out",
        "R_S",
        low=1,
        high=LONGEST_PERIOD,
        integer=True,
        typical=(1, 128),
    ),
]
ArrivalRate: TypeAlias = Annotated[
    Floats,
    Quantity(
        "element/s",
        "elements that arrive in one stream a second, at a lane",
        "λ",
        low=0,
        typical=(1e3, 1e6),
    ),
]
LANE_ELEMENTS = Quantity(
    "element/call",
    "elements that a call brings to each lane at once",
    "m",
    low=1,
    high=1_000_000_000,
    integer=True,
    typical=(1, 64),
)
LaneElements: TypeAlias = Annotated[Floats, LANE_ELEMENTS]


class Pipeline(NamedTuple):
    """A pipeline and the streams that share it."""

    streams: Streams
    pipeline_depth: PipelineDepth
    context_switch: ContextSwitch


class Traffic(NamedTuple):
    """What arrives in each stream, and the clock that serves it."""

    arrival_rate: ArrivalRate
    clock_period: ClockPeriod


class Schedule(NamedTuple):
    """One round of the schedule, in clocks; NaN if there are fewer streams than stages."""

    length: Array
    """Clocks of a full round, in which each stream has `schedule_period` slots."""
    away: Array
    """Clocks of the round beyond the turn of a stream's own group."""


def make_schedule(
    streams: Floats, pipeline_depth: Floats, context_switch: Floats, schedule_period: Floats
) -> Schedule:
    """Return the length of a round and the part of it that a stream is swapped out."""
    groups = np.ceil(np.divide(streams, pipeline_depth))
    groups = np.where(np.less(streams, pipeline_depth), np.nan, groups)
    turn = np.multiply(schedule_period, pipeline_depth)
    switches = np.where(groups > 1, groups * context_switch, 0.0)
    away = (groups - 1) * turn + switches
    return Schedule(away + turn, away)


def find_distinct(table: Array) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """Return a design of each kind, and of which kind each design is: equal columns are one kind.

    Designs of a grid often differ only in variables on which a result does not depend. A hash
    identifies kinds. If two share one, which has the probability of a collision of 64-bit sums of
    products, each design is a separate kind.
    """
    bits = table.view(np.uint64)
    mixed = np.zeros(table.shape[1], np.uint64)
    for row in bits:
        mixed = (mixed ^ row) * np.uint64(0x9E3779B97F4A7C15)
        mixed ^= mixed >> np.uint64(29)
    _, first, same = np.unique(mixed, return_index=True, return_inverse=True)
    if not np.array_equal(np.take(bits, first[same], axis=1), bits):
        first = same = np.arange(mixed.size)
    return first, same


_part = functools.partial(declare_part, "s", "latency_printed")


@dataclass(frozen=True, eq=False)
class PrintedLatency:
    """The outputs of :func:`printed_latency`."""

    service_rate: Annotated[
        Array,
        Quantity("element/s", "service rate of a stream: its achievable throughput", "μ_s", low=0),
    ]
    total_throughput: Annotated[
        Array,
        Quantity("element/s", "achievable throughput of all streams together", "T_TOT", low=0),
    ]
    utilization: Annotated[
        Array, Quantity("1", "arrival rate over service rate of a stream", "ρ", low=0)
    ]
    queueing_time: Annotated[Array, _part("mean wait in the queue by the M/D/1 formula", "W_q")]
    swapped_out_time: Annotated[
        Array, _part("mean further wait while swapped out, as printed", "W_h")
    ]
    pipeline_time: Annotated[Array, _part("time in the pipeline", "W_s")]
    latency_printed: Annotated[
        Array,
        Quantity("s", "mean latency by the printed approximation", "W", low=0, better="lower"),
    ]
    queueing_occupancy: Annotated[
        Array, Quantity("element", "mean elements waiting by the M/D/1 formula", "N_q", low=0)
    ]
    swapped_out_occupancy: Annotated[
        Array, Quantity("element", "mean further elements waiting while swapped out", "N_h", low=0)
    ]


@model
@monotonic(
    service_rate="-streams -context_switch +schedule_period =arrival_rate -clock_period",
    total_throughput="-context_switch +schedule_period =arrival_rate -clock_period",
    utilization="+streams +context_switch -schedule_period +arrival_rate +clock_period",
    queueing_time="+streams +context_switch +arrival_rate +clock_period",
    swapped_out_time="+streams +context_switch +schedule_period =arrival_rate +clock_period",
    pipeline_time="=streams +pipeline_depth =context_switch =schedule_period =arrival_rate"
    " +clock_period",
    latency_printed="+streams +context_switch +arrival_rate +clock_period",
    queueing_occupancy="+streams +context_switch +arrival_rate +clock_period",
    swapped_out_occupancy="+streams +context_switch +schedule_period +arrival_rate +clock_period",
)
def printed_latency(
    pipeline: Pipeline, schedule_period: SchedulePeriod, traffic: Traffic
) -> PrintedLatency:
    """Rates, occupancies and mean latency as printed (Hall & Chamberlain 2014, equations 1–5).

    The latency is an approximation: in the paper's setting mostly 9 to 23 % below the exact one, in
    others up to 12 % above it (``sharing_figures.md``).
    :func:`objectives.sharing.exact_latency` is exact.
    Waits and occupancies are inf if the arrival rate reaches the service rate.

    With G = ⌈N/C⌉ groups, a slot comes every P/R = G (C + S/R) clocks if G > 1 and every C if not:
    it rises with N and S and falls with R, and rate, load and M/D/1 wait follow it. Time away
    H = (G − 1) R C + G S makes a wait of H²/2P, which rises with H at constant R C and with R:
    its derivative has the sign of G (G − 1) C² R + (G − 2) C G S. Latency as a whole may do either
    with R, and everything with C, since G C jumps. The queueing time is not declared to fall with
    R: if S = 0 it does not depend on R, but for the rounding of the load, which it amplifies
    without bound as the load comes near 1. All is NaN where ``streams < pipeline_depth``.
    """
    streams, depth, _ = pipeline
    arrival_rate, clock_period = traffic
    length, away = make_schedule(*pipeline, schedule_period)
    load = utilization(length, schedule_period, *traffic)
    between = length / schedule_period * clock_period  # mean time from slot to slot, 1/μ
    rate = 1.0 / between
    free = np.where(load < 1, 1 - load, np.where(np.isnan(load), np.nan, 0.0))
    with np.errstate(divide="ignore", invalid="ignore"):
        queueing = np.where(free > 0, between * load / (2 * free), free + np.inf)
    swapped_out = away**2 / (2 * length) * clock_period
    inside = np.where(np.isnan(load), np.nan, np.multiply(depth, clock_period))
    latency = queueing + swapped_out + inside
    return PrintedLatency(
        service_rate=rate,
        total_throughput=streams * rate,
        utilization=load,
        queueing_time=queueing,
        swapped_out_time=swapped_out,
        pipeline_time=inside,
        latency_printed=latency,
        queueing_occupancy=arrival_rate * queueing,
        swapped_out_occupancy=arrival_rate * swapped_out,
    )


def utilization(
    length: Array, schedule_period: Floats, arrival_rate: Floats, clock_period: Floats
) -> Array:
    """Return the arrivals of a round over its slots; every wait is inf if this reaches 1."""
    return np.multiply(arrival_rate, clock_period) * length / schedule_period
