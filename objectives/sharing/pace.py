"""The pace of a stream that always has a request waiting and may have q calls in flight.

A call begins its set-up when the thread has set up the last one and the call q before it has ended;
then it may wait, travels, and takes the next m slots of its stream. One of three paces applies: the
pace of the set-up, of the slots, or of the window, in which q calls pass in the time of one. The
first two are exact where the line that bounds every call (:mod:`objectives.sharing.bound`) leaves
the window no part. Elsewhere the calls are followed one by one, because they determine the phase in
which they meet the schedule: a few outstanding calls may come back together and queue.

The wait of a call on its way is zero with the probability that the way is free, else evenly spread
with the given mean: near the wait of M/D/1. Its values come from a golden-ratio sequence. The
pace of a design is therefore a function of only its inputs.
"""

from __future__ import annotations

from typing import Annotated, NamedTuple

import numpy as np
from numpy.typing import NDArray

from dse.model import Array, Floats, Quantity, lower_bound, model
from objectives.quantities import CallsInFlight, ClockPeriod
from objectives.sharing._floors import slots_interval, window_interval
from objectives.sharing.quantities import LaneElements, Pipeline, SchedulePeriod
from objectives.sharing.schedule import schedule

_SETTLING = 32
"""Calls before the count, times the calls in flight for many of them."""
_COUNTED = 64
"""Calls in each half of the count at least: the pace is between their mean ends."""
_ROWS = 1 << 14
"""Designs followed at a time: their columns stay in the cache."""
_ON_THE_SLOT = 1e-9
"""Clocks by which a call may come after a slot and still be in time, for rounding's sake."""
GOLDEN = (5**0.5 - 1) / 2


class Way(NamedTuple):
    """The steps of a call before it reaches the engine."""

    set_up_time: Annotated[
        Floats,
        Quantity("s", "set-up of a call on the host", low=0, better="lower", typical=(1e-8, 1e-5)),
    ]
    travel_time: Annotated[
        Floats,
        Quantity(
            "s",
            "time of a call without set-up, waiting and engine",
            low=0,
            better="lower",
            typical=(1e-7, 1e-5),
        ),
    ]
    link_wait_time: Annotated[
        Floats,
        Quantity(
            "s",
            "mean wait of a call for the link",
            low=0,
            better="lower",
            typical=(0, 1e-7),
            label="queueing delay at the link",
        ),
    ] = 0.0
    link_utilization: Annotated[
        Floats,
        Quantity(
            "1", "chance that a call waits for the link", low=0, better="lower", typical=(0, 1)
        ),
    ] = 0.0


class Pace(NamedTuple):
    """The output of :func:`stream_interval`."""

    stream_interval: Annotated[
        Array,
        Quantity("s", "mean time from call to call of a stream with q calls in flight", low=0),
    ]


@lower_bound(stream_interval=slots_interval)
@lower_bound(stream_interval=window_interval)
@model
def stream_interval(
    pipeline: Pipeline,
    schedule_period: SchedulePeriod,
    clock_period: ClockPeriod,
    lane_elements: LaneElements,
    calls_in_flight: CallsInFlight,
    way: Way,
) -> Pace:
    """Return the mean time from end to end of calls of a stream that always has one waiting.

    How a call meets the schedule is a matter of phase, so the interval may do anything with any
    input; its floors are :mod:`objectives.sharing._floors`.

    Returns
    -------
    Pace
        Array of the broadcast shape of the inputs [s]: inf if a part of the way is, NaN if
        ``streams < pipeline_depth``. With one call in flight and no wait it is
        :func:`objectives.sharing.blocking.blocking_interval` to one part in a few hundred, for
        at least 128 calls are counted.

    Two slots of 4 clocks in a round of 24. A call that comes back 5 clocks after its end is away
    for the next slot; the second call in flight takes it.

    >>> design = dict(streams=8, pipeline_depth=4, context_switch=4, schedule_period=2,
    ...               clock_period=1.0, lane_elements=1, set_up_time=1.0, travel_time=4.0)
    >>> [float(stream_interval(**design, calls_in_flight=q).stream_interval) for q in (1, 2)]
    [24.0, 12.0]
    """
    length, away = schedule(*pipeline, schedule_period)
    clocks = [np.divide(time, clock_period) for time in way[:3]]
    columns = (length, away, pipeline.pipeline_depth, schedule_period, lane_elements)
    rows = np.broadcast_arrays(*columns, calls_in_flight, *clocks, way.link_utilization)
    shape = rows[0].shape
    table = np.stack([np.ravel(row).astype(np.float64) for row in rows])
    pace = _paces(table)
    return Pace((pace.reshape(shape) * clock_period)[()])


def _paces(table: Array) -> Array:
    length, away, depth, period, batch, window, set_up, travel, wait, _ = table
    slots = batch * length / period
    with np.errstate(invalid="ignore"):
        alone = set_up + travel + wait + slots + away * (1 - 1 / period) + depth
        pace: Array = np.maximum(set_up, slots)
        followed = np.flatnonzero(np.isfinite(alone) & (alone > window * pace))
    pace[np.isinf(alone)] = np.inf
    first, same = _distinct(table[:, followed])
    found = np.empty(first.size)
    order = np.argsort(window[followed[first]], kind="stable")
    for low in range(0, order.size, _ROWS):
        block = order[low : low + _ROWS]
        found[block] = _follow(table[:, followed[first[block]]])
    pace[followed] = np.maximum(pace[followed], found[same])  # may be less by rounding
    return pace


