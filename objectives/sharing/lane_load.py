"""The division of streams: the elements of a call per lane, and the number of engines for all.

Each engine serves a group of streams; within it every lane is shared by all of the group by the
schedule of Hall and Chamberlain, Performance Modeling of Virtualized Custom Logic Computations,
ASAP 2014. Assumption: a call's elements are dealt out over the lanes, which work in step, so a call
is done when its fullest lane is.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

import numpy as np

from dse.model import Array, Quantity, composed_of, model, monotonic
from objectives.quantities import (
    ENGINES,
    ROUNDING,
    CallRate,
    ElementBytes,
    Granularity,
    Lanes,
    Passes,
    Streams,
    TotalStreams,
)
from objectives.sharing.schedule import LANE_ELEMENTS


@dataclass(frozen=True, eq=False)
class LaneArrivals:
    """The output of `lane_arrivals`."""

    call_elements: Annotated[
        Array, Quantity("element/call", "elements of a call", "n", low=1, integer=True)
    ]
    lane_elements: Annotated[Array, LANE_ELEMENTS]
    arrival_rate: Annotated[
        Array, Quantity("element/s", "elements of one stream at a lane", "λ", low=0)
    ]


@dataclass(frozen=True, eq=False)
class EngineCount:
    """The output of `engine_count`: as many as serve all streams."""

    engines: Annotated[Array, ENGINES]


@dataclass(frozen=True, eq=False)
class ShareOut(LaneArrivals, EngineCount):
    """The output of `share_out`."""


@model
@monotonic(
    call_elements="=call_rate +granularity -element_bytes =lanes =passes",
    lane_elements="=call_rate +granularity -element_bytes -lanes +passes",
    arrival_rate="+call_rate +granularity -element_bytes -lanes +passes",
)
def lane_arrivals(
    call_rate: CallRate,
    granularity: Granularity,
    element_bytes: ElementBytes,
    lanes: Lanes,
    passes: Passes = 1.0,
) -> LaneArrivals:
    """Return the elements of a call, those in its fullest lane, and what arrives there.

    The last element of a call may be partly filled, and so may the last elements of its lanes. An
    element that needs several passes comes back to its lane for each, and counts as often.

    Rounding up keeps the order of quotients; each is therefore monotonic in all.

    >>> arrivals = lane_arrivals(1e3, 1000.0, 16.0, 4)
    >>> [float(x) for x in (arrivals.call_elements, arrivals.lane_elements, arrivals.arrival_rate)]
    [63.0, 16.0, 16000.0]
    """
    call_elements = np.ceil(np.divide(granularity, element_bytes) * (1 - ROUNDING))
    lane_elements = np.ceil(call_elements / lanes) * passes
    return LaneArrivals(call_elements, lane_elements, lane_elements * call_rate)


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


@composed_of(lane_arrivals, engine_count)
def share_out(
    call_rate: CallRate,
    granularity: Granularity,
    element_bytes: ElementBytes,
    lanes: Lanes,
    total_streams: TotalStreams,
    streams: Streams,
    passes: Passes = 1.0,
) -> ShareOut:
    """Return the elements of a call per lane, and the number of engines."""
