"""The optimum within an area, as a mixed-integer program solved by HiGHS.

A node is a variable of 0 or 1. Two nodes that interact have a continuous variable, no smaller than
their difference, and a term of each. A larger set has such a variable that is at least each of its
nodes, if any of them costs, and a variable that is at most each, if all of them save.

HiGHS is called by its own package: the release within SciPy writes lines to the terminal.
"""

from __future__ import annotations

from typing import NamedTuple

import highspy
import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array, vstack

from dse.model import Array
from objectives.partition.problem import PartitionProblem

_MAGNITUDE = 1e6
"""Sum of all costs as HiGHS sees them: its absolute tolerances of 1e-6 are then 1e-12 of it."""
_ROW = 0.25
"""Factor of the rows of pairs: rounding both nodes to whole numbers stays within the tolerance."""
PROVEN = 1e-9
"""Gaps below this fraction of the sum of all costs are rounding errors."""

_OPTIONS: dict[str, bool | int | float | str] = {
    "output_flag": False,
    "threads": 1,  # the engine has its own
    "mip_rel_gap": 0.0,
    "presolve": "off",
    "mip_heuristic_run_feasibility_jump": False,
    "mip_heuristic_run_rins": False,
    "mip_heuristic_run_rens": False,
    "mip_heuristic_run_root_reduced_cost": False,
}
"""Programs are small: 42 nodes and 164 sets on average in the study `cpu_accelerator`.

Without presolve and heuristics they take a third of the time, measured on 161 of them.
"""


class Solution(NamedTuple):
    """A set of nodes and the proven bound of the best one."""

    chosen: NDArray[np.bool_]
    bound: float
    """No set that fits changes the time to less than this, in cycles."""


class _SilentSolver(highspy.Highs):
    """HiGHS without the lines that it prints when its constructor sets callbacks."""

    def enableCallbacks(self) -> None:  # noqa: N802
        self.silent()
        super().enableCallbacks()  # type: ignore[no-untyped-call]


def solve_program(problem: PartitionProblem, size: float, *, nodes: int | None = None) -> Solution:
    """Return the nodes that save most within an area of `size` instructions.

    They are optimal if the bound is their value. `nodes` limits the branch-and-bound tree, the same
    wherever it runs; nothing is chosen if the limit left nothing.
    """
    count = len(problem)
    if count == 0:
        return Solution(np.zeros(0, bool), 0.0)
    total = problem.magnitude
    scale = _MAGNITUDE / total if total > 0 else 1.0
    solver = _SilentSolver()  # type: ignore[no-untyped-call]
    for option, value in _OPTIONS.items():
        solver.setOptionValue(option, value)
    if nodes is not None:
        solver.setOptionValue("mip_max_nodes", nodes)
    solver.passModel(_program(problem, size, scale))
    solver.run()
    info = solver.getInfo()
    found = info.primal_solution_status == int(highspy.SolutionStatus.kSolutionStatusFeasible)
    values = np.asarray(solver.getSolution().col_value[:count]) if found else np.zeros(count)
    chosen = values > 0.5
    value = problem.value(chosen)
    bound = max(info.mip_dual_bound / scale, -total)  # without a bound, what all costs sum to
    return Solution(chosen, value if value - bound <= PROVEN * total else bound)


def _program(problem: PartitionProblem, size: float, scale: float) -> highspy.HighsLp:
    """Return nodes and sets as variables, a row for each relation, and one for the area.

    Areas are whole numbers: half an instruction more admits none.
    """
    cost, relations = _relations(problem)
    rows, columns = relations.shape
    whole = max(float(problem.area.sum()), 1.0)
    area = np.append(problem.area / whole, np.zeros(columns - len(problem)))
    matrix = vstack([_ROW * relations, csr_array(area[None, :])], format="csr")
    program = highspy.HighsLp()
    program.num_col_, program.num_row_ = columns, rows + 1
    program.col_cost_ = cost * scale
    program.col_lower_, program.col_upper_ = np.zeros(columns), np.ones(columns)
    program.row_lower_ = np.append(np.zeros(rows), -np.inf)
    program.row_upper_ = np.append(np.full(rows, np.inf), (np.floor(size) + 0.5) / whole)
    program.a_matrix_.format_ = highspy.MatrixFormat.kRowwise
    program.a_matrix_.start_, program.a_matrix_.index_ = matrix.indptr, matrix.indices
    program.a_matrix_.value_ = matrix.data
    whole_number, real = highspy.HighsVarType.kInteger, highspy.HighsVarType.kContinuous
    count = len(problem)
    program.integrality_ = [whole_number] * count + [real] * (columns - count)
    return program


def _relations(problem: PartitionProblem) -> tuple[Array, csr_array]:
    """Return what each variable costs, and rows that are each at least 0.

    Variables are the nodes, one for each pair, then one for each larger set of which any costs, and
    one for each of which all save.
    """
    p, count = problem, len(problem)
    pairs = int(np.searchsorted(p.sizes, 2, "right"))
    first, second = p.node[: 2 * pairs].reshape(-1, 2).T
    any_cost, both = p.any_cost[:pairs], (p.any_cost + p.all_gain)[:pairs]
    cost = p.cost + np.bincount(first, any_cost, minlength=count)
    cost += np.bincount(second, any_cost - both, minlength=count)
    parts, costs = [], [cost, both]
    ones = np.ones(pairs)
    apart = np.arange(pairs)
    for place, signs in ((first, ones), (second, -ones), (count + apart, ones)):
        parts.append((signs, apart, place))
    rows, column = pairs, count + pairs
    tie, node = p.tie[2 * pairs :], p.node[2 * pairs :]
    for amount, sign in ((p.any_cost, 1.0), (-p.all_gain, -1.0)):
        used = (amount != 0) & (np.arange(len(amount)) >= pairs)
        inside = used[tie]
        row = rows + np.arange(int(inside.sum()))
        variable = column + (np.cumsum(used) - 1)[tie[inside]]
        parts += [
            (np.full(len(row), sign), row, variable),
            (np.full(len(row), -sign), row, node[inside]),
        ]
        costs.append(amount[used])
        rows, column = rows + len(row), column + int(used.sum())
    values, at, where = (np.concatenate(each) for each in zip(*parts, strict=True))
    return np.concatenate(costs), csr_array((values, (at, where)), shape=(rows, column))
