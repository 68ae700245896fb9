"""Constraints and the target: bounds on quantities, and relations between them."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

import numpy as np

from dse.evaluate.criteria import Conditions, Constraint, Objective, Reduction
from dse.evaluate.target import EXAMPLE as TARGET_EXAMPLE
from dse.evaluate.target import (
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
from dse.model.dimension import CLOCK, UnitMismatchError
from dse.model.grammar import GrammarError, names_in, read_condition
from dse.model.quantity import Quantity
from dse.model.relation import Relation, read_relations
from dse.model.units import UnitError, is_unit
from dse.study.findings import Findings, Place
from dse.study.resolve.entries import Entries
from dse.study.resolve.objectives import Bound as BoundValues
from dse.study.resolve.objectives import describe_conditions, resolve_conditions
from dse.study.resolve.scope import Scope, is_unitless, shown
from dse.study.resolve.uncertainty import needs_samples, resolve_reduction
from dse.study.schema import CatalogRow, ConstraintTable, RowsTable, StudyFile, SubsetsTable

_SIGNS = {"at_most": "<=", "at_least": ">="}
_REACH, _LEAST = Place("target") / "reach", Place("target") / "least"
_ABOUT = "used only in relations"
_EXAMPLE = "write a relation such as 'lanes * streams <= 64' or 'area between 1 kLUT and 2 kLUT'"
_UNITS = "dse list shows the unit of each quantity"


def resolve_constraints(file: StudyFile, scope: Scope, bound: BoundValues) -> list[Constraint]:
    """Read the constraints; one with two bounds gives two, one with a problem may be left out."""
    constraints: list[Constraint] = []
    for position, table in enumerate(file.constraint):
        place = Place("constraint") / position
        conditions = resolve_conditions(scope, place / "at", table.at, bound)
        if (table.quantity is None) == (table.relation is None):
            both = "needs" if table.quantity is None else "has both"
            message = f"{both} a quantity {'or' if table.quantity is None else 'and'} a relation"
            scope.add(
                place,
                message,
                'give quantity = "name" with at_most or at_least, '
                'or relation = "lanes * streams <= 64"',
            )
        elif table.relation is not None:
            constraints += _relation(scope, place, table, table.relation, conditions)
        else:
            constraints += _bounds(scope, place, table, table.quantity or "", conditions)
    return constraints


def _relation(
    scope: Scope, place: Place, table: ConstraintTable, text: str, conditions: Conditions
) -> list[Constraint]:
    for key in ("at_most", "at_least"):
        if getattr(table, key) is not None:
            scope.add(place / key, "goes with quantity, not with relation")
    try:
        relations = read_relations(text)
    except GrammarError as error:
        scope.add(place / "relation", f"'{text}': {error}", _EXAMPLE)
        return []
    at = describe_conditions(table.at)
    constraints = []
    for relation in relations:
        converted = _in_held_units(scope, place / "relation", relation)
        if converted is None:
            continue
        name = table.name or f"{relation.text} {at}".strip()
        if table.name and len(relations) > 1:
            name = f"{table.name} ({relation.text})"
        reduction = _reduction(scope, place, table, sorted(relation.names), conditions, True)
        constraints.append(
            Constraint(name, "", "1", 0.0, True, converted, conditions, at, reduction)
        )
    return constraints


def _in_held_units(scope: Scope, place: Place, relation: Relation) -> Relation | None:
    """Return a relation between the quantities of a study, as arrays hold them.

    None, after a problem, if a name is unknown or the dimensions differ.
    """
    quantities, free = scope.wiring.quantities, scope.wiring.free
    unknown = sorted(relation.names - quantities.keys())
    for name in unknown:
        scope.add_unknown(place, name, "quantity")
    if unknown:
        return None
    plain = {n for n, q in free.items() if q.unit == "1"}  # plain numbers
    units = {n: None if n in plain else quantities[n].unit for n in relation.names}
    try:
        return relation.in_units(units, CLOCK in quantities)
    except UnitMismatchError as error:
        scope.add(place, f"'{relation.text}' {error}", error.remedy or _UNITS)
        return None


def _bounds(
    scope: Scope, place: Place, table: ConstraintTable, quantity: str, conditions: Conditions
) -> list[Constraint]:
    limits = {key: getattr(table, key) for key in _SIGNS if getattr(table, key) is not None}
    if not limits:
        scope.add(place, f"sets no bound on '{quantity}'", "give at_most or at_least")
    if quantity not in scope.wiring.quantities:
        scope.add_unknown(place / "quantity", quantity, "quantity")
        for key, number in limits.items():
            scope.check_text(place / key, number)
        return []
    unit = scope.wiring.quantities[quantity].unit
    at = describe_conditions(table.at)
    constraints = []
    for key, number in limits.items():
        limit = scope.number(place / key, quantity, number, unit)
        if limit is None:
            continue
        sign, upper = _SIGNS[key], key == "at_most"
        label = f"{quantity} {sign} {shown(number)} {at}".strip()
        name = f"{table.name} ({sign})" if table.name and len(limits) > 1 else table.name or label
        reduction = _reduction(scope, place, table, [quantity], conditions, upper)
        constraints.append(
            Constraint(name, quantity, unit, limit, upper, None, conditions, at, reduction)
        )
    return constraints


def _reduction(
    scope: Scope,
    place: Place,
    table: ConstraintTable,
    names: list[str],
    conditions: Conditions,
    upper: bool,
) -> Reduction | None:
    """Return how the samples become one number for a constraint; None if it does not say."""
    reduction = resolve_reduction(scope, place, table.reduce, upper)
    if reduction is not None and not needs_samples(scope.wiring, names, conditions):
        remedy = "no uncertain input affects it"
        scope.add(place / "reduce", "has no samples to reduce", remedy)
    return reduction


# Free quantities: quantities of relations that no model takes or gives


def free_quantities(file: StudyFile, wiring: Wiring, entries: Entries) -> dict[str, Quantity]:
    """Return the quantities of relations that an input or a row sets and no model declares.

    Their unit is the one they are written in, 1 for a plain number.
    """
    names: set[str] = set()
    for table in file.constraint:
        try:
            if table.relation:
                names |= {name.name for name in names_in(read_condition(table.relation))}
        except GrammarError:  # `resolve_constraints` reports it
            continue
    names -= wiring.known
    units: dict[str, str] = {}
    for rows_of_key in entries.rows.values():
        for rows in rows_of_key.values():
            for values in rows.values():
                units |= {n: value.unit or units.get(n, "1") for n, value in values.items()}
    for key, entry in file.inputs.items():
        if not isinstance(entry, CatalogRow):
            units[key] = "1"
    for variable in file.space.values():
        if isinstance(variable, RowsTable):
            units |= {name: "1" for row in variable.rows.values() for name in row}
        elif isinstance(variable, SubsetsTable):
            units[variable.subsets] = "1"
    return {
        name: Quantity(unit if is_unit(unit) else "1", _ABOUT)
        for name, unit in units.items()
        if name in names
    }


# The target


def resolve_target(
    file: StudyFile, scope: Scope, objectives: Sequence[Objective]
) -> tuple[Target | None, list[Constraint]]:
    """Read ``[target]``: the target, and the constraints that it adds to the study's own."""
    table = file.target
    if table is None or len(objectives) < len(file.objective):
        return None, []
    wrong = least_problem(table.least or "", objectives)
    if wrong is not None:
        scope.add(_LEAST, wrong.message, wrong.remedy)
    try:
        asked = read_target(table.reach)
    except GrammarError as error:
        scope.add(_REACH, str(error), TARGET_EXAMPLE)
        return None, []
    bounds, constraints = [], []
    for text in asked:
        found = _target_bound(scope, objectives, text)
        if isinstance(found, Bound):
            bounds.append(found)
        elif found is not None:
            constraints.append(found)
    names = tuple(c.name for c in constraints)
    return Target(table.reach.strip(), table.least or "", tuple(bounds), names), constraints


