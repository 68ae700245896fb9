"""A table of designs from a file: comma-separated, with a row of names, numbers and texts."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from dse.model.quantity import Array
from dse.model.units import is_unit, nearest_unit
from dse.problems import InputError, Problem, check_regular
from dse.study.input_files import MAX_NAME, find_own_file

_MISSING = frozenset({"", "na", "n/a", "#n/a", "nan", "null", "none", "-", "–"})
"""Texts for a missing number, in small letters."""
RESERVED = frozenset({"design", "feasible", "on_front", "ties"})
"""Columns that every result has."""
_BYTES = 1 << 30  # of a table
_TOLD = 3  # rows that a message names
_SUFFIXES: Mapping[str, str] = {
    **{u: u for u in ("B", "KiB", "MiB", "GiB", "kB", "MB", "GB", "s", "ms", "us", "ns", "ps")},
    **{u: u for u in ("Hz", "kHz", "MHz", "GHz", "W", "mW", "uW", "J", "mJ", "uJ", "nJ", "pJ")},
    **{"cycle": "cycle", "cycles": "cycle", "mm2": "mm**2", "um2": "um**2"},
    **{f"{u}ps": f"{u}/s" for u in ("B", "kB", "MB", "GB", "MiB", "GiB")},
}
"""The units that the end of a name may say, after an underscore: ``kernel_s``."""


@dataclass(frozen=True)
class DesignTable:
    """The columns of a file, one element per row.

    Parameters
    ----------
    numbers : mapping of str to ndarray
        Columns of numbers as written; NaN where one is missing.
    texts : mapping of str to ndarray of str
        The other columns; empty where a text is missing.
    units : mapping of str to str
        Of the columns of numbers; ``"1"`` for none.
    lines : ndarray of int
        The line of each row in the file, from 1.
    """

    numbers: Mapping[str, Array]
    texts: Mapping[str, NDArray[Any]]
    units: Mapping[str, str]
    lines: NDArray[np.int64]

    @property
    def names(self) -> tuple[str, ...]:
        """All columns."""
        return (*self.numbers, *self.texts)

    def not_numbers(self, name: str, missing: Sequence[str]) -> str:
        """Return in words what of a column of texts is not a number, the first few rows."""
        texts = self.texts[name]
        bad = np.flatnonzero(np.isnan(_numbers(texts, missing)) & ~_missing(texts, missing))
        shown = [f"'{texts[row]}' in line {self.lines[row]:,}" for row in bad[:_TOLD]]
        more = f" and {len(bad) - _TOLD:,} more" if len(bad) > _TOLD else ""
        return f"{', '.join(shown)}{more}"


def read_table(
    name: str, folder: Path | None, missing: Sequence[str] = (), row: str = "design"
) -> tuple[DesignTable, Path]:
    """Read a table in a study's folder.

    `missing`: texts for a missing number, in addition to no text, ``NA``, ``nan``, ``None`` and
    ``-``.

    InputError if there is none, it lies elsewhere, or it is not a table.
    """
    path = find_own_file(folder, name, "table", "*.csv")
    try:
        check_regular(path, _BYTES)
        text = path.read_text(encoding="utf-8-sig")
    except UnicodeDecodeError as error:
        raise _refused(f"{name} is not UTF-8 text: {error}", "save it as UTF-8") from None
    except OSError as error:
        raise _refused(f"{name} cannot be read: {error.strerror or error}") from None
    written = text.split("\n")
    kept = [i for i, line in enumerate(written) if line.strip() and not line.startswith("#")]
    if len(kept) < 2:
        raise _refused(f"{name} has no {row}s", f"write a row of names, and a row for each {row}")
    rows = [written[i] for i in kept]
    separator = max(",;\t", key=rows[0].count)
    titles = [title.strip() for title in next(csv.reader([rows[0]], delimiter=separator))]
    problems = [*_of_titles(name, titles), *_of_widths(name, rows, kept, separator, len(titles))]
    if problems:
        raise InputError(name, problems)
    columns, units = _named(titles)
    try:
        frame = pd.read_csv(
            io.StringIO("\n".join(rows[1:])),
            sep=separator,
            header=None,
            names=range(len(titles)),
            index_col=False,
            skipinitialspace=True,
            low_memory=False,
            keep_default_na=False,
            na_values=[""],
        )
    except pd.errors.ParserError as error:
        raise _refused(f"{name} is not a table: {error}", "close each quotation mark") from None
    numbers: dict[str, Array] = {}
    texts: dict[str, NDArray[Any]] = {}
    for i, column in columns.items():
        read = _column(frame[i], missing)
        if read.dtype == object:
            texts[column] = read
        else:
            numbers[column] = read
    lines = np.array(kept[1:], dtype=np.int64) + 1
    return DesignTable(numbers, texts, {n: units[n] for n in numbers}, lines), path


def _refused(message: str, remedy: str = "") -> InputError:
    return InputError("table", [Problem("", message, remedy)])


def _of_titles(name: str, titles: Sequence[str]) -> Iterator[Problem]:
    """Yield the problems of the row of names."""
    named = [title for title in titles if title]
    if named and all(_is_number(title) for title in named):
        shown = ", ".join(named[:_TOLD])
        message = f"{name} has no row of names: its first row is {shown}…"
        remedy = "write a row with the names of the columns above it, without a # before them"
        yield Problem("", message, remedy)
        return
    for title in named:
        if len(title) > MAX_NAME:
            message = f"{name} has a column name of {len(title):,} characters: '{title[:20]}…'"
            yield Problem("", message, f"give at most {MAX_NAME} characters")
            return
        _, unit = _bracketed(title)
        if unit and not is_unit(unit) and (near := nearest_unit(unit)) is not None:
            message = f"column '{title}' has the unit '{unit}', which is unknown"
            yield Problem("", f"{name}: {message}", f"did you mean '{near}'?")
    twice = dict.fromkeys(title for title in named if named.count(title) > 1)
    for title in twice:
        yield Problem("", f"{name} has {named.count(title)} columns '{title}'", "rename them")


def _of_widths(
    name: str, rows: Sequence[str], kept: Sequence[int], separator: str, width: int
) -> Iterator[Problem]:
    """Yield the problems of rows with more or fewer fields than the first."""
    if any('"' in row for row in rows):
        found = [len(fields) for fields in csv.reader(rows, delimiter=separator)]
    else:
        found = [row.count(separator) + 1 for row in rows]
    if len(found) < len(rows):
        yield Problem("", f"{name} has a text over several lines", "write each row in one line")
        return
    bad = [i for i, fields in enumerate(found) if fields != width]
    for i in bad[:_TOLD]:
        more = f" ({len(bad):,} rows are so)" if i == bad[0] and len(bad) > 1 else ""
        message = f"{name}, line {kept[i] + 1:,} has {found[i]} fields, and the names are {width}"
        yield Problem("", message + more, "leave a missing value empty")


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True


def _named(titles: Sequence[str]) -> tuple[dict[int, str], dict[str, str]]:
    """Return the columns by their places, and their units; one without a name is left out.

    A unit in brackets is not a part of the name, unless two columns differ only in it. A name that
    each result has a column of is ``table_`` and that name.
    """
    split = [_split(title) for title in titles]
    names = [name for name, _ in split]
    columns: dict[int, str] = {}
    units: dict[str, str] = {}
    for i, (title, (name, unit)) in enumerate(zip(titles, split, strict=True)):
        if title:
            chosen = name if names.count(name) == 1 else title
            columns[i] = f"table_{chosen}" if chosen in RESERVED else chosen
            units[columns[i]] = unit
    return columns, units


def _split(title: str) -> tuple[str, str]:
    """Return the name and the unit that a title says.

    >>> _split("latency [us]"), _split("area (mm**2)"), _split("copy_GBps"), _split("L2 (shared)")
    (('latency', 'us'), ('area', 'mm**2'), ('copy_GBps', 'GB/s'), ('L2 (shared)', '1'))
    """
    name, unit = _bracketed(title)
    if unit and is_unit(unit):
        return name, unit
    return title, _SUFFIXES.get(title.rpartition("_")[2], "1") if "_" in title else "1"


def _bracketed(title: str) -> tuple[str, str]:
    """Return a title's name and the text in brackets at its end; nothing if there is none."""
    for opening, closing in ("[]", "()"):
        name, found, unit = title.rstrip(closing).rpartition(opening)
        if found and name.strip() and title.endswith(closing):
            return name.strip(), unit
    return title, ""


