"""Plots as plotly.js takes them: curves, optimization regions, convergence, and sections' parts."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from dse.explain.curves import Curve, Line, Regions, find_best_point
from dse.model.quantity import Array
from dse.model.section import Bars, Heatmap, Lines, Tree
from dse.model.values import (
    add_unit,
    choose_prefix,
    infinite_word,
    shorten_number,
    show,
    show_number,
    word_name,
)
from dse.report.scales import (
    NEUTRAL,
    PALETTE,
    Plot,
    byte_ticks,
    escape_markup,
    ink_on,
    log_ticks,
    pack_numbers,
    spans_decades,
)

_TALL = 5.0  # ratio of finite values from which their axis is logarithmic
_LETTER = 0.0125  # of the picture's width, that a letter of a label takes at its narrowest
_MARKED = 40  # points up to which each is marked
_STRIP = (0.9, 0.98)  # of the height of a plot: where its strip "limited by" lies
_WRITTEN = 400  # cells of a heatmap up to which each shows its number
_LEGEND = {"orientation": "h", "x": 0, "y": 1.02, "yanchor": "bottom"}

# Curves ---------------------------------------------------------------------------------------


class _Panel(NamedTuple):
    """The lines of one unit, which share a vertical axis."""

    axis: str  # "y", "y2", ...
    lines: tuple[int, ...]
    scale: float
    unit: str
    log: bool
    low: float  # of the lines, in the shown unit
    high: float


def curve_plot(curve: Curve) -> Plot:
    """Return the plot of a curve: a panel for each unit, one above the other.

    An infinite value leaves a gap in its line, on a shaded ground.
    """
    units = list(dict.fromkeys(line.unit for line in curve.lines))
    panels = [_panel(curve, i, unit) for i, unit in enumerate(units)]
    log = curve.log and bool(curve.grid[0] > 0)
    layout, scale = _layout(curve, panels, log)
    x = curve.grid / scale
    data: list[dict[str, Any]] = []
    for panel in panels:
        for row in panel.lines:
            data += _series(curve.lines[row], panel, x, PALETTE[row % len(PALETTE)])
        shapes, notes = _infinite(curve, panel, x, log)
        marks, labels = _marks(curve, panel, scale, log)
        data += marks
        layout["shapes"] += shapes
        layout["annotations"] += notes + labels
    if curve.grid[0] <= curve.here <= curve.grid[-1]:
        shape, note = _here(curve.here / scale, log)
        layout["shapes"].append(shape)
        layout["annotations"].append(note)
    return {"data": data, "layout": layout}


def _layout(curve: Curve, panels: list[_Panel], log: bool) -> tuple[dict[str, Any], float]:
    """Return the axes, the panels from the top down, and the scale of the horizontal one."""
    in_bytes = curve.axis_unit == "B" and log
    scale, unit = (1.0, "") if in_bytes else choose_prefix(curve.grid, curve.axis_unit)
    first, last = curve.grid[[0, -1]] / scale
    horizontal = _axis(add_unit(curve.axis, unit), first, last, log, 0.03)
    if in_bytes:
        horizontal |= byte_ticks(first, last)
    layout: dict[str, Any] = {
        "xaxis": horizontal | {"anchor": panels[-1].axis, "automargin": True},
        "legend": {"orientation": "h", "x": 0, "yref": "container", "y": 0, "traceorder": "normal"},
        "hovermode": "x unified",
        "hoversubplots": "axis",
        "shapes": [],
        "annotations": [],
    }
    for i, panel in enumerate(panels):
        top, bottom = 1 - i / len(panels), 1 - (i + 1) / len(panels)
        gap = 0.06 if i + 1 < len(panels) else 0.0
        vertical = _axis(_title(curve, panel), panel.low, panel.high, panel.log, 0.14)
        vertical |= {"automargin": True, "domain": [bottom + gap, top]}
        layout[panel.axis.replace("y", "yaxis")] = vertical
    return layout, scale


def _panel(curve: Curve, index: int, unit: str) -> _Panel:
    lines = tuple(i for i, line in enumerate(curve.lines) if line.unit == unit)
    drawn = [curve.lines[i] for i in lines]
    values = np.concatenate([line.values for line in drawn])
    scale, shown = choose_prefix(values, unit)
    edges = [v for line in drawn for v in (line.low, line.high) if v is not None]
    near = values[np.isfinite(values)]
    log = bool(near.size) and bool(near.min() > 0) and bool(near.max() > _TALL * near.min())
    every = np.concatenate([values, *edges])
    every = every[np.isfinite(every) & ((every > 0) if log else True)] / scale
    low, high = (float(every.min()), float(every.max())) if every.size else (0.0, 1.0)
    return _Panel(f"y{index + 1}" if index else "y", lines, scale, shown, log, low, high)


def _title(curve: Curve, panel: _Panel) -> str:
    """Return the title of a vertical axis: the name that all its lines begin with, and the unit."""
    names = [curve.lines[i].quantity for i in panel.lines]
    stem = min(names, key=len)
    if all(name == stem or name.startswith(f"{stem}_") for name in names):
        return add_unit(stem, panel.unit)
    return f"[{panel.unit}]" if panel.unit not in ("1", "") else ""


def _axis(title: str, low: float, high: float, log: bool, margin: float) -> dict[str, Any]:
    """Return an axis that leaves a margin, in shares of its length, for marks and labels."""
    first, last = (float(np.log10(v)) if log else float(v) for v in (low, high))
    pad = margin * ((last - first) or abs(first) or 1.0)
    return {
        "title": {"text": escape_markup(title), "standoff": 8},
        "type": "log" if log else "linear",
        "range": [first - pad, last + pad],
        **(_ticks(first, last) if log else {}),
    }


def _ticks(first: float, last: float) -> dict[str, Any]:
    """Return ticks at 1, 2 and 5 of each decade, or at decades if there are many.

    >>> _ticks(0.0, 2.0)["ticktext"]
    ['1', '2', '5', '10', '20', '50', '100']
    """
    steps = (1, 2, 5) if last - first <= 3 else (1,)
    every = max(1, round((last - first) / 7))
    powers = range(int(np.floor(first)), int(np.ceil(last)) + 1, every)
    places = [step * 10.0**power for power in powers for step in steps]
    inside = [v for v in places if first - 1e-9 <= np.log10(v) <= last + 1e-9]
    if len(inside) < 3:
        return {"nticks": 6, "exponentformat": "none"}
    return {
        "tickmode": "array",
        "tickvals": inside,
        "ticktext": [show_number(v, 6) for v in inside],
    }


def _series(line: Line, panel: _Panel, x: Array, color: str) -> list[dict[str, Any]]:
    """Return a line; or points over the band of their interval, if there is one."""
    unit = "" if panel.unit == "1" else f" {panel.unit}"
    base = {"type": "scatter", "x": pack_numbers(x), "yaxis": panel.axis}
    hover = f"%{{y:,.4~g}}{unit}"
    series: dict[str, Any] = base | {
        "mode": "lines",
        "name": escape_markup(line.quantity),
        "y": _drawn(line.values, panel),
        "line": {"color": color, "width": 2},
    }
    if line.low is None or line.high is None:
        return [series | _hover(line, hover)]
    edge = base | {
        "mode": "lines",
        "line": {"width": 0, "color": color},
        "hoverinfo": "skip",
        "showlegend": False,
    }
    upper = edge | {"y": _drawn(line.high, panel)}
    lower = edge | {"y": _drawn(line.low, panel), "fill": "tonexty", "fillcolor": color + "33"}
    interval = np.column_stack([line.low, line.high]) / panel.scale
    between = f" (%{{customdata[0]:,.4~g}} to %{{customdata[1]:,.4~g}}{unit})"
    points = {
        "mode": "markers",
        "marker": {"color": color, "size": 5},
        "customdata": pack_numbers(interval) | {"shape": f"{len(interval)}, 2"},
    }
    return [upper, lower, series | points | _hover(line, hover + between)]


def _hover(line: Line, value: str) -> dict[str, Any]:
    """Return the text on hover and the description of a line for the legend."""
    return {
        "hovertemplate": f"{escape_markup(line.quantity)} {value}<extra></extra>",
        "meta": line.about,
    }


def _drawn(values: Array, panel: _Panel) -> dict[str, str]:
    keep = np.isfinite(values) & ((values > 0) if panel.log else True)
    return pack_numbers(np.where(keep, values, np.nan) / panel.scale)


def _marks(
    curve: Curve, panel: _Panel, scale: float, log: bool
) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    """Return a marker and a label at the best of each line; none if neither way is better.

    The lowest label is under its marker, the others in a column over theirs, on the side that has
    more room.
    """
    found = [(i, find_best_point(curve, curve.lines[i])) for i in panel.lines]
    found = sorted((f for f in found if np.isfinite(f[1].value)), key=lambda f: f[1].value)
    first, last = (_place(v, log) for v in curve.grid[[0, -1]])
    marks, labels = [], []
    for rank, (i, point) in enumerate(found):
        color = PALETTE[i % len(PALETTE)]
        x, y = point.at / scale, point.value / panel.scale
        marker = {"symbol": "diamond-open", "size": 11, "line": {"width": 2}, "color": color}
        marks.append(
            {
                "type": "scatter",
                "mode": "markers",
                "name": escape_markup(f"{point.word} {curve.lines[i].quantity}"),
                "x": [x],
                "y": [y],
                "yaxis": panel.axis,
                "marker": marker,
                "showlegend": False,
                "hoverinfo": "skip",
            }
        )
        left = _place(point.at, log) <= (first + last) / 2
        text = f"{show(point.value, curve.lines[i].unit)} at {show(point.at, curve.axis_unit)}"
        labels.append(
            {
                "text": escape_markup(text),
                "x": _place(x, log),
                "y": _place(y, panel.log),
                "yref": panel.axis,
                "ax": 18 if left else -18,
                "ay": -12 - 18 * rank if rank else 20,
                "xanchor": "left" if left else "right",
                "font": {"color": color},
                "arrowcolor": color,
                "arrowhead": 0,
                "arrowwidth": 1,
                "standoff": 6,
            }
        )
    return marks, labels


def _infinite(
    curve: Curve, panel: _Panel, x: Array, log: bool
) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    """Return a shade and a word for each interval on which a line is infinite."""
    lines = [curve.lines[i] for i in panel.lines]
    infinite = np.any([np.isposinf(line.values) for line in lines], axis=0)
    between = np.sqrt(x[1:] * x[:-1]) if log else (x[1:] + x[:-1]) / 2
    ends = np.concatenate([x[:1], between, x[-1:]])  # halfway: no point says where it begins
    shapes, notes = [], []
    for start, stop in _runs(infinite):
        low, high = float(ends[start]), float(ends[stop])
        names = [line.quantity for line in lines if np.isposinf(line.values[start:stop]).any()]
        where = {"yref": f"{panel.axis} domain", "layer": "below", "y0": 0, "y1": 1}
        style = {"type": "rect", "fillcolor": NEUTRAL, "opacity": 0.22, "line": {"width": 0}}
        shapes.append(where | style | {"x0": low, "x1": high})
        notes.append(
            {
                "text": infinite_word(lines[0].unit),
                "hovertext": escape_markup(", ".join(names)),
                "x": (_place(low, log) + _place(high, log)) / 2,
                "y": 0.5,
                "yref": f"{panel.axis} domain",
                "textangle": -90,
                "showarrow": False,
                "font": {"color": NEUTRAL},
            }
        )
    return shapes, notes


def _runs(mask: NDArray[np.bool_]) -> Iterator[tuple[int, int]]:
    """Yield the first of each run of true values, and the one after its last."""
    steps = np.flatnonzero(np.diff(np.concatenate([[False], mask, [False]]).astype(int)))
    yield from zip(steps[::2].tolist(), steps[1::2].tolist(), strict=True)


def _here(x: float, log: bool) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return the line at the design's own place, and its name over it."""
    style = {"width": 1, "dash": "dot", "color": NEUTRAL}
    shape = {"type": "line", "yref": "paper", "y0": 0, "y1": 1, "x0": x, "x1": x, "line": style}
    note = {
        "text": "this design",
        "x": _place(x, log),
        "y": 1,
        "yref": "paper",
        "yanchor": "bottom",
        "showarrow": False,
        "font": {"color": NEUTRAL},
    }
    return shape, note


