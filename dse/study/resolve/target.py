"""The target: which bounds the front answers, and which must hold for the whole search."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from dse.evaluate.constraint import Constraint
from dse.evaluate.objective import Objective
from dse.evaluate.target import (
    EXAMPLE,
    Bound,
    Comparison,
    Target,
    TargetError,
    asked_of,
    bound_of,
    comparisons,
    is_better,
    least_problem,
)
from dse.evaluate.wiring import Wiring
from dse.model.units import UnitError
from dse.study.resolve.context import Context, is_unitless

_REACH, _LEAST = "target.reach", "target.least"


def resolve_target(
    ctx: Context, wiring: Wiring, objectives: Sequence[Objective]
) -> tuple[Target | None, list[Constraint]]:
    """Read ``[target]``: the target, and the constraints that it adds to the study's own."""
    table = ctx.file.target
    if table is None:
        return None, []
    whole = len(objectives) == len(ctx.file.objective) and not ctx.reading.dropped
    wrong = least_problem(table.least or "", objectives)
    if wrong is not None and whole:  # of the others it is not known whether one has the name
        ctx.add(_LEAST, wrong.message, wrong.remedy)
    try:
        asked = comparisons(table.reach)
    except TargetError as error:
        ctx.add(_REACH, str(error), EXAMPLE)
        return None, []
    bounds, constraints = [], []
    for comparison in asked:
        found = _read(ctx, wiring, objectives, comparison)
        if isinstance(found, Bound):
            bounds.append(found)
        elif found is not None:
            constraints.append(found)
    names = tuple(c.name for c in constraints)
    return Target(table.reach.strip(), table.least or "", tuple(bounds), names), constraints


def _read(
    ctx: Context, wiring: Wiring, objectives: Sequence[Objective], comparison: Comparison
) -> Bound | Constraint | None:
    objective, wrong = asked_of(comparison, objectives)
    clock = wiring.constants.get("clock")
    if wrong is not None:
        ctx.add(_REACH, wrong.message, wrong.remedy)
        return None
    if objective is not None and is_better(comparison, objective):
        try:
            return bound_of(comparison, objective, clock)
        except UnitError as error:
            remedy = f"{objective.name} is in {objective.unit}"
            ctx.add(_REACH, f"'{comparison.text}': {error}", remedy)
            return None
    quantity = comparison.name if objective is None else objective.quantity
    if quantity not in wiring.quantities:
        ctx.unknown(wiring, _REACH, quantity, "quantity")
        return None
    unit = wiring.quantities[quantity].unit
    plain = is_unitless(comparison.number)  # as in a filter: in the base unit
    given = float(comparison.number) if plain else comparison.number
    value = ctx.number(_REACH, quantity, given, unit, clock)
    if value is None:
        return None
    upper = comparison.sign[0] == "<"
    if "=" not in comparison.sign:  # the next number: a constraint holds at its bound
        value = float(np.nextafter(value, -math.inf if upper else math.inf))
    if objective is None:
        return Constraint(comparison.text, quantity, unit, value, upper, None, {})
    name = f"{comparison.text} {objective.condition}".strip()
    return Constraint(
        name,
        quantity,
        unit,
        value,
        upper,
        None,
        objective.conditions,
        objective.condition,
        objective.reduction,
    )
