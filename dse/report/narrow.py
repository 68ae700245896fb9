"""A study as the page narrows it to a selection: its text without the space, and each variable.

The page writes ``[space]`` anew, from the designs that are selected. A number of the file may have
any unit; here it is in the base unit, as designs are.
"""

from __future__ import annotations

import json
import re
import tomllib
from collections.abc import Mapping, Sequence
from typing import Any

from dse.evaluate.variables import Real
from dse.model.units import UnitError, read
from dse.result.record import Result

_KINDS = ("real", "integer", "values", "catalog", "rows", "subsets")
_LISTED = 256  # values of a grid that are listed one by one
_HEAD = re.compile(r"(?ms)^\[+\s*(?P<name>[^]\n]*?)\s*\]+[^\n]*\n.*?(?=^\[|\Z)")
_NOTE = """# Narrowed to designs that were selected in a report. Keep it in the folder of that
# study: the files that it names are found from there.

"""


def narrow(result: Result, text: str) -> dict[str, Any] | None:
    """Return what the page needs to narrow a study, None if it cannot.

    Parameters
    ----------
    text : str
        The study: TOML, or JSON if a script made it.

    Returns
    -------
    dict or None
        ``before``, a study file without its space, and ``space``: for each variable its kind, its
        table with numbers in base units, and the values of its grid if there are few. None for a
        study of a table, whose rows are its space, and for a text that is not a study.
    """
    content = _parsed(text)
    space = content.get("space") if isinstance(content, Mapping) else None
    study = content.get("study", {}) if isinstance(content, Mapping) else {}
    if not isinstance(space, Mapping) or "table" in study:
        return None
    clock = result.constants.get("clock")
    try:
        variables = {
            name: _variable(table, result.columns[name].unit, clock[0] if clock else None)
            for name, table in space.items()
        }
    except (KeyError, TypeError, StopIteration, ValueError, UnitError):
        return None
    name = f"{study.get('name', '')} narrowed"
    renamed = {**content, "study": {**study, "name": name}}
    return {"before": _NOTE + _before(text, renamed), "space": variables}


def _parsed(text: str) -> Any:
    for parse in (tomllib.loads, json.loads):
        try:
            return parse(text)
        except ValueError:
            continue
    return None


def _variable(table: Mapping[str, Any], unit: str, clock: float | None) -> dict[str, Any]:
    kind = next(each for each in _KINDS if each in table)
    found: dict[str, Any] = {"kind": kind, "table": dict(table), "grid": None}
    if kind not in ("real", "values"):
        return found
    numbers = [read(v, unit, clock) if isinstance(v, str) else float(v) for v in table[kind]]
    found["table"][kind] = numbers
    if kind == "values":
        found["grid"] = numbers
    elif table.get("steps", _LISTED + 1) <= _LISTED:
        low, high = numbers
        found["grid"] = Real(low, high, table.get("log", False), table["steps"]).levels().tolist()
    return found


def _before(text: str, content: Mapping[str, Any]) -> str:
    """Return the text of a study without its space, with its comments if that can be done."""
    wanted = {key: value for key, value in content.items() if key != "space"}

    def kept(section: re.Match[str]) -> str:
        head = section["name"].split(".")[0].strip(" \"'")
        if head == "study":
            named = f"name = {_toml(wanted['study']['name'])}"
            return re.sub(r"(?m)^\s*name\s*=[^\n]*", lambda _: named, section[0], count=1)
        return "" if head == "space" else section[0]

    cut = _HEAD.sub(kept, text)
    try:
        if tomllib.loads(cut) == wanted:
            return cut.rstrip() + "\n"
    except ValueError:
        pass
    return _document(wanted)


def _document(content: Mapping[str, Any]) -> str:
    """Return a study as TOML: a table, or a list of tables, for each of its sections."""
    lines: list[str] = []
    for key, section in content.items():
        for each in section if isinstance(section, Sequence) else (section,):
            head = f"[[{_key(key)}]]" if isinstance(section, Sequence) else f"[{_key(key)}]"
            items = [f"{_key(k)} = {_toml(v)}" for k, v in each.items() if v is not None]
            lines += [head, *items, ""]
    return "\n".join(lines)


def _key(name: str) -> str:
    return name if re.fullmatch(r"[A-Za-z0-9_-]+", name) else _toml(name)


def _toml(value: Any) -> str:
    if isinstance(value, Mapping):
        inside = ", ".join(f"{_key(k)} = {_toml(v)}" for k, v in value.items())
        return f"{{ {inside} }}" if inside else "{}"
    if isinstance(value, str):  # JSON's escapes are TOML's, but for one character
        return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")
    if isinstance(value, Sequence):
        return f"[{', '.join(map(_toml, value))}]"
    return json.dumps(value) if isinstance(value, bool) else repr(value)
