"""The throughput of a core that offloads: the three speedups of Accelerometer in one formula."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

import numpy as np

from dse.model import Array, Quantity, Requirement, model, monotonic, requires
from objectives.accelerometer.quantities import (
    ENGINE_UTILIZATION,
    SERVICE_TIME,
    SYNC,
    SYNC_OS,
    Cores,
    Dispatch,
    QueueTime,
    SwitchTime,
    Threading,
    Work,
)
from objectives.power_law import arrays
from objectives.quantities import Acceleration

_ROUNDING = 1e-12


def _part(about: str) -> Quantity:
    return Quantity("1", about, low=0, part_of="core_time")


@dataclass(frozen=True, eq=False)
class HostSpeedup:
    """What `host_speedup` gives."""

    speedup: Annotated[
        Array,
        Quantity("1", "throughput of a core over that before", low=0, over="core_time", worth=1.0),
    ]
    core_time: Annotated[
        Array, Quantity("1", "time of a core for what took it 1 before", low=0, better="lower")
    ]
    core_work_time: Annotated[Array, _part("work that is not offloaded")]
    core_engine_time: Annotated[Array, _part("wait for the engine's work")]
    core_overhead_time: Annotated[Array, _part("set-up of offloads")]
    core_latency_time: Annotated[Array, _part("interface")]
    core_queue_time: Annotated[Array, _part("wait until the engine takes an offload")]
    core_switch_time: Annotated[Array, _part("thread switches")]
    engine_utilization: Annotated[Array, ENGINE_UTILIZATION]
    service_time: Annotated[Array, SERVICE_TIME]


@requires(
    Requirement(
        "engine_utilization < 1", "the engine serves what the cores offload at full throughput"
    )
)
@model
@monotonic(
    speedup="-offload_rate -overhead -latency +acceleration =cores_per_engine -queue_time"
    " -switch_time",
    core_time="+offload_rate +overhead +latency -acceleration =cores_per_engine +queue_time"
    " +switch_time",
    core_work_time="=threading -accelerable_share =offload_rate =overhead =latency =acceleration"
    " =cores_per_engine =queue_time =switch_time",
    core_engine_time="-threading +accelerable_share =offload_rate =overhead =latency -acceleration"
    " =cores_per_engine =queue_time =switch_time",
    core_overhead_time="=threading =accelerable_share +offload_rate +overhead =latency"
    " =acceleration =cores_per_engine =queue_time =switch_time",
    core_latency_time="=threading =accelerable_share +offload_rate =overhead +latency"
    " =acceleration =cores_per_engine =queue_time =switch_time",
    core_queue_time="=threading =accelerable_share +offload_rate =overhead =latency =acceleration"
    " =cores_per_engine +queue_time =switch_time",
    core_switch_time="=accelerable_share +offload_rate =overhead =latency =acceleration"
    " =cores_per_engine"
    " =queue_time +switch_time",
    engine_utilization="+accelerable_share -offload_rate -overhead -latency -acceleration"
    " +cores_per_engine"
    " -queue_time -switch_time",
    service_time="=threading +accelerable_share -offload_rate =overhead =latency -acceleration"
    " =cores_per_engine =queue_time =switch_time",
)
def host_speedup(
    threading: Threading,
    work: Work,
    dispatch: Dispatch,
    acceleration: Acceleration,
    cores_per_engine: Cores,
    queue_time: QueueTime = 0.0,
    switch_time: SwitchTime = 0.0,
) -> HostSpeedup:
    """Return how much more a busy core gets done with the accelerator (the authors' program).

    ::

        Sync      1 / (1 − α + α/A + (n/C)(o0 + L + Q))
        Sync-OS   1 / (1 − α + (n/C)(o0 + L + Q + o1))
        Async     1 / (1 − α + (n/C)(o0 + L + Q))

    In Sync-OS and Async other work fills the time of the engine. The formulas therefore do not
    depend on its speed. A separate requirement checks its capacity: a core with speedup S makes S·n
    offloads in C cycles, each of s = αC/(nA) cycles of the engine. All cores load it with
    cores·S·α/A. Beyond 1 the engine sets the pace, and the core does not get the speedup.

    The sums rise with each of their terms. More accelerable work takes time from the core and
    gives it to the engine. Speedup may therefore rise or fall with it, as with the threading.
    Where S rises with A (Sync), it does so by less than A; it falls with α by less than α rises.

    Parameters
    ----------
    threading : array_like
        0 Sync, 1 Sync-OS, 2 Async.
    work : Work
        α [1] and n/C [call/cycle], both of one core that does all itself: n calls of the kernel
        while it spends C cycles.
    dispatch : Dispatch
        o0 and L of an offload [cycle], which the core spends whatever the threading.
    acceleration : array_like
        A, > 0; may be infinite.
    cores_per_engine : array_like
        Cores that share one engine, 1 to 1,024; all are busy.
    queue_time : array_like
        Q [cycle]; the wait of the core itself, not the wait of an offload while the core works.
    switch_time : array_like
        o1 [cycle]: all time that the core loses to switches because of one offload, with the cache
        misses that follow. It is counted once. A thread that blocks switches away and
        back: if one switch was measured, give two of them. Only in Sync-OS.

    Half of the time in a kernel that an engine does ten times as fast, in calls of 1,000 cycles:

    >>> found = host_speedup([0, 1, 2], 0.5, 5e-4, 20, 80, acceleration=10, cores_per_engine=8,
    ...                      switch_time=300)
    >>> found.speedup, found.engine_utilization
    (array([1.6667, 1.4286, 1.8182]), array([0.6667, 0.5714, 0.7273]))
    """
    how, share, rate, a, count = arrays(threading, *work, acceleration, cores_per_engine)
    o, fixed, queue, switch = arrays(*dispatch, queue_time, switch_time)
    engine = share / a
    parts = np.broadcast_arrays(
        1.0 - share,
        np.where(how == SYNC, engine, 0.0),
        rate * o,
        rate * fixed,
        rate * queue,
        np.where(how == SYNC_OS, rate * switch, 0.0),
    )
    total = np.asarray(sum(parts[1:], parts[0]))
    with np.errstate(divide="ignore"):
        speedup = 1.0 / total
        load = np.where(engine > 0, count * (engine / total), 0.0)
    # cores that wait never request more than the engine serves: rounding causes the excess
    rounded = (how == SYNC) & (load >= 1.0) & (load <= 1.0 + _ROUNDING)
    load = np.where(rounded, np.nextafter(1.0, 0.0), load)
    found = [speedup, total, *(part.copy()[()] for part in parts), load[()], (engine / rate)[()]]
    return HostSpeedup(*found)
