"""The pace of a stream that has one call at a time and waits for its end.

Everything is deterministic: a call takes the first slots from when it reaches the engine, and the
next one reaches it a fixed time after the end. The slot of a call's last element therefore fixes
the last slot of the next call. The schedule repeats: the place among the R slots of a round fixes
the next place. This is a monotone map of a circle to itself. Its mean advance is the same from
every start (Poincaré's rotation number), and is found exactly from one period.
"""

from __future__ import annotations

from typing import Annotated, NamedTuple

import numpy as np

from dse.model import Array, Floats, Quantity, model
from objectives.quantities import ClockPeriod
from objectives.sharing.quantities import LaneElements, Pipeline, SchedulePeriod
from objectives.sharing.schedule import schedule

_ON_THE_SLOT = 1e-9
"""Clocks by which a call may come after a slot and still be in time, for rounding's sake."""

TurnaroundTime = Annotated[
    Floats,
    Quantity(
        "s",
        "time from the end of a call at the engine until the stream's next one reaches it",
        "Z",
        low=0,
        better="lower",
        typical=(0, 1e-4),
    ),
]


class Blocking(NamedTuple):
    """The output of :func:`blocking_interval`."""

    blocking_interval: Annotated[
        Array,
        Quantity("s", "time from call to call of a stream that has one call at a time", low=0),
    ]


@model
def blocking_interval(
    pipeline: Pipeline,
    schedule_period: SchedulePeriod,
    clock_period: ClockPeriod,
    lane_elements: LaneElements,
    turnaround_time: TurnaroundTime,
) -> Blocking:
    """Return the mean time between the calls of a stream that has one call at a time, exactly.

    Returns
    -------
    Blocking
        Array of the broadcast shape of the inputs [s]: inf if the turnaround is, NaN if
        ``streams < pipeline_depth``. It is at least `engine_interval` of
        :func:`objectives.sharing.calls.call_service`, and without the turnaround it is at least the
        m slots of a turn and at most `engine_time_worst`.

    Two slots of 4 clocks in a round of 24. A call that comes back at once takes each slot; one
    that comes back 5 clocks after its end is away for the next.

    >>> at_once = blocking_interval(8, 4, 4, 2, 1.0, 1, 0.0)
    >>> later = blocking_interval(8, 4, 4, 2, 1.0, 1, 5.0)
    >>> float(at_once.blocking_interval), float(later.blocking_interval)
    (12.0, 24.0)
    """
    length, _ = schedule(*pipeline, schedule_period)
    away = np.divide(turnaround_time, clock_period)
    columns = (length, pipeline.pipeline_depth, schedule_period, lane_elements, away)
    shape = np.broadcast_shapes(np.shape(clock_period), *(np.shape(c) for c in columns))
    rows = np.stack([np.broadcast_to(c, shape).ravel() for c in columns]).astype(np.float64)
    clocks = np.where(np.isnan(rows).any(axis=0), np.nan, np.inf)
    finite = np.flatnonzero(np.isfinite(rows).all(axis=0))
    clocks[finite] = _mean_interval(*rows[:, finite])
    return Blocking((clocks.reshape(shape) * clock_period)[()])


def _mean_interval(length: Array, depth: Array, period: Array, batch: Array, away: Array) -> Array:
    """Return the mean clocks from call to call, by Brent's search for a period of the slots.

    A step has most R places to go to, so a period is found within a few times R steps; a stream
    usually falls into step with the schedule after a few.
    """
    clocks = np.empty_like(length)
    rounds_away = np.floor(away / length)  # whole rounds move no slot
    rest = away - rounds_away * length
    in_time = _ON_THE_SLOT + 4 * np.finfo(np.float64).eps * away
    whole = rounds_away + np.floor((batch - 1) / period)  # rounds that every call takes
    further = np.mod(batch - 1, period)
    design = np.arange(length.size)
    place, rounds = further.copy(), np.zeros_like(length)
    marked, steps, most = place.copy(), 0, 1
    while design.size:
        arrived = (place + 1) * depth[design] + rest[design] - in_time[design]
        turns = np.floor(arrived / length[design])
        into = arrived - turns * length[design]
        slot = np.minimum(np.ceil(into / depth[design]), period[design]) + further[design]
        more = np.floor(slot / period[design])
        place = slot - more * period[design]
        rounds = rounds + turns + more
        steps += 1
        back = place == marked
        ended = design[back]
        clocks[ended] = length[ended] * (whole[ended] + rounds[back] / steps)
        design, place, rounds, marked = (x[~back] for x in (design, place, rounds, marked))
        if steps == most:
            marked, rounds, steps, most = place.copy(), np.zeros_like(rounds), 0, 2 * most
    return clocks
