"""Objectives: their quantities, directions, conditions, scenarios and names."""

from __future__ import annotations

import itertools
import math
from collections import Counter
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from dse.evaluate.criteria import Conditions, Direction, Objective, Reduction, chosen
from dse.model.values import plural
from dse.problems import nearest
from dse.study.findings import Place
from dse.study.input_value import InputValue
from dse.study.resolve.scope import Scope, shown
from dse.study.resolve.uncertainty import (
    describe_distribution,
    needs_samples,
    resolve_reduction,
    resolve_value,
)
from dse.study.schema import ObjectiveTable, StudyFile, UncertainTable, input_value

_MAX_SCENARIOS = 100_000
"""Scenarios beyond which a study is refused: each is an evaluation of every design."""
_COLUMNS = frozenset({"design", "feasible", "on_front"})
_WEIGHTED = frozenset({"mean", "harmonic mean"})
Bound = dict[Place, InputValue]
"""The input values that a condition binds, by its place."""


def resolve_objectives(file: StudyFile, scope: Scope, bound: Bound) -> list[Objective]:
    """Read the objectives, each with a unique name; one with a problem may be left out.

    Parameters
    ----------
    bound : Bound
        Takes the uncertain input values of conditions.
    """
    found: dict[Place, Objective] = {}
    for position, table in enumerate(file.objective):
        place = Place("objective") / position
        objective = _objective(scope, place, table, bound)
        if objective is not None:
            found[place] = objective
    counts = Counter(objective.name for objective in found.values())
    for place, o in found.items():
        if counts[o.name] > 1 and o.condition and file.objective[int(place.steps[0])].name is None:
            found[place] = replace(o, name=f"{o.name} {o.condition}")
    _check_names(file, scope, found)
    return list(found.values())


def _check_names(file: StudyFile, scope: Scope, objectives: Mapping[Place, Objective]) -> None:
    """Check that each objective is a separate column."""
    first: dict[str, Place] = {}
    for place, objective in objectives.items():
        name = objective.name
        if name in _COLUMNS or (name in file.space and name != objective.quantity):
            scope.add(place / "name", f"'{name}' is the name of another column")
        elif name in first:
            remedy = 'give it a unique name = "…", or leave it out'
            scope.add(place, f"is called '{name}', as {first[name]} is", remedy)
        first.setdefault(name, place)


def _objective(scope: Scope, place: Place, table: ObjectiveTable, bound: Bound) -> Objective | None:
    at = resolve_conditions(scope, place / "at", table.at, bound)
    over = _scenarios(scope, place / "over", table.over)
    for name in table.over.keys() & table.at.keys():
        scope.add(place / "over" / name, f"'{name}' is also bound by at", "leave one out")
    direction, quantity = _goal(scope, place, table)
    sampled = not quantity or needs_samples(scope.wiring, [quantity], {**at, **over})
    reduction = _reduction(scope, place, table, sampled)
    if table.weights and table.over and reduction is not None:
        over, weights = _weighted(scope, place / "weights", table, over)
        reduction = replace(reduction, weights=weights)
    if not quantity:
        return None
    declared = scope.wiring.quantities[quantity]
    return Objective(
        name=table.name or quantity,
        quantity=quantity,
        direction=direction,
        unit=declared.unit,
        symbol=declared.symbol,
        about=declared.about,
        condition=_describe(table, reduction),
        conditions={**at, **over},
        reduction=reduction,
    )


def _goal(scope: Scope, place: Place, table: ObjectiveTable) -> tuple[Direction, str]:
    """Return the direction and the quantity of an objective; no quantity, after a problem."""
    remedy = 'give exactly one of maximize = "quantity" or minimize = "quantity"'
    direction: Direction = "minimize" if table.maximize is None else "maximize"
    quantity = table.maximize or table.minimize or ""
    if table.maximize is not None and table.minimize is not None:
        scope.add(place, "has both maximize and minimize", remedy)
    elif table.maximize is None and table.minimize is None:
        scope.add(place, "needs maximize or minimize", remedy)
    elif not quantity.strip():
        remedy = "name a quantity that a model gives"
        scope.add(place / direction, "is an empty text", remedy)
    elif quantity not in scope.wiring.quantities:
        scope.add_unknown(place / direction, quantity, "quantity")
    else:
        return direction, quantity
    return direction, ""


def _reduction(
    scope: Scope, place: Place, table: ObjectiveTable, sampled: bool
) -> Reduction | None:
    """Return how the scenarios become one number; None without any."""
    if table.over and table.reduce is None:
        scope.add(
            place / "reduce",
            "is missing: an objective over scenarios needs it",
            'give reduce = "mean", "min", "max", "harmonic mean" or "quantile"',
        )
    if table.reduce and not table.over and not sampled:
        remedy = "give over = { input = [...] }, or an uncertain input"
        scope.add(place / "reduce", "has no scenarios to reduce", remedy)
    if (table.reduce == "quantile") != (table.quantile is not None):
        message = 'reduce = "quantile" and quantile = q go together'
        scope.add(place / "quantile", message, "q is in [0, 1]")
    if table.weights and table.reduce not in _WEIGHTED:
        message, remedy = "go with a mean", 'give reduce = "mean" or "harmonic mean"'
        scope.add(place / "weights", message, remedy)
    return resolve_reduction(scope, place, table.reduce, table.maximize is None, table.quantile)


