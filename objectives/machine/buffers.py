"""The memory of outstanding calls outside the engine."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

import numpy as np

from dse.model import Array, Floats, Quantity, model, monotonic
from objectives.machine.quantities import BUFFER_BITS
from objectives.quantities import CallsInFlight, Streams

_BITS = 8.0  # of a byte


@dataclass(frozen=True, eq=False)
class CallBuffers:
    """What `call_buffers` gives."""

    buffer_bits: Annotated[Array, BUFFER_BITS]


@model
@monotonic(
    buffer_bits="+buffered_granularity +calls_in_flight +streams",
)
def call_buffers(
    buffered_granularity: Annotated[
        Floats, Quantity("B", "largest call that the buffers hold", low=0, typical=(16, 1e6))
    ],
    calls_in_flight: CallsInFlight,
    streams: Streams,
) -> CallBuffers:
    """Return the memory for the data of the calls in flight of all streams of an engine.

    Assumption: an engine works in place. A call's result then needs no memory but its data.

    >>> float(call_buffers(1024.0, calls_in_flight=2, streams=8).buffer_bits)
    131072.0
    """
    held = np.multiply(calls_in_flight, streams, dtype=np.float64)
    return CallBuffers(_BITS * held * buffered_granularity)
