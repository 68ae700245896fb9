"""A folder of tables: ``functions.csv``, ``transfers.csv`` and ``calls.csv``.

Any tool that measures functions and the bytes between them can write these tables. The last
table may be absent; without it every function is a program by itself, with no callees.
"""

from __future__ import annotations

import csv
import math
from dataclasses import replace
from pathlib import Path

import numpy as np

from dse.model import Array
from dse.model.values import plural
from dse.problems import InputError, Problem, nearest
from objectives.programs.counts import Calls, Counts

FUNCTIONS, TRANSFERS, CALLS = "functions.csv", "transfers.csv", "calls.csv"
_COLUMNS = {
    FUNCTIONS: (("function", "invocations", "computation", "local_bytes"), ("code",)),
    TRANSFERS: (("from", "to", "bytes"), ()),
    CALLS: (("caller", "function", "calls"), ()),
}
_TEXTS = ("function", "from", "to", "caller")
_UNITS = {"local_bytes": "B", "bytes": "B", "computation": "instructions", "code": "instructions"}
Row = dict[str, str | float]


def read_tables(folder: Path) -> Counts:
    """Read a folder of tables with the columns of `_COLUMNS`; the last of functions may be absent.

    A name in brackets in the column "from", such as ``(input)``, is an origin of data, not a
    function. Rows of one pair add up. InputError has file, line and column of all that is wrong.
    """
    rows = _checked(folder)
    own = [str(row["function"]) for _, row in rows[FUNCTIONS]]
    names = (*own, *sorted({str(row["from"]) for _, row in rows[TRANSFERS]} - set(own)))
    at = {name: i for i, name in enumerate(names)}
    invocations, computation, local_bytes, code = (
        _column(rows[FUNCTIONS], key, len(names))
        for key in ("invocations", "computation", "local_bytes", "code")
    )
    transfers = np.zeros((len(names), len(names)))
    for _, row in rows[TRANSFERS]:
        transfers[at[str(row["from"])], at[str(row["to"])]] += float(row["bytes"])
    calls: dict[tuple[int, int], Calls] = {}
    for _, row in rows[CALLS]:
        pair, more = (at[str(row["caller"])], at[str(row["function"])]), float(row["calls"])
        count = calls[pair].times + more if pair in calls else more
        calls[pair] = Calls(count, count)
    missing = ["transfers of a function with its callees are sums over functions, not measured"]
    if not (folder / CALLS).exists():
        missing.append(f"there is no {CALLS}: each function is taken to call none")
    return Counts(
        folder.name,
        names,
        len(own),
        invocations,
        computation,
        local_bytes,
        code,
        transfers,
        calls,
        tuple(missing),
        frozenset() if any("code" in row for _, row in rows[FUNCTIONS]) else frozenset({"code"}),
    )


def _checked(folder: Path) -> dict[str, list[tuple[int, Row]]]:
    """Return the rows of all tables with their lines, or raise what is wrong with them."""
    problems: list[Problem] = []
    rows = {name: _table(folder / name, problems) for name in (FUNCTIONS, TRANSFERS)}
    rows[CALLS] = _table(folder / CALLS, problems) if (folder / CALLS).exists() else []
    own = [str(row["function"]) for _, row in rows[FUNCTIONS]]
    _check_names(rows, own, problems)
    if not own and not problems:
        problems.append(Problem(FUNCTIONS, "has no rows", "one for each function"))
    if problems:
        raise InputError(str(folder), problems)
    return rows


def _column(rows: list[tuple[int, Row]], key: str, size: int) -> Array:
    """Return a column, 0 for the origins, which come last."""
    column = np.zeros(size)
    column[: len(rows)] = [float(row.get(key, 0.0)) for _, row in rows]
    return column


def _table(path: Path, problems: list[Problem]) -> list[tuple[int, Row]]:
    """Return the rows with their lines in the file."""
    name, (needed, optional) = path.name, _COLUMNS[path.name]
    if not path.exists():
        have = [p.name for p in path.parent.iterdir()]
        problems.append(Problem(name, "there is no such file in the folder", nearest(name, have)))
        return []
    with path.open(encoding="utf-8-sig", newline="") as file:
        try:
            lines = [[cell.strip() for cell in cells] for cells in csv.reader(file, strict=True)]
        except (csv.Error, UnicodeDecodeError) as error:
            problems.append(Problem(name, f"is not a table of comma-separated values: {error}"))
            return []
    header, known, line1 = lines[0] if lines else [], (*needed, *optional), f"{name}: line 1"
    wrong = [
        Problem(line1, f"unknown column '{column}'", nearest(column, known))
        if column not in known
        else Problem(line1, f"column '{column}' is there twice")
        for i, column in enumerate(header)
        if column not in known or column in header[:i]
    ]
    wrong += [
        Problem(line1, f"column '{column}' is missing", f"columns: {', '.join(known)}")
        for column in needed
        if column not in header
    ]
    problems += wrong
    if wrong:
        return []
    rows = []
    for number, cells in enumerate(lines[1:], 2):
        if cells and len(cells) != len(header):
            message = f"has {plural(len(cells), 'value')} for {plural(len(header), 'column')}"
            problems.append(Problem(f"{name}: line {number}", message))
        elif cells:
            row: Row = {}
            for column, cell in zip(header, cells, strict=True):
                row[column], problem = _read(column, cell)
                if problem:
                    where = f"{name}: line {number}, column '{column}'"
                    problems.append(replace(problem, where=where))
            rows.append((number, row))
    return rows


def _read(column: str, cell: str) -> tuple[str | float, Problem | None]:
    """Return a cell's text or number, and its problem; the row stays all the same."""
    if column in _TEXTS:
        return cell, None if cell else Problem("", "is empty", "name a function")
    try:
        value = float(cell)
    except ValueError:
        value = math.nan
    if 0 <= value < math.inf:
        return value, None
    unit = f" in {_UNITS[column]}" if column in _UNITS else ""
    return 0.0, Problem("", f"{cell!r} is not allowed", f"a number of at least 0{unit}")


def _check_names(
    rows: dict[str, list[tuple[int, Row]]], own: list[str], problems: list[Problem]
) -> None:
    seen: set[str] = set()
    for number, row in rows[FUNCTIONS]:
        name = str(row["function"])
        if name in seen:
            where = f"{FUNCTIONS}: line {number}, column 'function'"
            problems.append(Problem(where, f"'{name}' is there twice", "give one row per function"))
        seen.add(name)
    named = (
        (f"{table}: line {number}, column '{column}'", str(row[column]), column == "from")
        for table, columns in ((TRANSFERS, ("from", "to")), (CALLS, ("caller", "function")))
        for number, row in rows[table]
        for column in columns
        if own  # else the table of functions is what is wrong
    )
    for where, name, may_be_origin in named:
        if name not in seen and not (may_be_origin and name.startswith("(")):
            problems.append(Problem(where, f"'{name}' is not in {FUNCTIONS}", nearest(name, seen)))
