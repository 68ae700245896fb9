"""Selection: which designs of a population live on, by fronts and crowding.

Non-dominated sorting and crowding distance, feasible designs first (Deb et al., A fast and elitist
multiobjective genetic algorithm: NSGA-II, IEEE TEC 2002).
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from dse.evaluate.evaluator import Evaluated, Evaluator
from dse.evaluate.front import is_nondominated, ranks, scaled
from dse.model.quantity import Array

Rows = NDArray[np.int64]

_SHORT = 65_535


def selected(
    evaluator: Evaluator, judged: Evaluated, rows: Rows, count: int, signs: Array
) -> tuple[Rows, NDArray[np.bool_]]:
    """Return the best of some designs, best first, and which are feasible and non-dominated.

    Parameters
    ----------
    judged : Evaluated
        All designs.
    rows : ndarray of int
        The candidates.
    count : int
        How many to select.
    signs : ndarray
        The evaluator's.
    """
    if judged.feasible.take(rows).all():
        points = judged.objectives.take(rows, axis=0)  # an index takes four times as long
        order, front = _ordered(points * signs, signs, count)
        return rows[order], front
    mine = judged.rows(rows)
    inside = np.flatnonzero(mine.feasible)
    order, best = _ordered(mine.objectives[inside] * signs, signs, count)
    front = np.zeros(len(rows), dtype=bool)
    front[inside] = best
    chosen = rows[inside[order]]
    if len(chosen) < count:
        outside = np.flatnonzero(~mine.feasible)
        total = _violation(evaluator, mine.rows(outside))
        worst = outside[np.argsort(total, kind="stable")]
        chosen = np.concatenate([chosen, rows[worst[: count - len(chosen)]]])
    return chosen, front


def _ordered(points: Array, signs: Array, count: int) -> tuple[Rows, NDArray[np.bool_]]:
    """Order feasible points: by front, then the lonely ones first, then as they came."""
    if len(points) == 0:
        return np.zeros(0, dtype=np.int64), np.zeros(0, dtype=bool)
    best = is_nondominated(points)
    rows = np.flatnonzero(best)
    if len(rows) >= count:  # further fronts do not matter
        crowd = _crowding(scaled(points[rows], signs)[0], np.zeros(len(rows), dtype=np.uint16))
        return rows[_descending(crowd)[:count]], best
    rank = np.zeros(len(points), dtype=np.int64)
    rest = np.flatnonzero(~best)
    rank[rest] = 1 + ranks(points[rest])
    short = np.minimum(rank, _SHORT).astype(np.uint16)
    order = _descending(_crowding(scaled(points, signs)[0], short))
    return order[np.argsort(rank[order], kind="stable")[:count]], best


def _crowding(unit: Array, rank: NDArray[np.uint16]) -> Array:
    """Return for each point the distance of its neighbours on its own front; inf at both sides.

    To 1 / 65,535 of the range of each objective: 16 bits are sorted several times as quickly.
    """
    distance = np.zeros(len(unit))
    gaps = np.empty(len(unit))
    several = rank.any()
    for column in unit.T:
        order = np.argsort((column * _SHORT).astype(np.uint16), kind="stable")
        if several:
            order = order[np.argsort(rank[order], kind="stable")]
        value = column[order]
        gaps[:1], gaps[-1:] = np.inf, np.inf
        np.abs(value[2:] - value[:-2], out=gaps[1:-1])
        if several:
            front = rank[order]
            gaps[1:-1][front[2:] != front[:-2]] = np.inf
        distance[order] += gaps
    return distance


def _descending(crowd: Array) -> Rows:
    """Order by distance, the largest first, to the first 8 bits of the mantissa."""
    short = (crowd.astype(np.float32).view(np.uint32) >> np.uint32(16)).astype(np.uint16)
    return np.argsort(~short, kind="stable")


def _violation(evaluator: Evaluator, judged: Evaluated) -> Array:
    """Return the sum of the violations of each design, each as a fraction of the worst one."""
    violation = np.maximum(evaluator.violations(judged.constrained), 0.0)
    finite = np.isfinite(violation)
    largest = np.where(finite, violation, 0.0).max(axis=0)
    with np.errstate(all="ignore"):
        share = np.where(finite, violation / np.where(largest > 0, largest, 1.0), 2.0)
    unknown = np.isnan(judged.objectives).any(axis=1)
    return np.asarray(share.sum(axis=1) + unknown * (violation.shape[1] + 1.0))
