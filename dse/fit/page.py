"""Fits as one page of HTML that works offline."""

from __future__ import annotations

import math
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from jinja2 import Environment, FileSystemLoader, StrictUndefined
from scipy import stats

from dse.fit.law import EXPONENT, GAIN, residuals, times, weights
from dse.fit.measurement_fit import Fit
from dse.fit.queue import LoadFit
from dse.model.quantity import Array
from dse.model.values import show
from dse.report.page_assets import embed, embed_policy, script_json
from dse.report.scales import NEUTRAL, PALETTE, Plot, byte_ticks

_DRAW = """
for (const [at, plot] of JSON.parse(dataText).entries()) {
  const looks = { paper_bgcolor: "#fff", plot_bgcolor: "#fff", hovermode: "closest" };
  Plotly.newPlot(`plot-${at}`, plot.data, { ...plot.layout, ...looks },
    { responsive: true, displaylogo: false });
}
"""


def page(
    fits: Sequence[Fit],
    table: str,
    overview: Sequence[Sequence[str]] = (),
    refused: Sequence[str] = (),
) -> str:
    """Return the page: a plot, the values and the notes of each series.

    Texts of the table are escaped; a policy in the page forbids all requests.
    """
    environment = Environment(
        loader=FileSystemLoader(Path(__file__).parent),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    return environment.get_template("page.html.jinja").render(
        table=table,
        overview=overview,
        refused=refused,
        fits=[(fit, list_values(fit), fit.left_out) for fit in fits],
        scripts=embed(script_json([plot(fit) for fit in fits]), _DRAW),
        policy=embed_policy(_DRAW),
    )


def list_values(fit: Fit | LoadFit) -> list[tuple[str, str, str]]:
    """Return the values of a fit as texts: name, value and interval."""
    values, spans = dict(fit.parameters), dict(fit.intervals)
    if isinstance(fit, Fit) and (size := fit.analysis.break_even) is not None:
        values["break_even"] = size
        spans["break_even"] = fit.analysis.break_even_interval or (0.0, math.inf)
    texts = {name: fit.show(name, value) for name, value in values.items()}
    if isinstance(fit, Fit):
        texts |= {f"{name} by CPU use": "bounded" for name in fit.bounds}
        spans |= {f"{name} by CPU use": span for name, span in fit.bounds.items()}
        sizes = list(fit.freed)
        for size in dict.fromkeys(sizes[k] for k in (0, len(sizes) // 2, -1) if sizes):
            texts[f"freed_time at {show(size, 'B')}"] = "bounded"
            spans[f"freed_time at {show(size, 'B')}"] = fit.freed[size]
    return [
        (name, text, " to ".join(fit.show(name.split()[0], end) for end in spans[name]))
        for name, text in texts.items()
    ]


_GRID = 161
_COLUMNS = (("host", False, PALETTE[0]), ("accelerated", True, PALETTE[1]))
_WIDEST = 5.0  # of a band, in logarithms


def plot(fit: Fit) -> Plot:
    """Return the plot of a fit as plotly.js takes it: panels of speedup, times and errors."""
    points, device = fit.points, fit.points.accelerated
    grid = np.geomspace(points.size.min() / 2.0, points.size.max() * 2.0, _GRID)
    panels = ["y", "y2", "y3"] if device.any() and not device.all() else ["y2", "y3"]
    data = _speedup(fit, grid) if "y" in panels else []
    for name, which, color in _COLUMNS:
        here = device == which
        if here.any():
            curve, slopes = _times(fit, grid, which)
            data += _lines(grid, curve, _half_width(fit, slopes), name, color, "y2")
            size, errors = points.size[here], -100.0 * fit.errors.inside[here]
            data.append(_dots(size, points.time[here], f"{name}, measured", color, "y2"))
            data.append(_dots(size, errors, name, color, "y3"))
    return {"data": data, "layout": _layout(fit, grid, panels)}


def _times(fit: Fit, grid: Array, device: bool) -> tuple[Array, Array]:
    return times(fit.analysis.fit, grid, grid * fit.ratio, np.full(len(grid), device))


def _half_width(fit: Fit, slopes: Array) -> Array:
    """Return half the width of the 95 % band of a logarithm with these slopes."""
    analysis = fit.analysis
    weight = weights(fit.points, analysis.scale, analysis.kept)
    own = residuals(fit.points, analysis.fit, weight)[1].T * np.array(analysis.law.free)
    covariance = np.linalg.pinv(own.T @ own, rcond=1e-14)
    freedom = max(len(fit.points.size) - analysis.law.terms, 1)
    variance = np.einsum("ni,ij,nj->n", slopes, covariance, slopes)
    width = stats.t.ppf(0.975, freedom) * np.sqrt(np.maximum(variance, 0.0))
    return np.asarray(np.minimum(width, _WIDEST))


def _speedup(fit: Fit, grid: Array) -> list[dict[str, Any]]:
    (host, of_host), (device, of_device) = (_times(fit, grid, which) for which in (False, True))
    band = _half_width(fit, of_host - of_device)
    series = fit.series
    both = np.unique(series.size[np.isfinite(series.host) & np.isfinite(series.accelerated)])
    ratios = [
        np.nanmedian(series.host[series.size == size])
        / np.nanmedian(series.accelerated[series.size == size])
        for size in both
    ]
    dots = _dots(both, np.array(ratios), "speedup, measured", PALETTE[2], "y")
    return [*_lines(grid, host / device, band, "speedup", PALETTE[2], "y"), dots]


def _lines(
    grid: Array, curve: Array, band: Array, name: str, color: str, axis: str
) -> list[dict[str, Any]]:
    line = {"type": "scatter", "mode": "lines", "x": grid.tolist(), "yaxis": axis}
    edge = {"line": {"width": 0, "color": color}, "hoverinfo": "skip", "showlegend": False}
    filled = {"fill": "tonexty", "fillcolor": color + "33"}
    return [
        line | edge | {"y": (curve * np.exp(band)).tolist()},
        line | edge | {"y": (curve * np.exp(-band)).tolist()} | filled,
        line | {"name": name, "y": curve.tolist(), "line": {"color": color, "width": 2}},
    ]


def _dots(x: Array, y: Array, name: str, color: str, axis: str) -> dict[str, Any]:
    return {
        "type": "scatter",
        "mode": "markers",
        "name": name,
        "x": x.tolist(),
        "y": y.tolist(),
        "yaxis": axis,
        "marker": {"color": color, "size": 7, "line": {"color": "#fff", "width": 1}},
        "showlegend": axis == "y",
    }


def _layout(fit: Fit, grid: Array, panels: list[str]) -> dict[str, Any]:
    domains = {"y": [0.62, 1.0], "y2": [0.26, 0.57], "y3": [0.0, 0.19]}
    if "y" not in panels:
        domains = {"y2": [0.34, 1.0], "y3": [0.0, 0.26]}
    titles = {"y": "speedup", "y2": "time [s]", "y3": "measured − fitted [%]"}
    layout: dict[str, Any] = {
        "xaxis": {
            "type": "log",
            "title": {"text": "granularity"},
            "range": np.log10(grid[[0, -1]]).tolist(),
            "anchor": "y3",
            **byte_ticks(float(grid[0]), float(grid[-1])),
        },
        "legend": {"orientation": "h", "x": 0, "y": 1.02, "yanchor": "bottom"},
        "margin": {"l": 70, "r": 20, "t": 30, "b": 45},
        "height": 760 if "y" in panels else 560,
        "shapes": [],
        "annotations": [],
    }
    for axis in panels:
        log = {"type": "log", "exponentformat": "power"} if axis != "y3" else {"zeroline": True}
        title = {"text": titles[axis]}
        layout[axis.replace("y", "yaxis")] = {"title": title, "domain": domains[axis], **log}
    for label, size, low, high in _marks(fit):
        _mark(layout, label, size, (low, high), panels[0])
    return layout


def _marks(fit: Fit) -> list[tuple[str, float, float, float]]:
    """Return the sizes to mark: label, size and interval."""
    analysis, half = fit.analysis, "half_acceleration"
    marks = []
    if analysis.break_even is not None:
        span = analysis.break_even_interval or (analysis.break_even,) * 2
        marks.append(("g1", analysis.break_even, *span))
    if half in fit.parameters:
        curved = analysis.law.free[EXPONENT] or np.isinf(analysis.fit[GAIN])
        label = "g_A/2" if curved else "g_A/2 (if l = 0)"
        marks.append((label, fit.parameters[half], *fit.intervals[half]))
    return marks


def _mark(
    layout: dict[str, Any], label: str, size: float, span: tuple[float, float], axis: str
) -> None:
    """Draw a size with its interval over all panels."""
    first, last = (10.0**end for end in layout["xaxis"]["range"])
    low, high = (min(max(end, first), last) for end in span)
    whole = {"yref": "paper", "y0": 0, "y1": 1, "layer": "below"}
    if high > low:
        shade = {"type": "rect", "x0": low, "x1": high, "fillcolor": NEUTRAL, "opacity": 0.15}
        layout["shapes"].append(whole | shade | {"line": {"width": 0}})
    if not first <= size <= last:
        return
    dash = {"width": 1, "dash": "dot", "color": NEUTRAL}
    layout["shapes"].append(whole | {"type": "line", "x0": size, "x1": size, "line": dash})
    layout["annotations"].append(
        {
            "text": f"{label} = {show(size, 'B')}",
            "x": float(np.log10(size)),
            "y": 0.02,
            "yref": f"{axis} domain",
            "xanchor": "left",
            "yanchor": "bottom",
            "yshift": 16 * len(layout["annotations"]),
            "showarrow": False,
        }
    )
