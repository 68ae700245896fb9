"""Quantities of a system of several kernels: one kernel adds them, the system has their sums."""

from __future__ import annotations

from typing import Annotated, NamedTuple, TypeAlias

from dse.model import Floats, Quantity
from objectives.quantities import declare_cost

# ------------------------------------------------------------------------- sums over the kernels

KERNEL_RATE = Quantity("call/s", "calls of all threads", "λ", low=0, typical=(1, 1e5))
HOST_LOAD = Quantity(
    "1", "cores that calls keep busy", low=0, typical=(0.01, 4), without="host_load_before"
)
HOST_LOAD_BEFORE = Quantity(
    "1", "cores that the calls keep busy if the host does them all", low=0, typical=(0.01, 8)
)
HOST_MOMENT = Quantity(
    "s", "calls times the square of the time that each keeps a core busy", low=0, typical=(0, 1e-3)
)
LINK_LOAD = Quantity("1", "part of the time that calls occupy the link", low=0, typical=(0, 1.2))
LINK_MOMENT = Quantity(
    "s", "calls times the square of the time that each occupies the link", low=0, typical=(0, 1e-4)
)
LINK_CALLS = Quantity("call/s", "calls that cross the link", low=0, typical=(0, 1e4))
CALL_TIME_LOAD = Quantity(
    "1",
    "calls under way at a time, except calls that wait for a core or the link",
    low=0,
    typical=(0.01, 8),
)
POLLING_CALLS = Quantity(
    "call/s", "calls that keep a core busy until they end", low=0, typical=(0, 1e4)
)
POLLING_LOAD = Quantity(
    "1", "cores that these calls keep busy, without waits for the link", low=0, typical=(0, 1)
)
MEMORY_TRAFFIC = Quantity("B/s", "data that engines read and write", low=0, typical=(0, 1e9))
BLOCK_RAMS_USED = Quantity("1", "block RAMs of all engines", low=0, typical=(0, 200), worth=0)
ULTRA_RAMS_USED = Quantity("1", "UltraRAMs of all engines", low=0, typical=(0, 96), worth=0)
ACCELERATOR_POWER = Quantity("W", "power of engines and transfers", low=0, typical=(0, 5), worth=0)

KernelRate: TypeAlias = Annotated[Floats, KERNEL_RATE]


# ------------------------------------------------------------------------------- times of one call

HostTime: TypeAlias = Annotated[
    Floats,
    Quantity("s", "time of a call on the host", "T0", above=0, typical=(1e-6, 1e-3)),
]
ServiceTime: TypeAlias = Annotated[
    Floats, declare_cost("s", "time of a call at its engine", (1e-6, 1e-4))
]
LinkTime: TypeAlias = Annotated[
    Floats,
    Quantity("s", "time that a call occupies the link", low=0, typical=(1e-7, 1e-4)),
]
LINK_WAIT_TIME = Quantity("s", "mean wait of a call for the link", low=0, typical=(0, 1e-4))
HOST_WAIT_TIME = Quantity("s", "mean wait of a call for a core", low=0, typical=(0, 1e-3))


class EnginePowers(NamedTuple):
    """The powers of an engine and its transfers, as in :class:`objectives.energy.Powers`."""

    engine_power: Annotated[
        Floats, declare_cost("W", "power that an engine adds while it works", (0, 10.0))
    ]
    engine_idle_power: Annotated[
        Floats, declare_cost("W", "power of an engine, working or not", (0, 1.0))
    ]
    engine_energy_per_byte: Annotated[
        Floats, declare_cost("J/B", "engine's energy for each byte", (0, 1e-8))
    ]
    interface_energy_per_byte: Annotated[
        Floats,
        declare_cost("J/B", "interface's energy for each byte of a call, in and out", (0, 1e-8)),
    ]


Built: TypeAlias = Annotated[
    Floats,
    Quantity("1", "1: an engine does the calls; 0: the host does", low=0, high=1, integer=True),
]
EngineCopies: TypeAlias = Annotated[
    Floats,
    Quantity("1", "equal engines of a kernel", low=1, high=64, integer=True, typical=(1, 4)),
]
Cores: TypeAlias = Annotated[
    Floats,
    Quantity(
        "1", "cores of the host", low=1, high=1_024, integer=True, better="higher", typical=(1, 8)
    ),
]