def _distinct(table: Array) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """Return a design of each kind, and of which kind each design is: equal designs are one kind.

    A hash identifies kinds. If two share one, which has the probability of a collision of 64-bit
    sums of products, each design is a separate kind.
    """
    mixed = np.zeros(table.shape[1], np.uint64)
    for row in np.ascontiguousarray(table).view(np.uint64):
        mixed = (mixed ^ row) * np.uint64(0x9E3779B97F4A7C15)
        mixed ^= mixed >> np.uint64(29)
    _, first, same = np.unique(mixed, return_index=True, return_inverse=True)
    if not np.array_equal(table[:, first[same]], table):
        first = same = np.arange(mixed.size)
    return first, same


def _follow(table: Array) -> Array:
    """Follow the calls of designs; return the mean clocks from end to end.

    The count spans whole windows, for the calls of one may come back together.
    """
    length, away, depth, period, batch, window, set_up, travel, wait, busy = table
    window = np.maximum(window, 1).astype(np.int64)
    most, designs = int(window.max()), window.size
    before, half = np.maximum(_SETTLING, 2 * window), window * -(-_COUNTED // window)
    early, late = _Sum.of(before, before + half), _Sum.of(before + half, before + 2 * half)
    ends = np.zeros((most, designs))  # of the latest calls
    earlier = np.arange(designs) - window * designs  # where the call is that ends a window
    thread, free, held = np.zeros(designs), np.zeros(designs), _Held.of(wait, busy)
    slots, in_time = _Slots.of(length, depth, period), travel - _ON_THE_SLOT
    came, place, rounds = np.empty(designs), np.empty_like(earlier), np.empty(designs)
    for call in range(int(np.max(before + 2 * half))):
        end = ends[call % most]
        ends.take(np.add(earlier, call % most * designs, out=place), mode="wrap", out=came)
        np.maximum(thread, came, out=thread)
        thread += set_up
        arrived = np.add(thread, in_time, out=came)
        held.add((0.5 + call * GOLDEN) % 1.0, arrived)
        np.maximum(free, slots.next(arrived), out=free)
        free += batch
        np.divide(np.subtract(free, 1, out=rounds), period, out=rounds)
        np.floor(rounds, out=rounds)
        rounds *= away
        np.add(np.multiply(free, depth, out=end), rounds, out=end)  # of the last slot
        early.add(call, end)
        late.add(call, end)
    return np.asarray((late.total - early.total) / half**2)


class _Sum(NamedTuple):
    """A sum over calls, from one on and before another; few of them differ by design."""

    low: NDArray[np.int64]
    high: NDArray[np.int64]
    bounds: tuple[int, int, int, int]
    total: Array

    @classmethod
    def of(cls, low: NDArray[np.int64], high: NDArray[np.int64]) -> _Sum:
        """Take the bounds of each design."""
        bounds = int(low.min()), int(low.max()), int(high.min()), int(high.max())
        return cls(low, high, bounds, np.zeros(low.size))

    def add(self, call: int, values: Array) -> None:
        """Add what a call gives to the designs that count it."""
        first, every, until, end = self.bounds
        if every <= call < until:
            np.add(self.total, values, out=self.total)
        elif first <= call < end:
            counted = (call >= self.low) & (call < self.high)
            np.add(self.total, values, out=self.total, where=counted)


class _Held(NamedTuple):
    """A wait on the way: nothing beyond the chance `busy`, else evenly spread with a mean."""

    longest: Array
    slope: Array
    now: Array

    @classmethod
    def of(cls, wait: Array, busy: Array) -> _Held:
        """Take the mean of all waits, and the chance of one."""
        longest = np.divide(2 * wait, busy, out=np.zeros_like(wait), where=busy > 0)
        slope = np.divide(longest, busy, out=np.zeros_like(wait), where=busy > 0)
        return cls(longest, slope, np.empty_like(wait))

    def add(self, chance: float, times: Array) -> None:
        """Add the wait that is exceeded with a chance."""
        np.subtract(self.longest, np.multiply(self.slope, chance, out=self.now), out=self.now)
        times += np.maximum(self.now, 0.0, out=self.now)


class _Slots(NamedTuple):
    """The slots of a stream, numbered; the first is at 0."""

    length: Array
    period: Array
    a_length: Array
    a_depth: Array
    rounds: Array
    passed: Array

    @classmethod
    def of(cls, length: Array, depth: Array, period: Array) -> _Slots:
        """Take the clocks of a round and between slots, and the slots of a round."""
        rest = np.empty_like(length), np.empty_like(length)
        return cls(length, period, 1 / length, 1 / depth, *rest)

    def next(self, clock: Array) -> Array:
        """Return the number of the first slot not before a clock, in the clock's own array.

        A clock is less than the call's by `_ON_THE_SLOT`, which is more than products round away up
        to some millions of clocks.
        """
        rounds = np.floor(np.multiply(clock, self.a_length, out=self.rounds), out=self.rounds)
        clock -= np.multiply(rounds, self.length, out=self.passed)
        clock *= self.a_depth
        np.ceil(clock, out=clock)
        np.maximum(clock, 0.0, out=clock)
        np.minimum(clock, self.period, out=clock)  # of a huge clock, rounding
        rounds *= self.period
        clock += rounds
        return clock
