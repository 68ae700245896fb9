"""A study of a table: its columns are what models give in other studies."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from dse.evaluate.criteria import Constraint, Objective
from dse.evaluate.evaluator import Evaluator
from dse.evaluate.space import Choice
from dse.evaluate.table_space import TableSpace, variable_of
from dse.evaluate.target import Target
from dse.evaluate.wiring import Wiring
from dse.model.grammar import GrammarError, names_in, read_condition
from dse.model.quantity import Quantity
from dse.model.units import KNOWN_UNITS, is_unit
from dse.model.values import plural
from dse.problems import InputError, nearest
from dse.study.design_table import RESERVED, DesignTable, read_table, unit_at_end
from dse.study.findings import Findings, Place
from dse.study.resolve.constraints import (
    free_quantities,
    resolve_constraints,
    resolve_target,
)
from dse.study.resolve.entries import load_entries
from dse.study.resolve.inputs import resolve_inputs
from dse.study.resolve.objectives import resolve_objectives
from dse.study.resolve.scope import Scope
from dse.study.schema import TableStudyFile

_TEXTS = 100
"""Different texts up to which a column is a variable: more are names of designs."""
_SHOWN = 12  # columns that a note names
_DIFFERENT = 0.8  # the share of different texts above which they may be names of designs
_FEW = 5  # designs below which that says nothing


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
    wiring = Wiring((), {}, frozenset(table.numbers), columns)
    entries = load_entries(file, folder, findings)
    wiring = replace(wiring, free=free_quantities(file, wiring, entries) | columns)
    _check_inputs(file, findings, table)
    inputs = resolve_inputs(file, wiring, entries, folder, {}, findings)
    wiring = replace(wiring, constants=inputs.constants)
    scope = Scope(wiring, findings, texts=frozenset(table.texts), table=file.study.table)
    _check_texts(file, findings, table)
    objectives = resolve_objectives(file, scope, {})
    constraints = resolve_constraints(file, scope, {})
    target, also = resolve_target(file, scope, objectives)
    constraints += also
    _check_names(findings, objectives, table)
    used = {o.quantity for o in objectives}.union(*(c.names for c in constraints))
    names = _variables(file, findings, table, used)
    findings.finish_stage()
    every = {**table.numbers, **table.texts}
    space = TableSpace({n: variable_of(every[n]) for n in names}, table.numbers, table.texts)
    _note(file, findings, space, table)
    _note_missing(findings, objectives, constraints, space)
    return Evaluator(wiring, space, tuple(objectives), tuple(constraints)), target, path


def _refuse_models(file: TableStudyFile, findings: Findings) -> None:
    """Refuse what takes models."""
    if file.study.models:
        message = "a study of a table runs no models: its designs are evaluated already"
        findings.add(Place("study") / "models", message, "leave models out, or leave table out")
    given = {"regions": file.regions is not None, "curve": bool(file.curve)}
    for section, is_given in given.items():
        if is_given:
            findings.add(
                Place(section), "takes models, and a table has none", f"leave [{section}] out"
            )
    for section, entries in (("objective", file.objective), ("constraint", file.constraint)):
        for position, entry in enumerate(entries):
            for key in ("at", "over"):
                if getattr(entry, key, None):
                    message = "binds inputs of models, and a table has none"
                    findings.add(
                        Place(section) / position / key,
                        message,
                        "name the column that holds those values",
                    )


def _units(file: TableStudyFile, findings: Findings, table: DesignTable) -> dict[str, str]:
    """Return the units of the columns of numbers: the study's, else what their names say."""
    units = dict(table.units)
    for name, unit in file.columns.items():
        where = Place("columns") / name
        if name in table.texts:
            findings.add(
                where, f"{name} has no unit: it is not a number", table.not_numbers(name, ())
            )
        elif name not in units:
            findings.add(
                where, f"{file.study.table} has no column '{name}'", nearest(name, table.names)
            )
        elif not is_unit(unit):
            findings.add(where, f"unknown unit {unit!r}", KNOWN_UNITS)
        else:
            units[name] = unit
    return units


def _check_inputs(file: TableStudyFile, findings: Findings, table: DesignTable) -> None:
    for name in file.inputs:
        if name in table.names:
            message = f"'{name}' is given twice: it is a column of {file.study.table}"
            findings.add(Place("inputs") / name, message, "leave it out, or call it otherwise")


def _check_texts(file: TableStudyFile, findings: Findings, table: DesignTable) -> None:
    """Require numbers where an objective or a constraint asks for a column."""
    wanted: list[tuple[Place, str]] = []
    for position, objective in enumerate(file.objective):
        for way in ("maximize", "minimize"):
            wanted.append((Place("objective") / position / way, getattr(objective, way) or ""))
    for position, constraint in enumerate(file.constraint):
        place = Place("constraint") / position
        wanted.append((place / "quantity", constraint.quantity or ""))
        try:
            names = names_in(read_condition(constraint.relation)) if constraint.relation else ()
            wanted += [(place / "relation", name) for name in sorted({n.name for n in names})]
        except GrammarError:  # `resolve_constraints` reports it
            continue
    for where, name in wanted:
        if name in table.texts:
            bad = table.not_numbers(name, file.study.missing)
            remedy = "leave a missing value empty, or add its text to study.missing"
            what = f"does not hold numbers: {bad}" if bad else "has no value in any row"
            findings.add(where, f"column '{name}' {what}", remedy)


