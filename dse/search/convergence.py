"""Convergence: the growth of a front and of its hypervolume, and the end of this growth."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeAlias

import moocore
import numpy as np
import pandas as pd
from numpy.typing import NDArray

from dse.evaluate.evaluator import Evaluated
from dse.evaluate.front import Archive, hypervolume, scale_front
from dse.model.quantity import Array

_MARGIN = 1.1  # the reference point, in the cube that the front spans


# --------------------------------------------------------------------------------- the growth

Mark: TypeAlias = tuple[int, Archive]
"""How many designs were evaluated, and the front that they have."""

_MARKS = 40
_CLOSE = 20_000  # beyond so many designs, marks are a factor of two apart
_MAX_POINTS = 10_000  # points of a front whose hypervolume is computed, and not estimated
_MAX_WORK = 1e7  # the same, as points to the power of objectives less two
_DIRECTIONS = 128  # of the estimate


def list_marks(count: int) -> list[int]:
    """Return after how many designs to look at the front: 40 times up to 20,000, then at doubles.

    To filter the front at each of them costs two or three times as much as to filter it once.
    """
    if count == 0:
        return []
    close = min(count, _CLOSE)
    early = np.unique(np.geomspace(1, close, _MARKS).round().astype(np.int64)).tolist()
    doubles: list[int] = []
    while count > close and (not doubles or doubles[0] > 2 * close):
        doubles.insert(0, count if not doubles else doubles[0] // 2)
    return [*early, *doubles]


def convergence_table(fronts: Sequence[Mark], signs: Array) -> pd.DataFrame:
    """Return evaluations, size of the front and fraction of the final hypervolume at each mark.

    In the cube that the final front, which is the last one, spans. The fractions are exact for
    fronts of up to 10,000 designs (4 objectives: 3,162; 5: 215). Those of larger fronts are
    estimated along 128 fixed directions: as each mark only adds points, they never fall.
    """
    if not fronts or len(fronts[-1][1].index) == 0:
        return pd.DataFrame({"evaluations": [], "front": [], "hypervolume": []})
    final = fronts[-1][1].points
    logs = scale_front(final, signs)[1]

    def shown(points: Array) -> Array:
        with np.errstate(all="ignore"):
            return np.where(logs, signs * np.log(np.maximum(points * signs, 1e-300)), points)

    finite = shown(final)
    finite = np.where(np.isfinite(finite), finite, np.nan)
    finite[:, np.isnan(finite).all(axis=0)] = 0.0
    low = np.nanmin(finite, axis=0)
    width = np.nanmax(finite, axis=0) - low
    sizes, objectives = [len(archive.index) for _, archive in fronts], len(low)
    exact = max(sizes) <= _MAX_POINTS and float(max(sizes)) ** (objectives - 2) <= _MAX_WORK
    corner, volumes = np.full(objectives, _MARGIN), list[float]()
    for _, archive in fronts:
        unit = np.maximum((shown(archive.points) - low) / np.where(width > 0, width, 1.0), 0.0)
        if exact:
            volumes.append(hypervolume(unit, corner))
        else:
            inside = unit[(unit < corner).all(axis=1)]
            estimate = {"ref": corner, "nsamples": _DIRECTIONS, "method": "Rphi-FWE+"}
            volumes.append(float(moocore.hv_approx(inside, **estimate)) if len(inside) else 0.0)
    fractions = np.array(volumes) / volumes[-1] if volumes[-1] > 0 else np.zeros(len(volumes))
    evaluations = [count for count, _ in fronts]
    return pd.DataFrame({"evaluations": evaluations, "front": sizes, "hypervolume": fractions})


# ------------------------------------------------------------------------------------ the end

GENERATIONS, DESIGNS = 30, 10_000
"""A front that did not grow for so many generations, and for so many designs, has stalled."""
GROWTH = 1e-5
"""The minimum growth of the dominated volume, as a fraction."""
_RAYS = 64
_BLOCK = 256  # designs at once: they fit into the cache of a core


class StallDetector:
    """Measure the volume that a front dominates, generation by generation: `volumes`.

    The volume is measured along fixed rays from a reference point: the mean of how far the front
    reaches, to the power of objectives, is in proportion to the hypervolume (Deng and Zhang,
    Approximating hypervolume and hypervolume contributions using polar coordinates, IEEE TEVC
    2019). The cube is the cube of the first generation with feasible designs. The result depends
    only on the designs, in their order, and on the size of the generations.
    """

    def __init__(self, signs: Array, generation: int) -> None:
        self._signs, self._generation = signs, generation
        self.window = max(GENERATIONS * generation, DESIGNS)
        normal = np.random.default_rng(0).standard_normal((_RAYS, len(signs)))
        rays = np.maximum(np.abs(normal), 1e-3)
        slopes = np.linalg.norm(rays, axis=1) / rays.T
        self._slopes = slopes[:, :, None].astype(np.float32)
        self._reach = np.zeros(_RAYS)
        self._buffers = np.empty((2, _RAYS, _BLOCK), dtype=np.float32)
        self._frame: tuple[NDArray[np.bool_], Array, Array] | None = None
        self.volumes: list[float] = []

    def add_generations(
        self, evaluated: Evaluated, leading: NDArray[np.bool_] | None = None
    ) -> None:
        """Measure the generations that are complete and were not measured, of all designs.

        Designs that another one up to their generation dominates, and that do not lead, do not
        count.
        """
        size = self._generation
        while (len(self.volumes) + 1) * size <= len(evaluated):
            low = len(self.volumes) * size
            rows = evaluated.feasible[low : low + size]
            if leading is not None and self._frame is not None:
                rows = rows & leading[low : low + size]
            points = evaluated.objectives[low : low + size]
            if not rows.all():
                points = points[rows]
            if len(points):
                self._extend(points * self._signs)
            self.volumes.append(float((self._reach ** len(self._signs)).mean()))

    @property
    def has_stalled(self) -> bool:
        """Whether the front grew by less than `GROWTH` during the last window of designs."""
        back = -(-self.window // self._generation)
        if len(self.volumes) <= back:
            return False
        before, now = self.volumes[-1 - back], self.volumes[-1]
        return before > 0.0 and now - before <= GROWTH * before

    def _extend(self, points: Array) -> None:
        """Extend the reach along each ray by the points of a generation."""
        if self._frame is None:
            logs = scale_front(points, self._signs)[1]
            shown = self._show(points, logs)
            low, high = shown.min(axis=0), shown.max(axis=0)
            self._frame = logs, low, np.where(high > low, high - low, 1.0)
        logs, low, width = self._frame
        unit = _MARGIN - (self._show(points, logs) - low) / width
        gaps = np.maximum(unit.T, 0.0).astype(np.float32)  # single precision is enough, and quick
        for start in range(0, len(unit), _BLOCK):
            block = gaps[:, start : start + _BLOCK]
            reach, other = self._buffers[:, :, : block.shape[1]]
            np.multiply(self._slopes[0], block[0], out=reach)
            for slope, gap in zip(self._slopes[1:], block[1:], strict=True):
                np.multiply(slope, gap, out=other)
                np.minimum(reach, other, out=reach)
            np.maximum(self._reach, reach.max(axis=1), out=self._reach)

    def _show(self, points: Array, logs: NDArray[np.bool_]) -> Array:
        """Return points on the scale of each objective, large numbers in place of infinities."""
        shown = np.clip(points, -1e300, 1e300)
        for i in np.flatnonzero(logs):
            shown[:, i] = self._signs[i] * np.log(np.maximum(shown[:, i] * self._signs[i], 1e-300))
        return shown
