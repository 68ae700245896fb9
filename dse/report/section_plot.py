"""The pictures of a section, in the schema of plotly.js."""

from __future__ import annotations

from typing import Any

import numpy as np

from dse.model.quantity import Array
from dse.model.section import Bars, Heatmap, Lines, Tree
from dse.model.values import number, prefixed, short, titled
from dse.report.axes import PALETTE, SHADES, Plot, color_scale, log_ticks, plain

_LEGEND = {"orientation": "h", "x": 0, "y": 1.02, "yanchor": "bottom", "traceorder": "normal"}
_MARKED = 40  # points up to which each is marked
_WRITTEN = 400  # cells of a heatmap up to which each shows its number


def section_plot(part: Lines | Bars | Heatmap | Tree) -> Plot:
    """Return the plot of a part of a section."""
    if isinstance(part, Lines):
        return _lines(part)
    if isinstance(part, Bars):
        return _bars(part)
    return _heatmap(part) if isinstance(part, Heatmap) else _tree(part)


def height(part: Lines | Bars | Heatmap | Tree) -> int:
    """Return the pixels that a plot needs in height."""
    if isinstance(part, Heatmap):
        return 150 + 26 * max(len(part.rows), 4)
    if isinstance(part, Tree):
        return 90 + 46 * max(int(_depths(part).max(initial=0)) + 1, 3)
    return 400


def _lines(part: Lines) -> Plot:
    data: list[dict[str, Any]] = []
    for i, (name, xs, ys) in enumerate(part.lines):
        x, y = np.asarray(xs, dtype=np.float64), np.asarray(ys, dtype=np.float64)
        data.append(
            {
                "type": "scatter",
                "mode": "lines+markers" if len(x) <= _MARKED else "lines",
                "name": plain(name),
                "x": _numbers(x),
                "y": _numbers(y),
                "line": {"color": PALETTE[i % len(PALETTE)], "width": 2, "dash": _dash(i)},
                "hovertemplate": "%{y:.4~s}",
            }
        )
    layout = {
        "xaxis": _axis(part.x, part.log_x, [x for _, x, _ in part.lines]),
        "yaxis": _axis(part.y, part.log_y, [y for _, _, y in part.lines]),
        "legend": _LEGEND,
        "hovermode": "x unified",
    }
    return {"data": data, "layout": layout}


def _dash(index: int) -> str:
    """Return a dash: lines of one colour differ by it."""
    return ("solid", "dash", "dot")[index // len(PALETTE) % 3]


def _axis(title: str, log: bool, series: list[Any]) -> dict[str, Any]:
    axis: dict[str, Any] = {"title": {"text": plain(title)}, "automargin": True}
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
            "name": plain(name),
            "x": [plain(category) for category in part.categories],
            "y": _numbers(np.asarray(values, dtype=np.float64)),
            "marker": {"color": PALETTE[i % len(PALETTE)]},
            "hovertemplate": "%{y:.4~s}",
        }
        for i, (name, values) in enumerate(part.bars)
    ]
    layout = {
        "barmode": "stack" if part.stacked else "group",
        "xaxis": {"type": "category", "automargin": True},
        "yaxis": _axis(part.y, False, []),
        "legend": _LEGEND,
        "hovermode": "x unified",
        "showlegend": len(part.bars) > 1,
    }
    return {"data": data, "layout": layout}


def _heatmap(part: Heatmap) -> Plot:
    values = np.array(part.values, dtype=np.float64)
    scale, unit = prefixed(values, part.unit)
    shown = values / scale
    if part.log:
        shown[~(shown > 0)] = np.nan
    colored = np.log10(shown) if part.log else shown
    bar: dict[str, Any] = {"title": {"text": plain(titled("", unit)).strip()}, "thickness": 12}
    if part.log and np.isfinite(colored).any():
        bar |= _decades(float(np.nanmin(colored)), float(np.nanmax(colored)))
    trace = {
        "type": "heatmap",
        "x": [plain(name) for name in part.columns],
        "y": [plain(name) for name in part.rows],
        "z": [_numbers(row) for row in colored],
        "customdata": [_numbers(row) for row in shown],
        "colorscale": color_scale(SHADES),
        "xgap": 1,
        "ygap": 1,
        "colorbar": bar,
        "hovertemplate": "%{y} → %{x}: " + _template("customdata", unit, 4),
        "hoverongaps": False,
        "name": "",
    }
    if values.size <= _WRITTEN:
        trace["text"] = [[short(value) for value in row] for row in shown]
        trace |= {"texttemplate": "%{text}", "textfont": {"size": 11}}
    layout = {
        "xaxis": {"type": "category", "automargin": True, "side": "top", "showgrid": False},
        "yaxis": {
            "type": "category",
            "automargin": True,
            "autorange": "reversed",
            "showgrid": False,
        },
        "showlegend": False,
    }
    return {"data": [trace], "layout": layout}


def _decades(low: float, high: float) -> dict[str, Any]:
    ticks = np.arange(np.ceil(low), np.floor(high) + 1)
    if ticks.size < 2:
        ticks = np.array([low, high])
    return {"tickvals": ticks.tolist(), "ticktext": [number(10.0**t) for t in ticks]}


def _depths(part: Tree) -> Array:
    depths = np.zeros(len(part.names))
    for node, parent in enumerate(part.parents):
        depths[node] = depths[parent] + 1 if parent >= 0 else 0
    return depths


def _tree(part: Tree) -> Plot:
    values = np.asarray(part.values, dtype=np.float64)
    scale, unit = prefixed(values, part.unit)
    distinct = list(dict.fromkeys(part.names))  # one name, one colour
    kinds = {name: PALETTE[i % len(PALETTE)] for i, name in enumerate(distinct)}
    trace = {
        "type": "icicle",
        "ids": [str(node) for node in range(len(part.names))],
        "labels": [plain(name) for name in part.names],
        "parents": ["" if parent < 0 else str(parent) for parent in part.parents],
        "values": _numbers(values / scale),
        "branchvalues": "total",
        "text": [plain(label) for label in part.labels],
        "tiling": {"orientation": "v"},
        "hovertemplate": f"%{{label}}: {_template('value', unit, 4)}<br>%{{text}}<extra></extra>",
        "texttemplate": "%{label}<br>%{text}",
        "marker": {"colors": [kinds[name] for name in part.names], "line": {"width": 1}},
        "leaf": {"opacity": 1},
        "textfont": {"color": "#ffffff"},
        "sort": False,
    }
    legible = {"minsize": 10, "mode": "hide"}  # a tooltip shows the text of blocks without room
    layout = {"margin": {"l": 8, "r": 8, "t": 28, "b": 8}, "uniformtext": legible}
    return {"data": [trace], "layout": layout}


def _template(name: str, unit: str, digits: int) -> str:
    """Return the template of a number with its unit; a plain number takes a prefix instead."""
    if unit in ("1", ""):
        return f"%{{{name}:.{digits}~s}}"
    return f"%{{{name}:.{digits}~g}} {plain(unit)}"


def _numbers(values: Array) -> list[float | None]:
    """Return numbers as JSON has them: null for what is not finite."""
    return [float(v) if np.isfinite(v) else None for v in values]
