"""LogCA's metrics as the papers print them: oracles for the exact ones of `objectives.logca`.

Source: M. S. B. Altaf and D. A. Wood, "LogCA: A High-Level Performance Model for Hardware
Accelerators", ISCA 2017, equations 5, 6, 11, 12 and 13. With β = 1 they are equations 5, 6, 11 and
12 of the same authors' letter "LogCA: A Performance Model for Hardware Accelerators".

Equations 5 and 6 are exact if latency does not depend on granularity. Equations 11 to 13, for a
latency per byte, are one step of Newton's method from g = 1: exact for β = 1, and wrong for any
other β, by factors and even in sign. If a denominator is zero the result is infinite.
"""

from __future__ import annotations

import numpy as np

from dse.model import Array, Floats


def printed_break_even(
    *,
    overhead: Floats,
    latency: Floats,
    computational_index: Floats,
    complexity: Floats,
    acceleration: Floats,
) -> Array:
    """Return equation 5: the break-even granularity g1 [B], for a latency without a part per byte.

    Not a number if the acceleration is below 1 and the root of a negative number is asked for.

    >>> float(printed_break_even(overhead=29e3, latency=1500, computational_index=90,
    ...                          complexity=1, acceleration=19))
    357.716
    """
    a, cost = np.asarray(acceleration), np.add(overhead, latency, dtype=np.float64)
    with np.errstate(all="ignore"):
        return np.asarray(np.power(a / (a - 1.0) * cost / computational_index, 1.0 / complexity))


def printed_half_acceleration(
    *,
    overhead: Floats,
    latency: Floats,
    computational_index: Floats,
    complexity: Floats,
    acceleration: Floats,
) -> Array:
    """Return equation 6: the granularity of half the acceleration g_{A/2} [B], as equation 5."""
    cost = np.add(overhead, latency, dtype=np.float64)
    with np.errstate(all="ignore"):
        return np.asarray(np.power(acceleration * cost / computational_index, 1.0 / complexity))


def printed_break_even_newton(
    *,
    overhead: Floats,
    latency_per_byte: Floats,
    computational_index: Floats,
    complexity: Floats,
    acceleration: Floats,
) -> Array:
    """Return equation 11: the break-even granularity g1 [B], for a latency per byte.

    One Newton step from g = 1. Exact for β = 1; wrong for any other β, even negative if the
    break-even exists.

    >>> apu = dict(overhead=4e8, latency_per_byte=15, acceleration=7)
    >>> float(printed_break_even_newton(computational_index=2, complexity=1.7, **apu))
    -33096926.8
    """
    a, c = np.asarray(acceleration), np.asarray(computational_index, dtype=np.float64)
    with np.errstate(all="ignore"):
        return np.asarray(
            (c * (np.asarray(complexity) - 1.0) * (a - 1.0) + a * overhead)
            / (c * complexity * (a - 1.0) - a * latency_per_byte)
        )


def printed_half_acceleration_newton(
    *,
    overhead: Floats,
    latency_per_byte: Floats,
    computational_index: Floats,
    complexity: Floats,
    acceleration: Floats,
) -> Array:
    """Return equation 12: the granularity of half the acceleration g_{A/2} [B], as equation 11."""
    a, c = np.asarray(acceleration), np.asarray(computational_index, dtype=np.float64)
    with np.errstate(all="ignore"):
        return np.asarray(
            (c * (np.asarray(complexity) - 1.0) + a * overhead)
            / (c * complexity - a * latency_per_byte)
        )


def printed_unbounded_acceleration_newton(
    *,
    overhead: Floats,
    latency_per_byte: Floats,
    computational_index: Floats,
    complexity: Floats,
    acceleration: Floats,
) -> Array:
    """Return equation 13: the granularity g_A [B] where infinite acceleration gives speedup A.

    The same expression as equation 12, which is the paper's point: `acceleration` is the speedup
    asked for here.
    """
    return printed_half_acceleration_newton(
        overhead=overhead,
        latency_per_byte=latency_per_byte,
        computational_index=computational_index,
        complexity=complexity,
        acceleration=acceleration,
    )


__all__ = [
    "printed_break_even",
    "printed_break_even_newton",
    "printed_half_acceleration",
    "printed_half_acceleration_newton",
    "printed_unbounded_acceleration_newton",
]
