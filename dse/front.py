"""Fronts: the non-dominated designs, kept as designs stream by, and how good a front is."""

from __future__ import annotations

from dataclasses import dataclass

import moocore
import numpy as np
from numpy.typing import NDArray

from dse.quantity import Array

_PIVOTS = 24  # enough to throw out most dominated designs before the exact filter sees them


def is_nondominated(points: Array) -> NDArray[np.bool_]:
    """Tell which points no other point dominates, less being better; equal points all stay.

    Parameters
    ----------
    points : ndarray, shape (designs, objectives)
        Without NaN; infinities are ordered as usual.
    """
    if len(points) == 0:
        return np.zeros(0, dtype=bool)
    if points.shape[1] == 1:
        return np.asarray(points[:, 0] == points[:, 0].min())
    return np.asarray(moocore.is_nondominated(points, keep_weakly=True), dtype=bool)


def hypervolume(points: Array, reference: Array) -> float:
    """Return the hypervolume that points dominate up to a reference point, less being better."""
    inside = points[(points < reference).all(axis=1)]
    if len(inside) == 0:
        return 0.0
    if inside.shape[1] == 1:
        return float(reference[0] - inside.min())
    return float(moocore.hypervolume(inside, ref=reference))


def recall(found: Array, truth: Array, tolerance: float = 0.0) -> float:
    """Return the share of a true front's distinct points that a found front holds.

    Parameters
    ----------
    found, truth : ndarray, shape (designs, objectives)
        Less is better.
    tolerance : float
        A true point also counts where a found one is worse by at most this share in each objective.
    """
    distinct = np.unique(truth, axis=0)
    if len(distinct) == 0:
        return 1.0
    slack = np.abs(distinct) * tolerance
    hit = [
        bool((found <= point + more).all(axis=1).any())
        for point, more in zip(distinct, slack, strict=True)
    ]
    return float(np.mean(hit))


@dataclass(frozen=True)
class Archive:
    """The non-dominated designs of all that were added, in the order of their numbers.

    Parameters
    ----------
    index : ndarray of int, shape (designs,)
        Design numbers, ascending.
    points : ndarray, shape (designs, objectives)
        Their objectives, less being better.
    """

    index: NDArray[np.int64]
    points: Array

    @classmethod
    def empty(cls, objectives: int) -> Archive:
        """Return an archive without designs."""
        return cls(np.zeros(0, dtype=np.int64), np.zeros((0, objectives)))

    def merged(self, index: NDArray[np.int64], points: Array) -> Archive:
        """Return the archive with more designs; the order of merging does not matter."""
        if len(index) == 0:
            return self
        index = np.concatenate([self.index, index])
        points = np.concatenate([self.points, points])
        keep = is_nondominated(points)
        index, points = index[keep], points[keep]
        order = np.argsort(index, kind="stable")
        return Archive(index[order], points[order])


class Stream:
    """An archive under construction: chunks go in, their dominated designs fall out early.

    Candidates are gathered until they are worth an exact filtering, so that the cost stays near
    linear; what comes out does not depend on how the designs were cut into chunks.
    """

    def __init__(self, objectives: int, pivots: Array | None = None) -> None:
        self._archive = Archive.empty(objectives)
        self._waiting: list[tuple[NDArray[np.int64], Array]] = []
        self._count = 0
        self._pivots = np.zeros((0, objectives)) if pivots is None else pivots

    def add(self, index: NDArray[np.int64], points: Array) -> None:
        """Add a chunk of designs: numbers and objectives, less being better, without NaN."""
        for pivot in self._pivots:
            keep = ~((points >= pivot).all(axis=1) & (points > pivot).any(axis=1))
            if not keep.all():
                index, points = index[keep], points[keep]
        if len(index) == 0:
            return
        keep = is_nondominated(points)
        self._waiting.append((index[keep], points[keep]))
        self._count += int(keep.sum())
        if self._count > max(2_048, len(self._archive.index) // 2):
            self._settle()

    def _settle(self) -> None:
        if self._waiting:
            self._archive = self._archive.merged(
                np.concatenate([index for index, _ in self._waiting]),
                np.concatenate([points for _, points in self._waiting]),
            )
            self._waiting, self._count = [], 0
            self._pivots = pivots(self._archive.points)

    def archive(self) -> Archive:
        """Return the archive of all that was added."""
        self._settle()
        return self._archive


def pivots(points: Array) -> Array:
    """Choose points of a front that dominate much: those with the least sum of ranks."""
    if len(points) <= _PIVOTS:
        return points
    ranks = np.argsort(np.argsort(points, axis=0, kind="stable"), axis=0, kind="stable")
    central = np.argsort(ranks.sum(axis=1), kind="stable")[: _PIVOTS // 2]
    spread = np.linspace(0, len(points) - 1, _PIVOTS - len(central)).astype(np.int64)
    return np.asarray(points[np.unique(np.concatenate([central, spread]))])


def scaled(points: Array, signs: Array) -> tuple[Array, NDArray[np.bool_]]:
    """Scale a front to the unit cube, 0 best, in the logarithm where values span decades.

    Parameters
    ----------
    points : ndarray, shape (designs, objectives)
        Objectives times `signs`, less being better.
    signs : ndarray
        1 for minimized, -1 for maximized objectives.

    Returns
    -------
    ndarray, shape (designs, objectives)
        Infinities are 1.
    ndarray of bool, shape (objectives,)
        Which objectives were taken in the logarithm.
    """
    unit = np.ones_like(points)
    logs = np.zeros(points.shape[1], dtype=bool)
    for i in range(points.shape[1]):
        value = points[:, i] * signs[i]
        finite = np.isfinite(value)
        if not finite.any():
            continue
        logs[i] = value[finite].min() > 0 and value[finite].max() / value[finite].min() > 100
        shown = signs[i] * (np.log(value[finite]) if logs[i] else value[finite])
        low, high = shown.min(), shown.max()
        unit[finite, i] = (shown - low) / (high - low) if high > low else 0.0
        unit[np.isneginf(points[:, i]), i] = 0.0
    return unit, logs


def knee(points: Array, signs: Array) -> int:
    """Return the row of the design nearest to the ideal in the scaled cube."""
    unit, _ = scaled(points, signs)
    return int(np.argmin((unit**2).sum(axis=1)))
