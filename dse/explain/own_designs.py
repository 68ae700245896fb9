"""Designs of a script, evaluated: every quantity on the way, and violations."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import pandas as pd

from dse.evaluate.criteria import Conditions, in_words, scenario, scenarios
from dse.evaluate.evaluator import Evaluated, Evaluator
from dse.evaluate.input_ranges import fix_at_middles
from dse.evaluate.model_graph import Key, ModelGraph
from dse.evaluate.space import Choice, Points, held
from dse.evaluate.table_space import TableSpace
from dse.explain.explanation import Violation
from dse.model.quantity import Array
from dse.model.units import UnitError, read
from dse.model.values import show
from dse.problems import InputError, Problem, nearest
from dse.result.tables import whole
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
    problems = _named_wrong(study, frame, isinstance(designs, Mapping))
    points = _points(study, frame, problems)
    count, columns = len(frame), evaluator.space.columns(points)
    others, known = _on_the_way(evaluator, columns, count)
    judged = evaluator.evaluate_columns(columns, count, known)
    content = {
        objective.name: whole(judged.objectives[:, i], evaluator.domains[i])
        for i, objective in enumerate(evaluator.objectives)
    }
    for name, values in columns.items():
        if name not in evaluator.space.variables and name in evaluator.model_graph.quantities:
            content.setdefault(name, whole(values, evaluator.model_graph.quantities[name]))
    table = pd.DataFrame(content | others, index=frame.index)
    table["outside"] = _outside(evaluator, points)
    table["feasible"] = judged.feasible
    table["violations"] = _violations(evaluator, judged)
    return table


def _outside(evaluator: Evaluator, points: Points) -> list[str]:
    """Return in words what of each design the space does not have; empty if it is in the space."""
    found: list[list[str]] = [[] for _ in next(iter(points.values()))]
    for name, variable in evaluator.space.variables.items():
        if isinstance(variable, Choice):
            continue
        low, high, there = held(variable, points[name])
        unit = evaluator.model_graph.quantities[name].unit
        for row in np.flatnonzero(~there).tolist():
            value = float(points[name][row])
            where = f"outside {show(low, unit)} to {show(high, unit)}"
            if low <= value <= high:
                where = "between values of the space"
            found[row].append(f"{name} = {show(value, unit)} is {where}")
    return ["; ".join(told) for told in found]


def _frame(designs: pd.DataFrame | pd.Series[Any] | Mapping[str, Any]) -> pd.DataFrame:
    if isinstance(designs, pd.DataFrame):
        return designs
    if isinstance(designs, pd.Series):
        return pd.DataFrame([dict(designs)], index=[designs.name])
    if not isinstance(designs, Mapping):
        message = f"are a {type(designs).__name__}, not a table"
        remedy = "give a DataFrame, a row of one, or a mapping from variables to values"
        raise InputError("designs", [Problem("", message, remedy)])
    listed = {n: [v] if np.ndim(v) == 0 else list(v) for n, v in designs.items()}
    lengths = {n: len(v) for n, v in listed.items() if len(v) != 1}
    if len(set(lengths.values())) > 1:
        told = ", ".join(f"{n} has {length}" for n, length in lengths.items())
        raise InputError("designs", [Problem("", f"lists differ in length: {told}")])
    count = next(iter(lengths.values()), 1)
    return pd.DataFrame({n: v * count if len(v) == 1 else v for n, v in listed.items()})


def _named_wrong(study: ResolvedStudy, frame: pd.DataFrame, alone: bool) -> list[Problem]:
    """Return inputs that are not variables, which would be ignored; of a mapping any other name."""
    evaluator, problems = study.evaluator, list[Problem]()
    model_graph, variables = evaluator.model_graph, evaluator.space.variables
    given = {
        *evaluator.space.quantities(),
        *model_graph.producers,
        *(o.name for o in evaluator.objectives),
    }
    known = {
        *variables,
        *given,
        *model_graph.quantities,
        "feasible",
        "violations",
        "outside",
        "on_front",
    }
    for name in map(str, frame):
        if name in variables or name in given:
            continue
        if name in model_graph.constants or name in model_graph.known:
            remedy = f"for another value: study.with_inputs({name}=...).evaluate(...)"
            problems.append(Problem(name, "is an input of the study, not a variable", remedy))
        elif alone and name.partition(" ")[0] not in known:
            problems.append(Problem(name, "is not a variable", nearest(name, variables)))
    return problems


def _points(study: ResolvedStudy, frame: pd.DataFrame, problems: list[Problem]) -> Points:
    """Return the designs of a table, each problem in addition to the known ones."""
    points: Points = {}
    for name, variable in study.evaluator.space.variables.items():
        if name not in frame:
            others = {str(c) for c in frame} - set(study.evaluator.space.variables)
            problems.append(Problem(name, "is missing", nearest(name, others) if others else ""))
        elif isinstance(variable, Choice):
            place = {option: i for i, option in enumerate(variable.names)}
            options = [str(option) for option in frame[name]]
            problems += [
                Problem(name, f"has no option '{o}'", f"options: {', '.join(variable.names)}")
                for o in sorted(set(options) - place.keys())
            ]
            points[name] = np.array([place.get(o, 0) for o in options], dtype=np.int64)
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
    found, wrong = np.full(len(values), np.nan), dict[str, None]()
    for i, value in enumerate(values):
        try:
            found[i] = read(value, unit, clock) if isinstance(value, str) else float(value)
        except (UnitError, TypeError, ValueError) as error:
            told = str(error) if isinstance(error, UnitError) else f"{value!r} is not a number"
            wrong[told] = None
    problems += [Problem(name, told, f"{name} is in {unit}") for told in wrong]
    return found


def _on_the_way(
    evaluator: Evaluator, columns: Mapping[str, Array], count: int
) -> tuple[dict[str, Array], dict[Key, Mapping[str, Array]]]:
    """Return every quantity that judging designs computes, each run of a model done once.

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
    found: dict[str, Array] = {}
    known: dict[Key, Mapping[str, Array]] = {}
    for key in model_graph.runs(fix_at_middles(evaluator).requests()):
        conditions, names = dict(sorted(key[1])), tuple(models[key[0]].outputs)
        answers = model_graph.evaluate([(name, conditions) for name in names], columns, known)
        known[key] = dict(zip(names, answers, strict=True))
        for name, answer in known[key].items():
            if (name, key) not in shown:
                named = _by_scenario(model_graph, name, conditions, answer, count)
                found |= {f"{n} as given" if n in objectives else n: v for n, v in named.items()}
    return found, known


