"""A study as the page narrows it to a selection: its text without the space, and each variable.

The page writes ``[space]`` again, from the selected designs. A number of the file may have
any unit; here it is in the base unit, as designs are.
"""

from __future__ import annotations

import json
import tomllib
from collections.abc import Mapping
from typing import Any

from dse.evaluate.space import Real
from dse.model.units import UnitError, read
from dse.result.record import Result

_KINDS = ("real", "integer", "values", "catalog", "rows", "subsets")
_LISTED = 256  # values of a grid that are listed one by one
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
    """Return the text of a study without its space; TOML keeps its comments."""
    import tomlkit  # 30 ms, and only for pages

    wanted = {key: value for key, value in content.items() if key != "space"}
    try:
        document: Any = tomlkit.parse(text)
        del document["space"]
        document["study"]["name"] = wanted["study"]["name"]
        if document.unwrap() == wanted:
            return tomlkit.dumps(document).rstrip() + "\n"
    except ValueError:  # it is JSON
        pass
    return tomlkit.dumps(_without_none(wanted))


def _without_none(value: Any) -> Any:
    """Return a value without the entries that JSON has as null, which TOML cannot say."""
    if isinstance(value, Mapping):
        return {k: _without_none(v) for k, v in value.items() if v is not None}
    return [_without_none(v) for v in value] if isinstance(value, list) else value
