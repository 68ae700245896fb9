"""What LogCA takes: quantities, and records of them.

Symbols are from M. S. B. Altaf and D. A. Wood, "LogCA: A High-Level Performance Model for
Hardware Accelerators", ISCA 2017, Table 1, with l for the latency per byte that shares the letter L
there. The typical ranges cover its Table 5.
"""

from __future__ import annotations

from typing import Annotated, NamedTuple, TypeAlias

from dse.model import Floats, Quantity
from objectives.quantities import Latency, LatencyPerByte, Overhead

TargetSpeedup: TypeAlias = Annotated[
    Floats, Quantity("1", "speedup to reach", "s", above=0.0, typical=(0.5, 32.0))
]


class Interface(NamedTuple):
    """The costs of a call in addition to the computation."""

    overhead: Overhead
    latency: Latency = 0.0
    latency_per_byte: LatencyPerByte = 0.0
