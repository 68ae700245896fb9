"""Where one power law beats a straight line: the exact roots behind every break-even granularity.

Offloading g bytes reaches a speedup s where ``gain · g**β ≥ per_byte · g + fixed`` with
``gain = C (1/s − 1/A)``, ``per_byte = l`` and ``fixed = o + L``. The set of such g is an interval.
It has a closed form for β = 1, for l = 0 and for o + L = 0. For the rest, divide by `fixed` and
take logarithms: with y = log(l g / (o + L)) the condition is

    φ(y) = D + β y − log(1 + e**y) ≥ 0,    D = log(gain / fixed) + β log(fixed / per_byte),

a concave function of one variable with two parameters. For β > 1 it rises through its only root.
For β < 1 its maximum is D − H(β), H the entropy −β log β − (1 − β) log(1 − β): below zero the
speedup is never reached, otherwise there is a root on each side of the maximum. A tangent of a
concave function is never below it. Newton's method therefore comes to the root from the outer side,
step by step, and never crosses it: no bracket can be lost.
"""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from dse.model import Array, Floats

_LARGEST = 500.0  # logarithm of a granularity: products with it are in the range of floats
_HALVINGS = 64  # of the range of floats, to the last digit
_MOST_STEPS = 100  # typical are 5; |β − 1| = 1e-12 takes 30


def to_arrays(*values: Floats) -> tuple[Array, ...]:
    """Return numbers and arrays as arrays of floats."""
    return tuple(np.asarray(value, dtype=np.float64) for value in values)


def broadcast_alike(values: Iterable[Floats]) -> list[Array]:
    """Return arrays of one shape, the shape that all broadcast to."""
    return [part.copy()[()] for part in np.broadcast_arrays(*values)]


def is_number(values: Array, constant: float) -> bool:
    """Return whether an input is one number, such as its default."""
    return values.ndim == 0 and bool(values == constant)


def power(granularity: Array, complexity: Array) -> Array:
    """Return g**β; by logarithm and exponential, which are faster than the general power."""
    if is_number(complexity, 1.0):
        return granularity
    found = np.asarray(complexity * np.log(granularity))
    np.exp(found, out=found)
    np.copyto(found, granularity, where=complexity == 1.0)
    return found


@np.errstate(all="ignore")
def acceleration_gain(computational_index: Floats, acceleration: Floats, speedup: Floats) -> Array:
    """Return C (1/s − 1/A), as C (A − s) / A / s: A − s is exact if A and s are close."""
    c, a, s = to_arrays(computational_index, acceleration, speedup)
    try:
        with np.errstate(invalid="raise"):  # the processor finds it, without a separate pass
            found = c * ((a - s) / a)
    except FloatingPointError:  # inf / inf, 0 * inf
        share = np.where(np.isinf(a), 1.0, (a - s) / a)
        found = np.where(share == 0.0, 0.0, c * share)
    return np.asarray(found if is_number(s, 1.0) else found / s)


@np.errstate(all="ignore")
def crossings(
    gain: Array,
    interface: tuple[Floats, Floats, Floats],
    complexity: Floats,
    saved: Floats = 0.0,
) -> tuple[Array, Array]:
    """Return the bounds of the interval of granularities where the gain covers the interface.

    `gain` is of each byte**β (:func:`acceleration_gain`), `saved` of a call, whatever its size.
    `interface` has overhead o and latency L of a call, and the latency per byte l.
    """
    o, fixed, per_byte, b, s = to_arrays(*interface, complexity, saved)
    cost = o if is_number(fixed, 0.0) else np.asarray(o + fixed)
    cost = cost if is_number(s, 0.0) else np.asarray(cost - s)
    lower, upper = solve_interval(gain, per_byte, cost, b)
    return lower[()], upper[()]