def _place(value: float, log: bool) -> float:
    """Return where an annotation is on an axis: plotly.js counts a logarithmic one in powers."""
    return float(np.log10(value)) if log else float(value)


# Regions --------------------------------------------------------------------------------------


def regions_plot(regions: Regions) -> Plot:
    """Return the plot of an objective along an axis: a curve under a strip "limited by"."""
    log = spans_decades(regions.grid)
    in_bytes = regions.axis_unit == "B" and log
    scale, unit = (1.0, "") if in_bytes else choose_prefix(regions.grid, regions.axis_unit)
    height, shown = choose_prefix(regions.base, regions.unit)
    tall = log and bool(np.nanmin(regions.base) > 0)
    name = word_name(regions.objective)
    data = [
        {
            "type": "scatter",
            "mode": "lines",
            "name": escape_markup(name),
            "x": pack_numbers(regions.grid / scale),
            "y": pack_numbers(regions.base / height),
            "line": {"color": PALETTE[0], "width": 3},
            "hovertemplate": f"{escape_markup(name)} %{{y:,.4~g}}<extra></extra>",
        }
    ]
    layout: dict[str, Any] = {
        "xaxis": {
            "title": {"text": escape_markup(add_unit(word_name(regions.axis), unit))},
            "type": "log" if log else "linear",
            **(byte_ticks(*regions.grid[[0, -1]]) if in_bytes else {}),
        },
        "yaxis": {
            "title": {"text": escape_markup(add_unit(name, shown))},
            "type": "log" if tall else "linear",
            "automargin": True,
            "domain": [0, _STRIP[0] - 0.05],
            **(_objective_ticks(regions.base / height) if tall else {}),
        },
        "showlegend": False,
        "hovermode": "x unified",
        **_strip(regions, scale, log),
    }
    where = {"y": 0.04, "yref": "y domain", "showarrow": False}
    place = regions.break_even
    if regions.worth is not None and (regions.base >= regions.worth).all():
        text = {"text": "beneficial along the whole axis", "xanchor": "right"}
        layout["annotations"].append(text | where | {"x": 1, "xref": "paper"})
    if place is not None:
        line = {"width": 1.5, "dash": "dot"}
        at = {"yref": "y domain", "y0": 0, "y1": 1, "x0": place / scale, "x1": place / scale}
        layout["shapes"].append({"type": "line", "line": line, **at})
        layout["annotations"].append(
            {
                "text": f"break-even at {show(place, regions.axis_unit)}",
                "x": _place(place / scale, log),
                "xanchor": "left",
                "xshift": 6,
            }
            | where
        )
    return {"data": data, "layout": layout}


