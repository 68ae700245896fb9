"""Sections as panels: the additions of the study's models to the report."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd

from dse.model.section import Section, SectionPart, Table, Tree
from dse.model.values import cell, decimals
from dse.report.panel import panel, table_of
from dse.report.section_plot import height, section_plot
from dse.result.record import Result
from dse.study.study import ResolvedStudy


def written(study: ResolvedStudy, result: Result) -> tuple[list[Section], list[str]]:
    """Return the sections, and the errors of sections that could not be written."""
    found, failed = [], []
    for name, write in study.sections if len(result.front) else ():
        try:
            section = write(study, result)
        except (Exception, SystemExit) as error:  # whatever a user's function raises
            failed.append(f"the section {name}, which raised {type(error).__name__}: {error}")
            continue
        if isinstance(section, Section):
            found.append(section)
        else:
            failed.append(f"the section {name}, which returned {type(section).__name__}")
    return found, failed


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
    columns = [
        _numbers(table.iloc[:, i]) if number else [cell(value) for value in table.iloc[:, i]]
        for i, number in enumerate(numbers)
    ]
    cells = [list(row) for row in zip(*columns, strict=True)]
    return table_of([str(name) for name in table.columns], numbers, cells)


def _numbers(column: pd.Series[Any]) -> list[str]:
    """Return numbers with their points below one another, unless they span too much for that."""
    values = column.to_numpy(np.float64, na_value=np.nan)
    places = decimals(values)
    if places is None:
        return [cell(value) for value in column]
    rounded = values[np.isfinite(values)].round(places)
    while places and (rounded == rounded.round(places - 1)).all():  # as they were given
        places -= 1
    return [f"{v:,.{places}f}" if np.isfinite(v) else cell(v) for v in values.tolist()]
