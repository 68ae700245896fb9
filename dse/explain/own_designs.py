"""Designs of a script, evaluated: every quantity on the way, and violations."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import pandas as pd

from dse.evaluate.criteria import count_scenarios, select_scenario, show_conditions
from dse.evaluate.evaluator import Evaluator
from dse.evaluate.input_variation import fix_at_middles
from dse.evaluate.model_graph import Key
from dse.evaluate.space import Choice, Points, variable_range
from dse.evaluate.table_space import TableSpace
from dse.explain.explanation import list_violations
from dse.model.quantity import Array
from dse.model.units import UnitError, read_value
from dse.model.values import show
from dse.problems import InputError, Problem, nearest
from dse.result.tables import whole_numbers
from dse.study.study import ResolvedStudy


def evaluate_designs(
    study: ResolvedStudy, designs: pd.DataFrame | pd.Series[Any] | Mapping[str, Any]
) -> pd.DataFrame:
    """Return the values of given designs; see `dse.Study.evaluate`.

    Raises
    ------
    InputError
        If a variable is missing, a value cannot be, or the study is of a table.
    """
    evaluator = study.evaluator
    if isinstance(evaluator.space, TableSpace):
        message = "a study of a table has no models: it only knows the designs of its table"
        raise InputError("designs", [Problem("", message, "look them up in the table")])
    frame = _frame(designs)
    points = _points(study, frame, isinstance(designs, Mapping))
    count, columns = len(frame), evaluator.space.columns(points)
    others, known = _intermediate_quantities(evaluator, columns, count)
    judged = evaluator.evaluate_columns(columns, count, known)
    content = {
        objective.name: whole_numbers(judged.objectives[:, i], evaluator.domains[i])
        for i, objective in enumerate(evaluator.objectives)
    }
    for name, values in columns.items():
        if name not in evaluator.space.variables and name in evaluator.model_graph.quantities:
            content.setdefault(name, whole_numbers(values, evaluator.model_graph.quantities[name]))
    table = pd.DataFrame(content | others, index=frame.index)
    table["outside"] = _outside(evaluator, points)
    table["feasible"] = judged.feasible
    amounts = evaluator.violations(judged.constrained)
    table["violations"] = [
        "" if feasible else "; ".join(map(str, list_violations(evaluator, judged, amounts, row)))
        for row, feasible in enumerate(judged.feasible)
    ]
    return table


_FLAGS = ("feasible", "violations", "outside", "on_front", "ties")
"""Columns of a result that are no quantities."""


# Reading --------------------------------------------------------------------------------------


def _frame(designs: pd.DataFrame | pd.Series[Any] | Mapping[str, Any]) -> pd.DataFrame:
    if isinstance(designs, pd.DataFrame):
        return designs
    if isinstance(designs, pd.Series):
        return pd.DataFrame([dict(designs)], index=[designs.name])
    if not isinstance(designs, Mapping):
        message = f"are a {type(designs).__name__}, not a table"
        remedy = "give a DataFrame, a row of one, or a mapping from variables to values"
        raise InputError("designs", [Problem("", message, remedy)])
    try:
        is_one = all(np.ndim(value) == 0 for value in designs.values())
        return pd.DataFrame([designs] if is_one else dict(designs))
    except ValueError as error:
        raise InputError("designs", [Problem("", str(error))]) from None


def _points(study: ResolvedStudy, frame: pd.DataFrame, strict: bool) -> Points:
    """Return the designs of a table; if `strict`, no column may have an unknown name.

    Computed columns of a result are ignored: its rows are designs. An input of the study would be
    ignored too, and is refused.
    """
    evaluator = study.evaluator
    variables = evaluator.space.variables
    points, problems = Points(), list[Problem]()
    computed = {*_FLAGS, *evaluator.space.quantities(), *evaluator.model_graph.producers}
    computed |= {objective.name for objective in evaluator.objectives}
    columns = [str(column) for column in frame]
    for name in (c for c in columns if c not in variables):
        if name in computed or name.partition(" ")[0] in computed:  # by scenario
            continue
        if name in study.constants:
            remedy = f"for another value: study.with_inputs({name}=...).evaluate(...)"
            problems.append(Problem(name, "is an input of the study, not a variable", remedy))
        elif strict:
            problems.append(Problem(name, "is not a variable", nearest(name, variables)))
    for name, variable in variables.items():
        if name not in frame:
            problems.append(Problem(name, "is missing"))
        elif isinstance(variable, Choice):
            position = {option: i for i, option in enumerate(variable.names)}
            options = [str(option) for option in frame[name]]
            allowed = f"options: {', '.join(variable.names)}"
            unknown = sorted(set(options) - position.keys())
            problems += [Problem(name, f"has no option '{o}'", allowed) for o in unknown]
            points[name] = np.array([position.get(o, 0) for o in options], dtype=np.int64)
        else:
            points[name] = _numbers(study, name, frame[name], problems)
    if problems:
        raise InputError("designs", problems)
    return points


def _numbers(
    study: ResolvedStudy, name: str, values: pd.Series[Any], problems: list[Problem]
) -> Array:
    """Return a column as numbers in the variable's unit."""
    if pd.api.types.is_numeric_dtype(values.dtype):
        return values.to_numpy(dtype=np.float64)
    unit = study.evaluator.model_graph.quantities[name].unit
    clock = study.constants.get("clock")
    numbers, wrong = np.full(len(values), np.nan), dict[str, None]()
    for i, value in enumerate(values):
        try:
            numbers[i] = read_value(value, unit, clock) if isinstance(value, str) else float(value)
        except UnitError as error:
            wrong[str(error)] = None
        except (TypeError, ValueError):
            wrong[f"{value!r} is not a number"] = None
    problems += [Problem(name, message, f"{name} is in {unit}") for message in wrong]
    return numbers


