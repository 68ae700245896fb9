"""Fixed inputs: numbers in base units, the clock, files, and the values of catalog entries."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from dse.evaluate.wiring import Wiring
from dse.model.quantity import Resource
from dse.problems import InputError, check_regular, nearest
from dse.study.findings import Findings, Place
from dse.study.input_files import BYTES, files_of, is_copied
from dse.study.input_value import InputValue
from dse.study.resolve.entries import Entries
from dse.study.resolve.scope import Scope
from dse.study.resolve.uncertainty import resolve_fit, resolve_value
from dse.study.schema import CatalogRow, ResourceFile, StudyFile, UncertainTable, input_value


@dataclass(frozen=True)
class Inputs:
    """The fixed inputs of a study.

    Parameters
    ----------
    values : mapping of str to InputValue
        Numbers in base units, with the clock; files as NaN, with their provenance.
    resources : mapping of str to Any
        The contents of the files, by quantity.
    files : tuple of Path
        The files that were read.
    outside : mapping of str to (str, Path, list of Path)
        Inputs that a run does not copy: the text's name, the place, and the files of each.
    limits : mapping of str to (float, str)
        Quantities that number something in a file: the greatest value, and a remedy.
    parts : mapping of str to sequence of str
        Quantities that choose parts of a file: the names of these, from the lowest bit.
    unavailable : mapping of str to (str, str)
        Parts that a file does not offer: the reason, and a remedy.
    included : mapping of str to mapping of str to sequence of str
        By quantity that chooses parts: each included part, and the parts without it.
    """

    values: Mapping[str, InputValue] = field(default_factory=dict)
    resources: Mapping[str, Any] = field(default_factory=dict)
    files: tuple[Path, ...] = ()
    outside: Mapping[str, tuple[str, Path, list[Path]]] = field(default_factory=dict)
    limits: Mapping[str, tuple[float, str]] = field(default_factory=dict)
    parts: Mapping[str, Sequence[str]] = field(default_factory=dict)
    unavailable: Mapping[str, tuple[str, str]] = field(default_factory=dict)
    included: Mapping[str, Mapping[str, Sequence[str]]] = field(default_factory=dict)

    @property
    def constants(self) -> dict[str, Any]:
        """Numbers, at their middle if they are uncertain, and what files hold."""
        numbers = {n: v.value for n, v in self.values.items() if n not in self.resources}
        return {**self.resources, **numbers}


@dataclass(frozen=True)
class _Number:
    """A number of ``[inputs]``: its place, its quantity, and the value as it is written."""

    place: Place
    name: str
    given: InputValue


def resolve_inputs(
    file: StudyFile,
    wiring: Wiring,
    entries: Entries,
    folder: Path | None,
    elsewhere: Mapping[str, Path],
    findings: Findings,
) -> Inputs:
    """Read ``[inputs]``.

    Parameters
    ----------
    elsewhere : mapping of str to Path
        Where files lie that are not where the text says, because the study is a copy.
    """
    scope = Scope(wiring, findings)
    inputs = Inputs()
    for key, entry in file.inputs.items():
        if key in wiring.resources and not isinstance(entry, CatalogRow):
            inputs = _with_file(scope, inputs, key, entry, folder, elsewhere.get(key))
    scope = replace(scope, limits=inputs.limits)
    numbers = [
        n for key, entry in file.inputs.items() for n in _numbers(scope, entries, key, entry)
    ]
    clock = next((number for number in numbers if number.name == "clock"), None)
    values = dict(inputs.values)
    if clock is not None:
        numbers.remove(clock)
        values["clock"] = _resolve_clock(scope, clock)
        constants = {"clock": values["clock"].value}
        scope = replace(scope, wiring=replace(wiring, constants=constants))
    for number in numbers:
        if number.name in values:
            message = f"'{number.name}' is given twice in [inputs]"
            scope.add(number.place, message, "leave one out, or rename it")
            continue
        value = resolve_value(scope, number.place, number.name, number.given)
        if value is not None:
            values[number.name] = value
    for key, fits in entries.fits["inputs"].items():
        for fit in fits.values():
            own = {n: values[n] for n in fit.of if n in values}
            values |= resolve_fit(scope, Place("inputs") / key, fit, own)
    return replace(inputs, values=values)


def _numbers(scope: Scope, entries: Entries, key: str, entry: Any) -> Iterator[_Number]:
    """Yield the numbers of one entry, with a problem for a number that no model takes."""
    place, wiring = Place("inputs") / key, scope.wiring
    if isinstance(entry, CatalogRow):
        for values in entries.rows["inputs"][key].values():
            for name, value in values.items():
                own = name in entry.override
                if name in wiring.quantities:
                    yield _Number(place / "override" / name if own else place, name, value)
                elif own:
                    scope.add(place / "override" / name, f"no model takes '{name}'", "leave it out")
    elif key in wiring.resources:
        return
    elif key not in wiring.quantities and key != "clock":
        scope.add_unknown(place, key, "input")
    elif isinstance(entry, ResourceFile):
        scope.add(place, f"{key} is a number, not a file", "give a number")
    else:
        yield _Number(place, key, input_value(entry))


def _resolve_clock(scope: Scope, number: _Number) -> InputValue:
    """Return the clock in Hz; NaN, after a problem, if it is not one."""
    wrong = number.given.with_value(math.nan, "Hz")
    if number.given.distribution is not None:
        remedy = "it converts numbers: give one, or make it a variable of [space]"
        scope.add(number.place, "the clock cannot be uncertain", remedy)
        return wrong
    clock = scope.number(number.place, "clock", number.given.written, "Hz")
    if clock is None:
        return wrong
    if not clock > 0:
        message = f"clock = {number.given.written!r} must be positive"
        scope.add(number.place, message, "a clock is above 0 Hz")
        return wrong
    return (
        number.given.with_value(clock, "Hz")
        if scope.in_domain(number.place, "clock", clock)
        else wrong
    )


def _with_file(
    scope: Scope, inputs: Inputs, key: str, entry: Any, folder: Path | None, moved: Path | None
) -> Inputs:
    """Return the inputs with the content of files and folders."""
    resource = scope.wiring.resources[key]
    place = Place("inputs") / key
    if not isinstance(entry, ResourceFile):
        value = input_value(entry)
        if isinstance(entry, UncertainTable) or not isinstance(value.written, str):
            shown = "an uncertain number" if value.distribution else repr(value.written)
            remedy = f"{key} is {resource.about}: name its file or folder"
            scope.add(place, f"{shown} is not a file", remedy)
            return inputs
        origin = (value.provenance, value.source)
        entry = ResourceFile.model_validate({"file": value.written})
    else:
        origin = (entry.provenance, entry.source)
    if not _check_parts(scope, place, key, resource, entry):
        return inputs
    path = moved or (folder or Path()) / entry.file
    try:
        check_regular(path, BYTES)
        return _loaded(inputs, key, resource, entry, path, folder, moved is not None, origin)
    except FileNotFoundError:
        near = nearest(path.name, (p.name for p in path.parent.glob("*")))
        scope.add(place, f"there is no file '{entry.file}'", near)
    except InputError as error:
        scope.findings.adopt(place, error, entry.file)
    except (OSError, ValueError) as error:
        scope.add(place, f"'{entry.file}' cannot be read: {error}")
    return inputs


def _check_parts(
    scope: Scope, place: Place, key: str, resource: Resource, entry: ResourceFile
) -> bool:
    """Check that the parts of a file can be excluded and included as the entry says."""
    if entry.exclude and resource.without is None:
        scope.add(place / "exclude", f"nothing can be excluded from {key}", "leave it out")
    elif entry.include and resource.including is None:
        scope.add(place / "include", f"nothing can be included in {key}", "leave it out")
    elif both := [name for name in entry.exclude if name in entry.include]:
        message = f"{', '.join(both)}: under both exclude and include"
        scope.add(place, message, "name each under one")
    else:
        return True
    return False


def _loaded(
    inputs: Inputs,
    key: str,
    resource: Resource,
    entry: ResourceFile,
    path: Path,
    folder: Path | None,
    is_moved: bool,
    origin: tuple[Any, str],
) -> Inputs:
    """Return the inputs with a loaded file, and its values of other quantities."""
    loaded = resource.load(str(path))
    if entry.exclude and resource.without is not None:
        loaded = resource.without(loaded, entry.exclude)
    included = dict(inputs.included)
    if entry.include and resource.including is not None:
        for quantity, parts in _parts_without_each(resource, loaded, entry.include):
            included[quantity] = {**included.get(quantity, {}), **parts}
        loaded = resource.including(loaded, entry.include)
    files = files_of(path)
    outside = dict(inputs.outside)
    if is_moved or not is_copied(folder, entry.file, files):
        outside[key] = entry.file, path, files

    def read(known: Mapping[str, Any], reader: Callable[[Any], Any] | None) -> dict[str, Any]:
        return {**known, **(reader(loaded) if reader is not None else {})}

    value = InputValue(math.nan, "", *origin)
    return Inputs(
        values={**inputs.values, key: value},
        resources={**inputs.resources, key: loaded},
        files=(*inputs.files, *files),
        outside=outside,
        limits=read(inputs.limits, resource.greatest),
        parts=read(inputs.parts, resource.parts),
        unavailable=read(inputs.unavailable, resource.kept),
        included=included,
    )


def _parts_without_each(
    resource: Resource, loaded: Any, names: Sequence[str]
) -> Iterator[tuple[str, dict[str, Sequence[str]]]]:
    """Yield by quantity, for each included part, the parts that there would be without it."""
    if resource.including is None or resource.parts is None:
        return
    for name in names:
        others = [other for other in names if other != name]
        for quantity, parts in resource.parts(resource.including(loaded, others)).items():
            yield quantity, {name: parts}
