"""Variables: what the space may set, checked against the quantities' domains."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import numpy as np

from dse.evaluate.space import Choice, Integer, Real, Values, Variable
from dse.evaluate.wiring import Wiring
from dse.model.units import show
from dse.study.resolve.context import Context, declarations
from dse.study.resolve.inputs import catalog_rows, check_rename, renamed
from dse.study.schema import CatalogTable, IntegerTable, RealTable, RowsTable, ValuesTable


def resolve_variables(
    ctx: Context, wiring: Wiring, constants: Mapping[str, Any]
) -> dict[str, Variable]:
    """Read ``[space]``; a variable with a problem is left out."""
    clock = constants.get("clock")
    variables: dict[str, Variable] = {}
    for key, table in ctx.file.space.items():
        where = f"space.{key}"
        variable: Variable | None
        if isinstance(table, CatalogTable | RowsTable):
            variable = _choice(ctx, wiring, where, table, clock)
        elif key not in wiring.quantities:
            ctx.unknown(wiring, where, key, "variable")
            continue
        else:
            variable = _numeric(ctx, wiring, where, key, table, clock)
        if variable is None:
            ctx.incomplete = True
        else:
            variables[key] = variable
    return variables


def _numeric(
    ctx: Context,
    wiring: Wiring,
    where: str,
    key: str,
    table: RealTable | IntegerTable | ValuesTable,
    clock: float | None,
) -> Variable | None:
    unit = wiring.quantities[key].unit
    if isinstance(table, ValuesTable):
        read_in = [ctx.number(f"{where}.values", key, v, unit, clock) for v in table.values]
        numbers = tuple(v for v in read_in if v is not None)
        if len(numbers) < len(read_in):
            return None
        if len(set(numbers)) < len(numbers):
            twice = next(v for v in numbers if numbers.count(v) > 1)
            ctx.add(f"{where}.values", f"{show(twice, unit)} stands there twice")
            return None
        return Values(numbers) if ctx.in_domain(wiring, where, key, np.array(numbers)) else None
    kind = "real" if isinstance(table, RealTable) else "integer"
    pair = table.real if isinstance(table, RealTable) else table.integer
    bounds = [ctx.number(f"{where}.{kind}", key, v, unit, clock) for v in pair]
    low, high = bounds
    if low is None or high is None:
        return None
    if low > high:
        ctx.add(
            f"{where}.{kind}",
            f"low = {show(low, unit)} is greater than high = {show(high, unit)}",
            f"write {kind} = [low, high], the lesser first",
        )
        return None
    if math.isinf(low) or math.isinf(high):
        ctx.add(f"{where}.{kind}", "a bound is infinite", "give finite bounds")
        return None
    if table.log and low <= 0:
        ctx.add(
            f"{where}.{kind}",
            f"low = {show(low, unit)} has no logarithm",
            "with log = true, low must be greater than 0",
        )
        return None
    if not ctx.in_domain(wiring, f"{where}.{kind}", key, np.array([low, high])):
        return None
    if isinstance(table, IntegerTable) and max(abs(low), abs(high)) > 2**53:
        ctx.add(f"{where}.integer", "a bound is beyond 2^53", "whole numbers are exact up to there")
        return None
    if isinstance(table, IntegerTable):
        return Integer(int(low), int(high), table.step, table.log)
    if any(q.integer for q in declarations(wiring, key)):
        ctx.add(f"{where}.real", f"{key} is a whole number", "write integer = [low, high]")
        return None
    if table.steps == 1 and low < high:
        ctx.add(f"{where}.steps", "one step cannot hold both bounds", "give steps >= 2")
        return None
    return Real(low, high, table.log, 1 if low == high else table.steps)


def _choice(
    ctx: Context,
    wiring: Wiring,
    where: str,
    table: CatalogTable | RowsTable,
    clock: float | None,
) -> Choice | None:
    if isinstance(table, RowsTable):
        listed = {o: list(row.items()) for o, row in table.rows.items()}
        for option, figures in listed.items():
            for name, _ in figures:
                if name not in wiring.quantities:
                    ctx.unknown(wiring, f"{where}.rows.{option}.{name}", name, "input")
    else:
        if table.options and len(set(table.options)) < len(table.options):
            twice = next(o for o in table.options if table.options.count(o) > 1)
            ctx.add(f"{where}.options", f"'{twice}' stands there twice")
            return None
        rows = catalog_rows(ctx, where, table.catalog, table.options)
        check_rename(ctx, where, rows, table.rename)
        listed = {
            o: [(n, f.text) for n, f in renamed(row, table.rename)] for o, row in rows.items()
        }
        if (table.options and len(rows) < len(table.options)) or not rows:
            return None
    sets = {o: {n for n, _ in figures if n in wiring.quantities} for o, figures in listed.items()}
    every = set().union(*sets.values())
    if not every:
        if not ctx.incomplete:
            ctx.add(
                where,
                "no model takes any quantity that its rows set",
                f"rows set: {', '.join(sorted({n for f in listed.values() for n, _ in f}))}",
            )
        return None
    short = {o: every - names for o, names in sets.items() if every - names}
    for option, absent in short.items():
        ctx.add(
            f"{where}.{option}",
            f"does not set {', '.join(sorted(absent))}, which other options set",
            "all options of a variable set the same quantities: leave it out, or add them",
        )
    if short:
        return None
    converted: dict[str, dict[str, float]] = {}
    for option, figures in listed.items():
        converted[option] = {}
        for name, number in figures:
            if name in every:
                unit = wiring.quantities[name].unit
                value = ctx.number(f"{where}.{option}.{name}", name, number, unit, clock)
                if value is not None and ctx.in_domain(
                    wiring, f"{where}.{option}.{name}", name, value
                ):
                    converted[option][name] = value
    if any(len(row) < len(every) for row in converted.values()):
        return None
    return Choice(converted)
