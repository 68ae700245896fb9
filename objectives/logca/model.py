"""All results of LogCA for an offload, in one call."""

from __future__ import annotations

from dataclasses import dataclass

from dse.model import composed_of
from objectives.logca.curve import Limits, Speedup, Times, limits, speedup, times
from objectives.logca.quantities import TargetSpeedup
from objectives.logca.reach import (
    BreakEven,
    HalfAcceleration,
    Target,
    break_even,
    half_acceleration,
    target,
)
from objectives.quantities import (
    Acceleration,
    Complexity,
    ComputationalIndex,
    Granularity,
    Latency,
    LatencyPerByte,
    Overhead,
)


@dataclass(frozen=True, eq=False)
class Offload(Speedup, Times, Limits, BreakEven, HalfAcceleration, Target):
    """The outputs of :func:`offload`."""


@composed_of(speedup, times, limits, break_even, half_acceleration, target)
def offload(
    granularity: Granularity,
    overhead: Overhead,
    latency: Latency,
    latency_per_byte: LatencyPerByte,
    computational_index: ComputationalIndex,
    complexity: Complexity,
    acceleration: Acceleration,
    target_speedup: TargetSpeedup = 1.0,
) -> Offload:
    """Return all results of LogCA for an offload; each output has the shape of its inputs.

    Parameters
    ----------
    granularity : array_like
        Data per call g [B], > 0.
    overhead : array_like
        Set-up on the host o [cycle], ≥ 0.
    latency : array_like
        Interface latency of a call L [cycle], ≥ 0.
    latency_per_byte : array_like
        Interface latency per byte l [cycle/B], ≥ 0.
    computational_index : array_like
        Host cycles per byte**β C, > 0.
    complexity : array_like
        β in (0, 3].
    acceleration : array_like
        Peak speedup A, > 0; may be below 1, and infinite.
    target_speedup : array_like
        The speedup of `target_from` and `target_to`, > 0.

    Returns
    -------
    Offload
        The outputs of :func:`speedup`, :func:`times`, :func:`limits`, :func:`break_even`,
        :func:`half_acceleration` and :func:`target`.

    >>> t2 = offload(1024, overhead=29e3, latency=1500, latency_per_byte=0, computational_index=90,
    ...              complexity=1.01, acceleration=19)
    >>> float(t2.speedup), float(t2.break_even), float(t2.half_acceleration)
    (2.767, 337.49, 5903.4)
    """
