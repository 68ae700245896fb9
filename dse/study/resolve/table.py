"""A study of a table: its columns are what models give in other studies."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path

import numpy as np

from dse.evaluate.criteria import Constraint, Objective
from dse.evaluate.evaluator import Evaluator
from dse.evaluate.model_graph import ModelGraph
from dse.evaluate.table_space import TableSpace, column_variable
from dse.evaluate.target import Target
from dse.model.quantity import Quantity
from dse.model.units import KNOWN_UNITS, is_unit
from dse.model.values import plural
from dse.problems import InputError, nearest
from dse.study.design_table import RESERVED, DesignTable, read_table
from dse.study.findings import Findings, Place
from dse.study.resolve.constraints import free_quantities, resolve_constraints, resolve_target
from dse.study.resolve.inputs import load_entries, resolve_inputs
from dse.study.resolve.objectives import resolve_objectives
from dse.study.resolve.scope import Scope
from dse.study.schema import TableStudyFile

_MAX_TEXTS = 100
"""Different texts up to which a column is a variable: more are names of designs."""
_SHOWN = 12  # columns that a note names


def resolve_table(
    file: TableStudyFile, folder: Path | None, findings: Findings
) -> tuple[Evaluator, Target | None, Path]:
    """Resolve a study of a table."""
    _refuse_models(file, findings)
    try:
        table, path = read_table(file.study.table, folder, file.study.missing)
    except InputError as error:
        findings.adopt(Place("study") / "table", error)
    findings.finish_stage()
    units = _units(file, findings, table)
    about = f"column of {file.study.table}"
    columns = {name: Quantity(units[name], about) for name in table.numbers}
    model_graph = ModelGraph((), {}, frozenset(table.numbers), columns)
    entries = load_entries(file, folder, findings)
    model_graph = replace(model_graph, free=free_quantities(file, model_graph, entries) | columns)
    for name in file.inputs.keys() & {*table.names}:
        message = f"'{name}' is given twice: it is a column of {file.study.table}"
        findings.add(Place("inputs") / name, message, "leave it out, or call it otherwise")
    inputs = resolve_inputs(file, model_graph, entries, folder, {}, findings)
    texts = {name: _text_problem(file, table, name) for name in table.texts}
    model_graph = replace(model_graph, constants=inputs.constants)
    scope = Scope(model_graph, findings, table=file.study.table, texts=texts)
    objectives = resolve_objectives(file, scope, {})
    constraints = resolve_constraints(file, scope, {})
    target, of_target = resolve_target(file, scope, objectives)
    constraints += of_target
    for objective in objectives:
        if objective.name in table.names and objective.name != objective.quantity:
            message = f"'{objective.name}' is the name of another column"
            findings.add(Place("objective"), message, "give it a unique name")
    names = _variables(file, findings, table, objectives, constraints)
    findings.finish_stage()
    values = {**table.numbers, **table.texts}
    space = TableSpace({n: column_variable(values[n]) for n in names}, table.numbers, table.texts)
    _note_columns(file, findings, space, table)
    _note_missing(findings, objectives, constraints, space)
    return Evaluator(model_graph, space, tuple(objectives), tuple(constraints)), target, path


def _text_problem(file: TableStudyFile, table: DesignTable, name: str) -> str:
    bad = table.not_numbers(name, file.study.missing)
    return f"does not hold numbers: {bad}" if bad else "has no value in any row"


def _refuse_models(file: TableStudyFile, findings: Findings) -> None:
    """Refuse what takes models."""
    if file.study.models:
        message = "a study of a table runs no models: its designs are evaluated already"
        findings.add(Place("study") / "models", message, "leave models out, or leave table out")
    places = [Place(name) for name in ("regions", "curve") if getattr(file, name)]
    for section, entries in (("objective", file.objective), ("constraint", file.constraint)):
        for position, entry in enumerate(entries):
            keys = [key for key in ("at", "over") if getattr(entry, key, None)]
            places += [Place(section) / position / key for key in keys]
    for place in places:
        findings.add(place, "takes models, and a table has none", "leave it out")


def _units(file: TableStudyFile, findings: Findings, table: DesignTable) -> dict[str, str]:
    """Return the units of the columns of numbers: the study's, else what their names say."""
    for name, unit in file.columns.items():
        place = Place("columns") / name
        if name in table.texts:
            findings.add(place, f"{name} has no unit: it {_text_problem(file, table, name)}")
        elif name not in table.numbers:
            message = f"{file.study.table} has no column '{name}'"
            findings.add(place, message, nearest(name, table.names))
        elif not is_unit(unit):
            findings.add(place, f"unknown unit {unit!r}", KNOWN_UNITS)
    return {**table.units, **{n: u for n, u in file.columns.items() if is_unit(u)}}


