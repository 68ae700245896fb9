"""Many tables: the fits of a folder, an overview of them, and thresholds that others ship."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from textwrap import wrap

import numpy as np

from dse.fit.law import times
from dse.fit.measurement_fit import Fit, fit
from dse.fit.queue import LoadFit, fit_load, read_loads
from dse.fit.rule import ANY, Range, find_regret, law_curve, show_regret
from dse.fit.series import FEWEST, describe_left_out, open_table, read_series
from dse.model.values import choose_prefix, infinite_word, show, show_number
from dse.problems import InputError, Problem
from dse.study.design_table import DesignTable

HEAD = ("series", "o + L", "C", "l + C/A", "break-even", "95 %", "error")
"""The columns of an overview."""
_UNITS = ("", "", "ns/B", "ns/B", "", "", "%")
_WIDTHS = (26, 8, 8, 8, 11, 13, 6)
_LOAD_HEAD = ("latency against load", "o", "s", "o + s", "knee", "error %")
_LOAD_TIMES = ("overhead", "service_time", "overhead_and_service_time")
_LOAD_WIDTHS = (32, 9, 9, 9, 12, 9)
_FIRST_KIB = 10_240.0  # smaller sizes are in bytes


@dataclass(frozen=True)
class Folder:
    """The fits of all tables of a folder.

    Parameters
    ----------
    fits : list of Fit
        Of times; each series has the table's name before its own.
    loads : list of LoadFit
        Of latency against load.
    refused : list of str
        Each table and series without a fit, with the reason.
    """

    fits: list[Fit]
    loads: list[LoadFit]
    refused: list[str]


def fit_table(
    table: Path, by: Sequence[str], given: Mapping[str, float]
) -> tuple[list[Fit], list[str]]:
    """Return the fits of a table of times, and hints.

    InputError if no series can be fitted.
    """
    known = dict(given)
    series, hints = read_series(table, by, known.pop("clock", None))
    fits: list[Fit] = []
    problems: list[Problem] = []
    for one in series:
        try:
            fits.append(fit(one, known))
        except InputError as error:
            problems += [problem.inside(one.name) for problem in error.problems]
    if not fits or any(problem.where.endswith("--given") for problem in problems):
        raise InputError(str(table), problems)
    return fits, [*hints, *map(describe_left_out, problems)]


def fit_folder(folder: Path, by: Sequence[str], given: Mapping[str, float]) -> Folder:
    """Fit all tables of a folder.

    `by`: columns that name series, in the tables that have them. In the others, all columns of
    texts that divide the rows into groups of four or more.

    InputError if the folder has no table that can be fitted.
    """
    found = Folder([], [], [])
    for path in sorted(folder.glob("*.csv")):
        try:
            columns = _series_columns(open_table(path), by)
            if (loads := read_loads(path, columns)) is not None:
                named = [replace(one, name=_full_name(path, one.name)) for one in loads[0]]
                found.loads.extend(map(fit_load, named))
                hints = loads[1]
            else:
                fits, hints = fit_table(path, columns, given)
                for one in fits:
                    series = replace(one.series, name=_full_name(path, one.series.name))
                    found.fits.append(replace(one, series=series))
            left = (hint.removeprefix("left out: ") for hint in hints if "left out: " in hint)
            found.refused.extend(f"{path.name}: {hint}" for hint in left)
        except InputError as error:
            found.refused.extend(
                f"{path.name}: {': '.join(filter(None, (p.where, p.message)))}"
                for p in error.problems
            )
    if not found.fits and not found.loads:
        problems = [Problem("", text) for text in found.refused]
        empty = Problem("", "the folder has no table *.csv", "give a folder of tables of times")
        raise InputError(str(folder), problems or [empty])
    return found


def _full_name(table: Path, series: str) -> str:
    stem = table.stem.replace(" ", "_")
    return stem if series == table.stem else f"{stem} {series}"


def _series_columns(table: DesignTable, by: Sequence[str]) -> list[str]:
    """Return the columns that name series: the named ones that a table has, or all that may."""
    if named := [name for name in by if name in table.names]:
        return named
    loads = [name for name in ("granularity_B",) if "queue_depth" in table.names]
    columns: list[str] = []
    for name in (*table.texts, *(name for name in loads if name in table.names)):
        cells = table.texts.get(name, table.numbers.get(name))
        groups = [*(table.texts.get(c, table.numbers.get(c)) for c in columns), cells]
        count = len(set(zip(*groups, strict=True)))
        before = len(set(zip(*groups[:-1], strict=True))) if columns else 1
        if before < count <= len(table.lines) / FEWEST:
            columns.append(name)
    return columns


# -------------------------------------------------------------------------------------- overview


def list_overview(fits: Sequence[Fit]) -> list[tuple[str, ...]]:
    """Return the cells of each fit, in the columns of `HEAD`."""
    return [(one.series.name, *_cells(one)) for one in fits]


def _cells(one: Fit) -> tuple[str, ...]:
    values, size = one.parameters, np.array([one.points.size.max()])
    total = values.get("overhead_and_latency", values.get("overhead", math.nan))
    total += values.get("latency", 0.0)
    slopes = []
    for there, which, fixed in (
        (one.shape.host, False, values.get("host_fixed_time", 0.0)),
        (one.shape.accelerated, True, total),
    ):
        time = times(one.analysis.fit, size, size * one.ratio, np.array([which]))[0]
        slope = show_number(float((time[0] - fixed) / size[0]) * 1e9, 3)
        slopes.append(slope if there else "–")
    curved = "*" * (not one.analysis.law.linear)
    even, span = "–", ""
    if one.shape.both:
        even, span = _break_even(one)
    return (
        _short_time(total),
        slopes[0] + curved * one.shape.host,
        slopes[1] + curved * one.shape.accelerated,
        even,
        span,
        show_number(round(100.0 * one.left_out["median"], 2), 2),
    )


def _break_even(one: Fit) -> tuple[str, str]:
    """Return break-even, and its interval in the same unit."""
    size, ends = one.analysis.break_even, one.analysis.break_even_interval
    if size is None:
        return "always" if one.analysis.always else "never", ""
    scale, unit = choose_prefix([size], "B") if size >= _FIRST_KIB else (1.0, "B")
    low, high = (
        infinite_word("") if end == math.inf else show_number(float(f"{end / scale:.3g}"))
        for end in ends or (0.0, math.inf)
    )
    return f"{show_number(float(f'{size / scale:.3g}'))} {unit}", f"{low}–{high}"


def as_overview(folder: Folder) -> str:
    """Return an overview as text of at most 80 columns."""
    lines = []
    if folder.fits:
        lines += [_aligned(HEAD, _WIDTHS), _aligned(_UNITS, _WIDTHS)]
        lines += _grouped(list_overview(folder.fits), _WIDTHS)
    if any(not one.analysis.law.linear for one in folder.fits):
        lines.append("* of the largest calls: the work is not proportional to the bytes (β)")
    if folder.loads:
        lines += ["", _aligned(_LOAD_HEAD, _LOAD_WIDTHS)]
        lines += _grouped(map(_load_cells, folder.loads), _LOAD_WIDTHS)
    if folder.refused:
        texts = (wrap(text, 78, subsequent_indent="  ") for text in folder.refused)
        lines += ["", "not fitted", *(f"  {line}" for text in texts for line in text)]
    return "\n".join(lines)


def _load_cells(one: LoadFit) -> tuple[str, ...]:
    values = one.parameters
    texts = [_short_time(values[name]) if name in values else "–" for name in _LOAD_TIMES]
    knee = one.show("knee", float(f"{values['knee']:.3g}")).replace(" in flight", "")
    return (one.series.name, *texts, knee, show_number(round(100.0 * one.left_out["median"], 2), 2))


def _short_time(seconds: float) -> str:
    return "–" if math.isnan(seconds) else show(float(f"{seconds:.3g}"), "s")


def _grouped(rows: Iterable[tuple[str, ...]], widths: Sequence[int]) -> Iterator[str]:
    """Yield rows below the name of their table, which is the first word of each name."""
    last = ""
    for full, *cells in rows:
        table, _, series = full.partition(" ")
        if series and table != last:
            yield table
        last = table
        yield _aligned([f"  {series}" if series else table, *cells], widths)


def _aligned(cells: Sequence[str], widths: Sequence[int]) -> str:
    name, *rest = cells
    first = widths[0]
    name = name if len(name) <= first else f"{name[: first - 1]}…"
    columns = (f"{cell:>{width}}" for cell, width in zip(rest, widths[1:], strict=True))
    return (f"{name:{first}}" + "".join(columns)).rstrip()


# ------------------------------------------------------------------------------------ thresholds


def compare_thresholds(path: Path, fits: Sequence[Fit]) -> Iterator[str]:
    """Yield each threshold that a table has, next to the fits of its device.

    `path`: a CSV file with ``device``, a part of the name of a series, and ``bytes``, the size from
    which calls are offloaded.

    InputError if the table does not have these columns.
    """
    table = open_table(path)
    if "device" not in table.texts or "bytes" not in table.numbers:
        message = "has no columns 'device' and 'bytes'"
        raise InputError(str(path), [Problem("", message, "such as: device,bytes")])
    if not (table.numbers["bytes"] > 0.0).all():
        problem = Problem("", "column 'bytes' has a value that is not above 0", "give bytes")
        raise InputError(str(path), [problem])
    for device, size in zip(table.texts["device"], table.numbers["bytes"].tolist(), strict=True):
        same = [
            one for one in fits if one.shape.both and str(device).lower() in one.series.name.lower()
        ]
        if not same:
            yield f"{device}: {show(size, 'B')}; no series with both times has this name"
        for one in same:
            low, high = one.analysis.break_even_interval or (math.inf, math.inf)
            even, span = _break_even(one)
            word = "too small" if size < low else "too large" if size > high else "within 95 %"
            loss = find_regret([Range(0, False, math.ceil(size), ANY)], law_curve(one))
            fitted = ", ".join(filter(None, (f"break-even {even}", span)))
            yield (
                f"{one.series.name}: {show(size, 'B')} is {word} ({fitted}); regret by the law "
                f"{show_regret(loss)}"
            )
