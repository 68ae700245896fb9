"""Variables: what the space may set, checked against the quantities' domains."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import TypeAlias

import numpy as np

from dse.evaluate.space import SUBSET, Choice, Integer, Real, Values, Variable
from dse.evaluate.wiring import Wiring
from dse.model.values import plural, show
from dse.problems import nearest
from dse.study.catalog import Figure, Together
from dse.study.provenance import origin_of
from dse.study.resolve.context import Context, declarations
from dse.study.resolve.rows import rows_of, together_of
from dse.study.resolve.uncertain import read_figure, read_together
from dse.study.schema import (
    CatalogTable,
    IntegerTable,
    RealTable,
    RowsTable,
    SubsetsTable,
    ValuesTable,
)
from dse.study.uncertain import UncertainTable

Numeric: TypeAlias = RealTable | IntegerTable | ValuesTable
Written: TypeAlias = Mapping[str, Mapping[str, float | str | UncertainTable]]
"""For each option, its quantities and their numbers as written."""
_MOST_PARTS = 12
_EXACT = 2**53  # whole numbers are floats without loss up to there


def resolve_variables(ctx: Context, wiring: Wiring) -> dict[str, Variable]:
    """Read ``[space]``; a variable with a problem is left out."""
    variables: dict[str, Variable] = {}
    for key, table in ctx.file.space.items():
        variable: Variable | None = None
        if isinstance(table, CatalogTable | RowsTable):
            variable = _choice(ctx, wiring, key, table)
        elif isinstance(table, SubsetsTable):
            variable = _subsets(ctx, wiring, f"space.{key}", table)
        elif key in wiring.quantities:
            variable = _numeric(ctx, wiring, key, table)
        else:
            _undeclared(ctx, wiring, key, table)
        if variable is not None:
            variables[key] = variable
    return variables


def _undeclared(ctx: Context, wiring: Wiring, key: str, table: Numeric) -> None:
    """Check what can be checked of a variable that no model takes."""
    ctx.unknown(wiring, f"space.{key}", key, "variable")
    kind, numbers = _numbers(table)
    for i, number in enumerate(numbers):
        ctx.readable(f"space.{key}.{kind}[{i + 1}]", number)


def _numeric(ctx: Context, wiring: Wiring, key: str, table: Numeric) -> Variable | None:
    """Read a variable that is a number; None, and a problem, if it cannot be."""
    kind, written = _numbers(table)
    where = f"space.{key}.{kind}"
    unit = wiring.quantities[key].unit
    clock = wiring.constants.get("clock")
    read = [
        ctx.number(f"{where}[{i + 1}]", key, number, unit, clock)
        for i, number in enumerate(written)
    ]
    numbers = [number for number in read if number is not None]
    ctx.doubtful.add(key)  # if it is left out, it is not missing as well
    if len(numbers) < len(read):
        return None
    if isinstance(table, ValuesTable):
        return _values(ctx, wiring, where, key, numbers)
    if not _range(ctx, wiring, where, key, numbers, table.log):
        return None
    if isinstance(table, IntegerTable):
        return _integer(ctx, where, numbers, table)
    return _real(ctx, wiring, where, key, numbers, table)


def _numbers(table: Numeric) -> tuple[str, Sequence[float | str]]:
    """Return the key of a variable's numbers, and the numbers."""
    match table:
        case ValuesTable():
            return "values", table.values
        case IntegerTable():
            return "integer", table.integer
        case RealTable():
            return "real", table.real


def _values(
    ctx: Context, wiring: Wiring, where: str, key: str, numbers: Sequence[float]
) -> Values | None:
    twice = next((v for v in numbers if numbers.count(v) > 1), None)
    if twice is not None:
        ctx.add(where, f"{show(twice, wiring.quantities[key].unit)} is listed twice")
        return None
    inside = ctx.in_domain(wiring, where, key, np.array(numbers))
    return Values(tuple(numbers)) if inside else None


