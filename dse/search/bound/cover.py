"""Cover: the points that some design found so far equals or improves in every objective.

For each objective the designs are sorted. The set of designs up to a place is a row of bits. A
point has a place in each order, and the intersection of one row per objective is the designs
that are at least as good in all (bitmap skylines: Tan, Eng and Ooi, Efficient Progressive Skyline
Computation, 2001). Designs near each other are in one block, as in the leaves of a k-d tree: for
most blocks a comparison with the corner decides.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from dse.evaluate.front import find_distinct_front
from dse.model.quantity import Array
from dse.search.workers import Threads

_BLOCK = 512
"""Designs of a block: its rows of bits stay in the cache."""
_PIVOTS = 64
Marks: TypeAlias = NDArray[np.signedinteger[Any]]
_SMALLEST_TOLERANCE = 1e-3  # the first one to try for an exact front; doubled up to `DOUBLINGS`
DOUBLINGS = 12
"""Of a tolerance, by which what is not covered may miss."""
HUGE = 1e9
_FALL = 30.0
_SAMPLE = 256  # points that give a first estimate of the factor for all points


class _Block(NamedTuple):
    """Some designs: for each objective their values in order, and the sets of those up to each."""

    values: Array
    sets: tuple[NDArray[np.uint64], ...]

    def concerns(self, points: Array) -> NDArray[np.bool_]:
        """Return which points are in no objective better than the best of all designs."""
        found = points[:, 0] >= self.values[0, 0]
        for values, column in zip(self.values[1:], points.T[1:], strict=True):
            found &= column >= values[0]
        return np.asarray(found)


@dataclass(frozen=True)
class Cover:
    """The designs found so far, with a test which points they cover.

    A cover never changes: `added` returns a new cover with the blocks of the old one, and an
    interrupted search keeps the old one.
    """

    points: Array
    """The designs by their objectives, less being better, in the order of the blocks. Shape
    (designs, objectives)."""
    threads: Threads = field(default_factory=Threads)
    blocks: tuple[_Block, ...] = ()
    """The first holds a few designs that cover much, the others all designs. Without blocks, they
    are made at the first test."""
    forgotten: int = 0
    """Blocks before the last thinning: their marks mean nothing any more."""

    @classmethod
    def empty(cls, objectives: int, threads: Threads | None = None) -> Cover:
        """Return a cover without designs."""
        return cls(np.zeros((0, objectives)), threads or Threads())

    def __len__(self) -> int:
        return len(self.points)

    @property
    def mark(self) -> int:
        """The mark of now: a later question can leave out the designs that were there before."""
        return self.forgotten + len(self.points) // _BLOCK

    def added(self, points: Array) -> Cover:
        """Return a cover with more designs."""
        if not len(points):
            return self
        if not self.blocks:
            points, blocks = _in_blocks(np.concatenate([self.points, points]))
            return replace(self, points=points, blocks=blocks)
        whole = len(self.points) // _BLOCK  # full blocks stay as they are
        settled, rest = self.points[: whole * _BLOCK], self.points[whole * _BLOCK :]
        rest = np.concatenate([rest, points])
        rest = rest[_together(rest)]
        blocks = (*self.blocks[: 1 + whole], *_blocks(rest))
        return replace(self, points=np.concatenate([settled, rest]), blocks=blocks)

    def thinned(self) -> Cover:
        """Return the cover of the front of all that were added, each point once."""
        points, blocks = _in_blocks(self.points[find_distinct_front(self.points)])
        forgotten = self.forgotten + len(self.blocks)
        return replace(self, points=points, blocks=blocks, forgotten=forgotten)

    def bare(self) -> Cover:
        """Return the cover without its blocks, which take more memory than the designs."""
        return replace(self, blocks=())

    def by_pivots(self, points: Array) -> NDArray[np.bool_]:
        """Return which points have a design of the first block that is nowhere worse: a quick test.

        It uses no threads.
        """
        return _covered_by_any(self.blocks[:1], points, np.zeros(len(points), np.int32), False)

    def weakly(self, points: Array, since: Marks | None = None) -> NDArray[np.bool_]:
        """Return which points have a design that is nowhere worse; at `since` they had none."""
        return self._asked(points, since, strict=False)

    def strictly(self, points: Array, since: Marks | None = None) -> NDArray[np.bool_]:
        """Return which points have a design that is nowhere worse, and better somewhere."""
        found = self._asked(points, since, strict=False)
        rows = np.flatnonzero(found)
        own = None if since is None else since[rows]
        found[rows] = self._asked(points[rows], own, strict=True)
        return found

    def _asked(self, points: Array, since: Marks | None, strict: bool) -> NDArray[np.bool_]:
        first = np.zeros(len(points), dtype=np.int32)
        if since is not None and self.blocks:  # the first block is made of others' best
            first = np.where(since < self.forgotten, 0, since - self.forgotten + 1)
        blocks = self.blocks or _in_blocks(self.points)[1]

        def piece(rows: slice) -> NDArray[np.bool_]:
            return _covered_by_any(blocks, points[rows], first[rows], strict)

        return np.concatenate(self.threads.rows(piece, len(points)))


def _covered_by_any(
    blocks: Sequence[_Block], points: Array, first: Marks, strict: bool
) -> NDArray[np.bool_]:
    """Return which points a design of the blocks covers, from the first block of each point on."""
    found = np.zeros(len(points), dtype=bool)
    left, rest = np.arange(len(points)), points
    start = int(first.min(initial=len(blocks)))
    for place, block in enumerate(blocks[start:], start):
        near = np.flatnonzero(block.concerns(rest) & (first <= place))
        if not len(near):
            continue
        covered = np.zeros(len(left), dtype=bool)
        covered[near] = _covered(block, rest[near], strict)
        found[left[covered]] = True
        left, rest, first = left[~covered], rest[~covered], first[~covered]
        if not len(left):
            break
    return found


def _in_blocks(points: Array) -> tuple[Array, tuple[_Block, ...]]:
    """Return designs in the order of their blocks; the first block has few that cover much."""
    if not len(points):
        return points, ()
    ranks = np.argsort(np.argsort(points, axis=0, kind="stable"), axis=0)
    points = points[np.argsort(ranks.sum(axis=1), kind="stable")]
    pivots = _block(points[:_PIVOTS])
    points = points[_together(points)]
    return points, (pivots, *_blocks(points))


def _blocks(points: Array) -> list[_Block]:
    return [_block(points[low : low + _BLOCK]) for low in range(0, len(points), _BLOCK)]


def _together(points: Array) -> NDArray[np.intp]:
    """Return an order in which every so many points, from the first on, are near each other."""
    if len(points) <= _BLOCK:
        return np.arange(len(points))
    ranks = np.argsort(np.argsort(points, axis=0, kind="stable"), axis=0)
    column = ranks[:, np.argmax(np.ptp(ranks, axis=0))]
    order = np.argsort(column, kind="stable")
    half = -(-len(points) // (2 * _BLOCK)) * _BLOCK
    low, high = order[:half], order[half:]
    return np.concatenate([low[_together(points[low])], high[_together(points[high])]])


def _block(points: Array) -> _Block:
    count = len(points)
    words = -(-count // 64)
    values, sets = [], []
    for column in points.T:
        order = np.argsort(column, kind="stable")
        own = np.zeros((count + 1, words), dtype=np.uint64)
        bits = np.left_shift(np.uint64(1), (order % 64).astype(np.uint64))
        own[np.arange(1, count + 1), order // 64] = bits
        values.append(column[order])
        sets.append(np.bitwise_or.accumulate(own, axis=0))
    return _Block(np.array(values), tuple(sets))


def _covered(block: _Block, points: Array, strict: bool) -> NDArray[np.bool_]:
    whole = block.sets[0][-1]
    all_of = np.broadcast_to(whole, (len(points), len(whole))).copy()
    any_of = np.zeros_like(all_of)
    for values, sets, column in zip(block.values, block.sets, points.T, strict=True):
        all_of &= sets[np.searchsorted(values, column, side="right")]
        if strict:
            any_of |= sets[np.searchsorted(values, column, side="left")]
    if strict:
        all_of &= any_of
    return np.asarray(all_of.any(axis=1))


def relax_points(points: Array, tolerance: Array, amount: Array | float = 0.0) -> Array:
    """Return points made worse by a relative tolerance, less being better.

    A value v becomes v (1 + ε); one below 0, which is of an objective to be maximized, v / (1 + ε);
    each at least v + the amount. Points have the shape (points, objectives), tolerances and amounts
    have one number per objective.
    """
    factor = 1.0 + tolerance
    worse = np.where(points < 0, points / factor, points * factor)
    return np.asarray(np.maximum(worse, points + amount))


def count_doublings(
    cover: Cover,
    ideal: Array,
    most: NDArray[np.int8],
    tolerance: Array,
    amount: Array | float = 0.0,
) -> NDArray[np.int8]:
    """Return by how many doublings of a tolerance nothing found covers ideal points.

    From 1, for all that would be covered with twice the tolerance, to `DOUBLINGS`. `most` is the
    result of each box before its last halving. The test goes down from there: it ends early for a
    covered point, and visits the whole cover for an uncovered one.
    """
    found = np.maximum(most, 1)
    tolerance = np.maximum(tolerance, _SMALLEST_TOLERANCE)
    for level in range(DOUBLINGS - 1, 0, -1):
        rows = np.flatnonzero(found == level + 1)
        factor = 2.0**level
        wide = relax_points(ideal[rows], factor * tolerance, factor * np.asarray(amount))
        found[rows[cover.weakly(wide)]] = level
    return found


def find_factor(cover: Cover, ideal: Array, share: Array, amount: Array | float = 0.0) -> float:
    """Return the factor of tolerances, to a hundredth, with which designs cover ideal points.

    Fractions and amounts of `relax_points` are taken times the factor.
    """

    def uncovered(rows: Array, factor: float) -> Array:
        found = relax_points(rows, factor * share, factor * np.asarray(amount))
        return rows[~cover.weakly(found)]

    def least(rows: Array, low: float) -> float:
        """Return what covers points that `low` does not, from above: to find that is quick."""
        if len(uncovered(rows, HUGE)):
            return np.inf
        high = HUGE
        while high > 1.01 * max(low, 1 / HUGE):
            middle = float(np.sqrt(low * high)) if low else max(high / _FALL, 1 / HUGE)
            if len(left := uncovered(rows, middle)):
                low, rows = middle, left
            else:
                high = middle
        return high

    few = least(ideal[:: max(1, len(ideal) // _SAMPLE)], 0.0) if len(ideal) else 0.0
    left = uncovered(ideal, few) if np.isfinite(few) else ideal[:0]
    return least(left, few) if len(left) else few
