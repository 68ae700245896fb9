"""Rows of catalogs, under the names that the study gives their quantities."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from pathlib import Path

from dse.problems import InputError, nearest
from dse.study.catalog import Catalog, Figure, Together, load_catalog
from dse.study.catalog_files import find_catalog
from dse.study.provenance import origin_of
from dse.study.resolve.context import Context, is_unitless, without_unit
from dse.study.schema import CatalogRow, CatalogTable
from dse.study.uncertain import UncertainTable

Figures = dict[str, Figure]
"""The figures of a row by quantity name."""


def rows_of(ctx: Context, where: str, table: CatalogTable | CatalogRow) -> dict[str, Figures]:
    """Return the rows that an entry asks for, with a problem for each that is not there."""
    catalog = _catalog(ctx, where, table.catalog)
    if catalog is None:
        return {}
    _check_rename(ctx, where, catalog, table.rename)
    every = {
        name: {table.rename.get(n, n): figure for n, figure in row.figures.items()}
        for name, row in catalog.rows.items()
    }
    asked = [table.row] if isinstance(table, CatalogRow) else table.options or list(every)
    for option in asked:
        if option not in every:
            message = f"catalog '{table.catalog}' has no row '{option}'"
            ctx.add(where, message, nearest(option, every))
            ctx.doubtful.update(*every.values())
    rows = {option: every[option] for option in asked if option in every}
    overrides = {table.row: table.override} if isinstance(table, CatalogRow) else table.override
    for option, numbers in overrides.items():
        if option in rows:
            rows[option] = _overridden(ctx, where, option, rows[option], numbers)
        elif option not in asked:
            ctx.add(f"{where}.override", f"'{option}' is not an option", nearest(option, asked))
    return rows


def _overridden(
    ctx: Context,
    where: str,
    option: str,
    row: Figures,
    numbers: Mapping[str, float | str | UncertainTable],
) -> Figures:
    """Return a row with the study's own figures in the place of the catalog's."""
    own = dict(row)
    for name, number in numbers.items():
        if name not in row:
            message = f"the row '{option}' has no figure '{name}'"
            ctx.add(f"{where}.override", message, nearest(name, row))
            ctx.doubtful.add(name)
        elif isinstance(number, UncertainTable):
            continue  # that is read beside the row
        elif isinstance(number, str) and row[name].unit not in ("", "1") and is_unitless(number):
            ctx.add(f"{where}.override.{name}", *without_unit(number, row[name].unit))
        else:
            text = number if isinstance(number, str) else repr(number)  # in the base unit
            origin = origin_of(number)
            source = origin.source or "the study"
            own[name] = Figure(text, row[name].unit, source, provenance=origin.provenance)
    return own


def _catalog(ctx: Context, where: str, name: str) -> Catalog | None:
    try:
        path: Path = find_catalog(name, ctx.folder)
        catalog = load_catalog(path)
    except InputError as error:
        ctx.adopt(f"{where}.catalog", error)
        ctx.unread = True
        return None
    ctx.files.append(path)
    return catalog


def _check_rename(ctx: Context, where: str, catalog: Catalog, rename: Mapping[str, str]) -> None:
    """Require that some row sets what is renamed, and that no row sets a quantity twice."""
    names = {name for row in catalog.rows.values() for name in row.figures}
    for name, new in rename.items():
        if name not in names:
            ctx.add(f"{where}.rename.{name}", f"no row sets '{name}'", nearest(name, names))
            ctx.doubtful.add(new)
    for row in catalog.rows.values():
        counts = Counter(rename.get(name, name) for name in row.figures)
        for name in (name for name, count in counts.items() if count > 1):
            message = f"the row '{row.name}' would set '{name}' twice"
            ctx.add(f"{where}.rename", message, "give each quantity a name of its own")


def together_of(ctx: Context, where: str, table: CatalogTable | CatalogRow) -> dict[str, Together]:
    """Return how the figures of rows vary together, by row; under the study's names.

    A figure of the study's own does not vary with the others.
    """
    if not table.uncertain:
        return {}
    catalog = load_catalog(find_catalog(table.catalog, ctx.folder))
    one = isinstance(table, CatalogRow)
    asked = [table.row] if isinstance(table, CatalogRow) else table.options or list(catalog.rows)
    overrides = {table.row: table.override} if isinstance(table, CatalogRow) else table.override
    found: dict[str, Together] = {}
    for option in asked:
        row = catalog.rows.get(option)
        if row is None:  # told where rows are read
            continue
        if row.together is not None:
            found[option] = _own_names(row.together, table.rename, overrides.get(option, {}))
        elif one:
            message = f"the row '{option}' does not say how its figures vary together"
            remedy = "dse fit writes it; or give figures as uncertain: override = { … }"
            ctx.add(f"{where}.uncertain", message, remedy)
    if not found and not one and asked:
        message = "no row says how its figures vary together"
        ctx.add(f"{where}.uncertain", message, "dse fit writes it")
    return found


def _own_names(given: Together, rename: Mapping[str, str], own: Mapping[str, object]) -> Together:
    names = [rename.get(name, name) for name in given.of]
    some = [i for i, name in enumerate(names) if name not in own]
    return Together(
        tuple(names[i] for i in some),
        tuple(rename.get(name, name) for name in given.normal),
        tuple(tuple(given.covariance[i][k] for k in some) for i in some),
    )
