"""The slots that a call takes in the lanes of an engine, and the engines and stored contexts.

A chained kernel (AES-CBC) needs the result of an element for the next one, so a call uses one
lane, in which its slots are C clocks apart. With fixed slots, the streams of an engine are then
dealt over its lanes. The elements of an independent kernel (AES-CTR) are dealt over all lanes, with
slots of a stream one clock apart; a further pass of an element begins C clocks after the last one.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, TypeAlias

import numpy as np

from dse.model import Array, Floats, Quantity, composed_of, model, monotonic
from objectives.quantities import (
    ENGINES,
    ROUNDING,
    ElementBytes,
    Granularity,
    Lanes,
    Passes,
    PipelineDepth,
    Streams,
    TotalStreams,
)
from objectives.sharing.schedule import LANE_ELEMENTS

Chained: TypeAlias = Annotated[
    Floats,
    Quantity(
        "1",
        "1: an element needs the result of the one before it; 0: elements are independent",
        low=0,
        high=1,
        integer=True,
        typical=(0, 1),
    ),
]


@dataclass(frozen=True, eq=False)
class LaneSlots:
    """The outputs of `lane_slots`."""

    call_elements: Annotated[
        Array, Quantity("element/call", "elements of a call", "n", low=1, integer=True)
    ]
    lane_elements: Annotated[Array, LANE_ELEMENTS]


@dataclass(frozen=True, eq=False)
class ContextStore:
    """The output of `context_store`."""

    stored_contexts: Annotated[
        Array, Quantity("1", "contexts in the secondary memory of an engine", low=0)
    ]


@dataclass(frozen=True, eq=False)
class EngineCount:
    """The output of `engine_count`: as many as serve all streams."""

    engines: Annotated[Array, ENGINES]


@dataclass(frozen=True, eq=False)
class CallSlots(LaneSlots, EngineCount, ContextStore):
    """The outputs of `call_slots`."""


@model
@monotonic(
    call_elements="+granularity -element_bytes =lanes =pipeline_depth =chained =passes",
    lane_elements="+granularity -element_bytes +passes -lanes +pipeline_depth",
)
def lane_slots(
    granularity: Granularity,
    element_bytes: ElementBytes,
    lanes: Lanes,
    pipeline_depth: PipelineDepth,
    chained: Chained,
    passes: Passes = 1.0,
) -> LaneSlots:
    """Return the elements of a call, and its slots in its fullest lane.

    Chained elements take ``n · passes`` slots of one lane. Independent ones are dealt over the
    lanes, ``e = ceil(n / lanes)`` in the fullest one. They take ``e · passes`` slots there, or
    ``(passes − 1) · C + e`` if that is more: too few elements leave slots between the passes empty.

    >>> cbc, ctr = (lane_slots(1024, 16, 4, 8, chained, passes=4) for chained in (1, 0))
    >>> float(cbc.lane_elements), float(ctr.lane_elements)
    (256.0, 64.0)
    """
    return LaneSlots(
        *count_slots(granularity, element_bytes, lanes, pipeline_depth, chained, passes)
    )


@model
@monotonic(stored_contexts="+streams -pipeline_depth")
def context_store(
    streams: Streams, pipeline_depth: PipelineDepth, lanes: Lanes, chained: Chained
) -> ContextStore:
    """Return the contexts that the secondary memory of an engine keeps.

    For chained elements these are of the streams that are not in the pipelines. For independent
    elements, each lane has a context of each other stream.

    >>> float(context_store(64, 8, 4, chained=1).stored_contexts)
    32.0
    """
    inside = np.multiply(lanes, pipeline_depth)
    waiting = np.maximum(np.subtract(streams, inside), 0.0)
    others = np.multiply(lanes, np.subtract(streams, 1.0))
    return ContextStore(np.where(np.equal(chained, 1), waiting, others))


@model
@monotonic(
    engines="+total_streams -streams",
)
def engine_count(total_streams: TotalStreams, streams: Streams) -> EngineCount:
    """Return how many engines serve all streams, each of them `streams`; the last may have fewer.

    >>> float(engine_count(64, 24).engines)
    3.0
    """
    return EngineCount(np.ceil(np.asarray(total_streams, dtype=np.float64) / streams))


@composed_of(lane_slots, engine_count, context_store)
def call_slots(
    granularity: Granularity,
    element_bytes: ElementBytes,
    lanes: Lanes,
    pipeline_depth: PipelineDepth,
    chained: Chained,
    streams: Streams,
    total_streams: TotalStreams,
    passes: Passes = 1.0,
) -> CallSlots:
    """Return the slots that a call takes in its lanes, and the engines and what each keeps."""


def count_slots(
    granularity: Floats,
    element_bytes: Floats,
    lanes: Floats,
    pipeline_depth: Floats,
    chained: Floats,
    passes: Floats,
) -> tuple[Array, Array]:
    """Return the elements of a call, and its slots in its fullest lane."""
    elements = np.ceil(np.divide(granularity, element_bytes) * (1 - ROUNDING))
    dealt = np.ceil(elements / lanes)
    independent = np.maximum(dealt * passes, np.subtract(passes, 1.0) * pipeline_depth + dealt)
    return elements, np.where(np.equal(chained, 1), elements * passes, independent)
