"""Objectives: their quantities, directions, conditions, scenarios and names."""

from __future__ import annotations

import itertools
import math
from collections import Counter
from collections.abc import Mapping
from dataclasses import replace
from typing import Any, get_args

import numpy as np

from dse.evaluate.criteria import (
    Conditions,
    Direction,
    Objective,
    Reduction,
    ReductionName,
    select_scenarios,
)
from dse.model.values import plural
from dse.study.design_table import RESERVED
from dse.study.findings import Place
from dse.study.resolve.scope import Scope, show_as_written
from dse.study.resolve.uncertainty import (
    needs_samples,
    resolve_value,
    show_value,
)
from dse.study.schema import InputValue, ObjectiveTable, StudyFile, UncertainTable, input_value

_MAX_SCENARIOS = 100_000
"""Scenarios beyond which a study is refused: each is an evaluation of every design."""
BoundValues = dict[Place, InputValue]
"""The uncertain input values that conditions bind, by place."""


def resolve_objectives(file: StudyFile, scope: Scope, bound: BoundValues) -> list[Objective]:
    """Read the objectives, each with a unique name; one with a problem may be left out."""
    objectives: dict[int, Objective] = {}
    for position, table in enumerate(file.objective):
        objective = _objective(scope, Place("objective") / position, table, bound)
        if objective is not None:
            objectives[position] = objective
    counts = Counter(objective.name for objective in objectives.values())
    first: dict[str, int] = {}
    for position, objective in objectives.items():
        name, place = objective.name, Place("objective") / position
        if counts[name] > 1 and objective.condition and file.objective[position].name is None:
            name = f"{name} {objective.condition}"
            objectives[position] = replace(objective, name=name)
        if name in RESERVED or (name in file.space and name != objective.quantity):
            scope.add(place / "name", f"'{name}' is the name of another column")
        elif name in first:
            other, remedy = Place("objective") / first[name], 'give it a unique name = "…"'
            scope.add(place, f"is called '{name}', as {other} is", f"{remedy}, or leave it out")
        first.setdefault(name, position)
    return list(objectives.values())


def _objective(
    scope: Scope, place: Place, table: ObjectiveTable, bound: BoundValues
) -> Objective | None:
    at = resolve_conditions(scope, place / "at", table.at, bound)
    over = _resolve_scenarios(scope, place / "over", table.over)
    for name in table.over.keys() & table.at.keys():
        scope.add(place / "over" / name, f"'{name}' is also bound by at", "leave one out")
    direction: Direction = "minimize" if table.maximize is None else "maximize"
    quantity = table.maximize or table.minimize or ""
    if (table.maximize is None) == (table.minimize is None):
        message = "needs maximize or minimize"
        if table.maximize is not None:
            message = "has both maximize and minimize"
        remedy = 'give exactly one of maximize = "quantity" or minimize = "quantity"'
        scope.add(place, message, remedy)
        return None
    if not scope.knows(place / direction, quantity, "quantity"):
        return None
    sampled = needs_samples(scope.model_graph, [quantity], {**at, **over})
    _check_reduction(scope, place, table, sampled)
    reduction = resolve_reduction(table.reduce, table.maximize is None)
    if table.weights and table.over and reduction is not None:
        over, weights = _resolve_weights(scope, place / "weights", table, over)
        reduction = replace(reduction, weights=weights)
    declared = scope.model_graph.quantities[quantity]
    condition = describe_conditions(table.at)
    if reduction is not None:
        inputs = f" over {', '.join(table.over)}" if table.over else ""
        condition = f"{reduction}{inputs} {condition}".strip()
    return Objective(
        name=table.name or quantity,
        quantity=quantity,
        direction=direction,
        unit=declared.unit,
        symbol=declared.symbol,
        about=declared.about,
        condition=condition,
        conditions={**at, **over},
        reduction=reduction,
        worth=declared.worth if direction == "maximize" else None,
        weight=table.weight,
        own_host=table.own_host,
    )


