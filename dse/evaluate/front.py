"""Fronts: the non-dominated designs of many, gathered chunk by chunk, and their quality."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import moocore
import numpy as np
from numpy.typing import NDArray

from dse.evaluate.criteria import Objective
from dse.model.quantity import Array

_PIVOTS = 24  # enough to remove most dominated designs before the exact filter
_MIN_WAITING = 2_048  # candidates that wait for a merge: many small merges cost more
_EXACT = 1e10  # of points to the power of objectives less two: about a tenth of a second
_DIRECTIONS = 20_000
_DECADES = 2  # an objective with a larger range is scaled in the logarithm
_EQUAL = 1e-9  # difference of two logarithms that rounding explains


def is_nondominated(points: Array) -> NDArray[np.bool_]:
    """Return for each point whether no other dominates it (lower is better); equals stay.

    Points (designs, objectives) are without NaN; infinities are ordered as usual.
    """
    if len(points) == 0:
        return np.zeros(0, dtype=bool)
    if points.shape[1] == 1:
        return np.asarray(points[:, 0] == points[:, 0].min())
    return np.asarray(moocore.is_nondominated(_finite(points), keep_weakly=True), dtype=bool)


def find_distinct_front(points: Array) -> NDArray[np.bool_]:
    """Return for each point whether it is on the front, and the first of equal points."""
    if len(points) == 0:
        return np.zeros(0, dtype=bool)
    if points.shape[1] == 1:
        return np.asarray(np.arange(len(points)) == np.argmin(points[:, 0]))
    return np.asarray(moocore.is_nondominated(_finite(points), keep_weakly=False), dtype=bool)


def rank_points(points: Array) -> NDArray[np.int64]:
    """Return for each point the number of its front: 0 for the non-dominated ones, and so on."""
    if len(points) == 0 or points.shape[1] == 1:
        return np.unique(points.reshape(-1), return_inverse=True)[1]
    return np.asarray(moocore.pareto_rank(_finite(points)), dtype=np.int64)


def _finite(points: Array) -> Array:
    """Replace infinities by the largest numbers, because moocore fails or crashes with them."""
    if np.isfinite(points).all():
        return points
    return np.clip(points, -np.finfo(np.float64).max, np.finfo(np.float64).max)


def hypervolume(points: Array, reference: Array) -> float:
    """Return the hypervolume that points dominate up to a reference point, less being better.

    Exact, but for many points in many objectives (more than 2,154 in five, 316 in six, 100 in
    seven): that would take minutes to years, so it is estimated along 20,000 fixed
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