def _column(values: pd.Series[Any], missing: Sequence[str]) -> NDArray[Any]:
    """Return a column as numbers if all that is there is numbers, else as texts."""
    if values.dtype != object and not pd.api.types.is_string_dtype(values.dtype):
        found = values.to_numpy(dtype=np.float64)
        marks = [float(m) for m in missing if _is_number(m)]
        return np.where(np.isin(found, marks), np.nan, found) if marks else found
    texts = np.array([str(v).strip() if v == v else "" for v in values.tolist()], dtype=object)
    numbers = _numbers(texts, missing)
    without = np.isnan(numbers)
    known = ~without.all() or not any(texts)
    return numbers if known and not (without & ~_missing(texts, missing)).any() else texts


def _missing(texts: NDArray[Any], missing: Sequence[str]) -> NDArray[np.bool_]:
    marks = _MISSING | {mark.lower() for mark in missing}
    return np.array([text.lower() in marks for text in texts], dtype=bool)


def _numbers(texts: NDArray[Any], missing: Sequence[str]) -> Array:
    """Return texts as numbers, true and false as 1 and 0; NaN for what is none."""
    words = {"true": 1.0, "false": 0.0}
    marks = {mark.lower() for mark in missing}
    lower = [text.lower() for text in texts]
    given = [words.get(t, None if t in marks else t) for t in lower]
    found = pd.to_numeric(pd.Series(given, dtype=object), errors="coerce")
    return np.asarray(found.to_numpy(dtype=np.float64, na_value=np.nan))
