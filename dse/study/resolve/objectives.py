"""Objectives and constraints: what is computed, under which conditions."""

from __future__ import annotations

import itertools
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from dse.evaluate.constraint import Constraint
from dse.evaluate.expression import ExpressionError, read_relation
from dse.evaluate.objective import Conditions, Objective
from dse.evaluate.wiring import Wiring
from dse.study.resolve.context import Context, shown
from dse.study.schema import ConstraintTable, ObjectiveTable


def read_conditions(
    ctx: Context, wiring: Wiring, where: str, given: Mapping[str, Any]
) -> dict[str, float]:
    """Read the inputs that are bound for one target alone."""
    conditions = {}
    for name, number in given.items():
        place = f"{where}.{name}"
        if name not in wiring.quantities:
            ctx.unknown(wiring, place, name, "input")
            continue
        clock = wiring.constants.get("clock")
        value = ctx.number(place, name, number, wiring.quantities[name].unit, clock)
        if value is not None and ctx.in_domain(wiring, place, name, value):
            conditions[name] = value
    return conditions


def resolve_objectives(ctx: Context, wiring: Wiring) -> list[Objective]:
    """Read the objectives, each with a name of its own."""
    objectives: list[Objective] = []
    for i, table in enumerate(ctx.file.objective):
        objective = _objective(ctx, wiring, f"objective[{i + 1}]", table)
        if objective is not None:
            objectives.append(objective)
    counts: dict[str, list[int]] = {}
    for i, objective in enumerate(objectives):
        counts.setdefault(objective.name, []).append(i)
    for name, places in counts.items():
        for i in places if len(places) > 1 else ():
            one = objectives[i]
            if one.condition and ctx.file.objective[i].name is None:
                objectives[i] = replace(one, name=f"{name} {one.condition}")
    names = [objective.name for objective in objectives]
    taken = {"design", "feasible", "on_front"}
    for i, objective in enumerate(objectives):
        name = objective.name
        if name in taken or (name in ctx.file.space and name != objective.quantity):
            ctx.add(f"objective[{i + 1}].name", f"'{name}' is the name of another column")
    for name in dict.fromkeys(n for n in names if names.count(n) > 1):
        first, second = [i + 1 for i, n in enumerate(names) if n == name][:2]
        ctx.add(
            f"objective[{second}]",
            f"is called '{name}', as objective[{first}] is",
            'give it a name = "…" of its own, or leave it out',
        )
    return objectives


def _objective(ctx: Context, wiring: Wiring, where: str, table: ObjectiveTable) -> Objective | None:
    if (table.maximize is None) == (table.minimize is None):
        ctx.add(
            where,
            "does not say what is better",
            'give exactly one of maximize = "quantity" or minimize = "quantity"',
        )
        return None
    direction = "minimize" if table.maximize is None else "maximize"
    quantity = table.maximize or table.minimize or ""
    if quantity not in wiring.quantities:
        ctx.unknown(wiring, f"{where}.{direction}", quantity, "quantity")
        return None
    at = read_conditions(ctx, wiring, f"{where}.at", table.at)
    over: dict[str, list[float]] = {}
    for name, values in table.over.items():
        bound = [read_conditions(ctx, wiring, f"{where}.over", {name: v}) for v in values]
        over[name] = [b[name] for b in bound if name in b]
        if name in at:
            ctx.add(f"{where}.over.{name}", f"'{name}' is also bound by at", "leave one out")
    if over and table.reduce is None:
        ctx.add(
            f"{where}.reduce",
            "does not say how the scenarios become one number",
            'give reduce = "mean", "min", "max", "harmonic mean" or "quantile"',
        )
    if table.reduce and not over:
        ctx.add(f"{where}.reduce", "has no scenarios to reduce", "give over = { input = [...] }")
    if (table.reduce == "quantile") != (table.quantile is not None):
        ctx.add(
            f"{where}.quantile",
            'reduce = "quantile" and quantile = q go together',
            "q is in [0, 1]",
        )
    declared = wiring.quantities[quantity]
    condition = _in_words(table.at)
    if over and table.reduce:
        head = table.reduce if table.reduce != "quantile" else f"{table.quantile} quantile"
        condition = f"{head} over {', '.join(over)} {condition}".strip()
    every = tuple(itertools.product(*over.values()))
    scenarios = {name: tuple(row[i] for row in every) for i, name in enumerate(over)}
    return Objective(
        name=table.name or quantity,
        quantity=quantity,
        direction="minimize" if direction == "minimize" else "maximize",
        unit=declared.unit,
        symbol=declared.symbol,
        about=declared.about,
        condition=condition,
        conditions={**at, **scenarios},
        reduction=table.reduce,
        quantile=table.quantile or 0.0,
    )


