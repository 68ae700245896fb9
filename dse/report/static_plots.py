"""The plots of one design or run that nobody turns: regions, breakdown, convergence.

A plot is a mapping with ``data`` and ``layout`` in the schema of plotly.js: `dse.report.figures`
makes figures of it for scripts, and the report draws it as it is.
"""

from __future__ import annotations

import base64
from collections.abc import Sequence
from typing import Any, TypeAlias

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike

from dse.explain.explanation import Part, Regions
from dse.report.axes import PALETTE, plain, prefixed, spans_decades, titled

Plot: TypeAlias = dict[str, Any]
"""``data`` and ``layout``, as plotly.js takes them."""

BANDS = ("#f2c14e", "#8ecae6", "#b8dd8f", "#d5b3e0", "#ffb5a7", "#94d8c6", "#e0c9a6", "#b9c1cf")
"""Colours of areas behind series."""


def packed(values: ArrayLike) -> dict[str, str]:
    """Return numbers as plotly.js reads them compactly: single precision, base64."""
    data = np.asarray(values, dtype="<f4").tobytes()
    return {"dtype": "f4", "bdata": base64.b64encode(data).decode("ascii")}


def byte_ticks(low: float, high: float) -> dict[str, Any]:
    """Return ticks at powers of two for a logarithmic axis of bytes.

    >>> byte_ticks(16.0, 4096.0)["ticktext"]
    ['16 B', '64 B', '256 B', '1 KiB', '4 KiB']
    """
    first, last = int(np.ceil(np.log2(low))), int(np.floor(np.log2(high)))
    step = next((step for step in (1, 2, 5, 10, 20) if (last - first) / step <= 7), 100)
    powers = [p for p in range(first, last + 1) if p % step == 0]
    scaled = [prefixed([2.0**p], "B") for p in powers]
    texts = [f"{2.0**p / scale:g} {unit}" for p, (scale, unit) in zip(powers, scaled, strict=True)]
    return {"tickmode": "array", "tickvals": [2.0**p for p in powers], "ticktext": texts}


def convergence_plot(table: pd.DataFrame) -> Plot:
    """Return the plot of front size and hypervolume over the evaluated designs."""
    x = packed(table["evaluations"])
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
            "y": packed(values),
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
        "legend": {"orientation": "h", "x": 0, "y": 1.02, "yanchor": "bottom"},
    }
    return {"data": data, "layout": layout}


def breakdown_plot(parts: Sequence[Part]) -> Plot:
    """Return the plot of where time and area go: one stacked bar for each total, in shares."""
    names = list(dict.fromkeys(part.name for part in parts))
    data = []
    for i, name in enumerate(names):
        mine = [part for part in parts if part.name == name]
        data.append(
            {
                "type": "bar",
                "orientation": "h",
                "name": plain(name),
                "y": [
                    plain(f"{p.total} ({p.objective})" if p.objective else p.total) for p in mine
                ],
                "x": [p.share for p in mine],
                "text": [plain(titled(f"{p.value:,.4g}", p.unit)) for p in mine],
                "marker": {"color": PALETTE[i % len(PALETTE)]},
                "hovertemplate": "%{y}<br>%{text} · %{x:.1%}",
            }
        )
    layout = {
        "barmode": "stack",
        "xaxis": {"tickformat": ".0%", "title": {"text": "share"}},
        "yaxis": {"automargin": True, "autorange": "reversed"},
        "legend": {"orientation": "h", "x": 0, "y": 1.02, "yanchor": "bottom"},
    }
    return {"data": data, "layout": layout}


def regions_plot(regions: Regions) -> Plot:
    """Return the plot of optimization regions: bands along the axis under the curves.

    Curves are drawn for the inputs that are a bottleneck somewhere.
    """
    log = spans_decades(regions.grid)
    scale, unit = (
        (1.0, "") if regions.axis_unit == "B" and log else prefixed(regions.grid, regions.axis_unit)
    )
    height, shown = prefixed(regions.base, regions.unit)
    tall = log and bool(np.nanmin(regions.base) > 0)
    x = packed(regions.grid / scale)
    limiting = dict.fromkeys(span.input for span in regions.spans)  # the others change too little
    colors = dict(zip(limiting, PALETTE * len(limiting), strict=False))
    curve = {"type": "scatter", "mode": "lines", "x": x}
    data: list[dict[str, Any]] = [
        curve
        | {
            "name": plain(f"{name} {regions.factor:g}x better"),
            "y": packed(values / height),
            "line": {"color": colors[name], "width": 1.5, "dash": "dash"},
        }
        for name, values in regions.improved.items()
        if name in limiting
    ]
    base = {"name": "as it is", "y": packed(regions.base / height), "line": {"width": 3}}
    data.insert(0, curve | base)
    layout = {
        "xaxis": {
            "title": {"text": plain(titled(regions.axis, unit))},
            "type": "log" if log else "linear",
            **(byte_ticks(*regions.grid[[0, -1]]) if unit == "" and log else {}),
        },
        "yaxis": {
            "title": {"text": plain(titled(regions.objective, shown))},
            "type": "log" if tall else "linear",
            "automargin": True,
            **({"dtick": _decades(regions)} if tall else {}),
        },
        "legend": {"orientation": "h", "x": 0, "y": -0.24, "yanchor": "top"},
        "hovermode": "x unified",
        **_bands(regions, scale, log),
    }
    return {"data": data, "layout": layout}


def _decades(regions: Regions) -> int | str:
    """Return the distance of ticks on a logarithmic axis of the objective: 1, 2, 5 or decades."""
    every = np.concatenate([regions.base, *regions.improved.values()])
    every = every[np.isfinite(every) & (every > 0)]
    return 1 if every.max() > 300 * every.min() else "D2"


def region_colors(regions: Regions) -> dict[str, str]:
    """Return a colour for each label; none constraints is transparent."""
    labels = dict.fromkeys(region.label for region in regions.regions if region.inputs)
    return dict(zip(labels, BANDS * len(labels), strict=False))


def _bands(regions: Regions, scale: float, log: bool) -> Plot:
    """Return a rectangle and a label for each region; a narrow one goes without its label."""
    colors = region_colors(regions)
    ends = np.log(regions.grid[[0, -1]]) if log else regions.grid[[0, -1]]
    shapes, notes = [], []
    for region in regions.regions:
        low, high = region.low / scale, region.high / scale
        shapes.append(
            {
                "type": "rect",
                "layer": "below",
                "yref": "paper",
                "x0": low,
                "x1": high,
                "y0": 0,
                "y1": 1,
                "line": {"width": 0},
                "fillcolor": colors.get(region.label, "rgba(0,0,0,0)"),
                "opacity": 0.28,
            }
        )
        width = np.log(high / low) if log else region.high - region.low
        if region.label and width > 0.035 * (ends[1] - ends[0]):
            notes.append(
                {
                    "text": plain(region.label),
                    "x": float(np.log10(low * high) / 2) if log else (low + high) / 2,
                    "y": 1,
                    "yref": "paper",
                    "yanchor": "bottom",
                    "showarrow": False,
                }
            )
    return {"shapes": shapes, "annotations": notes}