def resolve_reduction(reduce: str | None, upper: bool) -> Reduction | None:
    """Read how scenarios become one number; None if the study does not say.

    `upper`: whether less is better, or the bound is an upper one: then the greatest is the worst.
    """
    if reduce is None:
        return None
    if reduce == "worst":
        return Reduction("max" if upper else "min", label="worst")
    if reduce.strip().endswith("%"):
        share = float(reduce.strip().removesuffix("%")) / 100.0
        return Reduction("quantile", share if upper else 1.0 - share, label=reduce.strip())
    how: Any = reduce
    return Reduction(how)


def _check_reduction(scope: Scope, place: Place, table: ObjectiveTable, sampled: bool) -> None:
    """Check that the study says how scenarios become one number, if it has some."""
    if table.over and table.reduce is None:
        names = ", ".join(f'"{name}"' for name in (*get_args(ReductionName), "worst"))
        remedy = f'give reduce = {names} or "95 %"'
        scope.add(place / "reduce", "is missing: an objective over scenarios needs it", remedy)
    if table.reduce and not table.over and not sampled:
        remedy = "give over = { input = [...] }, or an uncertain input"
        scope.add(place / "reduce", "has no scenarios to reduce", remedy)
    if table.weights and table.reduce not in ("mean", "harmonic mean"):
        remedy = 'give reduce = "mean" or "harmonic mean"'
        scope.add(place / "weights", "go with a mean", remedy)


# Conditions: the inputs that an objective, a constraint or a curve binds for itself


def resolve_conditions(
    scope: Scope, place: Place, given: Mapping[str, Any], bound: BoundValues
) -> dict[str, Any]:
    """Read the inputs that are bound for one target; those with a problem are left out."""
    conditions: dict[str, Any] = {}
    for name, number in given.items():
        value = input_value(number)
        if not scope.knows(place / name, name, "input"):
            continue
        keys = {
            "source": value.source,
            "provenance": value.provenance != "assumed",
            "range": value.range,
        }
        key = next((key for key, given in keys.items() if given), "")
        if value.distribution is None and key:
            message = f"'{key}' has no effect: a condition is not an input value"
            scope.add(place / name, message, f"{name} = {show_as_written(value.written)}")
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
        f"{name} {'' if isinstance(value, UncertainTable) else '= '}{show_value(value)}"
        for name, value in at.items()
    ]
    return f"at {', '.join(texts)}" if at else ""


def _resolve_scenarios(scope: Scope, place: Place, given: Mapping[str, list[Any]]) -> Conditions:
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
    combinations = tuple(itertools.product(*lists.values()))
    return {name: tuple(row[i] for row in combinations) for i, name in enumerate(lists)}


# Weights: how much each scenario counts in a mean


def _resolve_weights(
    scope: Scope, place: Place, table: ObjectiveTable, scenarios: Conditions
) -> tuple[Conditions, tuple[float, ...]]:
    """Read ``weights``: one number per scenario.

    Scenarios of weight 0 are left out, whatever their values are.

    Returns
    -------
    tuple
        The scenarios that count, and their weights; no weights, after a problem.
    """
    if not _check_weights(scope, place, table):
        return scenarios, ()
    weights = np.array(table.weights, dtype=float)
    if any(isinstance(v, tuple) and len(v) != len(weights) for v in scenarios.values()):
        return scenarios, ()  # a value has a problem
    if not weights.any():
        scope.add(place, "are all 0", "at least one must be above 0")
    elif not math.isfinite(sum(weights.tolist())):
        scope.add(place, "have too large a sum", "only their ratios matter: give smaller ones")
    positive = np.flatnonzero(weights).tolist()
    return select_scenarios(scenarios, positive), tuple(weights[positive].tolist())


def _check_weights(scope: Scope, place: Place, table: ObjectiveTable) -> bool:
    """Check that there are as many weights as scenarios."""
    over = table.over
    count, given = math.prod(len(values) for values in over.values()), len(table.weights)
    if given != count:
        message = f"has {plural(given, 'number')} for {plural(count, 'scenario')}"
        remedy = (
            f"give one per combination of {' and '.join(over)}, of which the values of the last "
            "change first"
        )
        scope.add(place, message, remedy if len(over) > 1 else "give one per scenario")
    return given == count
