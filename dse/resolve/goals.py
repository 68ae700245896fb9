"""Objectives and constraints: what is computed, under which conditions."""

from __future__ import annotations

import itertools
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from dse.evaluate import Goal, Limit
from dse.expression import ExpressionError, read_relation
from dse.resolve.context import Context, shown
from dse.result import Objective
from dse.study_file import ConstraintTable, ObjectiveTable
from dse.wiring import Binding, Wiring


def read_binding(
    ctx: Context, wiring: Wiring, where: str, given: Mapping[str, Any]
) -> dict[str, float]:
    """Read the inputs that are bound for one target alone."""
    binding = {}
    for name, number in given.items():
        place = f"{where}.{name}"
        if name not in wiring.quantities:
            ctx.unknown(wiring, place, name, "input")
            continue
        clock = wiring.constants.get("clock")
        value = ctx.number(place, name, number, wiring.quantities[name].unit, clock)
        if value is not None and ctx.in_domain(wiring, place, name, value):
            binding[name] = value
    return binding


def resolve_goals(ctx: Context, wiring: Wiring) -> list[Goal]:
    """Read the objectives, each with a name of its own."""
    goals: list[Goal] = []
    for i, table in enumerate(ctx.file.objective):
        goal = _goal(ctx, wiring, f"objective[{i + 1}]", table)
        if goal is not None:
            goals.append(goal)
    counts: dict[str, list[int]] = {}
    for i, goal in enumerate(goals):
        counts.setdefault(goal.info.name, []).append(i)
    for name, places in counts.items():
        for i in places if len(places) > 1 else ():
            info = goals[i].info
            if info.condition and ctx.file.objective[i].name is None:
                label = f"{name} {info.condition}"
                goals[i] = replace(goals[i], info=replace(info, name=label))
    names = [goal.info.name for goal in goals]
    taken = {"design", "feasible", "on_front"}
    for i, goal in enumerate(goals):
        name = goal.info.name
        if name in taken or (name in ctx.file.space and name != goal.info.quantity):
            ctx.add(f"objective[{i + 1}].name", f"'{name}' is the name of another column")
    for name in dict.fromkeys(n for n in names if names.count(n) > 1):
        first, second = [i + 1 for i, n in enumerate(names) if n == name][:2]
        ctx.add(
            f"objective[{second}]",
            f"is called '{name}', as objective[{first}] is",
            'give it a name = "…" of its own, or leave it out',
        )
    return goals


def _goal(ctx: Context, wiring: Wiring, where: str, table: ObjectiveTable) -> Goal | None:
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
    at = read_binding(ctx, wiring, f"{where}.at", table.at)
    over: dict[str, list[float]] = {}
    for name, values in table.over.items():
        bound = [read_binding(ctx, wiring, f"{where}.over", {name: v}) for v in values]
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
    words = [f"{n} = {shown(v)}" for n, v in table.at.items()]
    condition = f"at {', '.join(words)}" if words else ""
    if over and table.reduce:
        head = table.reduce if table.reduce != "quantile" else f"{table.quantile} quantile"
        condition = f"{head} over {', '.join(over)} {condition}".strip()
    info = Objective(
        name=table.name or quantity,
        quantity=quantity,
        direction="minimize" if direction == "minimize" else "maximize",
        unit=declared.unit,
        symbol=declared.symbol,
        about=declared.about,
        condition=condition,
    )
    scenarios = tuple(
        {**at, **dict(zip(over, values, strict=True))}
        for values in itertools.product(*over.values())
    )
    return Goal(info, scenarios, table.reduce, table.quantile or 0.0)


def resolve_limits(ctx: Context, wiring: Wiring) -> list[Limit]:
    """Read the constraints; one with two bounds gives two limits."""
    limits: list[Limit] = []
    for i, table in enumerate(ctx.file.constraint):
        where = f"constraint[{i + 1}]"
        binding = read_binding(ctx, wiring, f"{where}.at", table.at)
        at = ", ".join(f"{n} = {shown(v)}" for n, v in table.at.items())
        if (table.quantity is None) == (table.relation is None):
            ctx.add(
                where,
                "does not say what is bounded",
                'give quantity = "name" with at_most or at_least, '
                'or relation = "lanes * streams <= 64"',
            )
        elif table.relation is not None:
            limits += _relation(ctx, wiring, where, table, binding, at)
        else:
            limits += _bounds(ctx, wiring, where, table, binding, at)
    return limits


def _relation(
    ctx: Context, wiring: Wiring, where: str, table: ConstraintTable, binding: Binding, at: str
) -> list[Limit]:
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
    name = table.name or relation.text + (f" at {at}" if at else "")
    return [] if unknown else [Limit(name, "", "1", 0.0, True, relation, binding)]


def _bounds(
    ctx: Context, wiring: Wiring, where: str, table: ConstraintTable, binding: Binding, at: str
) -> list[Limit]:
    quantity = table.quantity or ""
    if quantity not in wiring.quantities:
        ctx.unknown(wiring, f"{where}.quantity", quantity, "quantity")
        return []
    if table.at_most is None and table.at_least is None:
        ctx.add(where, f"sets no bound on '{quantity}'", "give at_most or at_least")
    unit = wiring.quantities[quantity].unit
    clock = wiring.constants.get("clock")
    limits = []
    for key, sign in (("at_most", "<="), ("at_least", ">=")):
        given = getattr(table, key)
        if given is None:
            continue
        bound = ctx.number(f"{where}.{key}", quantity, given, unit, clock)
        if bound is not None:
            label = f"{quantity} {sign} {shown(given)}" + (f" at {at}" if at else "")
            both = table.at_most is not None and table.at_least is not None
            name = f"{table.name} ({sign})" if table.name and both else table.name or label
            limits.append(Limit(name, quantity, unit, bound, sign == "<=", None, binding))
    return limits


def targets(goals: list[Goal], limits: list[Limit]) -> list[tuple[str, tuple[str, ...], Binding]]:
    """Return every target: what it is, the quantities it needs, what is bound for it."""
    targets: list[tuple[str, tuple[str, ...], Binding]] = []
    for goal in goals:
        label = f"objective '{goal.info.name}'"
        targets += [(label, (goal.info.quantity,), s) for s in goal.scenarios[:1]]
    targets += [(f"constraint '{limit.name}'", limit.names, limit.binding) for limit in limits]
    return targets
