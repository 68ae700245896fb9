"""The plot of a curve: quantities of one design along an input, the least of each marked."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from dse.bottleneck import Curve, Line
from dse.plot_data import PALETTE, plain, prefixed, titled
from dse.static_plots import Plot, packed
from dse.units import show

_TALL = 5.0  # ratio of finite values from which the axis is logarithmic


class Least(NamedTuple):
    """Where a line is least: the point and the value; and its value at the design."""

    quantity: str
    unit: str
    value: float
    at: float
    here: float


def least(curve: Curve) -> list[Least]:
    """Return for each line its least value, where it is, and its value at the design.

    NaN where a line has no finite value, or the design no place on the axis.
    """
    found = []
    for line in curve.lines:
        finite = np.isfinite(line.values)
        row = int(np.argmin(np.where(finite, line.values, np.inf)))
        value, at = (line.values[row], curve.grid[row]) if finite.any() else (np.nan, np.nan)
        here = np.flatnonzero(curve.grid == curve.here)
        now = line.values[here[0]] if here.size else np.nan
        found.append(Least(line.quantity, line.unit, float(value), float(at), float(now)))
    return found


def curve_plot(curve: Curve) -> Plot:
    """Return the plot of a curve; a saturated (infinite) value leaves a gap."""
    every = np.concatenate([line.values for line in curve.lines])
    every = every[np.isfinite(every)]
    unit = curve.lines[0].unit
    scale, shown = prefixed(every, unit)
    tall = bool(every.size) and bool(every.min() > 0) and bool(every.max() > _TALL * every.min())
    data: list[dict[str, Any]] = []
    for i, line in enumerate(curve.lines):
        color = PALETTE[i % len(PALETTE)]
        data += _band(curve, line, scale, color)
        data.append(_series(curve, line, scale, color))
    data += _marks(curve, scale)
    same = all(line.unit == unit for line in curve.lines)
    names = ", ".join(dict.fromkeys(line.quantity for line in curve.lines))
    title = titled(curve.lines[0].quantity if len(curve.lines) == 1 else "value", shown)
    layout = {
        "xaxis": {
            "title": {"text": plain(titled(curve.axis, curve.axis_unit))},
            "type": "log" if curve.log else "linear",
        },
        "yaxis": {
            "title": {"text": plain(title if same else names)},
            "type": "log" if tall else "linear",
            "automargin": True,
        },
        "legend": {"orientation": "h", "x": 0, "y": -0.22, "yanchor": "top"},
        "hovermode": "x unified",
        "shapes": _shapes(curve),
    }
    return {"data": data, "layout": layout}


def _gaps(values: Any, scale: float) -> dict[str, str]:
    return packed(np.where(np.isfinite(values), values, np.nan) / scale)


def _series(curve: Curve, line: Line, scale: float, color: str) -> dict[str, Any]:
    sampled = line.low is not None  # a simulation: points, not a line
    return {
        "type": "scatter",
        "mode": "markers" if sampled else "lines",
        "name": plain(line.quantity),
        "x": packed(curve.grid),
        "y": _gaps(line.values, scale),
        "line": {"color": color, "width": 2},
        "marker": {"color": color, "size": 5},
    }


def _band(curve: Curve, line: Line, scale: float, color: str) -> list[dict[str, Any]]:
    if line.low is None or line.high is None:
        return []
    edge = {
        "type": "scatter",
        "mode": "lines",
        "x": packed(curve.grid),
        "line": {"width": 0, "color": color},
        "hoverinfo": "skip",
        "showlegend": False,
    }
    upper = edge | {"y": _gaps(line.high, scale)}
    lower = edge | {"y": _gaps(line.low, scale), "fill": "tonexty", "fillcolor": color + "33"}
    return [upper, lower]


def _marks(curve: Curve, scale: float) -> list[dict[str, Any]]:
    """Return a labelled marker at the least of each line that is no simulation."""
    marks = []
    for i, (line, found) in enumerate(zip(curve.lines, least(curve), strict=True)):
        if line.low is not None or not np.isfinite(found.value):
            continue
        text = f"{show(found.value, found.unit)} at {show(found.at, curve.axis_unit)}"
        marks.append(
            {
                "type": "scatter",
                "mode": "markers+text",
                "name": plain(f"least {line.quantity}"),
                "x": [found.at],
                "y": [found.value / scale],
                "text": [plain(text)],
                "textposition": "bottom center" if i % 2 else "top center",
                "marker": {
                    "symbol": "diamond-open",
                    "size": 11,
                    "line": {"width": 2},
                    "color": PALETTE[i % len(PALETTE)],
                },
                "showlegend": False,
                "hoverinfo": "skip",
            }
        )
    return marks


def _shapes(curve: Curve) -> list[dict[str, Any]]:
    """Return the line at the design's own place, and a shade where a line is saturated."""
    shapes: list[dict[str, Any]] = []
    saturated = np.any([np.isposinf(line.values) for line in curve.lines], axis=0)
    if saturated.any():
        where = curve.grid[saturated]
        rect = {"type": "rect", "layer": "below", "yref": "paper", "y0": 0, "y1": 1}
        style = {"fillcolor": "#99999933", "line": {"width": 0}}
        shapes.append(rect | style | {"x0": float(where.min()), "x1": float(where.max())})
    if curve.grid[0] <= curve.here <= curve.grid[-1]:
        line = {"type": "line", "yref": "paper", "y0": 0, "y1": 1}
        style = {"line": {"width": 1, "dash": "dot", "color": "#888888"}}
        shapes.append(line | style | {"x0": curve.here, "x1": curve.here})
    return shapes