def _objective_ticks(values: Array) -> dict[str, Any]:
    """Return the ticks of a logarithmic axis of the objective: 1, 2, 5 or decades."""
    every = values[np.isfinite(values) & (values > 0)]
    return log_ticks(bool(every.max() > 300 * every.min()), float(every.min()))


def region_colors(regions: Regions) -> dict[str, str]:
    """Return a colour for each label; without bottlenecks it is transparent."""
    labels = dict.fromkeys(region.label for region in regions.regions if region.inputs)
    return dict(zip(labels, PALETTE * len(labels), strict=False))


def _strip(regions: Regions, scale: float, log: bool) -> Plot:
    """Return a strip of a rectangle per region, with its bottlenecks if they fit in one line."""
    colors = region_colors(regions)
    ends = np.log(regions.grid[[0, -1]]) if log else regions.grid[[0, -1]]
    low, high = _STRIP
    title = {"text": "limited by", "x": 0, "y": high, "xref": "paper", "xanchor": "left"}
    shapes, notes = [], [title | {"yref": "paper", "yanchor": "bottom", "showarrow": False}]
    for region in regions.regions:
        first, last = region.low / scale, region.high / scale
        place = {"x0": first, "x1": last, "y0": low, "y1": high, "yref": "paper"}
        color = colors.get(region.label, "rgba(0,0,0,0)")
        line = {"color": NEUTRAL, "width": 1}
        shapes.append({"type": "rect", "fillcolor": color, "line": line} | place)
        width = np.log(last / first) if log else region.high - region.low
        text = ", ".join(word_name(name) for name in region.inputs)
        if text and _LETTER * len(text) < width / (ends[1] - ends[0]):
            middle = float(np.log10(first * last) / 2) if log else (first + last) / 2
            at = {"x": middle, "y": (low + high) / 2, "yref": "paper", "yanchor": "middle"}
            font = {"size": 11, "color": ink_on(color)}
            notes.append({"text": escape_markup(text), "font": font, "showarrow": False} | at)
    return {"shapes": shapes, "annotations": notes}


