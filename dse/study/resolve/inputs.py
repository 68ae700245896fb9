"""Constants and catalog rows: numbers in the base units of their quantities."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from dse.evaluate.wiring import Wiring
from dse.problems import InputError, nearest
from dse.study.catalog import Figure, Row, find_catalog, load_catalog
from dse.study.resolve.context import Context
from dse.study.schema import CatalogRow


def resolve_constants(ctx: Context, wiring: Wiring) -> dict[str, Any]:
    """Read ``[inputs]``: numbers, resources, and the figures of catalog rows."""
    constants: dict[str, Any] = {}
    given: list[tuple[str, str, float | str]] = []  # place, quantity, number
    for key, entry in ctx.file.inputs.items():
        where = f"inputs.{key}"
        if isinstance(entry, CatalogRow):
            for name, figure in catalog_row(ctx, where, entry.catalog, entry.row, entry.rename):
                if name in wiring.known:
                    given.append((where, name, figure.text))
        elif key in wiring.resources:
            _resource(ctx, wiring, constants, key, entry)
        elif key in wiring.quantities or key == "clock":
            given.append((where, key, entry))
        else:
            ctx.unknown(wiring, where, key, "input")
    clock = None
    for where, name, number in given:
        if name == "clock":
            clock = ctx.number(where, name, number, "Hz", None)
            if clock is not None and not 0 < clock < float("inf"):
                ctx.add(where, f"clock = {number!r} does not tick", "a clock is above 0 Hz")
                clock = None
    for where, name, number in given:
        if name in constants:
            ctx.add(where, f"'{name}' is given twice in [inputs]", "leave one out, or rename it")
            continue
        unit = wiring.quantities[name].unit if name in wiring.quantities else "Hz"
        value = ctx.number(where, name, number, unit, clock)
        if value is not None:
            constants[name] = value
            ctx.in_domain(wiring, where, name, value)
    return constants


def _resource(
    ctx: Context, wiring: Wiring, constants: dict[str, Any], key: str, entry: float | str
) -> None:
    resource = wiring.resources[key]
    where = f"inputs.{key}"
    if not isinstance(entry, str):
        ctx.add(
            where, f"{entry!r} is no file", f"{key} is {resource.about}: name its file or folder"
        )
        return
    path = (ctx.folder or Path()) / entry
    try:
        constants[key] = resource.load(str(path))
        ctx.files += _files(path)
        if resource.greatest is not None:
            ctx.greatest |= resource.greatest(constants[key])
    except FileNotFoundError:
        near = nearest(path.name, (p.name for p in path.parent.glob("*")))
        ctx.add(where, f"there is no file '{entry}'", near)
        ctx.incomplete = True
    except InputError as error:
        place = f"{where}: {entry}"
        ctx.problems += [
            replace(p, where=f"{place}: {p.where}" if p.where else place) for p in error.problems
        ]
        ctx.incomplete = True
    except (OSError, ValueError) as error:
        ctx.add(where, f"'{entry}' cannot be read: {error}")
        ctx.incomplete = True


def _files(path: Path) -> list[Path]:
    """Return a file itself, and of a folder the files that lie in it."""
    if not path.is_dir():
        return [path]
    return sorted(p for p in path.iterdir() if p.is_file() and not p.name.startswith("."))


def catalog_row(
    ctx: Context, where: str, catalog: str, row: str, rename: Mapping[str, str]
) -> list[tuple[str, Figure]]:
    """Return the figures of one row, renamed."""
    rows = catalog_rows(ctx, where, catalog, [row])
    check_rename(ctx, where, rows, rename)
    return renamed(rows[row], rename) if row in rows else []


def check_rename(
    ctx: Context, where: str, rows: Mapping[str, Row], rename: Mapping[str, str]
) -> None:
    """Demand that a row sets what is renamed."""
    names = {name for row in rows.values() for name in row.figures}
    for name in rename:
        if rows and name not in names:
            ctx.add(f"{where}.rename.{name}", f"no row sets '{name}'", nearest(name, names))


def catalog_rows(
    ctx: Context, where: str, name: str, options: Sequence[str] | None
) -> dict[str, Row]:
    """Return rows of a catalog, with a problem for each that is not there."""
    try:
        path = find_catalog(name, ctx.folder)
        catalog = load_catalog(path)
    except InputError as error:
        for p in error.problems:
            ctx.add(
                f"{where}.catalog", f"{p.where}: {p.message}" if p.where else p.message, p.remedy
            )
        ctx.incomplete = True
        return {}
    ctx.files.append(path)
    found = {}
    for option in options or catalog.rows:
        if option in catalog.rows:
            found[option] = catalog.rows[option]
        else:
            ctx.add(where, f"catalog '{name}' has no row '{option}'", nearest(option, catalog.rows))
            ctx.incomplete = True
    return found


def renamed(row: Row, rename: Mapping[str, str]) -> list[tuple[str, Figure]]:
    """Return a row's figures under the study's names."""
    return [(rename.get(name, name), figure) for name, figure in row.figures.items()]
