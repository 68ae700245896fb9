"""The granularity from which on calls back to back are as fast as on the host.

LogCA's break-even (Altaf and Wood, LogCA: A High-Level Performance Model for Hardware Accelerators,
ISCA 2017) for a stream that shares link and engine and has q calls in flight: the crossing of the
host's time C · g^β with the mean time from call to call, by either arbitration.

The time from call to call has no closed form in the granularity, so the crossing is bracketed on
granularities a factor of 4 apart and then halved in the logarithm, in whole elements: a part of an
element takes as long as a whole one. With fixed slots the time is a
sawtooth, because a call of one more element may miss its slot: the last crossing of the bracket
counts.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, NamedTuple

import numpy as np
from numpy.typing import NDArray

from dse.model import Array, Floats, Quantity, lower_bound, model, monotonic
from objectives.power_law import power
from objectives.quantities import (
    ROUNDING,
    CallsInFlight,
    ClockCycles,
    ElementBytes,
    InterfaceLatency,
    Kernel,
    LinkTimePerByte,
    Passes,
    PipelineDepth,
    SetUp,
    SharedLink,
    Streams,
    TotalStreams,
)
from objectives.queues import constant_service_wait
from objectives.sharing.arbitration import (
    Arbitration,
    Columns,
    evaluate_each,
    queue_pace,
    slots_pace,
)
from objectives.sharing.schedule import ContextSwitch
from objectives.sharing.slots import count_slots

_FACTOR = 4.0
_BRACKETS = 12
"""Granularities of the scan: from one element to 4 million of them."""
_ROWS = 1 << 14
"""Designs times brackets that are compared at once."""
_HALVINGS = 7
"""Steps after the scan: the crossing is found to 1 %."""
_MAX_CUTS = 1 << 14
"""Designs times cuts that are compared at once: comparisons cost per call, not per design."""


class Lane(NamedTuple):
    """A lane and its clock, in cycles of the host."""

    pipeline_depth: PipelineDepth
    context_switch: ContextSwitch
    clock_period: ClockCycles
    element_bytes: ElementBytes
    passes: Passes


@dataclass(frozen=True, eq=False)
class BreakEven:
    """The output of `call_crossing`."""

    break_even: Annotated[
        Array,
        Quantity(
            "B",
            "granularity from which on calls back to back are as fast as on the host; inf: never",
            "g1",
            low=0,
            label="break-even granularity",
            reference=("computational_index", "complexity"),
        ),
    ]


class _LeastSize(NamedTuple):
    break_even: Annotated[Array, Quantity("B", "never a smaller granularity", low=0)]


@monotonic(break_even="+element_bytes")
@model
def _one_element(element_bytes: ElementBytes) -> _LeastSize:
    """Return the granularity of one element."""
    return _LeastSize(np.asarray(element_bytes, dtype=np.float64))


@lower_bound(break_even=_one_element)
@model
@np.errstate(all="ignore")
def call_crossing(
    kernel: Kernel,
    set_up: SetUp,
    interface_latency: InterfaceLatency,
    interface_latency_per_byte: LinkTimePerByte,
    shared_link: SharedLink,
    lane: Lane,
    arbitration: Arbitration,
    streams: Streams,
    total_streams: TotalStreams,
    stream_data_rate: Annotated[
        Floats,
        Quantity(
            "B/cycle",
            "data that one stream asks to have processed a cycle",
            above=0,
            typical=(1e-4, 1e-2),
        ),
    ],
    calls_in_flight: CallsInFlight,
) -> BreakEven:
    """Return the granularity at which a stream that always has a call waiting equals the host.

    The other streams offer their data rate in calls of the same granularity. The result is in
    bytes, of whole elements, to 1 %: one element if its calls are faster than the host, inf if
    calls of 4 million elements are slower.
    """
    interface = (*set_up, interface_latency, interface_latency_per_byte, shared_link)
    calls = (streams, total_streams, stream_data_rate, calls_in_flight)
    columns = (*kernel, *interface, *lane, *arbitration[1:], *calls)

    def slots(rows: Columns) -> tuple[Array, ...]:
        return (_find_crossing(rows, queued=False),)

    def queue(rows: Columns) -> tuple[Array, ...]:
        return (_find_crossing(rows, queued=True),)

    return BreakEven(*evaluate_each(arbitration.work_conserving, columns, slots, queue))


def _find_crossing(columns: Columns, queued: bool) -> Array:
    width = columns[10]
    low = np.zeros(width.size)  # the largest granularity of the scan at which the host is faster
    together = max(1, _ROWS // max(width.size, 1))  # brackets: calls cost more than a few designs
    for first in range(0, _BRACKETS, together):
        factors = _FACTOR ** np.arange(first, min(first + together, _BRACKETS))
        sizes = np.multiply.outer(factors, width)
        tiled = [np.broadcast_to(column, sizes.shape).ravel() for column in columns]
        slower = _is_slower(tiled, sizes.ravel(), queued).reshape(sizes.shape)
        low = np.maximum(low, np.where(slower, sizes, 0.0).max(axis=0))
    never = low >= width * _FACTOR ** (_BRACKETS - 1)
    bracketed = np.flatnonzero((low > 0) & ~never)
    rows = [column[bracketed] for column in columns]
    below, above = low[bracketed], low[bracketed] * _FACTOR
    remaining = _HALVINGS
    while remaining:
        halvings = min(remaining, max(1, int(np.log2(_MAX_CUTS / max(bracketed.size, 1)))))
        below, above = _halve(rows, below, above, halvings, queued)
        remaining -= halvings
    crossing = np.where(never, np.inf, width)
    crossing[bracketed] = np.ceil(above / rows[10] * (1 - ROUNDING)) * rows[10]
    return crossing


def _halve(
    rows: Columns, below: Array, above: Array, halvings: int, queued: bool
) -> tuple[Array, Array]:
    """Return intervals after some halvings, for which all their cuts are compared at once."""
    cuts = np.stack([below, above])
    for _ in range(halvings):
        halved = np.empty((2 * len(cuts) - 1, below.size))
        halved[::2], halved[1::2] = cuts, np.sqrt(cuts[:-1] * cuts[1:])
        cuts = halved
    inner = cuts[1:-1]
    tiled = [np.broadcast_to(row, inner.shape).ravel() for row in rows]
    slower = _is_slower(tiled, inner.ravel(), queued).reshape(inner.shape)
    # the cuts are those of a bisection: follow its answers, from the middle cut on
    first, designs = np.zeros(below.size, dtype=int), np.arange(below.size)
    for step in 2 ** np.arange(halvings)[::-1]:
        first += step * slower[first + step - 1, designs]
    return cuts[first, designs], cuts[first + 1, designs]


def _is_slower(columns: Columns, size: Array, queued: bool) -> NDArray[np.bool_]:
    c, b, o, h, latency, per_byte, shared, depth, switch, clock, width, passes, *rest = columns
    chained, lanes, period, streams, total, offered, window = rest
    size = np.ceil(size / width * (1 - ROUNDING)) * width
    _, elements = count_slots(size, width, lanes, depth, chained, passes)
    occupied = per_byte * size
    meeting = np.where(shared == 1, total, np.minimum(streams, total))
    load = meeting * offered * per_byte
    wait = np.where(occupied > 0, occupied * constant_service_wait(load), 0.0)
    left = 1 - (meeting - 1) * offered * per_byte
    link = np.where(left > 0, occupied / left, np.inf)
    way = (o + h * size, occupied + latency, wait, load, shared, link)
    pipeline = (streams, depth, switch, chained, lanes, period)
    rows = (*pipeline, clock, elements, offered / size, window, *way)
    host = c * power(size, b)
    (pace,) = (queue_pace if queued else slots_pace)(rows, limit=host)
    return np.asarray(~(np.maximum(pace, link) <= host))
