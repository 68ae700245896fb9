"""Formulation: objectives, variables and inputs that leave a front without meaning.

* An objective that compares each design with another host: the slowest host wins.
* An objective that is a variable itself: each of its values can be on the front.
* A variable whose best end costs nothing, and a variable or an input that changes nothing.

The first two come from declarations and the model graph. The others are sampled: some designs are
evaluated with one variable or input changed.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from dse.evaluate.criteria import Conditions
from dse.evaluate.evaluator import Evaluator
from dse.evaluate.input_variation import fix_at_middles
from dse.evaluate.model_graph import Evaluation, ModelError
from dse.evaluate.space import Choice, Points, sample_designs
from dse.evaluate.table_space import TableSpace
from dse.model.declarations import MARGIN
from dse.model.quantity import Array, Quantity
from dse.model.values import plural, show
from dse.problems import InputError, Problem

_SAMPLED = 64  # designs
_POSITIONS = (0.0, 0.5, float(np.nextafter(1.0, 0.0)))  # both bounds of a range, and its middle
_MIN_ROWS = 4  # designs: fewer show nothing
_CLOCK_STEP = 1e-6  # seconds per design: fast models may seem to take no time


def check_formulation(evaluator: Evaluator, source: str, seconds: float) -> list[str]:
    """Return the notes on a sample of designs, for which models take about so many seconds.

    Raises
    ------
    InputError
        If an objective compares each design with its own host.
    """
    if isinstance(evaluator.space, TableSpace):
        return []  # there are no designs between the rows of a table
    budget = int(seconds / max(evaluator.pace, _CLOCK_STEP))
    size = budget // (1 + len(_POSITIONS) * len(evaluator.space.variables))
    points = sample_designs(evaluator.space, min(max(2, size), _SAMPLED))
    refuse_own_hosts(evaluator, source, points)
    return review_study(evaluator, points, budget)


def refuse_own_hosts(evaluator: Evaluator, source: str, points: Points | None = None) -> None:
    """Raise InputError if an objective compares each design with its own host.

    Only the host of some designs is evaluated, and only if a variable affects it.
    """
    if isinstance(evaluator.space, TableSpace):
        return
    points = sample_designs(evaluator.space, _SAMPLED) if points is None else points
    if problems := find_own_hosts(evaluator, points):
        raise InputError(source, problems)


def review_study(evaluator: Evaluator, points: Points, budget: int) -> list[str]:
    """Return the notes on the formulation of a study, from up to `_SAMPLED` of some designs.

    Fixed inputs may take so many evaluations.
    """
    if isinstance(evaluator.space, TableSpace):
        return []
    count = len(next(iter(points.values())))
    rows = np.unique(np.linspace(0, count - 1, _SAMPLED).astype(int))
    points = {n: v[rows] for n, v in points.items()}
    return [
        *_objectives_that_are_variables(evaluator),
        *_review_variables(evaluator, evaluator.space.to_unit(points)),
        *_find_inert_inputs(evaluator, points, budget),
    ]


# Objectives


def find_own_hosts(evaluator: Evaluator, points: Points) -> list[Problem]:
    """Return a problem for each objective whose reference differs between designs."""
    model_graph, owners = evaluator.model_graph, evaluator.space.quantities()
    evaluation = Evaluation(model_graph, evaluator.space.columns(points), {})
    problems = []
    for position, objective in enumerate(evaluator.objectives):
        producer = model_graph.producers.get(objective.quantity)
        named = objective.own_host or objective.quantity in objective.conditions
        if producer is None or named:
            continue
        declared, conditions = producer.outputs[objective.quantity], objective.conditions
        own = {f: n for names in (producer.arguments, producer.fields) for n, f in names.items()}
        names = [own[field] for field in declared.reference if field in own]
        for name in [*names, *(["clock"] if names else [])]:
            needed = model_graph.needs([name], conditions).names.keys() - conditions.keys()
            if not needed & owners.keys() or not _differs(evaluation, name, conditions):
                continue
            remedy = f"Fix {name}, or use {objective.name} only in a constraint"
            if declared.over:
                remedy = f'Compare all designs: minimize = "{declared.over}"'
            remedy += ". To list the hosts' own gains, add own_host = true"
            message = (
                f"objective '{objective.name}' compares each design with its own host, because "
                f"{owners[min(needed & owners.keys())]} changes {name}: the slowest host wins"
            )
            problems.append(Problem(f"objective[{position + 1}]", message, remedy))
            break
    return problems


def _differs(evaluation: Evaluation, name: str, conditions: Conditions) -> bool:
    """Return whether a quantity differs between designs; not if a model raises."""
    try:
        value = np.atleast_2d(np.asarray(evaluation.value(name, conditions), dtype=np.float64))
    except ModelError:
        return False
    return not np.isclose(value, value[:, :1], rtol=MARGIN, equal_nan=True).all()


def _objectives_that_are_variables(evaluator: Evaluator) -> list[str]:
    variables, producers = evaluator.space.variables, evaluator.model_graph.producers
    return [
        f"objective '{o.name}' is a variable itself, so each of its values can be on the front. "
        "Use an output of a model that the variable changes, such as an area"
        for o in evaluator.objectives
        if o.quantity in variables
        and o.quantity not in producers
        and not isinstance(variables[o.quantity], Choice)
    ]


# Variables


def _review_variables(evaluator: Evaluator, unit: Array) -> list[str]:
    """Return a note for each variable that changes nothing, or whose best end costs nothing.

    Designs are evaluated with the variable at each of `_POSITIONS`: all at once, as models take as
    long for few designs as for many. If a model raises, each variable is tested on its own, without
    objectives of designs that constraints exclude, as in the search.
    """
    names = [n for n, variable in evaluator.space.variables.items() if variable.count != 1]
    try:
        return _test_variables(evaluator, unit, names)
    except ModelError:
        notes = []
        for name in names:
            try:
                notes += _test_variables(replace(evaluator, screens=True), unit, [name])
            except ModelError as error:  # the result is still valid
                notes.append(f"space.{name} was not tested for an effect: {error}")
        return notes


def _test_variables(evaluator: Evaluator, unit: Array, names: Sequence[str]) -> list[str]:
    if not names:
        return []
    space, order = evaluator.space, list(evaluator.space.variables)
    changed = np.tile(unit, (len(names), len(_POSITIONS), 1, 1))
    for k, name in enumerate(names):
        changed[k, :, :, order.index(name)] = np.array(_POSITIONS)[:, None]
    points = space.from_unit(changed.reshape(-1, unit.shape[1]))
    columns = space.columns(points)
    costs, compared = _costs(evaluator, columns, math.prod(changed.shape[:3]))
    columns = {n: v.reshape(changed.shape[:3]) for n, v in columns.items()}
    costs, compared = costs.reshape(*changed.shape[:3], -1), compared.reshape(changed.shape[:3])
    notes = []
    for k, name in enumerate(names):
        count = int(compared[k, 0].sum())
        if count and all(np.array_equal(costs[k, 0], c, equal_nan=True) for c in costs[k, 1:]):
            notes.append(
                f"space.{name} changed no objective and no constraint in "
                f"{plural(count, 'sampled design')}: it may have no effect in this range"
            )
        elif not isinstance(space.variables[name], Choice) and len(unit) >= _MIN_ROWS:
            for end in (0, -1):
                if _is_free(costs[k], len(evaluator.objectives), end):
                    unit_name = evaluator.model_graph.quantities[name].unit
                    best = show(float(columns[name][k, end, 0]), unit_name)
                    notes.append(
                        f"space.{name} is best at {best} in {plural(len(unit), 'sampled design')}, "
                        "and no objective or constraint is worse there. Add an objective that "
                        "prices it, fix it in [inputs], or make it a scenario"
                    )
    return notes


def _costs(
    evaluator: Evaluator, columns: Mapping[str, Array], count: int
) -> tuple[Array, NDArray[np.bool_]]:
    """Return objectives and constraints, less is better, and which designs have objectives."""
    evaluated = evaluator.evaluate_columns(columns, count)
    amounts = evaluator.violations(evaluated.constrained)
    costs = np.concatenate([evaluated.objectives * evaluator.signs, amounts], axis=1)
    excluded = np.asarray((amounts > 0).any(axis=1))
    return costs, ~excluded if evaluator.screens else np.ones_like(excluded)


def _is_free(costs: Array, objectives: int, end: int) -> bool:
    """Return whether an end is nowhere worse, and somewhere better in an objective."""
    slack = MARGIN * np.abs(np.nan_to_num(costs, nan=0.0, posinf=0.0, neginf=0.0))
    costs = np.where(np.isnan(costs), np.inf, costs)
    better = costs[end] + slack[end] < costs
    return bool((costs[end] <= costs + slack).all() and better[..., :objectives].any())


# Inputs


def _find_inert_inputs(evaluator: Evaluator, points: Points, budget: int) -> list[str]:
    """Return a note for each fixed input that changes nothing when it is doubled and halved.

    Counts and selectors have no such values.
    """
    evaluator = fix_at_middles(evaluator)
    graph = evaluator.model_graph
    used = set[str]().union(
        *(graph.needs([n], c).names.keys() - {*c} for n, c in evaluator.requests())
    )
    quantities = {
        n: graph.quantities[n] for n in used & graph.quantities.keys() - graph.spread.keys()
    }
    names = [
        n
        for n, value in graph.constants.items()
        if n in quantities and n not in graph.free and not quantities[n].integer and value
    ]
    rows = min(len(next(iter(points.values()))), budget // (2 * len(names) or 1))
    if rows < _MIN_ROWS:
        return []
    points = {n: v[:rows] for n, v in points.items()}
    try:
        return _test_inputs(evaluator, points, {n: quantities[n] for n in names})
    except ModelError:
        notes = []
        for name in names:
            with suppress(ModelError):  # the result is still valid
                notes += _test_inputs(evaluator, points, {name: quantities[name]})
        return notes


def _test_inputs(
    evaluator: Evaluator, points: Points, quantities: Mapping[str, Quantity]
) -> list[str]:
    """Return a note for each input that changes no design, doubled or halved.

    Nearly every input changes one of the first designs: the others need no evaluation for it.
    """
    rows = len(next(iter(points.values())))
    first = {name: values[:_MIN_ROWS] for name, values in points.items()}
    inert = _find_unchanged(evaluator, first, quantities)
    if inert and rows > _MIN_ROWS:
        inert = _find_unchanged(evaluator, points, {name: quantities[name] for name in inert})
    return [
        f"inputs.{name} changed no objective and no constraint in "
        f"{plural(rows, 'sampled design')} when it was doubled and halved"
        for name in inert
    ]


def _find_unchanged(
    evaluator: Evaluator, points: Points, quantities: Mapping[str, Quantity]
) -> list[str]:
    """Evaluate designs, and again with each input doubled and halved; return inputs without effect.

    All are evaluated at once.
    """
    rows, constants = len(next(iter(points.values()))), evaluator.model_graph.constants
    copies = 1 + 2 * len(quantities)
    columns = evaluator.space.columns({n: np.tile(v, copies) for n, v in points.items()})
    for k, (name, quantity) in enumerate(quantities.items()):
        values = np.full((copies, rows), float(constants[name]))
        ends = quantity.clip(np.array([2.0, 0.5]) * constants[name])
        values[2 * k + 1 : 2 * k + 3] = ends[:, None]
        columns[name] = values.reshape(-1)
    costs, _ = _costs(evaluator, columns, copies * rows)
    first, *changed = costs.reshape(copies, rows, -1)
    return [
        name
        for k, name in enumerate(quantities)
        if all(np.array_equal(first, c, equal_nan=True) for c in changed[2 * k : 2 * k + 2])
    ]