def _target_bound(
    scope: Scope, objectives: Sequence[Objective], text: BoundText | Relation
) -> Bound | Constraint | None:
    if isinstance(text, Relation):
        relation = _in_held_units(scope, _REACH, text)
        if relation is None:
            return None
        return Constraint(text.text, "", "1", 0.0, True, relation, {})
    objective, wrong = asked_of(text, objectives)
    if wrong is not None:
        scope.add(_REACH, wrong.message, wrong.remedy)
        return None
    if objective is not None and is_better(text, objective):
        try:
            return bound_of(text, objective, scope.clock)
        except UnitError as error:
            remedy = f"{objective.name} is in {objective.unit}"
            scope.add(_REACH, f"'{text.text}': {error}", remedy)
            return None
    quantity = text.name if objective is None else objective.quantity
    if quantity not in scope.wiring.quantities:
        scope.add_unknown(_REACH, quantity, "quantity")
        return None
    unit = scope.wiring.quantities[quantity].unit
    plain = is_unitless(text.number)  # as in a filter: in the base unit
    given = float(text.number) if plain else text.number
    value = scope.number(_REACH, quantity, given, unit)
    if value is None:
        return None
    upper = text.sign[0] == "<"
    if "=" not in text.sign:  # the next number: a constraint holds at its bound
        value = float(np.nextafter(value, -math.inf if upper else math.inf))
    if objective is None:
        return Constraint(text.text, quantity, unit, value, upper, None, {})
    condition, conditions = objective.condition, objective.conditions
    name = f"{text.text} {condition}".strip()
    held = objective.reduction
    return Constraint(name, quantity, unit, value, upper, None, conditions, condition, held)


