"""The optimum within an area, as a mixed-integer program solved by HiGHS.

A node is a variable of 0 or 1, a separated pair a continuous one that is at least their
difference. A pair whose two directions cost differently needs only one: the cost where `first`
alone is moved is that of the other direction, and a term of each node.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import Bounds, LinearConstraint, milp
from scipy.sparse import csr_array

from objectives.partition_problem import Problem

_MAGNITUDE = 1e6
"""Sum of all costs as HiGHS sees them: its absolute tolerances of 1e-6 are then 1e-12 of it."""
_ROW = 0.25
"""Factor of the rows of pairs: rounding both nodes to whole numbers stays within the tolerance."""
_PROVEN = 1e-9
"""Gaps below this, as a share of the sum of all costs, are those of the arithmetic."""


class Solved(NamedTuple):
    """A set of nodes and what is proven of the best one."""

    chosen: NDArray[np.bool_]
    bound: float
    """No set that fits changes the time to less than this, in cycles."""


def solve_program(
    problem: Problem, size: float, *, nodes: int | None = None, seconds: float | None = None
) -> Solved:
    """Return the nodes that save most within an area.

    Parameters
    ----------
    problem : Problem
        What to choose from.
    size : float
        Instructions that fit.
    nodes : int, optional
        Limit of the branch-and-bound tree: the same wherever it runs.
    seconds : float, optional
        Limit of time. What is found then depends on the machine.

    Returns
    -------
    Solved
        Optimal where the bound is its value; nothing chosen where a limit left nothing.
    """
    count, pairs = len(problem), len(problem.first)
    if count == 0:
        return Solved(np.zeros(0, bool), 0.0)
    total = float(np.abs(problem.cost).sum() + problem.inward.sum() + problem.outward.sum())
    scale = _MAGNITUDE / total if total > 0 else 1.0
    cost = problem.cost.copy()
    np.add.at(cost, problem.first, problem.outward)
    np.subtract.at(cost, problem.second, problem.outward)
    result = milp(
        np.concatenate([cost, problem.inward + problem.outward]) * scale,
        integrality=np.concatenate([np.ones(count), np.zeros(pairs)]),
        bounds=Bounds(0, 1),
        constraints=[_separations(problem), _area(problem, size)],
        options={
            "mip_rel_gap": 0.0,
            "node_limit": nodes if nodes is not None else 2**31 - 1,
            "time_limit": seconds if seconds is not None else np.inf,
        },
    )
    chosen = np.zeros(count, bool) if result.x is None else result.x[:count] > 0.5
    value = problem.value(chosen)
    bound = -total if result.mip_dual_bound is None else result.mip_dual_bound / scale
    return Solved(chosen, value if value - bound <= _PROVEN * total else bound)


def _separations(problem: Problem) -> LinearConstraint:
    """Demand of each pair's variable at least second − first."""
    count, pairs = len(problem), len(problem.first)
    row = np.arange(pairs)
    matrix = csr_array(
        (
            _ROW * np.concatenate([np.ones(pairs), -np.ones(pairs), np.ones(pairs)]),
            (
                np.tile(row, 3),
                np.concatenate([problem.first, problem.second, count + row]),
            ),
        ),
        shape=(pairs, count + pairs),
    )
    return LinearConstraint(matrix, 0.0, np.inf)


def _area(problem: Problem, size: float) -> LinearConstraint:
    """Demand that the nodes fit: areas are whole, so that half an instruction more admits none."""
    whole = max(float(problem.area.sum()), 1.0)
    row = np.concatenate([problem.area / whole, np.zeros(len(problem.first))])
    return LinearConstraint(csr_array(row[None, :]), -np.inf, (np.floor(size) + 0.5) / whole)
