"""The pace of a stream that always has a request waiting and may have q calls in flight.

A call begins its set-up when the thread has set up the last one and the call q before it has ended;
then it may wait, travels, and takes the next m slots of its stream. One of three paces applies: the
pace of the set-up, of the slots, or of the window, in which q calls pass in the time of one. The
first two are exact where no call in the worst phase of the schedule waits for the window. Elsewhere
the calls are followed one by one, because they determine the phase in which they meet the schedule:
a few outstanding calls may come back together and queue.

The wait of a call on its way is zero with the probability that the way is free, else evenly spread
with the given mean: near the wait of M/D/1. Its values come from a golden-ratio sequence. The
pace of a design is therefore a function of only its inputs.
"""

from __future__ import annotations

import itertools
from typing import Annotated, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from dse.model import Array, Floats, Quantity, model
from objectives.quantities import CallsInFlight, ClockPeriod, declare_cost
from objectives.sharing.schedule import (
    LaneElements,
    Pipeline,
    SchedulePeriod,
    find_distinct,
    make_schedule,
)

_SETTLING = 32
"""Calls before the count, times the calls in flight for many of them."""
_COUNTED = 64
"""Calls in each half of the count at least: the pace is between their mean ends."""
_ROWS = 1 << 14
"""Designs followed at a time: their columns stay in the cache."""
_MAX_KNOWN_PACES = 1 << 17
"""Designs whose pace is remembered: about 30 MB."""
_ON_THE_SLOT = 1e-9
"""Clocks by which a call may come after a slot and still be in time, for rounding's sake."""
_MARGIN = 1e-9
"""Fraction by which a bound must be beyond a limit to decide: the followed mean is rounded."""
_GOLDEN = (5**0.5 - 1) / 2


SetUpTime: TypeAlias = Annotated[
    Floats, declare_cost("s", "set-up of a call on the host", (1e-8, 1e-5))
]
TravelTime: TypeAlias = Annotated[
    Floats, declare_cost("s", "time of a call without set-up, waiting and engine", (1e-7, 1e-5))
]
LinkWaitTime: TypeAlias = Annotated[
    Floats,
    Quantity(
        "s",
        "mean wait of a call for the link",
        low=0,
        better="lower",
        typical=(0, 1e-7),
        label="queueing delay at the link",
    ),
]
LinkUtilization: TypeAlias = Annotated[
    Floats, declare_cost("1", "chance that a call waits for the link", (0, 1))
]
STREAM_INTERVAL = Quantity(
    "s", "mean time from call to call of a stream with q calls in flight", low=0
)


class CallWay(NamedTuple):
    """The steps of a call before it reaches the engine."""

    set_up_time: SetUpTime
    travel_time: TravelTime
    link_wait_time: LinkWaitTime = 0.0
    link_utilization: LinkUtilization = 0.0


class Pace(NamedTuple):
    """The output of :func:`stream_interval`."""

    stream_interval: Annotated[Array, STREAM_INTERVAL]


@model
def stream_interval(
    pipeline: Pipeline,
    schedule_period: SchedulePeriod,
    clock_period: ClockPeriod,
    lane_elements: LaneElements,
    calls_in_flight: CallsInFlight,
    way: CallWay,
) -> Pace:
    """Return the mean time from end to end of calls of a stream that always has one waiting.

    How a call meets the schedule is a matter of phase, so the interval may do anything with any
    input. It is inf if a part of the way is, NaN if ``streams < pipeline_depth``.

    Two slots of 4 clocks in a round of 24. A call that comes back 5 clocks after its end is away
    for the next slot; the second call in flight takes it.

    >>> design = dict(streams=8, pipeline_depth=4, context_switch=4, schedule_period=2,
    ...               clock_period=1.0, lane_elements=1, set_up_time=1.0, travel_time=4.0)
    >>> [float(stream_interval(**design, calls_in_flight=q).stream_interval) for q in (1, 2)]
    [24.0, 12.0]
    """
    return Pace(
        find_pace(pipeline, schedule_period, clock_period, lane_elements, calls_in_flight, way)
    )


