"""Optimization regions and curves: the axis, its range, and the lines to draw along it."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from dse.evaluate.criteria import Conditions, Objective
from dse.model.quantity import Array
from dse.model.values import show
from dse.problems import nearest
from dse.study.findings import Place
from dse.study.resolve.objectives import resolve_conditions
from dse.study.resolve.scope import Scope
from dse.study.schema import CurveTable, RegionsTable, StudyFile

_POINTS = 121  # of a continuous axis
_SHOWN = 8  # values of an axis in a message
_REGIONS = Place("regions")


@dataclass(frozen=True)
class Rule:
    """The rule of a bottleneck: improving an input by `factor` gains at least `threshold`.

    Parameters
    ----------
    factor : float
        Of the improvement, above 1.
    threshold : float
        Fraction by which the objective gets better, above 0.
    """

    factor: float = 10.0
    threshold: float = 0.2


@dataclass(frozen=True)
class RegionsPlan:
    """A resolved ``[regions]``.

    Parameters
    ----------
    axis : str
        The swept input.
    low, high : float
        Its range, in its unit.
    objective : Objective
        The objective whose bottlenecks are looked for.
    """

    axis: str
    low: float
    high: float
    objective: Objective


@dataclass(frozen=True)
class CurvePlan:
    """A resolved ``[[curve]]``.

    Parameters
    ----------
    name, axis : str
        Title and swept input.
    grid : ndarray, shape (points,)
        Ascending.
    log : bool
        Whether the axis is logarithmic.
    quantities : tuple of str
        The lines.
    conditions : mapping
        Inputs bound for it.
    """

    name: str
    axis: str
    grid: Array
    log: bool
    quantities: tuple[str, ...]
    conditions: Conditions


def resolve_regions(
    file: StudyFile, scope: Scope, objectives: list[Objective]
) -> RegionsPlan | None:
    """Read ``[regions]``; None if there is none, or after a problem."""
    table = file.regions
    if table is None or not _check_axis(scope, _REGIONS, table.axis):
        return None
    ends = _ends(scope, table)
    objective = _regions_objective(file, scope, table, objectives)
    return RegionsPlan(table.axis, *ends, objective) if ends and objective else None


def _check_axis(scope: Scope, place: Place, axis: str) -> bool:
    """Check that an axis is an input."""
    if axis not in scope.wiring.quantities:
        scope.add_unknown(place / "axis", axis, "input")
        return False
    if axis in scope.wiring.producers:
        scope.add(place / "axis", f"'{axis}' is an output, not an input")
    return True


def _ends(scope: Scope, table: RegionsTable) -> tuple[float, float] | None:
    unit = scope.wiring.quantities[table.axis].unit
    low = scope.number(_REGIONS / "low", table.axis, table.low, unit)
    high = scope.number(_REGIONS / "high", table.axis, table.high, unit)
    if low is None or high is None:
        return None
    if not 0 < low < high:
        message = f"low = {show(low, unit)} and high = {show(high, unit)} span no range"
        scope.add(_REGIONS, message, "give 0 < low < high: the axis is logarithmic")
        return None
    inside = scope.in_domain(_REGIONS, table.axis, np.array([low, high]))
    return (low, high) if inside else None


def _regions_objective(
    file: StudyFile, scope: Scope, table: RegionsTable, objectives: list[Objective]
) -> Objective | None:
    """Return the objective with this name, else the first objective that depends on the axis."""
    if len(objectives) < len(file.objective):
        return None  # it may be one with a problem
    by_name = {objective.name: objective for objective in objectives}
    if table.objective is not None:
        if table.objective not in by_name:
            message = f"no objective is called '{table.objective}'"
            scope.add(_REGIONS / "objective", message, nearest(table.objective, by_name))
        return by_name.get(table.objective)
    for objective in objectives:
        if table.axis in scope.wiring.needs([objective.quantity], objective.conditions).names:
            return objective
    scope.findings.note(f"regions: no objective depends on '{table.axis}', so there are none")
    return None


def resolve_curves(file: StudyFile, scope: Scope) -> list[CurvePlan]:
    """Read the curves; one with a problem is left out."""
    plans = []
    for position, table in enumerate(file.curve):
        place, before = Place("curve") / position, scope.findings.count
        known = _check_axis(scope, place, table.axis)
        for name in table.quantities:
            if name not in scope.wiring.quantities:
                scope.add_unknown(place / "quantities", name, "quantity")
        conditions = resolve_conditions(scope, place / "at", table.at, {})
        if table.axis in table.at:
            scope.add(place / "at" / table.axis, f"'{table.axis}' is the axis", "leave one out")
        grid = _grid(scope, place, table) if known else None
        if scope.findings.count == before and grid is not None:
            lines = tuple(table.quantities)
            plans.append(CurvePlan(table.name, table.axis, grid, table.log, lines, conditions))
    return plans


def check_curves(scope: Scope, curves: list[CurvePlan]) -> None:
    """Check that the study gives every input of the curves."""
    for position, curve in enumerate(curves):
        missing = scope.wiring.needs(curve.quantities, {*curve.conditions, curve.axis}).missing
        for name, model in missing.items():
            remedy = f"give {name} in [inputs] or under at"
            scope.add(Place("curve") / position, f"needs '{name}', for {model}", remedy)


def _grid(scope: Scope, place: Place, table: CurveTable) -> Array | None:
    given = [k for k in ("values", "integer", "real") if getattr(table, k) is not None]
    if len(given) != 1:
        remedy = "give exactly one of values, integer, real"
        scope.add(place, "does not say where the axis runs", remedy)
        return None
    kind, axis = given[0], table.axis
    unit = scope.wiring.quantities[axis].unit
    numbers = [scope.number(place / kind, axis, v, unit) for v in getattr(table, kind)]
    points = [v for v in numbers if v is not None]
    if len(points) < len(numbers):
        return None
    if kind == "values":
        grid = np.unique(points)
        if grid.size < 2 or (table.log and grid[0] <= 0):
            text = f"{', '.join(show(v, unit) for v in points[:_SHOWN])} span no range"
            remedy = "give two different values or more, above 0 for log = true"
            scope.add(place / kind, text, remedy)
            return None
    else:
        low, high = points
        if not low < high or (table.log and low <= 0):
            text = f"low = {show(low, unit)} and high = {show(high, unit)} span no range"
            scope.add(place / kind, text, "give low < high, above 0 for log = true")
            return None
        spread = np.geomspace if table.log else np.linspace
        grid = np.asarray(spread(low, high, _POINTS))
        if kind == "integer":
            grid = np.unique(np.round(grid)) if high - low >= _POINTS else np.arange(low, high + 1)
    return grid if scope.in_domain(place / kind, axis, grid) else None
