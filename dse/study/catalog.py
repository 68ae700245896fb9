"""Catalogs: rows of figures that belong together, read from TOML; every figure has a source.

A figure is kept as it is written, value and unit; what reads it knows the quantity's base unit and
converts it there (`dse.model.units.read` takes a figure's `text`).
"""

from __future__ import annotations

import datetime
import math
import re
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from dse.boundary import reader
from dse.model.units import KNOWN_UNITS, UnitError, base, is_unit, split
from dse.problems import InputError, Problem, check_regular, nearest
from dse.study.provenance import PROVENANCES, Origin, Provenance, sourced

_BYTES = 1 << 28  # of a file
_FILE_KEYS = ("about", "source", "provenance", "note")
_ROW_KEYS = ("about", "note", "source", "provenance", "text", "together")
_FIGURE_KEYS = ("value", "unit", "source", "provenance", "note")
_ROW_NAME = re.compile(r"[A-Za-z0-9]+(-[A-Za-z0-9]+)*[+-]?")
_KINDS = {bool: "a truth value", list: "a list", dict: "a table", datetime.date: "a date"}
_EXAMPLE = 'such as 900, "1.16 GHz" or { value = 900, unit = "LUT", source = "…" }'


@dataclass(frozen=True, slots=True)
class Figure:
    """One number, as it is written in the file.

    Parameters
    ----------
    value : float or str
        The number, or a text with a number and a unit.
    unit : str
        The unit that is written with it; empty if the value is in the quantity's base unit.
    source : str
        Where it is from: its own source, else the row's, else the catalog's.
    note : str
        How to read it.
    provenance : Provenance
        How well it is founded: its own, else the row's, else the catalog's, else assumed.
    """

    value: float | str
    unit: str
    source: str
    note: str = ""
    provenance: Provenance = "assumed"

    @property
    def text(self) -> str:
        """Number and unit as one text, for `dse.model.units.read`.

        >>> Figure(900.0, "LUT", "a book").text, Figure("1.16 GHz", "GHz", "a book").text
        ('900.0 LUT', '1.16 GHz')
        """
        if isinstance(self.value, str):
            return self.value
        return f"{self.value!r} {self.unit}".rstrip()

    @property
    def given(self) -> float | str:
        """As a study would give it: the text, or if it has no unit a number, in the base unit.

        It has its origin with it (`dse.study.provenance.origin_of`).

        >>> Figure(900.0, "", "a book").given, Figure("1.16 GHz", "GHz", "a book").given
        (900.0, '1.16 GHz')
        """
        text, origin = self.text, Origin(self.provenance, self.source)
        try:
            number, _, unit = split(text)
        except UnitError:
            return sourced(text, origin)
        return sourced(text if unit else number, origin)


@dataclass(frozen=True, slots=True)
class Together:
    """How figures of a row vary together, as a fit leaves them uncertain.

    Parameters
    ----------
    of : tuple of str
        The figures.
    normal : tuple of str
        Those that are normal themselves; of the others the logarithm is.
    covariance : tuple of tuple of float
        Of the figures or their logarithms, without units.
    """

    of: tuple[str, ...]
    normal: tuple[str, ...]
    covariance: tuple[tuple[float, ...], ...]


@dataclass(frozen=True, slots=True)
class Row:
    """Figures that are chosen together.

    Parameters
    ----------
    name : str
        Words joined by ``-``; a ``+`` or ``-`` may end it, as in the literature's ``SL2+``.
    about : str
        What it is.
    figures : mapping of str to Figure
        By quantity name.
    text : mapping of str to str
        Facts that are not numbers.
    note, source : str
        Of the row as a whole; empty if not given.
    together : Together or None
        How its figures vary together, if that is known.
    """

    name: str
    about: str
    figures: Mapping[str, Figure]
    text: Mapping[str, str]
    note: str = ""
    source: str = ""
    together: Together | None = None


@dataclass(frozen=True, slots=True)
class Catalog:
    """A file of rows.

    Parameters
    ----------
    name : str
        The file's name without its ending.
    path : Path
        The file.
    about, source : str
        What the rows are; the source of the figures that name none.
    rows : mapping of str to Row
        By row name, in the order of the file.
    """

    name: str
    path: Path
    about: str
    source: str
    rows: Mapping[str, Row]


