"""Fronts: the non-dominated designs, kept as designs stream by, and how good a front is."""

from __future__ import annotations

from dataclasses import dataclass

import moocore
import numpy as np
from numpy.typing import NDArray

from dse.model.quantity import Array

_PIVOTS = 24  # enough to throw out most dominated designs before the exact filter sees them
_EXACT = 1e10  # of points to the power of objectives less two: about a tenth of a second
_DIRECTIONS = 20_000
_PAIRS = 4_000_000  # compared at once
_DECADES = 2  # an objective that spans more than these is scaled in the logarithm


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
    return np.asarray(moocore.is_nondominated(_finite(points), keep_weakly=True), dtype=bool)


def ranks(points: Array) -> NDArray[np.int64]:
    """Return for each point the number of its front: 0 for the non-dominated ones, and so on."""
    if len(points) == 0 or points.shape[1] == 1:
        return np.unique(points.reshape(-1), return_inverse=True)[1]
    return np.asarray(moocore.pareto_rank(_finite(points)), dtype=np.int64)


def _finite(points: Array) -> Array:
    """Put the largest numbers in the place of infinities: with those, moocore fails or crashes."""
    if np.isfinite(points).all():
        return points
    return np.clip(points, -np.finfo(np.float64).max, np.finfo(np.float64).max)


def hypervolume(points: Array, reference: Array) -> float:
    """Return the hypervolume that points dominate up to a reference point, less being better.

    Exact, but for many points in many objectives (more than 2,154 in five, 316 in six, 100 in
    seven), where that would take minutes to years: there it is estimated along 20,000 fixed
    directions, to a few tenths of a percent.
    """
    inside = points[(points < reference).all(axis=1)]
    if len(inside) == 0:
        return 0.0
    if np.isinf(inside).any() or np.isinf(reference).any():
        return np.inf
    count, objectives = inside.shape
    if objectives == 1:
        return float(reference[0] - inside.min())
    if float(count) ** (objectives - 2) <= _EXACT:
        return float(moocore.hypervolume(inside, ref=reference))
    inside = inside[is_nondominated(inside)]
    return float(moocore.hv_approx(inside, ref=reference, nsamples=_DIRECTIONS, method="Rphi-FWE+"))


def recall(found: Array, truth: Array, tolerance: float = 0.0) -> float:
    """Return the share of a true front's distinct points that a found front holds.

    Parameters
    ----------
    found, truth : ndarray, shape (designs, objectives)
        Less is better.
    tolerance : float
        A true point also counts where a found one is worse by at most this share in each objective.
    """
    targets = np.unique(truth, axis=0)
    if len(targets) == 0:
        return 1.0
    if tolerance > 0:
        targets = targets + np.where(np.isfinite(targets), np.abs(targets) * tolerance, 0.0)
    found = found[is_nondominated(found)]
    hits = 0
    rows = max(_PAIRS // max(len(found), 1), 1)
    for start in range(0, len(targets), rows):
        some = targets[start : start + rows]
        reached = np.ones((len(some), len(found)), dtype=bool)
        for i in range(truth.shape[1]):
            reached &= found[:, i] <= some[:, i, None]
        hits += int(reached.any(axis=1).sum())
    return hits / len(targets)


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


class FrontBuilder:
    """An archive under construction: chunks go in, their dominated designs fall out early.

    Candidates are gathered until they are worth an exact filtering, so that the cost stays near
    linear; what comes out does not depend on how the designs were cut into chunks.
    """

    def __init__(self, objectives: int) -> None:
        self._archive = Archive.empty(objectives)
        self._waiting: list[tuple[NDArray[np.int64], Array]] = []
        self._count = 0
        self._pivots = np.zeros((0, objectives))

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
            self._pivots = _pivots(self._archive.points)

    def archive(self) -> Archive:
        """Return the archive of all that was added."""
        self._settle()
        return self._archive


def _pivots(points: Array) -> Array:
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
        Infinities are 0 on the better side and 1 on the worse.
    ndarray of bool, shape (objectives,)
        Which objectives were taken in the logarithm: positive ones over more than two decades.
    """
    unit = np.where(np.isneginf(points), 0.0, 1.0)
    logs = np.zeros(points.shape[1], dtype=bool)
    for i in range(points.shape[1]):
        finite = np.isfinite(points[:, i])
        if not finite.any():
            continue
        shown = points[finite, i]
        value = shown * signs[i]
        if value.min() > 0:
            decades = np.log10(value)
            logs[i] = np.ptp(decades) > _DECADES
            shown = signs[i] * decades if logs[i] else shown
        low, high = shown.min() / 2, shown.max() / 2  # halved: the difference does not overflow
        unit[finite, i] = (shown / 2 - low) / (high - low) if high > low else 0.0
    return unit, logs


def knee(points: Array, signs: Array) -> int:
    """Return the row of the design nearest to the ideal in the scaled cube."""
    unit, _ = scaled(points, signs)
    return int(np.argmin((unit**2).sum(axis=1)))