def resolve_constraints(ctx: Context, wiring: Wiring) -> list[Constraint]:
    """Read the constraints; one with two bounds gives two constraints."""
    constraints: list[Constraint] = []
    for i, table in enumerate(ctx.file.constraint):
        where = f"constraint[{i + 1}]"
        conditions = read_conditions(ctx, wiring, f"{where}.at", table.at)
        at = _in_words(table.at)
        if (table.quantity is None) == (table.relation is None):
            ctx.add(
                where,
                "does not say what is bounded",
                'give quantity = "name" with at_most or at_least, '
                'or relation = "lanes * streams <= 64"',
            )
        elif table.relation is not None:
            constraints += _relation(ctx, wiring, where, table, conditions, at)
        else:
            constraints += _bounds(ctx, wiring, where, table, conditions, at)
    return constraints


def _in_words(at: Mapping[str, Any]) -> str:
    return f"at {', '.join(f'{n} = {shown(v)}' for n, v in at.items())}" if at else ""


def _relation(
    ctx: Context,
    wiring: Wiring,
    where: str,
    table: ConstraintTable,
    conditions: Conditions,
    at: str,
) -> list[Constraint]:
    for key in ("at_most", "at_least"):
        if getattr(table, key) is not None:
            ctx.add(f"{where}.{key}", "goes with quantity, not with relation")
    try:
        relation = read_relation(table.relation or "")
    except ExpressionError as error:
        ctx.add(f"{where}.relation", str(error))
        return []
    unknown = [n for n in sorted(relation.names) if n not in wiring.quantities]
    for name in unknown:
        ctx.unknown(wiring, f"{where}.relation", name, "quantity")
    name = table.name or f"{relation.text} {at}".strip()
    return [] if unknown else [Constraint(name, "", "1", 0.0, True, relation, conditions, at)]


def _bounds(
    ctx: Context,
    wiring: Wiring,
    where: str,
    table: ConstraintTable,
    conditions: Conditions,
    at: str,
) -> list[Constraint]:
    quantity = table.quantity or ""
    if quantity not in wiring.quantities:
        ctx.unknown(wiring, f"{where}.quantity", quantity, "quantity")
        return []
    if table.at_most is None and table.at_least is None:
        ctx.add(where, f"sets no bound on '{quantity}'", "give at_most or at_least")
    unit = wiring.quantities[quantity].unit
    clock = wiring.constants.get("clock")
    constraints = []
    for key, sign in (("at_most", "<="), ("at_least", ">=")):
        given = getattr(table, key)
        if given is None:
            continue
        bound = ctx.number(f"{where}.{key}", quantity, given, unit, clock)
        if bound is not None:
            label = f"{quantity} {sign} {shown(given)} {at}".strip()
            both = table.at_most is not None and table.at_least is not None
            name = f"{table.name} ({sign})" if table.name and both else table.name or label
            constraints.append(
                Constraint(name, quantity, unit, bound, sign == "<=", None, conditions, at)
            )
    return constraints


def targets(
    objectives: list[Objective], constraints: list[Constraint]
) -> list[tuple[str, tuple[str, ...], Conditions]]:
    """Return every target: what it is, the quantities it needs, what is bound for it."""
    targets: list[tuple[str, tuple[str, ...], Conditions]] = []
    for objective in objectives:
        label = f"objective '{objective.name}'"
        targets.append((label, (objective.quantity,), objective.conditions))
    targets += [
        (f"constraint '{constraint.name}'", constraint.names, constraint.conditions)
        for constraint in constraints
    ]
    return targets
