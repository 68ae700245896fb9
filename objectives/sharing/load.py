"""How streams are shared out: what arrives at one lane, and how many engines serve all streams.

Each engine serves a group of streams; within it every lane is shared by all of the group by the
schedule of Hall and Chamberlain, Performance Modeling of Virtualized Custom Logic Computations,
ASAP 2014. Assumption: a stream's elements are dealt out evenly over the lanes, and what arrives at
each lane is Poisson again.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

import numpy as np

from dse.model import Array, Floats, Quantity, composed_of, model
from objectives.quantities import ENGINES, Lanes
from objectives.sharing.quantities import Streams

StreamRate = Annotated[
    Floats,
    Quantity("1/s", "elements that one stream asks for a second", low=0, typical=(1e3, 1e7)),
]
TotalStreams = Annotated[
    Floats, Quantity("1", "streams on the chip", low=1, integer=True, typical=(1, 256))
]


@dataclass(frozen=True, eq=False)
class LaneArrivals:
    """What `lane_arrivals` gives."""

    arrival_rate: Annotated[Array, Quantity("1/s", "elements of one stream at a lane", "λ", low=0)]


@dataclass(frozen=True, eq=False)
class EngineCount:
    """What `engine_count` gives: as many as serve all streams."""

    engines: Annotated[Array, ENGINES]


@dataclass(frozen=True, eq=False)
class ShareOut(LaneArrivals, EngineCount):
    """What `share_out` gives."""


@model
def lane_arrivals(stream_rate: StreamRate, lanes: Lanes) -> LaneArrivals:
    """Return what arrives at one lane from each stream: ``stream_rate / lanes`` [1/s].

    >>> float(lane_arrivals(1e6, 4).arrival_rate)
    250000.0
    """
    return LaneArrivals(np.asarray(stream_rate, dtype=np.float64) / lanes)


@model
def engine_count(total_streams: TotalStreams, streams: Streams) -> EngineCount:
    """Return how many engines serve all streams, each of them `streams`; the last may have fewer.

    >>> float(engine_count(64, 24).engines)
    3.0
    """
    return EngineCount(np.ceil(np.asarray(total_streams, dtype=np.float64) / streams))


@composed_of(lane_arrivals, engine_count)
def share_out(
    stream_rate: StreamRate, lanes: Lanes, total_streams: TotalStreams, streams: Streams
) -> ShareOut:
    """Return both: what arrives at a lane, and how many engines there are.

    Parameters
    ----------
    stream_rate : float or ndarray
        Of one stream, over all lanes of its engine [1/s].
    lanes : float or ndarray
        Lanes of one engine.
    total_streams, streams : float or ndarray
        On the chip, and served by one engine.
    """
