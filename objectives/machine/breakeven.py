"""From which granularity on calls back to back are served as fast as by the host.

LogCA's break-even (Altaf and Wood, LogCA: A High-Level Performance Model for Hardware Accelerators,
ISCA 2017) for a stream that shares link and engine and has q calls in flight.

Calls back to back end at least every ``max(set-up, link, slots, whole call / q)``. For this, lines
in the granularity must bound the slots of a call and its time at the engine in the worst phase
(:func:`objectives.sharing.engine_line`). A server that keeps such a line for one call keeps it for
calls in a row. In a row of such servers with a window the longest cycle sets the pace. Each of the
four times is therefore compared with the host's time C · g^β, whose crossings with a line are exact
roots (:mod:`objectives.power_law`). The true crossing is lower by the slack of the lines: less than
a round of the schedule and the slots of one element.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

import numpy as np

from dse.model import Array, Floats, Quantity, model, monotonic
from objectives.machine.calls import meeting_streams
from objectives.power_law import arrays, interval
from objectives.quantities import (
    CallsInFlight,
    ElementBytes,
    InterfaceLatency,
    Kernel,
    LinkTimePerByte,
    SetUp,
    SharedLink,
    Streams,
    TotalStreams,
)
from objectives.queues import constant_service_wait

StreamDataRate = Annotated[
    Floats,
    Quantity(
        "B/cycle",
        "data that one stream asks to have processed a cycle",
        above=0,
        typical=(1e-4, 1e-2),
    ),
]
EngineTimePerByte = Annotated[
    Floats,
    Quantity(
        "cycle/B",
        "time of a stream's slots for each byte of a call",
        low=0,
        better="lower",
        typical=(0.1, 10),
    ),
]
EngineRoundingTime = Annotated[
    Floats,
    Quantity(
        "cycle",
        "time of the slots by which a call is rounded up, at most",
        low=0,
        better="lower",
        typical=(1, 100),
    ),
]
EngineDelay = Annotated[
    Floats,
    Quantity(
        "cycle",
        "further time at the engine, in the worst phase of the schedule",
        low=0,
        better="lower",
        typical=(10, 1e4),
    ),
]


@dataclass(frozen=True, eq=False)
class CallBreakEven:
    """The output of `call_break_even`."""

    break_even_guaranteed: Annotated[
        Array,
        Quantity(
            "B",
            "granularity from which on calls back to back are never slower than on the host",
            low=0,
            label="guaranteed break-even granularity",
            reference=("computational_index", "complexity"),
        ),
    ]
    break_even_end: Annotated[
        Array,
        Quantity(
            "B",
            "granularity up to which they are as fast as on the host; inf: no end",
            low=0,
            label="largest beneficial granularity",
        ),
    ]


@model
@monotonic(
    break_even_guaranteed="-computational_index +interface_overhead +interface_overhead_per_byte"
    " +interface_latency +interface_latency_per_byte +shared_link +streams +total_streams"
    " +stream_data_rate +element_bytes +engine_time_per_byte +engine_rounding_time +engine_delay"
    " -calls_in_flight",
)
@np.errstate(all="ignore")
def call_break_even(
    kernel: Kernel,
    set_up: SetUp,
    interface_latency: InterfaceLatency,
    interface_latency_per_byte: LinkTimePerByte,
    shared_link: SharedLink,
    streams: Streams,
    total_streams: TotalStreams,
    stream_data_rate: StreamDataRate,
    element_bytes: ElementBytes,
    engine_time_per_byte: EngineTimePerByte,
    engine_rounding_time: EngineRoundingTime,
    engine_delay: EngineDelay,
    calls_in_flight: CallsInFlight,
) -> CallBreakEven:
    """Return the granularities between which calls back to back are as fast as on the host.

    All of them from `break_even_guaranteed` to `break_even_end` are, whatever the phase of the
    schedule; not all others are slower. The other streams load the link with their data rate,
    whatever the granularity, and their calls are as large; of the wait for the link the mean
    counts. :func:`objectives.sharing.call_crossing` gives the mean break-even.

    A steeper or higher line, or a faster host, leaves each of the four fewer granularities, and
    fewer that are in all: `break_even_guaranteed` is monotonic in each input but β. Its end is
    not, since never is inf for both.

    `element_bytes` is the least granularity; the lines of the engine are outputs of
    `objectives.sharing:engine_line`, in cycles.

    Returns
    -------
    CallBreakEven
        [B]; both are inf if calls are nowhere as fast.
    """
    o, per_byte, x = arrays(*set_up, interface_latency_per_byte)
    slots, rounding, delay = arrays(engine_time_per_byte, engine_rounding_time, engine_delay)
    c, b = arrays(*kernel)
    meeting = meeting_streams(shared_link, streams, total_streams)
    load = x * stream_data_rate  # of one stream
    left = np.maximum(1.0 - (meeting - 1.0) * load, 0.0)
    wait = np.where(x > 0, x * constant_service_wait(meeting * load), 0.0)
    alone = o + interface_latency + rounding + delay
    lines = (
        (c, per_byte, o),
        (c, np.where(x > 0, x / left, 0.0), np.zeros(())),
        (c, slots, rounding),
        (c * calls_in_flight, per_byte + x + wait + slots, alone),
    )
    low, high = arrays(element_bytes, np.inf)
    for gain, slope, fixed in lines:
        start, end = interval(*map(np.asarray, (gain, slope, fixed, b)))
        low, high = np.maximum(low, start), np.minimum(high, end)
    never = ~(low <= high)
    return CallBreakEven(np.where(never, np.inf, low)[()], np.where(never, np.inf, high)[()])
