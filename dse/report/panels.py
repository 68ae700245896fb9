"""Panels: pictures and tables of a run, of a design, and of the sections of models."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd

from dse.explain.curves import Curve, Regions, find_best_point
from dse.explain.explanation import Explanation
from dse.model.section import Heatmap, Section, SectionPart, Table, Tree
from dse.model.values import (
    add_conditions,
    choose_decimals,
    show_cell,
    show_number,
    show_value,
    word_name,
)
from dse.report.plots import (
    convergence_plot,
    curve_plot,
    heatmap_cells,
    region_colors,
    regions_plot,
    section_plot,
    tree_blocks,
)
from dse.report.scales import Plot
from dse.result.record import Result
from dse.study.study import ResolvedStudy


def panel(
    name: str,
    title: str,
    note: str = "",
    *,
    plot: Plot | None = None,
    height: int = 400,
    heatmap: dict[str, Any] | None = None,
    tree: list[list[Any]] | None = None,
    table: dict[str, Any] | None = None,
    wide: bool = False,
) -> dict[str, Any]:
    """Return a panel: a heading and a note, with a picture, a table, or both next to each other.

    The picture's element on the page has the panel's name, which ends in a number. A series of a
    plot without ``x`` uses the first's, one without a colour the page's. The height is in pixels. A
    `wide` picture needs the whole width. See `heatmap_cells`, `tree_blocks` and `make_table`.
    """
    return {
        "name": name,
        "kind": name.partition("-")[0],
        "title": title,
        "note": note,
        "plot": plot,
        "height": height,
        "heatmap": heatmap,
        "tree": tree,
        "table": table,
        "wide": wide or table is not None,
    }


def make_table(
    columns: Sequence[str],
    numbers: Sequence[bool],
    rows: Sequence[Sequence[str | tuple[str, str]]],
    swatches: Sequence[str | None] = (),
) -> dict[str, Any]:
    """Return a table of texts.

    `numbers` are the columns to be set right. A cell is a text, or one with a remark under it.
    `swatches` are colours before each row.
    """
    return {
        "columns": list(columns),
        "numbers": list(numbers),
        "rows": rows,
        "swatches": list(swatches),
    }


Panel = dict[str, Any]
_END = "end of the axis"
_NARROW = 8  # columns of a heatmap above which it needs the whole width


def of_run(result: Result) -> list[Panel]:
    """Return the panels about the confidence in a run."""
    if len(result.convergence) < 2:
        return []
    plot = convergence_plot(result.convergence)
    return [panel("convergence-0", "Convergence", plot=plot, height=300)]


def of_design(explanation: Explanation) -> list[Panel]:
    """Return the panels of a design: scenarios, regions and curves."""
    return [
        *_scenarios(explanation),
        *(_regions_panel(regions, i) for i, regions in enumerate(explanation.regions)),
        *(_curve_panel(curve, i) for i, curve in enumerate(explanation.curves)),
    ]


def _scenarios(explanation: Explanation) -> list[Panel]:
    rows = [(s.objective, s.scenario, show_value(s.value, s.unit)) for s in explanation.scenarios]
    if not rows:
        return []
    table = make_table(("objective", "scenario", "value"), (False, False, True), rows)
    return [panel("scenarios-0", "In each scenario", table=table)]


def _regions_panel(regions: Regions, i: int) -> Panel:
    colors = region_colors(regions)
    ranges: dict[str, list[str]] = {}
    for region in regions.regions:
        ranges.setdefault(region.words, []).append(" to ".join(region.shown))
    rows = [(words, "; ".join(mine)) for words, mine in ranges.items()]
    label = {region.words: region.label for region in regions.regions}
    swatches = [colors.get(label[words]) for words in ranges]
    table = make_table(("limited by", word_name(regions.axis)), (False, False), rows, swatches)
    what = add_conditions(word_name(regions.objective), regions.condition)
    note = (
        f"An input limits if {what} improves by at least {show_number(100 * regions.threshold)} % "
        f"once the input is {show_number(regions.factor)}× better."
    )
    title = f"{what[:1].upper()}{what[1:]} along {word_name(regions.axis)}"
    return panel(f"regions-{i}", title, note, plot=regions_plot(regions), table=table)


def _curve_panel(curve: Curve, i: int) -> Panel:
    rows: list[tuple[str | tuple[str, str], ...]] = []
    words: dict[str, None] = {}
    for line in curve.lines:
        best = find_best_point(curve, line)
        here = "–" if np.isnan(best.here) else show_value(best.here, line.unit)
        at: str | tuple[str, str] = "–"
        value = "–"
        if np.isfinite(best.value):
            words[best.word] = None
            value = show_value(best.value, line.unit)
            at = show_value(best.at, curve.axis_unit)
            at = (at, _END) if best.edge else at
        rows.append(((line.quantity, line.about), value, at, here))
    marked = " or ".join(words)
    heads = ("quantity", marked or "best", f"at {curve.axis}", "this design")
    note = f"Diamonds mark the {marked} of each quantity among the points drawn." if marked else ""
    if any(np.isposinf(line.values).any() for line in curve.lines):
        note += " Lines have gaps where a quantity is infinite (shaded)."
    height = 130 + 250 * len({line.unit for line in curve.lines})
    table = make_table(heads, (False, True, True, True), rows)
    plot = curve_plot(curve)
    return panel(f"curve-{i}", curve.name, note.strip(), plot=plot, height=height, table=table)


def write_sections(study: ResolvedStudy, result: Result) -> tuple[list[Section], list[str]]:
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
    """Return the panels and texts of a section; `name` begins the names of its panels."""
    paragraphs = (" ".join(text.split()) for text in section.text.split("\n\n"))
    return {
        "title": section.title,
        "paragraphs": [text for text in paragraphs if text],
        "panels": [_part(part, f"{name}-{i}") for i, part in enumerate(section.parts)],
    }


def _part(part: SectionPart, name: str) -> dict[str, Any]:
    if isinstance(part, Table):
        return panel(name, part.title, part.note, table=_table(part.rows))
    if isinstance(part, Heatmap):
        wide = len(part.columns) > _NARROW
        return panel(name, part.title, part.note, heatmap=heatmap_cells(part), wide=wide)
    if isinstance(part, Tree):  # its narrow blocks need the room
        return panel(name, part.title, part.note, tree=tree_blocks(part), wide=True)
    return panel(name, part.title, part.note, plot=section_plot(part))


def _table(rows: pd.DataFrame) -> dict[str, Any]:
    """Return headings and cells; columns of numbers are marked, to be set right."""
    table = rows.reset_index() if rows.index.name is not None else rows
    numbers = [
        pd.api.types.is_numeric_dtype(kind) and not pd.api.types.is_bool_dtype(kind)
        for kind in table.dtypes
    ]
    columns = [
        _numbers(table.iloc[:, i]) if number else [show_cell(value) for value in table.iloc[:, i]]
        for i, number in enumerate(numbers)
    ]
    cells = [list(row) for row in zip(*columns, strict=True)]
    return make_table([str(name) for name in table.columns], numbers, cells)


def _numbers(column: pd.Series[Any]) -> list[str]:
    """Return numbers with their points below one another, unless they span too much for that."""
    values = column.to_numpy(np.float64, na_value=np.nan)
    places = choose_decimals(values)
    if places is None:
        return [show_cell(value) for value in column]
    rounded = values[np.isfinite(values)].round(places)
    while places and (rounded == rounded.round(places - 1)).all():  # as they were given
        places -= 1
    return [f"{v:,.{places}f}" if np.isfinite(v) else show_cell(v) for v in values.tolist()]