# Evaluation -----------------------------------------------------------------------------------


def _outside(evaluator: Evaluator, points: Points) -> list[str]:
    """Return in words the values of each design that the space does not have."""
    texts: list[list[str]] = [[] for _ in next(iter(points.values()))]
    for name, variable in evaluator.space.variables.items():
        if isinstance(variable, Choice):
            continue
        low, high, inside = variable_range(variable, points[name])
        unit = evaluator.model_graph.quantities[name].unit
        for row in np.flatnonzero(~inside).tolist():
            value = float(points[name][row])
            place = f"outside {show(low, unit)} to {show(high, unit)}"
            if low <= value <= high:
                place = "between values of the space"
            texts[row].append(f"{name} = {show(value, unit)} is {place}")
    return ["; ".join(each) for each in texts]


def _intermediate_quantities(
    evaluator: Evaluator, columns: Mapping[str, Array], count: int
) -> tuple[dict[str, Array], dict[Key, Mapping[str, Array]]]:
    """Return every quantity that an evaluation computes, each run of a model done once.

    Returns
    -------
    dict of str to ndarray
        By column name; without the objectives.
    dict of Key to mapping
        The outputs of the runs, as `Evaluator.evaluate_columns` takes them.
    """
    model_graph = evaluator.model_graph
    models = {model.name: model for model in model_graph.models}
    objectives = {o.name for o in evaluator.objectives}
    shown = {
        (o.quantity, model_graph.relevant(model_graph.producers[o.quantity], o.conditions)[1])
        for o in evaluator.objectives
        if o.reduction is None and o.quantity in model_graph.producers
    }
    values: dict[str, Array] = {}
    known: dict[Key, Mapping[str, Array]] = {}
    for key in model_graph.runs(fix_at_middles(evaluator).requests()):
        conditions, names = dict(sorted(key[1])), tuple(models[key[0]].outputs)
        answers = model_graph.evaluate([(name, conditions) for name in names], columns, known)
        known[key] = dict(zip(names, answers, strict=True))
        for name, answer in known[key].items():
            if (name, key) not in shown:
                rows = np.broadcast_to(answer, (count_scenarios(conditions), count))
                for k, row in enumerate(rows):
                    words = show_conditions(select_scenario(conditions, k), model_graph.quantities)
                    label = f"{name} {words}".strip()
                    label = f"{label} as given" if label in objectives else label
                    values[label] = whole_numbers(row, model_graph.quantities[name])
    return values, known
