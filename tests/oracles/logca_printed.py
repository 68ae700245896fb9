"""LogCA's metrics as the papers print them: oracles for the exact ones of `objectives.logca`.

Source: M. S. B. Altaf and D. A. Wood, "LogCA: A High-Level Performance Model for Hardware
Accelerators", ISCA 2017, equations 5, 6, 11, 12 and 13. With β = 1 they are equations 5, 6, 11 and
12 of the same authors' letter "LogCA: A Performance Model for Hardware Accelerators".

Equations 5 and 6 are exact if latency does not depend on granularity. Equations 11 to 13, for a
latency per byte, are one step of Newton's method from g = 1: exact for β = 1, and wrong for any
other β, by factors and even in sign. If a denominator is zero the result is infinite.

Designs are given by name: o, L or l, C, β and A, as `objectives.logca` names them.
"""

from __future__ import annotations

import numpy as np

from dse.model import Array, Floats


def printed_break_even(**design: Floats) -> Array:
    """Return equation 5: the break-even granularity g1 [B], for a latency without a part per byte.

    Not a number if the acceleration is below 1 and the root of a negative number is needed.

    >>> float(printed_break_even(overhead=29e3, latency=1500, computational_index=90,
    ...                          complexity=1, acceleration=19))
    357.716
    """
    a = np.asarray(design["acceleration"])
    with np.errstate(all="ignore"):
        return _power(a / (a - 1.0), design)


def printed_half_acceleration(**design: Floats) -> Array:
    """Return equation 6: the granularity of half the acceleration g_{A/2} [B], as equation 5."""
    return _power(design["acceleration"], design)


def _power(factor: Floats, design: dict[str, Floats]) -> Array:
    cost = np.add(design["overhead"], design["latency"], dtype=np.float64)
    with np.errstate(all="ignore"):
        base = factor * cost / design["computational_index"]
        return np.asarray(np.power(base, 1.0 / np.asarray(design["complexity"])))


def printed_break_even_newton(**design: Floats) -> Array:
    """Return equation 11: the break-even granularity g1 [B], for a latency per byte.

    One Newton step from g = 1. Exact for β = 1; wrong for any other β, even negative if the
    break-even exists.

    >>> apu = dict(overhead=4e8, latency_per_byte=15, acceleration=7)
    >>> float(printed_break_even_newton(computational_index=2, complexity=1.7, **apu))
    -33096926.8
    """
    return _newton(np.asarray(design["acceleration"]) - 1.0, design)


def printed_half_acceleration_newton(**design: Floats) -> Array:
    """Return equation 12: the granularity of half the acceleration g_{A/2} [B], as equation 11."""
    return _newton(1.0, design)


printed_unbounded_acceleration_newton = printed_half_acceleration_newton
"""Equation 13: the granularity g_A [B] where infinite acceleration gives speedup A.

The same expression as equation 12, which is the paper's point: `acceleration` is the speedup here.
"""


def _newton(gain: Floats, design: dict[str, Floats]) -> Array:
    a = np.asarray(design["acceleration"])
    work, beta = np.multiply(design["computational_index"], gain), np.asarray(design["complexity"])
    with np.errstate(all="ignore"):
        rest = work * (beta - 1.0) + a * design["overhead"]
        return np.asarray(rest / (work * beta - a * design["latency_per_byte"]))
