"""Errors of the schema in words: each with its place, and with the nearest known key."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from typing import Any

from pydantic import ValidationError

from dse.problems import closest, nearest
from dse.study.findings import Findings, Place
from dse.study.schema import (
    KINDS,
    LISTS,
    NO_SOURCE,
    SECTIONS,
    CatalogRow,
    ResourceFile,
    SourcedTable,
    StudyFile,
    Table,
    TableStudyFile,
    TableStudyTable,
    UncertainTable,
)

_MESSAGES = {
    "missing": "is missing",
    "string_type": "is not a text",
    "int_type": "is not a whole number",
    "float_type": "is not a number",
    "bool_type": "is neither true nor false",
    "list_type": "is not a list",
    "dict_type": "is not a table",
    "model_type": "is not a table",
    "finite_number": "is not finite",
    "too_short": "has too few entries",
    "too_long": "has too many entries",
    "string_pattern_mismatch": "is not a name: letters, digits and '_', as in latency",
    "string_too_short": "is empty",
    "string_too_long": "is too long",
}
_UNIT = 'give a number in the base unit, or a text with a unit such as "1 KiB"'
_VARIABLE = (
    "give exactly one of real = [low, high], integer = [low, high], values = [...], "
    'catalog = "name", rows = { option = {...} }'
)
_SOURCE = 'source = "…": a log, a document, where it was read'
_ABSENT = ("missing", NO_SOURCE)
_LENGTHS = {"min_length": "at least", "max_length": "at most"}
_NOUNS = (("entry", "entries"), ("character", "characters"))
_KIND_AT = {"space": 2, "inputs": 2, "study": 3}
"""The depth at which pydantic puts the kind of an entry into a place, by section."""
_SHOWN = 60  # characters of a value in a message
_REPORTED = 100  # errors: pydantic has one for each entry of a list
_Detail = Mapping[str, Any]


def parse_file(content: Mapping[str, Any], findings: Findings) -> StudyFile:
    """Check a study's content against the schema.

    Raises
    ------
    InputError
        With every error of the schema.
    """
    study = content.get("study")
    schema = TableStudyFile if _is_of_table(study) else StudyFile
    try:
        return schema.model_validate(content)
    except ValidationError as error:
        details = error.errors(include_url=False)
    unknown = {d["loc"] for d in details if d["type"] == "extra_forbidden"}
    places: dict[Place, list[_Detail]] = {}
    for detail in details:
        if detail["type"] != "missing" or not _is_misspelt(detail["loc"], unknown):
            places.setdefault(_place(detail, content)[0], []).append(detail)
    for place, several in list(places.items())[:_REPORTED]:
        _report(findings, place, several, content)
    findings.finish_stage()
    raise AssertionError("pydantic reported no error")


def _is_of_table(study: Any) -> bool:
    """Return whether a study names a table, or seems to."""
    if not isinstance(study, Mapping) or "table" in study or "models" in study:
        return isinstance(study, Mapping) and "table" in study
    return any(closest(str(key), ["table"]) for key in study)


def _is_misspelt(loc: tuple[str | int, ...], unknown: set[tuple[str | int, ...]]) -> bool:
    """Return whether an unknown key of the same table is near to a missing one."""
    others = [str(other[-1]) for other in unknown if other[:-1] == loc[:-1]]
    return any(closest(other, [str(loc[-1])]) is not None for other in others)


def _place(detail: _Detail, content: Any) -> tuple[Place, Any]:
    """Return the place of an error, without pydantic's words for kinds, and the value there."""
    place, value = Place(), content
    loc = detail["loc"]
    for depth, step in enumerate(loc):
        if depth == _KIND_AT.get(loc[0]) and step in KINDS:
            continue
        if isinstance(value, Mapping) and step in value:
            value = value[step]
            place /= str(step)
        elif isinstance(value, list) and isinstance(step, int) and step < len(value):
            value = value[step]
            place /= step
    if detail["type"] in _ABSENT and (place.steps or (place.section,))[-1] != loc[-1]:
        place /= str(loc[-1])
    return place, value


def _report(
    findings: Findings, place: Place, details: Sequence[_Detail], content: Mapping[str, Any]
) -> None:
    """Add the problem of one place, for which pydantic may have an error per allowed type."""
    kinds = {detail["type"] for detail in details}
    detail = details[0]
    value = _place(detail, content)[1]
    text = _show(value)
    if "extra_forbidden" in kinds:
        key = str(detail["loc"][-1])
        table = _table_of(detail["loc"], content)
        findings.add(place, f"unknown key '{key}'", nearest(key, table.model_fields))
    elif kinds & {"union_tag_not_found", "union_tag_invalid"}:
        _report_kind(findings, place, value)
    elif "finite_number" in kinds:
        findings.add(place, f"{text} is not finite", _UNIT if "string_type" in kinds else "")
    elif {"int_type", "string_type"} <= kinds:
        findings.add(place, f"{text} is neither a number nor a text", _UNIT)
    elif {"int_type", "float_type"} <= kinds:
        findings.add(place, f"{text} is not a number")
    elif NO_SOURCE in kinds:
        findings.add(place, detail["msg"], _SOURCE)
    elif "missing" in kinds:
        findings.add(place, _MESSAGES["missing"])
    else:
        message = _MESSAGES.get(detail["type"]) or _reworded(detail["msg"])
        findings.add(place, f"{text} {message}", _remedy(place, detail, text))


def _report_kind(findings: Findings, place: Place, value: Any) -> None:
    """Add the problem of a table whose kind no key shows."""
    if place.section == "space" and len(place.steps) == 1:
        message = f"has no kind of variable: {_show(value)}"
        findings.add(place, message, _VARIABLE)
    elif not value:
        findings.add(place, f"{_show(value)} is an empty table", _UNIT)
    else:
        tables: list[type[Table]] = [UncertainTable]
        if len(place.steps) == 1:
            tables += [CatalogRow, ResourceFile, SourcedTable]
        names = {"value"}.union(*(table.model_fields for table in tables))
        key = next((key for key in value if key not in names), next(iter(value)))
        findings.add(place / key, f"unknown key '{key}'", nearest(key, names))


def _table_of(loc: tuple[str | int, ...], content: Mapping[str, Any]) -> type[Table]:
    """Return the table that contains an unknown key."""
    of_table = _is_of_table(content.get("study"))
    if len(loc) == 1:
        return TableStudyFile if of_table else StudyFile
    if loc[0] == "study" and len(loc) == 2 and of_table:
        return TableStudyTable
    return KINDS.get(str(loc[-2])) or SECTIONS.get(str(loc[0])) or StudyFile


def _remedy(place: Place, detail: _Detail, text: str) -> str:
    context = detail.get("ctx", {})
    limits = [f"{word} {context[key]}" for key, word in _LENGTHS.items() if key in context]
    if detail["type"] == "list_type":
        tables = str(place) in LISTS and (text[0] == "{" or not place.steps)
        return f"write [[{place}]]" if tables else f"write [{text}]"
    one, many = _NOUNS[detail["type"].startswith("string")]
    noun = one if limits == ["at least 1"] else many
    return f"give {' and '.join(limits)} {noun}" if limits else ""


def _reworded(text: str) -> str:
    """Return pydantic's sentence without its subject."""
    return (text[0].lower() + text[1:]).replace("input ", "", 1)


def _show(value: Any) -> str:
    text = json.dumps(value, default=str, ensure_ascii=False)
    text = re.sub(r'://[^\s"]+', "://…", text[: 100 * _SHOWN])  # it may hold a password
    return text if len(text) <= _SHOWN else text[: _SHOWN - 3] + "..."
