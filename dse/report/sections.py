"""Sections as JSON: paragraphs, tables as texts, pictures as plotly.js takes them."""

from __future__ import annotations

import math
from typing import Any

import pandas as pd

from dse.model.section import Section, SectionPart, Table, Tree
from dse.report.section_plot import height, section_plot


def section_data(section: Section) -> dict[str, Any]:
    """Return what the page needs to show a section."""
    paragraphs = (" ".join(text.split()) for text in section.text.split("\n\n"))
    return {
        "title": section.title,
        "paragraphs": [text for text in paragraphs if text],
        "parts": [_part(part) for part in section.parts],
    }


def _part(part: SectionPart) -> dict[str, Any]:
    shown: dict[str, Any] = {"title": part.title, "note": part.note}
    if isinstance(part, Table):
        return shown | {"table": _table(part.rows)}
    wide = isinstance(part, Tree)  # its narrow blocks need the room
    return shown | {"plot": section_plot(part), "height": height(part), "wide": wide}


def _table(rows: pd.DataFrame) -> dict[str, Any]:
    """Return headings and cells; columns of numbers are marked, to be set right."""
    table = rows.reset_index() if rows.index.name is not None else rows
    numbers = [
        pd.api.types.is_numeric_dtype(kind) and not pd.api.types.is_bool_dtype(kind)
        for kind in table.dtypes
    ]
    return {
        "columns": [str(name) for name in table.columns],
        "numbers": numbers,
        "rows": [[cell(value) for value in row] for row in table.itertuples(index=False)],
    }


def cell(value: Any) -> str:
    """Return a value as a table shows it: four digits, whole numbers in full.

    >>> cell(1234567), cell(0.123456), cell(float("inf")), cell(None), cell("SL1"), cell(True)
    ('1,234,567', '0.1235', '∞', '–', 'SL1', 'yes')
    """
    if isinstance(value, str):
        return value
    if value is None or value is pd.NA or value is pd.NaT:
        return "–"
    if isinstance(value, bool) or type(value).__name__ in ("bool", "bool_"):
        return "yes" if value else "no"
    if not isinstance(value, int | float) and not hasattr(value, "__float__"):
        return str(value)
    number = float(value)
    if math.isnan(number):
        return "–"
    if math.isinf(number):
        return "∞" if number > 0 else "-∞"
    if number.is_integer() and abs(number) < 1e15:
        return f"{number:,.0f}"
    return f"{number:,.1f}" if 1e4 <= abs(number) < 1e15 else f"{number:.4g}"
