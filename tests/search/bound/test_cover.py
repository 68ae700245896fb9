"""What a cover misses by: against the factor of each point, worked out in closed form."""

from __future__ import annotations

import numpy as np
import pytest

from dse.search.bound.cover import Cover, find_factor


def _factor(cover: np.ndarray, ideal: np.ndarray) -> float:
    """Return the least ε with which each point has a design c ≤ (1 + ε) p, all above 0."""
    return float((cover[:, None] / ideal).max(axis=2).min(axis=0).max() - 1.0)


@pytest.mark.parametrize(("seed", "farthest"), [(0, 1.0), (1, 0.3), (2, 0.3)])
def test_the_factor_is_that_of_the_point_that_needs_most(seed: int, farthest: float) -> None:
    """One point in thousands needs more than those that a first look takes."""
    rng = np.random.default_rng(seed)
    ideal = rng.random((5_000, 3)) + 1.0
    ideal[rng.integers(1, 19)] *= farthest
    points = rng.random((700, 3)) + 1.2
    cover = Cover.empty(3)
    cover = cover.added(points)
    found, true = find_factor(cover, ideal, np.ones(3)), _factor(points, ideal)
    assert true <= found * (1 + 1e-12)
    assert found <= 1.01 * true


def test_what_nothing_covers_and_what_is_covered_anyway() -> None:
    cover = Cover.empty(3)
    cover = cover.added(np.array([[1.0, 1.0, np.inf]]))
    assert find_factor(cover, np.ones((1, 3)), np.ones(3)) == np.inf
    assert find_factor(cover, np.full((1, 3), np.inf), np.ones(3)) <= 1e-8
    assert find_factor(cover, np.zeros((0, 3)), np.ones(3)) == 0.0
