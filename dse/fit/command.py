"""What `dse fit` does."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from dse.fit.fitting import Fit, fit
from dse.fit.given import read_given, uses_clock
from dse.fit.loads import fit_loads, load_records, load_text, read_loads
from dse.fit.page import page
from dse.fit.queue import Load
from dse.fit.reading import read_series
from dse.fit.targets import target_problems
from dse.fit.written import as_catalog, as_records, as_text
from dse.problems import InputError, Problem
from dse.result.writing import write_text


def run(
    table: Path,
    by: Sequence[str] = (),
    given: Sequence[str] = (),
    record: Path | None = None,
    catalog: Path | None = None,
    html: Path | None = None,
    *,
    force: bool = False,
) -> list[str]:
    """Fit a table, write what is asked for, and return what to say.

    Parameters
    ----------
    table : Path
    by : sequence of str
        Columns that name series.
    given : sequence of str
        Known values, such as ``"overhead=5 us"``.
    record, catalog, html : Path, optional
        Files for the JSON record, the catalog and the page.
    force : bool
        Whether files that are there may be replaced.

    Raises
    ------
    InputError
        If the table, a series, a given value or a name of a file cannot be used; with all its
        problems. Nothing is written then.
    """
    targets = {"-o": catalog, "--html": html, "--json": record}
    known = _options(given, list(target_problems(table, targets, force)))
    if (loads := read_loads(table, by)) is not None:
        return _of_loads(loads, {"--given": given, "-o": catalog, "--html": html}, record)
    clock = known.pop("clock", None)
    series, said = read_series(table, by, clock, uses_clock(given))
    fits: list[Fit] = []
    problems: list[Problem] = []
    for each in series:
        try:
            fits.append(fit(each, known))
        except InputError as error:
            problems += [problem.inside(each.name) for problem in error.problems]
    if problems:
        raise InputError(str(table), problems)
    said = [*said, *(as_text(each) for each in fits)]
    if record is not None:
        _write_records(record, as_records(fits))
    if catalog is not None:
        write_text(catalog, as_catalog(fits, table.name))
        row = as_catalog(fits, table.name).partition("\n[")[2].partition("]")[0]
        said.append(
            f"{catalog}: in [inputs] of a study beside it, with a clock: "
            f'measured = {{ catalog = "{catalog.name}", row = "{row}" }}'
        )
    if html is not None:
        write_text(html, page(fits, table.name))
        said.append(str(html))
    return said


def _of_loads(
    loads: Sequence[Load], absent: Mapping[str, object], record: Path | None
) -> list[str]:
    """Fit queues to latency against load, and return what to say."""
    message = "is for times against sizes, not for latency against load"
    if problems := [
        Problem(option, message, "leave it out") for option in absent if absent[option]
    ]:
        raise InputError("dse fit", problems)
    fits = fit_loads(loads)
    if record is not None:
        _write_records(record, load_records(fits))
    return [load_text(each) for each in fits]


def _write_records(path: Path, records: Mapping[str, Any]) -> None:
    text = json.dumps(records, indent=2, ensure_ascii=False, allow_nan=False)
    write_text(path, text + "\n")


def _options(given: Sequence[str], problems: list[Problem]) -> dict[str, float]:
    """Return the given values; raise their problems beside those of the other options."""
    known: dict[str, float] = {}
    try:
        known = read_given(given)
    except InputError as error:
        problems = [*problems, *error.problems]
    if problems:
        raise InputError("dse fit", problems)
    return known
