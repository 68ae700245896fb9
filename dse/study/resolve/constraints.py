"""Constraints and the target: bounds on quantities, and relations between them."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

import numpy as np

from dse.evaluate.criteria import Conditions, Constraint, Objective, Reduction
from dse.evaluate.model_graph import ModelGraph
from dse.evaluate.target import EXAMPLE as TARGET_EXAMPLE
from dse.evaluate.target import (
    Bound,
    BoundText,
    Target,
    bound_requires_better,
    check_minimized_objective,
    find_bounded_objective,
    read_bound,
    read_target,
)
from dse.model.dimension import CLOCK, UnitMismatchError
from dse.model.grammar import GrammarError, list_names, read_condition
from dse.model.quantity import Quantity
from dse.model.relation import Relation, read_relations
from dse.model.units import UnitError, is_unit
from dse.study.findings import Place
from dse.study.resolve.inputs import Entries
from dse.study.resolve.objectives import (
    BoundValues,
    describe_conditions,
    resolve_conditions,
    resolve_reduction,
)
from dse.study.resolve.scope import Scope, is_unitless, show_as_written
from dse.study.resolve.uncertainty import needs_samples
from dse.study.schema import CatalogRow, ConstraintTable, RowsTable, StudyFile, SubsetsTable

_REACH = Place("target") / "reach"
_EXAMPLE = "write a relation such as 'lanes * streams <= 64' or 'area between 1 kLUT and 2 kLUT'"


def resolve_constraints(file: StudyFile, scope: Scope, bound: BoundValues) -> list[Constraint]:
    """Read the constraints; one with two bounds gives two, one with a problem may be left out."""
    constraints: list[Constraint] = []
    for position, table in enumerate(file.constraint):
        place = Place("constraint") / position
        conditions = resolve_conditions(scope, place / "at", table.at, bound)
        if table.relation is not None:
            for key in ("quantity", "at_most", "at_least"):
                if getattr(table, key) is not None:
                    scope.add(place / key, "does not go with a relation", "leave one out")
            constraints += _relations(scope, place, table, table.relation, conditions)
        elif table.quantity is not None:
            constraints += _bounds(scope, place, table, table.quantity, conditions)
        else:
            remedy = 'give quantity = "name" with at_most or at_least, or relation = "a <= 64"'
            scope.add(place, "needs a quantity or a relation", remedy)
    return constraints


def _relations(
    scope: Scope, place: Place, table: ConstraintTable, text: str, conditions: Conditions
) -> list[Constraint]:
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
    quantities = scope.model_graph.quantities
    known = [scope.knows(place, name, "quantity") for name in sorted(relation.names)]
    if not all(known):
        return None
    plain = {n for n, q in scope.model_graph.free.items() if q.unit == "1"}  # plain numbers
    units = {n: None if n in plain else quantities[n].unit for n in relation.names}
    try:
        return relation.in_units(units, CLOCK in quantities)
    except UnitMismatchError as error:
        remedy = error.remedy or "dse list shows the unit of each quantity"
        scope.add(place, f"'{relation.text}' {error}", remedy)
        return None


def _bounds(
    scope: Scope, place: Place, table: ConstraintTable, quantity: str, conditions: Conditions
) -> list[Constraint]:
    signs = {"at_most": "<=", "at_least": ">="}
    limits = {key: getattr(table, key) for key in signs if getattr(table, key) is not None}
    if not limits:
        scope.add(place, f"sets no bound on '{quantity}'", "give at_most or at_least")
    if not scope.knows(place / "quantity", quantity, "quantity"):
        return []
    unit, at = scope.unit(quantity), describe_conditions(table.at)
    constraints = []
    for key, number in limits.items():
        limit = scope.number(place / key, quantity, number, unit)
        if limit is None:
            continue
        sign, upper = signs[key], key == "at_most"
        label = f"{quantity} {sign} {show_as_written(number)} {at}".strip()
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
    reduction = resolve_reduction(table.reduce, upper)
    if reduction is not None and not needs_samples(scope.model_graph, names, conditions):
        remedy = "no uncertain input affects it"
        scope.add(place / "reduce", "has no samples to reduce", remedy)
    return reduction


def free_quantities(
    file: StudyFile, model_graph: ModelGraph, entries: Mapping[Place, Entries]
) -> dict[str, Quantity]:
    """Return the quantities of relations that an input or a row sets and no model declares.

    Their unit is the one they are written in, 1 for a plain number.
    """
    names: set[str] = set()
    for table in file.constraint:
        try:
            if table.relation:
                names |= {name.name for name in list_names(read_condition(table.relation))}
        except GrammarError:  # `resolve_constraints` reports it
            continue
    units: dict[str, str] = {}
    for taken in entries.values():
        for values in taken.rows.values():
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
        name: Quantity(unit if is_unit(unit) else "1", "used only in relations")
        for name, unit in units.items()
        if name in names - model_graph.known
    }


# The target


def resolve_target(
    file: StudyFile, scope: Scope, objectives: Sequence[Objective]
) -> tuple[Target | None, list[Constraint]]:
    """Read ``[target]``: the target, and the constraints that it adds to the study's own."""
    table = file.target
    if table is None or len(objectives) < len(file.objective):
        return None, []
    if (wrong := check_minimized_objective(table.least or "", objectives)) is not None:
        scope.add(Place("target") / "least", wrong.message, wrong.remedy)
    try:
        texts = read_target(table.reach)
    except GrammarError as error:
        scope.add(_REACH, str(error), TARGET_EXAMPLE)
        return None, []
    asked = [_target_bound(scope, objectives, text) for text in texts]
    bounds = tuple(bound for bound in asked if isinstance(bound, Bound))
    constraints = [constraint for constraint in asked if isinstance(constraint, Constraint)]
    names = tuple(constraint.name for constraint in constraints)
    return Target(table.reach.strip(), table.least or "", bounds, names), constraints


def _target_bound(
    scope: Scope, objectives: Sequence[Objective], text: BoundText | Relation
) -> Bound | Constraint | None:
    """Return a bound that the front can answer, else a constraint; None after a problem."""
    if isinstance(text, Relation):
        relation = _in_held_units(scope, _REACH, text)
        if relation is None:
            return None
        return Constraint(text.text, "", "1", 0.0, True, relation, {})
    objective, wrong = find_bounded_objective(text, objectives)
    if wrong is not None:
        scope.add(_REACH, wrong.message, wrong.remedy)
        return None
    if objective is not None and bound_requires_better(text, objective):
        try:
            return read_bound(text, objective, scope.clock)
        except UnitError as error:
            remedy = f"{objective.name} is in {objective.unit}"
            scope.add(_REACH, f"'{text.text}': {error}", remedy)
            return None
    quantity = text.name if objective is None else objective.quantity
    if not scope.knows(_REACH, quantity, "quantity"):
        return None
    unit = scope.unit(quantity)
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
