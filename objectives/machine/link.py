"""The link between the host's threads and the engines: calls of several streams meet on it.

A call occupies the link for ``interface_latency_per_byte · granularity`` cycles, first come first
served. Calls of all the streams that share the link are taken as one Poisson process, as if each
thread's set-up did not space its calls. The wait is then the wait of M/D/1.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

import numpy as np

from dse.model import Array, Floats, Quantity, Requirement, model, monotonic, requires
from objectives.machine.interface import LinkTimePerByte, SharedLink
from objectives.machine.quantities import LINK_INTERVAL, LINK_TIME, LINK_WAIT_TIME, CallRate
from objectives.quantities import Granularity, Streams, TotalStreams
from objectives.queues import constant_service_wait


@dataclass(frozen=True, eq=False)
class Link:
    """What `link` gives."""

    link_time: Annotated[Array, LINK_TIME]
    link_utilization: Annotated[
        Array, Quantity("1", "offered load of all streams of the link over what it carries", low=0)
    ]
    link_wait_time: Annotated[Array, LINK_WAIT_TIME]
    link_interval: Annotated[Array, LINK_INTERVAL]


@requires(
    Requirement(
        "link_utilization < 1", "the link carries the calls of all the streams that meet on it"
    )
)
@model
@monotonic(
    link_time="+granularity =call_rate +interface_latency_per_byte =shared_link =streams"
    " =total_streams",
    link_utilization="+granularity +call_rate +interface_latency_per_byte +shared_link +streams"
    " +total_streams",
    link_wait_time="+granularity +call_rate +interface_latency_per_byte +shared_link +streams"
    " +total_streams",
    link_interval="+granularity +call_rate +interface_latency_per_byte +shared_link +streams"
    " +total_streams",
)
def link(
    granularity: Granularity,
    call_rate: CallRate,
    interface_latency_per_byte: LinkTimePerByte,
    shared_link: SharedLink,
    streams: Streams,
    total_streams: TotalStreams,
) -> Link:
    """Return how long calls wait for the link and occupy it, and its load.

    With occupancy ``x = l · g`` and load ``ρ = link_streams · Λ · x`` the wait is ``ρx / 2(1 − ρ)``
    (M/D/1). A stream that always has a call waiting gets what the others leave: a call each
    ``x / (1 − ρ_others)``.

    Each rises with the occupancy, with the calls and with the streams that meet: wait and interval
    rise with the load and are inf from 1 on.

    Parameters
    ----------
    granularity : float or ndarray
        Data of a call [B].
    call_rate : float or ndarray
        Of one stream [call/cycle of the host].
    interface_latency_per_byte : float or ndarray
        Occupancy of the link for each byte [cycle/B].
    shared_link : float or ndarray
        1: `total_streams` meet on the link; 0: the `streams` of one engine do.
    streams, total_streams : float or ndarray
        Streams that share one engine, and streams on the chip.

    Returns
    -------
    Link
        Times in cycles. The wait is inf if the load reaches 1; the interval is inf if the load of
        the other streams does.

    >>> crowded = link(1000.0, 1e-5, 0.5, shared_link=1, streams=8, total_streams=64)
    >>> float(crowded.link_utilization), float(crowded.link_wait_time)
    (0.32, 117.6)
    """
    meeting = meeting_streams(shared_link, streams, total_streams)
    time = np.asarray(np.multiply(interface_latency_per_byte, granularity, dtype=np.float64))
    alone = time * call_rate
    load = meeting * alone
    free = np.maximum(1.0 - (meeting - 1.0) * alone, 0.0)
    with np.errstate(all="ignore"):
        interval = np.where(free > 0, time / free, np.inf)
        wait = np.where(time > 0, time * constant_service_wait(load), 0.0)
    return Link(time, load, wait, interval)


def meeting_streams(shared_link: Floats, streams: Floats, total_streams: Floats) -> Array:
    """Return how many streams' calls meet on a link."""
    own = np.minimum(np.asarray(streams, dtype=np.float64), total_streams)
    return np.where(np.equal(shared_link, 1.0), total_streams, own)
