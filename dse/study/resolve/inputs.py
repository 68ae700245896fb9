"""Entries of catalogs, and fixed inputs: numbers in base units, the clock, and files."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from dse.evaluate.model_graph import ModelGraph
from dse.model.quantity import Resource
from dse.problems import InputError, check_regular, nearest
from dse.study.catalog import Catalog, JointTable, open_catalog
from dse.study.catalog_filter import filter_catalog
from dse.study.findings import Findings, Place
from dse.study.input_files import MAX_INPUT, is_copied, list_files
from dse.study.resolve.scope import Scope
from dse.study.resolve.uncertainty import (
    resolve_joint_fit,
    resolve_range,
    resolve_value,
    show_value,
)
from dse.study.schema import (
    CatalogRow,
    CatalogTable,
    InputValue,
    ResourceFile,
    StudyFile,
    input_value,
)

# Entries of catalogs, under the names that the study gives their quantities

Rows = dict[str, dict[str, InputValue]]
"""By entry of a catalog, its values by the study's names of their quantities."""


@dataclass(frozen=True)
class Entries:
    """The entries that a key of ``[inputs]`` or ``[space]`` takes from a catalog.

    Parameters
    ----------
    rows : Rows
        The values, the study's own in the place of the catalog's.
    fits : dict of str to Together
        By entry: how its values vary together, if the study asks for that.
    facts : dict of str to mapping of str to str
        By entry: its facts that are no numbers.
    """

    path: Path
    rows: Rows = field(default_factory=dict)
    fits: dict[str, JointTable] = field(default_factory=dict)
    facts: dict[str, Mapping[str, str]] = field(default_factory=dict)
    descriptions: dict[str, str] = field(default_factory=dict)


def load_entries(file: StudyFile, folder: Path | None, findings: Findings) -> dict[Place, Entries]:
    """Load the entries that a study names, with a problem for each that is not there."""
    entries = {}
    for section, tables in (("inputs", file.inputs), ("space", file.space)):
        for key, table in tables.items():
            if isinstance(table, CatalogRow | CatalogTable):
                place = Place(section) / key
                try:
                    catalog = open_catalog(table.catalog, folder)
                except InputError as error:
                    findings.adopt(place / "catalog", error)
                    continue
                try:
                    if isinstance(table, CatalogTable) and table.where is not None:
                        catalog = filter_catalog(catalog, table.where)
                        if not catalog.rows:
                            remedy = f"see: dse list {catalog.name} --where '…'"
                            findings.add(place / "where", "no entry satisfies it", remedy)
                except InputError as error:
                    findings.adopt(place / "where", error)
                else:
                    entries[place] = _entries(findings, place, catalog, table)
    return entries


def list_overrides(table: CatalogRow | CatalogTable) -> Mapping[str, Mapping[str, Any]]:
    """Return the study's own values by entry."""
    return {table.row: table.override} if isinstance(table, CatalogRow) else table.override


def _entries(
    findings: Findings, place: Place, catalog: Catalog, table: CatalogRow | CatalogTable
) -> Entries:
    entries, own = Entries(catalog.path), list_overrides(table)
    options = [table.row] if isinstance(table, CatalogRow) else table.options
    names = list(catalog.rows) if options is None else options
    quantities = {name for row in catalog.rows.values() for name in row.values}
    for name in table.rename.keys() - quantities:
        message = f"no row sets '{name}'"
        findings.add(place / "rename" / name, message, nearest(name, quantities))
    for name in own.keys() - set(names):
        findings.add(place / "override", f"'{name}' is not an option", nearest(name, names))
    for name in names:
        if name not in catalog.rows:
            message = f"catalog '{table.catalog}' has no row '{name}'"
            findings.add(place, message, nearest(name, catalog.rows))
            continue
        row, numbers = catalog.rows[name], own.get(name, {})
        values = {table.rename.get(n, n): value for n, value in row.values.items()}
        if len(values) < len(row.values):
            message = f"the row '{name}' would set a quantity twice"
            findings.add(place / "rename", message, "give each quantity a separate name")
        known = {table.rename.get(n, n) for n in quantities}  # a row may lack what others have
        for key in numbers.keys() - known:
            message = f"the row '{name}' has no value '{key}'"
            findings.add(place / "override", message, nearest(key, known))
        for key, number in numbers.items():
            value = input_value(number)
            values[key] = replace(value, source=value.source or "the study")
            text = f"{key} of {name} is {show_value(number)}, the study's own value"
            findings.notes.append(f"{place / 'override'}: {text}")
        entries.rows[name], entries.facts[name] = values, row.text
        entries.descriptions[name] = row.about
        if table.uncertain and row.together is not None:
            entries.fits[name] = _own_fit(row.together, table.rename, numbers)
    if table.uncertain and entries.rows and not entries.fits:
        remedy = "dse fit writes it; or give uncertain values: override = { … }"
        message = f"{', '.join(entries.rows)}: no row has the covariance of its values"
        findings.add(place / "uncertain", message, remedy)
    return entries