def _by_scenario(
    model_graph: ModelGraph, name: str, conditions: Conditions, answer: Array, count: int
) -> dict[str, Array]:
    """Return a quantity under its conditions, a column a scenario."""
    number = scenarios(conditions)
    values = np.broadcast_to(answer, (number, count))
    labels = [in_words(scenario(conditions, k), model_graph.quantities) for k in range(number)]
    quantity = model_graph.quantities[name]
    return {
        f"{name} {label}".strip(): whole(row, quantity)
        for label, row in zip(labels, values, strict=True)
    }


def _violations(evaluator: Evaluator, judged: Evaluated) -> list[str]:
    """Return in words what each design violates; empty if it is feasible."""
    found: list[list[str]] = [[] for _ in range(len(judged))]
    amounts = evaluator.violations(judged.constrained)
    for k, constraint in enumerate(evaluator.constraints):
        rows = np.flatnonzero(~(amounts[:, k] <= 0))
        # equal values, of which a grid has many, are put into words once
        codes, values = pd.factorize(judged.constrained[rows, k], use_na_sentinel=False)
        by_how_much = constraint.violation(values).tolist()
        texts = [
            str(Violation(constraint.name, constraint.unit, value, amount))
            for value, amount in zip(values.tolist(), by_how_much, strict=True)
        ]
        for row, code in zip(rows.tolist(), codes.tolist(), strict=True):
            found[row].append(texts[code])
    for i, objective in enumerate(evaluator.objectives):
        text = str(Violation(objective.name, objective.unit, np.nan, np.nan))
        for row in np.flatnonzero(np.isnan(judged.objectives[:, i])).tolist():
            found[row].append(text)
    return ["; ".join(told) for told in found]