@reader
def load_catalog(path: Path) -> Catalog:
    """Read a catalog.

    Raises
    ------
    InputError
        If the file cannot be read or used; it lists every problem.
    """
    try:
        check_regular(path, _BYTES)
        content = tomllib.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        problem = Problem("", f"cannot be read: {error.strerror or error}")
        raise InputError(str(path), [problem]) from error
    except UnicodeDecodeError as error:
        problem = Problem("", f"is not UTF-8 text: {error}", "save it as UTF-8")
        raise InputError(str(path), [problem]) from error
    except (ValueError, RecursionError) as error:  # a number of thousands of digits, too
        problem = Problem("", f"is not TOML: {error}", "see https://toml.io for the syntax")
        raise InputError(str(path), [problem]) from error
    problems: list[Problem] = []
    about = _text(content, "about", "", problems, needed="what the rows are, in a sentence")
    source = _text(content, "source", "", problems)
    provenance = _provenance(content, "", "assumed", problems)
    _text(content, "note", "", problems)
    rows = {
        name: row
        for name, table in content.items()
        if name not in _FILE_KEYS
        and (row := _row(name, table, source, provenance, problems)) is not None
    }
    if not any(name not in _FILE_KEYS for name in content):
        problems.append(Problem("", "has no rows", "a row is a table: [name]"))
    if problems:
        raise InputError(str(path), problems)
    return Catalog(path.stem, path, about, source, rows)


def _row(
    name: str, table: Any, source: str, provenance: Provenance, problems: list[Problem]
) -> Row | None:
    if not isinstance(table, dict):
        close = nearest(name, _FILE_KEYS)
        remedy = "a row is a table: [name]; other keys of a catalog: " + ", ".join(_FILE_KEYS)
        problems.append(
            Problem(name, "is not a table", close if close.startswith("did you") else remedy)
        )
        return None
    if not _ROW_NAME.fullmatch(name):
        problems.append(
            Problem(name, "is not a name for a row", "words joined by '-', as in user-port")
        )
    about = _text(table, "about", name, problems, needed="what the row is, in a sentence")
    note = _text(table, "note", name, problems)
    own_source = _text(table, "source", name, problems)
    provenance = _provenance(table, name, provenance, problems)
    figures = {}
    for key, given in table.items():
        if key not in _ROW_KEYS:
            figure = _figure(f"{name}.{key}", given, own_source or source, provenance, problems)
            if figure is not None:
                figures[key] = figure
    if all(key in _ROW_KEYS for key in table):
        problems.append(Problem(name, "has no figures", f"quantity = figure, {_EXAMPLE}"))
    text = _facts(name, table.get("text", {}), problems)
    together = _together(name, table, figures, problems) if "together" in table else None
    return Row(name, about, figures, text, note, own_source, together)


def _together(
    name: str, table: Mapping[str, Any], figures: Mapping[str, Figure], problems: list[Problem]
) -> Together | None:
    given, where = table["together"], f"{name}.together"
    example = '{ of = ["overhead", "acceleration"], covariance = [[0.01, 0.0], [0.0, 0.02]] }'
    try:
        of, normal = tuple(given["of"]), tuple(given.get("normal", ()))
        matrix = np.array(given["covariance"], dtype=np.float64)
    except (TypeError, KeyError, ValueError, AttributeError):
        problems.append(Problem(where, "is not names and a covariance", example))
        return None
    for each in (*of, *normal):
        if each not in figures or (each in normal and each not in of):
            problems.append(
                Problem(where, f"the row has no figure '{each}'", nearest(str(each), figures))
            )
            return None
    square = matrix.shape == (len(of), len(of)) and len(set(of)) == len(of) > 0
    if not square or not np.isfinite(matrix).all() or not np.allclose(matrix, matrix.T):
        problems.append(Problem(where, "is not a covariance: one row a name, symmetric", example))
        return None
    if np.linalg.eigvalsh(matrix).min() < -1e-9 * max(np.trace(matrix), 0.0):
        problems.append(Problem(where, "is not a covariance: a variance is negative", example))
        return None
    return Together(of, normal, tuple(tuple(row) for row in matrix.tolist()))