@dataclass(frozen=True)
class Archive:
    """The non-dominated designs of all that were added, in the order of their numbers."""

    index: NDArray[np.int64]
    """Design numbers, ascending. Shape (designs,)."""
    points: Array
    """Their objectives, less being better. Shape (designs, objectives)."""
    beside: Array
    """Other values of each design. Shape (designs, columns)."""

    @classmethod
    def empty(cls, objectives: int, columns: int = 0) -> Archive:
        """Return an archive without designs."""
        return cls(np.zeros(0, dtype=np.int64), np.zeros((0, objectives)), np.zeros((0, columns)))

    def merged(self, *others: Archive) -> Archive:
        """Return the archive with the designs of others; the order of merging does not matter.

        A number is a design: designs with the same number appear once.
        """
        whole = self.joined(*others)
        if len(whole.index) == len(self.index):
            return self
        rows = np.flatnonzero(is_nondominated(whole.points))
        rows = rows[np.argsort(whole.index[rows], kind="stable")]
        index = whole.index[rows]
        return whole.rows(rows[np.append(True, index[1:] != index[:-1])[: len(rows)]])

    def joined(self, *others: Archive) -> Archive:
        """Return the designs of all, dominated ones included."""
        filled = [archive for archive in (self, *others) if len(archive.index)]
        if len(filled) < 2:
            return filled[0] if filled else self
        index, points, beside = zip(*((a.index, a.points, a.beside) for a in filled), strict=True)
        return Archive(np.concatenate(index), np.concatenate(points), np.concatenate(beside))

    def rows(self, rows: NDArray[Any]) -> Archive:
        """Return some of the designs: positions, or a mask."""
        return Archive(self.index[rows], self.points[rows], self.beside[rows])

    @cached_property
    def pivots(self) -> Array:
        """Points of a front that dominate much: the ones with the lowest sum of ranks."""
        points = self.points
        if len(points) <= _PIVOTS:
            return points
        ranks = np.argsort(np.argsort(points, axis=0, kind="stable"), axis=0, kind="stable")
        central = np.argsort(ranks.sum(axis=1), kind="stable")[: _PIVOTS // 2]
        spread = np.linspace(0, len(points) - 1, _PIVOTS - len(central)).astype(np.int64)
        return np.asarray(points[np.unique(np.concatenate([central, spread]))])


@dataclass(frozen=True)
class FrontBuilder:
    """An archive under construction: chunks go in, their dominated designs fall out early.

    Chunks are merged only if enough designs wait: the cost then stays nearly linear. The result
    does not depend on how the designs were cut into chunks. A builder never changes: adding gives a
    new builder with the old arrays, and an interrupted search keeps the old.
    """

    settled: Archive
    """The front of the chunks that were merged."""
    waiting: tuple[Archive, ...] = ()
    """The fronts of later chunks."""

    @classmethod
    def empty(cls, objectives: int, columns: int = 0) -> FrontBuilder:
        """Return a builder without designs, for some objectives and further columns."""
        return cls(Archive.empty(objectives, columns))

    def __len__(self) -> int:
        """Return how many designs are held: the front's, and dominated ones that wait."""
        return len(self.settled.index) + sum(len(archive.index) for archive in self.waiting)

    def added(self, chunk: Archive) -> FrontBuilder:
        """Return a builder that also holds the front of a chunk of designs, without NaN."""
        chunk = chunk.rows(np.flatnonzero(~_beaten(chunk.points, self.settled.pivots)))
        chunk = chunk.rows(is_nondominated(chunk.points))
        if len(chunk.index) == 0:
            return self
        grown = FrontBuilder(self.settled, (*self.waiting, chunk))
        settled = len(self.settled.index)
        full = len(grown) - settled > max(_MIN_WAITING, settled // 2)
        return FrontBuilder(grown.archive()) if full else grown

    def archive(self) -> Archive:
        """Return the archive of all that was added."""
        return self.settled.merged(*self.waiting)


def _beaten(points: Array, pivots: Array) -> NDArray[np.bool_]:
    """Return for each point whether a pivot dominates it.

    The exact filter costs more than linear time. A few good points remove most of the dominated
    ones first, with one pass over contiguous columns.
    """
    columns = np.ascontiguousarray(points.T)
    found = np.zeros(len(points), dtype=bool)
    for pivot in pivots:
        behind = columns[0] >= pivot[0]
        for column, value in zip(columns[1:], pivot[1:], strict=True):
            behind &= column >= value
        rows = np.flatnonzero(behind & ~found)
        found[rows] = (points[rows] > pivot).any(axis=1)
    return found


def scale_front(points: Array, signs: Array) -> tuple[Array, NDArray[np.bool_]]:
    """Scale a front to the unit cube, 0 best, in the logarithm if values span decades.

    Points (designs, objectives) are objectives times their signs: 1 to minimize, -1 to maximize.
    The scaled points have infinities at 0 on the better side and 1 on the worse. The second array
    marks objectives in the logarithm: positive ones over more than two decades.
    """
    unit = np.where(np.isneginf(points), 0.0, 1.0)
    logs = np.zeros(points.shape[1], dtype=bool)
    for i in range(points.shape[1]):
        column = np.ascontiguousarray(points[:, i])
        finite: Any = np.isfinite(column)
        if not finite.any():
            continue
        finite = slice(None) if finite.all() else finite  # a mask costs more than the rest
        shown = column[finite]
        value = shown * signs[i]
        if value.min() > 0:
            logs[i] = np.ptp(np.log10([value.min(), value.max()])) > _DECADES
            shown = signs[i] * np.log10(value) if logs[i] else shown
        low, high = shown.min() / 2, shown.max() / 2  # halved: the difference does not overflow
        unit[finite, i] = (shown / 2 - low) / (high - low) if high > low else 0.0
    return unit, logs


def find_nash_design(
    points: Array, objectives: Sequence[Objective], among: NDArray[np.bool_] | None = None
) -> int:
    """Return the row of the design with the largest Nash product; the first of equals.

    The product has a factor per objective, to the power of its weight: the gain of a maximized
    value above its break-even value, and one over a minimized value (Nash, The Bargaining Problem,
    Econometrica 18(2), 1950; weights: Kalai, International Journal of Game Theory 6(3), 1977). A
    unit, a copy or another design of the front changes no order.

    Points (designs, objectives) are objectives times their signs. `among` says which may be it.
    """
    allowed = np.ones(len(points), dtype=bool) if among is None else among
    gains = [-c > (o.worth or 0.0) for c, o in zip(points.T, objectives, strict=True) if o.sign < 0]
    gaining = allowed & np.logical_and.reduce(gains) if gains else allowed
    # a design without a gain has the product 0, and counts for nothing: its cost may be 0, too
    rows = np.flatnonzero(gaining if gaining.any() else allowed)
    losses = np.zeros(len(rows))
    for column, objective in zip(points[rows].T, objectives, strict=True):
        losses += objective.weight * _nash_loss(column, objective)
    # one order of rounding in any unit
    return int(rows[np.argmax(losses <= losses.min() + _EQUAL)])


def _nash_loss(column: Array, objective: Objective) -> Array:
    """Return one over the factor of an objective in the Nash product, in the logarithm.

    A gain of zero or less is the worst loss. If no gain is positive, or a minimized value is not,
    there are no ratios: the range of the values counts as a factor of ten.
    """
    gains = -column - (objective.worth or 0.0) if objective.sign < 0 else column
    positive = gains > 0
    if positive.all() or (objective.sign < 0 and positive.any()):
        limits = np.finfo(np.float64)
        return np.asarray(objective.sign * np.log(np.clip(gains, limits.tiny, limits.max)))
    unit, _ = scale_front(column[:, None], np.array([objective.sign]))
    return np.asarray(np.log(10) * unit[:, 0])
