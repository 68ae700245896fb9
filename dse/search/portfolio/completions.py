"""Completions of partial sums: within the limits, and better than known combinations."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from dse.evaluate.front import find_distinct_front
from dse.model.quantity import Array
from dse.search.portfolio.dominance import Blocks, DominanceTable
from dse.search.portfolio.portfolio import Portfolio

_CORNERS = 64  # boxes of completions
_SAMPLES = 1 << 18  # combinations that are compared with bounds
_ROUNDING = 1e-13  # of the largest sum: a difference without meaning


class Completions(NamedTuple):
    """Sums over the kernels that are not merged yet."""

    low: Array
    """The lowest sum of each coordinate, shape (coordinates,)."""
    high: Array
    """The highest sum of each coordinate."""
    corners: Array
    """Shape (corners, coordinates): each completion within the limits lies above one of these."""
    samples: Array
    """Some completions, shape (samples, coordinates)."""


def find_completions(options: Sequence[Array], ceiling: Array) -> list[Completions]:
    """Return the completions before each merge, and after the last.

    The options of the kernels (options, coordinates) are in the order of merging, the ceiling has
    the limits.
    """
    zero = np.zeros((1, len(ceiling)))
    completions = [Completions(zero[0], zero[0], zero, zero)]
    for kernel in range(len(options) - 1, -1, -1):
        low, high, corners, samples = completions[-1]
        rows = options[kernel]
        room = ceiling - sum(other.min(axis=0) for other in options[:kernel])
        corners, samples = _fitting(corners, rows, room), _fitting(samples, rows, room)
        completions.append(
            Completions(
                low + rows.min(axis=0),
                high + rows.max(axis=0),
                Blocks.of(corners, -(-len(corners) // _CORNERS) or 1).corners,
                samples[Blocks.of(samples, -(-len(samples) // _CORNERS) or 1).central],
            )
        )
    return completions[::-1]


def _fitting(points: Array, options: Array, room: Array) -> Array:
    """Return the front of the sums of a point and an option, as far as there is room for them."""
    sums = (points[:, None] + options).reshape(-1, len(room))
    sums = sums[(sums <= room).all(axis=1)]
    return np.asarray(sums[find_distinct_front(sums)])


@dataclass(frozen=True)
class Bounds:
    """Tests that drop partial sums whose completions are not on the front.

    A completed sum has no lower objectives than a lower bound of it. If a known combination
    dominates the objectives of the bound, the partial sum is dropped. Bounds are lowered and known
    sums are raised by more than rounding can change.
    """

    portfolio: Portfolio
    lowest: Array
    """The lowest sum of all kernels. Shape (coordinates,)."""
    known: DominanceTable
    """The objectives of feasible combinations."""
    lower: Callable[[Array], Array]
    """The lowest sums that sums have replaced, because merges dropped others within a tolerance."""

    @classmethod
    def of(
        cls,
        portfolio: Portfolio,
        lowest: Array,
        sums: Array,
        samples: Array,
        lower: Callable[[Array], Array],
    ) -> Bounds:
        """Return bounds that know combinations of partial sums and completions."""
        stride = max(1, len(sums) * len(samples) // _SAMPLES)
        whole = (sums[::stride, None] + samples).reshape(-1, len(lowest))
        objectives, feasible = portfolio.judge(whole + _ROUNDING * portfolio.scale)
        known = objectives[feasible & np.isfinite(objectives).all(axis=1)]
        return cls(portfolio, lowest, DominanceTable.of(known), lower)

    def viable(self, sums: Array, completion: Array) -> NDArray[np.bool_]:
        """Return which partial sums may be on the front with a completion, or a higher one."""
        viable = np.asarray((sums + completion <= self.portfolio.ceiling).all(axis=1))
        rows = np.flatnonzero(viable)
        bounds = self.lower(sums[rows] + completion) - _ROUNDING * self.portfolio.scale
        objectives, feasible = self.portfolio.judge(np.maximum(bounds, self.lowest))
        objectives = np.where(np.isnan(objectives), -np.inf, objectives)
        viable[rows] = feasible
        viable[rows[feasible]] = ~self.known.dominates(objectives[feasible])
        return viable

    def viable_rows(self, sums: Array, corners: Array) -> NDArray[np.int64]:
        """Return the rows of partial sums that may be on the front with one of several corners."""
        waiting, found = np.arange(len(sums)), [np.zeros(0, dtype=np.int64)]
        spread = np.maximum(self.portfolio.scale, np.finfo(np.float64).tiny)
        for corner in corners[np.argsort((corners / spread).sum(axis=1))]:
            viable = self.viable(sums[waiting], corner)
            found.append(waiting[viable])
            waiting = waiting[~viable]
        return np.sort(np.concatenate(found))
