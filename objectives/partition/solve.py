"""The best partition within an area, and the whole front of speedup against area."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from objectives.partition.branch import LARGE, Search
from objectives.partition.cut import minimum_cut, nested_groups, rounding
from objectives.partition.greedy import greedy_choice
from objectives.partition.milp import PROVEN, solve_program
from objectives.partition.problem import PartitionProblem
from objectives.partition.reduce import reduced


class Partition(NamedTuple):
    """Blocks to move, and how good that is at most and at least."""

    moved: NDArray[np.bool_]
    """Of the graph's blocks, which are on the accelerator."""
    change: float
    """Of the time, in cycles, against all blocks on the CPU."""
    bound: float
    """No partition within the size changes the time to less: equal to `change` if proven."""
    resolution: float = 0.0
    """The precision of the proof in cycles: rounding may hide smaller changes."""


class AreaFront(NamedTuple):
    """Partitions that no other dominates in area and time, by rising area; the first moves none."""

    area: NDArray[np.int64]
    """Instructions on the accelerator, shape (points,)."""
    change: NDArray[np.float64]
    """Of the time, in cycles, shape (points,)."""
    moved: NDArray[np.bool_]
    """Which blocks of the graph, shape (points, blocks)."""


def greedy_partition(problem: PartitionProblem, size: float) -> Partition:
    """Return the paper's greedy partition; nothing is proven of it."""
    chosen = greedy_choice(problem, size)
    return Partition(problem.moved(chosen), problem.value(chosen), -np.inf)


def best_partition(
    problem: PartitionProblem,
    size: float,
    *,
    nodes: int | None = None,
    seconds: float | None = None,
) -> Partition:
    """Return the best partition within an area.

    Parameters
    ----------
    problem : PartitionProblem
        Of a program on one architecture.
    size : float
        Instructions that the accelerator holds.
    nodes, seconds : optional
        Limits of the search, if the area is one; `bound` shows the part that is not proven.
        A bound in seconds makes the answer depend on the machine.
    """
    few = reduced(problem, size)
    lost = rounding(problem)
    if few.area.sum() <= size:  # the rest is the minimum cut
        everything = np.ones(len(few), bool)
        value = few.value(everything)
        return Partition(few.moved(everything), value, value, lost)
    if len(few.tie) > LARGE:
        solved = Search(few, size).solve(nodes, seconds)
    else:
        solved = solve_program(few, size, nodes=nodes, seconds=seconds)
    chosen, value = solved.chosen, few.value(solved.chosen)
    other = greedy_choice(few, size)
    if few.value(other) < value:  # a bound was met, or the two are equal but for rounding
        chosen, value = other, few.value(other)
    inside = minimum_cut(few.restricted(chosen))  # the smallest of equal partitions
    chosen[np.flatnonzero(chosen)[~inside]] = False
    value = few.value(chosen)
    lost += PROVEN * few.magnitude
    return Partition(few.moved(chosen), value, min(solved.bound, value), lost)


def area_front(
    problem: PartitionProblem, sizes: tuple[float, ...] | None = None, exact: bool = False
) -> AreaFront:
    """Return the front of area against time.

    Its convex hull comes from minimum cuts. Between the points of the hull the front has others:
    those within the given sizes (twelve by default), or all of them.

    Parameters
    ----------
    problem : PartitionProblem
        Of a program on one architecture.
    sizes : tuple of float, optional
        Areas for which to find the best partition besides.
    exact : bool
        Whether to find every point of the front: one program for each point.
    """
    hull = nested_groups(problem)
    found = [problem.moved(chosen) for chosen in hull]
    most = float(problem.area[hull[-1]].sum())
    if exact:
        found += _every(problem, most)
    else:
        wanted = sizes if sizes is not None else _grid(most)
        found += [best_partition(problem, size).moved for size in wanted if size < most]
    return _undominated(problem, found)


def _grid(most: float) -> tuple[float, ...]:
    return tuple(np.unique(np.geomspace(8.0, most, 13).round())[:-1]) if most > 8 else ()


def _every(problem: PartitionProblem, most: float) -> list[NDArray[np.bool_]]:
    """Return a best partition for each area at which the best time changes."""
    found = []
    left = most - 1
    while left > 0:
        best = best_partition(problem, left)
        found.append(best.moved)
        left = float(problem.area[problem.chosen(best.moved)].sum()) - 1
    return found


def _undominated(problem: PartitionProblem, moved: list[NDArray[np.bool_]]) -> AreaFront:
    chosen = [problem.chosen(each) for each in moved]
    area = np.array([int(problem.area[c].sum()) for c in chosen])
    change = np.array([problem.value(c) for c in chosen])
    order = np.lexsort((change, area))
    least = np.minimum.accumulate(change[order])
    better = np.concatenate([[True], change[order][1:] < least[:-1]])
    kept = order[better]
    return AreaFront(area[kept], change[kept], np.stack(moved)[kept])