def _own_fit(fit: JointTable, rename: Mapping[str, str], own: Mapping[str, Any]) -> JointTable:
    """Return a fit by the study's names; a value that the study gives does not vary in it."""
    names = [rename.get(name, name) for name in fit.of]
    kept = [i for i, name in enumerate(names) if name not in own]
    return JointTable(
        of=tuple(names[i] for i in kept),
        normal=tuple(rename.get(name, name) for name in fit.normal),
        covariance=tuple(tuple(fit.covariance[i][k] for k in kept) for i in kept),
    )


def check_overrides(scope: Scope, place: Place, table: CatalogRow | CatalogTable) -> None:
    """Check that a model takes each value that the study gives in the place of a catalog's."""
    for name in {name for numbers in list_overrides(table).values() for name in numbers}:
        if name not in scope.model_graph.quantities:
            scope.add(place / "override", f"no model takes '{name}'", "leave it out")


# Fixed inputs


@dataclass(frozen=True)
class Inputs:
    """The fixed inputs of a study.

    Parameters
    ----------
    values : dict of str to InputValue
        Numbers in base units, with the clock; files as NaN, with their provenance.
    outside : dict of str to (str, Path, list of Path)
        Inputs that a run does not copy: the text's name, the place, and the files of each.
    limits : dict of str to (float, str)
        Quantities that number something in a file: the greatest value, and a remedy.
    parts : dict of str to sequence of str
        Quantities that choose parts of a file: the names of these, from the lowest bit.
    unavailable : dict of str to (str, str)
        Parts that a file does not offer: the reason, and a remedy.
    """

    values: dict[str, InputValue] = field(default_factory=dict)
    resources: dict[str, Any] = field(default_factory=dict)
    files: list[Path] = field(default_factory=list)
    outside: dict[str, tuple[str, Path, list[Path]]] = field(default_factory=dict)
    limits: dict[str, tuple[float, str]] = field(default_factory=dict)
    parts: dict[str, Sequence[str]] = field(default_factory=dict)
    unavailable: dict[str, tuple[str, str]] = field(default_factory=dict)

    @property
    def constants(self) -> dict[str, Any]:
        """Numbers, at their middle if they are uncertain, and what files hold."""
        numbers = {n: v.value for n, v in self.values.items() if n not in self.resources}
        return {**self.resources, **numbers}


def resolve_inputs(
    file: StudyFile,
    model_graph: ModelGraph,
    entries: Mapping[Place, Entries],
    folder: Path | None,
    elsewhere: Mapping[str, Path],
    findings: Findings,
) -> Inputs:
    """Read ``[inputs]``.

    `elsewhere`: the places of files that are not at the text's place: the study is a copy.
    """
    inputs = Inputs()
    scope = Scope(model_graph, findings, inputs.limits)
    for key, entry in file.inputs.items():
        if key in model_graph.resources and not isinstance(entry, CatalogRow):
            _load_file(scope, inputs, key, entry, folder, elsewhere.get(key))
    numbers = list(_numbers(scope, file, entries))
    for place, name, value in numbers:
        if name == "clock":
            clock = inputs.values[name] = _resolve_clock(scope, place, value)
            scope = replace(
                scope, model_graph=replace(model_graph, constants={"clock": clock.value})
            )
    for place, name, value in numbers:
        if name in inputs.values:
            if name != "clock":
                message = f"'{name}' is given twice in [inputs]"
                scope.add(place, message, "leave one out, or rename it")
        elif (resolved := resolve_value(scope, place, name, value)) is not None:
            inputs.values[name] = resolved
    for place, taken in entries.items():
        for fit in taken.fits.values() if place.section == "inputs" else ():
            own = {n: inputs.values[n] for n in fit.of if n in inputs.values}
            inputs.values.update(resolve_joint_fit(scope, place, fit, own))
    return inputs


