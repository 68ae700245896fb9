"""The quantities of Accelerometer that are not shared with other packages."""

from __future__ import annotations

from typing import Annotated, NamedTuple, TypeAlias

from dse.model import Floats, Quantity
from objectives.quantities import Latency, Overhead

SYNC, SYNC_OS, ASYNC = 0.0, 1.0, 2.0

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
        high=1_024,  # they are followed one by one
        integer=True,
        typical=(1, 64),
    ),
]
QUEUE_TIME = Quantity(
    "cycle",
    "mean time that a core waits until the engine takes an offload",
    "Q",
    low=0,
    better="lower",
    typical=(0, 1e4),
    label="queueing delay",
)
QueueTime: TypeAlias = Annotated[Floats, QUEUE_TIME]
SwitchTime: TypeAlias = Annotated[
    Floats,
    Quantity(
        "cycle",
        "time that a core loses to all thread switches of one offload together",
        "o1",
        low=0,
        better="lower",
        typical=(0, 2e4),
    ),
]
SERVICE_TIME = Quantity(
    "cycle", "mean time of the engine for an offload", "s", low=0, typical=(10, 1e5)
)
ENGINE_UTILIZATION = Quantity(
    "1",
    "offloads of all cores at full throughput per offload that the engine can serve",
    low=0,
    typical=(0, 0.9),
)


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
