"""The plot of optimization regions: bands along the axis under the objective's curves."""

from __future__ import annotations

from typing import Any

import numpy as np

from dse.explain.regions import Regions
from dse.model.values import number, prefixed, titled, worded
from dse.report.axes import PALETTE, Plot, byte_ticks, log_ticks, packed, plain, spans_decades

BANDS = ("#f2c14e", "#8ecae6", "#b8dd8f", "#d5b3e0", "#ffb5a7", "#94d8c6", "#e0c9a6", "#b9c1cf")
"""Colours of areas behind series."""
_LETTER = 0.0125  # of the picture's width, that a letter of a label takes at its narrowest


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
    curve = {"type": "scatter", "mode": "lines"}  # all over the x of the first
    data: list[dict[str, Any]] = [
        curve
        | {
            "name": plain(f"{worded(name)} {number(regions.factor)}× better"),
            "y": packed(values / height),
            "line": {"color": colors[name], "width": 1.5, "dash": "dash"},
        }
        for name, values in regions.improved.items()
        if name in limiting
    ]
    base = {"name": "as it is", "y": packed(regions.base / height), "line": {"width": 3}}
    data.insert(0, curve | base | {"x": x})
    layout = {
        "xaxis": {
            "title": {"text": plain(titled(worded(regions.axis), unit))},
            "type": "log" if log else "linear",
            **(byte_ticks(*regions.grid[[0, -1]]) if unit == "" and log else {}),
        },
        "yaxis": {
            "title": {"text": plain(titled(worded(regions.objective), shown))},
            "type": "log" if tall else "linear",
            "automargin": True,
            **(_decades(regions) if tall else {}),
        },
        "legend": {"orientation": "h", "x": 0, "y": -0.24, "yanchor": "top"},
        "hovermode": "x unified",
        **_bands(regions, scale, log),
    }
    return {"data": data, "layout": layout}


def _decades(regions: Regions) -> dict[str, Any]:
    """Return the ticks of a logarithmic axis of the objective: 1, 2, 5 or decades."""
    every = np.concatenate([regions.base, *regions.improved.values()])
    every = every[np.isfinite(every) & (every > 0)]
    return log_ticks(bool(every.max() > 300 * every.min()), float(every.min()))


def region_colors(regions: Regions) -> dict[str, str]:
    """Return a colour for each label; without bottlenecks it is transparent."""
    labels = dict.fromkeys(region.label for region in regions.regions if region.inputs)
    return dict(zip(labels, BANDS * len(labels), strict=False))


def _bands(regions: Regions, scale: float, log: bool) -> Plot:
    """Return a rectangle for each region, and what limits there if it is wide enough for words."""
    colors = region_colors(regions)
    ends = np.log(regions.grid[[0, -1]]) if log else regions.grid[[0, -1]]
    shapes, notes, deep = [], [], 0
    for region in regions.regions:
        low, high = region.low / scale, region.high / scale
        place = {"x0": low, "x1": high, "y0": 0, "y1": 1, "yref": "paper"}
        color = {"fillcolor": colors.get(region.label, "rgba(0,0,0,0)"), "line": {"width": 0}}
        shapes.append({"type": "rect", "layer": "below", "opacity": 0.28} | place | color)
        width = np.log(high / low) if log else region.high - region.low
        lines = [worded(name) for name in region.inputs]
        if lines and _LETTER * max(map(len, lines)) < width / (ends[1] - ends[0]):
            middle = float(np.log10(low * high) / 2) if log else (low + high) / 2
            deep = max(deep, len(lines))
            text = {"text": "<br>".join(map(plain, lines)), "font": {"size": 11}}
            place = {"x": middle, "y": 1, "yref": "paper", "yanchor": "bottom"}
            notes.append(text | place | {"showarrow": False})
    return {"shapes": shapes, "annotations": notes, "margin": {"t": 34 + 14 * deep}}