# Convergence ----------------------------------------------------------------------------------


def convergence_plot(table: pd.DataFrame) -> Plot:
    """Return the plot of front size and hypervolume over the evaluated designs."""
    x = pack_numbers(table["evaluations"])
    series = (
        ("hypervolume (share of the final)", table["hypervolume"], PALETTE[0], "y"),
        ("designs on the front", table["front"], PALETTE[1], "y2"),
    )
    data = [
        {
            "type": "scatter",
            "mode": "lines",
            "name": name,
            "x": x,
            "y": pack_numbers(values),
            "yaxis": which,
            "line": {"color": color, "width": 2},
        }
        for name, values, color, which in series
    ]
    layout = {
        "xaxis": {"title": {"text": "designs evaluated"}},
        "yaxis": {"title": {"text": "hypervolume"}, "rangemode": "tozero"},
        "yaxis2": {
            "title": {"text": "designs on the front"},
            "overlaying": "y",
            "side": "right",
            "showgrid": False,
            "rangemode": "tozero",
        },
        "legend": _LEGEND,
        "margin": {"l": 60, "r": 60, "t": 30, "b": 45},
    }
    return {"data": data, "layout": layout}


# Sections -------------------------------------------------------------------------------------


def section_plot(part: Lines | Bars) -> Plot:
    """Return the plot of a part of a section."""
    return _lines(part) if isinstance(part, Lines) else _bars(part)


