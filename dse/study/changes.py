"""Changes of a study without its file: other inputs, variables, values of rows and limits."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from dse.evaluate.space import Choice, variable_range
from dse.model.values import show
from dse.problems import InputError, Problem, nearest
from dse.study.catalog import find_catalog, load_catalog
from dse.study.input_files import as_toml_content
from dse.study.resolve.dependencies import unused_note
from dse.study.schema import CatalogRow, TableStudyFile
from dse.study.study import ResolvedStudy, rewrite_study


def with_inputs(study: ResolvedStudy, given: Mapping[str, Any]) -> ResolvedStudy:
    """Return a study in which some inputs are others, and some variables held at one value.

    A value that a row of ``[inputs]`` sets becomes a value of the study.

    `given`: by quantity or variable: the text or number of a file, such as ``"2 GHz"``; for a
    variable that chooses, the name of the option.

    InputError if a name is unknown or changes nothing, or a value cannot be; with every problem.
    """
    if isinstance(study.file, TableStudyFile):
        message = "a study of a table has no inputs: its designs are evaluated already"
        raise InputError(_source(study), [Problem("", message)])
    problems: list[Problem] = []
    inputs, space = dict(study.content.get("inputs", {})), dict(study.content.get("space", {}))
    rows = inputs_of_rows(study)
    known = {*study.evaluator.model_graph.known, *inputs, *space, *rows, "clock"}
    setters = {q: key for key, rows in study.choices.items() for r in rows.values() for q in r}
    for name, value in given.items():
        before = len(problems)
        value = as_toml_content(value, name, problems)
        if len(problems) > before:
            continue
        if name in space:
            space[name] = _held(name, space[name], value, problems)
        elif name in setters:
            message = f"is set by the rows of space.{setters[name]}"
            remedy = f'change a row: with_row("{setters[name]}", row, {name}=...)'
            problems.append(Problem(name, message, remedy))
        elif name not in known:
            problems.append(Problem(name, "is not an input or a variable", nearest(name, known)))
        elif name in rows and name not in inputs:
            entry = inputs[rows[name]]
            inputs[rows[name]] = entry | {"override": entry.get("override", {}) | {name: value}}
        else:
            inputs[name] = value
    content = {**study.content, "inputs": inputs, "space": space}
    try:
        changed = rewrite_study(study, content, given)
    except InputError as error:
        raise InputError(_source(study), [*problems, *error.problems]) from None
    if problems:
        raise InputError(_source(study), problems)
    idle = [name for name in given if unused_note(name) in changed.notes]
    if idle:
        message = "changes nothing: what depends on it binds it, by at or over, or nothing does"
        raise InputError(_source(study), [Problem(name, message) for name in idle])
    return replace(changed, notes=(*changed.notes, *_beyond(study, changed, given)))


def _beyond(study: ResolvedStudy, changed: ResolvedStudy, names: Iterable[str]) -> Iterator[str]:
    """Yield a note on each variable that is held at a value that its space does not have."""
    for name in names:
        variable = study.evaluator.space.variables.get(name)
        now = changed.evaluator.space.variables.get(name)
        if variable is None or isinstance(variable, Choice) or now is None:
            continue
        value = float(now.from_unit(np.zeros(1))[0])
        low, high, there = variable_range(variable, np.array([value]))
        if not there.all():
            unit = study.evaluator.model_graph.quantities[name].unit
            ends = f"{show(low, unit)} to {show(high, unit)}"
            where = f"a value between {ends}" if low < value < high else f"outside {ends}"
            yield f"space.{name}: {show(value, unit)} is {where}, the space of the study"


def with_row(study: ResolvedStudy, key: str, row: str, values: Mapping[str, Any]) -> ResolvedStudy:
    """Return a study in which some values of a row are others.

    `key`: the entry of ``[space]`` or ``[inputs]`` that takes the row. `values`: by quantity: the
    text or number of a file, such as ``"1 us"``.

    InputError if there is no such entry, row or value, or a value cannot be; with every problem.
    """
    problems: list[Problem] = []
    own = {name: as_toml_content(value, name, problems) for name, value in values.items()}
    if not own:
        problems.append(Problem(row, "no value is given", 'such as latency="1 us"'))
    for section in ("space", "inputs"):
        entries = study.content.get(section, {})
        entry = entries.get(key)
        if not problems and isinstance(entry, Mapping) and {"catalog", "rows"} & entry.keys():
            changed = _with_values(f"{section}.{key}", entry, row, own, problems)
            if not problems:
                return rewrite_study(study, {**study.content, section: {**entries, key: changed}})
    raise InputError(_source(study), problems or [_without_rows(study, key)])


def _with_values(
    where: str,
    entry: Mapping[str, Any],
    row: str,
    own: Mapping[str, Any],
    problems: list[Problem],
) -> dict[str, Any]:
    """Return an entry whose row has other values."""
    if "rows" in entry:
        if row not in entry["rows"]:
            problems.append(Problem(where, f"has no row '{row}'", nearest(row, entry["rows"])))
            return {}
        before = entry["rows"][row]
        problems += [
            Problem(where, f"the row '{row}' has no value '{name}'", nearest(name, before))
            for name in own
            if name not in before
        ]
        return {**entry, "rows": {**entry["rows"], row: {**before, **own}}}
    overrides = entry.get("override", {})
    if "row" not in entry:
        return {**entry, "override": {**overrides, row: {**overrides.get(row, {}), **own}}}
    if entry["row"] != row:
        remedy = f"another row is another input: with_inputs({where.partition('.')[2]}={{...}})"
        problems.append(Problem(where, f"is the row '{entry['row']}', not '{row}'", remedy))
    return {**entry, "override": {**overrides, **own}}


def _without_rows(study: ResolvedStudy, key: str) -> Problem:
    entries = {**study.content.get("inputs", {}), **study.content.get("space", {})}
    takers = [
        k for k, e in entries.items() if isinstance(e, Mapping) and {"catalog", "rows"} & {*e}
    ]
    return Problem(key, "is not an entry that takes rows", nearest(key, takers))


def list_limits(study: ResolvedStudy) -> dict[str, tuple[int, str]]:
    """Return the limits of a study's constraints: by name, the position of its table and the key.

    A relation is one limit, named by its text in the study.
    """
    found: dict[str, tuple[int, str]] = {}
    for position, table in enumerate(study.content.get("constraint", [])):
        for key in table.keys() & {"at_most", "at_least", "relation"}:
            whole = key == "relation"
            name = table[key] if whole else f"{table.get('quantity')} {key.replace('_', ' ')}"
            found.setdefault(
                name if name not in found else f"{name} ({position + 1})", (position, key)
            )
    return found


def with_limits(study: ResolvedStudy, given: Mapping[str, Any]) -> ResolvedStudy:
    """Return a study in which some limits of constraints are others.

    `given`: by name, as in `list_limits`: the text or number of a file, such as ``"300 kLUT"``; for
    a relation, the whole relation.

    InputError if there is no such limit, or a value cannot be; with every problem.
    """
    known, problems = list_limits(study), list[Problem]()
    tables = [dict(table) for table in study.content.get("constraint", [])]
    for name, value in given.items():
        if name in known:
            position, key = known[name]
            tables[position][key] = as_toml_content(value, name, problems)
        else:
            problems.append(Problem(name, "is not a limit of a constraint", nearest(name, known)))
    if problems:
        raise InputError(_source(study), problems)
    return rewrite_study(study, {**study.content, "constraint": tables})


def inputs_of_rows(study: ResolvedStudy) -> dict[str, str]:
    """Return for each value that a row of ``[inputs]`` changes the entry that takes the row."""
    folder = study.path.parent if study.path else None
    found: dict[str, str] = {}
    for key, entry in study.file.inputs.items():
        if isinstance(entry, CatalogRow):
            catalog = load_catalog(find_catalog(entry.catalog, folder))
            names = (entry.rename.get(n, n) for n in catalog.rows[entry.row].values)
            found |= dict.fromkeys(names, key)
    return found


def _held(name: str, table: Any, value: Any, problems: list[Problem]) -> dict[str, Any]:
    """Return a variable with one value, or one option."""
    if "subsets" in table:
        parts = value.split(" + ") if isinstance(value, str) else value
        return {**table, "of": parts, "least": len(parts), "most": len(parts)}
    if "catalog" in table:
        override = {k: v for k, v in table.get("override", {}).items() if k == value}
        return {**table, "options": [value], "override": override}
    if "rows" in table:
        if value not in table["rows"]:
            near = nearest(str(value), table["rows"])
            problems.append(Problem(name, f"there is no option {value!r}", near))
            return {**table}
        return {"rows": {value: table["rows"][value]}}
    return {"values": [value]}


def _source(study: ResolvedStudy) -> str:
    return str(study.path or study.name)
