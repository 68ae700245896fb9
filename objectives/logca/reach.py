"""Granularities from which an offload is beneficial or meets a target."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

import numpy as np

from dse.model import Array, Quantity, model, monotonic
from objectives.logca.quantities import Interface, TargetSpeedup
from objectives.power_law import arrays, crossings, gain
from objectives.quantities import Acceleration, Kernel


@dataclass(frozen=True, eq=False)
class BreakEven:
    """The outputs of :func:`break_even`."""

    break_even: Annotated[
        Array,
        Quantity(
            "B",
            "granularity from which offloading is beneficial; inf: never",
            "g1",
            low=0.0,
            label="break-even granularity",
        ),
    ]
    break_even_end: Annotated[
        Array,
        Quantity(
            "B",
            "granularity up to which offloading is beneficial; inf: no limit",
            low=0.0,
            label="largest beneficial granularity",
        ),
    ]


@dataclass(frozen=True, eq=False)
class HalfAcceleration:
    """The outputs of :func:`half_acceleration`."""

    half_acceleration: Annotated[
        Array,
        Quantity(
            "B",
            "granularity of half the acceleration; inf: never",
            "g_A/2",
            low=0.0,
            label="granularity for half the peak speedup",
        ),
    ]
    half_acceleration_end: Annotated[
        Array, Quantity("B", "granularity up to which half is kept; inf: no end", low=0.0)
    ]


@dataclass(frozen=True, eq=False)
class Target:
    """The outputs of :func:`target`."""

    target_from: Annotated[
        Array, Quantity("B", "granularity from which the target is met; inf: never", "g_s", low=0.0)
    ]
    target_to: Annotated[
        Array, Quantity("B", "granularity up to which the target is met; inf: no end", low=0.0)
    ]


@model
@monotonic(break_even="-acceleration -computational_index +overhead +latency +latency_per_byte")
@np.errstate(all="ignore")
def break_even(interface: Interface, kernel: Kernel, acceleration: Acceleration) -> BreakEven:
    """Return the granularities between which offloading is beneficial: speedup ≥ 1.

    The first is the exact g1 that equations 5 and 11 of ISCA 2017 approximate. The second is the
    second crossing of sub-linear kernels under a latency per byte. Both are inf if offloading is
    never beneficial. `break_even` is 0 if the smallest granularity is beneficial, and
    `break_even_end` is inf if beneficial granularities have no limit.

    A cheaper call or a slower host enlarges the set of beneficial granularities: `break_even`
    falls with A and C and rises with o, L and l.

    >>> result = break_even(overhead=2000, latency_per_byte=5, computational_index=200,
    ...                     complexity=0.7, acceleration=10)
    >>> float(result.break_even), float(result.break_even_end)
    (35.1747, 152717.3)
    """
    c, b = arrays(*kernel)
    return BreakEven(*crossings(gain(c, acceleration, 1.0), interface, b))


@model
@monotonic(
    half_acceleration="+acceleration -computational_index +overhead +latency +latency_per_byte"
)
@np.errstate(all="ignore")
def half_acceleration(
    interface: Interface, kernel: Kernel, acceleration: Acceleration
) -> HalfAcceleration:
    """Return the granularities between which the speedup is at least A/2.

    The exact g_{A/2} of equations 6 and 12 of ISCA 2017; bounds as in :func:`break_even`. There
    C g**β / A covers o + L + l g. The granularity rises with A, o, L and l and falls with C.

    >>> float(half_acceleration(overhead=29e3, latency=1500, computational_index=90,
    ...                         acceleration=19).half_acceleration)
    6438.89
    """
    c, b = arrays(*kernel)
    return HalfAcceleration(*crossings(np.asarray(c / acceleration), interface, b))


@model
@monotonic(
    target_from="+target_speedup -acceleration -computational_index +overhead +latency"
    " +latency_per_byte"
)
@np.errstate(all="ignore")
def target(
    target_speedup: TargetSpeedup, interface: Interface, kernel: Kernel, acceleration: Acceleration
) -> Target:
    """Return the granularities between which the speedup is at least a target.

    Bounds as in :func:`break_even`: (inf, inf) is never, (0, inf) is always. As there,
    `target_from` is monotonic in each input but β; `target_to` is not, since never is inf for both.

    >>> target(target_speedup=[1, 10, 20], overhead=29e3, latency=1500, computational_index=90,
    ...        acceleration=19).target_from
    array([ 357.716, 7154.321, inf])
    """
    c, b = arrays(*kernel)
    return Target(*crossings(gain(c, acceleration, target_speedup), interface, b))
