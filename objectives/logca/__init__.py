"""LogCA: when offloading to an accelerator is beneficial, and by how much.

Sources: M. S. B. Altaf and D. A. Wood, "LogCA: A High-Level Performance Model for Hardware
Accelerators", ISCA 2017, and the same authors' letter "LogCA: A Performance Model for Hardware
Accelerators". The host takes T0 = C g**β, the accelerator T1 = o + L + l g + C g**β / A cycles for
g bytes. The papers take latency either per call (L, their equation 2) or per byte (l, equation 8);
both are terms of one formula here. Assumptions, the papers': one call at a time, nothing overlaps
(else o, L and l are the parts that do not), host and accelerator run algorithms of one complexity,
no caches.

Modules:

* ``quantities``: the quantities and records of the models;
* ``curve``: :func:`times`, :func:`speedup` and :func:`limits` over the granularity;
* ``reach``: the granularities from which an offload is beneficial, or meets a target;
* ``model``: :func:`offload`, all results at once.

All models take keywords and numbers or arrays of any shapes that broadcast. Inputs are finite
except for an infinite acceleration. Outside the declared domains the models return NaN. No function
raises on a value.
"""

from objectives.logca.curve import Limits, Speedup, Times, limits, speedup, times
from objectives.logca.model import Offload, offload
from objectives.logca.quantities import Interface, TargetSpeedup
from objectives.logca.reach import (
    BreakEven,
    HalfAcceleration,
    Target,
    break_even,
    half_acceleration,
    target,
)
from objectives.quantities import Complexity, ComputationalIndex, Granularity, Kernel

__all__ = [
    "BreakEven",
    "Complexity",
    "ComputationalIndex",
    "Granularity",
    "HalfAcceleration",
    "Interface",
    "Kernel",
    "Limits",
    "Offload",
    "Speedup",
    "Target",
    "TargetSpeedup",
    "Times",
    "break_even",
    "half_acceleration",
    "limits",
    "offload",
    "speedup",
    "target",
    "times",
]
