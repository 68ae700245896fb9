"""From an acceleration to lanes: for a study that varies the one and not the other."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

import numpy as np

from dse.model import Array, Floats, Quantity, model, monotonic
from objectives.machine.engine import Elements
from objectives.power_law import arrays, power
from objectives.quantities import LANES, Acceleration, Granularity, Kernel

_ROUNDING = 1e-12  # an acceleration of exactly k lanes must not become k + 1 of them


@dataclass(frozen=True, eq=False)
class LanesFor:
    """What `lanes_for` gives."""

    lane_acceleration: Annotated[
        Array, Quantity("1", "acceleration of one lane that nobody shares", low=0)
    ]
    lanes: Annotated[Array, LANES]


@model
@monotonic(
    lane_acceleration="=acceleration +computational_index -clock_period +element_bytes -passes",
    lanes="+acceleration -computational_index +clock_period -element_bytes +passes",
)
def lanes_for(
    acceleration: Acceleration,
    granularity: Granularity,
    kernel: Kernel,
    clock_period: Annotated[
        Floats,
        Quantity("cycle", "clock period of the engine", above=0, better="lower", typical=(1, 100)),
    ],
    elements: Elements,
) -> LanesFor:
    """Return as many lanes as give the acceleration to a call without other calls in the engine.

    A call of ``n = ceil(granularity / element_bytes)`` elements takes ``n · passes`` clocks of one
    lane, so a lane accelerates by ``host_time / (n · passes · clock_period)``. The pipeline is full
    meanwhile: other elements of the call, or other streams, are in its other stages.

    A lane accelerates by a product of powers of its inputs, except for the granularity, with
    which the elements jump. The lanes are the required acceleration over that, rounded up.

    Parameters
    ----------
    acceleration : float or ndarray
        That the lanes together give at least.
    granularity : float or ndarray
        Data of a call [B].
    kernel : Kernel
        The work on the host.
    clock_period : float or ndarray
        Of the engine, in cycles of the host.
    elements : Elements
        What a lane takes in a clock.

    Returns
    -------
    LanesFor
        At least one lane.

    >>> lane = lanes_for(200, 1024, 90, 1.0, clock_period=92.8, element_bytes=16, passes=1)
    >>> float(lane.lane_acceleration), float(lane.lanes)
    (15.517, 13.0)
    """
    size, period, width, passes = arrays(granularity, clock_period, *elements)
    c, b = arrays(*kernel)
    one = c * power(size, b) / (np.ceil(size / width * (1 - _ROUNDING)) * passes * period)
    return LanesFor(one, np.maximum(np.ceil(acceleration / one * (1 - _ROUNDING)), 1.0))
