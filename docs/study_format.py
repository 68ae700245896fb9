"""Write docs/reference/study-format.md: the study format, from the schema and from the text beside this.

Run with ``python docs/study_format.py``. The prose and the examples are in ``study_format.txt``;
each line ``{{ keys NAME … }}`` there becomes the list of the keys of these tables of
`dse.study.schema`, and ``{{ units }}`` the units that a text may have.
"""

from __future__ import annotations

import re
import types
from pathlib import Path
from typing import Annotated, Any, Literal, Union, get_args, get_origin

import annotated_types
from pydantic import BaseModel
from pydantic.fields import FieldInfo

from dse.model import units
from dse.study import schema
from dse.study.schema import Table

HERE = Path(__file__).parent
PAGE = HERE / "reference" / "study-format.md"
_PLAIN = {str: "text", int: "whole number", float: "number", bool: "`true` or `false`"}
_NO_LIMIT = 1_000_000  # a limit that no study comes near is left out
_ENDS = {
    annotated_types.Ge: ("from", "ge"),
    annotated_types.Gt: ("above", "gt"),
    annotated_types.Le: ("to", "le"),
    annotated_types.Lt: ("below", "lt"),
}


def page() -> str:
    """Return the page."""
    text = (HERE / "study_format.txt").read_text(encoding="utf-8")
    text = text.replace("{{ units }}", ", ".join(f"`{unit}`" for unit in units.SYMBOLS))
    return re.sub(r"\{\{ keys ([\w ]+) \}\}", lambda m: keys(m[1].split()), text)


def tables() -> dict[str, type[Table]]:
    """Return every table of the schema by its name."""
    found = vars(schema)
    return {n: t for n, t in found.items() if isinstance(t, type) and issubclass(t, Table)}


def keys(names: list[str]) -> str:
    """Return the keys of some tables as a list of Markdown."""
    lines = [
        f"* `{key}` ({signature(field)}): {field.description}"
        for name in names
        for key, field in own_fields(tables()[name]).items()
    ]
    return "\n".join(lines)


def own_fields(table: type[Table]) -> dict[str, FieldInfo]:
    """Return the fields of a table without inherited ones, which the page shows once."""
    return {key: field for key, field in table.model_fields.items() if key in table.__annotations__}


def signature(field: FieldInfo) -> str:
    """Return the values and the default of a key; a default of true or false shows its values."""
    if isinstance(field.default, bool):
        return default(field).removeprefix("; ")
    return value(field) + default(field)


def default(field: FieldInfo) -> str:
    """Return the default of a key, or that it is required."""
    if field.is_required():
        return "; required"
    given = field.get_default(call_default_factory=True)
    if given is None or given in ({}, []) or isinstance(given, BaseModel) or given == "":
        return ""
    return f"; default `{str(given).lower() if isinstance(given, bool) else given}`"


def value(field: FieldInfo) -> str:
    """Describe the values that a key may have."""
    return _ranged(_kind(field.annotation), field.metadata)


def _kind(given: Any) -> str:
    """Describe the values of a type."""
    if isinstance(given, type) and issubclass(given, Table):
        return "table"
    if given in _PLAIN:
        return _PLAIN[given]
    origin, inner = get_origin(given), get_args(given)
    if origin is Annotated:
        return _ranged(_kind(inner[0]), list(inner[1:]))
    if origin is Literal:
        return ", ".join(f'`"{word}"`' for word in inner)
    if origin is list:
        return f"list of {_plural(inner[0])}"
    if origin is dict:
        return "table" if inner[1] is Any else f"table of {_plural(inner[1])}"
    if origin in (Union, types.UnionType):
        kinds = dict.fromkeys(_kind(each) for each in inner if each is not types.NoneType)
        if "number" in kinds:  # a number may be written as a text with a unit
            kinds = {kind: None for kind in kinds if kind not in ("whole number", "text")}
        return " or ".join(kinds)
    return "anything"


def _plural(given: Any) -> str:
    """Describe several values of a type by the first kind that they may have."""
    return re.split(" or |, | of ", _kind(given))[0] + "s"


def _ranged(words: str, metadata: list[Any]) -> str:
    """Add the allowed range to the description of a type."""
    every = [each for one in metadata for each in (*getattr(one, "metadata", ()), one)]
    ends = {type(each): each for each in every}
    said = [
        f"{word} {getattr(ends[kind], attribute):,}"
        for kind, (word, attribute) in _ENDS.items()
        if kind in ends and getattr(ends[kind], attribute) < _NO_LIMIT
    ]
    return f"{words}, {' '.join(said)}" if said else words


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