def _describe(table: ObjectiveTable, reduction: Reduction | None) -> str:
    """Return the conditions in words."""
    at = describe_conditions(table.at)
    if reduction is None:
        return at
    over = f" over {', '.join(table.over)}" if table.over else ""
    return f"{reduction}{over} {at}".strip()


# Conditions: the inputs that an objective, a constraint or a curve binds for itself


def resolve_conditions(
    scope: Scope, place: Place, given: Mapping[str, Any], bound: Bound
) -> dict[str, Any]:
    """Read the inputs that are bound for one target; those with a problem are left out."""
    conditions: dict[str, Any] = {}
    for name, number in given.items():
        value = input_value(number)
        if name not in scope.wiring.quantities:
            scope.add_unknown(place / name, name, "input")
            scope.check_text(place / name, value.written)
            continue
        if value.distribution is None and (value.source or value.provenance != "assumed"):
            key = "source" if value.source else "provenance"
            message = f"'{key}' has no effect: a condition is not an input value"
            scope.add(place / name, message, f"{name} = {shown(value.written)}")
        resolved = resolve_value(scope, place / name, name, value)
        if resolved is not None and resolved.distribution is not None:
            conditions[name] = resolved.distribution
            bound[place / name] = resolved
        elif resolved is not None:
            conditions[name] = resolved.value
    return conditions


def describe_conditions(at: Mapping[str, Any]) -> str:
    """Return bound inputs as the study wrote them.

    >>> describe_conditions({"granularity": "1 KiB", "lanes": 4})
    'at granularity = 1 KiB, lanes = 4'
    """
    texts = [
        f"{name} {describe_distribution(value)}"
        if isinstance(value, UncertainTable)
        else f"{name} = {shown(input_value(value).written)}"
        for name, value in at.items()
    ]
    return f"at {', '.join(texts)}" if at else ""


def _scenarios(scope: Scope, place: Place, given: Mapping[str, list[Any]]) -> Conditions:
    """Read lists of values: every combination of them is a scenario."""
    count = math.prod(len(values) for values in given.values())
    if count > _MAX_SCENARIOS:
        message = f"makes {count:,} scenarios, more than {_MAX_SCENARIOS:,}"
        scope.add(place, message, "every combination of the values is one: give fewer")
        return {}
    lists: dict[str, list[Any]] = {}
    for name, values in given.items():
        read = [resolve_conditions(scope, place, {name: value}, {}) for value in values]
        lists[name] = [conditions[name] for conditions in read if name in conditions]
    every = tuple(itertools.product(*lists.values()))
    return {name: tuple(row[i] for row in every) for i, name in enumerate(lists)}


# Weights: how much each scenario counts in a mean


def _weighted(
    scope: Scope, place: Place, table: ObjectiveTable, scenarios: Conditions
) -> tuple[Conditions, tuple[float, ...]]:
    """Read ``weights``: a list with one number per scenario, or a list per input of ``over``.

    Of lists by input, a scenario's weight is the product; the values of an input without a list
    have equal weights. Scenarios of weight 0 are left out, whatever their values are.

    Returns
    -------
    tuple
        The scenarios that count, and their weights; no weights, after a problem.
    """
    before = scope.findings.count
    _check_weights(scope, place, table)
    if scope.findings.count > before or not scenarios:
        return scenarios, ()
    over = table.over
    if isinstance(table.weights, dict):
        lists = [table.weights.get(name, [1] * len(values)) for name, values in over.items()]
        weights = np.array([float(math.prod(row)) for row in itertools.product(*lists)])
    else:
        weights = np.array(table.weights, dtype=np.float64)
    if any(isinstance(v, tuple) and len(v) != len(weights) for v in scenarios.values()):
        return scenarios, ()  # a value has a problem
    if not weights.any():
        scope.add(place, "are all 0", "at least one must be above 0")
    elif not math.isfinite(sum(weights.tolist())):
        scope.add(place, "have too large a sum", "only their ratios matter: give smaller ones")
    some = [int(k) for k in np.flatnonzero(weights)]
    return chosen(scenarios, some), tuple(weights[some].tolist())


def _check_weights(scope: Scope, place: Place, table: ObjectiveTable) -> None:
    """Check that there are as many weights as scenarios, or as values of each input."""
    over = table.over
    if isinstance(table.weights, dict):
        for name, weights in table.weights.items():
            if name not in over:
                message = f"'{name}' is not an input of over"
                scope.add(place / name, message, nearest(name, over))
            elif len(weights) != len(over[name]):
                values = plural(len(over[name]), "value")
                message = f"has {plural(len(weights), 'number')} for {values}"
                scope.add(place / name, message, "give one per value")
        return
    count, given = math.prod(len(values) for values in over.values()), len(table.weights)
    if given != count:
        remedy = "give one per scenario"
        if len(over) > 1:
            remedy += (
                f": each combination of {' and '.join(over)} is one, and the values of the last "
                "change first; or give a list for each"
            )
        scope.add(place, f"has {plural(given, 'number')} for {plural(count, 'scenario')}", remedy)
