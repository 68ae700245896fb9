"""Reading a study: from a file to its tables, with whatever is sound of an unsound one."""

from __future__ import annotations

import tomllib
import unicodedata
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from pydantic import TypeAdapter, ValidationError

from dse.problems import InputError, Problem, check_regular, nearest
from dse.study.faults import corrected, faults
from dse.study.schema import LISTS, StudyFile, file_of

_DEEP, _SHOWN = 50, 40
_BYTES = 1 << 26  # of a study
Entry = tuple[str | int, ...]
"""The keys and positions, from 0, that lead to an entry."""


@dataclass(frozen=True)
class Reading:
    """A study's tables, less the entries that cannot be.

    Parameters
    ----------
    file : StudyFile
        What is left, and defaults for the rest.
    dropped : frozenset of str
        What was taken out: ``"inputs.overhead"``, ``"objective"``; without positions.
    positions : mapping of str to tuple of int
        For a list that lost entries: where each of those left stands in the file, from 0.
    lost : Counter of str
        By table, such as ``"objective[1]"``: keys that stand for nothing that is known.
    """

    file: StudyFile
    dropped: frozenset[str] = frozenset()
    positions: Mapping[str, tuple[int, ...]] = field(default_factory=dict)
    lost: Counter[str] = field(default_factory=Counter)

    def numbered(self, section: str) -> Iterator[tuple[str, Any]]:
        """Yield the entries of a list such as ``"objective"``, each with its place in the file."""
        entries: Any = self.file
        for name in section.split("."):
            entries = getattr(entries, name)
        positions = self.positions.get(section, range(len(entries)))
        for position, entry in zip(positions, entries, strict=True):
            yield f"{section}[{position + 1}]", entry


def read_toml(path: Path) -> tuple[str, dict[str, Any]]:
    """Read a TOML file, its text and its content.

    Raises
    ------
    InputError
        If there is no such file, or it is not TOML.
    """
    if path.is_dir():
        inside = sorted(p.name for p in path.glob("*.toml"))
        remedy = f"name one of its studies: {', '.join(inside)}" if inside else "name a .toml file"
        raise InputError(str(path), [Problem("", "is a folder, not a study file", remedy)])
    try:
        check_regular(path, _BYTES)
        text = path.read_text(encoding="utf-8-sig")
    except FileNotFoundError:
        near = nearest(path.name, (p.name for p in path.parent.glob("*.toml")))
        raise InputError(str(path), [Problem("", "there is no such file", near)]) from None
    except UnicodeDecodeError as error:
        problem = Problem("", f"is not UTF-8 text: {error}", "save it as UTF-8")
        raise InputError(str(path), [problem]) from None
    except OSError as error:
        problem = Problem("", f"cannot be read: {error.strerror or error}")
        raise InputError(str(path), [problem]) from None
    try:
        content = tomllib.loads(text)
    except RecursionError:
        raise InputError(str(path), [Problem("", "is nested too deeply")]) from None
    except ValueError as error:  # TOMLDecodeError, or a whole number of thousands of digits
        raise InputError(
            str(path), [Problem("", f"is not TOML: {error}", "see https://toml.io for the syntax")]
        ) from None
    if problems := unfit(content):
        raise InputError(str(path), problems)
    return text, content


def unfit(content: Mapping[str, Any]) -> list[Problem]:
    """Return what no study can hold: tables in tables without end, and control characters."""
    problems, waiting = [], [("", content, 0)]
    while waiting:  # no recursion: that is what deep tables exhaust
        where, value, depth = waiting.pop()
        if depth > _DEEP:
            return [Problem(f"{where[:_SHOWN]}…", f"is nested more than {_DEEP} deep")]
        if isinstance(value, str):
            problems += _controls(where, value)
        elif isinstance(value, Mapping):
            for key, inner in value.items():
                problems += _controls(where, str(key))
                waiting.append((f"{where}.{key}" if where else str(key), inner, depth + 1))
        elif isinstance(value, list | tuple):
            waiting += [(f"{where}[{i + 1}]", v, depth + 1) for i, v in enumerate(value)]
    return problems[::-1]


def _controls(where: str, text: str) -> list[Problem]:
    found = sorted({c for c in text if unicodedata.category(c) == "Cc" and c not in "\t\n\r"})
    shown = ", ".join(f"U+{ord(c):04X}" for c in found)
    return [Problem(where, f"holds control characters: {shown}")] if found else []


def parse(raw: Mapping[str, Any], problems: list[Problem]) -> Reading:
    """Check a study's content against the schema, and keep what is sound."""
    content, lost = corrected(_plain(raw), problems)
    try:
        return Reading(file_of(content).model_validate(content), lost=lost)
    except ValidationError as error:
        details = error.errors(include_url=False)
    problems += faults(details, content, lost)
    unsound = {entry for detail in details if (entry := _entry(detail["loc"], detail["type"]))}
    return replace(_sound(content, unsound), lost=lost)


def _plain(value: Any) -> Any:
    """Return a copy of tables and lists, which scripts may give as mappings and tuples."""
    if isinstance(value, Mapping):
        return {str(k): _plain(v) for k, v in value.items()}
    return [_plain(v) for v in value] if isinstance(value, list | tuple) else value


def _entry(loc: tuple[str | int, ...], kind: str) -> Entry | None:
    """Return the least part of a study that can be taken out for a fault at this place."""
    section = str(loc[0])
    if kind in ("too_long", "too_short") and len(loc) == 1:
        return None  # each of the entries is sound
    if section in ("regions", "target"):
        return loc[:1]  # an axis without its ends is nothing, nor is an empty target
    in_a_list = len(loc) > 2 and isinstance(loc[2], int)
    return loc[:3] if in_a_list and f"{section}.{loc[1]}" in LISTS else loc[:2]


def _sound(content: dict[str, Any], unsound: set[Entry]) -> Reading:
    """Return what is left of a study without these entries."""
    positions: dict[str, tuple[int, ...]] = {}

    def left(value: Any, place: Entry) -> Any:
        if isinstance(value, dict) and len(place) < 2:
            inner = {k: left(v, (*place, k)) for k, v in value.items()}
            return {k: v for k, v in inner.items() if (*place, k) not in unsound}
        name = ".".join(map(str, place))
        if isinstance(value, list) and name in LISTS:
            kept = [i for i in range(len(value)) if (*place, i) not in unsound]
            if len(kept) < len(value):
                positions[name] = tuple(kept)
            return [value[i] for i in kept]
        return value

    rest = left(content, ())
    values: dict[str, Any] = {"space": {}, "objective": []}
    study = {"name": "study", "models": [], **rest.get("study", {})}
    models, schema = study["models"], file_of({"study": study})
    lacking = schema is StudyFile and not models
    rest["study"] = study | ({"models": ["none:none"]} if lacking else {})
    for name, table in schema.model_fields.items():
        if name in rest:  # the annotation alone: a list may be shorter than the least
            kind: Any = table.annotation
            values[name] = TypeAdapter(kind).validate_python(rest[name])
    if lacking:
        values["study"] = values["study"].model_copy(update={"models": []})
    names = {".".join(s for s in entry if isinstance(s, str)) for entry in unsound}
    needed = ("space", "objective") if schema is StudyFile else ("objective",)
    names |= {name for name in needed if not values[name]}
    names |= {"study.models"} if lacking else set()
    return Reading(schema.model_construct(**values), frozenset(names), positions)
