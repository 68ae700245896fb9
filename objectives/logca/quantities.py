"""What LogCA's numbers mean: inputs, outputs and results of :mod:`objectives.logca`.

Symbols are those of M. S. B. Altaf and D. A. Wood, "LogCA: A High-Level Performance Model for
Hardware Accelerators", ISCA 2017, Table 1, with l for the latency per byte that shares the letter L
there. The typical ranges cover its Table 5.
"""

from __future__ import annotations

from typing import Annotated, NamedTuple

from dse.model import Array, Floats, Quantity

Granularity = Annotated[
    Floats, Quantity("B", "data offloaded per call", "g", above=0.0, typical=(16.0, 2.0**25))
]
Overhead = Annotated[
    Floats,
    Quantity("cycle", "host's set-up of a call", "o", low=0.0, better="lower", typical=(10.0, 1e6)),
]
Latency = Annotated[
    Floats,
    Quantity(
        "cycle",
        "interface latency of a call, whatever its size",
        "L",
        low=0.0,
        better="lower",
        typical=(0.0, 5000.0),
    ),
]
LatencyPerByte = Annotated[
    Floats,
    Quantity(
        "cycle/B",
        "interface latency for each byte",
        "l",
        low=0.0,
        better="lower",
        typical=(0.0, 16.0),
    ),
]
ComputationalIndex = Annotated[
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
Complexity = Annotated[
    Floats,
    Quantity("1", "exponent of the kernel's work", "β", above=0.0, high=3.0, typical=(0.5, 2.0)),
]
Acceleration = Annotated[
    Floats,
    Quantity(
        "1", "peak speedup of the accelerator", "A", above=0.0, better="higher", typical=(2.0, 64.0)
    ),
]
TargetSpeedup = Annotated[
    Floats, Quantity("1", "speedup to reach", "s", above=0.0, typical=(0.5, 32.0))
]

_Ratio = Annotated[Array, Quantity("1", "speedup at the granularity", "T0/T1", low=0.0)]
_HostTime = Annotated[Array, Quantity("cycle", "time on the host", "T0", low=0.0)]
_AcceleratedTime = Annotated[Array, Quantity("cycle", "time with the accelerator", "T1", low=0.0)]
_OverheadTime = Annotated[
    Array, Quantity("cycle", "time in set-up", low=0.0, part_of="accelerated_time")
]
_LatencyTime = Annotated[
    Array, Quantity("cycle", "time on the interface", low=0.0, part_of="accelerated_time")
]
_ComputeTime = Annotated[
    Array, Quantity("cycle", "time computing", low=0.0, part_of="accelerated_time")
]
_SpeedupAtOneByte = Annotated[Array, Quantity("1", "speedup at a granularity of 1 B", low=0.0)]
_SpeedupLimit = Annotated[Array, Quantity("1", "speedup as granularity grows", low=0.0)]
_PeakSpeedup = Annotated[Array, Quantity("1", "least upper bound of speedup", low=0.0)]
_PeakGranularity = Annotated[
    Array, Quantity("B", "granularity of the peak speedup; inf: as it grows", low=0.0)
]
_Intensity = Annotated[
    Array, Quantity("1", "host's work for each cycle of latency", "C/l", low=0.0)
]
_AcceleratorIntensity = Annotated[
    Array, Quantity("1", "accelerator's work for each cycle of latency", "C/A/l", low=0.0)
]
_LatencyBound = Annotated[
    Array,
    Quantity("1", "1: latency bounds speedup; 0: compute does", low=0.0, high=1.0, integer=True),
]
_BreakEven = Annotated[
    Array, Quantity("B", "granularity from which offloading pays; inf: never", "g1", low=0.0)
]
_BreakEvenEnd = Annotated[
    Array, Quantity("B", "granularity up to which offloading pays; inf: no end", low=0.0)
]
_HalfAcceleration = Annotated[
    Array, Quantity("B", "granularity of half the acceleration; inf: never", "g_A/2", low=0.0)
]
_HalfAccelerationEnd = Annotated[
    Array, Quantity("B", "granularity up to which half is kept; inf: no end", low=0.0)
]
_TargetFrom = Annotated[
    Array, Quantity("B", "granularity from which the target is met; inf: never", "g_s", low=0.0)
]
_TargetTo = Annotated[
    Array, Quantity("B", "granularity up to which the target is met; inf: no end", low=0.0)
]


class Speedup(NamedTuple):
    """Result of :func:`speedup`."""

    speedup: _Ratio


class Times(NamedTuple):
    """Result of :func:`times`."""

    host_time: _HostTime
    accelerated_time: _AcceleratedTime
    overhead_time: _OverheadTime
    latency_time: _LatencyTime
    compute_time: _ComputeTime


class Limits(NamedTuple):
    """Result of :func:`limits`."""

    speedup_at_one_byte: _SpeedupAtOneByte
    speedup_limit: _SpeedupLimit
    peak_speedup: _PeakSpeedup
    peak_granularity: _PeakGranularity
    computational_intensity: _Intensity
    accelerator_computational_intensity: _AcceleratorIntensity
    latency_bound: _LatencyBound


class BreakEven(NamedTuple):
    """Result of :func:`break_even`."""

    break_even: _BreakEven
    break_even_end: _BreakEvenEnd


class HalfAcceleration(NamedTuple):
    """Result of :func:`half_acceleration`."""

    half_acceleration: _HalfAcceleration
    half_acceleration_end: _HalfAccelerationEnd


class Target(NamedTuple):
    """Result of :func:`target`."""

    target_from: _TargetFrom
    target_to: _TargetTo


class Offload(NamedTuple):
    """Result of :func:`offload`."""

    speedup: _Ratio
    host_time: _HostTime
    accelerated_time: _AcceleratedTime
    overhead_time: _OverheadTime
    latency_time: _LatencyTime
    compute_time: _ComputeTime
    speedup_at_one_byte: _SpeedupAtOneByte
    speedup_limit: _SpeedupLimit
    peak_speedup: _PeakSpeedup
    peak_granularity: _PeakGranularity
    computational_intensity: _Intensity
    accelerator_computational_intensity: _AcceleratorIntensity
    latency_bound: _LatencyBound
    break_even: _BreakEven
    break_even_end: _BreakEvenEnd
    half_acceleration: _HalfAcceleration
    half_acceleration_end: _HalfAccelerationEnd
    target_from: _TargetFrom
    target_to: _TargetTo