def _facts(name: str, given: Any, problems: list[Problem]) -> dict[str, str]:
    if not isinstance(given, dict):
        problems.append(Problem(f"{name}.text", "is not a table", f"[{name}.text]"))
        return {}
    return {key: _text(given, key, f"{name}.text", problems) for key in given}


def _figure(
    where: str, given: Any, source: str, provenance: Provenance, problems: list[Problem]
) -> Figure | None:
    key = where.rsplit(".", 1)[-1]
    if not key.isidentifier():
        problems.append(
            Problem(where, "is not a name for a quantity", "letters, digits and '_', as in latency")
        )
    table = given if isinstance(given, dict) else {"value": given}
    before = len(problems)
    problems.extend(
        Problem(f"{where}.{name}", "is unknown in a figure", nearest(name, _FIGURE_KEYS))
        for name in table
        if name not in _FIGURE_KEYS
    )
    note = _text(table, "note", where, problems)
    source = _text(table, "source", where, problems) or source
    provenance = _provenance(table, where, provenance, problems)
    unit = _text(table, "unit", where, problems)
    if "value" not in table:
        problems.append(Problem(where, "has no value", f"a figure is {_EXAMPLE}"))
    else:
        value, unit = _value(where, table["value"], unit, problems)
    if not source:
        problems.append(
            Problem(where, "has no source", "give 'source' to the figure, its row or the catalog")
        )
    return Figure(value, unit, source, note, provenance) if len(problems) == before else None


def _value(where: str, given: Any, unit: str, problems: list[Problem]) -> tuple[float | str, str]:
    """Return value and unit as written, having found fault with what is neither."""
    value: float | str = math.nan
    if isinstance(given, str):
        value = given
        try:
            number, _, written = split(given)
        except UnitError as error:
            problems.append(Problem(where, str(error), f"a figure is {_EXAMPLE}"))
            return value, unit
        if written and unit and not _alike(written, unit):
            problems.append(
                Problem(where, f"has two units, {written!r} and {unit!r}", "give one of them")
            )
        if unit and not written:
            value = number
        unit = unit or written
    elif isinstance(given, int | float) and not isinstance(given, bool):
        try:
            value = number = float(given)
        except OverflowError:
            problems.append(Problem(where, "is too large a number", f"a figure is {_EXAMPLE}"))
            return value, unit
    else:
        kind = _KINDS.get(type(given), type(given).__name__)
        problems.append(Problem(where, f"is {kind}, not a number", f"a figure is {_EXAMPLE}"))
        return value, unit
    if math.isnan(number):
        problems.append(Problem(where, "is not a number (nan)", f"a figure is {_EXAMPLE}"))
    if unit and not is_unit(unit):
        problems.append(
            Problem(
                where,
                f"has the unknown unit {unit!r}",
                KNOWN_UNITS,
            )
        )
    return value, unit


def _alike(one: str, other: str) -> bool:
    """Tell whether two units are one."""
    try:
        return base(one) == base(other)
    except UnitError:
        return one == other


def _provenance(
    table: Mapping[str, Any], where: str, around: Provenance, problems: list[Problem]
) -> Provenance:
    """Return how well figures are founded, as their table says, else as what is around it says."""
    given = table.get("provenance", around)
    for provenance in PROVENANCES:
        if given == provenance:
            return provenance
    remedy = f"give one of {', '.join(PROVENANCES)}"
    problems.append(
        Problem(
            f"{where}.provenance" if where else "provenance",
            f"{given!r} is not a provenance",
            remedy,
        )
    )
    return around


def _text(
    table: Mapping[str, Any], key: str, where: str, problems: list[Problem], needed: str = ""
) -> str:
    given = table.get(key, "")
    place = f"{where}.{key}" if where else key
    if not isinstance(given, str):
        problems.append(Problem(place, f"is {given!r}, not a text", f'{key} = "…"'))
        return ""
    if needed and not given.strip():
        problems.append(Problem(place, "is missing", f'{key} = "…": {needed}'))
    return given