def _range(
    ctx: Context, wiring: Wiring, where: str, key: str, bounds: Sequence[float], log: bool
) -> bool:
    """Require two bounds of a quantity's domain, in order."""
    low, high = bounds
    unit = wiring.quantities[key].unit
    if low > high:
        ctx.add(
            where,
            f"low = {show(low, unit)} is greater than high = {show(high, unit)}",
            f"write {where.rpartition('.')[2]} = [low, high], the lesser first",
        )
        return False
    if math.isinf(low) or math.isinf(high):
        ctx.add(where, "a bound is infinite", "give finite bounds")
        return False
    if log and low <= 0:
        message = f"low = {show(low, unit)} has no logarithm"
        ctx.add(where, message, "with log = true, low must be greater than 0")
        return False
    return ctx.in_domain(wiring, where, key, np.array([low, high]))


def _integer(
    ctx: Context, where: str, bounds: Sequence[float], table: IntegerTable
) -> Integer | None:
    if max(abs(bound) for bound in bounds) > _EXACT:
        ctx.add(where, "a bound is beyond 2^53", "whole numbers are exact up to there")
        return None
    low, high = (int(bound) for bound in bounds)
    return Integer(low, high, table.step, table.log)


def _real(
    ctx: Context,
    wiring: Wiring,
    where: str,
    key: str,
    bounds: Sequence[float],
    table: RealTable,
) -> Real | None:
    low, high = bounds
    if any(quantity.integer for quantity, _ in declarations(wiring, key)):
        ctx.add(where, f"{key} is a whole number", "write integer = [low, high]")
        return None
    if table.steps == 1 and low < high:
        ctx.add(f"space.{key}.steps", "one step cannot hold both bounds", "give steps >= 2")
        return None
    return Real(low, high, table.log, 1 if low == high else table.steps)


def _choice(
    ctx: Context, wiring: Wiring, key: str, table: CatalogTable | RowsTable
) -> Choice | None:
    """Read a variable that chooses a row; None, and a problem, if it cannot be."""
    before = len(ctx.problems)
    where, held = f"space.{key}", dict[str, Together]()
    if isinstance(table, RowsTable):
        where = f"{where}.rows"
        written = _written_here(ctx, wiring, where, table)
    else:
        written = _of_catalog(ctx, where, table)
        held = together_of(ctx, where, table) if written else {}
    names = _common(ctx, wiring, where, written)
    ctx.origins |= {(key, o, n): origin_of(v) for o, row in written.items() for n, v in row.items()}
    rows = {o: _row(ctx, wiring, f"{where}.{o}", n, names) for o, n in written.items()}
    for option, together in held.items():
        if option in rows:
            read_together(ctx, wiring, f"{where}.{option}", together, rows[option])
    if written and not names and len(ctx.problems) == before and not ctx.unseen:
        every = {name for numbers in written.values() for name in numbers}
        message = "no model takes any quantity that its rows set"
        ctx.add(where, message, f"rows set: {', '.join(sorted(every))}")
    if len(ctx.problems) > before or not names or any(len(r) < len(names) for r in rows.values()):
        ctx.doubtful.update(names)
        return None
    return Choice(rows)


