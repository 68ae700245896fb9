"""Tolerances of sums, as a grid on which sums are compared."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from dse.model.quantity import Array

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
