"""LogCA: when does offloading to an accelerator pay, and how much.

Sources: M. S. B. Altaf and D. A. Wood, "LogCA: A High-Level Performance Model for Hardware
Accelerators", ISCA 2017, and the same authors' letter "LogCA: A Performance Model for Hardware
Accelerators". The host takes T0 = C g**β, the accelerator T1 = o + L + l g + C g**β / A cycles for
g bytes. The papers take latency either per call (L, their equation 2) or per byte (l, equation 8);
both are terms of one formula here. Assumptions, the papers': one call at a time, nothing overlaps
(else o, L and l are the parts that do not), host and accelerator run algorithms of one complexity,
no caches.

:func:`offload` gives everything; its parts are models of their own. All take keywords and numbers
or arrays of any shapes that broadcast, finite but for an infinite acceleration, and give NaN
outside the declared domains. No function raises on a value.
"""

from __future__ import annotations

import numpy as np

from dse.model import Array, Floats, composed_of, nan_outside
from objectives.logca.quantities import (
    Acceleration,
    BreakEven,
    Complexity,
    ComputationalIndex,
    Granularity,
    HalfAcceleration,
    Latency,
    LatencyPerByte,
    Limits,
    Offload,
    Overhead,
    Speedup,
    Target,
    TargetSpeedup,
    Times,
)
from objectives.logca.roots import entropy, interval

_TINY = float(np.finfo(np.float64).tiny)
_AMPLE = 1e-150  # the product of two such numbers is still above _TINY


@nan_outside
@np.errstate(all="ignore")
def speedup(
    *,
    granularity: Granularity,
    overhead: Overhead,
    latency: Latency = 0.0,
    latency_per_byte: LatencyPerByte = 0.0,
    computational_index: ComputationalIndex,
    complexity: Complexity = 1.0,
    acceleration: Acceleration,
) -> Speedup:
    """Return the speedup T0/T1 at a granularity (ISCA 2017, equations 2 and 8 in one).

    >>> t2 = dict(overhead=29e3, latency=1500, computational_index=90, acceleration=19)
    >>> speedup(granularity=[100, 1000, 100_000], **t2).speedup
    array([ 0.2906, 2.5541, 17.8506])
    """
    g, o, fixed, per_byte, c, b, a = _arrays(
        granularity,
        overhead,
        latency,
        latency_per_byte,
        computational_index,
        complexity,
        acceleration,
    )
    host = c * _power(g, b)
    total = _interface(o, fixed, per_byte, g) + host / a
    ratio = np.asarray(host / total)
    # Both least values so large: T1 is finite, and T0, their product at least, in range as well.
    least = total.min(initial=np.inf), ratio.min(initial=np.inf)
    if not (least[0] >= _AMPLE and least[1] >= _AMPLE):
        at = ~((host >= _TINY) & (total >= _TINY) & (total < np.inf))
        inputs = (g, o, fixed, per_byte, c, b, a)
        ratio[at] = _speedup_in_logarithms(*(np.broadcast_to(x, ratio.shape)[at] for x in inputs))
    return Speedup(ratio[()])


@nan_outside
@np.errstate(all="ignore")
def times(
    *,
    granularity: Granularity,
    overhead: Overhead,
    latency: Latency = 0.0,
    latency_per_byte: LatencyPerByte = 0.0,
    computational_index: ComputationalIndex,
    complexity: Complexity = 1.0,
    acceleration: Acceleration,
) -> Times:
    """Return T0, T1 and the three parts of T1, at a granularity (ISCA 2017, section 2).

    >>> float(times(granularity=1024, overhead=29e3, latency=1500, computational_index=90,
    ...             acceleration=19).compute_time)
    4850.526
    """
    g, o, fixed, per_byte, c, b, a = _arrays(
        granularity,
        overhead,
        latency,
        latency_per_byte,
        computational_index,
        complexity,
        acceleration,
    )
    host = c * _power(g, b)
    computing = np.where(a < np.inf, host / a, 0.0)  # also where the host's time overflows
    moving = fixed + per_byte * g
    shape = np.broadcast_shapes(o.shape, moving.shape, computing.shape)
    total = np.add(o, moving, out=np.empty(shape))
    total += computing
    parts = (np.broadcast_to(x, shape).copy()[()] for x in (o, moving, computing))
    return Times(np.broadcast_to(host, shape).copy()[()], total[()], *parts)


