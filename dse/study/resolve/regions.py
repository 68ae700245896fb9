"""Optimization regions: the axis, its range, the objective, and when an input is a bottleneck."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from dse.evaluate.objective import Objective
from dse.evaluate.wiring import Wiring
from dse.model.values import show
from dse.problems import nearest
from dse.study.resolve.context import Context
from dse.study.shown import RegionsTable


@dataclass(frozen=True)
class Rule:
    """When an input is a bottleneck: if improving it by `factor` gains at least `threshold`.

    Parameters
    ----------
    factor : float
        Of the improvement, above 1.
    threshold : float
        Share by which the objective gets better, above 0.
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
        Whose bottlenecks are looked for.
    """

    axis: str
    low: float
    high: float
    objective: Objective


def resolve_regions(
    ctx: Context, wiring: Wiring, objectives: list[Objective]
) -> RegionsPlan | None:
    """Read ``[regions]``; None if there is none, or a problem with it."""
    table = ctx.file.regions
    if table is None:
        return None
    if table.axis not in wiring.quantities:
        ctx.unknown(wiring, "regions.axis", table.axis, "input")
        return None
    if table.axis in wiring.producers:
        ctx.add("regions.axis", f"'{table.axis}' is an output, not an input")
    ends = _ends(ctx, wiring, table)
    objective = _objective(ctx, wiring, table, objectives)
    return RegionsPlan(table.axis, *ends, objective) if ends and objective else None


def _ends(ctx: Context, wiring: Wiring, table: RegionsTable) -> tuple[float, float] | None:
    unit = wiring.quantities[table.axis].unit
    clock = wiring.constants.get("clock")
    low = ctx.number("regions.low", table.axis, table.low, unit, clock)
    high = ctx.number("regions.high", table.axis, table.high, unit, clock)
    if low is None or high is None:
        return None
    if not 0 < low < high:
        ctx.add(
            "regions",
            f"low = {show(low, unit)} and high = {show(high, unit)} span no range",
            "give 0 < low < high: the axis is logarithmic",
        )
        return None
    inside = ctx.in_domain(wiring, "regions", table.axis, np.array([low, high]))
    return (low, high) if inside else None


def _objective(
    ctx: Context, wiring: Wiring, table: RegionsTable, objectives: list[Objective]
) -> Objective | None:
    """Return the objective of that name, else the first one that depends on the axis."""
    names = [objective.name for objective in objectives]
    if table.objective is not None:
        if table.objective in names:
            return objectives[names.index(table.objective)]
        if len(objectives) < len(ctx.file.objective) or "objective" in ctx.reading.dropped:
            return None  # it may be one of those with a problem
        message = f"no objective is called '{table.objective}'"
        ctx.add("regions.objective", message, nearest(table.objective, names))
        return None
    for objective in objectives:
        if table.axis in wiring.needs([objective.quantity], objective.conditions).names:
            return objective
    if objectives:
        ctx.notes.append(f"regions: no objective depends on '{table.axis}', so there are none")
    return None
