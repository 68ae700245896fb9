"""Catalogs: entries of input values that belong together, each with a source, of a file.

A value is kept as it is written; `dse.model.units.read_value` converts its `text` to the base unit.
"""

from __future__ import annotations

import importlib.metadata
import importlib.util
import inspect
import re
import sys
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Annotated, Any

import numpy as np
from pydantic import ConfigDict, Discriminator, Field, StrictStr, Tag

from dse.boundary import reader
from dse.model.contract import Model
from dse.model.quantity import Array
from dse.model.units import (
    KNOWN_UNITS,
    UnitError,
    conversion_factor,
    is_unit,
    read_value,
    split_value,
)
from dse.problems import InputError, Problem, closest, nearest
from dse.study.catalog_table import parse_catalog_table
from dse.study.code_loading import shipped_models
from dse.study.findings import Findings, Place
from dse.study.input_files import find_own_file, read_toml
from dse.study.schema import Ends, Finite, InputValue, Number, Provenance, Table
from dse.study.schema_errors import check_table_content

ENTRY_POINTS = "dse.catalogs"
"""Entry-point group of the packages that offer catalogs."""
_SUFFIXES = (".toml", ".csv")
_ROW_NAME = re.compile(r"[A-Za-z0-9]+(-[A-Za-z0-9]+)*[+-]?")
_EXAMPLE = 'a value is such as 900, "1.16 GHz" or { value = 900, unit = "LUT", source = "…" }'

# The tables of the file


class ValueTable(Table):
    """A value with its own unit, source, provenance or note."""

    value: Number
    unit: StrictStr = ""
    source: StrictStr = ""
    provenance: Provenance | None = None
    note: StrictStr = ""
    range: Ends | None = None
    range_source: StrictStr = ""


class JointTable(Table):
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

    of: tuple[StrictStr, ...] = Field(min_length=1)
    normal: tuple[StrictStr, ...] = ()
    covariance: tuple[tuple[Finite, ...], ...]


class RowTable(Table):
    """A row: each other key is a value."""

    model_config = ConfigDict(extra="allow")
    __pydantic_extra__: dict[
        str,
        Annotated[
            Annotated[Number, Tag("number")] | Annotated[ValueTable, Tag("ValueTable")],
            Discriminator(lambda value: "ValueTable" if isinstance(value, dict) else "number"),
        ],
    ]
    about: StrictStr = Field(min_length=1)
    note: StrictStr = ""
    source: StrictStr = ""
    provenance: Provenance | None = None
    text: dict[str, StrictStr] = Field(default_factory=dict)
    together: JointTable | None = None


class CatalogFile(Table):
    """A catalog: each other key is a row."""

    model_config = ConfigDict(extra="allow")
    __pydantic_extra__: dict[str, RowTable]
    about: StrictStr = Field(min_length=1)
    source: StrictStr = ""
    provenance: Provenance = "assumed"
    note: StrictStr = ""


# Catalogs as they are used

KERNEL = "kernel"
"""The fact of an entry that names its computation."""
NEEDS = "needs"
"""The fact of an entry that names a quantity: without it, models take the entry for another."""
HOST_CLOCK = "host_clock"
"""The fact of an entry that gives the clock of the host whose cycles its values count."""


@dataclass(frozen=True, slots=True)
class Row:
    """Input values that are chosen together.

    Parameters
    ----------
    name : str
        Words joined by ``-``; a ``+`` or ``-`` may end it, as in the literature's ``SL2+``.
    text : mapping of str to str
        Facts that are not numbers.
    """

    name: str
    about: str
    values: Mapping[str, InputValue]
    text: Mapping[str, str]
    note: str = ""
    together: JointTable | None = None


@dataclass(frozen=True, slots=True)
class Catalog:
    """A file of rows."""

    name: str
    path: Path
    about: str
    rows: Mapping[str, Row]


def open_catalog(name: str, folder: Path | None = None) -> Catalog:
    """Read the catalog of a name; see `find_catalog` and `load_catalog`."""
    return load_catalog(find_catalog(name, folder))


@reader
def load_catalog(path: Path) -> Catalog:
    """Read a catalog.

    InputError if the file cannot be read or used; it lists every problem.
    """
    try:
        state = path.stat()
    except OSError:  # the reader says why
        return _read_catalog(path)
    same = state.st_dev, state.st_ino, state.st_mtime_ns, state.st_size
    return _load_unchanged(path, same)


# A study is read again for each value of its clock that an explanation tries.
@lru_cache(maxsize=32)
def _load_unchanged(path: Path, _: tuple[int, ...]) -> Catalog:
    return _read_catalog(path)