@nan_outside
@np.errstate(all="ignore")
def limits(
    *,
    overhead: Overhead,
    latency: Latency = 0.0,
    latency_per_byte: LatencyPerByte = 0.0,
    computational_index: ComputationalIndex,
    complexity: Complexity = 1.0,
    acceleration: Acceleration,
) -> Limits:
    """Return the bounds of speedup over all granularities, and what bounds it.

    * ``speedup_at_one_byte``: equations 4 and 10; the papers write them as limits for g → 0, where
      speedup itself goes to 0.
    * ``speedup_limit`` for g → ∞, equations 3 and 9: A where l = 0 or β > 1; for l > 0, with β = 1,
      1 / (1/A + l/C), with β < 1, 0.
    * ``peak_speedup``: the least upper bound over all g > 0; reached, at ``peak_granularity``, only
      where β < 1 and l > 0. The granularity is inf where speedup grows with g or never changes, and
      0 where it only falls.
    * ``computational_intensity`` C/l and C/A/l (section 2); inf for l = 0.
    * ``latency_bound`` (section 3.1): 1 where l > 0 and β ≤ 1, else 0.
    """
    o, fixed, per_byte, c, b, a = np.broadcast_arrays(
        *_arrays(overhead, latency, latency_per_byte, computational_index, complexity, acceleration)
    )
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


@nan_outside
@np.errstate(all="ignore")
def break_even(
    *,
    overhead: Overhead,
    latency: Latency = 0.0,
    latency_per_byte: LatencyPerByte = 0.0,
    computational_index: ComputationalIndex,
    complexity: Complexity = 1.0,
    acceleration: Acceleration,
) -> BreakEven:
    """Return the granularities between which offloading pays: speedup ≥ 1.

    The exact g1 that equations 5 and 11 of ISCA 2017 aim at, and the second crossing of sub-linear
    kernels under a latency per byte. Both are inf where offloading never pays; `break_even` is
    0 where it pays from the smallest granularity on, `break_even_end` inf where it pays for ever.

    >>> pays = break_even(overhead=2000, latency_per_byte=5, computational_index=200,
    ...                   complexity=0.7, acceleration=10)
    >>> float(pays.break_even), float(pays.break_even_end)
    (35.1747, 152717.3)
    """
    c, a = _arrays(computational_index, acceleration)
    return BreakEven(
        *_reach(_gain(c, a, np.asarray(1.0)), overhead, latency, latency_per_byte, complexity)
    )


@nan_outside
@np.errstate(all="ignore")
def half_acceleration(
    *,
    overhead: Overhead,
    latency: Latency = 0.0,
    latency_per_byte: LatencyPerByte = 0.0,
    computational_index: ComputationalIndex,
    complexity: Complexity = 1.0,
    acceleration: Acceleration,
) -> HalfAcceleration:
    """Return the granularities between which the speedup is at least A/2.

    The exact g_{A/2} of equations 6 and 12 of ISCA 2017; ends as in :func:`break_even`.

    >>> float(half_acceleration(overhead=29e3, latency=1500, computational_index=90,
    ...                         acceleration=19).half_acceleration)
    6438.89
    """
    c, a = _arrays(computational_index, acceleration)
    return HalfAcceleration(
        *_reach(np.asarray(c / a), overhead, latency, latency_per_byte, complexity)
    )


