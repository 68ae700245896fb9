"""What `dse fit` does."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from dse.fit.catalog import as_catalog, as_text
from dse.fit.known_values import read_given, uses_clock
from dse.fit.measurement_fit import Fit, fit
from dse.fit.page import page
from dse.fit.queue import Load, fit_loads, load_records, load_text, read_loads
from dse.fit.series import read_series
from dse.problems import InputError, Problem
from dse.result.files import write_text

_KINDS: Mapping[str, tuple[str, tuple[str, ...]]] = {
    "-o": ("a catalog is a TOML file", (".toml",)),
    "--html": ("a page is an HTML file", (".html", ".htm")),
    "--json": ("data are a JSON file", (".json",)),
}
_ENDINGS = (".csv", ".tsv", ".txt", *(end for _, ends in _KINDS.values() for end in ends))


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
    known = _options(given, list(_target_problems(table, targets, force)))
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
        _write_records(record, {each.series.name: each.record() for each in fits})
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


def _target_problems(
    table: Path, targets: Mapping[str, Path | None], force: bool
) -> Iterator[Problem]:
    """Yield why files cannot be written.

    Parameters
    ----------
    table : Path
        The measured times.
    targets : mapping of str to (Path or None)
        What to write, by option: ``-o``, ``--html`` and ``--json``.
    force : bool
        Whether files that are there may be replaced; the table may not.
    """
    taken = {table.resolve(): "the table of times itself"}
    for option, target in targets.items():
        if target is None:
            continue
        place = target.resolve()
        if place in taken:
            yield Problem(option, f"{target} is {taken[place]}", "give a name of its own")
        else:
            yield from _problem(option, target, force)
        taken.setdefault(place, f"what {option} writes")


def _problem(option: str, target: Path, force: bool) -> Iterator[Problem]:
    """Yield what is wrong with one file, at most one problem."""
    kind, endings = _KINDS[option]
    if target.is_dir():
        remedy = f"give the name of a file, such as {target / f'fit{endings[0]}'}"
        yield Problem(option, f"{target} is a folder", remedy)
    elif target.suffix not in endings:
        known = target.suffix in _ENDINGS
        right = target.with_name((target.stem if known else target.name) + endings[0])
        message = f"{target} does not end in {' or '.join(endings)}"
        yield Problem(option, message, f"{kind}: {right}")
    elif not target.parent.is_dir():
        yield Problem(option, f"there is no folder {target.parent}", "make it first")
    elif target.exists() and not force:
        yield Problem(option, f"{target} is there already", "--force replaces it")