def _read_catalog(path: Path) -> Catalog:
    is_table = path.suffix == ".csv"
    _, content = read_toml(path, parse_catalog_table) if is_table else read_toml(path)
    findings = Findings(str(path))
    rows = {name: row for name, row in content.items() if name not in CatalogFile.model_fields}
    for name in [name for name, row in rows.items() if not isinstance(row, dict)]:
        del content[name]
        message = f"unknown key '{name}'; a row is a table: [name]"
        findings.add(Place(name), message, nearest(name, CatalogFile.model_fields))
    if not rows:
        findings.add(Place(), "has no rows", "a row is a table: [name]")
    file = check_table_content(CatalogFile, content, findings)
    read = {n: _row(findings, n, row, file) for n, row in (file.model_extra or {}).items()}
    findings.finish_stage()
    return Catalog(path.stem, path, file.about, read)


def _row(findings: Findings, name: str, row: RowTable, file: CatalogFile) -> Row:
    place, values = Place(name), {}
    if not _ROW_NAME.fullmatch(name):
        findings.add(place, "is not a name for a row", "words joined by '-', as in user-port")
    for key, given in (row.model_extra or {}).items():
        table = given if isinstance(given, ValueTable) else ValueTable(value=given)
        value, unit = _number(findings, place / key, table)
        if not key.isidentifier():
            remedy = "letters, digits and '_', as in latency"
            findings.add(place / key, "is not a name for a quantity", remedy)
        source = table.source or row.source or file.source
        if not source:
            remedy = "give 'source' to the value, its row or the catalog"
            findings.add(place / key, "has no source", remedy)
        provenance = table.provenance or row.provenance or file.provenance
        bounds = tuple(table.range or ())
        if bounds and not table.range_source:
            remedy = "give 'range_source': who measured such values"
            findings.add(place / key / "range", "has no source", remedy)
        values[key] = InputValue(
            value, unit, provenance, source, None, table.note, bounds, table.range_source
        )
    if not values:
        findings.add(place, "has no values", _EXAMPLE)
    if row.together is not None:
        _check_together(findings, place / "together", row.together, values)
    return Row(name, row.about, values, row.text, row.note, row.together)


def _number(findings: Findings, place: Place, table: ValueTable) -> tuple[float | str, str]:
    """Return value and unit as written; a text without a unit is a number."""
    value, unit = table.value, table.unit
    if isinstance(value, str):
        try:
            number, _, written = split_value(value)
        except UnitError as error:
            findings.add(place, str(error), _EXAMPLE)
            return value, unit
        if written and unit and not _is_same(written, unit):
            findings.add(place, f"has two units, {written!r} and {unit!r}", "give one of them")
        value, unit = value if written else number, unit or written
    if unit and not is_unit(unit):
        findings.add(place, f"has the unknown unit {unit!r}", KNOWN_UNITS)
    return value, unit


def _is_same(one: str, other: str) -> bool:
    try:
        return conversion_factor(one, other) == (1.0, 0)
    except UnitError:
        return False


def _check_together(
    findings: Findings, place: Place, fit: JointTable, values: Mapping[str, InputValue]
) -> None:
    example = '{ of = ["overhead", "acceleration"], covariance = [[0.01, 0.0], [0.0, 0.02]] }'
    for name in (*fit.of, *fit.normal):
        if name not in values or name not in fit.of:
            findings.add(place, f"the row has no value '{name}'", nearest(name, values))
    if {len(fit.of), len({*fit.of})} != {len(fit.covariance), *map(len, fit.covariance)}:
        findings.add(place, "is not a covariance: one row and one column a name", example)
        return
    matrix = np.array(fit.covariance)
    if not np.allclose(matrix, matrix.T):
        findings.add(place, "is not a covariance: it is not symmetric", example)
    elif np.linalg.eigvalsh(matrix).min() < -1e-9 * max(np.trace(matrix), 0.0):
        findings.add(place, "is not a covariance: a variance is negative", example)


# Finding catalogs: in the study's folder, or in an installed package that offers some


def find_catalog(name: str, folder: Path | None = None) -> Path:
    """Find a catalog by name.

    `name`: ``"interfaces"``: ``interfaces.toml`` or ``interfaces.csv`` in the study's folder, else
    in a package that offers catalogs. ``"mine.toml"``: that file in the study's folder.

    InputError if there is none, or the file is outside the study's folder.
    """
    is_file = name.endswith(_SUFFIXES)
    for file in [name] if is_file else [name + suffix for suffix in _SUFFIXES]:
        is_own = folder is not None and re.fullmatch(r"[\w.-]+", file) and (folder / file).is_file()
        if is_own or is_file:
            return find_own_file(folder, file, "catalog", "*.toml")
    shipped = shipped_catalogs()
    for path in shipped:
        if path.stem == name:
            return path
    known = [path.stem for path in (*_files(folder), *shipped) if not _is_study(path)]
    remedies = [nearest(name, known) or "no catalogs are known"]
    for package, root in _packages():
        if not _files(root):
            answer = "is not found" if root is None else f"is {root}, which holds no catalogs"
            remedies.append(f"the package {package!r}, which offers catalogs, {answer}")
    problem = Problem("", f"there is no catalog {name!r}", "; ".join(remedies))
    raise InputError("catalog", [problem])


