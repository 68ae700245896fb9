"""What a call costs if requests are queued ahead of an accelerator.

Altaf and Wood, LogCA: A Performance Model for Hardware Accelerators, IEEE Computer Architecture
Letters 14(2), 2015, section 2: the model is of an accelerator that returns one call before it takes
the next; for a pipelined one, overhead and latency stand for their non-overlapped parts. This
module takes these parts.

Assumptions: the previous call lasts at least as long as what is hidden behind it; the same share of
overhead and latency is hidden; latency per byte is not, since the link is busy with each byte of
each call.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

import numpy as np

from dse.model import Array, Floats, Quantity, composed_of, model
from objectives.machine.quantities import BUFFER_BITS

_BUFFERS = 2.0  # one is filled while the other is worked on
_BITS = 8.0  # of a byte

Overlap = Annotated[
    Floats,
    Quantity(
        "1",
        "share of overhead and latency hidden behind the previous call",
        low=0,
        below=1,
        better="higher",
    ),
]
InterfaceOverhead = Annotated[
    Floats,
    Quantity("cycle", "setup of one call alone", "o", low=0, better="lower", typical=(10, 1e6)),
]
InterfaceLatency = Annotated[
    Floats,
    Quantity(
        "cycle",
        "latency of one call alone, whatever its size",
        "L",
        low=0,
        better="lower",
        typical=(1, 1e4),
    ),
]
ResponseTime = Annotated[
    Floats,
    Quantity(
        "cycle",
        "time of an element in the engine's pipeline, in cycles of the host",
        "W_s",
        low=0,
        better="lower",
        typical=(0, 1e3),
    ),
]
BufferedGranularity = Annotated[
    Floats,
    Quantity("B", "largest call that the buffers hold", low=0, typical=(16, 1e6)),
]


@dataclass(frozen=True, eq=False)
class CallCost:
    """What `call_cost` gives."""

    overhead: Annotated[Array, Quantity("cycle", "setup of a call that is not hidden", "o", low=0)]
    latency: Annotated[Array, Quantity("cycle", "latency of a call that is not hidden", "L", low=0)]


@dataclass(frozen=True, eq=False)
class CallBuffer:
    """What `call_buffer` gives."""

    buffer_bits: Annotated[Array, BUFFER_BITS]


@dataclass(frozen=True, eq=False)
class Attachment(CallCost, CallBuffer):
    """What `attach` gives."""


@model
def call_cost(
    interface_overhead: InterfaceOverhead,
    interface_latency: InterfaceLatency,
    response_time: ResponseTime = 0.0,
    overlap: Overlap = 0.0,
) -> CallCost:
    """Return the parts of overhead and latency that do not overlap with the previous call.

    They are ``(1 − overlap) · o`` and ``(1 − overlap) · (L + response_time)``.

    >>> cost = call_cost(1_000.0, 100.0, response_time=20.0, overlap=0.75)
    >>> float(cost.overhead), float(cost.latency)
    (250.0, 30.0)
    """
    share = 1.0 - np.asarray(overlap, dtype=np.float64)
    return CallCost(share * interface_overhead, share * (interface_latency + response_time))


@model
def call_buffer(buffered_granularity: BufferedGranularity, overlap: Overlap = 0.0) -> CallBuffer:
    """Return the memory that queueing takes: a double buffer of the hidden share of a call.

    >>> float(call_buffer(1024.0, overlap=0.5).buffer_bits)
    8192.0
    """
    return CallBuffer(
        _BUFFERS * _BITS * np.asarray(overlap, dtype=np.float64) * buffered_granularity
    )


@composed_of(call_cost, call_buffer)
def attach(
    interface_overhead: InterfaceOverhead,
    interface_latency: InterfaceLatency,
    buffered_granularity: BufferedGranularity,
    response_time: ResponseTime = 0.0,
    overlap: Overlap = 0.0,
) -> Attachment:
    """Return what a call costs behind an interface, and the memory that hides the rest.

    Parameters
    ----------
    interface_overhead, interface_latency, response_time : float or ndarray
        Of one call alone [cycle].
    buffered_granularity : float or ndarray
        Largest call that is queued [B]; only `buffer_bits` needs it.
    overlap : float or ndarray
        Share hidden behind the previous call.

    Returns
    -------
    Attachment
        `overhead` and `latency` [cycle] as the LogCA model takes them, `buffer_bits` [bit].
    """
