"""The units of fitted values, and the values as text."""

from __future__ import annotations

import math
from collections.abc import Mapping

from dse.model.values import number, show

UNITS: Mapping[str, str] = {
    "host_fixed_time": "s",
    "computational_index": "s/B",
    "complexity": "1",
    "overhead_and_latency": "s",
    "overhead": "s",
    "latency": "s",
    "latency_per_byte": "s/B",
    "latency_per_byte_out": "s/B",
    "accelerated_time_per_byte": "s/B",
    "acceleration": "1",
    "speedup_limit": "1",
    "half_acceleration": "B",
}
"""The units of a fit's values; those per byte are per byte**β."""


_OF_WORK = ("computational_index", "accelerated_time_per_byte")


def show_value(name: str, value: float, beta: float = 1.0) -> str:
    """Return a value of a fit with its unit.

    Parameters
    ----------
    beta : float
        The exponent of the work: what work takes is per byte to this power.

    >>> show_value("latency_per_byte", 9.3e-9), show_value("acceleration", math.inf)
    ('9.3 ns/B', '∞')
    >>> show_value("computational_index", 9.3e-9, 1.25)
    '9.3 ns/B^1.25'
    """
    unit = UNITS.get(name, "B")
    if math.isinf(value):
        return "∞"
    if unit == "s/B":
        scale, prefix = (1e-9, "n") if value >= 1e-10 else (1e-12, "p")
        power = f"^{number(beta)}" if name in _OF_WORK and number(beta) != "1" else ""
        return f"{number(value / scale)} {prefix}s/B{power}"
    return show(value, unit)
