"""Optimization regions and curves: the axis, its range, and the lines to draw along it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from dse.evaluate.criteria import Conditions, Direction, Objective
from dse.model.quantity import Array
from dse.problems import nearest
from dse.study.findings import Place
from dse.study.resolve.objectives import resolve_conditions
from dse.study.resolve.scope import Scope
from dse.study.resolve.variables import resolve_numbers, resolve_range
from dse.study.schema import CurveTable, RegionsTable, StudyFile

_POINTS = 121  # of a continuous axis
_REGIONS = Place("regions")


@dataclass(frozen=True)
class RegionsPlan:
    """A resolved ``[regions]``."""

    axis: str
    low: float
    high: float
    objective: Objective


@dataclass(frozen=True)
class CurvePlan:
    """A resolved ``[[curve]]``.

    Parameters
    ----------
    grid : ndarray, shape (points,)
        Ascending.
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
    unit = scope.unit(table.axis)
    low = scope.number(_REGIONS / "low", table.axis, table.low, unit)
    high = scope.number(_REGIONS / "high", table.axis, table.high, unit)
    ends = None
    if low is not None and high is not None:
        ends = _resolve_ends(scope, _REGIONS, table.axis, [low, high], log=True)
    objective = None
    if table.objective is None:
        for objective in objectives:
            if (
                table.axis
                in scope.model_graph.needs([objective.quantity], objective.conditions).names
            ):
                break
        else:
            note = f"regions: no objective depends on '{table.axis}', so there are none"
            scope.findings.notes.append(note)
            return None
    elif len(objectives) == len(file.objective):  # else it may be one with a problem
        by_name = {objective.name: objective for objective in objectives}
        objective = by_name.get(table.objective) or _as_objective(scope, table)
        if objective is None:
            message = f"no objective is called '{table.objective}'"
            scope.add(_REGIONS / "objective", message, nearest(table.objective, by_name))
    return RegionsPlan(table.axis, *ends, objective) if ends and objective else None


def _as_objective(scope: Scope, table: RegionsTable) -> Objective | None:
    """Return an output that is no objective as one; None if no model gives it."""
    graph, name = scope.model_graph, table.objective or ""
    if name not in graph.producers or graph.needs([name], [table.axis]).missing:
        return None
    output = graph.quantities[name]
    direction: Direction = "maximize" if output.over or output.better == "higher" else "minimize"
    return Objective(name, name, direction, output.unit, output.symbol, output.about)


def _check_axis(scope: Scope, place: Place, axis: str) -> bool:
    """Check that an axis is an input."""
    if not scope.knows(place / "axis", axis, "input"):
        return False
    if axis in scope.model_graph.producers:
        scope.add(place / "axis", f"'{axis}' is an output, not an input")
    return True


def _resolve_ends(
    scope: Scope, place: Place, axis: str, written: Sequence[float | str], log: bool
) -> tuple[float, float] | None:
    """Read the two different ends of an axis; None after a problem."""
    ends = resolve_range(scope, place, axis, written, log)
    if ends is not None and ends[0] == ends[1]:
        scope.add(place, "spans no range", "give two different numbers")
        return None
    return ends


def resolve_curves(file: StudyFile, scope: Scope) -> list[CurvePlan]:
    """Read the curves; one with a problem is left out."""
    plans = []
    for position, table in enumerate(file.curve):
        place = Place("curve") / position
        grid = None
        if _check_axis(scope, place, table.axis):
            grid = _resolve_grid(scope, place, table)
        for name in table.quantities:
            scope.knows(place / "quantities", name, "quantity")
        conditions = resolve_conditions(scope, place / "at", table.at, {})
        if table.axis in table.at:
            scope.add(place / "at" / table.axis, f"'{table.axis}' is the axis", "leave one out")
        if grid is not None:
            lines = tuple(table.quantities)
            plans.append(CurvePlan(table.name, table.axis, grid, table.log, lines, conditions))
    return plans


def check_curves(scope: Scope, curves: list[CurvePlan]) -> None:
    """Check that the study gives every input of the curves."""
    for position, curve in enumerate(curves):
        missing = scope.model_graph.needs(curve.quantities, {*curve.conditions, curve.axis}).missing
        for name, model in missing.items():
            remedy = f"give {name} in [inputs] or under at"
            scope.add(Place("curve") / position, f"needs '{name}', for {model}", remedy)


def _resolve_grid(scope: Scope, place: Place, table: CurveTable) -> Array | None:
    """Return the points of an axis, ascending; None after a problem."""
    kinds = [k for k in ("values", "integer", "real") if getattr(table, k) is not None]
    if len(kinds) != 1:
        remedy = "give exactly one of values, integer, real"
        scope.add(place, "does not say where the axis runs", remedy)
        return None
    place, given = place / kinds[0], getattr(table, kinds[0])
    if table.values is not None:
        grid = np.unique(resolve_numbers(scope, place, table.axis, table.values) or [])
        if grid.size == 0:
            return None
        given = [float(grid[0]), float(grid[-1])]
    ends = _resolve_ends(scope, place, table.axis, given, table.log)
    if ends is None:
        return None
    low, high = ends
    if table.values is None:
        grid = np.asarray((np.geomspace if table.log else np.linspace)(low, high, _POINTS))
    if table.integer is not None:
        grid = np.unique(np.round(grid)) if high - low >= _POINTS else np.arange(low, high + 1)
    return grid if scope.in_domain(place, table.axis, grid) else None