def shipped_catalogs() -> list[Path]:
    """Return the catalogs of every installed package that offers some, by package and name.

    A package offers its ``*.toml`` and ``*.csv`` files by an entry point of the group
    ``dse.catalogs``, whose value is the package's name. No package is imported for it.
    """
    return [path for _, folder in _packages() for path in _files(folder)]


def _packages() -> Iterable[tuple[str, Path | None]]:
    """Yield each package that offers catalogs, and its folder if one is found."""
    for package in _offering(tuple(sys.path)):
        try:
            spec = importlib.util.find_spec(package)
        except (ImportError, ValueError):
            spec = None
        locations = list(spec.submodule_search_locations or ()) if spec else []
        yield package, Path(locations[0]) if locations else None


@lru_cache(maxsize=1)
def _offering(_: tuple[str, ...]) -> list[str]:
    """Return the installed packages that offer catalogs; a search of every package is slow."""
    points = importlib.metadata.entry_points(group=ENTRY_POINTS)
    return sorted({point.value for point in points})


def _files(folder: Path | None) -> list[Path]:
    files = folder.iterdir() if folder is not None else ()
    # a pipe would be waited for
    return sorted(file for file in files if file.suffix in _SUFFIXES and file.is_file())


def _is_study(path: Path) -> bool:
    """Return whether a file next to a study is another study."""
    text = path.read_text(encoding="utf-8", errors="replace")
    return re.search(r"^\s*\[study\]", text, re.MULTILINE) is not None


# The library: installed models with their quantities, and catalogs with their entries.


@dataclass(frozen=True)
class ListedModel:
    """A model and what its docstring says first."""

    model: Model
    about: str


def list_models(name: str | None = None) -> list[ListedModel]:
    """Return the installed models, or those whose name or quantities hold `name`."""
    found = []
    for model in shipped_models():
        names = [model.name, *model.inputs, *model.outputs]
        if name is None or any(name in n for n in names):
            found.append(ListedModel(model, first_sentence(inspect.getdoc(model.function) or "")))
    return found


def first_sentence(doc: str) -> str:
    """Return the first sentence of a docstring, without its markup.

    >>> first_sentence("Return what :func:`~a.b.f` gives, as ``x``; see `a.g`. And more.")
    'What f gives, as x; see g'
    """
    text = " ".join(doc.partition("\n\n")[0].split()).removeprefix("Return ")
    text = re.sub(r"(?::\w+:)?`+~?(?:\w+\.)*([^`]*)`+", r"\1", text)
    sentence = re.match(r".*?(?=\.(?:\s|$)|$)", text)
    words = sentence[0] if sentence else ""
    return words[:1].upper() + words[1:]


def list_catalogs(name: str | None = None) -> list[Catalog]:
    """Return the installed catalogs, or those whose name, rows or quantities hold `name`."""
    found = []
    for path in shipped_catalogs():
        catalog = load_catalog(path)
        names = [
            catalog.name,
            *catalog.rows,
            *(f for r in catalog.rows.values() for f in r.values),
        ]
        if name is None or any(name in n for n in names):
            found.append(catalog)
    return found


def find_near_name(name: str) -> str | None:
    """Return the nearest name of a model, a quantity, a catalog or a row; None if none is near."""
    known: set[str] = set()
    for listed in list_models():
        names = {*listed.model.inputs, *listed.model.outputs}
        known |= names | {listed.model.name, listed.model.name.rpartition(":")[2]}
    for catalog in list_catalogs():
        known |= {catalog.name, *catalog.rows}
        known |= {name for row in catalog.rows.values() for name in row.values}
    return closest(name, known)


def entry_values(rows: Iterable[Row], name: str) -> tuple[str, Array]:
    """Return the values of a quantity in the unit of the first entry that has it.

    NaN for an entry without the value, and for cycles and times that no clock of the entry relates.
    """
    found = [row.values.get(name) for row in rows]
    clocks = [row.values.get("clock") for row in rows]
    unit = next((value.unit for value in found if value is not None), "") or "1"
    numbers = np.full(len(found), np.nan)
    for i, (value, clock) in enumerate(zip(found, clocks, strict=True)):
        try:
            hertz = None if clock is None else read_value(clock.text, "Hz")
            numbers[i] = np.nan if value is None else read_value(value.text, unit, hertz)
        except UnitError:
            continue
    return unit, numbers


def catalog_data(catalog: Catalog) -> dict[str, Any]:
    """Return a catalog as data for JSON: the facts of each entry, and its values with sources."""
    kept = ("value", "unit", "provenance", "source", "note", "range")
    return {
        "catalog": catalog.name,
        "about": catalog.about,
        "entries": [
            {
                "entry": row.name,
                "about": row.about,
                "note": row.note,
                "facts": dict(row.text),
                "values": {
                    name: {key: getattr(value, key) for key in kept}
                    for name, value in row.values.items()
                },
            }
            for row in catalog.rows.values()
        ],
    }