def _lines(part: Lines) -> Plot:
    data: list[dict[str, Any]] = []
    for i, (name, xs, ys) in enumerate(part.lines):
        x, y = np.asarray(xs, dtype=np.float64), np.asarray(ys, dtype=np.float64)
        dash = ("solid", "dash", "dot")[i // len(PALETTE) % 3]  # lines of one colour differ by it
        data.append(
            {
                "type": "scatter",
                "mode": "lines+markers" if len(x) <= _MARKED else "lines",
                "name": escape_markup(name),
                "x": _numbers(x),
                "y": _numbers(y),
                "line": {"color": PALETTE[i % len(PALETTE)], "width": 2, "dash": dash},
                "hovertemplate": "%{y:.4~s}",
            }
        )
    layout = {
        "xaxis": _section_axis(part.x, part.log_x, [x for _, x, _ in part.lines]),
        "yaxis": _section_axis(part.y, part.log_y, [y for _, _, y in part.lines]),
        "legend": _LEGEND | {"traceorder": "normal"},
        "hovermode": "x unified",
    }
    return {"data": data, "layout": layout}


def _section_axis(title: str, log: bool, series: list[Any]) -> dict[str, Any]:
    axis: dict[str, Any] = {"title": {"text": escape_markup(title)}, "automargin": True}
    if not log:
        return axis | {"exponentformat": "SI", "separatethousands": True}
    values = np.array([v for each in series for v in np.ravel(np.asarray(each, np.float64))])
    values = values[np.isfinite(values) & (values > 0)]
    wide = bool(values.size) and values.max() > 1000 * values.min()
    return axis | {"type": "log", **log_ticks(wide, float(values.min(initial=1.0)))}


def _bars(part: Bars) -> Plot:
    data = [
        {
            "type": "bar",
            "name": escape_markup(name),
            "x": [escape_markup(category) for category in part.categories],
            "y": _numbers(np.asarray(values, dtype=np.float64)),
            "marker": {"color": PALETTE[i % len(PALETTE)]},
            "hovertemplate": "%{y:.4~s}",
        }
        for i, (name, values) in enumerate(part.bars)
    ]
    layout = {
        "barmode": "stack" if part.stacked else "group",
        "xaxis": {"type": "category", "automargin": True},
        "yaxis": _section_axis(part.y, False, []),
        "legend": _LEGEND | {"traceorder": "normal"},
        "hovermode": "x unified",
        "showlegend": len(part.bars) > 1,
    }
    return {"data": data, "layout": layout}


def heatmap_cells(part: Heatmap) -> dict[str, Any]:
    """Return a heatmap as the page draws it: a table whose cells have a colour.

    A cell is its text, its place on the colours from 0 to 1, and the text under the pointer; a cell
    without a value is None.
    """
    values = np.array(part.values, dtype=np.float64)
    scale, unit = choose_prefix(values, part.unit)
    shown = values / scale
    if part.log:
        shown[~(shown > 0)] = np.nan
    finite = shown[np.isfinite(shown)]
    low, high = (float(finite.min()), float(finite.max())) if finite.size else (1.0, 1.0)
    place = np.log(shown / low) if part.log else shown - low
    place = place / (float(np.log(high / low) if part.log else high - low) or 1.0)
    written = values.size <= _WRITTEN

    def cell(row: int, column: int) -> tuple[str, float, str] | None:
        value = float(shown[row, column])
        if not np.isfinite(value):
            return None
        hover = f"{part.rows[row]} → {part.columns[column]}: {show(values[row, column], part.unit)}"
        return shorten_number(value) if written else "", round(float(place[row, column]), 3), hover

    rows, columns = range(len(part.rows)), range(len(part.columns))
    return {
        "unit": "" if unit == "1" else unit,
        "ends": [show_number(low), show_number(high)],
        "columns": list(part.columns),
        "rows": [[part.rows[i], [cell(i, j) for j in columns]] for i in rows],
    }


def tree_blocks(part: Tree) -> list[list[Any]]:
    """Return the nodes of a tree: name, parent or −1, value, label, text of the value."""
    values = np.asarray(part.values, dtype=np.float64)
    labels = part.labels or [""] * len(part.names)
    return [
        [name, parent, value, label, show(value, part.unit)]
        for name, parent, value, label in zip(
            part.names, part.parents, values.tolist(), labels, strict=True
        )
    ]


def _numbers(values: Array) -> list[float | None]:
    """Return numbers as JSON has them: null for infinities and NaN."""
    return [float(v) if np.isfinite(v) else None for v in values]
