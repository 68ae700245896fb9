"""Dominance by sorting into cells: a fast test that most dominated points fail."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from dse.model.quantity import Array

_MAX_CELLS = 1 << 20  # 8 MB: about a second-level cache
_CELLS_PER_POINT = 16
_MIN_SIDE = 5  # cells along a coordinate: three are the border, and a single one drops no point
_NARROW = 1e-300  # a narrower range is not divided
_HIGHEST = np.finfo(np.float64).max


@dataclass(frozen=True)
class DominanceTable:
    """The lowest last coordinate of the points below each corner of a grid.

    The grid divides all coordinates but the last. A point is dominated if a point of the table lies
    in lower cells of each of them, and its last coordinate is not higher. Dominated points within
    the same cell pass this test. An exact filter finds them.
    """

    low: Array
    scale: Array
    """The lower corner of the grid, and its cells per unit. Shape (coordinates - 1,)."""
    lowest: Array
    """The lowest last coordinate at or below each cell; infinity if no point lies there."""

    @classmethod
    def of(cls, points: Array) -> DominanceTable:
        """Return a table of points, shape (points, coordinates), all finite."""
        points = _with_two_coordinates(points)
        divided = points.shape[1] - 1
        cells = min(_MAX_CELLS, _CELLS_PER_POINT * len(points))
        side = int(cells ** (1 / divided))
        if side < _MIN_SIDE:
            return cls(np.zeros(divided), np.ones(divided), np.full((1,) * divided, np.inf))
        low, width = points[:, :-1].min(axis=0), np.ptp(points[:, :-1], axis=0)
        scale = np.divide(side - 3, width, out=np.full(divided, _NARROW), where=width > _NARROW)
        table = cls(low, scale, np.full((side,) * divided, np.inf))
        # a point counts from the next cell on: rounding cannot make it dominate itself
        np.minimum.at(table.lowest.reshape(-1), table._cells(points, 1), points[:, -1])
        for axis in range(divided):
            np.minimum.accumulate(table.lowest, axis=axis, out=table.lowest)
        return table

    def dominates(self, points: Array) -> NDArray[np.bool_]:
        """Return for each point whether a point of the table surely dominates it."""
        points = _with_two_coordinates(points)
        return np.asarray(
            self.lowest.reshape(-1)[self._cells(points, 0)] <= np.minimum(points[:, -1], _HIGHEST)
        )

    def _cells(self, points: Array, step: int) -> NDArray[np.int64]:
        """Return the flat cell of each point, or of its upper neighbour; cell 0 is below all."""
        flat = np.zeros(len(points), dtype=np.int64)
        for c, side in enumerate(self.lowest.shape):
            cells = (points[:, c] - self.low[c]) * self.scale[c]
            np.floor(cells, out=cells)
            np.clip(cells, -1, side - 2, out=cells)
            flat *= side
            flat += cells.astype(np.int64)
            flat += 1 + step
        return flat


def _with_two_coordinates(points: Array) -> Array:
    return np.repeat(points, 2, axis=1) if points.shape[1] == 1 else points


class Blocks(NamedTuple):
    """Points in groups of neighbours."""

    order: NDArray[np.int64]
    """The rows of the points, block by block."""
    first: NDArray[np.int64]
    """Where each block begins."""
    corners: Array
    """The lower corner of each block, shape (blocks, coordinates)."""
    central: NDArray[np.int64]
    """The row of each block's point that is nearest to the corner."""

    @classmethod
    def of(cls, points: Array, size: int) -> Blocks:
        """Return blocks of `size` points; the last has fewer.

        The points are sorted by one coordinate and cut into strips, each strip by the next
        coordinate, and so on (Leutenegger, Lopez and Edgington, STR, ICDE 1997). A front of n
        coordinates is a surface of n - 1.
        """
        count, coordinates = points.shape
        divided = max(coordinates - 1, 1)
        strips = max(1, round((count / size) ** (1 / divided)))
        strip = np.zeros(count, dtype=np.int64)
        for c in range(divided):
            order = np.lexsort((points[:, c], strip))
            length = size if c == divided - 1 else -(-count // strips ** (c + 1))
            strip[order] = np.arange(count) // length
        first = np.arange(0, count, size)
        spread = np.maximum(np.ptp(points, axis=0), _NARROW) if count else 1.0
        nearest = np.lexsort(((points / spread).sum(axis=1), strip))
        corners = np.minimum.reduceat(points[order], first, axis=0) if count else points
        return cls(order, first, corners, nearest[first])
