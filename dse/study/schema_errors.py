"""Check the content of a file against the schema; errors are in words, all of them at once.

Each error has its place, and the nearest known key.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Mapping, Sequence
from typing import Any, TypeVar, get_args, get_type_hints

from pydantic import BaseModel, ValidationError

from dse.problems import nearest
from dse.study.findings import Findings, Place
from dse.study.schema import (
    NO_SOURCE,
    TABLES,
    CatalogRow,
    ResourceFile,
    SourcedTable,
    StudyFile,
    SystemStudyFile,
    Table,
    TableStudyFile,
    UncertainTable,
)

_KINDS = ("number", "model name")
"""What pydantic puts into the place of an error besides the names of tables."""
_EXPECTED = {
    "string_type": "a text",
    "int_type": "a whole number",
    "float_type": "a number",
    "bool_type": "true or false",
    "list_type": "a list",
    "dict_type": "a table",
    "model_type": "a table",
    "string_pattern_mismatch": "a name: letters, digits and '_', as in latency",
}
_UNIT = 'give a number in the base unit, or a text with a unit such as "1 KiB"'
_VARIABLE = (
    "give exactly one of real = [low, high], integer = [low, high], values = [...], "
    'catalog = "name", rows = { option = {...} }'
)
_SHOWN = 60  # characters of a value in a message
_REPORTED = 100  # errors: pydantic has one for each entry of a list
_Schema = TypeVar("_Schema", bound=BaseModel)


def check_study_content(content: Mapping[str, Any], findings: Findings) -> StudyFile:
    """Check a study's content against the schema.

    InputError with every error of the schema.
    """
    if not content:
        findings.add(Place(), "the file is empty", "dse new STUDY writes a first draft")
        findings.finish_stage()
    study = content.get("study")
    if isinstance(study, Mapping) and "table" in study:
        return check_table_content(TableStudyFile, content, findings)
    is_of_system = "kernel" in content or "kernels" in content
    return check_table_content(SystemStudyFile if is_of_system else StudyFile, content, findings)


def check_table_content(
    schema: type[_Schema], content: Mapping[str, Any], findings: Findings
) -> _Schema:
    """Return the content of a file as a table of a schema; see `check_study_content`."""
    try:
        return schema.model_validate(content)
    except ValidationError as error:
        details = error.errors(include_url=False)
    values: dict[Place, Any] = {}
    by_place: dict[Place, list[Mapping[str, Any]]] = {}
    for detail in details:
        place, value = _place(detail, content)
        values[place] = value
        by_place.setdefault(place, []).append(detail)
    for place, several in list(by_place.items())[:_REPORTED]:
        _report(schema, findings, place, several, values[place])
    findings.finish_stage()
    raise AssertionError("pydantic reported no error")


def _place(detail: Mapping[str, Any], content: Any) -> tuple[Place, Any]:
    """Return the place of an error, without pydantic's words for kinds, and the value there."""
    place, value = Place(), content
    for step in detail["loc"]:
        if step in TABLES or step in _KINDS:
            continue
        try:
            value = value[step]
        except (KeyError, IndexError, TypeError):
            if detail["type"] in ("missing", NO_SOURCE):
                place /= step
            break
        place /= step
    return place, value