def _numbers(
    scope: Scope, file: StudyFile, entries: Mapping[Place, Entries]
) -> Iterator[tuple[Place, str, InputValue]]:
    """Yield the numbers as they are written, with a problem for each that no model takes."""
    for key, entry in file.inputs.items():
        place = Place("inputs") / key
        if isinstance(entry, CatalogRow):
            check_overrides(scope, place, entry)
            for values in entries[place].rows.values() if place in entries else ():
                for name, value in values.items():
                    if name in scope.model_graph.quantities:
                        own = name in entry.override
                        yield place / "override" / name if own else place, name, value
        elif key in scope.model_graph.resources:
            continue
        elif isinstance(entry, ResourceFile):
            scope.add(place, f"{key} is a number, not a file", "give a number")
        elif key == "clock" or scope.knows(place, key, "input"):
            yield place, key, input_value(entry)


def _resolve_clock(scope: Scope, place: Place, given: InputValue) -> InputValue:
    """Return the clock in Hz; NaN, after a problem, if it is not one."""
    clock: float | None = None
    if given.distribution is not None:
        remedy = "it converts numbers: give one, or make it a variable of [space]"
        scope.add(place, "the clock cannot be uncertain", remedy)
    else:
        clock = scope.number(place, "clock", given.written, "Hz")
    if clock is not None and not clock > 0:
        scope.add(place, f"clock = {given.written} must be positive", "a clock is above 0 Hz")
        clock = None
    if clock is None or not scope.in_domain(place, "clock", clock):
        clock = math.nan
    else:
        scope.warn_magnitude(place, "clock", clock)
    resolved = given.with_value(clock, "Hz")
    return resolve_range(scope, place / "range", "clock", given, resolved) or resolved


# Files


def _load_file(
    scope: Scope, inputs: Inputs, key: str, entry: Any, folder: Path | None, moved: Path | None
) -> None:
    """Add the content of a file or folder to the inputs, with what it says of quantities."""
    resource, place = scope.model_graph.resources[key], Place("inputs") / key
    if not isinstance(entry, ResourceFile):
        value = input_value(entry)
        if not isinstance(value.written, str):
            given = "an uncertain number" if value.distribution else repr(value.written)
            remedy = f"{key} is {resource.about}: name its file or folder"
            scope.add(place, f"{given} is not a file", remedy)
            return
        origin = {"provenance": value.provenance, "source": value.source}
        entry = ResourceFile.model_validate({"file": value.written, **origin})
    if not _check_parts(scope, place, key, resource, entry):
        return
    path = moved or (folder or Path()) / entry.file
    try:
        check_regular(path, MAX_INPUT)
        content = resource.load(str(path))
        if entry.exclude and resource.without is not None:
            content = resource.without(content, entry.exclude)
        if entry.include and resource.including is not None:
            content = resource.including(content, entry.include)
        files = list_files(path)
    except FileNotFoundError:
        near = nearest(path.name, (p.name for p in path.parent.glob("*")))
        scope.add(place, f"there is no file '{entry.file}'", near)
        return
    except InputError as error:
        scope.findings.adopt(place, error, entry.file)
        return
    except (OSError, ValueError) as error:
        scope.add(place, f"'{entry.file}' cannot be read: {error}")
        return
    if moved is not None or not is_copied(folder, entry.file, files):
        inputs.outside[key] = entry.file, path, files
    inputs.files.extend(files)
    inputs.resources[key] = content
    inputs.values[key] = InputValue(math.nan, "", entry.provenance, entry.source)
    inputs.limits.update(resource.greatest(content) if resource.greatest else {})
    inputs.parts.update(resource.parts(content) if resource.parts else {})
    inputs.unavailable.update(resource.kept(content) if resource.kept else {})


def _check_parts(
    scope: Scope, place: Place, key: str, resource: Resource, entry: ResourceFile
) -> bool:
    """Check that the parts of a file can be excluded and included as the entry says."""
    if entry.exclude and resource.without is None:
        scope.add(place / "exclude", f"nothing can be excluded from {key}", "leave it out")
    elif entry.include and resource.including is None:
        scope.add(place / "include", f"nothing can be included in {key}", "leave it out")
    elif both := {*entry.exclude} & {*entry.include}:
        message = f"{', '.join(sorted(both))}: under both exclude and include"
        scope.add(place, message, "name each under one")
    else:
        return True
    return False
