"""A study of a table: its columns are what models give in other studies."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import Any

import numpy as np

from dse.evaluate.constraint import Constraint
from dse.evaluate.evaluator import Evaluator
from dse.evaluate.objective import Objective
from dse.evaluate.space import Choice, Space
from dse.evaluate.table import TableSpace, variable_of
from dse.evaluate.target import Target
from dse.evaluate.wiring import Wiring
from dse.model.grammar import GrammarError, names_in, read_condition
from dse.model.quantity import Quantity
from dse.model.units import KNOWN_UNITS, is_unit
from dse.model.values import plural
from dse.problems import InputError, nearest
from dse.study.resolve.constraints import resolve_constraints
from dse.study.resolve.context import Context
from dse.study.resolve.free import free_quantities
from dse.study.resolve.inputs import resolve_constants
from dse.study.resolve.objectives import resolve_objectives
from dse.study.resolve.target import resolve_target
from dse.study.schema import TableStudyFile
from dse.study.table_file import RESERVED, DesignTable, read_table, unit_at_end

_TEXTS = 100
"""Different texts up to which a column is a variable: more are names of designs."""
_SHOWN = 12  # columns that a note names
_DIFFERENT = 0.8  # the share of different texts above which they may be names of designs
_FEW = 5  # designs below which that says nothing


def resolve_table(ctx: Context, file: TableStudyFile) -> tuple[Evaluator, Target | None]:
    """Resolve a study of a table; if `ctx.problems` says what is wrong, as far as it can be."""
    _refuse(ctx, file)
    try:
        table, path = read_table(file.study.table, ctx.folder, file.study.missing)
    except InputError as error:
        ctx.adopt("study.table", error)
        return Evaluator(Wiring((), {}, frozenset()), Space({}), (), ()), None
    ctx.files.append(path)
    ctx.texts = frozenset(table.texts)
    units = _units(ctx, file, table)
    about = f"column of {file.study.table}"
    columns = {name: Quantity(units[name], about) for name in table.numbers}
    wiring = Wiring((), {}, frozenset(table.numbers), columns)
    wiring = replace(wiring, free=free_quantities(ctx, wiring) | columns)
    _check_inputs(ctx, file, table)
    wiring = replace(wiring, constants=resolve_constants(ctx, wiring))
    _check_texts(ctx, file, table)
    objectives = resolve_objectives(ctx, wiring)
    constraints = resolve_constraints(ctx, wiring)
    target, also = resolve_target(ctx, wiring, objectives)
    constraints += also
    _check_names(ctx, objectives, table)
    used = {o.quantity for o in objectives}.union(*(c.names for c in constraints))
    names = _variables(ctx, file, table, used)
    every = {**table.numbers, **table.texts}
    space = TableSpace({n: variable_of(every[n]) for n in names}, table.numbers, table.texts)
    if not ctx.problems:
        _note(ctx, space, table)
        _note_missing(ctx, objectives, constraints, space)
    return Evaluator(wiring, space, tuple(objectives), tuple(constraints)), target


def _refuse(ctx: Context, file: TableStudyFile) -> None:
    """Refuse what takes models."""
    if file.study.models:
        message = "a study of a table runs no models: its designs are evaluated already"
        ctx.add("study.models", message, "leave models out, or leave table out")
    given = {"regions": file.regions is not None, "curve": bool(file.curve)}
    for section, is_given in given.items():
        if is_given:
            ctx.add(section, "takes models, and a table has none", f"leave [{section}] out")
    for section in ("objective", "constraint"):
        for where, entry in ctx.numbered(section):
            for key in ("at", "over"):
                if getattr(entry, key, None):
                    message = "binds inputs of models, and a table has none"
                    ctx.add(f"{where}.{key}", message, "name the column that holds those values")
                    ctx.doubtful.update(getattr(entry, key))


def _units(ctx: Context, file: TableStudyFile, table: DesignTable) -> dict[str, str]:
    """Return the units of the columns of numbers: the study's, else what their names say."""
    units = dict(table.units)
    for name, unit in file.columns.items():
        where = f"columns.{name}"
        if name in table.texts:
            ctx.add(where, f"{name} has no unit: it is not a number", table.not_numbers(name, ()))
        elif name not in units:
            ctx.add(where, f"{file.study.table} has no column '{name}'", nearest(name, table.names))
        elif not is_unit(unit):
            ctx.add(where, f"unknown unit {unit!r}", KNOWN_UNITS)
        else:
            units[name] = unit
    return units


def _check_inputs(ctx: Context, file: TableStudyFile, table: DesignTable) -> None:
    for name in file.inputs:
        if name in table.names:
            message = f"'{name}' is given twice: it is a column of {file.study.table}"
            ctx.add(f"inputs.{name}", message, "leave it out, or call it otherwise")


def _check_texts(ctx: Context, file: TableStudyFile, table: DesignTable) -> None:
    """Require numbers where an objective or a constraint asks for a column."""
    wanted: list[tuple[str, str]] = []
    for where, objective in ctx.numbered("objective"):
        for way in ("maximize", "minimize"):
            wanted.append((f"{where}.{way}", getattr(objective, way) or ""))
    for where, constraint in ctx.numbered("constraint"):
        wanted.append((f"{where}.quantity", constraint.quantity or ""))
        try:
            names = names_in(read_condition(constraint.relation)) if constraint.relation else ()
            wanted += [(f"{where}.relation", name) for name in sorted({n.name for n in names})]
        except GrammarError:  # reported where the constraint is read
            continue
    for where, name in wanted:
        if name in table.texts:
            bad = table.not_numbers(name, file.study.missing)
            remedy = "leave a missing value empty, or name what stands for it in study.missing"
            what = f"does not hold numbers: {bad}" if bad else "has no value in any row"
            ctx.add(where, f"column '{name}' {what}", remedy)
            ctx.doubtful.add(name)