def find_pace(
    pipeline: Pipeline,
    schedule_period: Floats,
    clock_period: Floats,
    lane_elements: Floats,
    calls_in_flight: Floats,
    way: CallWay,
    limit: Array | None = None,
) -> Array:
    """Return the interval of :func:`stream_interval` [s].

    Where only the comparison with a limit [s] matters, a limit saves most of the work: the interval
    is then only on the right side of it. Bounds decide most comparisons, so few calls are followed.
    """
    length, away = make_schedule(*pipeline, schedule_period)
    clocks = [np.divide(time, clock_period) for time in way[:3]]
    columns = (length, away, pipeline.pipeline_depth, schedule_period, lane_elements)
    rows = np.broadcast_arrays(*columns, calls_in_flight, *clocks, way.link_utilization)
    shape = rows[0].shape
    table = np.array(rows, dtype=np.float64).reshape(len(rows), rows[0].size)
    pace = _paces(table, None if limit is None else np.divide(limit, clock_period).ravel())
    return np.asarray((pace.reshape(shape) * clock_period)[()])


def _paces(table: Array, limit: Array | None) -> Array:
    length, away, depth, period, batch, window, set_up, travel, wait, _ = table
    slots = batch * length / period
    with np.errstate(invalid="ignore"):
        alone = set_up + travel + wait + slots + away * (1 - 1 / period) + depth
        pace: Array = np.maximum(set_up, slots)
        unknown = np.isfinite(alone) & (alone > window * pace)
        if limit is not None:
            shortest, longest = _bound_pace(table)
            pace = np.maximum(pace, shortest)
            unknown &= pace * (1 - _MARGIN) <= limit
            unknown &= longest * (1 + _MARGIN) > limit
    followed = np.flatnonzero(unknown)
    pace[np.isinf(alone)] = np.inf
    table = np.take(table, followed, axis=1)  # unlike table[:, followed], with contiguous rows
    first, same = find_distinct(table)
    found = _find_paces(np.take(table, first, axis=1))
    pace[followed] = np.maximum(pace[followed], found[same])  # may be less by rounding
    return pace


def _bound_pace(table: Array) -> tuple[Array, Array]:
    """Return bounds of the mean clocks from end to end of calls that wait for the window.

    A call ends at the earliest its set-up, travel and slots after the call that ends its window. It
    ends at the latest the longest wait on the way and for its first slot after the last call: then
    that call has left window and engine. A call that waits for the next round begins with its first
    slot, so wait and slots together span one round more than the least.
    """
    _, away, depth, period, batch, window, set_up, travel, wait, busy = table
    steps = set_up + travel + batch * depth
    turns = np.floor((batch - 1) / period)
    on_the_way = np.divide(2 * wait, busy, out=np.zeros_like(wait), where=busy > 0)
    longest = steps + on_the_way + depth + away * (turns + 1)
    return (steps - _ON_THE_SLOT + away * turns) / window, longest


_KNOWN_PACES: dict[bytes, float] = {}
"""Paces of designs by their columns: batches of a search have many designs in common."""


def _find_paces(table: Array) -> Array:
    """Return the mean clocks from end to end of designs, and follow only those not yet known."""
    keys = np.ascontiguousarray(table.T).view(f"V{table.itemsize * len(table)}").ravel().tolist()
    found = np.array([_KNOWN_PACES.get(key, np.nan) for key in keys], dtype=np.float64)
    new = np.flatnonzero(np.isnan(found))
    found[new] = _follow_designs(np.take(table, new, axis=1))
    if len(_KNOWN_PACES) + new.size > _MAX_KNOWN_PACES:
        _KNOWN_PACES.clear()
    new = new[:_MAX_KNOWN_PACES]
    _KNOWN_PACES.update(zip([keys[i] for i in new.tolist()], found[new].tolist(), strict=True))
    return found


