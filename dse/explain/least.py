"""The least of each quantity along a curve, and where it is."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from dse.explain.explanation import Curve, Line


class Least(NamedTuple):
    """Where a line is least.

    Attributes
    ----------
    quantity, unit : str
        What is drawn.
    value, at : float
        The least finite value [unit] and its point on the axis; NaN where no value is finite.
    here : float
        The value at the design [unit]; NaN where it has no place on the axis.
    edge : bool
        Whether the point is an end of the axis, so that less may lie beyond.
    """

    quantity: str
    unit: str
    value: float
    at: float
    here: float
    edge: bool


def least(curve: Curve) -> list[Least]:
    """Return for each line its least finite value among the points drawn, and the design's own."""
    return [least_of(curve, line) for line in curve.lines]


def least_of(curve: Curve, line: Line) -> Least:
    """Return the least finite value of one line of a curve."""
    here = np.flatnonzero(curve.grid == curve.here)
    now = float(line.values[here[0]]) if here.size else np.nan
    finite = np.isfinite(line.values)
    if not finite.any():
        return Least(line.quantity, line.unit, np.nan, np.nan, now, False)
    row = int(np.argmin(np.where(finite, line.values, np.inf)))
    edge = row in (0, len(curve.grid) - 1)
    value, at = float(line.values[row]), float(curve.grid[row])
    return Least(line.quantity, line.unit, value, at, now, edge)
