"""Curves: the axis, its points and the quantities that are drawn along it."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from dse.evaluate.objective import Conditions
from dse.evaluate.wiring import Wiring
from dse.model.quantity import Array
from dse.model.values import show
from dse.study.resolve.conditions import read_conditions
from dse.study.resolve.context import Context
from dse.study.shown import CurveTable

_POINTS = 121  # of a continuous axis


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
        What is drawn.
    conditions : mapping
        Inputs bound for it.
    """

    name: str
    axis: str
    grid: Array
    log: bool
    quantities: tuple[str, ...]
    conditions: Conditions


def resolve_curves(ctx: Context, wiring: Wiring) -> list[CurvePlan]:
    """Read the curves; one with a problem is left out."""
    plans = []
    for where, table in ctx.numbered("curve"):
        before = len(ctx.problems)
        known = table.axis in wiring.quantities
        if not known:
            ctx.unknown(wiring, f"{where}.axis", table.axis, "input")
        if table.axis in wiring.producers:
            ctx.add(f"{where}.axis", f"'{table.axis}' is an output, not an input")
        for name in table.quantities:
            if name not in wiring.quantities:
                ctx.unknown(wiring, f"{where}.quantities", name, "quantity")
        conditions = read_conditions(ctx, wiring, f"{where}.at", table.at)
        if table.axis in table.at:
            ctx.add(f"{where}.at.{table.axis}", f"'{table.axis}' is the axis", "leave one out")
        grid = _grid(ctx, wiring, where, table) if known else None
        if len(ctx.problems) > before or grid is None:
            continue
        missing = wiring.needs(table.quantities, {*conditions, table.axis}).missing
        for name, by in missing.items():
            if name not in ctx.doubtful and not ctx.incomplete:
                ctx.add(where, f"needs '{name}', for {by}", f"give {name} in [inputs] or under at")
        plans.append(
            CurvePlan(table.name, table.axis, grid, table.log, tuple(table.quantities), conditions)
        )
    return plans


def _grid(ctx: Context, wiring: Wiring, where: str, table: CurveTable) -> Array | None:
    given = [k for k in ("values", "integer", "real") if getattr(table, k) is not None]
    if len(given) != 1:
        ctx.absent(
            where, "does not say where the axis runs", "give exactly one of values, integer, real"
        )
        return None
    unit = wiring.quantities[table.axis].unit
    clock = wiring.constants.get("clock")
    numbers = [
        ctx.number(f"{where}.{given[0]}", table.axis, v, unit, clock)
        for v in getattr(table, given[0])
    ]
    points = [v for v in numbers if v is not None]
    if len(points) < len(numbers):
        return None
    if given[0] == "values":
        grid = np.unique(points)
        if grid.size < 2 or (table.log and grid[0] <= 0):
            text = f"{', '.join(show(v, unit) for v in points[:8])} span no range"
            remedy = "give two different values or more, above 0 for log = true"
            ctx.add(f"{where}.values", text, remedy)
            return None
    else:
        low, high = points
        if not low < high or (table.log and low <= 0):
            text = f"low = {show(low, unit)} and high = {show(high, unit)} span no range"
            ctx.add(f"{where}.{given[0]}", text, "give low < high, above 0 for log = true")
            return None
        spread = np.geomspace if table.log else np.linspace
        grid = np.asarray(spread(low, high, _POINTS))
        if given[0] == "integer":
            grid = np.unique(np.round(grid)) if high - low >= _POINTS else np.arange(low, high + 1)
    return grid if ctx.in_domain(wiring, f"{where}.{given[0]}", table.axis, grid) else None