def _check_names(ctx: Context, objectives: Iterable[Objective], table: DesignTable) -> None:
    for objective in objectives:
        if objective.name in table.names and objective.name != objective.quantity:
            message = f"'{objective.name}' is the name of another column"
            ctx.add("objective", message, "give it a name of its own")


def _variables(
    ctx: Context, file: TableStudyFile, table: DesignTable, used: set[str]
) -> tuple[str, ...]:
    """Return the columns that tell designs apart: those named, else what nothing else uses."""
    for key in file.space.keys() - {"columns"}:
        message = "a table has the designs that it has: its [space] takes columns alone"
        ctx.add(f"space.{key}", message, 'write columns = ["name", …]')
    named = file.space.get("columns")
    if named is not None and not _are_texts(named):
        ctx.add("space.columns", "is not a list of names", 'write columns = ["name", …]')
        named = []
    if named is None:
        return tuple(n for n in table.names if n not in used and not _reason(table, n))
    for i, name in enumerate(named):
        where = f"space.columns[{i + 1}]"
        if name not in table.names:
            remedy = nearest(name, table.names)
            ctx.add(where, f"{file.study.table} has no column '{name}'", remedy)
        elif named.index(name) < i:
            ctx.add(where, f"'{name}' is listed twice")
        elif name in used and name in {o.maximize or o.minimize for o in file.objective}:
            ctx.add(where, f"'{name}' is an objective", "a variable is what decides on it")
        elif reason := _reason(table, name):
            ctx.add(where, f"'{name}' is not a variable: {reason}", "leave it out")
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


def _note(ctx: Context, space: TableSpace, table: DesignTable) -> None:
    """Note what was taken for a variable, what was not, and what is there more than once."""
    if space.variables and "columns" not in ctx.file.space:
        ctx.notes.append(
            f"variables are the columns that no objective and no constraint uses: "
            f"{_listed(space.variables)}; name others in [space] columns"
        )
    for name in sorted(RESERVED):
        if f"table_{name}" in table.names:
            ctx.notes.append(f"the table's column {name} is called table_{name}")
    without = {n: reason for n in table.names if (reason := _reason(table, n))}
    for reason in dict.fromkeys(without.values()):
        names = [n for n in without if without[n] == reason]
        one = len(names) == 1
        ctx.notes.append(
            f"{_listed(names)} {'is not a variable' if one else 'are not variables'}: "
            f"{reason if one else reason.replace('it is', 'each is').replace('it has', 'each has')}"
        )
    _note_units(ctx, table)
    _note_names(ctx, space)
    if space.variables and space.repeats:
        are = "design has" if space.repeats == 1 else "designs have"
        ctx.notes.append(
            f"{space.repeats:,} {are} the same variables as an earlier one: each is kept, and a "
            "sampler draws the first"
        )


def _note_units(ctx: Context, table: DesignTable) -> None:
    """Note columns whose names end in a unit that is not taken for theirs."""
    given = getattr(ctx.file, "columns", {})
    ends = {n: unit_at_end(n) for n, unit in table.units.items() if unit == "1" and n not in given}
    if found := {name: unit for name, unit in ends.items() if unit}:
        wanted = ", ".join(f'{name} = "{unit}"' for name, unit in list(found.items())[:_SHOWN])
        are = "is a plain number" if len(found) == 1 else "are plain numbers"
        ctx.notes.append(
            f"{_listed(found)} {are}; if the name says the unit, write {wanted} in [columns]"
        )


def _note_names(ctx: Context, space: TableSpace) -> None:
    """Note variables of texts that are nearly all different: they may be names of designs."""
    if "columns" in ctx.file.space or space.size < _FEW:
        return
    for name, variable in space.variables.items():
        if isinstance(variable, Choice) and variable.count > _DIFFERENT * space.size:
            ctx.notes.append(
                f"{name} has {variable.count:,} different texts in {space.size:,} designs: if they "
                "name designs, it is not a variable; name the variables in [space] columns"
            )


def _note_missing(
    ctx: Context,
    objectives: Iterable[Objective],
    constraints: Iterable[Constraint],
    space: TableSpace,
) -> None:
    """Note missing values; the run counts those of objectives and bounded columns."""
    told = {o.quantity for o in objectives} | {c.quantity for c in constraints}
    for name in {n: None for c in constraints for n in c.names} | dict.fromkeys(space.variables):
        if name in space.numbers and name not in told:
            count = int(np.isnan(space.numbers[name]).sum())
            if count:
                ctx.notes.append(
                    f"{name} is missing in {count:,} of {plural(space.size, 'design')}"
                )


def _listed(names: Iterable[str]) -> str:
    every = list(names)
    more = f" and {len(every) - _SHOWN} more" if len(every) > _SHOWN else ""
    return ", ".join(every[:_SHOWN]) + more
