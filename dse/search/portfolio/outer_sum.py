"""The front of all sums of two sets of points, without most of the sums; tolerances of sums."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from dse.evaluate.front import find_distinct_front, is_nondominated
from dse.model.quantity import Array
from dse.search.portfolio.dominance import Blocks, DominanceTable
from dse.search.workers import Threads

_ROWS = 1 << 16  # sums at once: their columns stay in the cache
_BLOCK = 32  # neighbouring points that are tested together
_PAIRS = 1 << 13  # blocks and options of a task
_ROUND = 16  # tasks between two tables, whatever the number of threads
_MIN_WAITING = 1 << 18  # sums that wait for the exact filter
_FIRST_WIDTH = 1e-4  # of a grid that has none yet
_MAX_STRICT_WIDTH = 0.05  # of cells that do not count near limits


@dataclass(frozen=True)
class ToleranceGrid:
    """Compare partial sums by the cell of the sum that they can complete at best.

    A partial sum q covers p in a coordinate if q <= p + e max(p + r, f), where e is the tolerance,
    f the floor and r the lowest sum of the remaining kernels. Any completion t >= r then gives
    q + t <= (p + t) + e max(p + t, f). After merges with e_1, e_2, ... the tolerances multiply:
    s_1 <= s + e_1 max(s, f) and s_2 <= s_1 + e_2 max(s_1, f) give s_2 <= s + E max(s, f) with
    1 + E = (1 + e_1)(1 + e_2), because max(s_1, f) <= (1 + e_1) max(s, f).

    Cells have the width w = ln(1 + e) on the scale g(v) = v / f up to f, and 1 + ln(v / f) above.
    If q's cell is not higher than p's, g(q + r) <= g(p + r) + w. Above f this is the factor 1 + e.
    Up to f it is w f <= e f. If p + r = x f <= f < q + r, it gives q + r <= f exp(x - 1 + w), which
    is at most f (x + e): both are equal at x = 1, and the exponential falls faster with x.

    A limit must hold for q + t wherever it does for p + t. So cells count only where the highest
    sum of the remaining kernels stays within the limit; elsewhere q <= p is necessary.
    """

    rest: Array
    """The lowest sum of the remaining kernels. Shape (coordinates,)."""
    floors: Array
    """Positive. Shape (coordinates,)."""
    safe: Array
    """The highest partial sum with which every completion is within the limit; infinity for none.
    Shape (coordinates,)."""
    widths: Array
    """0 where sums are compared exactly. Shape (coordinates,)."""

    def keys(self, sums: Array) -> Array:
        """Return the coordinates that are compared: cells, or the position on their scale."""
        if not self.widths.any():
            return sums
        keys = sums.copy(order="K")
        for c in np.flatnonzero(self.widths):
            ratio = (sums[:, c] + self.rest[c]) / self.floors[c]
            above = 1 + np.log(np.maximum(ratio, 1))
            position = np.where(ratio > 1, above, ratio) / self.widths[c]
            keys[:, c] = np.where(sums[:, c] <= self.safe[c], np.floor(position), position)
        return keys

    def coarsened(self, weights: Array) -> ToleranceGrid:
        """Return a grid with cells twice as wide; a sum that is covered stays covered.

        If cells are very wide already, they first count near the limits, too.
        """
        if not self.widths.any():
            return replace(self, widths=_FIRST_WIDTH * weights)
        if self.widths.max() > _MAX_STRICT_WIDTH and np.isfinite(self.safe).any():
            return replace(self, safe=np.full(len(self.safe), np.inf))
        return replace(self, widths=2 * self.widths)


class Sums(NamedTuple):
    """Sums of a point and an option each."""

    values: Array
    """Shape (sums, coordinates)."""
    parents: NDArray[np.int64]
    """The row of the point."""
    picks: NDArray[np.int64]
    """The row of the option."""

    def rows(self, rows: NDArray[Any]) -> Sums:
        """Return some of the sums: positions, or a mask."""
        return Sums(self.values[rows], self.parents[rows], self.picks[rows])

    @classmethod
    def empty(cls, coordinates: int) -> Sums:
        """Return no sums."""
        nothing = np.zeros(0, dtype=np.int64)
        return cls(np.zeros((0, coordinates)), nothing, nothing)

    @classmethod
    def joined(cls, parts: list[Sums]) -> Sums:
        """Return the sums of all parts."""
        return cls(*(np.concatenate(columns) for columns in zip(*parts, strict=True)))


@dataclass(frozen=True, eq=False)
class OuterSum:
    """All sums of a point and an option."""

    points: Array
    options: Array
    viable: Callable[[Array], NDArray[np.bool_]]
    """Which sums may stay, shape (sums,); if one may not, neither may a higher one."""
    choices: Callable[[NDArray[np.int64], NDArray[np.int64]], NDArray[Any]]
    """A row of integers for each pair of a point and an option, given as two arrays of rows. Of
    equal sums the one with the lowest row stays."""
    threads: Threads
    """Who works. The result does not depend on them."""

    def front(
        self, grid: ToleranceGrid, capacity: int, weights: Array
    ) -> tuple[Sums, ToleranceGrid]:
        """Return the viable sums that no other covers on a grid; of equal cells the lowest sum.

        Blocks of neighbouring points are tested by their lower corners, then their sums, with a
        table of viable sums; the exact filter settles the rest. If more than `capacity` sums are
        left, the grid becomes coarser by `weights`. The grid is returned, too.
        """
        blocks = Blocks.of(self.points, _BLOCK)
        central = self._central_front(grid, blocks.central)
        while len(central) > capacity / 2:
            grid = grid.coarsened(weights)
            central = central[find_distinct_front(grid.keys(central))]
        table = DominanceTable.of(grid.keys(central))
        pairs = len(blocks.first) * len(self.options)
        settled, waiting = Sums.empty(self.points.shape[1]), list[Sums]()
        for low in range(0, pairs, _ROUND * _PAIRS):
            runs = range(low, min(low + _ROUND * _PAIRS, pairs), _PAIRS)
            search = partial(self._search, blocks, grid, table)
            tasks = ((run, min(run + _PAIRS, pairs)) for run in runs)
            waiting += self.threads.each(search, tasks)
            held = sum(len(sums.parents) for sums in waiting)
            last = low + _ROUND * _PAIRS >= pairs
            if last or held > max(_MIN_WAITING, len(settled.parents) // 2):
                settled, waiting = self._settle([settled, *waiting], grid), []
                while len(settled.parents) > capacity:
                    grid = grid.coarsened(weights)
                    settled = self._settle([settled], grid)
                if not last:
                    values = np.concatenate([central, settled.values])
                    table = DominanceTable.of(grid.keys(values))
        return settled, grid

    def _central_front(self, grid: ToleranceGrid, rows: NDArray[np.int64]) -> Array:
        """Return viable sums of some points and all options, with non-dominated keys."""
        front = np.zeros((0, self.points.shape[1]))
        run = max(1, _MIN_WAITING // max(len(self.options), 1))
        for start in range(0, len(rows), run):
            table = DominanceTable.of(grid.keys(front))
            sums = self.points[rows[start : start + run], None] + self.options
            sums = sums.reshape(-1, front.shape[1])
            front = np.concatenate([front, sums[self._kept(sums, grid, table)]])
            front = front[find_distinct_front(grid.keys(front))]
        return front

    def _search(
        self, blocks: Blocks, grid: ToleranceGrid, table: DominanceTable, low: int, high: int
    ) -> Sums:
        """Return the sums of some pairs of a block and an option that the table does not drop."""
        block, pick = np.divmod(np.arange(low, high), len(self.options))
        corners = Sums(blocks.corners[block] + self.options[pick], block, pick)
        corners = corners.rows(self._kept(corners.values, grid, table))
        parts = [Sums.empty(self.points.shape[1])]
        run, held = _ROWS // _BLOCK, 0
        for start in range(0, len(corners.parents), run):
            block, pick = corners.parents[start : start + run], corners.picks[start : start + run]
            places = (blocks.first[block][:, None] + np.arange(_BLOCK)).ravel()
            inside = places < len(blocks.order)
            parents, pick = blocks.order[places[inside]], np.repeat(pick, _BLOCK)[inside]
            sums = Sums(self.points[parents] + self.options[pick], parents, pick)
            parts.append(sums.rows(self._kept(sums.values, grid, table)))
            held += len(parts[-1].parents)
            if held > _MIN_WAITING:
                parts, held = [self._settle(parts, grid)], 0
        return self._settle(parts, grid)

    def _kept(self, sums: Array, grid: ToleranceGrid, table: DominanceTable) -> NDArray[np.int64]:
        """Return the rows of sums that the table does not dominate, and that are viable."""
        rows = np.flatnonzero(~table.dominates(grid.keys(sums)))
        return rows[self.viable(sums[rows])]

    def _settle(self, parts: list[Sums], grid: ToleranceGrid) -> Sums:
        """Return the sums that no other covers; of equal cells the lowest sum and choices."""
        joined = Sums.joined(parts)
        joined = joined.rows(is_nondominated(grid.keys(joined.values)))
        keys = grid.keys(joined.values)
        columns = np.column_stack([keys] if keys is joined.values else [keys, joined.values])
        order = np.lexsort(columns.T[::-1])
        same = (columns[order[1:]] == columns[order[:-1]]).all(axis=1)
        if same.any():
            tied = np.append(False, same) | np.append(same, False)
            rows, group = order[tied], np.cumsum(np.append(True, ~same))[tied]
            choices = self.choices(joined.parents[rows], joined.picks[rows])
            order[tied] = rows[np.lexsort((*choices.T[::-1], group))]
        keys = keys[order]
        return joined.rows(
            order[np.append(True, (keys[1:] != keys[:-1]).any(axis=1))[: len(order)]]
        )
