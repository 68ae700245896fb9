"""The best contexts within an area, none below another, as a mixed-integer program.

A context is a variable of 0 or 1, and so is each function, whose accelerator all its contexts
share. HiGHS solves it by branch and bound.
"""

from __future__ import annotations

from typing import NamedTuple

import highspy
import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from dse.model import Array
from objectives.communication.tree import CallTree

_NODES = 20_000
"""Limit of the branch-and-bound tree: the same wherever it runs."""
_TOLERANCE = 1e-10
"""The smallest tolerance of rows that HiGHS takes: the area exceeds its limit by at most this."""
_SUM = 1e6
"""Sum of all values as HiGHS sees them, for its tolerances are absolute."""
_PROVEN = 1e-9
"""Gaps below this fraction of the sum of all values are rounding errors."""


class Within(NamedTuple):
    """Contexts, and the proven bound of the best ones."""

    contexts: tuple[int, ...]
    bound: float
    """No contexts that fit have values that add up to more."""


def best_within(tree: CallTree, values: Array, area: Array, limit: float) -> Within:
    """Return the contexts of the largest sum of values whose functions fit, none below another.

    Parameters
    ----------
    tree : CallTree
        The calling contexts.
    values : ndarray, shape (nodes,)
        What is not above 0 is not taken.
    area : ndarray, shape (nodes,)
        Of the function of each context, ≥ 0; counted once for all its contexts.
    limit : float
        What fits, in the unit of `area`.
    """
    nodes = np.flatnonzero((values > 0) & (area <= limit))
    if not len(nodes):
        return Within((), 0.0)
    total = float(values[nodes].sum())
    solver = highspy.Highs()  # type: ignore[no-untyped-call]
    for option, value in (
        ("output_flag", False),
        ("threads", 1),
        ("mip_rel_gap", 0.0),
        ("mip_max_nodes", _NODES),
        ("mip_feasibility_tolerance", _TOLERANCE),
        ("primal_feasibility_tolerance", _TOLERANCE),
    ):
        solver.setOptionValue(option, value)
    solver.passModel(_program(tree, nodes, values * (_SUM / total), area / (limit or 1.0)))
    solver.run()
    info = solver.getInfo()
    found = info.primal_solution_status == int(highspy.SolutionStatus.kSolutionStatusFeasible)
    given = np.asarray(solver.getSolution().col_value[: len(nodes)]) if found else 0.0 * nodes
    chosen = nodes[given > 0.5]
    reached = float(values[chosen].sum())
    bound = min(-info.mip_dual_bound * total / _SUM, total)
    return Within(tuple(chosen.tolist()), reached if bound - reached <= _PROVEN * total else bound)


def _program(
    tree: CallTree, nodes: NDArray[np.intp], values: Array, area: Array
) -> highspy.HighsLp:
    """Return contexts and functions as variables; a row for each way up, each context, the area."""
    at = {int(node): i for i, node in enumerate(nodes)}
    functions = np.unique(tree.function[nodes])
    count, columns = len(nodes), len(nodes) + len(functions)
    place = count + np.searchsorted(functions, tree.function[nodes])
    rows: list[dict[int, float]] = []
    upper: list[float] = []
    ways = {node: [at[v] for v in tree.way(node) if v in at] for node in at}
    inner = {v for node in at for v in tree.way(node)[1:]}
    for node, way in ways.items():
        if node not in inner and len(way) > 1:  # the lowest ones have all the others above them
            rows.append(dict.fromkeys(way, 1.0))
            upper.append(1.0)
    for i in range(count):  # a context needs its function's accelerator
        rows.append({i: 1.0, int(place[i]): -1.0})
        upper.append(0.0)
    of = dict(zip(place.tolist(), area[nodes].tolist(), strict=True))
    rows.append(of)
    upper.append(1.0)
    matrix = csr_array(
        (
            [v for row in rows for v in row.values()],
            [c for row in rows for c in row],
            np.cumsum([0, *map(len, rows)]),
        ),
        shape=(len(rows), columns),
    )
    program = highspy.HighsLp()
    program.num_col_, program.num_row_ = columns, len(rows)
    program.col_cost_ = np.append(-values[nodes], np.zeros(len(functions)))
    program.col_lower_, program.col_upper_ = np.zeros(columns), np.ones(columns)
    program.row_lower_, program.row_upper_ = np.full(len(rows), -np.inf), np.array(upper)
    program.a_matrix_.format_ = highspy.MatrixFormat.kRowwise
    program.a_matrix_.start_, program.a_matrix_.index_ = matrix.indptr, matrix.indices
    program.a_matrix_.value_ = matrix.data
    program.integrality_ = [highspy.HighsVarType.kInteger] * columns
    return program
