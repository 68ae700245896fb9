"""The steps of `dse fit`: from a table to text, JSON, a catalog for studies and a page."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from dse.fit.emission import ENDINGS, emit_rules, name_functions
from dse.fit.measurement_fit import GIVEN_UNITS, Fit, read_given_values
from dse.fit.overview import (
    Folder,
    as_overview,
    compare_thresholds,
    fit_folder,
    fit_table,
    list_overview,
)
from dse.fit.page import list_values, page
from dse.fit.queue import LoadFit, fit_load, read_loads
from dse.fit.rule import Rule, make_rule, summarize_rule
from dse.fit.series import table_sources
from dse.model.values import join_words, show, show_number
from dse.problems import InputError, Problem
from dse.result.files import write_json, write_text

_KINDS: Mapping[str, tuple[str, tuple[str, ...]]] = {
    "-o": ("a catalog is a TOML file", (".toml",)),
    "--html": ("a page is an HTML file", (".html", ".htm")),
    "--json": ("data are a JSON file", (".json",)),
    "--emit": ("a rule is in C, C++, Python or Rust", ENDINGS),
}
_ENDINGS = (".csv", ".tsv", ".txt", *(end for _, ends in _KINDS.values() for end in ends))
_ALIGNED = 28  # characters of a name in the text
_NO_WORK = 1e9  # acceleration of a catalog if the accelerated time has no term of work
_SUMS = {  # quantities of a row that are other values of a fit: the value, and the note
    "host_fixed_work": ("host_fixed_time", "h/C, h {}; only objectives.logca has it"),
    "overhead": ("overhead_and_latency", "o + L, {}; all of it taken as o"),
    "acceleration": ("speedup_limit", "1 / (l/C + 1/A), {}; taken as A with l = 0"),
}
_PARTS = {"latency": "overhead", "latency_per_byte": "acceleration"}
"""Quantities that are 0 in a row if another has their part."""


def run(
    table: Path,
    by: Sequence[str] = (),
    given: Sequence[str] = (),
    record: Path | None = None,
    catalog: Path | None = None,
    html: Path | None = None,
    emit: Path | None = None,
    thresholds: Path | None = None,
    *,
    force: bool = False,
) -> list[str]:
    """Fit a table, or all tables of a folder, write the files, and return the texts to print.

    InputError if the table, a series, a given value or a name of a file cannot be used; with all
    its problems. Nothing is written then.
    """
    targets = {"-o": catalog, "--html": html, "--json": record, "--emit": emit}
    problems = list(_target_problems(table, targets, force))
    known: dict[str, float] = {}
    try:
        known = read_given_values(given)
    except InputError as error:
        problems += error.problems
    if problems:
        raise InputError("dse fit", problems)
    if table.is_dir():
        folder = fit_folder(table, by, known)
        texts = [as_overview(folder)]
    elif (loads := read_loads(table, by)) is not None:
        message = "is for times against sizes, not for latency against load"
        useless: Mapping[str, object] = {"--given": given, "-o": catalog, "--html": html}
        useless = {**useless, "--emit": emit, "--thresholds": thresholds}
        if problems := [
            Problem(name, message, "leave it out") for name, given in useless.items() if given
        ]:
            raise InputError("dse fit", problems)
        folder = Folder([], [fit_load(load) for load in loads[0]], [])
        texts = [*loads[1], *map(as_text, folder.loads)]
    else:
        fits, hints = fit_table(table, by, known)
        folder = Folder(fits, [], [])
        texts = [*hints, *map(as_text, fits)]
    if thresholds is not None:
        texts.append("\n".join(["thresholds", *compare_thresholds(thresholds, folder.fits)]))
    return [*texts, *_write(table, folder, record, catalog, html, emit)]


def _write(
    table: Path,
    folder: Folder,
    record: Path | None,
    catalog: Path | None,
    html: Path | None,
    emit: Path | None,
) -> list[str]:
    """Write the files of fits, and return a text on each that needs one."""
    fits, texts = folder.fits, []
    if not fits and (catalog or html or emit):
        message = "no table has times against sizes, which files of fits need"
        raise InputError(str(table), [Problem("", message)])
    if emit is not None:
        texts += write_rules(fits, table, emit)
    if record is not None:
        every: list[Fit | LoadFit] = [*fits, *folder.loads]
        write_json(record, {one.series.name: one.record() for one in every})
    if catalog is not None:
        write_text(catalog, as_catalog(fits, table.name))
        texts.append(
            f"{catalog}: in [inputs] of a study next to it, with a clock: measured = "
            f'{{ catalog = "{catalog.name}", row = "{_row_name(fits[0].series.name)}" }}'
        )
    if html is not None:
        overview = list_overview(fits) if table.is_dir() else []
        write_text(html, page(fits, table.name, overview, folder.refused))
        texts.append(str(html))
    return texts


def write_rules(fits: Sequence[Fit], table: Path, target: Path) -> list[str]:
    """Write the dispatch rules of fits, and return a text on each, and on each that is refused.

    InputError if there is no rule for any series.
    """
    rules: list[Rule] = []
    problems: list[Problem] = []
    for one in fits:
        try:
            rules.append(make_rule(one))
        except InputError as error:
            problems += [problem.inside(one.series.name) for problem in error.problems]
    if not rules:
        raise InputError(str(table), problems)
    source = [f"times: {table.name}", *([] if table.is_dir() else table_sources(table))]
    refused = [f"no rule: {p.where}: {p.message}. Fix: {p.remedy}" for p in problems]
    write_text(target, emit_rules(rules, [*source, *refused], target))
    names = zip(name_functions(rules), rules, strict=True)
    return ["\n".join([f"{target}:", *(f"  {n}: {summarize_rule(r)}" for n, r in names), *refused])]


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
            message = f"{target} does not end in {join_words(endings, 'or')}"
            yield Problem(option, message, f"{kind}: {target.with_name(stem + endings[0])}")
        elif not target.parent.is_dir():
            yield Problem(option, f"there is no folder {target.parent}", "make it first")
        elif target.exists() and not force:
            yield Problem(option, f"{target} is there already", "--force replaces it")
        taken.setdefault(place, f"the file of {option}")


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
    """Return a catalog with a row for each series, in LogCA's quantities."""
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

    `about`: the description; the series' name if it is empty. `source`: the source of the row's
    values; the catalog's if it is empty.
    """
    about = f"{about or fit.series.name}: leave-one-out error {fit.left_out['median']:.1%} median"
    lines = [f"[{name}]", f"about = {_quoted(about)}"]
    lines += [f"source = {_quoted(source)}"] if source else []
    for quantity, value, note in _logca_values(fit):
        kinds = {"given": 'provenance = "assumed", ', "derived": 'provenance = "derived", '}
        provenance = kinds.get(note.partition(":")[0], "")
        unit = GIVEN_UNITS.get(quantity, "B")
        shown = f'value = {value!r}, unit = "{unit}", {provenance}'
        lines.append(f"{quantity} = {{ {shown}note = {_quoted(note)} }}")
    return "\n".join([*lines, *_covariance(fit), ""])


def _logca_values(fit: Fit) -> Iterator[tuple[str, float, str]]:
    """Yield quantities of LogCA with value and note; the note of a sum names its term."""
    for name, value in _row_values(fit.parameters, fit.ratio).items():
        source, text = _SUMS.get(name, ("", "{}"))
        source, text = (source, text) if source in fit.parameters else (name, "{}")
        if source not in fit.intervals:
            yield name, value, f"derived: its part is in the {_PARTS[name]}"
            continue
        low, high = fit.intervals[source]
        ends = f"fitted; 95 %: {fit.show(source, low)} to {fit.show(source, high)}"
        note = text.format("given" if low == high else ends)
        if name == "acceleration" and value == _NO_WORK:
            note += "; no work shows in the times, for which 10⁹ stands"
        if fit.ratio and name in ("computational_index", "latency_per_byte", "acceleration"):
            note += f"; for {show_number(fit.ratio)} B returned per byte"
        if name == "overhead" and name in fit.bounds:
            low, high = fit.bounds[name]
            note += f"; o is {show(low, 's')} to {show(high, 's')} by CPU use"
        yield name, value, note


def _row_values(values: Mapping[str, float], ratio: float) -> dict[str, float]:
    """Return LogCA's quantities of a fit's values; calls return `ratio` bytes per byte sent."""
    row: dict[str, float] = {}
    index = per_byte = 0.0
    if "computational_index" in values:
        index = values["computational_index"]
        work = index + ratio * values.get("host_time_per_byte_out", 0.0)
        row = {"computational_index": work, "complexity": values["complexity"]}
        row["host_fixed_work"] = values["host_fixed_time"] / work
    if "overhead_and_latency" in values:
        row |= {"overhead": values["overhead_and_latency"], "latency": 0.0}
    elif "overhead" in values:
        row |= {"overhead": values["overhead"], "latency": values["latency"]}
    back = ratio * values.get("latency_per_byte_out", 0.0)
    if "speedup_limit" in values:
        slope = index / values["speedup_limit"] + back
        row |= {"latency_per_byte": 0.0, "acceleration": min(work / slope, _NO_WORK)}
    elif "acceleration" in values:
        per_byte = values["latency_per_byte"] + back
        row |= {"latency_per_byte": per_byte}
        row |= {"acceleration": min(work / index * values["acceleration"], _NO_WORK)}
    return row


def _covariance(fit: Fit) -> Iterator[str]:
    """Yield how the values of a row vary together."""
    covariance = fit.covariance.transformed(
        fit.parameters, lambda values: _row_values(values, fit.ratio)
    )
    if covariance.names:
        rows = ", ".join(str(row) for row in covariance.matrix.tolist())
        normal = ', normal = ["complexity"]' if "complexity" in covariance.names else ""
        of = json.dumps(list(covariance.names))
        yield f"together = {{ of = {of}{normal}, covariance = [{rows}] }}"


def _quoted(text: str) -> str:
    return json.dumps(text, ensure_ascii=False)
