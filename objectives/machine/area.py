"""Area of an accelerator: engine, pipeline registers, contexts, memories and interface.

A proxy for comparing designs, in 6-input LUTs of Xilinx' 7 series; it adds parts and knows nothing
of placement. Coefficients come from catalogs, each with its source and, if it was measured in other
cells, its conversion. Only some LUTs of a device can be memory (a third in the 7 series); that
bound is not checked.

Contexts: Hall and Chamberlain, Performance Modeling of Virtualized Custom Logic Computations, ASAP
2014, section I and Figure 1. C streams have their state in the pipeline, the state of the others
waits in a secondary memory.
"""

from __future__ import annotations

import functools
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated, NamedTuple

import numpy as np

from dse.model import Array, Floats, Quantity, model, monotonic
from objectives.machine.quantities import BUFFER_BITS, ENGINE_AREA, REGISTER_AREA
from objectives.quantities import (
    AREA,
    AREA_INTERFACE,
    CallsInFlight,
    Engines,
    InterfaceArea,
    Lanes,
    MemoryAreaPerBit,
    PipelineDepth,
    SharedLink,
    Streams,
    declare_cost,
    declare_part,
)

_part = functools.partial(declare_part, "LUT", "area")


class Area(NamedTuple):
    """The output of `total_area`."""

    area: Annotated[Array, AREA]
    area_engine: Annotated[Array, _part("logic of all lanes")]
    area_registers: Annotated[Array, _part("pipeline stages")]
    area_contexts: Annotated[Array, _part("secondary memory of contexts")]
    area_buffers: Annotated[Array, _part("data of calls in flight")]
    area_cache: Annotated[Array, _part("cache data")]
    area_interface: Annotated[Array, AREA_INTERFACE]


@model
@monotonic(
    area="+engine_area +memory_area_per_bit +register_area +interface_area -pipeline_depth +lanes"
    " +streams +context_bits +buffer_bits +cache_size +engines -shared_link"
)
def total_area(
    engine_area: Annotated[Floats, ENGINE_AREA],
    memory_area_per_bit: MemoryAreaPerBit,
    register_area: Annotated[Floats, REGISTER_AREA] = 0.0,
    interface_area: InterfaceArea = 0.0,
    pipeline_depth: PipelineDepth = 1.0,
    lanes: Lanes = 1.0,
    streams: Annotated[
        Floats,
        Quantity("1", "streams that share a pipeline", "N", low=0, integer=True, typical=(0, 256)),
    ] = 0.0,
    context_bits: Annotated[Floats, declare_cost("bit", "state of a stream", (0, 4096))] = 0.0,
    buffer_bits: Annotated[Floats, BUFFER_BITS] = 0.0,
    cache_size: Annotated[
        Floats, declare_cost("bit", "data of the accelerator's cache", (0, 1e6))
    ] = 0.0,
    engines: Engines = 1.0,
    shared_link: SharedLink = 0.0,
) -> Area:
    """Return the area and its parts.

    Each lane keeps ``streams − pipeline_depth`` contexts in its secondary memory, none if that is
    negative. Tags and logic of a cache are not counted. All but a shared interface is counted for
    each engine: one in the pipeline serves only its own core, one behind a bus or DMA all.

    >>> result = total_area(10_000, 1 / 64, streams=8, pipeline_depth=4, context_bits=1024)
    >>> float(result.area_contexts), float(result.area)
    (64.0, 10064.0)
    """
    waiting = np.maximum(np.subtract(streams, pipeline_depth, dtype=np.float64), 0.0)
    parts = (
        engine_area,
        register_area,
        memory_area_per_bit * context_bits * lanes * waiting,
        memory_area_per_bit * np.asarray(buffer_bits, dtype=np.float64),
        memory_area_per_bit * np.asarray(cache_size, dtype=np.float64),
        np.asarray(interface_area, dtype=np.float64),
    )
    return Area(*_sum_parts(parts, engines, shared_link))


class ChipArea(NamedTuple):
    """The outputs of `chip_area`."""

    area: Annotated[Array, AREA]
    area_engine: Annotated[Array, _part("logic of all lanes")]
    area_registers: Annotated[Array, _part("pipeline stages")]
    area_arbiter: Annotated[Array, _part("arbiters")]
    area_contexts: Annotated[Array, _part("secondary memory of contexts")]
    area_buffers: Annotated[Array, _part("data of calls in flight")]
    area_interface: Annotated[Array, AREA_INTERFACE]


@model
@monotonic(
    area="+engine_area +register_area +interface_area +memory_area_per_bit +buffer_area_per_bit"
    " +arbiter_area +stored_contexts +context_bits +buffer_bits +streams +engines -shared_link"
)
def chip_area(
    engine_area: Annotated[Floats, ENGINE_AREA],
    interface_area: InterfaceArea,
    memory_area_per_bit: MemoryAreaPerBit,
    buffer_area_per_bit: Annotated[
        Floats, declare_cost("LUT/bit", "area of a bit of a call's data", (0.005, 0.1))
    ],
    arbiter_area: Annotated[Floats, declare_cost("LUT", "arbiter, for each stream", (0, 20))],
    stored_contexts: Annotated[
        Floats,
        Quantity("1", "contexts in the secondary memory of an engine", low=0, typical=(0, 64)),
    ],
    context_bits: Annotated[Floats, declare_cost("bit", "state of a stream", (0, 4096))],
    buffer_bits: Annotated[Floats, BUFFER_BITS],
    streams: Streams,
    engines: Engines,
    shared_link: SharedLink,
    register_area: Annotated[Floats, REGISTER_AREA] = 0.0,
) -> ChipArea:
    """Return the area of all engines and interfaces, and its parts.

    An interface with an unshared link is counted for each engine, a shared one once.

    >>> result = chip_area(10_000, 500, 1 / 64, 1 / 128, 4, stored_contexts=4, context_bits=640,
    ...                    buffer_bits=65_536, streams=8, engines=2, shared_link=1)
    >>> float(result.area_contexts), float(result.area_buffers), float(result.area)
    (80.0, 1024.0, 21668.0)
    """
    parts = (
        engine_area,
        register_area,
        np.multiply(arbiter_area, streams),
        np.multiply(memory_area_per_bit, context_bits) * stored_contexts,
        np.multiply(buffer_area_per_bit, buffer_bits),
        np.asarray(interface_area, dtype=np.float64),
    )
    return ChipArea(*_sum_parts(parts, engines, shared_link))


def _sum_parts(parts: Sequence[Floats], engines: Floats, shared_link: Floats) -> list[Array]:
    """Return the sum and the parts of all engines; the last part, the interface, may be shared."""
    counts = (engines,) * 5 + (np.where(np.equal(shared_link, 1.0), 1.0, engines),)
    arrays = [np.multiply(p, n, dtype=np.float64) for p, n in zip(parts, counts, strict=True)]
    return [functools.reduce(np.add, arrays), *arrays]


# ---------------------------------------------------------------------- memory of outstanding calls

_BITS = 8.0  # of a byte


@dataclass(frozen=True, eq=False)
class CallBuffers:
    """The output of `call_buffers`."""

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
