"""Designs of a search by bounds: their places on the axes, their numbers, and which are kept."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from dse.evaluate.evaluator import Evaluated, concatenate
from dse.evaluate.ranges import Ranges
from dse.evaluate.space import Points

KEPT = 2_000
"""Designs kept beside the front, to draw what lies behind it."""
Places = NDArray[np.int64]


class Kept(NamedTuple):
    """Designs of an outcome, in the order of their numbers; see `Outcome`."""

    numbers: NDArray[np.int64]
    points: Points
    judged: Evaluated
    on_front: NDArray[np.bool_]


def numbers(ranges: Ranges, places: Places) -> NDArray[np.int64]:
    """Return the numbers that the space gives to designs; `placed` is the inverse."""
    found = np.zeros(len(places), dtype=np.int64)
    for axis, column in zip(ranges.axes, places.T, strict=True):
        found = found * axis.count + axis.order[column]
    return found


def placed(ranges: Ranges, index: NDArray[np.int64]) -> Places:
    """Return the places (designs, variables) of the designs with these numbers."""
    found = np.empty((len(index), len(ranges.axes)), dtype=np.int64)
    for i, digits in enumerate(ranges.evaluator.space.digits(index).values()):
        found[:, i] = np.argsort(ranges.axes[i].order)[digits]
    return found


def first(rows: NDArray[Any]) -> NDArray[np.bool_]:
    """Tell which rows are not the same as one before."""
    return np.asarray(~pd.DataFrame(rows).duplicated().to_numpy())


def kept(
    ranges: Ranges,
    front: tuple[Places, Evaluated],
    early: Sequence[tuple[Places, Evaluated]],
    numbered: bool,
) -> Kept:
    """Return the front and some designs behind it.

    Parameters
    ----------
    front : tuple
        Places and values of the designs on the front, each once.
    early : sequence of tuple
        Those of others, which may be the same.
    numbered : bool
        Whether numbers are those of the space; else in the order of the designs.
    """
    places = np.concatenate([front[0], *(each for each, _ in early)])
    own = numbers(ranges, places) if numbered else np.arange(len(places))
    rows = np.flatnonzero(first(own if numbered else places))[: len(front[0]) + KEPT]
    rows = rows[np.argsort(own[rows], kind="stable")]
    points = ranges.points(places[rows])
    del places  # a large front is in memory a few times as it is
    judged = concatenate([front[1], *(each for _, each in early)]).rows(rows)
    own = own[rows] if numbered else np.arange(len(rows))
    return Kept(own, points, judged, rows < len(front[0]))
