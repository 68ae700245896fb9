"""Tables: an output over all cells of the few variables that it depends on, with its extremes.

All values are computed once. The extremes over a cell follow from the extremes of its halves. A box
then needs only a look-up, and its bounds are exact.
"""

from __future__ import annotations

import math
import time
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from dse.evaluate.criteria import Conditions
from dse.evaluate.wiring import Wiring
from dse.model.quantity import Array
from dse.search.bound.cells import Axis, Extremes, extremes

_ROWS = 1 << 17  # combinations beyond which there is no table
_CELLS = 1 << 20  # combinations of cells beyond which there is none


def fits(axes: Sequence[Axis], bound: Mapping[str, Any]) -> bool:
    """Return whether an output has a table over some variables, under some conditions."""
    width = max((len(v) for v in bound.values() if isinstance(v, tuple)), default=1)
    if any(axis.continuous for axis in axes):
        return False
    rows = math.prod(axis.count for axis in axes) * width
    return rows <= _ROWS and math.prod(2 * axis.count for axis in axes) * width <= _CELLS


def tabled(
    wiring: Wiring,
    request: tuple[str, Conditions],
    axes: Sequence[Axis],
    used: tuple[int, ...],
    until: float,
) -> Extremes | None:
    """Return the extremes of an output over all cells; None if the deadline comes first.

    Parameters
    ----------
    request : (str, dict)
        The output, and its conditions.
    axes : sequence of Axis
        Of all variables.
    used : tuple of int
        The indices of the axes that it depends on.
    until : float
        The `time.time` after which no model is run.

    Raises
    ------
    ModelError
        If a model raises.
    """
    shape = tuple(axes[i].count for i in used)
    value = in_pieces(wiring, request, _columns(axes, used, shape), math.prod(shape), until)
    if value is None:
        return None
    grid = value.reshape((*value.shape[:-1], *shape))
    ends = extremes(grid, len(shape), np.minimum), extremes(grid, len(shape), np.maximum)
    if not np.isnan(grid).any():
        return Extremes(used, ends, ends)
    defined = extremes(grid, len(shape), np.fmin), extremes(grid, len(shape), np.fmax)
    return Extremes(used, ends, defined)


def _columns(axes: Sequence[Axis], used: tuple[int, ...], shape: tuple[int, ...]) -> dict[str, Any]:
    """Return every combination of some variables' values, and one value of each other."""
    columns: dict[str, Any] = {}
    places = np.indices(shape).reshape(len(shape), -1) if shape else np.zeros((0, 1), int)
    for i, axis in enumerate(axes):
        if i in used:
            chosen = places[used.index(i)]
            columns |= {n: v[chosen] for n, v in axis.quantities().items()}
        elif axis.continuous:
            columns[axis.name] = axis.at(np.zeros(1, dtype=np.int64))[0]
        else:
            columns |= {n: v[0] for n, v in axis.quantities().items()}
    return columns


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
        The quantity, and its conditions.
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
