"""Uncertain quantities over cells: their ends in each sample, for a search that bounds."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from dse.evaluate.cells import Axis, Boxes, pyramid
from dse.evaluate.samples import Spread
from dse.model.quantity import Array


class SpreadCells:
    """The least and the greatest of uncertain quantities in boxes, sample by sample.

    Parameters
    ----------
    spread : mapping of str to Spread
        What is uncertain.
    axes : sequence of Axis
        The variables in the space's order.
    """

    def __init__(self, spread: Mapping[str, Spread], axes: Sequence[Axis]) -> None:
        self._spread = spread
        self._axes = axes
        self._places = {axis.name: i for i, axis in enumerate(axes)}
        self._pyramids: dict[str, tuple[Array, Array]] = {}

    def __call__(self, name: str, side: int, samples: Any, boxes: Boxes) -> Array:
        """Return the least (side -1) or the greatest of a quantity in each sample and box."""
        spread = self._spread[name]
        if not spread.variable:
            return np.asarray(spread(samples, {}, spread.middle))
        place = self._places[spread.variable]
        axis = self._axes[place]
        if name not in self._pyramids:
            values = spread.values[:, axis.order]
            ends = pyramid(values, 1, np.minimum), pyramid(values, 1, np.maximum)
            self._pyramids[name] = ends
        cells = self._pyramids[name][side > 0]
        return np.asarray(cells[np.asarray(samples, dtype=np.int64)][:, axis.index(boxes, place)])
