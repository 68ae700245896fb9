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
:func:`~objectives.sharing.load.share_out` deals streams out over lanes and engines.
:func:`~objectives.sharing.simulation.simulate` is the cycle-accurate simulation, for other arrivals
than Poisson too.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from dse.model import composed_of, nan_outside
from objectives.sharing.exact import exact_latency
from objectives.sharing.optimum import best_schedule_period
from objectives.sharing.quantities import (
    ArrivalRate,
    BestSchedulePeriod,
    ClockPeriod,
    ContextSwitch,
    Latency,
    LatencyError,
    LatencyPrinted,
    LeastLatency,
    PipelineDepth,
    PipelineTime,
    QueueingOccupancy,
    QueueingTime,
    SchedulePeriod,
    ServiceRate,
    SmallestStableSchedulePeriod,
    Streams,
    SwappedOutOccupancy,
    SwappedOutTime,
    TotalThroughput,
    Utilization,
)
from objectives.sharing.schedule import printed_latency


class RoundRobin(NamedTuple):
    """The outputs of :func:`round_robin`."""

    service_rate: ServiceRate
    total_throughput: TotalThroughput
    utilization: Utilization
    queueing_time: QueueingTime
    swapped_out_time: SwappedOutTime
    pipeline_time: PipelineTime
    latency_printed: LatencyPrinted
    queueing_occupancy: QueueingOccupancy
    swapped_out_occupancy: SwappedOutOccupancy
    latency: Latency
    latency_error: LatencyError
    best_schedule_period: BestSchedulePeriod
    least_latency: LeastLatency
    smallest_stable_schedule_period: SmallestStableSchedulePeriod


@composed_of(printed_latency, exact_latency, best_schedule_period)
@nan_outside
def round_robin(
    streams: Streams,
    pipeline_depth: PipelineDepth,
    context_switch: ContextSwitch,
    schedule_period: SchedulePeriod,
    arrival_rate: ArrivalRate,
    clock_period: ClockPeriod,
) -> RoundRobin:
    """Latency and throughput of streams that share an engine by hierarchical round robin.

    Assumes Poisson arrivals of equal rate in each stream, room for every element that waits, and
    elements that need one pass of the pipeline. See :mod:`objectives.sharing.schedule` for streams
    that are no multiple of the pipeline depth.

    Returns
    -------
    RoundRobin
        Arrays of the broadcast shape of the inputs. Waits are inf where the arrival rate reaches
        the service rate; all is NaN where ``streams < pipeline_depth``.

    >>> shared = round_robin(8, 4, 4, 5, 6e6, 10e-9)
    >>> shared.latency * 1e9, shared.latency_printed * 1e9, shared.best_schedule_period
    (213.15, 186.87, 4.0)
    """
    outputs = (
        *printed_latency(
            streams, pipeline_depth, context_switch, schedule_period, arrival_rate, clock_period
        ),
        *exact_latency(
            streams, pipeline_depth, context_switch, schedule_period, arrival_rate, clock_period
        ),
        *best_schedule_period(streams, pipeline_depth, context_switch, arrival_rate, clock_period),
    )
    return RoundRobin(*(column[()] for column in np.broadcast_arrays(*outputs)))
