"""Constraints: bounds on a quantity, and relations between quantities."""

from __future__ import annotations

from dse.evaluate.conditions import Conditions, Reduction
from dse.evaluate.constraint import Constraint
from dse.evaluate.wiring import Wiring
from dse.model.dimension import CLOCK, UnitMismatchError
from dse.model.grammar import GrammarError
from dse.model.relation import Relation, read_relations
from dse.study.resolve.conditions import in_words, read_conditions
from dse.study.resolve.context import Context, shown
from dse.study.resolve.uncertain import asks_samples, reduction_of
from dse.study.schema import ConstraintTable

EXAMPLE = "write a relation such as 'lanes * streams <= 64' or 'area between 1 kLUT and 2 kLUT'"
_UNITS = "dse list shows the unit of each quantity"


def resolve_constraints(ctx: Context, wiring: Wiring) -> list[Constraint]:
    """Read the constraints; one with two bounds gives two, one with a problem may be left out."""
    constraints: list[Constraint] = []
    for where, table in ctx.numbered("constraint"):
        if (table.quantity is None) == (table.relation is None):
            remedy = (
                'give quantity = "name" with at_most or at_least, '
                'or relation = "lanes * streams <= 64"'
            )
            if table.quantity is None:
                ctx.absent(where, "does not say what is bounded", remedy)
            else:
                ctx.add(where, "has both a quantity and a relation", remedy)
            read_conditions(ctx, wiring, f"{where}.at", table.at)
        elif table.relation is not None:
            constraints += _relation(ctx, wiring, where, table)
        else:
            constraints += _bounds(ctx, wiring, where, table)
    return constraints


def _relation(ctx: Context, wiring: Wiring, where: str, table: ConstraintTable) -> list[Constraint]:
    conditions = read_conditions(ctx, wiring, f"{where}.at", table.at)
    for key in ("at_most", "at_least"):
        if getattr(table, key) is not None:
            ctx.add(f"{where}.{key}", "goes with quantity, not with relation")
    try:
        relations = read_relations(table.relation or "")
    except GrammarError as error:
        ctx.add(f"{where}.relation", f"'{table.relation}': {error}", EXAMPLE)
        return []
    constraints = []
    for relation in relations:
        converted = in_held_units(ctx, wiring, f"{where}.relation", relation)
        if converted is None:
            continue
        at = in_words(table.at)
        name = table.name or f"{relation.text} {at}".strip()
        if table.name and len(relations) > 1:
            name = f"{table.name} ({relation.text})"
        names = sorted(relation.names)
        reduction = _reduction(ctx, wiring, where, table, names, conditions, True)
        constraints.append(
            Constraint(name, "", "1", 0.0, True, converted, conditions, at, reduction)
        )
    return constraints


def in_held_units(ctx: Context, wiring: Wiring, where: str, relation: Relation) -> Relation | None:
    """Return a relation between the quantities of a study, as arrays hold them.

    None is returned, and the problem noted, if a name is unknown or the dimensions differ.
    """
    unknown = [n for n in sorted(relation.names) if n not in wiring.quantities]
    for name in unknown:
        ctx.unknown(wiring, where, name, "quantity", of_rows=True)
    if unknown:
        return None
    free = {n for n, q in wiring.free.items() if q.unit == "1"}  # plain numbers
    units = {n: None if n in free else wiring.quantities[n].unit for n in relation.names}
    try:
        return relation.in_units(units, CLOCK in wiring.quantities)
    except UnitMismatchError as error:
        ctx.add(where, f"'{relation.text}' {error}", error.remedy or _UNITS)
        return None


def _reduction(
    ctx: Context,
    wiring: Wiring,
    where: str,
    table: ConstraintTable,
    names: list[str],
    conditions: Conditions,
    upper: bool,
) -> Reduction | None:
    """Return what of the samples must keep a constraint; None if it is not said."""
    reduction = reduction_of(ctx, where, table.reduce, upper)
    if reduction is not None and not asks_samples(wiring, names, conditions):
        ctx.add(f"{where}.reduce", "has no samples to reduce", "nothing uncertain reaches it")
    return reduction


def _bounds(ctx: Context, wiring: Wiring, where: str, table: ConstraintTable) -> list[Constraint]:
    conditions = read_conditions(ctx, wiring, f"{where}.at", table.at)
    quantity = table.quantity or ""
    given = {"at_most": table.at_most, "at_least": table.at_least}
    if table.at_most is None and table.at_least is None:
        ctx.absent(where, f"sets no bound on '{quantity}'", "give at_most or at_least")
    if quantity not in wiring.quantities:
        ctx.unknown(wiring, f"{where}.quantity", quantity, "quantity")
        for key, number in given.items():
            if number is not None:
                ctx.readable(f"{where}.{key}", number)
        return []
    unit = wiring.quantities[quantity].unit
    clock = wiring.constants.get("clock")
    at = in_words(table.at)
    constraints = []
    for key, number in given.items():
        sign = "<=" if key == "at_most" else ">="
        bound = None
        if number is not None:
            bound = ctx.number(f"{where}.{key}", quantity, number, unit, clock)
        if number is not None and bound is not None:
            label = f"{quantity} {sign} {shown(number)} {at}".strip()
            both = None not in given.values()
            name = f"{table.name} ({sign})" if table.name and both else table.name or label
            upper = sign == "<="
            named = [quantity]
            reduction = _reduction(ctx, wiring, where, table, named, conditions, upper)
            constraints.append(
                Constraint(name, quantity, unit, bound, upper, None, conditions, at, reduction)
            )
    return constraints