def _subsets(ctx: Context, wiring: Wiring, where: str, table: SubsetsTable) -> Choice | None:
    """Read a variable that chooses a subset of named parts; None, and a problem, if it cannot be.

    Its options are named by their parts, in the order of the resource.
    """
    name = table.subsets
    ctx.doubtful.add(name)
    if name not in ctx.parts:
        if name not in wiring.quantities:
            ctx.unknown(wiring, f"{where}.subsets", name, "quantity")
        elif not ctx.problems:
            remedy = f"those that do: {', '.join(ctx.parts) or 'none'}"
            ctx.add(f"{where}.subsets", f"'{name}' chooses no named parts", remedy)
        return None
    parts, wrong = ctx.parts[name], len(ctx.problems)
    for part in table.of or ():
        if part not in parts and part in ctx.kept:
            why, remedy = ctx.kept[part]
            ctx.add(f"{where}.of", f"'{part}' is not to choose: {why}", remedy)
        elif part not in parts:
            ctx.add(f"{where}.of", f"there is no part '{part}' to choose", nearest(part, parts))
    bits = [bit for bit, part in enumerate(parts) if table.of is None or part in table.of]
    if len(bits) > _MOST_PARTS:
        message = f"{len(bits)} parts have {2 ** len(bits):,} subsets"
        ctx.add(where, message, f"name {_MOST_PARTS} of them at most: of = [...]")
        return None
    if len(ctx.problems) > wrong or not bits:
        return None
    for included, without in ctx.included.get(name, {}).items():
        if table.of is not None and set(table.of) <= set(without) - {included}:
            told = f"names neither '{included}', which is included, nor what needs that"
            ctx.notes.append(f"{where}.of: {told}")
    most = len(bits) if table.most is None else table.most
    if table.least > min(most, len(bits)):
        some = plural(len(bits), "part")
        message = f"no subset of {some} has {table.least} or more and {most} or fewer"
        ctx.add(where, message, "give least <= most")
        return None
    rows: dict[str, Mapping[str, float]] = {}
    for number in range(2 ** len(bits)):
        chosen = [bit for k, bit in enumerate(bits) if number >> k & 1]
        if not table.least <= len(chosen) <= most:
            continue
        text = " + ".join(parts[bit] for bit in chosen) or "none"
        rows[text] = {name: float(sum(1 << bit for bit in chosen))}
    return Choice(rows, SUBSET)


def _written_here(ctx: Context, wiring: Wiring, where: str, table: RowsTable) -> Written:
    for option, figures in table.rows.items():
        for name, number in figures.items():
            if name not in wiring.quantities:
                place = f"{where}.{option}.{name}"
                ctx.unknown(wiring, place, name, "input")
                if not isinstance(number, UncertainTable):
                    ctx.readable(place, number)
    return table.rows


def _of_catalog(ctx: Context, where: str, table: CatalogTable) -> Written:
    options = table.options or []
    if twice := next((o for o in options if options.count(o) > 1), None):
        ctx.add(f"{where}.options", f"'{twice}' is listed twice")
    rows = rows_of(ctx, where, table)
    return {
        o: {n: _given(table, o, n, figure) for n, figure in figures.items()}
        for o, figures in rows.items()
    }


def _given(
    table: CatalogTable, option: str, name: str, figure: Figure
) -> float | str | UncertainTable:
    """Return a figure of a row: what the study says of it if it is uncertain, else the row's."""
    own = table.override.get(option, {}).get(name)
    return own if isinstance(own, UncertainTable) else figure.given


def _common(ctx: Context, wiring: Wiring, where: str, written: Written) -> set[str]:
    """Return the quantities that rows set and that a model takes; requirement that all rows do."""
    sets = {option: set(numbers) & set(wiring.quantities) for option, numbers in written.items()}
    every = set[str]().union(*sets.values())
    for option, names in sets.items():
        if absent := sorted(every - names):
            ctx.add(
                f"{where}.{option}",
                f"does not set {', '.join(absent)}, which other options set",
                "all options of a variable set the same quantities: leave it out, or add them",
            )
    return every


def _row(
    ctx: Context,
    wiring: Wiring,
    where: str,
    numbers: Mapping[str, float | str | UncertainTable],
    names: set[str],
) -> dict[str, float]:
    """Read the numbers of a row that some model takes; those with a problem are left out."""
    clock = wiring.constants.get("clock")
    found: dict[str, float] = {}
    for name, number in numbers.items():
        if name in names:
            value = read_figure(ctx, wiring, f"{where}.{name}", name, number, clock)
            if value is not None:
                found[name] = value
    return found
