"""Convergence: the growth of front and hypervolume, at a small cost compared with the search."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeAlias

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from dse.evaluate.front import Archive, hypervolume, scaled
from dse.model.quantity import Array

Mark: TypeAlias = tuple[int, Archive]
"""How many designs were evaluated, and the front that they have."""

_MARKS = 40
_CLOSE = 20_000  # beyond so many designs, marks are a factor of two apart
_POINTS = 10_000  # points of a front whose hypervolume is computed, and not estimated
_EXACT = 1e7  # the same, as points to the power of objectives less two
_DIRECTIONS = 128
_MARGIN = 1.1  # the reference point, in the cube that the final front spans


def marks(count: int) -> list[int]:
    """Return after how many designs to look at the front: 40 times up to 20,000, then at doubles.

    To filter the front at each of them costs two or three times as much as to filter it once.
    """
    if count == 0:
        return []
    close = min(count, _CLOSE)
    found = np.unique(np.geomspace(1, close, _MARKS).round().astype(np.int64)).tolist()
    doubles: list[int] = []
    while count > close and (not doubles or doubles[0] > 2 * close):
        doubles.insert(0, count if not doubles else doubles[0] // 2)
    return [*found, *doubles]


def convergence(reached: Sequence[Mark], signs: Array) -> pd.DataFrame:
    """Return evaluations, size of the front and share of the final hypervolume at each mark.

    In the cube that the final front spans. The shares are exact for fronts of up to 10,000 designs
    (4 objectives: 3,162; 5: 215); of larger ones they are estimated along 128 fixed directions, to
    about 0.02.

    Parameters
    ----------
    reached : sequence of (int, Archive)
        Designs evaluated, and their front; the last one is final.
    signs : ndarray
        1 for minimized, -1 for maximized objectives.
    """
    if not reached or len(reached[-1][1].index) == 0:
        return pd.DataFrame({"evaluations": [], "front": [], "hypervolume": []})
    final = reached[-1][1].points
    _, logs = scaled(final, signs)
    low, high = _bounds(_shown(final, logs, signs))

    def unit(archive: Archive) -> Array:
        shown = _shown(archive.points, logs, signs) - low
        return np.asarray(np.maximum(shown / np.where(high > low, high - low, 1.0), 0.0))

    sizes = [len(archive.index) for _, archive in reached]
    most, objectives = max(sizes), final.shape[1]
    if most <= _POINTS and float(most) ** (objectives - 2) <= _EXACT:
        corner = np.full(objectives, _MARGIN)
        volumes = [hypervolume(unit(archive), corner) for _, archive in reached]
    else:
        volumes = _estimated(reached, [unit(archive) for _, archive in reached])
    share = np.array(volumes) / volumes[-1] if volumes[-1] > 0 else np.zeros(len(volumes))
    found = {"evaluations": [count for count, _ in reached], "front": sizes, "hypervolume": share}
    return pd.DataFrame(found)


def _estimated(reached: Sequence[Mark], units: Sequence[Array]) -> list[float]:
    """Return numbers in proportion to the hypervolumes, from the same directions for all.

    Along a direction from the reference, the dominated part ends at the point that reaches
    farthest; the volume is in proportion to the mean of that distance to the power of objectives
    (Deng and Zhang, Approximating hypervolume and hypervolume contributions using polar
    coordinates, IEEE TEVC 2019). As each mark only adds points, the numbers never fall.
    """
    objectives = units[0].shape[1]
    directions = np.abs(np.random.default_rng(0).standard_normal((_DIRECTIONS, objectives)))
    directions /= np.linalg.norm(directions, axis=1)[:, None]
    farthest = np.zeros(_DIRECTIONS)
    volumes, before = [], 0
    for (count, archive), unit in zip(reached, units, strict=True):
        new = np.ascontiguousarray((_MARGIN - unit[archive.index >= before]).T)
        for k, direction in enumerate(directions if new.size else ()):
            reach = new[0] / direction[0]
            for gap, part in zip(new[1:], direction[1:], strict=True):
                np.minimum(reach, gap / part, out=reach)
            farthest[k] = max(farthest[k], reach.max())
        volumes.append(float((farthest**objectives).mean()))
        before = count
    return volumes


def _shown(points: Array, logs: NDArray[np.bool_], signs: Array) -> Array:
    with np.errstate(all="ignore"):
        return np.where(logs, signs * np.log(np.maximum(points * signs, 1e-300)), points)


def _bounds(shown: Array) -> tuple[Array, Array]:
    finite = np.where(np.isfinite(shown), shown, np.nan)
    none = np.isnan(finite).all(axis=0)
    finite[:, none] = 0.0
    return np.nanmin(finite, axis=0), np.nanmax(finite, axis=0)
