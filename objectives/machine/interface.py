"""The costs of an interface for one call: on the host, the link and the engine's data path."""

from __future__ import annotations

from typing import Annotated, NamedTuple

from dse.model import Floats, Quantity

SharedLink = Annotated[
    Floats,
    Quantity(
        "1",
        "1: one link carries the calls of all streams of the chip; 0: each engine has its own",
        low=0,
        high=1,
        integer=True,
        better="lower",
        typical=(0, 1),
    ),
]
LinkTimePerByte = Annotated[
    Floats,
    Quantity(
        "cycle/B",
        "time that each byte occupies the link",
        "l",
        low=0,
        better="lower",
        typical=(0.01, 2),
    ),
]


class SetUp(NamedTuple):
    """What keeps a thread of the host busy before a call is on its way."""

    interface_overhead: Annotated[
        Floats,
        Quantity(
            "cycle", "set-up of a call on the host", "o", low=0, better="lower", typical=(10, 1e4)
        ),
    ]
    interface_overhead_per_byte: Annotated[
        Floats,
        Quantity(
            "cycle/B",
            "the host's own moving of each byte",
            "h",
            low=0,
            better="lower",
            typical=(0, 2),
        ),
    ]


InterfaceLatency = Annotated[
    Floats,
    Quantity(
        "cycle",
        "travel to the engine and back, during which the link is free",
        "L",
        low=0,
        better="lower",
        typical=(1, 1e4),
    ),
]
