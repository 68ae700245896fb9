"""Where the two times of a law cross: the sizes between which offloading pays, or pays well enough.

T1/T0 = 1/s has at most two roots in g, since T1 − T0/s is a constant, a straight line and a power
(Descartes' rule for real exponents). The law here also has the host's fixed cost, so that the
constant may be negative, which `objectives.power_law` does not take.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from dse.fit.law import EXPONENT, FIXED, GAIN, INDEX, PER_BYTE, PER_BYTE_OUT, SETUP, Mask
from dse.model.quantity import Array

_LEAST, _MOST = 1.0, 2.0**60  # bytes
_HALVINGS = 90


@np.errstate(all="ignore")
def crossings(at: Array, ratio: Array, speedup: Array) -> tuple[Array, Array]:
    """Return the sizes between which each law's speedup is at least so much.

    Parameters
    ----------
    at : ndarray, shape (tables, 7)
    ratio : ndarray, shape (tables,)
        Bytes returned for each byte sent.
    speedup : ndarray, shape (tables,)

    Returns
    -------
    low, high : ndarray, shape (tables,)
        Bytes. Both NaN if no size reaches it; `low` is 0 if a call of 1 B does; `high` is inf if
        the largest does.
    """
    constant = np.exp(at[:, SETUP]) - np.exp(at[:, FIXED]) / speedup
    line = np.exp(at[:, PER_BYTE]) + ratio * np.exp(at[:, PER_BYTE_OUT])
    share = np.where(np.isinf(at[:, GAIN]), 0.0, np.exp(-at[:, GAIN]))
    power = np.exp(at[:, INDEX]) * (1.0 / speedup - share)
    exponent = at[:, EXPONENT]

    def lacks(log_size: Array) -> Array:
        """T1 − T0/s: not positive if the speedup is reached."""
        size = np.exp(log_size)
        return np.asarray(constant + line * size - power * np.exp(exponent * log_size))

    first, last = np.full(len(at), np.log(_LEAST)), np.full(len(at), np.log(_MOST))
    # The one extremum of line g − power g**β.
    turn = np.log(line / (power * exponent)) / (exponent - 1.0)
    turn = np.where(np.isfinite(turn), np.clip(turn, first, last), last)
    at_first, at_turn, at_last = (lacks(place) <= 0.0 for place in (first, turn, last))
    rising = _root(lacks, first, turn, at_first)
    falling = _root(lacks, turn, last, at_turn)
    low = np.where(at_first, 0.0, np.where(at_turn, np.exp(rising), np.exp(falling)))
    high = np.where(at_last, np.inf, np.where(at_turn, np.exp(falling), np.exp(rising)))
    never = ~at_first & ~at_turn & ~at_last
    return np.where(never, np.nan, low), np.where(never, np.nan, high)


def _root(function: Callable[[Array], Array], low: Array, high: Array, inside: Mask) -> Array:
    """Return where a function changes its sign, by halving; `inside` tells its sign at `low`."""
    for _ in range(_HALVINGS):
        middle = (low + high) / 2.0
        same = (function(middle) <= 0.0) == inside
        low, high = np.where(same, middle, low), np.where(same, high, middle)
    return (low + high) / 2.0
