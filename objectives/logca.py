"""LogCA: when offloading to an accelerator is beneficial, and by how much.

Sources: M. S. B. Altaf and D. A. Wood, "LogCA: A High-Level Performance Model for Hardware
Accelerators", ISCA 2017, and the same authors' letter "LogCA: A Performance Model for Hardware
Accelerators". The host takes T0 = C g**β, the accelerator T1 = o + L + l g + C g**β / A cycles for
g bytes. The papers take latency either per call (L, their equation 2) or per byte (l, equation 8);
both are terms of one formula here. Assumptions, the papers': one call at a time, nothing overlaps
(else o, L and l are the parts that do not), host and accelerator run algorithms of one complexity,
no caches. Symbols are from Table 1 of ISCA 2017, with l for the latency per byte that shares the
letter L there. The typical ranges of the quantities cover its Table 5.

All models take keywords and numbers or arrays of any shapes that broadcast. Inputs are finite
except for an infinite acceleration. Outside the declared domains, and where T0 is beyond the range
of floats, the models return NaN. No function raises on a value.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, NamedTuple, TypeAlias

import numpy as np

from dse.model import Array, Floats, Quantity, composed_of, model, monotonic
from objectives.power_law import (
    acceleration_gain,
    broadcast_alike,
    crossings,
    entropy,
    is_number,
    power,
    to_arrays,
)
from objectives.quantities import (
    Acceleration,
    Complexity,
    ComputationalIndex,
    Granularity,
    Kernel,
    Latency,
    LatencyPerByte,
    Overhead,
    declare_flag,
    declare_speedup,
)

TargetSpeedup: TypeAlias = Annotated[
    Floats, Quantity("1", "speedup to reach", "s", above=0.0, typical=(0.5, 32.0))
]
HostFixedWork: TypeAlias = Annotated[
    Floats,
    Quantity(
        "B",
        "fixed cost of a call on the host, as work: bytes to the power of the complexity",
        "h/C",
        low=0.0,
        typical=(0.0, 64.0),
    ),
]


class HostWork(NamedTuple):
    """The time on the host: C g**β cycles for g bytes, and h cycles whatever the size."""

    computational_index: ComputationalIndex
    complexity: Complexity = 1.0
    host_fixed_work: HostFixedWork = 0.0


class InterfaceCosts(NamedTuple):
    """The costs of a call in addition to the computation."""

    overhead: Overhead
    latency: Latency = 0.0
    latency_per_byte: LatencyPerByte = 0.0


_HOST = ("computational_index", "complexity", "host_fixed_work")


def _ratio(about: str, symbol: str = "") -> Quantity:
    return Quantity("1", about, symbol, low=0.0, reference=_HOST)


def _time(
    about: str, symbol: str = "", label: str = "", part_of: str = "", without: str = ""
) -> Quantity:
    return Quantity("cycle", about, symbol, low=0.0, label=label, part_of=part_of, without=without)


def _size(about: str, symbol: str = "", label: str = "") -> Quantity:
    return Quantity("B", about, symbol, low=0.0, label=label, reference=_HOST)


# ----------------------------------------------------------------------------- over the granularity


@dataclass(frozen=True, eq=False)
class Speedup:
    """The output of :func:`speedup`."""

    speedup: Annotated[Array, declare_speedup("speedup of a call", reference=_HOST)]


@dataclass(frozen=True, eq=False)
class Times:
    """The outputs of :func:`times`."""

    host_time: Annotated[Array, _time("time on the host", "T0")]
    accelerated_time: Annotated[
        Array,
        _time(
            "time with the accelerator",
            "T1",
            "execution time with the accelerator",
            without="host_time",
        ),
    ]
    overhead_time: Annotated[Array, _time("time in set-up", part_of="accelerated_time")]
    latency_time: Annotated[Array, _time("time on the interface", part_of="accelerated_time")]
    compute_time: Annotated[Array, _time("time computing", part_of="accelerated_time")]


class Durations(NamedTuple):
    """The outputs of :func:`durations`."""

    host_duration: Annotated[Array, Quantity("s", "time of a call on the host", low=0.0)]
    call_duration: Annotated[
        Array,
        Quantity(
            "s",
            "time of a call with the accelerator",
            low=0.0,
            over="accelerated_time",
            without="host_duration",
        ),
    ]


@dataclass(frozen=True, eq=False)
class Limits:
    """The outputs of :func:`limits`."""

    speedup_at_one_byte: Annotated[Array, _ratio("speedup at a granularity of 1 B")]
    speedup_limit: Annotated[Array, _ratio("speedup as granularity grows")]
    peak_speedup: Annotated[Array, _ratio("least upper bound of speedup")]
    peak_granularity: Annotated[Array, _size("granularity of the peak speedup; inf: as it grows")]
    computational_intensity: Annotated[
        Array, _ratio("host's work for each cycle of latency", "C/l")
    ]
    accelerator_computational_intensity: Annotated[
        Array, _ratio("accelerator's work for each cycle of latency", "C/A/l")
    ]
    latency_bound: Annotated[Array, declare_flag("1: latency bounds speedup; 0: compute does")]


@model
@monotonic(
    speedup="+acceleration +computational_index +host_fixed_work -overhead -latency"
    " -latency_per_byte"
)
@np.errstate(all="ignore")
def speedup(
    granularity: Granularity, interface: InterfaceCosts, work: HostWork, acceleration: Acceleration
) -> Speedup:
    """Return the speedup T0/T1 at a granularity (ISCA 2017, equations 2 and 8 in one).

    It is 1 / (1/A + (o + L + l g) / (C g**β)): it rises with A and C, and falls with o, L and l.
    With g and β it may do either. A fixed cost of a call on the host adds h to T0 = C g**β.

    >>> t2 = dict(overhead=29e3, latency=1500, computational_index=90, acceleration=19)
    >>> speedup(granularity=[100, 1000, 100_000], **t2).speedup
    array([ 0.2906, 2.5541, 17.8506])
    """
    g, a = to_arrays(granularity, acceleration)
    o, fixed, per_byte = to_arrays(*interface)
    c, b, h = to_arrays(*work)
    host = c * power(g, b)
    total = _interface(o, fixed, per_byte, g) + host / a
    host = host if is_number(h, 0.0) else host + _fixed_cost(c, h)
    return Speedup((host / total)[()])


@model
@monotonic(
    host_time="+granularity +computational_index =overhead =latency =latency_per_byte"
    " =acceleration +host_fixed_work",
    accelerated_time="+granularity +computational_index +overhead +latency +latency_per_byte"
    " -acceleration =host_fixed_work",
    overhead_time="=granularity =computational_index +overhead =latency =latency_per_byte"
    " =complexity =acceleration =host_fixed_work",
    latency_time="+granularity =computational_index =overhead +latency +latency_per_byte"
    " =complexity =acceleration =host_fixed_work",
    compute_time="+granularity +computational_index =overhead =latency =latency_per_byte"
    " -acceleration =host_fixed_work",
)
@np.errstate(all="ignore")
def times(
    granularity: Granularity, interface: InterfaceCosts, work: HostWork, acceleration: Acceleration
) -> Times:
    """Return T0, T1 and the three parts of T1, at a granularity (ISCA 2017, section 2).

    Each is a sum of products of powers, and therefore monotonic in all inputs but β: with β, g**β
    rises for g above 1 B and falls below.

    >>> float(times(granularity=1024, overhead=29e3, latency=1500, computational_index=90,
    ...             acceleration=19).compute_time)
    4850.526
    """
    g, a = to_arrays(granularity, acceleration)
    o, fixed, per_byte = to_arrays(*interface)
    c, b, h = to_arrays(*work)
    host = c * power(g, b)
    computing, moving = host / a, fixed + per_byte * g
    host = host + _fixed_cost(c, h)
    return Times(*broadcast_alike((host, o + moving + computing, o, moving, computing)))


@model
@monotonic(
    host_duration="+host_time =accelerated_time -clock",
    call_duration="=host_time +accelerated_time -clock",
)
@np.errstate(all="ignore")
def durations(
    host_time: Annotated[Floats, _time("time on the host", "T0")],
    accelerated_time: Annotated[Floats, _time("time with the accelerator", "T1")],
    clock: Annotated[Floats, Quantity("Hz", "clock of the host", above=0.0, typical=(1e8, 5e9))],
) -> Durations:
    """Return T0 and T1 in seconds, which compares hosts with different clocks.

    >>> float(durations(host_time=3000.0, accelerated_time=2000.0, clock=1e9).call_duration)
    2e-06
    """
    host, call, rate = to_arrays(host_time, accelerated_time, clock)
    return Durations(*broadcast_alike((host / rate, call / rate)))


@model
@monotonic(
    speedup_at_one_byte="+acceleration +computational_index -overhead -latency -latency_per_byte"
    " =complexity",
    speedup_limit="+acceleration +computational_index -overhead -latency -latency_per_byte"
    " +complexity",
    peak_speedup="+acceleration +computational_index -overhead -latency -latency_per_byte",
    peak_granularity="=acceleration =computational_index +overhead +latency -latency_per_byte"
    " +complexity",
    computational_intensity="=acceleration +computational_index =overhead =latency"
    " -latency_per_byte =complexity",
    accelerator_computational_intensity="-acceleration +computational_index =overhead =latency"
    " -latency_per_byte =complexity",
    latency_bound="=acceleration =computational_index =overhead =latency +latency_per_byte"
    " -complexity",
)
@np.errstate(all="ignore")
def limits(interface: InterfaceCosts, kernel: Kernel, acceleration: Acceleration) -> Limits:
    """Return the bounds of speedup over all granularities, and what bounds it.

    * ``speedup_at_one_byte``: equations 4 and 10; the papers write them as limits for g → 0, where
      speedup itself goes to 0.
    * ``speedup_limit`` for g → ∞, equations 3 and 9: A if l = 0 or β > 1; for l > 0, with β = 1,
      1 / (1/A + l/C), with β < 1, 0.
    * ``peak_speedup``: the least upper bound over all g > 0; reached, at ``peak_granularity``, only
      if β < 1 and l > 0. The granularity is inf if speedup grows with g or never changes, and
      0 if it only falls.
    * ``computational_intensity`` C/l and C/A/l (section 2); inf for l = 0.
    * ``latency_bound`` (section 3.1): 1 if l > 0 and β ≤ 1, else 0.

    They are of the work: a fixed cost of a call on the host is not in them.

    The first three are values, a limit and a least upper bound of speedup. They are monotonic as
    speedup is at each granularity; as β passes 1 the limit rises from 0 to A. The peak is at
    g = β (o + L) / ((1 − β) l). It is monotonic in each factor, up to inf at β = 1 or l = 0.
    """
    o, fixed, per_byte, c, b, a = np.broadcast_arrays(*to_arrays(*interface, *kernel, acceleration))
    bends = (per_byte > 0.0) & (b < 1.0)
    cost, log_line = np.logaddexp(np.log(o), np.log(fixed)), np.log(per_byte)
    bend = np.where(bends, b, 0.5)  # a stand-in where it does not count
    # The least (o + L) g**-β + l g**(1 - β), over C; at g = β (o + L) / ((1 - β) l).
    least = np.exp((1.0 - bend) * cost + bend * log_line + entropy(bend) - np.log(c))
    top = np.exp(np.log(bend) - np.log1p(-bend) + cost - log_line)
    line = np.where((per_byte > 0.0) & (b == 1.0), per_byte / c, 0.0)
    limit = np.where(line > 0.0, 1.0 / (1.0 / a + line), a)
    limit = np.where(o + fixed < np.inf, limit, 0.0)  # a saturated engine answers never
    bound = (per_byte > 0.0) & (b <= 1.0)
    return Limits(
        (1.0 / (1.0 / a + (o + fixed + per_byte) / c))[()],
        np.where(bends, 0.0, limit)[()],
        np.where(bends, 1.0 / (1.0 / a + least), limit)[()],
        np.where(bends, top, np.inf)[()],
        (c / per_byte)[()],
        np.where(per_byte > 0.0, c / a / per_byte, np.inf)[()],
        bound.astype(np.float64)[()],
    )


def _fixed_cost(each: Array, host_fixed_work: Array) -> Array:
    """Return the cost of the fixed work, of which each unit costs so much; 0 if there is none."""
    if is_number(host_fixed_work, 0.0):
        return host_fixed_work
    return np.where(host_fixed_work > 0.0, each * host_fixed_work, 0.0)


def _interface(overhead: Array, latency: Array, latency_per_byte: Array, size: Array) -> Array:
    """Return o + L + l g; nothing is added if a latency is the number 0."""
    cost = overhead if is_number(latency, 0.0) else overhead + latency
    return np.asarray(cost if is_number(latency_per_byte, 0.0) else cost + latency_per_byte * size)


# --------------------------------------------------------------------------- from which granularity


@dataclass(frozen=True, eq=False)
class BreakEven:
    """The outputs of :func:`break_even`."""

    break_even: Annotated[
        Array,
        _size(
            "granularity from which offloading is beneficial; inf: never",
            "g1",
            "break-even granularity",
        ),
    ]
    break_even_end: Annotated[
        Array,
        _size(
            "granularity up to which offloading is beneficial; inf: no limit",
            label="largest beneficial granularity",
        ),
    ]


@dataclass(frozen=True, eq=False)
class HalfAcceleration:
    """The outputs of :func:`half_acceleration`."""

    half_acceleration: Annotated[
        Array,
        _size(
            "granularity of half the acceleration; inf: never",
            "g_A/2",
            "granularity for half the peak speedup",
        ),
    ]
    half_acceleration_end: Annotated[
        Array, _size("granularity up to which half is kept; inf: no end")
    ]


@dataclass(frozen=True, eq=False)
class Target:
    """The outputs of :func:`target`."""

    target_from: Annotated[
        Array, _size("granularity from which the target is met; inf: never", "g_s")
    ]
    target_to: Annotated[Array, _size("granularity up to which the target is met; inf: no end")]


@model
@monotonic(
    break_even="-acceleration -computational_index -host_fixed_work +overhead +latency"
    " +latency_per_byte"
)
@np.errstate(all="ignore")
def break_even(interface: InterfaceCosts, work: HostWork, acceleration: Acceleration) -> BreakEven:
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
    c, b, h = to_arrays(*work)
    return BreakEven(
        *crossings(acceleration_gain(c, acceleration, 1.0), interface, b, _fixed_cost(c, h))
    )


@model
@monotonic(
    half_acceleration="+acceleration -computational_index -host_fixed_work +overhead +latency"
    " +latency_per_byte"
)
@np.errstate(all="ignore")
def half_acceleration(
    interface: InterfaceCosts, work: HostWork, acceleration: Acceleration
) -> HalfAcceleration:
    """Return the granularities between which the speedup is at least A/2.

    The exact g_{A/2} of equations 6 and 12 of ISCA 2017; bounds as in :func:`break_even`. There
    C g**β / A covers o + L + l g. The granularity rises with A, o, L and l and falls with C.

    >>> float(half_acceleration(overhead=29e3, latency=1500, computational_index=90,
    ...                         acceleration=19).half_acceleration)
    6438.89
    """
    c, b, h = to_arrays(*work)
    each = np.asarray(c / acceleration)
    return HalfAcceleration(*crossings(each, interface, b, _fixed_cost(2.0 * each, h)))


@model
@monotonic(
    target_from="+target_speedup -acceleration -computational_index -host_fixed_work +overhead"
    " +latency +latency_per_byte"
)
@np.errstate(all="ignore")
def target(
    target_speedup: TargetSpeedup,
    interface: InterfaceCosts,
    work: HostWork,
    acceleration: Acceleration,
) -> Target:
    """Return the granularities between which the speedup is at least a target.

    Bounds as in :func:`break_even`: (inf, inf) is never, (0, inf) is always. As there,
    `target_from` is monotonic in each input but β; `target_to` is not, since never is inf for both.

    >>> target(target_speedup=[1, 10, 20], overhead=29e3, latency=1500, computational_index=90,
    ...        acceleration=19).target_from
    array([ 357.716, 7154.321, inf])
    """
    c, b, h, s = to_arrays(*work, target_speedup)
    return Target(
        *crossings(acceleration_gain(c, acceleration, s), interface, b, _fixed_cost(c / s, h))
    )


# ------------------------------------------------------------------------------ all results at once


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
    host_fixed_work: HostFixedWork = 0.0,
) -> Offload:
    """Return all results of LogCA for an offload; each output has the shape of its inputs.

    These are the outputs of :func:`speedup`, :func:`times`, :func:`limits`, :func:`break_even`,
    :func:`half_acceleration` and :func:`target`, whose target is `target_speedup`. Units and
    domains are declared with the quantities; the acceleration may be below 1, and infinite.

    >>> t2 = offload(1024, overhead=29e3, latency=1500, latency_per_byte=0, computational_index=90,
    ...              complexity=1.01, acceleration=19)
    >>> float(t2.speedup), float(t2.break_even), float(t2.half_acceleration)
    (2.767, 337.49, 5903.4)
    """
