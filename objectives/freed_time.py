"""Freed host time: the time on the host that an accelerated call gives to other work.

A call that runs on the host takes T0 of its time. With the accelerator, the host is busy for B, and
T0 − B is free for other work. It is negative if the set-up of a call is longer than the work
itself, as with instructions that make the host fast. B depends on how the host waits:

* polling (0): the host reads the status until the call ends: B = T1;
* blocking (1): the thread sleeps, and an interrupt wakes it: B = o + w, with w the time to sleep
  and wake;
* asynchronous (2): the thread goes on, and takes the result from a queue: B = o + w, with w the
  time to take it.

Assumptions: other work is always there, and it is not slowed by the accelerator's memory traffic.
The overhead o is all of the host's set-up; L and C g**β / A keep the host free. The time of a
response is LogCA's, without w.
"""

from __future__ import annotations

from typing import Annotated, NamedTuple

import numpy as np

from dse.model import Array, Floats, Quantity, model, monotonic
from objectives.power_law import broadcast_alike, to_arrays
from objectives.quantities import declare_cost


def _time(about: str, symbol: str = "") -> Quantity:
    return Quantity("cycle", about, symbol, low=0.0, typical=(1e2, 1e6))


class FreedTime(NamedTuple):
    """The outputs of :func:`freed_time`."""

    host_busy_time: Annotated[
        Array, Quantity("cycle", "time that the host is busy with an accelerated call", "B", low=0)
    ]
    freed_time: Annotated[
        Array,
        Quantity(
            "cycle", "host time that a call frees; negative: it costs more", "T0 - B", worth=0.0
        ),
    ]


@model
@monotonic(
    host_busy_time="=host_time +accelerated_time +overhead_time +completion_time",
    freed_time="+host_time -accelerated_time -overhead_time -completion_time",
)
@np.errstate(all="ignore")
def freed_time(
    host_time: Annotated[Floats, _time("time on the host", "T0")],
    accelerated_time: Annotated[Floats, _time("time with the accelerator", "T1")],
    overhead_time: Annotated[Floats, _time("time in set-up", "o")],
    wait_mode: Annotated[
        Floats,
        Quantity(
            "1",
            "how the host waits: 0 polling, 1 blocking, 2 asynchronous",
            low=0,
            high=2,
            integer=True,
            typical=(0, 2),
        ),
    ],
    completion_time: Annotated[
        Floats,
        declare_cost(
            "cycle",
            "host's time to notice the end of a call: to sleep and wake, or to read a queue",
            (1e2, 1e5),
            "w",
        ),
    ],
) -> FreedTime:
    """Return the host time that an accelerated call leaves for other work, with its sign.

    >>> t1 = dict(accelerated_time=42_800, overhead_time=13_200, completion_time=0, wait_mode=1)
    >>> freed_time(host_time=[23_400, 1_140], **t1).freed_time
    array([ 10200., -12060.])
    """
    host, total, setup, mode, end = to_arrays(
        host_time, accelerated_time, overhead_time, wait_mode, completion_time
    )
    busy = np.where(mode == 0.0, total, setup + end)
    return FreedTime(*broadcast_alike((busy, host - busy)))