# Contradictions: two bounds of one quantity that no value meets

_Key = tuple[str, frozenset[Any], Reduction | None]


class _Limit(NamedTuple):
    """A bound of a quantity: a value, and whether the value itself breaks it."""

    value: float
    strict: bool
    name: str


def check_contradictions(findings: Findings, constraints: Iterable[Constraint]) -> None:
    """Check that no two bounds of a quantity, under equal conditions, exclude every value."""
    tightest: dict[bool, dict[_Key, _Limit]] = {True: {}, False: {}}
    for constraint in constraints:
        for quantity, upper, limit in _limits(constraint):
            key = quantity, frozenset(constraint.conditions.items()), constraint.reduction
            own = tightest[upper]
            if key not in own or _is_tighter(limit, own[key], upper):
                own[key] = limit
    for key in tightest[True].keys() & tightest[False].keys():
        low, high = tightest[False][key], tightest[True][key]
        if low.value > high.value or (low.value == high.value and (low.strict or high.strict)):
            message = f"'{low.name}' and '{high.name}' cannot both hold"
            remedy = "no design could be feasible: change one of them"
            findings.add(Place("constraint"), message, remedy)


def _is_tighter(one: _Limit, other: _Limit, upper: bool) -> bool:
    if one.value == other.value:
        return one.strict
    return (one.value < other.value) == upper


def _limits(constraint: Constraint) -> list[tuple[str, bool, _Limit]]:
    """Return the bounds that a constraint sets: the quantity, whether it is upper, the bound."""
    if constraint.relation is None:
        limit = _Limit(constraint.bound, False, constraint.name)
        return [(constraint.quantity, constraint.upper, limit)]
    found = constraint.relation.bound()
    if found is None:
        return []
    name, sign, value = found
    limit = _Limit(value, constraint.relation.strict, constraint.name)
    sides = {"<": (True,), ">": (False,), "=": (True, False)}[sign[0]]
    return [(name, upper, limit) for upper in sides]
