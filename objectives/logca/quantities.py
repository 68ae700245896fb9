"""What LogCA takes: quantities, and records of them.

Symbols are those of M. S. B. Altaf and D. A. Wood, "LogCA: A High-Level Performance Model for
Hardware Accelerators", ISCA 2017, Table 1, with l for the latency per byte that shares the letter L
there. The typical ranges cover its Table 5.
"""

from __future__ import annotations

from typing import Annotated, NamedTuple, TypeAlias

from dse.model import Floats, Quantity
from objectives.quantities import Latency, LatencyPerByte, Overhead

ComputationalIndex: TypeAlias = Annotated[
    Floats,
    Quantity(
        "cycle/B",
        "host's work for each byte, to the power of the complexity",
        "C",
        above=0.0,
        better="higher",
        typical=(1.0, 1e4),
    ),
]
Complexity: TypeAlias = Annotated[
    Floats,
    Quantity("1", "exponent of the kernel's work", "β", above=0.0, high=3.0, typical=(0.5, 2.0)),
]
TargetSpeedup: TypeAlias = Annotated[
    Floats, Quantity("1", "speedup to reach", "s", above=0.0, typical=(0.5, 32.0))
]


class Interface(NamedTuple):
    """What a call costs beside the computation."""

    overhead: Overhead
    latency: Latency = 0.0
    latency_per_byte: LatencyPerByte = 0.0


class Kernel(NamedTuple):
    """The work on the host: C g**β cycles for g bytes."""

    computational_index: ComputationalIndex
    complexity: Complexity = 1.0
