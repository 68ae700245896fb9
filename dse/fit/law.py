"""The law that times are fitted to: host and accelerated time of a call over its size.

    T0 = h + C g**β                      on the host
    T1 = c + l g + m q + C g**β / A      with the accelerator

with g the bytes of a call, q the bytes that it returns if the table has them, h what a call costs
the host whatever its size, and c = o + L. That is LogCA (Altaf and Wood, ISCA 2017, equations 2 and
8) and a fixed cost on the host, without which calls of a few bytes are far off.

A law is a vector of coordinates, the positive ones as logarithms: a term that is absent has the
logarithm −inf, an infinite acceleration +inf. All functions take many laws at once: the first axis
is the table, the second its points.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from dse.model.quantity import Array

Mask = NDArray[np.bool_]

FIXED, INDEX, EXPONENT, SETUP, PER_BYTE, PER_BYTE_OUT, GAIN = range(7)
"""Places of the coordinates: log h, log C, β, log c, log l, log m, log A."""
COORDINATES = 7
HOST = (FIXED, INDEX, EXPONENT)
"""Coordinates of the time on the host."""


class Law(NamedTuple):
    """Which coordinates are fitted, and what the others are.

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


@dataclass(frozen=True)
class Points:
    """Measured times of many tables of equal shape.

    Parameters
    ----------
    size, returned : ndarray, shape (tables, points)
        Bytes of a call, and bytes that it returns (0 if the table does not have them).
    time : ndarray, shape (tables, points)
        Seconds of a call.
    accelerated : ndarray of bool, shape (tables, points)
        Whether a time is that with the accelerator.
    """

    size: Array
    returned: Array
    time: Array
    accelerated: Mask

    def take(self, rows: NDArray[np.int64]) -> Points:
        """Return some of the tables, each as often as it is named."""
        return Points(self.size[rows], self.returned[rows], self.time[rows], self.accelerated[rows])


@np.errstate(over="ignore", under="ignore")
def times(at: Array, size: Array, returned: Array, accelerated: Mask) -> tuple[Array, Array]:
    """Return the times of laws, and how their logarithms move with each coordinate.

    Parameters
    ----------
    at : ndarray, shape (tables, 7)
        Laws.
    size, returned, accelerated : ndarray, shape (tables, points)
        As in `Points`.

    Returns
    -------
    times : ndarray, shape (tables, points)
    slopes : ndarray, shape (tables, points, 7)
        Derivatives of log T.
    """
    lifted = np.exp(np.delete(at, EXPONENT, axis=1))[:, :, None]
    fixed, index, setup, per_byte, per_out = (lifted[:, i] for i in range(5))
    work = index * np.exp(at[:, EXPONENT, None] * np.log(size))
    engine = work * np.exp(-at[:, GAIN, None])
    moving, returning = per_byte * size, per_out * returned
    total = np.where(accelerated, setup + moving + returning + engine, fixed + work)
    work = np.where(accelerated, engine, work)
    slopes = np.empty((*size.shape, COORDINATES))
    slopes[..., FIXED] = np.where(accelerated, 0.0, fixed)
    slopes[..., INDEX] = work
    slopes[..., EXPONENT] = work * np.log(size)
    for place, term in ((SETUP, setup), (PER_BYTE, moving), (PER_BYTE_OUT, returning)):
        slopes[..., place] = np.where(accelerated, term, 0.0)
    slopes[..., GAIN] = np.where(accelerated, -engine, 0.0)
    slopes /= total[..., None]
    return total, slopes


def both(at: Array, size: Array, ratio: Array) -> tuple[Array, Array, Array]:
    """Return host and accelerated time of laws at one size each, and the slopes of log(T1/T0).

    Parameters
    ----------
    at : ndarray, shape (tables, 7)
    size : ndarray, shape (tables,)
    ratio : ndarray, shape (tables,)
        Bytes returned for each byte sent.
    """
    sizes = np.stack([size, size], axis=1)
    which = np.broadcast_to(np.array([False, True]), sizes.shape)
    total, slopes = times(at, sizes, sizes * ratio[:, None], which)
    return total[:, 0], total[:, 1], slopes[:, 1] - slopes[:, 0]