@nan_outside
@np.errstate(all="ignore")
def target(
    *,
    target_speedup: TargetSpeedup,
    overhead: Overhead,
    latency: Latency = 0.0,
    latency_per_byte: LatencyPerByte = 0.0,
    computational_index: ComputationalIndex,
    complexity: Complexity = 1.0,
    acceleration: Acceleration,
) -> Target:
    """Return the granularities between which the speedup is at least a target.

    Ends as in :func:`break_even`: (inf, inf) is never, (0, inf) is always.

    >>> target(target_speedup=[1, 10, 20], overhead=29e3, latency=1500, computational_index=90,
    ...        acceleration=19).target_from
    array([ 357.716, 7154.321, inf])
    """
    s, c, a = _arrays(target_speedup, computational_index, acceleration)
    return Target(*_reach(_gain(c, a, s), overhead, latency, latency_per_byte, complexity))


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
    """Return everything LogCA says of an offload; each output in the shape of its own inputs.

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
    shared = {
        "overhead": overhead,
        "latency": latency,
        "latency_per_byte": latency_per_byte,
        "computational_index": computational_index,
        "complexity": complexity,
        "acceleration": acceleration,
    }
    return Offload(
        *speedup(granularity=granularity, **shared),
        *times(granularity=granularity, **shared),
        *limits(**shared),
        *break_even(**shared),
        *half_acceleration(**shared),
        *target(target_speedup=target_speedup, **shared),
    )


def _arrays(*values: Floats) -> tuple[Array, ...]:
    return tuple(np.asarray(value, dtype=np.float64) for value in values)


def _is(values: Array, constant: float) -> bool:
    """Whether an input is one number, such as its default; a pass over the designs is spared."""
    return values.ndim == 0 and bool(values == constant)


def _power(granularity: Array, complexity: Array) -> Array:
    """Return g**β; by logarithm and exponential, which are faster than the general power."""
    if _is(complexity, 1.0):
        return granularity
    power = np.asarray(complexity * np.log(granularity))
    np.exp(power, out=power)
    np.copyto(power, granularity, where=complexity == 1.0)
    return power


def _speedup_in_logarithms(
    granularity: Array,
    overhead: Array,
    latency: Array,
    latency_per_byte: Array,
    computational_index: Array,
    complexity: Array,
    acceleration: Array,
) -> Array:
    """Return the speedup as 1 / (T1 / T0), where T0 or T1 leaves the range of floats."""
    size, work = np.log(granularity), np.log(computational_index)
    cost = np.logaddexp(np.log(overhead), np.log(latency)) - work - complexity * size
    line = np.log(latency_per_byte) - work + (1.0 - complexity) * size
    return np.asarray(1.0 / (1.0 / acceleration + np.exp(cost) + np.exp(line)))


def _interface(overhead: Array, latency: Array, latency_per_byte: Array, size: Array) -> Array:
    """Return o + L + l g; nothing is added where a latency is the number 0."""
    cost = overhead if _is(latency, 0.0) else overhead + latency
    return np.asarray(cost if _is(latency_per_byte, 0.0) else cost + latency_per_byte * size)


def _gain(computational_index: Array, acceleration: Array, speedup: Array) -> Array:
    """Return C (1/s − 1/A), as C (A − s) / A / s: A − s is exact where A and s are close."""
    try:
        with np.errstate(invalid="raise"):  # the processor tells, without a pass of its own
            gain = computational_index * ((acceleration - speedup) / acceleration)
    except FloatingPointError:  # inf / inf
        share = np.where(np.isinf(acceleration), 1.0, (acceleration - speedup) / acceleration)
        gain = computational_index * share
    return np.asarray(gain if _is(speedup, 1.0) else gain / speedup)


def _reach(
    gain: Array, overhead: Floats, latency: Floats, latency_per_byte: Floats, complexity: Floats
) -> tuple[Array, Array]:
    """Return the ends of the interval of granularities where the gain covers the interface."""
    o, fixed, per_byte, b = _arrays(overhead, latency, latency_per_byte, complexity)
    cost = o if _is(fixed, 0.0) else np.asarray(o + fixed)
    lower, upper = interval(gain, per_byte, cost, b)
    return lower[()], upper[()]
