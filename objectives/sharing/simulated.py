"""The simulation as a model: the mean latency with its interval, to check the formulas.

For drawing and for checks: a simulation of `ELEMENTS` elements takes milliseconds, so it is not an
objective for millions of designs. The same seed every time makes it a pure function.
"""

from __future__ import annotations

from typing import Annotated, NamedTuple

import numpy as np

from dse.model import Array, Quantity, model
from objectives.sharing.quantities import Pipeline, SchedulePeriod, Traffic
from objectives.sharing.schedule import printed_latency
from objectives.sharing.simulation import simulate

ELEMENTS = 200_000
"""Elements of each simulation, a tenth of them to warm up."""


class Simulated(NamedTuple):
    """What `simulated_latency` gives."""

    latency_simulated: Annotated[
        Array, Quantity("s", "simulated mean latency", "W", low=0, better="lower")
    ]
    latency_simulated_low: Annotated[Array, Quantity("s", "lower end of its 99 % interval", low=0)]
    latency_simulated_high: Annotated[Array, Quantity("s", "upper end of its 99 % interval", low=0)]


@model
def simulated_latency(
    pipeline: Pipeline, schedule_period: SchedulePeriod, traffic: Traffic
) -> Simulated:
    """Simulate the schedule of `objectives.sharing.model.round_robin` under Poisson arrivals.

    Returns
    -------
    Simulated
        Mean latency [s] and the limits of its 99 % interval by batch means; inf at saturation.
        Without arrivals it is the latency of a lone element: the exact mean as the rate goes to 0.
    """
    inputs = (*pipeline, schedule_period, *traffic)
    load = np.asarray(printed_latency(*inputs).utilization)
    columns = np.broadcast_arrays(*inputs)
    means = np.full((3, *load.shape), np.inf)
    for at in np.ndindex(load.shape):
        if load[at] < 1:
            n, c, s, r, rate, clock = (float(x[at]) for x in columns)
            rate = max(rate, 1e-6 / (n * clock))  # an element now and then
            found = simulate(int(n), int(c), int(s), int(r), rate, clock, elements=ELEMENTS, seed=1)
            means[(slice(None), *at)] = found.latency, found.low, found.high
    return Simulated(means[0][()], means[1][()], means[2][()])
