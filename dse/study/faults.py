"""Faults: what the schema finds wrong with a study, in words, with the nearest known key."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from dse.problems import Problem, closest, nearest
from dse.study.entry import Table
from dse.study.schema import INPUTS, KINDS, LISTS, NAMED, CatalogRow, table_at
from dse.study.uncertain import NO_SOURCE

_SAY = {
    "missing": "is missing",
    "string_type": "is not a text",
    "int_type": "is not a whole number",
    "float_type": "is not a number",
    "bool_type": "is neither true nor false",
    "list_type": "is not a list",
    "dict_type": "is not a table",
    "model_type": "is not a table",
    "finite_number": "is not finite",
    "extra_forbidden": "is under a key that a figure does not have: value, provenance, source",
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
_PLACE = re.compile(r"([\w-]+)(?:\[(\d+)\])?(?:\.([\w-]+)(?:\[(\d+)\])?)?")
_KIND_AT = {"space": 2, "inputs": 2, "study": 3}
"""Where pydantic puts the kind of an entry into a place, by section."""
_NOUNS = (("entry", "entries"), ("character", "characters"))
_LONGEST = 60  # characters of what was given


def corrected(
    content: dict[str, Any], problems: list[Problem]
) -> tuple[dict[str, Any], Counter[str]]:
    """Note the unknown keys; each takes the place of the absent key that it is near to.

    So what stands under a misspelt key is checked as well, and its absence is not told. Returned
    beside the content: how many keys of each table stand for nothing that is known.
    """
    lost = Counter[str]()
    found: dict[str, Any] = _corrected(content, "", "", problems, lost)
    return found, lost


def _corrected(
    value: Any, path: str, where: str, problems: list[Problem], lost: Counter[str]
) -> Any:
    if isinstance(value, list) and path in LISTS:
        return [
            _corrected(v, f"{path}.*", f"{where}[{i + 1}]", problems, lost)
            for i, v in enumerate(value)
        ]
    if not isinstance(value, dict):
        return value
    if path in NAMED:
        return {
            k: _corrected(v, f"{path}.*", f"{where}.{k}", problems, lost) for k, v in value.items()
        }
    table = table_at(path, value)
    if table is None:
        return value
    known = (_meant(value) if table is CatalogRow else table).model_fields
    found: dict[str, Any] = {}
    for key, inner in value.items():
        place = f"{where}.{key}" if where else key
        if key not in known:
            problems.append(Problem(place, f"unknown key '{key}'", nearest(key, known)))
            key = closest(key, set(known) - set(value) - set(found))
        if key is not None:
            found[key] = _corrected(inner, f"{path}.{key}" if path else key, place, problems, lost)
        else:
            lost[where] += 1
    return found


def _meant(value: Mapping[str, Any]) -> type[Table]:
    """Return the table whose keys those of an input are most like: of a row if no key is."""

    def like(table: type[Table]) -> int:
        known = table.model_fields
        return sum(2 if key in known else closest(key, known) is not None for key in value)

    tables: list[type[Table]] = [CatalogRow, *INPUTS.values()]
    return max(tables, key=like)


def faults(details: Sequence[Mapping[str, Any]], content: Any, lost: Counter[str]) -> list[Problem]:
    """Return one problem a place of what pydantic found: it tries each type that may stand there.

    Parameters
    ----------
    details : sequence of mapping
        Of `pydantic.ValidationError.errors`.
    content : mapping
        What was checked.
    lost : Counter
        By table: keys that stand for nothing that is known. What is missing may stand under them,
        so that it is told only if there is more of it.
    """
    places: dict[str, list[Mapping[str, Any]]] = {}
    missing: dict[str, set[str]] = {}
    for detail in details:
        where, value = _place(detail, content)
        places.setdefault(where, []).append(detail)
        if detail["type"] in _ABSENT:
            missing.setdefault(where.rpartition(".")[0], set()).add(where)
        elif value == {}:
            missing.setdefault(where, set()).add(where)
    told = {w for table, wanted in missing.items() if len(wanted) <= lost[table] for w in wanted}
    return [_fault(w, found, content) for w, found in places.items() if w not in told]


def in_order(problems: Iterable[Problem], content: Mapping[str, Any]) -> list[Problem]:
    """Return problems in the order of a study's sections and entries."""

    def order(problem: Problem) -> tuple[int, ...]:
        found = _PLACE.match(problem.where)
        section, number, key, inner = found.groups() if found else ("", None, "", None)
        entries = content.get(section)
        keys = list(entries) if isinstance(entries, Mapping) else []
        first = list(content).index(section) if section in content else len(content)
        second = keys.index(key) if key in keys else len(keys)
        return first, int(number or 0), second, int(inner or 0)

    return sorted(problems, key=order)


def _place(detail: Mapping[str, Any], content: Any) -> tuple[str, Any]:
    """Return a place as people write it, and what stands there; pydantic's own words left out."""
    words: list[str] = []
    here = content
    loc = detail["loc"]
    for depth, step in enumerate(loc):
        if depth == _KIND_AT.get(loc[0]) and step in KINDS:
            continue
        if isinstance(here, dict) and step in here:
            here = here[step]
            words.append(str(step))
        elif isinstance(here, list) and isinstance(step, int) and step < len(here):
            here = here[step]
            words[-1] += f"[{step + 1}]"
    if detail["type"] in _ABSENT and words[-1:] != [str(loc[-1])]:
        words.append(str(loc[-1]))
    return ".".join(words), here


def _fault(where: str, found: Sequence[Mapping[str, Any]], content: Any) -> Problem:
    kinds = {detail["type"] for detail in found}
    detail = found[0]
    value = _written(_place(detail, content)[1])
    if kinds & {"union_tag_not_found", "union_tag_invalid"}:
        return Problem(where, f"does not say what kind of variable it is: {value}", _VARIABLE)
    if "finite_number" in kinds:
        return Problem(where, f"{value} is not finite", _UNIT if "string_type" in kinds else "")
    if {"int_type", "string_type"} <= kinds:
        if value == "{}":
            return Problem(where, "{} is an empty table", _UNIT)
        return Problem(where, f"{value} is neither a number nor a text", _UNIT)
    if {"int_type", "float_type"} <= kinds:
        return Problem(where, f"{value} is not a number")
    message = _SAY.get(detail["type"]) or _reworded(detail["msg"])
    context = detail.get("ctx", {})
    wanted = [f"{word} {context[key]}" for key, word in _LENGTHS.items() if key in context]
    if detail["type"] == NO_SOURCE:
        return Problem(where, message, _SOURCE)
    if detail["type"] == "missing":
        return Problem(where, message)
    one, many = _NOUNS[detail["type"].startswith("string")]
    noun = one if wanted == ["at least 1"] else many
    remedy = f"give {' and '.join(wanted)} {noun}" if wanted else ""
    if detail["type"] == "list_type":
        tables = where in LISTS and (value[0] == "{" or "." not in where)  # models may be texts
        remedy = f"write [[{where}]]" if tables else f"write [{value}]"
    return Problem(where, f"{value} {message}", remedy)


def _reworded(text: str) -> str:
    """Return pydantic's sentence without its subject."""
    return (text[0].lower() + text[1:]).replace("input ", "", 1)


def _written(value: Any) -> str:
    try:
        text = json.dumps(value, default=str, ensure_ascii=False)
    except ValueError:  # a number of thousands of digits
        return "a number that large"
    text = re.sub(r'://[^\s"]+', "://…", text)  # it may hold a password
    return text if len(text) <= _LONGEST else text[: _LONGEST - 3] + "..."
