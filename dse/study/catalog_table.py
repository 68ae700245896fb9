"""Catalogs as tables: a line per entry, with the unit of a quantity in the head of its column.

    # about = "Measured engines"
    # provenance = "measured"
    entry,    kernel, lane_area [kLUT], engine_clock [MHz], source
    aes-word, AES,    3.02,             125,                secworks/aes:README.md

The comment lines are the keys of the catalog in TOML. An empty cell is a missing value. A word in
parentheses is the provenance of a value, and a pair in brackets its range, whose source the column
``range_source`` has: ``46 [40, 52] (derived)``. A cell may have its own unit.
"""

from __future__ import annotations

import csv
import re
import tomllib
from contextlib import suppress
from typing import Any

_KEYS = ("about", "source", "note", "provenance")
"""Columns that are keys of the entry; others without a unit, but for `_RANGES`, are its facts."""
_RANGES = "range_source"
_QUANTITY = re.compile(r"(\w+) \[([^\]]+)\]")
_ABOUT = ("kind", "kernel", "variant", "device", "instructions")
"""Facts that describe an entry without a text in the column ``about``."""


def parse_catalog_table(text: str) -> dict[str, Any]:
    r"""Return a table as the content of a catalog in TOML.

    ValueError if the text is no such table.

    >>> content = parse_catalog_table("entry, kernel, lane_area [LUT]\na, AES, 300\n")
    >>> content["a"]["text"], content["a"]["lane_area"]
    ({'kernel': 'AES'}, {'value': 300.0, 'unit': 'LUT'})
    """
    lines = text.splitlines()
    head = [line[1:].removeprefix(" ") for line in lines if line.startswith("#")]
    content = tomllib.loads("\n".join(head))
    body = csv.reader(
        ("" if line.startswith("#") else line for line in lines), skipinitialspace=True, strict=True
    )
    columns: list[str] = []
    try:
        for cells in body:
            cells = [cell.strip() for cell in cells]
            if cells and not columns:
                columns = cells
            elif cells:
                if len(cells) != len(columns):
                    message = f"{len(cells)} cells for {len(columns)} columns"
                    raise ValueError(f"line {body.line_num} has {message}")
                if cells[0] in content:
                    raise ValueError(f"line {body.line_num} repeats the entry '{cells[0]}'")
                content[cells[0]] = _entry(cells[0], columns[1:], cells[1:])
    except csv.Error as error:
        raise ValueError(f"line {body.line_num}: {error}") from None
    return content


def _entry(name: str, columns: list[str], cells: list[str]) -> dict[str, Any]:
    """Return the table of an entry."""
    entry: dict[str, Any] = {"text": {}}
    for column, cell in zip(columns, cells, strict=True):
        if cell and (quantity := _QUANTITY.fullmatch(column)):
            entry[quantity[1]] = _value(cell, quantity[2], dict(zip(columns, cells, strict=True)))
        elif cell and column != _RANGES:
            (entry if column in _KEYS else entry["text"])[column] = cell
    facts = (entry["text"].get(fact, "none") for fact in _ABOUT)
    entry.setdefault("about", ", ".join(fact for fact in facts if fact != "none") or name)
    return entry


def _value(cell: str, unit: str, keys: dict[str, str]) -> dict[str, Any]:
    """Return the table of a value: ``number [low, high] (provenance)``."""
    rest, _, provenance = cell.removesuffix(")").partition(" (")
    number, _, bounds = rest.removesuffix("]").partition(" [")
    value: dict[str, Any] = {"value": _number(number)}
    if not isinstance(value["value"], str):  # a text has its own unit, or is a problem
        value["unit"] = unit
    if bounds:
        value["range"] = [_number(bound.strip()) for bound in bounds.split(",")]
        value["range_source"] = keys.get(_RANGES, "")
    return value | ({"provenance": provenance} if provenance else {})


def _number(text: str) -> float | str:
    with suppress(ValueError):
        return float(text)
    return text
