"""Variables: the space, checked against the domains of the quantities."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from dse.evaluate.space import SUBSET, Choice, Integer, Real, Values, Variable
from dse.model.values import join_words, plural, show
from dse.problems import nearest
from dse.study.findings import Place
from dse.study.resolve.inputs import Entries, Inputs, Rows, check_overrides
from dse.study.resolve.scope import Scope, is_whole
from dse.study.resolve.uncertainty import resolve_joint_fit, resolve_value
from dse.study.schema import (
    CatalogTable,
    InputValue,
    IntegerTable,
    RealTable,
    RowsTable,
    StudyFile,
    SubsetsTable,
    ValuesTable,
    input_value,
)

_MAX_PARTS = 12  # parts of which each subset is an option
_EXACT = 2**53  # whole numbers are floats without loss up to there


@dataclass(frozen=True)
class Variables:
    """The variables of a study.

    Parameters
    ----------
    rows : mapping of str to Rows
        The input values of the rows that a variable chooses, in base units, by option.
    """

    space: Mapping[str, Variable]
    rows: Mapping[str, Rows]


def resolve_variables(
    file: StudyFile, scope: Scope, entries: Mapping[Place, Entries], inputs: Inputs
) -> Variables:
    """Read ``[space]``; a variable with a problem is left out."""
    space: dict[str, Variable] = {}
    rows_of: dict[str, Rows] = {}
    for key, table in file.space.items():
        place = Place("space") / key
        variable: Variable | None = None
        if isinstance(table, CatalogTable | RowsTable):
            rows = _resolve_rows(scope, place, table, entries.get(place))
            if rows:
                rows_of[key] = rows
                numbers = {o: {n: float(v.value) for n, v in r.items()} for o, r in rows.items()}
                found = entries.get(place)
                variable = Choice(
                    numbers, descriptions=found.descriptions if found is not None else {}
                )
        elif isinstance(table, SubsetsTable):
            variable = _resolve_subsets(scope, place, table, inputs)
        elif scope.knows(place, key, "variable"):
            variable = _resolve_number(scope, place, key, table)
        if variable is not None:
            space[key] = variable
    return Variables(space, rows_of)


# Numbers


def _resolve_number(
    scope: Scope, place: Place, key: str, table: RealTable | IntegerTable | ValuesTable
) -> Variable | None:
    """Read a variable that is a number; None, after a problem, if it cannot be."""
    if isinstance(table, ValuesTable):
        values = resolve_numbers(scope, place / "values", key, table.values)
        if not values or not scope.in_domain(place / "values", key, np.array(values)):
            return None
        if len(set(values)) == len(values):
            return Values(tuple(values))
        twice = max(values, key=values.count)
        scope.add(place / "values", f"{show(twice, scope.unit(key))} is listed twice")
        return None
    if isinstance(table, IntegerTable):
        ends = resolve_range(scope, place / "integer", key, table.integer, table.log)
        if ends is None:
            return None
        if max(map(abs, ends)) <= _EXACT:
            return Integer(int(ends[0]), int(ends[1]), table.step, table.log)
        remedy = "whole numbers are exact up to there"
        scope.add(place / "integer", "a bound is beyond 2^53", remedy)
        return None
    ends = resolve_range(scope, place / "real", key, table.real, table.log)
    if ends is None:
        return None
    if is_whole(scope.model_graph, key):
        scope.add(place / "real", f"{key} is a whole number", "write integer = [low, high]")
    elif table.steps == 1 and ends[0] < ends[1]:
        scope.add(place / "steps", "one step cannot hold both bounds", "give steps >= 2")
    else:
        return Real(*ends, table.log, 1 if ends[0] == ends[1] else table.steps)
    return None


def resolve_numbers(
    scope: Scope, place: Place, name: str, written: Sequence[float | str]
) -> list[float] | None:
    """Read numbers of a quantity in its unit; None, after a problem, if one fails."""
    unit = scope.unit(name)
    numbers = [scope.number(place / i, name, number, unit) for i, number in enumerate(written)]
    known = [number for number in numbers if number is not None]
    return known if len(known) == len(numbers) else None


def resolve_range(
    scope: Scope, place: Place, name: str, written: Sequence[float | str], log: bool
) -> tuple[float, float] | None:
    """Read [low, high], in order and in the quantity's domain; None after a problem."""
    numbers, unit = resolve_numbers(scope, place, name, written), scope.unit(name)
    if numbers is None:
        return None
    low, high = numbers
    if low > high:
        message = f"low = {show(low, unit)} is greater than high = {show(high, unit)}"
        scope.add(place, message, "write [low, high], the lesser first")
    elif log and low <= 0:
        message = f"low = {show(low, unit)} has no logarithm"
        scope.add(place, message, "on a logarithmic scale, low must be greater than 0")
    elif scope.in_domain(place, name, np.array([low, high])):
        return low, high
    return None


# Rows and subsets