@np.errstate(all="ignore")
def solve_interval(
    gain: Array, per_byte: Array, fixed: Array, complexity: Array
) -> tuple[Array, Array]:
    """Return the bounds of the interval of g > 0 where ``gain g**complexity ≥ per_byte g + fixed``.

    `per_byte` is not negative, `complexity` positive. Both bounds are inf if there is no such g;
    `lower` is 0 if the condition holds from the smallest g on, `upper` is inf if it holds for ever
    (if it is inf for all elements it may be a read-only view). If `fixed` is negative and β > 1,
    the condition may hold again at larger g: `upper` is then the end of the first part. An end
    beyond the range of floats saturates to 0 or inf.
    """
    if (fixed < 0.0).any():
        lower, upper = solve_interval(gain, per_byte, np.maximum(fixed, 0.0), complexity)
        end = _first_end(*np.broadcast_arrays(gain, per_byte, -fixed, complexity))
        return np.where(fixed < 0.0, 0.0, lower), np.where(fixed < 0.0, end, upper)
    if complexity.ndim == 0 and complexity == 1.0:
        lower = _linear(gain, per_byte, fixed)
        return lower, np.broadcast_to(np.inf, lower.shape)
    shape = np.broadcast_shapes(gain.shape, per_byte.shape, fixed.shape, complexity.shape)
    c, m, k, b = (np.broadcast_to(x, shape).ravel() for x in (gain, per_byte, fixed, complexity))
    lower, upper = np.full(c.shape, np.inf), np.full(c.shape, np.inf)
    linear, no_line = b == 1.0, m == 0.0
    reachable = ~linear & ~no_line & (c > 0.0) & (k < np.inf)

    (at,) = np.nonzero(linear)
    if at.size:
        lower[at] = _linear(c[at], m[at], k[at])
    (at,) = np.nonzero(~linear & no_line)
    if at.size:
        lower[at] = _without_line(c[at], k[at], b[at])
    (at,) = np.nonzero(reachable & (k == 0.0))
    if at.size:
        lower[at], upper[at] = _without_constant(c[at], m[at], b[at])
    (at,) = np.nonzero(reachable & (k > 0.0))
    if at.size:
        lower[at], upper[at] = _general(c[at], m[at], k[at], b[at])
    gone = upper == 0.0  # below the smallest float: no g is left
    lower[gone] = upper[gone] = np.inf
    return lower.reshape(shape), upper.reshape(shape)


def _first_end(gain: Array, per_byte: Array, lead: Array, complexity: Array) -> Array:
    """Return the first root of lead + gain g**β − per_byte g; inf if there is none."""
    low = np.full(gain.shape, -_LARGEST)
    high = _LARGEST / np.maximum(complexity, 1.0)  # no overflow of g**β
    least = (np.log(per_byte) - np.log(gain * complexity)) / (complexity - 1.0)
    convex = (complexity > 1.0) & np.isfinite(least)  # with two roots or none
    high = np.where(convex, np.clip(least, low, high), high)

    def is_short(y: Array) -> Array:
        return np.asarray(lead + gain * np.exp(complexity * y) < per_byte * np.exp(y))

    there = is_short(high)
    for _ in range(_HALVINGS):
        middle = (low + high) / 2.0
        short = is_short(middle)
        low, high = np.where(short, low, middle), np.where(short, middle, high)
    return np.where(there, np.exp(high), np.inf)


def _linear(gain: Array, per_byte: Array, fixed: Array) -> Array:
    """If β = 1: from fixed / (gain − per_byte) on, if that difference is positive."""
    margin = gain - per_byte
    positive = np.maximum(margin, 0.0)  # never: a division by zero
    try:
        with np.errstate(invalid="raise"):  # the processor finds it, without a separate pass
            return np.asarray(fixed / positive)
    except FloatingPointError:  # 0 / 0, nothing to amortise: always, or never
        free = np.where(margin >= 0.0, 0.0, np.inf)
        return np.where(fixed == 0.0, free, fixed / positive)


