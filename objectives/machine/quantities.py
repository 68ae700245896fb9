"""Quantities that one model of a machine gives and another takes."""

from __future__ import annotations

from dse.model import Quantity

ENGINE_AREA = Quantity(
    "LUT", "area of all lanes without pipelining", low=0, better="lower", typical=(1e3, 1e6)
)
REGISTER_AREA = Quantity(
    "LUT", "area that pipelining adds", low=0, better="lower", typical=(0, 1e6)
)
BUFFER_BITS = Quantity("bit", "memory of the queued calls", low=0, better="lower", typical=(0, 1e6))