def _check_names(findings: Findings, objectives: Iterable[Objective], table: DesignTable) -> None:
    for objective in objectives:
        if objective.name in table.names and objective.name != objective.quantity:
            message = f"'{objective.name}' is the name of another column"
            findings.add(Place("objective"), message, "give it a unique name")


def _variables(
    file: TableStudyFile, findings: Findings, table: DesignTable, used: set[str]
) -> tuple[str, ...]:
    """Return the columns that identify designs: the named ones, else the unused ones."""
    for key in file.space.keys() - {"columns"}:
        message = "a table has the designs that it has: its [space] takes only columns"
        findings.add(Place("space") / key, message, 'write columns = ["name", …]')
    named = file.space.get("columns")
    if named is not None and not _are_texts(named):
        findings.add(
            Place("space") / "columns", "is not a list of names", 'write columns = ["name", …]'
        )
        named = []
    if named is None:
        return tuple(n for n in table.names if n not in used and not _reason(table, n))
    for i, name in enumerate(named):
        where = Place("space") / "columns" / i
        if name not in table.names:
            remedy = nearest(name, table.names)
            findings.add(where, f"{file.study.table} has no column '{name}'", remedy)
        elif named.index(name) < i:
            findings.add(where, f"'{name}' is listed twice")
        elif name in used and name in {o.maximize or o.minimize for o in file.objective}:
            findings.add(where, f"'{name}' is an objective", "a variable is what decides on it")
        elif reason := _reason(table, name):
            findings.add(where, f"'{name}' is not a variable: {reason}", "leave it out")
    return tuple(n for n in dict.fromkeys(named) if n in table.names and not _reason(table, n))


def _are_texts(value: Any) -> bool:
    return isinstance(value, list) and all(isinstance(name, str) for name in value)


def _reason(table: DesignTable, name: str) -> str:
    """Return why a column is no variable; nothing if it can be one."""
    if name in table.texts:
        count = len(set(table.texts[name]))
        return f"it has {count:,} different texts" if count > _TEXTS else _same(count)
    known = table.numbers[name][np.isfinite(table.numbers[name])]
    return _same(len(np.unique(known[:1000])) if len(known) else 0) and _same(len(np.unique(known)))


def _same(count: int) -> str:
    return "" if count > 1 else "it is the same in all rows"


def _note(file: TableStudyFile, findings: Findings, space: TableSpace, table: DesignTable) -> None:
    """Add notes on the variables, the other columns, and the repeated designs."""
    if space.variables and "columns" not in file.space:
        findings.note(
            f"variables are the columns that no objective and no constraint uses: "
            f"{_listed(space.variables)}; name others in [space] columns"
        )
    for name in sorted(RESERVED):
        if f"table_{name}" in table.names:
            findings.note(f"the table's column {name} is called table_{name}")
    without = {n: reason for n in table.names if (reason := _reason(table, n))}
    for reason in dict.fromkeys(without.values()):
        names = [n for n in without if without[n] == reason]
        one = len(names) == 1
        findings.note(
            f"{_listed(names)} {'is not a variable' if one else 'are not variables'}: "
            f"{reason if one else reason.replace('it is', 'each is').replace('it has', 'each has')}"
        )
    _note_units(file, findings, table)
    _note_names(file, findings, space)
    if space.variables and space.repeats:
        are = "design has" if space.repeats == 1 else "designs have"
        findings.note(
            f"{space.repeats:,} {are} the same variables as an earlier one: each is kept, and a "
            "sampler draws the first"
        )


def _note_units(file: TableStudyFile, findings: Findings, table: DesignTable) -> None:
    """Note columns whose names end in a unit that is not taken for theirs."""
    given = getattr(file, "columns", {})
    ends = {n: unit_at_end(n) for n, unit in table.units.items() if unit == "1" and n not in given}
    if found := {name: unit for name, unit in ends.items() if unit}:
        wanted = ", ".join(f'{name} = "{unit}"' for name, unit in list(found.items())[:_SHOWN])
        are = "is a plain number" if len(found) == 1 else "are plain numbers"
        findings.note(
            f"{_listed(found)} {are}; if the name contains the unit, write {wanted} in [columns]"
        )


def _note_names(file: TableStudyFile, findings: Findings, space: TableSpace) -> None:
    """Note variables of texts that are nearly all different: they may be names of designs."""
    if "columns" in file.space or space.size < _FEW:
        return
    for name, variable in space.variables.items():
        if isinstance(variable, Choice) and variable.count > _DIFFERENT * space.size:
            findings.note(
                f"{name} has {variable.count:,} different texts in {space.size:,} designs: if they "
                "name designs, it is not a variable; name the variables in [space] columns"
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
                findings.note(f"{name} is missing in {count:,} of {plural(space.size, 'design')}")


def _listed(names: Iterable[str]) -> str:
    every = list(names)
    more = f" and {len(every) - _SHOWN} more" if len(every) > _SHOWN else ""
    return ", ".join(every[:_SHOWN]) + more
