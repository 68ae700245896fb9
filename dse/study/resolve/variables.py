"""Variables: the space, checked against the domains of the quantities."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np

from dse.evaluate.space import SUBSET, Choice, Integer, Real, Values, Variable
from dse.model.values import plural, show
from dse.problems import nearest
from dse.study.findings import Place
from dse.study.input_value import InputValue
from dse.study.resolve.entries import Entries, Rows
from dse.study.resolve.inputs import Inputs
from dse.study.resolve.scope import Scope, declarations
from dse.study.resolve.uncertainty import resolve_fit, resolve_value
from dse.study.schema import (
    CatalogTable,
    IntegerTable,
    RealTable,
    RowsTable,
    StudyFile,
    SubsetsTable,
    ValuesTable,
    input_value,
)

_Numeric: TypeAlias = RealTable | IntegerTable | ValuesTable
_MAX_PARTS = 12  # parts of which each subset is an option
_EXACT = 2**53  # whole numbers are floats without loss up to there


@dataclass(frozen=True)
class Variables:
    """The variables of a study.

    Parameters
    ----------
    space : mapping of str to Variable
        By name.
    rows : mapping of str to Rows
        The input values of the rows that a variable chooses, in base units, by option.
    """

    space: Mapping[str, Variable]
    rows: Mapping[str, Rows]


def resolve_variables(file: StudyFile, scope: Scope, entries: Entries, inputs: Inputs) -> Variables:
    """Read ``[space]``; a variable with a problem is left out."""
    space: dict[str, Variable] = {}
    chosen: dict[str, Rows] = {}
    for key, table in file.space.items():
        place = Place("space") / key
        variable: Variable | None = None
        if isinstance(table, CatalogTable | RowsTable):
            rows = _resolve_rows(scope, place, key, table, entries)
            if rows:
                chosen[key] = rows
                numbers = {o: {n: float(v.value) for n, v in r.items()} for o, r in rows.items()}
                variable = Choice(numbers)
        elif isinstance(table, SubsetsTable):
            variable = _subsets(scope, place, table, inputs)
        elif key in scope.wiring.quantities:
            variable = _numeric(scope, place, key, table)
        else:
            scope.add_unknown(place, key, "variable")
            kind, numbers_ = _numbers(table)
            for i, number in enumerate(numbers_):
                scope.check_text(place / kind / i, number)
        if variable is not None:
            space[key] = variable
    return Variables(space, chosen)


def _numbers(table: _Numeric) -> tuple[str, Sequence[float | str]]:
    """Return the key of a variable's numbers, and the numbers."""
    match table:
        case ValuesTable():
            return "values", table.values
        case IntegerTable():
            return "integer", table.integer
        case RealTable():
            return "real", table.real


def _numeric(scope: Scope, place: Place, key: str, table: _Numeric) -> Variable | None:
    """Read a variable that is a number; None, after a problem, if it cannot be."""
    kind, written = _numbers(table)
    unit = scope.wiring.quantities[key].unit
    read = [scope.number(place / kind / i, key, n, unit) for i, n in enumerate(written)]
    numbers = [number for number in read if number is not None]
    if len(numbers) < len(read):
        return None
    if isinstance(table, ValuesTable):
        twice = next((v for v in numbers if numbers.count(v) > 1), None)
        if twice is not None:
            scope.add(place / kind, f"{show(twice, unit)} is listed twice")
            return None
        inside = scope.in_domain(place / kind, key, np.array(numbers))
        return Values(tuple(numbers)) if inside else None
    low, high = numbers
    if not _check_range(scope, place / kind, key, low, high, table.log):
        return None
    if isinstance(table, IntegerTable):
        if max(abs(low), abs(high)) > _EXACT:
            message, remedy = "a bound is beyond 2^53", "whole numbers are exact up to there"
            scope.add(place / kind, message, remedy)
            return None
        return Integer(int(low), int(high), table.step, table.log)
    if any(quantity.integer for quantity, _ in declarations(scope.wiring, key)):
        scope.add(place / kind, f"{key} is a whole number", "write integer = [low, high]")
        return None
    if table.steps == 1 and low < high:
        scope.add(place / "steps", "one step cannot hold both bounds", "give steps >= 2")
        return None
    return Real(low, high, table.log, 1 if low == high else table.steps)


