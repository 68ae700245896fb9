"""The shared engine as one model: printed and exact latency, and the best schedule."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from dse.model import composed_of, model
from objectives.sharing.exact import ExactLatency, exact_latency
from objectives.sharing.optimum import ScheduleOptimum, best_schedule_period
from objectives.sharing.quantities import Pipeline, SchedulePeriod, Traffic
from objectives.sharing.schedule import PrintedLatency, printed_latency


@dataclass(frozen=True, eq=False)
class RoundRobin(PrintedLatency, ExactLatency, ScheduleOptimum):
    """The outputs of :func:`round_robin`, all of one shape."""

    def __post_init__(self) -> None:
        columns = np.broadcast_arrays(*vars(self).values())
        for name, column in zip(tuple(vars(self)), columns, strict=True):
            object.__setattr__(self, name, column[()])


@model
@composed_of(printed_latency, exact_latency, best_schedule_period)
def round_robin(
    pipeline: Pipeline, schedule_period: SchedulePeriod, traffic: Traffic
) -> RoundRobin:
    """Latency and throughput of streams that share an engine by hierarchical round robin.

    Assumes Poisson arrivals of equal rate in each stream, room for every element that waits, and
    elements that need one pass of the pipeline. See :mod:`objectives.sharing.schedule` for streams
    that are not a multiple of the pipeline depth.

    Returns
    -------
    RoundRobin
        Arrays of the broadcast shape of the inputs. Waits are inf if the arrival rate reaches
        the service rate; all is NaN if ``streams < pipeline_depth``.

    >>> shared = round_robin(8, 4, 4, 5, 6e6, 10e-9)
    >>> shared.latency * 1e9, shared.latency_printed * 1e9, shared.best_schedule_period
    (213.15, 186.87, 4.0)
    """
