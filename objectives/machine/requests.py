"""The calls of a stream, from its data rate."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

import numpy as np

from dse.model import Array, Floats, model, monotonic
from objectives.quantities import CALL_RATE, STREAM_DATA_RATE, Granularity


@dataclass(frozen=True, eq=False)
class Requests:
    """What `requests` gives."""

    call_rate: Annotated[Array, CALL_RATE]


@model
@monotonic(
    call_rate="+stream_data_rate -granularity",
)
def requests(
    stream_data_rate: Annotated[Floats, STREAM_DATA_RATE], granularity: Granularity
) -> Requests:
    """Return the calls of one stream a second: its data rate over the data of a call.

    >>> float(requests(4e6, 1000.0).call_rate)
    4000.0
    """
    return Requests(np.asarray(stream_data_rate, dtype=np.float64) / granularity)