def _report(
    schema: type[BaseModel],
    findings: Findings,
    place: Place,
    details: Sequence[Mapping[str, Any]],
    value: Any,
) -> None:
    """Add the problem of one place, for which pydantic may have an error per allowed type."""
    detail, kinds = details[0], {detail["type"]: None for detail in details}
    if "float_type" in kinds:
        kinds.pop("int_type", None)
    text, remedy = _show(value), _UNIT if {"float_type", "string_type"} <= kinds.keys() else ""
    if "extra_forbidden" in kinds:
        key = str(detail["loc"][-1])
        largest = TableStudyFile if schema is StudyFile else schema
        known = _table_at(largest, detail["loc"][:-1]).model_fields
        findings.add(place, f"unknown key '{key}'", nearest(key, known))
    elif kinds.keys() & {"union_tag_not_found", "union_tag_invalid"}:
        _report_kind(findings, place, value)
    elif "missing" in kinds:
        findings.add(place, "is missing")
    elif NO_SOURCE in kinds:
        findings.add(place, detail["msg"], 'source = "…": a log, a document, where it was read')
    elif "finite_number" in kinds:
        findings.add(place, f"{text} is not finite", _UNIT if "string_type" in kinds else "")
    elif kinds.keys() <= _EXPECTED.keys():
        if "list_type" in kinds:
            tables = isinstance(value, Mapping) or not place.steps
            remedy = f"write [[{place}]]" if tables else f"write [{text}]"
            if place.steps[-1:] in (("integer",), ("real",)):
                remedy = "write [low, high], such as [2, 64]"
        elif isinstance(value, str) and kinds.keys() & {"int_type", "float_type"}:
            remedy = f"write {value.strip()} without quotes" if _is_number(value) else remedy
        findings.add(place, f"{text} is not {' or '.join(_EXPECTED[k] for k in kinds)}", remedy)
    elif place == Place("space") and "too_long" in kinds:
        message = "only the kernels of a system have variables"
        findings.add(place, message, "write them in [kernel.NAME.space] or [kernels.space]")
    else:  # pydantic's sentence without its subject
        message = re.sub(r"^(Input|List|Tuple|Dictionary|String) ", "", detail["msg"])
        fraction = "or a fraction of the samples, 0 % to 100 %"
        remedy = fraction if "string_pattern_mismatch" in kinds else ""
        findings.add(place, f"{text} {message.replace(' after validation', '')}", remedy)


def _report_kind(findings: Findings, place: Place, value: Any) -> None:
    """Add the problem of a table whose kind no key shows."""
    if place.section == "space" and len(place.steps) == 1:
        remedy = _VARIABLE
        if isinstance(value, list):
            remedy = f"write {{ values = {_show(value)} }}"
            if any(isinstance(item, str) and not item[:1].isdigit() for item in value):
                remedy = f'write {{ catalog = "NAME", options = {_show(value)} }}'
        elif isinstance(value, Mapping) and "range" in value:
            low_high = _show(value["range"])
            remedy = f"write {{ integer = {low_high} }}, or real for a continuous variable"
        findings.add(place, f"has no kind of variable: {_show(value)}", remedy)
    elif not value:
        findings.add(place, f"{_show(value)} is an empty table", _UNIT)
    else:
        tables: list[type[Table]] = [UncertainTable, SourcedTable]
        tables += [CatalogRow, ResourceFile] if len(place.steps) == 1 else []
        names = {name for table in tables for name in table.model_fields}
        key = next((key for key in value if key not in names), next(iter(value)))
        findings.add(place / key, f"unknown key '{key}'", nearest(key, names))


def _table_at(schema: type[BaseModel], loc: Sequence[str | int]) -> type[BaseModel]:
    """Return the table at a place of pydantic; a key that no table declares may be a row."""
    table = schema
    for step in map(str, loc):
        if step in TABLES:
            table = TABLES[step]
        elif step in table.model_fields:
            table = _table_in(table.model_fields[step].annotation) or table
        else:
            table = _table_in(get_type_hints(table).get("__pydantic_extra__")) or table
    return table


def _table_in(annotation: Any) -> type[BaseModel] | None:
    """Return the table that an annotation such as ``list[CurveTable]`` names."""
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        return annotation
    return next(filter(None, map(_table_in, get_args(annotation))), None)


def _is_number(text: str) -> bool:
    try:
        return math.isfinite(float(text))
    except ValueError:
        return False


def _show(value: Any) -> str:
    text = json.dumps(value, default=str, ensure_ascii=False)
    text = re.sub(r'://[^\s"]+', "://…", text[: 100 * _SHOWN])  # it may hold a password
    return text if len(text) <= _SHOWN else text[: _SHOWN - 3] + "..."