def _without_line(gain: Array, fixed: Array, complexity: Array) -> Array:
    """If l = 0: from (fixed / gain)**(1/β) on, if the gain is positive."""
    lower = np.exp((np.log(fixed) - np.log(gain)) / complexity)
    never_or_always = np.where((gain == 0.0) & (fixed == 0.0), 0.0, np.inf)
    return np.where(gain > 0.0, lower, never_or_always)


def _without_constant(gain: Array, per_byte: Array, complexity: Array) -> tuple[Array, Array]:
    """If o + L = 0: one crossing, at (per_byte / gain)**(1/(β − 1)), rising for β > 1."""
    crossing = np.exp((np.log(per_byte) - np.log(gain)) / (complexity - 1.0))
    rising = complexity > 1.0
    return np.where(rising, crossing, 0.0), np.where(rising, np.inf, crossing)


def _general(gain: Array, per_byte: Array, fixed: Array, complexity: Array) -> tuple[Array, Array]:
    """All three terms positive and β ≠ 1: the concave function of the module's docstring."""
    unit = np.log(fixed) - np.log(per_byte)  # log g = y + unit
    offset = np.log(gain) - np.log(fixed) + complexity * unit
    lower, upper = np.full(gain.shape, np.inf), np.full(gain.shape, np.inf)

    (at,) = np.nonzero(complexity > 1.0)
    if at.size:
        d, b = offset[at], complexity[at]
        start = np.maximum(-d / b, -d / (b - 1.0))  # log(1 + e**y) > max(0, y)
        lower[at] = np.exp(_left_root(d, b, b - 1.0, start) + unit[at])

    (at,) = np.nonzero(complexity < 1.0)
    at = at[offset[at] >= entropy(complexity[at])]
    if at.size:
        left, right = _both_roots(offset[at], complexity[at])
        lower[at], upper[at] = np.exp(left + unit[at]), np.exp(right + unit[at])
    return lower, upper


def _both_roots(offset: Array, complexity: Array) -> tuple[Array, Array]:
    """If β < 1: the roots on both sides of the maximum."""
    rest = 1.0 - complexity
    peak = np.log(complexity) - np.log1p(-complexity)
    # Half the distance of the roots of the parabola that touches φ at its maximum.
    reach = np.sqrt(2.0 * (offset - entropy(complexity)) / (complexity * rest))
    left, right = peak - reach, peak + reach
    (at,) = np.nonzero(reach > 1e-5)  # closer than that, the parabola is better than rounding
    if at.size:
        d, b, r = offset[at], complexity[at], rest[at]
        left[at] = _left_root(d, b, -r, np.maximum(left[at], -d / b))
        # φ keeps its form under y → −y, β → 1 − β: the right root is a left root, mirrored.
        right[at] = -_left_root(d, r, -b, np.maximum(-right[at], -d / r))
    return left, right


def entropy(share: Array) -> Array:
    """Return −p log p − (1 − p) log(1 − p) of shares p in (0, 1)."""
    return -share * np.log(share) - (1.0 - share) * np.log1p(-share)


def _left_root(offset: Array, exponent: Array, beyond: Array, start: Array) -> Array:
    """Return the root of φ where φ rises, each element by itself, from a start where it rises.

    `beyond` is exponent − 1, given apart since the difference may have lost its digits.
    """
    root = start.copy()
    at = np.arange(root.size)
    y, d, b, e = start, offset, exponent, beyond
    for number in range(_MOST_STEPS):
        small = np.exp(-np.abs(y))
        positive = y > 0.0
        logistic = small / (1.0 + small)  # of −|y|
        slope = np.where(positive, e + logistic, b - logistic)
        step = -(d + np.where(positive, e, b) * y - np.log1p(small)) / slope
        going = np.abs(step) > 4e-16 * (1.0 + np.abs(y))
        if number:  # from now on every step is to the right; a step to the left is rounding
            going &= step > 0.0
        if not going.all():
            at, y, step = at[going], y[going], step[going]
            d, b, e = d[going], b[going], e[going]
            if not at.size:
                break
        y = y + step
        root[at] = y
    return root
