"""Pieces: a quantity of many designs, evaluated some at a time, as a deadline may come."""

from __future__ import annotations

import time
from collections.abc import Mapping
from typing import Any

import numpy as np

from dse.evaluate.conditions import Conditions
from dse.evaluate.wiring import Wiring
from dse.model.quantity import Array

_PIECE = 1 << 12  # designs evaluated together, at most
_QUICK = 0.05  # seconds; a piece that takes longer is followed by none that is larger


def in_pieces(
    wiring: Wiring,
    request: tuple[str, Conditions],
    columns: Mapping[str, Any],
    rows: int,
    until: float = np.inf,
) -> Array | None:
    """Return a quantity for some designs; None if the time is over before.

    Parameters
    ----------
    request : tuple of str and mapping
        The quantity, and what is bound for it.
    columns : mapping of str to ndarray, shape (rows,), or number
        By quantity name.
    until : float
        A deadline, by `time.time`; without one, all are evaluated at once.

    Returns
    -------
    ndarray, shape (rows,) or (scenarios, rows), or None
        The quantity in its unit.
    """
    parts: list[Array] = []
    low, size = 0, rows if until == np.inf else 1
    while low < rows:
        began = time.time()
        if began > until:
            return None
        high = min(low + size, rows)
        some = {n: v[low:high] if np.ndim(v) else v for n, v in columns.items()}
        (value,) = wiring.evaluate([request], some)
        value = np.asarray(value, dtype=np.float64)
        parts.append(np.broadcast_to(value, (*value.shape[:-1], high - low)))
        low = high
        if time.time() - began < _QUICK:
            size = min(8 * size, _PIECE)
    return np.concatenate(parts, axis=-1)
