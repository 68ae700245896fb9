"""The steps of `dse fit`: from a table to text, JSON, a catalog for studies and a page."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from dse.fit.measurement_fit import GIVEN_UNITS, Fit, fit, read_given
from dse.fit.page import list_values, page
from dse.fit.queue import LoadFit, fit_load, read_loads
from dse.fit.series import read_series
from dse.model.values import show
from dse.problems import InputError, Problem
from dse.result.files import write_json, write_text

_KINDS: Mapping[str, tuple[str, tuple[str, ...]]] = {
    "-o": ("a catalog is a TOML file", (".toml",)),
    "--html": ("a page is an HTML file", (".html", ".htm")),
    "--json": ("data are a JSON file", (".json",)),
}
_ENDINGS = (".csv", ".tsv", ".txt", *(end for _, ends in _KINDS.values() for end in ends))
_ALIGNED = 28  # characters of a name in the text
_NO_WORK = 1e9  # acceleration of a catalog if the accelerated time has no term of work
_LOGCA = ("computational_index", "complexity", "overhead", "latency", "latency_per_byte")


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
    """Fit a table, write the files, and return the texts to print.

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
        Whether existing files may be replaced.

    Raises
    ------
    InputError
        If the table, a series, a given value or a name of a file cannot be used; with all its
        problems. Nothing is written then.
    """
    problems = list(
        _target_problems(table, {"-o": catalog, "--html": html, "--json": record}, force)
    )
    known: dict[str, float] = {}
    try:
        known = read_given(given)
    except InputError as error:
        problems += error.problems
    if problems:
        raise InputError("dse fit", problems)
    fits: Sequence[Fit] | Sequence[LoadFit]
    texts: list[str] = []
    if (loads := read_loads(table, by)) is not None:
        message = "is for times against sizes, not for latency against load"
        useless = {"--given": given, "-o": catalog, "--html": html}
        if problems := [
            Problem(name, message, "leave it out") for name in useless if useless[name]
        ]:
            raise InputError("dse fit", problems)
        fits = [fit_load(load) for load in loads]
    else:
        fits, texts = _fit_times(table, by, known)
        if catalog is not None:
            write_text(catalog, as_catalog(fits, table.name))
        if html is not None:
            write_text(html, page(fits, table.name))
    if record is not None:
        write_json(record, {one.series.name: one.record() for one in fits})
    texts += [as_text(one) for one in fits]
    if catalog is not None:
        texts.append(
            f"{catalog}: in [inputs] of a study next to it, with a clock: measured = "
            f'{{ catalog = "{catalog.name}", row = "{_row_name(fits[0].series.name)}" }}'
        )
    return [*texts, str(html)] if html is not None else texts


def _fit_times(
    table: Path, by: Sequence[str], given: Mapping[str, float]
) -> tuple[list[Fit], list[str]]:
    """Return the fits of a table of times, and hints."""
    known = dict(given)
    series, hints = read_series(table, by, known.pop("clock", None))
    fits: list[Fit] = []
    problems: list[Problem] = []
    for one in series:
        try:
            fits.append(fit(one, known))
        except InputError as error:
            problems += [problem.inside(one.name) for problem in error.problems]
    if problems:
        raise InputError(str(table), problems)
    return fits, hints


def _target_problems(
    table: Path, targets: Mapping[str, Path | None], force: bool
) -> Iterator[Problem]:
    """Yield why files cannot be written; `targets` are by option, and never the table itself."""
    taken = {table.resolve(): "the table of times itself"}
    for option, target in targets.items():
        if target is None:
            continue
        kind, endings = _KINDS[option]
        place = target.resolve()
        if place in taken:
            yield Problem(option, f"{target} is {taken[place]}", "give its own name")
        elif target.is_dir():
            remedy = f"give the name of a file, such as {target / f'fit{endings[0]}'}"
            yield Problem(option, f"{target} is a folder", remedy)
        elif target.suffix not in endings:
            stem = target.stem if target.suffix in _ENDINGS else target.name
            message = f"{target} does not end in {' or '.join(endings)}"
            yield Problem(option, message, f"{kind}: {target.with_name(stem + endings[0])}")
        elif not target.parent.is_dir():
            yield Problem(option, f"there is no folder {target.parent}", "make it first")
        elif target.exists() and not force:
            yield Problem(option, f"{target} is there already", "--force replaces it")
        taken.setdefault(place, f"what {option} writes")


def as_text(fit: Fit | LoadFit) -> str:
    """Return a fit for people: values with intervals, then notes."""
    lines = {name: f"{value}  ({ends})" for name, value, ends in list_values(fit)}
    errors = fit.left_out
    worst = f"{errors['worst']:.1%}" if math.isfinite(errors["worst"]) else "infinite"
    lines["leave-one-out error"] = f"{errors['median']:.2%} median, {worst} worst"
    values = (f"  {name:{_ALIGNED}}{text}" for name, text in lines.items())
    return "\n".join([fit.series.name, *values, *(f"  - {note}" for note in fit.notes)])


# --------------------------------------------------------------------------------------- catalog


def as_catalog(fits: Sequence[Fit], table: str) -> str:
    """Return a catalog with a row for each series, in LogCA's quantities.

    Parameters
    ----------
    fits : sequence of Fit
    table : str
        The name of the table of times.
    """
    head = [
        f"about = {_quoted(f'LogCA parameters fitted to the times in {table}')}",
        f"source = {_quoted(f'fitted by dse fit to {table}')}",
        'provenance = "fitted"',
        'note = "In seconds: a study that takes them gives a clock, which relates them to cycles."',
    ]
    names: list[str] = []
    for one in fits:
        name, count = _row_name(one.series.name), 1
        while name in names:
            count += 1
            name = f"{_row_name(one.series.name)}-{count}"
        names.append(name)
    rows = [as_row(one, name) for one, name in zip(fits, names, strict=True)]
    return "\n".join([*head, "", *rows])


def _row_name(series: str) -> str:
    """Return a series as the name of a catalog's row.

    >>> _row_name("v7.0-rc2 1ch"), _row_name("µ")
    ('v7-0-rc2-1ch', 'series')
    """
    return re.sub(r"[^A-Za-z0-9]+", "-", series).strip("-") or "series"


def as_row(fit: Fit, name: str, about: str = "", source: str = "") -> str:
    """Return a row of a catalog in LogCA's quantities.

    Parameters
    ----------
    fit : Fit
    name : str
        The name of the row.
    about : str
        The description; the series' name if it is empty.
    source : str
        The source of the row's values; the catalog's if it is empty.
    """
    about = f"{about or fit.series.name}: leave-one-out error {fit.left_out['median']:.1%} median"
    lines = [f"[{name}]", f"about = {_quoted(about)}"]
    lines += [f"source = {_quoted(source)}"] if source else []
    if fixed := fit.parameters.get("host_fixed_time", 0.0):
        note = (
            f"The host's fixed cost of {show(fixed, 's')} a call is not in LogCA, nor in this row."
        )
        lines.append(f"note = {_quoted(note)}")
    for quantity, value, note in _logca_values(fit):
        kinds = {"given": 'provenance = "assumed", ', "derived": 'provenance = "derived", '}
        provenance = kinds.get(note.partition(":")[0], "")
        shown = f'value = {value!r}, unit = "{GIVEN_UNITS[quantity]}", {provenance}'
        lines.append(f"{quantity} = {{ {shown}note = {_quoted(note)} }}")
    return "\n".join([*lines, *_covariance(fit), ""])


def _logca_values(fit: Fit) -> Iterator[tuple[str, float, str]]:
    """Yield quantities of LogCA with value and note; the note of a sum names its term."""
    values = fit.parameters

    def ends(name: str) -> str:
        low, high = fit.intervals[name]
        text = f"fitted; 95 %: {fit.show(name, low)} to {fit.show(name, high)}"
        return "given" if low == high else text

    for name in (*_LOGCA, "acceleration"):
        if name in values and (name != "complexity" or "computational_index" in values):
            absent = "; no work shows in the times, for which 10⁹ stands" * math.isinf(values[name])
            yield name, min(values[name], _NO_WORK), ends(name) + absent
    if "overhead_and_latency" in values:
        note = f"o + L, {ends('overhead_and_latency')}; all of it taken as o"
        yield "overhead", values["overhead_and_latency"], note
        yield "latency", 0.0, "derived: its part is in the overhead"
    if "speedup_limit" in values:
        yield "latency_per_byte", 0.0, "derived: its part is in the acceleration"
        note = f"1 / (l/C + 1/A), {ends('speedup_limit')}; taken as A with l = 0"
        yield "acceleration", values["speedup_limit"], note


def _covariance(fit: Fit) -> Iterator[str]:
    """Yield how the values of a row vary together."""
    names = {name: name for name in (*_LOGCA, "acceleration") if name in fit.parameters}
    if "computational_index" not in names:
        names.pop("complexity", None)
    sums = {"overhead_and_latency": "overhead", "speedup_limit": "acceleration"}
    names |= {name: term for name, term in sums.items() if name in fit.parameters}
    covariance = fit.covariance.renamed(names)
    if covariance.names:
        rows = ", ".join(str(row) for row in covariance.matrix.tolist())
        normal = ', normal = ["complexity"]' if "complexity" in covariance.names else ""
        of = json.dumps(list(covariance.names))
        yield f"together = {{ of = {of}{normal}, covariance = [{rows}] }}"


def _quoted(text: str) -> str:
    return json.dumps(text, ensure_ascii=False)
