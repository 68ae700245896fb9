"""Catalogs: entries of input values that belong together, each with a source, read from TOML.

A value is kept as it is written; `dse.model.units.read` converts its `text` to the base unit.
"""

from __future__ import annotations

import datetime
import importlib.metadata
import importlib.util
import math
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from dse.boundary import reader
from dse.model.units import KNOWN_UNITS, UnitError, base, is_unit, split
from dse.problems import InputError, Problem, nearest
from dse.study.input_value import PROVENANCES, InputValue, Provenance
from dse.study.toml_files import read_toml

ENTRY_POINTS = "dse.catalogs"
"""Entry-point group of the packages that offer catalogs."""
_LOOKED_AT = 1 << 20  # characters of a file that are searched for [study]
_FILE_KEYS = ("about", "source", "provenance", "note")
_ROW_KEYS = ("about", "note", "source", "provenance", "text", "together")
_VALUE_KEYS = ("value", "unit", "source", "provenance", "note")
_ROW_NAME = re.compile(r"[A-Za-z0-9]+(-[A-Za-z0-9]+)*[+-]?")
_KINDS = {bool: "a truth value", list: "a list", dict: "a table", datetime.date: "a date"}
_EXAMPLE = 'such as 900, "1.16 GHz" or { value = 900, unit = "LUT", source = "…" }'


@dataclass(frozen=True, slots=True)
class Together:
    """How values of a row vary together, as a fit leaves them uncertain.

    Parameters
    ----------
    of : tuple of str
        The values.
    normal : tuple of str
        Values with a normal law; of the others the logarithm has one.
    covariance : tuple of tuple of float
        Of the values or their logarithms, without units.
    """

    of: tuple[str, ...]
    normal: tuple[str, ...]
    covariance: tuple[tuple[float, ...], ...]


@dataclass(frozen=True, slots=True)
class Row:
    """Input values that are chosen together.

    Parameters
    ----------
    name : str
        Words joined by ``-``; a ``+`` or ``-`` may end it, as in the literature's ``SL2+``.
    about : str
        What it is.
    values : mapping of str to InputValue
        By quantity name.
    text : mapping of str to str
        Facts that are not numbers.
    note, source : str
        Of the row as a whole; empty if not given.
    together : Together or None
        How its values vary together, if that is known.
    """

    name: str
    about: str
    values: Mapping[str, InputValue]
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
        What the rows are; the source of the values that name none.
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
    _, content = read_toml(path)
    problems: list[Problem] = []
    about = _text(content, "about", "", problems, needed="a sentence about the rows")
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
    about = _text(table, "about", name, problems, needed="a sentence about the row")
    note = _text(table, "note", name, problems)
    own_source = _text(table, "source", name, problems)
    provenance = _provenance(table, name, provenance, problems)
    values = {}
    for key, given in table.items():
        if key not in _ROW_KEYS:
            value = _value(f"{name}.{key}", given, own_source or source, provenance, problems)
            if value is not None:
                values[key] = value
    if all(key in _ROW_KEYS for key in table):
        problems.append(Problem(name, "has no values", f"quantity = value, {_EXAMPLE}"))
    text = _facts(name, table.get("text", {}), problems)
    together = _together(name, table, values, problems) if "together" in table else None
    return Row(name, about, values, text, note, own_source, together)


