"""Formulation: objectives, variables and inputs that leave a front without meaning.

* An objective that compares each design with another host: the slowest host wins.
* An objective that is a variable itself: each of its values can be on the front.
* A variable whose best end costs nothing, and a variable or an input that changes nothing.

The first two come from declarations and the model graph. The others are sampled: some designs are
evaluated with one variable or input changed.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from dse.evaluate.evaluator import Evaluator
from dse.evaluate.input_ranges import fix_at_middles
from dse.evaluate.model_graph import Evaluation, ModelError
from dse.evaluate.space import Choice, Points
from dse.evaluate.table_space import TableSpace
from dse.model.declarations import MARGIN
from dse.model.quantity import Array
from dse.model.values import plural, show
from dse.problems import Problem

_SAMPLED = 64  # designs
_POSITIONS = (0.0, 0.5, float(np.nextafter(1.0, 0.0)))  # both bounds of a range, and its middle
_MIN_ROWS = 4  # designs: fewer show nothing


def sample_size(evaluator: Evaluator, budget: int) -> int:
    """Return the number of designs whose review takes this number of evaluations; at least 2."""
    changes = 1 + len(_POSITIONS) * len(evaluator.space.variables)
    return min(max(2, budget // changes), _SAMPLED)


def review_study(evaluator: Evaluator, points: Points, budget: int) -> list[str]:
    """Return the notes on the formulation of a study.

    Parameters
    ----------
    points : Points
        Designs of the study; up to `_SAMPLED` of them are evaluated.
    budget : int
        The evaluations that fixed inputs may take.
    """
    if isinstance(evaluator.space, TableSpace):
        return []  # there are no designs between the rows of a table
    count = len(next(iter(points.values())))
    rows = np.unique(np.linspace(0, count - 1, _SAMPLED).astype(int))
    points = {n: v[rows] for n, v in points.items()}
    return [
        *(f"{problem.message}. {problem.remedy}" for problem in find_own_hosts(evaluator, points)),
        *_objectives_that_are_variables(evaluator),
        *_review_variables(evaluator, evaluator.space.to_unit(points)),
        *_find_inert_inputs(evaluator, points, budget),
    ]


# Objectives


def find_own_hosts(evaluator: Evaluator, points: Points) -> list[Problem]:
    """Return a problem for each objective whose reference differs between designs."""
    model_graph, owners = evaluator.model_graph, evaluator.space.quantities()
    columns, problems = evaluator.space.columns(points), []
    for position, objective in enumerate(evaluator.objectives):
        producer = model_graph.producers.get(objective.quantity)
        if producer is None or objective.quantity in objective.conditions:
            continue
        declared = producer.outputs[objective.quantity]
        own = {f: n for names in (producer.arguments, producer.fields) for n, f in names.items()}
        differing: dict[str, str] = {}
        names = [own[field] for field in declared.reference if field in own]
        for name in [*names, *(["clock"] if names and "clock" in owners else [])]:
            needed = model_graph.needs([name], objective.conditions).names.keys()
            moving = needed & owners.keys() - objective.conditions.keys()
            if not moving:
                continue
            with suppress(ModelError):
                value = Evaluation(model_graph, columns, {}).value(name, objective.conditions)
                value = np.atleast_2d(np.asarray(value, dtype=np.float64))
                if not np.isclose(value, value[:, :1], rtol=MARGIN, equal_nan=True).all():
                    differing[name] = owners[min(moving)]
        if differing:
            name, owner = next(iter(differing.items()))
            remedy = f"Fix {name}, or use {objective.name} only in a constraint"
            if declared.over:
                remedy = f'Compare all designs: minimize = "{declared.over}"'
            message = (
                f"objective '{objective.name}' compares each design with its own host, because "
                f"{owner} changes {name}: the slowest host wins"
            )
            problems.append(Problem(f"objective[{position + 1}]", message, remedy))
    return problems


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

    Parameters
    ----------
    unit : ndarray, shape (designs, variables)
        The designs, as points of the unit cube.
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
    costs, compared = _costs(evaluator, points)
    columns = {n: v.reshape(changed.shape[:3]) for n, v in space.columns(points).items()}
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
            objectives = costs[k, :, :, : len(evaluator.objectives)]
            ends = [end for end in (0, -1) if _is_free(costs[k], objectives, end)]
            for end in ends:
                unit_name = evaluator.model_graph.quantities[name].unit
                best = show(float(columns[name][k, end, 0]), unit_name)
                notes.append(
                    f"space.{name} is best at {best} in {plural(len(unit), 'sampled design')}, and "
                    "no objective or constraint is worse there. Add an objective that prices it, "
                    "fix it in [inputs], or make it a scenario"
                )
    return notes


def _costs(evaluator: Evaluator, points: Points) -> tuple[Array, NDArray[np.bool_]]:
    """Return objectives and constraints, less is better, and which designs have objectives."""
    evaluated = evaluator.evaluate(points)
    amounts = evaluator.violations(evaluated.constrained)
    costs = np.concatenate([evaluated.objectives * evaluator.signs, amounts], axis=1)
    excluded = np.asarray((amounts > 0).any(axis=1))
    return costs, ~excluded if evaluator.screens else np.ones_like(excluded)


def _is_free(costs: Array, objectives: Array, end: int) -> bool:
    """Return whether an end is nowhere worse, and somewhere better in an objective."""
    costs, objectives = (np.where(np.isnan(v), np.inf, v) for v in (costs, objectives))
    finite = np.isfinite(costs)
    slack = np.where(finite, MARGIN * np.abs(np.where(finite, costs, 0.0)), 0.0)
    return bool(
        (costs[end] <= costs + slack).all()
        and (objectives[end] + slack[end, :, : objectives.shape[-1]] < objectives).any()
    )


# Inputs


def _find_inert_inputs(evaluator: Evaluator, points: Points, budget: int) -> list[str]:
    """Return a note for each fixed input that changes nothing when it is doubled and halved."""
    evaluator = fix_at_middles(evaluator)
    constants = _changed_inputs(evaluator)
    rows = min(len(next(iter(points.values()))), budget // (2 * len(constants) or 1))
    if rows < _MIN_ROWS:
        return []
    points, notes = {n: v[:rows] for n, v in points.items()}, []
    with suppress(ModelError):
        costs, _ = _costs(evaluator, points)
        for name, ends in constants.items():
            graphs = (
                replace(g := evaluator.model_graph, constants={**g.constants, name: end})
                for end in ends
            )
            if all(
                np.array_equal(costs, _costs(replace(evaluator, model_graph=g), points)[0], True)
                for g in graphs
            ):
                notes.append(
                    f"inputs.{name} changed no objective and no constraint in "
                    f"{plural(rows, 'sampled design')} when it was doubled and halved"
                )
    return notes


def _changed_inputs(evaluator: Evaluator) -> Mapping[str, list[float]]:
    """Return the inputs that affect a criterion, doubled and halved; no counts and selectors."""
    model_graph = evaluator.model_graph
    used = {
        name
        for quantity, conditions in evaluator.requests()
        for name in model_graph.needs([quantity], conditions).names.keys() - conditions.keys()
    }
    changed = {}
    for name in [n for n in model_graph.constants if n in used and n not in model_graph.spread]:
        quantity, value = model_graph.quantities.get(name), model_graph.constants[name]
        if quantity is not None and name not in model_graph.free and not quantity.integer:
            ends = quantity.clip(np.array([2.0, 0.5]) * value).tolist()
            changed[name] = [end for end in ends if end != value]
    return {name: ends for name, ends in changed.items() if ends}
