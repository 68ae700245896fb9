"""The times of calls of a stream that has one in flight: of the first, and of those that follow it.

A call that waited begins when the last one ends, so its phase of the schedule is what that one
left. One that finds the stream idle comes an exponential time after an end, not in any phase: while
a stream waits for its turn it is not idle. Both are sampled over busy periods, whose idle times,
lengths and waits on the way come from low-discrepancy sequences, so that the outputs are functions
of the inputs alone.
"""

from __future__ import annotations

from typing import Annotated, NamedTuple

import numpy as np

from dse.model import Array, Quantity, model
from objectives.quantities import CallRate, ClockPeriod
from objectives.sharing.calls import call_service
from objectives.sharing.pace import GOLDEN, Held, Way, ends_at
from objectives.sharing.quantities import LaneElements, Pipeline, SchedulePeriod
from objectives.sharing.schedule import schedule

_PERIODS = 64
_FOLLOWING = 3
_SILVER = 2**0.5 - 1
_ROWS = 1 << 12
"""Designs followed at a time: their columns stay in the cache."""


class Following(NamedTuple):
    """The outputs of :func:`following_calls`."""

    first_time: Annotated[
        Array, Quantity("s", "mean time of a call that waits for none of its stream", low=0)
    ]
    first_deviation: Annotated[
        Array, Quantity("s", "standard deviation of the time of such a call", low=0)
    ]
    following_time: Annotated[
        Array, Quantity("s", "mean time of a call that begins when the last one ends", low=0)
    ]
    following_deviation: Annotated[
        Array, Quantity("s", "standard deviation of the time of a call that follows", low=0)
    ]


@model
def following_calls(
    pipeline: Pipeline,
    schedule_period: SchedulePeriod,
    clock_period: ClockPeriod,
    lane_elements: LaneElements,
    way: Way,
    call_rate: CallRate,
) -> Following:
    """Return the times of calls of a stream that has one in flight, from set-up to end.

    The k-th call after a first one counts with the chance that so many follow if each does with the
    chance that the stream is busy.

    Returns
    -------
    Following
        Arrays of the broadcast shape of the inputs [s]: NaN if ``streams < pipeline_depth``, or if
        the wait on the way is not finite.
    """
    length, _ = schedule(*pipeline, schedule_period)
    at_engine = call_service(*pipeline, schedule_period, 1.0, lane_elements).engine_time_alone
    clocks = [np.divide(time, clock_period) for time in way[:3]]
    rate = np.multiply(call_rate, clock_period)
    columns = (length, pipeline.pipeline_depth, schedule_period, lane_elements, at_engine)
    rows = np.broadcast_arrays(*columns, *clocks, way.link_utilization, rate)
    shape = rows[0].shape
    table = np.stack([np.ravel(row).astype(np.float64) for row in rows])
    found = np.full((4, table.shape[1]), np.nan)
    known = np.flatnonzero(np.isfinite(table).all(axis=0))
    for first in range(0, known.size, _ROWS):
        block = known[first : first + _ROWS]
        found[:, block] = _sample(table[:, block])
    times = (column.reshape(shape) * clock_period for column in found)
    return Following(*(time[()] for time in times))


def _sample(table: Array) -> Array:
    length, depth, period, batch, at_engine, set_up, travel, wait, busy, rate = table
    engine = (length, depth, period, batch)
    way = set_up + travel
    alone = way + wait + at_engine
    chance = np.minimum(rate * alone, 0.95)
    rate = np.maximum(rate, 1e-12 / length)  # a stream without calls is the limit
    firsts, following = np.zeros((3, length.size)), np.zeros((2, length.size))
    number, clock, held = 0, np.zeros_like(length), Held.of(wait, busy)
    for busy_period in range(_PERIODS):
        quantile = (0.5 + busy_period * _SILVER) % 1.0
        stop = (0.5 + busy_period * GOLDEN) % 1.0
        # an exponential idle time, but for whole rounds, which move no phase
        begun = clock - np.log1p(quantile * np.expm1(-rate * length)) / rate
        any_phase = clock + quantile * length
        for call in range(_FOLLOWING + 1):
            number += 1
            late = held.at((0.5 + number * GOLDEN) % 1.0)
            end = ends_at(begun + way + late, *engine)
            time = end - begun
            if call:
                weight = chance ** (call - 1) * (1 if call == _FOLLOWING else 1 - chance)
                following += np.stack([weight * time, weight * time**2])
            else:
                known = ends_at(any_phase + way + late, *engine) - any_phase
                firsts += np.stack([time, time**2, time - known])
            clock = np.where(chance**call > stop, end, clock)
            begun = end
        clock = np.mod(clock, length)
    first, first_square, difference, mean, square = np.concatenate([firsts, following]) / _PERIODS
    squares = np.stack([first_square - first**2, square - mean**2])
    spread, spread_after = np.sqrt(np.maximum(squares, 0.0))
    # the mean over any phase is known: the sample gives but the difference
    return np.stack([np.maximum(alone + difference, way), spread, mean, spread_after])
