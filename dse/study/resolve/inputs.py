"""Constants: numbers in the base units of their quantities, resources, and the rows of catalogs."""

from __future__ import annotations

import math
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

from dse.evaluate.wiring import Wiring
from dse.model.quantity import Resource
from dse.problems import InputError, check_regular, nearest
from dse.study.outside import BYTES, files_of, is_copied
from dse.study.provenance import origin_of
from dse.study.resolve.context import Context
from dse.study.resolve.rows import rows_of, together_of
from dse.study.resolve.uncertain import read_figure, read_together
from dse.study.schema import CatalogRow, ResourceFile
from dse.study.uncertain import UncertainTable


class _Given(NamedTuple):
    """A number of ``[inputs]``: where it stands, its quantity, and what is written."""

    where: str
    name: str
    number: float | str | UncertainTable


def resolve_constants(ctx: Context, wiring: Wiring) -> dict[str, Any]:
    """Read ``[inputs]``: numbers, resources, and the figures of catalog rows."""
    constants: dict[str, Any] = {}
    for key, entry in ctx.file.inputs.items():
        if key in wiring.resources and not isinstance(entry, CatalogRow):
            _resource(ctx, wiring, constants, key, entry)
    given: list[_Given] = []
    for key, entry in ctx.file.inputs.items():
        given += _given(ctx, wiring, key, entry)
    ctx.origins |= {("", "", each.name): origin_of(each.number) for each in given}
    clock = _clock(ctx, wiring, given)
    if clock is not None:
        constants["clock"] = clock
    for where, name, number in given:
        if name in constants:
            ctx.add(where, f"'{name}' is given twice in [inputs]", "leave one out, or rename it")
        elif (value := read_figure(ctx, wiring, where, name, number, clock)) is not None:
            constants[name] = value
    for key, entry in ctx.file.inputs.items():
        if isinstance(entry, CatalogRow):
            for held in together_of(ctx, f"inputs.{key}", entry).values():
                mine = {n: constants[n] for n in held.of if n in constants}
                read_together(ctx, wiring, f"inputs.{key}", held, mine)
                constants |= mine
    return constants


def _given(ctx: Context, wiring: Wiring, key: str, entry: Any) -> Iterator[_Given]:
    """Yield the numbers of one entry, with a problem for one that no model takes."""
    where = f"inputs.{key}"
    if isinstance(entry, CatalogRow):
        for figures in rows_of(ctx, where, entry).values():
            for name, figure in figures.items():
                if name in wiring.quantities:
                    own = entry.override.get(name)
                    number = own if isinstance(own, UncertainTable) else figure.given
                    place = f"{where}.override.{name}" if number is own else where
                    yield _Given(place, name, number)
    elif isinstance(entry, ResourceFile) and key in wiring.quantities:
        ctx.add(where, f"{key} is a number, not a file", "give a number")
        ctx.doubtful.add(key)
    elif key in wiring.quantities or key == "clock":
        yield _Given(where, key, entry)
    elif key not in wiring.resources:
        ctx.unknown(wiring, where, key, "input")


def _clock(ctx: Context, wiring: Wiring, given: list[_Given]) -> float | None:
    """Take out the clock, which converts the other numbers: in Hz, or None if there is none.

    One that cannot be is NaN, so that nobody is told that the clock is missing.
    """
    found = next((each for each in given if each.name == "clock"), None)
    if found is None:
        return math.nan if "clock" in ctx.doubtful else None
    given.remove(found)
    if isinstance(found.number, UncertainTable):
        remedy = "it converts numbers: give one, or let it be a variable of [space]"
        ctx.add(found.where, "the clock is not drawn", remedy)
        ctx.doubtful.add("clock")
        return math.nan
    clock = ctx.number(found.where, "clock", found.number, "Hz", None)
    if clock is not None and not 0 < clock < math.inf:
        ctx.add(found.where, f"clock = {found.number!r} does not tick", "a clock is above 0 Hz")
    elif clock is not None and ctx.in_domain(wiring, found.where, "clock", clock):
        return clock
    ctx.doubtful.add("clock")
    return math.nan


def _resource(
    ctx: Context,
    wiring: Wiring,
    constants: dict[str, Any],
    key: str,
    entry: float | str | ResourceFile | UncertainTable,
) -> None:
    resource = wiring.resources[key]
    where = f"inputs.{key}"
    ctx.doubtful.add(key)
    if isinstance(entry, UncertainTable):
        message = f"{key} is read from a file, which is not drawn"
        ctx.add(where, message, "name its file or folder")
        return
    ctx.origins["", "", key] = origin_of(entry)
    excluded = entry.exclude if isinstance(entry, ResourceFile) else []
    included = entry.include if isinstance(entry, ResourceFile) else []
    entry = entry.file if isinstance(entry, ResourceFile) else entry
    if excluded and resource.without is None:
        ctx.add(f"{where}.exclude", f"nothing can be excluded from {key}", "leave it out")
        return
    if included and resource.including is None:
        ctx.add(f"{where}.include", f"nothing can be included in {key}", "leave it out")
        return
    if both := [name for name in excluded if name in included]:
        ctx.add(where, f"{', '.join(both)}: under both exclude and include", "name each under one")
        return
    if not isinstance(entry, str):
        ctx.add(
            where, f"{entry!r} is not a file", f"{key} is {resource.about}: name its file or folder"
        )
        return
    path = ctx.elsewhere.get(key) or (ctx.folder or Path()) / entry
    try:
        check_regular(path, BYTES)
        loaded = resource.load(str(path))
        if excluded and resource.without is not None:
            loaded = resource.without(loaded, excluded)
        if included and resource.including is not None:
            _note_included(ctx, resource, loaded, included)
            loaded = resource.including(loaded, included)
        constants[key] = loaded
        files = files_of(path)
        ctx.files += files
        if key in ctx.elsewhere or not is_copied(ctx.folder, entry, files):
            ctx.outside[key] = entry, path, files
        if resource.greatest is not None:
            ctx.greatest |= resource.greatest(loaded)
        if resource.parts is not None:
            ctx.parts |= resource.parts(loaded)
        if resource.kept is not None:
            ctx.kept |= resource.kept(loaded)
    except FileNotFoundError:
        near = nearest(path.name, (p.name for p in path.parent.glob("*")))
        ctx.add(where, f"there is no file '{entry}'", near)
    except InputError as error:
        ctx.adopt(f"{where}: {entry}", error)
    except (OSError, ValueError) as error:
        ctx.add(where, f"'{entry}' cannot be read: {error}")


def _note_included(ctx: Context, resource: Resource, loaded: Any, included: list[str]) -> None:
    """Keep in mind which parts there would be without each that is included."""
    if resource.including is None or resource.parts is None:
        return
    for name in included:
        others = [other for other in included if other != name]
        for quantity, parts in resource.parts(resource.including(loaded, others)).items():
            ctx.included.setdefault(quantity, {})[name] = parts
