"""The optimum within an area, as a mixed-integer program solved by HiGHS.

A node is a variable of 0 or 1, a separated pair a continuous one that is at least their
difference. A pair whose two directions cost differently needs only one: the cost if `first`
alone is moved is that of the other direction, and a term of each node.

HiGHS is called by its own package: the release within SciPy writes lines to the terminal.
"""

from __future__ import annotations

from typing import NamedTuple

import highspy
import numpy as np
from numpy.typing import NDArray

from objectives.partition.problem import PartitionProblem

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
    problem: PartitionProblem,
    size: float,
    *,
    nodes: int | None = None,
    seconds: float | None = None,
) -> Solved:
    """Return the nodes that save most within an area.

    Parameters
    ----------
    problem : PartitionProblem
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
        Optimal if the bound is its value; nothing chosen if a bound left nothing.
    """
    count = len(problem)
    if count == 0:
        return Solved(np.zeros(0, bool), 0.0)
    total = float(np.abs(problem.cost).sum() + problem.inward.sum() + problem.outward.sum())
    scale = _MAGNITUDE / total if total > 0 else 1.0
    solver = highspy.Highs()  # type: ignore[no-untyped-call]
    solver.setOptionValue("output_flag", False)
    solver.setOptionValue("threads", 1)  # the engine has its own
    solver.setOptionValue("mip_rel_gap", 0.0)
    if nodes is not None:
        solver.setOptionValue("mip_max_nodes", nodes)
    if seconds is not None:
        solver.setOptionValue("time_limit", seconds)
    solver.passModel(_program(problem, size, scale))
    solver.run()
    info = solver.getInfo()
    found = info.primal_solution_status == int(highspy.SolutionStatus.kSolutionStatusFeasible)
    values = np.asarray(solver.getSolution().col_value[:count]) if found else np.zeros(count)
    chosen = values > 0.5
    value = problem.value(chosen)
    bound = max(info.mip_dual_bound / scale, -total)  # without a bound, what all costs sum to
    return Solved(chosen, value if value - bound <= _PROVEN * total else bound)


def _program(problem: PartitionProblem, size: float, scale: float) -> highspy.HighsLp:
    """Return nodes and pairs as variables, a row for each pair, and one for the area.

    A pair's variable is at least second − first. Areas are whole numbers: half an instruction
    more admits none.
    """
    count, pairs = len(problem), len(problem.first)
    cost = problem.cost.copy()
    np.add.at(cost, problem.first, problem.outward)
    np.subtract.at(cost, problem.second, problem.outward)
    whole = max(float(problem.area.sum()), 1.0)
    places = np.stack([problem.first, problem.second, count + np.arange(pairs)], axis=1)
    program = highspy.HighsLp()
    program.num_col_, program.num_row_ = count + pairs, pairs + 1
    program.col_cost_ = np.concatenate([cost, problem.inward + problem.outward]) * scale
    program.col_lower_, program.col_upper_ = np.zeros(count + pairs), np.ones(count + pairs)
    program.row_lower_ = np.append(np.zeros(pairs), -np.inf)
    program.row_upper_ = np.append(np.full(pairs, np.inf), (np.floor(size) + 0.5) / whole)
    program.a_matrix_.format_ = highspy.MatrixFormat.kRowwise
    program.a_matrix_.start_ = np.append(3 * np.arange(pairs + 1), 3 * pairs + count)
    program.a_matrix_.index_ = np.append(places.ravel(), np.arange(count))
    program.a_matrix_.value_ = np.append(np.tile([_ROW, -_ROW, _ROW], pairs), problem.area / whole)
    whole_number, real = highspy.HighsVarType.kInteger, highspy.HighsVarType.kContinuous
    program.integrality_ = [whole_number] * count + [real] * pairs
    return program