def _resolve_rows(
    scope: Scope, place: Place, table: CatalogTable | RowsTable, entries: Entries | None
) -> Rows:
    """Read the rows of a variable; empty, after a problem, if it has none that a model takes."""
    quantities = scope.model_graph.quantities.keys()
    if isinstance(table, RowsTable):
        place /= "rows"
        written = {o: {n: input_value(v) for n, v in row.items()} for o, row in table.rows.items()}
        for option, row in written.items():
            for name in row:
                scope.knows(place / option / name, name, "input")
    elif entries is not None:
        written = entries.rows
        check_overrides(scope, place, table)
    else:
        return {}
    names = {name for row in written.values() for name in row}
    if not names & quantities:
        message = "no model takes any quantity that its rows set"
        scope.add(place, message, f"rows set: {', '.join(sorted(names))}")
        return {}
    _note_ignored(scope, place, written, names - quantities)
    written = _fill_defaults(scope, place, written, names & quantities)
    if isinstance(table, CatalogTable) and table.where is not None:
        written = _drop_incomplete(scope, place, written, names & quantities)
    rows: Rows = {}
    for option, row in written.items():
        if absent := sorted(names & quantities - row.keys()):
            scope.add(
                place / option,
                f"does not set {', '.join(absent)}, which other options set",
                "all options of a variable set the same quantities: leave it out, or add them",
            )
        rows[option] = {}
        for name in (n for n in row if n in quantities):
            value = resolve_value(scope, place / option / name, name, row[name])
            if value is not None:
                rows[option][name] = value
        if entries is not None and option in entries.fits:
            fit = entries.fits[option]
            rows[option] |= resolve_joint_fit(scope, place / option, fit, rows[option])
    return rows


def _note_ignored(scope: Scope, place: Place, rows: Rows, unknown: set[str]) -> None:
    """Note quantities that every entry sets, that differ, and that no model takes."""
    ignored = [
        name
        for name in sorted(unknown)
        if all(name in row for row in rows.values())
        and len({row[name].text for row in rows.values()}) > 1
    ]
    if ignored:
        text = f"no model takes {join_words(ignored)}, in which the entries differ"
        scope.findings.notes.append(f"{place}: {text}")


def _fill_defaults(scope: Scope, place: Place, rows: Rows, needed: set[str]) -> Rows:
    """Return the entries with the defaults of models for missing values; note each default."""
    defaults = {n: v for model in scope.model_graph.models for n, v in model.defaults.items()}
    for name in sorted(needed & defaults.keys()):
        lacking = [option for option, row in rows.items() if name not in row]
        if lacking:
            text = f"{name} is {defaults[name]:g}, the model's default, for {join_words(lacking)}"
            scope.findings.notes.append(f"{place}: {text}")
            value = InputValue(float(defaults[name]), source="default of a model")
            rows = {o: row if name in row else {**row, name: value} for o, row in rows.items()}
    return rows


def _drop_incomplete(scope: Scope, place: Place, rows: Rows, needed: set[str]) -> Rows:
    """Return the entries that set all of some quantities; note the others."""
    absent = {option: sorted(needed - row.keys()) for option, row in rows.items()}
    for lacking in dict.fromkeys(tuple(names) for names in absent.values() if names):
        options = [option for option, names in absent.items() if tuple(names) == lacking]
        text = f"{plural(len(options), 'entry', 'entries')} without {', '.join(lacking)}"
        scope.findings.notes.append(f"{place}: {text}: left out: {join_words(options)}")
    complete = {option: row for option, row in rows.items() if not absent[option]}
    if not complete:
        remedy = "write a condition that selects entries of one kind"
        scope.add(place / "where", f"no entry sets all of {', '.join(sorted(needed))}", remedy)
    return complete


def _resolve_subsets(
    scope: Scope, place: Place, table: SubsetsTable, inputs: Inputs
) -> Choice | None:
    """Read a variable whose options are subsets of the named parts of a file."""
    name = table.subsets
    if name not in inputs.parts:
        if scope.knows(place / "subsets", name, "quantity"):
            remedy = f"inputs with named parts: {', '.join(inputs.parts) or 'none'}"
            scope.add(place / "subsets", f"'{name}' chooses no named parts", remedy)
        return None
    parts = inputs.parts[name]
    for part in table.of or ():
        if part not in parts and part in inputs.unavailable:
            reason, remedy = inputs.unavailable[part]
            scope.add(place / "of", f"'{part}' is not to choose: {reason}", remedy)
        elif part not in parts:
            message = f"there is no part '{part}' to choose"
            scope.add(place / "of", message, nearest(part, parts))
    bits = [bit for bit, part in enumerate(parts) if table.of is None or part in table.of]
    if len(bits) > _MAX_PARTS:
        message = f"{len(bits)} parts have {2 ** len(bits):,} subsets"
        scope.add(place, message, f"name {_MAX_PARTS} of them at most: of = [...]")
        return None
    rows: dict[str, Mapping[str, float]] = {}
    for number in range(2 ** len(bits)):
        chosen = [bit for k, bit in enumerate(bits) if number >> k & 1]
        if table.least <= len(chosen) <= (len(bits) if table.most is None else table.most):
            text = " + ".join(parts[bit] for bit in chosen) or "none"
            rows[text] = {name: float(sum(1 << bit for bit in chosen))}
    if not rows:
        limits = f"{table.least} or more" + (f" and {table.most} or fewer" if table.most else "")
        message = f"no subset of {plural(len(bits), 'part')} has {limits}"
        scope.add(place, message, "give least <= most")
    return Choice(rows, SUBSET) if rows else None
