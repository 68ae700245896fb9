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
    BoundText,
    Target,
    asked_of,
    bound_of,
    is_better,
    least_problem,
    read_target,
)
from dse.evaluate.wiring import Wiring
from dse.model.grammar import GrammarError
from dse.model.relation import Relation
from dse.model.units import UnitError
from dse.study.resolve.constraints import in_held_units
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
        asked = read_target(table.reach)
    except GrammarError as error:
        ctx.add(_REACH, str(error), EXAMPLE)
        return None, []
    bounds, constraints = [], []
    for bound in asked:
        found = _read(ctx, wiring, objectives, bound)
        if isinstance(found, Bound):
            bounds.append(found)
        elif found is not None:
            constraints.append(found)
    names = tuple(c.name for c in constraints)
    return Target(table.reach.strip(), table.least or "", tuple(bounds), names), constraints


def _read(
    ctx: Context, wiring: Wiring, objectives: Sequence[Objective], bound: BoundText | Relation
) -> Bound | Constraint | None:
    if isinstance(bound, Relation):
        relation = in_held_units(ctx, wiring, _REACH, bound)
        if relation is None:
            return None
        return Constraint(bound.text, "", "1", 0.0, True, relation, {})
    objective, wrong = asked_of(bound, objectives)
    clock = wiring.constants.get("clock")
    if wrong is not None:
        ctx.add(_REACH, wrong.message, wrong.remedy)
        return None
    if objective is not None and is_better(bound, objective):
        try:
            return bound_of(bound, objective, clock)
        except UnitError as error:
            remedy = f"{objective.name} is in {objective.unit}"
            ctx.add(_REACH, f"'{bound.text}': {error}", remedy)
            return None
    quantity = bound.name if objective is None else objective.quantity
    if quantity not in wiring.quantities:
        ctx.unknown(wiring, _REACH, quantity, "quantity")
        return None
    unit = wiring.quantities[quantity].unit
    plain = is_unitless(bound.number)  # as in a filter: in the base unit
    given = float(bound.number) if plain else bound.number
    value = ctx.number(_REACH, quantity, given, unit, clock)
    if value is None:
        return None
    upper = bound.sign[0] == "<"
    if "=" not in bound.sign:  # the next number: a constraint holds at its bound
        value = float(np.nextafter(value, -math.inf if upper else math.inf))
    if objective is None:
        return Constraint(bound.text, quantity, unit, value, upper, None, {})
    name = f"{bound.text} {objective.condition}".strip()
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