def _variables(
    file: TableStudyFile,
    findings: Findings,
    table: DesignTable,
    objectives: Iterable[Objective],
    constraints: Iterable[Constraint],
) -> list[str]:
    """Return the columns that identify designs: the named ones, else the unused ones."""
    for key in file.space.keys() - {"columns"}:
        message = "a table has the designs that it has: its [space] takes only columns"
        findings.add(Place("space") / key, message, 'write columns = ["name", …]')
    minimized = {objective.quantity for objective in objectives}
    if "columns" not in file.space:
        used = minimized.union(*(constraint.names for constraint in constraints))
        return [n for n in table.names if n not in used and not _reason(table, n)]
    names = file.space["columns"]
    if not isinstance(names, list) or not all(isinstance(name, str) for name in names):
        remedy = 'write columns = ["name", …]'
        findings.add(Place("space") / "columns", "is not a list of names", remedy)
        return []
    for i, name in enumerate(names):
        place = Place("space") / "columns" / i
        if name not in table.names:
            message = f"{file.study.table} has no column '{name}'"
            findings.add(place, message, nearest(name, table.names))
        elif name in minimized:
            findings.add(place, f"'{name}' is an objective", "a variable is what decides on it")
        elif reason := _reason(table, name):
            findings.add(place, f"'{name}' is not a variable: {reason}", "leave it out")
    return list(dict.fromkeys(names))


def _reason(table: DesignTable, name: str) -> str:
    """Return why a column is no variable; nothing if it can be one."""
    if name in table.texts:
        count = len(set(table.texts[name]))
        if count > _MAX_TEXTS:
            return f"{count:,} different texts"
    else:
        count = len(np.unique(table.numbers[name][np.isfinite(table.numbers[name])]))
    return "" if count > 1 else "equal values in all rows"


def _note_columns(
    file: TableStudyFile, findings: Findings, space: TableSpace, table: DesignTable
) -> None:
    """Note the variables, the other columns, and the repeated designs."""
    notes = findings.notes
    if space.variables and "columns" not in file.space:
        notes.append(
            f"variables are the columns that no objective and no constraint uses: "
            f"{_listed(space.variables)}; name others in [space] columns"
        )
    for name in sorted(RESERVED):
        if f"table_{name}" in table.names:
            notes.append(f"the table's column {name} is called table_{name}")
    reasons = {name: reason for name in table.names if (reason := _reason(table, name))}
    for reason in dict.fromkeys(reasons.values()):
        names = [name for name in reasons if reasons[name] == reason]
        notes.append(f"not variables, as they have {reason}: {_listed(names)}")
    if space.variables and space.repeats:
        notes.append(
            f"{plural(space.repeats, 'row')} with the variables of an earlier one: each is kept, "
            "and a sampler draws the first"
        )


def _note_missing(
    findings: Findings,
    objectives: Iterable[Objective],
    constraints: Iterable[Constraint],
    space: TableSpace,
) -> None:
    """Note missing values; the run counts missing values of objectives and bounded columns."""
    counted = {o.quantity for o in objectives} | {c.quantity for c in constraints}
    for name in {n: None for c in constraints for n in c.names} | dict.fromkeys(space.variables):
        if name in space.numbers and name not in counted:
            count = int(np.isnan(space.numbers[name]).sum())
            if count:
                note = f"{name} is missing in {count:,} of {plural(space.size, 'design')}"
                findings.notes.append(note)


def _listed(names: Iterable[str]) -> str:
    names = list(names)
    more = f" and {len(names) - _SHOWN} more" if len(names) > _SHOWN else ""
    return ", ".join(names[:_SHOWN]) + more