def _together(
    name: str, table: Mapping[str, Any], values: Mapping[str, InputValue], problems: list[Problem]
) -> Together | None:
    given, where = table["together"], f"{name}.together"
    example = '{ of = ["overhead", "acceleration"], covariance = [[0.01, 0.0], [0.0, 0.02]] }'
    try:
        of, normal = tuple(given["of"]), tuple(given.get("normal", ()))
        matrix = np.array(given["covariance"], dtype=np.float64)
        if not all(isinstance(each, str) for each in (*of, *normal)):
            raise TypeError
    except (TypeError, KeyError, ValueError, AttributeError):
        problems.append(Problem(where, "is not names and a covariance", example))
        return None
    for each in (*of, *normal):
        if each not in values or (each in normal and each not in of):
            problems.append(
                Problem(where, f"the row has no value '{each}'", nearest(str(each), values))
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


def _value(
    where: str, given: Any, source: str, provenance: Provenance, problems: list[Problem]
) -> InputValue | None:
    key = where.rsplit(".", 1)[-1]
    if not key.isidentifier():
        problems.append(
            Problem(where, "is not a name for a quantity", "letters, digits and '_', as in latency")
        )
    table = given if isinstance(given, dict) else {"value": given}
    before = len(problems)
    problems.extend(
        Problem(f"{where}.{name}", "is unknown in a value", nearest(name, _VALUE_KEYS))
        for name in table
        if name not in _VALUE_KEYS
    )
    note = _text(table, "note", where, problems)
    source = _text(table, "source", where, problems) or source
    provenance = _provenance(table, where, provenance, problems)
    unit = _text(table, "unit", where, problems)
    if "value" not in table:
        problems.append(Problem(where, "has no value", f"a value is {_EXAMPLE}"))
    else:
        value, unit = _number(where, table["value"], unit, problems)
    if not source:
        problems.append(
            Problem(where, "has no source", "give 'source' to the value, its row or the catalog")
        )
    return (
        InputValue(value, unit, provenance, source, note=note) if len(problems) == before else None
    )


def _number(where: str, given: Any, unit: str, problems: list[Problem]) -> tuple[float | str, str]:
    """Return value and unit as written, and report a value that is neither."""
    value: float | str = math.nan
    if isinstance(given, str):
        value = given
        try:
            number, _, written = split(given)
        except UnitError as error:
            problems.append(Problem(where, str(error), f"a value is {_EXAMPLE}"))
            return value, unit
        if written and unit and not _alike(written, unit):
            problems.append(
                Problem(where, f"has two units, {written!r} and {unit!r}", "give one of them")
            )
        if not written:
            value = number
        unit = unit or written
    elif isinstance(given, int | float) and not isinstance(given, bool):
        value = number = float(given)
    else:
        kind = _KINDS.get(type(given), type(given).__name__)
        problems.append(Problem(where, f"is {kind}, not a number", f"a value is {_EXAMPLE}"))
        return value, unit
    if math.isnan(number):
        problems.append(Problem(where, "is not a number (nan)", f"a value is {_EXAMPLE}"))
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
    """Return whether two units are equal."""
    try:
        return base(one) == base(other)
    except UnitError:
        return one == other


def _provenance(
    table: Mapping[str, Any], where: str, around: Provenance, problems: list[Problem]
) -> Provenance:
    """Return how well values are founded, as their table says, else as what is around it says."""
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


# Finding catalogs: in the study's folder, or in an installed package that offers some


def find_catalog(name: str, folder: Path | None = None) -> Path:
    """Find a catalog by name.

    Parameters
    ----------
    name : str
        ``"interfaces"``: ``interfaces.toml`` in the study's folder, else in a package that offers
        catalogs. ``"mine.toml"``: that file in the study's folder.
    folder : Path, optional
        The study's folder.

    Raises
    ------
    InputError
        If there is none, or the file is outside the study's folder.
    """
    if name.endswith(".toml"):
        return _in_folder(name, folder)
    if folder is not None and re.fullmatch(r"[\w.-]+", name):
        path = folder / f"{name}.toml"
        if path.is_file():
            return _in_folder(path.name, folder)
    shipped = shipped_catalogs()
    for path in shipped:
        if path.stem == name:
            return path
    known = [path.stem for path in (*_files(folder), *shipped) if not _is_study(path)]
    remedies = [nearest(name, known) or "no catalogs are known", *_silent_packages()]
    raise InputError("catalog", [Problem("", f"there is no catalog {name!r}", "; ".join(remedies))])


def shipped_catalogs() -> list[Path]:
    """Return the catalogs of every installed package that offers some, by package and name.

    A package offers its ``*.toml`` files by an entry point of the group ``dse.catalogs``, whose
    value is the package's name. No package is imported for it.
    """
    return [path for _, folder in _packages() for path in _files(folder)]


def _in_folder(name: str, folder: Path | None) -> Path:
    if folder is None:
        problem = Problem("", f"{name!r} names a file in a study's folder, and there is no study")
        raise InputError("catalog", [problem])
    root = folder.resolve()
    path = (root / name).resolve()
    if not path.is_relative_to(root):
        remedy = f"copy it into {root}: a study reads only files of its folder"
        raise InputError(
            "catalog", [Problem("", f"{name!r} is outside the study's folder", remedy)]
        )
    if path.exists() and not path.is_file():
        raise InputError("catalog", [Problem("", f"{name!r} is not a regular file")])
    if not path.is_file():
        remedy = nearest(name, [file.name for file in _files(folder) if not _is_study(file)])
        remedy = remedy or f"{root} holds no catalogs"
        raise InputError("catalog", [Problem("", f"there is no file {name!r}", remedy)])
    return path


def _packages() -> Iterable[tuple[str, Path | None]]:
    """Yield each package that offers catalogs, and its folder if one is found."""
    points = importlib.metadata.entry_points(group=ENTRY_POINTS)
    for package in sorted({point.value for point in points}):
        try:
            found = importlib.util.find_spec(package)
        except (ImportError, ValueError):
            found = None
        locations = list(found.submodule_search_locations or ()) if found else []
        yield package, Path(locations[0]) if locations else None


def _files(folder: Path | None) -> list[Path]:
    files = folder.glob("*.toml") if folder is not None else ()
    return sorted(file for file in files if file.is_file())  # a pipe would be waited for


def _is_study(path: Path) -> bool:
    """Return whether a file next to a study is another study."""
    with path.open(encoding="utf-8", errors="replace") as file:
        text = file.read(_LOOKED_AT)
    return re.search(r"^\s*\[study\]", text, re.MULTILINE) is not None


def _silent_packages() -> list[str]:
    """Return a sentence for each package that should hold catalogs but does not."""
    sentences = []
    for package, folder in _packages():
        if folder is None:
            sentences.append(f"the package {package!r}, which offers catalogs, is not found")
        elif not _files(folder):
            sentences.append(
                f"{folder} answers to the package name {package!r} and holds no catalogs"
            )
    return sentences
