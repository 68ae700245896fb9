"""Accelerometer: the gain of a busy core that offloads a part of its work.

Source: A. Sriraman, A. Dhanotia, Accelerometer: Understanding Acceleration Opportunities for Data
Center Overheads at Hyperscale, ASPLOS 2020 (doi 10.1145/3373376.3378450), and the authors' program
for it, which is in the public domain (github.com/akshithasriraman/Accelerometer). LogCA asks for
the time of one call; here a core makes n calls of the kernel in C cycles, and may do other
work while the engine does its part. Speedup is the authors' formula; the engine's load is this
module's own (docs/explanation/accelerometer.md).
"""

from __future__ import annotations

import functools
from dataclasses import dataclass
from typing import Annotated, NamedTuple, TypeAlias

import numpy as np

from dse.model import Array, Floats, Quantity, Requirement, model, monotonic, requires
from objectives.power_law import broadcast_alike, to_arrays
from objectives.quantities import (
    Acceleration,
    Latency,
    Overhead,
    declare_cost,
    declare_part,
    declare_speedup,
)

SYNC, SYNC_OS = 0.0, 1.0

Threading: TypeAlias = Annotated[
    Floats,
    Quantity(
        "1",
        "activity of a core while the engine works; 0: wait (Sync), 1: switch to another thread"
        " (Sync-OS), 2: go on in the same thread (Async)",
        low=0,
        high=2,
        integer=True,
    ),
]
Cores: TypeAlias = Annotated[
    Floats,
    Quantity(
        "1",
        "cores that share one engine",
        low=1,
        high=1_024,
        integer=True,
        typical=(1, 64),
    ),
]
QueueTime: TypeAlias = Annotated[
    Floats,
    Quantity(
        "cycle",
        "mean time that a core waits until the engine takes an offload",
        "Q",
        low=0,
        better="lower",
        typical=(0, 1e4),
        label="queueing delay",
    ),
]
SwitchTime: TypeAlias = Annotated[
    Floats,
    declare_cost(
        "cycle",
        "time that a core loses to all thread switches of one offload together",
        (0, 2e4),
        "o1",
    ),
]


class Work(NamedTuple):
    """The work of a core before anything is offloaded."""

    accelerable_share: Annotated[
        Floats,
        Quantity(
            "1", "share of a core's time in the kernel", "α", low=0, high=1, typical=(0.05, 0.5)
        ),
    ]
    offload_rate: Annotated[
        Floats,
        Quantity(
            "call/cycle",
            "calls of the kernel a cycle, on a busy core that does all itself",
            "n/C",
            above=0,
            high=1,
            typical=(1e-7, 1e-4),
        ),
    ]


class Dispatch(NamedTuple):
    """The costs of an offload in addition to the time of the engine."""

    overhead: Overhead
    latency: Latency


_ROUNDING = 1e-12
_INPUTS = (
    *("accelerable_share", "offload_rate", "overhead", "latency", "acceleration"),
    *("cores_per_engine", "queue_time", "switch_time"),
)


def _only(*signs: str) -> str:
    """Declare that an output depends on these inputs, perhaps on the threading, and on no other."""
    others = [f"={name}" for name in _INPUTS if not {f"+{name}", f"-{name}"} & {*signs}]
    return " ".join([*signs, *others])


_part = functools.partial(declare_part, "1", "core_time")


@dataclass(frozen=True, eq=False)
class HostSpeedup:
    """The outputs of `host_speedup`."""

    speedup: Annotated[
        Array, declare_speedup("throughput of a core over that before", "core_time", symbol="")
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
    engine_utilization: Annotated[
        Array,
        Quantity(
            "1",
            "offloads of all cores at full throughput per offload that the engine can serve",
            low=0,
            typical=(0, 0.9),
        ),
    ]
    service_time: Annotated[
        Array,
        Quantity("cycle", "mean time of the engine for an offload", "s", low=0, typical=(10, 1e5)),
    ]


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
    core_work_time=_only("=threading", "-accelerable_share"),
    core_engine_time=_only("-threading", "+accelerable_share", "-acceleration"),
    core_overhead_time=_only("=threading", "+offload_rate", "+overhead"),
    core_latency_time=_only("=threading", "+offload_rate", "+latency"),
    core_queue_time=_only("=threading", "+offload_rate", "+queue_time"),
    core_switch_time=_only("+offload_rate", "+switch_time"),
    engine_utilization="+accelerable_share -offload_rate -overhead -latency -acceleration"
    " +cores_per_engine -queue_time -switch_time",
    service_time=_only("=threading", "+accelerable_share", "-offload_rate", "-acceleration"),
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

    α and n/C are of one core that does all itself: n calls of the kernel while it spends C cycles.
    The core spends o0 and L whatever the threading. A may be infinite. Q is the wait of the core
    itself, not the wait of an offload while the core works. o1 is all time that the core loses to
    switches because of one offload in Sync-OS, with the cache misses that follow. It is counted
    once. A thread that blocks switches away and back: if one switch was measured, give two of them.

    Half of the time in a kernel that an engine does ten times as fast, in calls of 1,000 cycles:

    >>> found = host_speedup([0, 1, 2], 0.5, 5e-4, 20, 80, acceleration=10, cores_per_engine=8,
    ...                      switch_time=300)
    >>> found.speedup, found.engine_utilization
    (array([1.6667, 1.4286, 1.8182]), array([0.6667, 0.5714, 0.7273]))
    """
    how, share, rate, a, count = to_arrays(threading, *work, acceleration, cores_per_engine)
    o, fixed, queue, switch = to_arrays(*dispatch, queue_time, switch_time)
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
    found = [speedup, total, *broadcast_alike(parts), load[()], (engine / rate)[()]]
    return HostSpeedup(*found)
