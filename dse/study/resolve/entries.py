"""Catalog entries that a study names, under the names that it gives their quantities."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from dse.problems import InputError, nearest
from dse.study.catalog import Catalog, Together, find_catalog, load_catalog
from dse.study.findings import Findings, Place
from dse.study.input_value import InputValue
from dse.study.resolve.scope import is_unitless, missing_unit
from dse.study.schema import CatalogRow, CatalogTable, StudyFile, input_value

Rows = dict[str, dict[str, InputValue]]
"""By entry of a catalog, its values by the study's names of their quantities."""


@dataclass(frozen=True)
class Entries:
    """The entries of catalogs that ``[inputs]`` and ``[space]`` take.

    Parameters
    ----------
    rows : mapping of str to mapping of str to Rows
        By section and key.
    fits : mapping of str to mapping of str to mapping of str to Together
        By section, key and entry: how its values vary together, if the study asks for that.
    files : tuple of Path
        The catalogs.
    """

    rows: Mapping[str, Mapping[str, Rows]]
    fits: Mapping[str, Mapping[str, Mapping[str, Together]]]
    files: tuple[Path, ...] = field(default=())


def load_entries(file: StudyFile, folder: Path | None, findings: Findings) -> Entries:
    """Load the entries that a study names, with a problem for each that is not there."""
    rows: dict[str, dict[str, Rows]] = {"inputs": {}, "space": {}}
    fits: dict[str, dict[str, dict[str, Together]]] = {"inputs": {}, "space": {}}
    files: list[Path] = []
    tables: dict[str, Mapping[str, Any]] = {"inputs": file.inputs, "space": file.space}
    for section, named in tables.items():
        for key, table in named.items():
            if not isinstance(table, CatalogRow | CatalogTable):
                continue
            place = Place(section) / key
            rows[section][key] = {}
            try:
                path = find_catalog(table.catalog, folder)
                catalog = load_catalog(path)
            except InputError as error:
                findings.adopt(place / "catalog", error)
                continue
            files.append(path)
            _check_rename(findings, place / "rename", catalog, table.rename)
            rows[section][key] = _rows(findings, place, catalog, table)
            fits[section][key] = _fits(findings, place, catalog, table)
    return Entries(rows, fits, tuple(files))


def _named(table: CatalogRow | CatalogTable, catalog: Catalog) -> list[str]:
    if isinstance(table, CatalogRow):
        return [table.row]
    return table.options or list(catalog.rows)


def _overrides(table: CatalogRow | CatalogTable) -> Mapping[str, Mapping[str, Any]]:
    return {table.row: table.override} if isinstance(table, CatalogRow) else table.override


def _rows(
    findings: Findings, place: Place, catalog: Catalog, table: CatalogRow | CatalogTable
) -> Rows:
    """Return the entries that a table asks for, with the study's own values in them."""
    rows: Rows = {}
    names = _named(table, catalog)
    for name in names:
        if name not in catalog.rows:
            message = f"catalog '{table.catalog}' has no row '{name}'"
            findings.add(place, message, nearest(name, catalog.rows))
        elif name in rows:
            findings.add(place / "options", f"'{name}' is listed twice")
        else:
            values = catalog.rows[name].values
            rows[name] = {table.rename.get(n, n): value for n, value in values.items()}
    for option, numbers in _overrides(table).items():
        if option in rows:
            _override(findings, place / "override", option, rows[option], numbers)
        elif option not in names:
            findings.add(place / "override", f"'{option}' is not an option", nearest(option, names))
    return rows


def _override(
    findings: Findings,
    place: Place,
    option: str,
    row: dict[str, InputValue],
    numbers: Mapping[str, Any],
) -> None:
    """Put the study's own values in the place of the catalog's."""
    for name, number in numbers.items():
        if name not in row:
            message = f"the row '{option}' has no value '{name}'"
            findings.add(place, message, nearest(name, row))
            continue
        own = input_value(number)
        unit = row[name].unit
        if isinstance(own.value, str) and unit not in ("", "1") and is_unitless(own.value):
            findings.add(place / name, *missing_unit(own.value, unit))
        row[name] = replace(own, source=own.source or "the study")


def _check_rename(
    findings: Findings, place: Place, catalog: Catalog, rename: Mapping[str, str]
) -> None:
    """Check that some entry sets what is renamed, and that none sets a quantity twice."""
    names = {name for row in catalog.rows.values() for name in row.values}
    for name in rename.keys() - names:
        findings.add(place / name, f"no row sets '{name}'", nearest(name, names))
    for row in catalog.rows.values():
        counts = Counter(rename.get(name, name) for name in row.values)
        for name in (name for name, count in counts.items() if count > 1):
            message = f"the row '{row.name}' would set '{name}' twice"
            findings.add(place, message, "give each quantity a separate name")


def _fits(
    findings: Findings, place: Place, catalog: Catalog, table: CatalogRow | CatalogTable
) -> dict[str, Together]:
    """Return how the values of entries vary together, if the study asks for that.

    A value that the study itself gives does not vary with the others.
    """
    if not table.uncertain:
        return {}
    rows = [catalog.rows[name] for name in _named(table, catalog) if name in catalog.rows]
    own = _overrides(table)
    fits = {
        row.name: _own_names(row.together, table.rename, own.get(row.name, {}))
        for row in rows
        if row.together is not None
    }
    if rows and not fits:
        name = f"the row '{rows[0].name}' does not say" if len(rows) == 1 else "no row says"
        message = f"{name} how its values vary together"
        remedy = "dse fit writes it; or give uncertain values: override = { … }"
        findings.add(place / "uncertain", message, remedy)
    return fits


def _own_names(fit: Together, rename: Mapping[str, str], own: Mapping[str, object]) -> Together:
    names = [rename.get(name, name) for name in fit.of]
    some = [i for i, name in enumerate(names) if name not in own]
    return Together(
        tuple(names[i] for i in some),
        tuple(rename.get(name, name) for name in fit.normal),
        tuple(tuple(fit.covariance[i][k] for k in some) for i in some),
    )
