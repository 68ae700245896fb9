"""The stall of a front: the volume that it dominates no longer grows."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from dse.evaluate.evaluator import Evaluated
from dse.evaluate.front import scaled
from dse.model.quantity import Array

GENERATIONS = 30
"""A front that did not grow for so many generations has stalled,"""
DESIGNS = 10_000
"""and for so many designs."""
GROWTH = 1e-5
"""The minimum growth of the dominated volume, as a fraction."""
_DIRECTIONS = 64
_BLOCK = 256  # designs at once: they fit into the cache of a core
_MARGIN = 1.1  # the reference point, in the cube that the first feasible designs span


class Stall:
    """Watch what a front dominates, generation by generation.

    Measured along fixed directions from a reference point, as `convergence` does: the mean of how
    far the front reaches, to the power of objectives, is in proportion to the hypervolume. The cube
    is the cube of the first generation with feasible designs. The result depends only on the
    designs, in their order, and on the size of the generations.

    Parameters
    ----------
    signs : ndarray
        1 for minimized, -1 for maximized objectives.
    generation : int
        Designs of a generation.
    """

    def __init__(self, signs: Array, generation: int) -> None:
        self._signs, self._generation = signs, generation
        self.window = max(GENERATIONS * generation, DESIGNS)
        drawn = np.random.default_rng(0).standard_normal((_DIRECTIONS, len(signs)))
        directions = np.maximum(np.abs(drawn), 1e-3)
        slopes = np.linalg.norm(directions, axis=1) / directions.T
        self._slopes = slopes[:, :, None].astype(np.float32)
        self._reach = np.zeros(_DIRECTIONS)
        self._room = np.empty((2, _DIRECTIONS, _BLOCK), dtype=np.float32)
        self._frame: tuple[NDArray[np.bool_], Array, Array] | None = None
        self._volumes: list[float] = []

    def grown(self, judged: Evaluated, leading: NDArray[np.bool_] | None = None) -> None:
        """Look at the generations that are complete and were not looked at.

        Parameters
        ----------
        judged : Evaluated
            All designs.
        leading : ndarray of bool, shape (designs,), optional
            False for designs that another one up to their generation dominates: they do not count.
        """
        size = self._generation
        while (len(self._volumes) + 1) * size <= len(judged):
            low = len(self._volumes) * size
            rows = judged.feasible[low : low + size]
            if leading is not None and self._frame is not None:
                rows = rows & leading[low : low + size]
            points = judged.objectives[low : low + size]
            if not rows.all():
                points = points[rows]
            if len(points):
                self._reached(points * self._signs)
            self._volumes.append(float((self._reach ** len(self._signs)).mean()))

    @property
    def has_stalled(self) -> bool:
        """Whether the last window of designs let the front grow by less than the share."""
        back = -(-self.window // self._generation)
        if len(self._volumes) <= back:
            return False
        before, now = self._volumes[-1 - back], self._volumes[-1]
        return before > 0.0 and now - before <= GROWTH * before

    def _reached(self, points: Array) -> None:
        if self._frame is None:
            logs = scaled(points, self._signs)[1]
            shown = _shown(points, logs, self._signs)
            low, high = shown.min(axis=0), shown.max(axis=0)
            self._frame = logs, low, np.where(high > low, high - low, 1.0)
        logs, least, width = self._frame
        unit = _MARGIN - (_shown(points, logs, self._signs) - least) / width
        gaps = np.maximum(unit.T, 0.0).astype(np.float32)  # single precision is enough, and quick
        for low in range(0, len(unit), _BLOCK):
            block = gaps[:, low : low + _BLOCK]
            reach, other = self._room[:, :, : block.shape[1]]
            np.multiply(self._slopes[0], block[0], out=reach)
            for slope, gap in zip(self._slopes[1:], block[1:], strict=True):
                np.multiply(slope, gap, out=other)
                np.minimum(reach, other, out=reach)
            np.maximum(self._reach, reach.max(axis=1), out=self._reach)


def _shown(points: Array, logs: NDArray[np.bool_], signs: Array) -> Array:
    """Return points on the scale of each objective, with large numbers in place of infinities."""
    shown = np.clip(points, -1e300, 1e300)
    for i in np.flatnonzero(logs):
        shown[:, i] = signs[i] * np.log(np.maximum(shown[:, i] * signs[i], 1e-300))
    return shown
