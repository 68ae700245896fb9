"""The law that times are fitted to: host and accelerated time of a call over its size.

    T0 = h + C g**β                      on the host
    T1 = c + l g + m q + C g**β / A      with the accelerator

with g the bytes of a call, q the bytes that it returns if the table has them, h the fixed cost of a
call on the host, and c = o + L. That is LogCA (Altaf and Wood, ISCA 2017, equations 2 and 8) and a
fixed cost on the host, without which calls of a few bytes are far off.

A law is a vector of seven coordinates, the positive ones as logarithms: an absent term has the
logarithm −inf, an infinite acceleration +inf.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import optimize

from dse.model.quantity import Array

Mask = NDArray[np.bool_]

FIXED, INDEX, EXPONENT, SETUP, PER_BYTE, PER_BYTE_OUT, GAIN = range(7)
"""Places of the coordinates: log h, log C, β, log c, log l, log m, log A."""
COORDINATES = 7
HOST = (FIXED, INDEX, EXPONENT)
"""Coordinates of the time on the host."""
_SIZES = 1.0, 2.0**60  # bytes of a call, between which crossings are looked for


class Law(NamedTuple):
    """Which coordinates are fitted, and the values of the others.

    Attributes
    ----------
    free : tuple of bool
        Of each coordinate.
    values : tuple of float
        Of the coordinates that are not free.
    """

    free: tuple[bool, ...]
    values: tuple[float, ...]

    @property
    def terms(self) -> int:
        """How many coordinates are fitted."""
        return sum(self.free)

    @property
    def linear(self) -> bool:
        """Whether work grows as the bytes do."""
        return not self.free[EXPONENT] and self.values[EXPONENT] == 1.0


class Points(NamedTuple):
    """Measured times of a table.

    Attributes
    ----------
    size, returned : ndarray, shape (points,)
        Bytes of a call, and bytes that it returns (0 if the table does not have them).
    time : ndarray, shape (points,)
        Seconds of a call.
    accelerated : ndarray of bool, shape (points,)
        Whether a time is that with the accelerator.
    """

    size: Array
    returned: Array
    time: Array
    accelerated: Mask


@np.errstate(all="ignore")
def times(law: Array, size: Array, returned: Array, accelerated: Mask) -> tuple[Array, Array]:
    """Return the times of a law, and the derivatives of their logarithms in each coordinate.

    Parameters
    ----------
    law : ndarray, shape (7,)
    size, returned, accelerated : ndarray, shape (points,)
        As in `Points`.

    Returns
    -------
    times : ndarray, shape (points,)
    slopes : ndarray, shape (points, 7)
        Derivatives of log T; 0 where there is none.
    """
    fixed, index, exponent, setup, per_byte, per_out, gain = law
    log_size = np.log(size)
    work = np.exp(index + exponent * log_size - np.where(accelerated, gain, 0.0))
    slopes = np.zeros((len(size), COORDINATES))
    slopes[:, FIXED] = np.where(accelerated, 0.0, np.exp(fixed))
    slopes[:, INDEX] = work
    slopes[:, SETUP] = np.where(accelerated, np.exp(setup), 0.0)
    slopes[:, PER_BYTE] = np.where(accelerated, np.exp(per_byte) * size, 0.0)
    slopes[:, PER_BYTE_OUT] = np.where(accelerated, np.exp(per_out) * returned, 0.0)
    total = slopes.sum(axis=1)
    slopes[:, EXPONENT] = work * log_size
    slopes[:, GAIN] = np.where(accelerated, -work, 0.0)
    slopes /= total[:, None]
    return total, np.where(np.isfinite(slopes), slopes, 0.0)


@np.errstate(all="ignore")
def crossings(law: Array, ratio: float = 0.0, speedup: float = 1.0) -> tuple[float, float]:
    """Return the sizes between which a law's speedup is at least so much.

    T1/T0 = 1/s has at most two roots in g: T1 − T0/s is a constant, a straight line and a power
    (Descartes' rule for real exponents), so that it has one extremum. The host's fixed cost may
    make the constant negative, which `objectives.power_law` does not take.

    Parameters
    ----------
    law : ndarray, shape (7,)
    ratio : float
        Bytes returned for each byte sent.
    speedup : float

    Returns
    -------
    low, high : float
        Bytes. Both NaN if no size reaches it; `low` is 0 if a call of 1 B does; `high` is inf if
        the largest does.
    """
    fixed, index, exponent, setup, per_byte, per_out, gain = law
    constant = np.exp(setup) - np.exp(fixed) / speedup
    line = np.exp(per_byte) + ratio * np.exp(per_out)
    power = np.exp(index) * (1.0 / speedup - (0.0 if np.isinf(gain) else np.exp(-gain)))

    def excess(log_size: float) -> float:
        """T1 − T0/s: not positive where the speedup is reached."""
        return float(constant + line * np.exp(log_size) - power * np.exp(exponent * log_size))

    first, last = np.log(_SIZES)
    turn = np.log(line / (power * exponent)) / (exponent - 1.0)
    turn = float(np.clip(turn, first, last)) if np.isfinite(turn) else last
    reached = [excess(place) <= 0.0 for place in (first, turn, last)]

    def crossing(start: float, end: float) -> float:
        return float(np.exp(optimize.brentq(excess, start, end, xtol=1e-13, rtol=1e-15)))

    if not any(reached):
        return np.nan, np.nan
    falling = crossing(turn, last) if reached[1] != reached[2] else np.inf
    rising = crossing(first, turn) if reached[0] != reached[1] else np.inf
    if reached[0]:
        return 0.0, min(rising, falling)
    return (rising, falling) if reached[1] else (falling, np.inf)
