"""Sections as panels: what the study's models add to the report."""

from __future__ import annotations

from typing import Any

import pandas as pd

from dse.model.section import Section, SectionPart, Table, Tree
from dse.model.values import cell
from dse.report.panel import panel, table_of
from dse.report.section_plot import height, section_plot


def section_data(section: Section, name: str = "section") -> dict[str, Any]:
    """Return what the page needs to show a section; `name` begins the names of its panels."""
    paragraphs = (" ".join(text.split()) for text in section.text.split("\n\n"))
    return {
        "title": section.title,
        "paragraphs": [text for text in paragraphs if text],
        "panels": [_part(part, f"{name}-{i}") for i, part in enumerate(section.parts)],
    }


def _part(part: SectionPart, name: str) -> dict[str, Any]:
    if isinstance(part, Table):
        return panel(name, part.title, part.note, table=_table(part.rows))
    wide = isinstance(part, Tree)  # its narrow blocks need the room
    plot = section_plot(part)
    return panel(name, part.title, part.note, plot=plot, height=height(part), wide=wide)


def _table(rows: pd.DataFrame) -> dict[str, Any]:
    """Return headings and cells; columns of numbers are marked, to be set right."""
    table = rows.reset_index() if rows.index.name is not None else rows
    numbers = [
        pd.api.types.is_numeric_dtype(kind) and not pd.api.types.is_bool_dtype(kind)
        for kind in table.dtypes
    ]
    cells = [[cell(value) for value in row] for row in table.itertuples(index=False)]
    return table_of([str(name) for name in table.columns], numbers, cells)