def _check_range(scope: Scope, place: Place, key: str, low: float, high: float, log: bool) -> bool:
    """Check that two bounds are in order and in the quantity's domain."""
    unit = scope.wiring.quantities[key].unit
    if low > high:
        message = f"low = {show(low, unit)} is greater than high = {show(high, unit)}"
        scope.add(place, message, f"write {place.steps[-1]} = [low, high], the lesser first")
        return False
    if log and low <= 0:
        message = f"low = {show(low, unit)} has no logarithm"
        scope.add(place, message, "with log = true, low must be greater than 0")
        return False
    return scope.in_domain(place, key, np.array([low, high]))


def _resolve_rows(
    scope: Scope, place: Place, key: str, table: CatalogTable | RowsTable, entries: Entries
) -> Rows:
    """Read the rows of a variable; empty, after a problem, if it has none that a model takes."""
    known = scope.wiring.quantities
    fits = entries.fits["space"].get(key, {})
    if isinstance(table, RowsTable):
        place /= "rows"
        written = {o: {n: input_value(v) for n, v in row.items()} for o, row in table.rows.items()}
        for option, row in written.items():
            for name in row.keys() - known.keys():
                scope.add_unknown(place / option / name, name, "input")
                scope.check_text(place / option / name, row[name].written)
    else:
        written = entries.rows["space"][key]
        for option, own in table.override.items():
            for name in own.keys() - known.keys():
                where = place / "override" / option / name
                scope.add(where, f"no model takes '{name}'", "leave it out")
    names = _common_quantities(scope, place, written)
    if written and not names:
        every = sorted({name for row in written.values() for name in row})
        message = "no model takes any quantity that its rows set"
        scope.add(place, message, f"rows set: {', '.join(every)}")
    rows: Rows = {}
    for option, row in written.items():
        values: dict[str, InputValue] = {}
        for name in (n for n in row if n in names):
            value = resolve_value(scope, place / option / name, name, row[name])
            if value is not None:
                values[name] = value
        if option in fits:
            values |= resolve_fit(scope, place / option, fits[option], values)
        rows[option] = values
    return rows if names else {}


def _common_quantities(scope: Scope, place: Place, written: Rows) -> set[str]:
    """Return the quantities that rows set and that a model takes; check that all rows do."""
    sets = {o: row.keys() & scope.wiring.quantities.keys() for o, row in written.items()}
    every = set[str]().union(*sets.values())
    for option, names in sets.items():
        if absent := sorted(every - names):
            scope.add(
                place / option,
                f"does not set {', '.join(absent)}, which other options set",
                "all options of a variable set the same quantities: leave it out, or add them",
            )
    return every


def _subsets(scope: Scope, place: Place, table: SubsetsTable, inputs: Inputs) -> Choice | None:
    """Read a variable whose options are subsets of the named parts of a file."""
    name = table.subsets
    if name not in inputs.parts:
        if name not in scope.wiring.quantities:
            scope.add_unknown(place / "subsets", name, "quantity")
        elif not scope.findings.count:
            remedy = f"inputs with named parts: {', '.join(inputs.parts) or 'none'}"
            scope.add(place / "subsets", f"'{name}' chooses no named parts", remedy)
        return None
    parts, before = inputs.parts[name], scope.findings.count
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
    if scope.findings.count > before or not bits:
        return None
    for included, without in inputs.included.get(name, {}).items():
        if table.of is not None and set(table.of) <= set(without) - {included}:
            text = f"names neither '{included}', which is included, nor what needs that"
            scope.findings.note(f"{place / 'of'}: {text}")
    most = len(bits) if table.most is None else table.most
    if table.least > min(most, len(bits)):
        some = plural(len(bits), "part")
        message = f"no subset of {some} has {table.least} or more and {most} or fewer"
        scope.add(place, message, "give least <= most")
        return None
    rows: dict[str, Mapping[str, float]] = {}
    for number in range(2 ** len(bits)):
        chosen = [bit for k, bit in enumerate(bits) if number >> k & 1]
        if not table.least <= len(chosen) <= most:
            continue
        text = " + ".join(parts[bit] for bit in chosen) or "none"
        rows[text] = {name: float(sum(1 << bit for bit in chosen))}
    return Choice(rows, SUBSET)