def _follow_designs(table: Array) -> Array:
    """Follow the calls of designs, some at a time."""
    found = np.empty(table.shape[1])
    windows = np.maximum(table[5], 1).astype(int)
    order = np.argsort(windows, kind="stable")
    ordered = windows[order]
    longer = np.unique(ordered[ordered > _SETTLING // 2])  # each takes more calls than the last
    for alike in np.split(order, np.searchsorted(ordered, longer)):
        for low in range(0, alike.size, _ROWS):
            block = alike[low : low + _ROWS]
            found[block] = _follow(np.take(table, block, axis=1), windows[block])
    return found


def _follow(table: Array, windows: NDArray[np.int64]) -> Array:
    """Follow the calls of designs in the order of windows; return the mean clocks from end to end.

    The count spans whole windows, for the calls of one may come back together. One loop serves all
    windows, because it costs more than the arithmetic of a few designs. Arrays are used again,
    because fresh ones take as long as the arithmetic.
    """
    half = windows * -(-_COUNTED // windows)
    order = np.argsort(half, kind="stable")  # designs that count the same calls are neighbours
    windows, half = windows[order], half[order]
    length, away, depth, period, batch, _, set_up, travel, wait, busy = np.take(table, order, 1)
    latest, sums = int(windows.max()), np.zeros((2, length.size))  # of the halves of the count
    ends = np.zeros((latest, length.size))  # of the latest calls
    thread, free = np.zeros(length.size), np.zeros(length.size)
    longest = np.divide(2 * wait, busy, out=np.zeros_like(wait), where=busy > 0)
    slope = np.divide(longest, busy, out=np.zeros_like(wait), where=busy > 0)
    per_length, per_depth, in_time = 1 / length, 1 / depth, travel - _ON_THE_SLOT
    clock, rounds, passed = (np.empty(length.size) for _ in range(3))
    back = [(int(windows[part.start]), thread[part], ends[:, part]) for part in _runs(windows)]
    counts = [(int(half[part.start]), sums[:, part], ends[:, part]) for part in _runs(half)]
    settled = max(_SETTLING, 2 * latest)  # a window of more than `_SETTLING` / 2 is alone here
    together = max(1, _ROWS // length.size)  # calls whose waits are computed at once
    for call in range(settled + 2 * int(half[-1])):
        if call % together == 0:
            # the wait on the way that is exceeded with a chance: at most `longest`, evenly spread
            chances = (0.5 + np.arange(call, call + together) * _GOLDEN) % 1.0
            waits = np.multiply.outer(chances, slope)
            np.subtract(longest, waits, out=waits)
            np.maximum(waits, 0.0, out=waits)
        for window, started, ended in back:  # after the call that ends the window
            np.maximum(started, ended[(call - window) % latest], out=started)
        thread += set_up
        np.add(thread, in_time, out=clock)
        clock += waits[call % together]
        # the number of the first slot not before that; slot 0 is at 0
        np.floor(np.multiply(clock, per_length, out=rounds), out=rounds)
        clock -= np.multiply(rounds, length, out=passed)
        clock *= per_depth
        np.ceil(clock, out=clock)
        np.maximum(clock, 0.0, out=clock)
        np.minimum(clock, period, out=clock)  # of a huge clock, rounding
        rounds *= period
        clock += rounds
        np.maximum(free, clock, out=free)
        free += batch
        np.floor(np.divide(np.subtract(free, 1, out=rounds), period, out=rounds), out=rounds)
        rounds *= away
        end = ends[call % latest]
        np.add(np.multiply(free, depth, out=end), rounds, out=end)  # of the last slot
        if call >= settled:
            for calls, counted, ended in counts:
                if (part := (call - settled) // calls) < 2:
                    counted[part] += ended[call % latest]
    mean = np.empty(length.size)
    mean[order] = (sums[1] - sums[0]) / half**2
    return mean


def _runs(values: NDArray[np.int64]) -> list[slice]:
    """Return where equal neighbours are."""
    edges = [0, *(np.flatnonzero(np.diff(values)) + 1).tolist(), len(values)]
    return [slice(low, high) for low, high in itertools.pairwise(edges)]
