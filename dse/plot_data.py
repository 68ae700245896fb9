"""What a plot shows, as plain data: axes, prefixes, samples, and the static plots themselves.

Scripts draw it through `dse.plot`, the report through its own page; both show the same.
A plot is a mapping with ``data`` and ``layout`` in the schema of plotly.js.
"""

from __future__ import annotations

import base64
from collections.abc import Sequence
from typing import Any, NamedTuple, TypeAlias

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray

from dse.bottleneck import Part, Regions, Sensitivity
from dse.quantity import Array
from dse.result import StudyResult

Plot: TypeAlias = dict[str, Any]
"""``data`` and ``layout``, as plotly.js takes them."""

PALETTE = ("#3566a8", "#d1762c", "#3f8f5f", "#b4508c", "#7a68b5", "#8a6d3b", "#2f96a6", "#c0504d")
"""Colours of series; neighbours differ for colour-blind readers too."""
BANDS = ("#f2c14e", "#8ecae6", "#b8dd8f", "#d5b3e0", "#ffb5a7", "#94d8c6", "#e0c9a6", "#b9c1cf")
"""Colours of areas behind series."""
NEUTRAL = "#8b93a1"
"""Colour of what is not the subject: dominated designs, the curve that improvements start from."""

_DECIMAL = {"p": 1e-12, "n": 1e-9, "µ": 1e-6, "m": 1e-3, "": 1.0, "k": 1e3, "M": 1e6, "G": 1e9}
_BINARY = {"": 1.0, "Ki": 2.0**10, "Mi": 2.0**20, "Gi": 2.0**30, "Ti": 2.0**40}
PREFIXED = ("s", "Hz", "W", "J", "m", "B/s", "bit/s")
"""Units that take decimal prefixes; bytes take binary ones, all others none."""


class Axis(NamedTuple):
    """How the values of one column are drawn.

    Attributes
    ----------
    title : str
        Name and unit.
    unit : str
        The unit with the prefix that suits most values.
    scale : float
        What a value in the base unit is divided by.
    log : bool
        Whether the axis is logarithmic.
    infinite : str
        What an infinite value is called.
    """

    title: str
    unit: str
    scale: float
    log: bool
    infinite: str


def spans_decades(values: ArrayLike) -> bool:
    """Tell whether values are positive and span more than two decades.

    >>> spans_decades([1.0, 500.0, np.inf]), spans_decades([0.0, 500.0])
    (True, False)
    """
    x = np.asarray(values, dtype=np.float64)
    x = x[np.isfinite(x)]
    return bool(x.size) and bool(x.min() > 0) and bool(x.max() > 100 * x.min())


def prefixed(values: ArrayLike, unit: str) -> tuple[float, str]:
    """Return the scale and the prefixed unit that suit the median of some values.

    >>> prefixed([2e-7, 3e-7], "s"), prefixed([4096.0], "B"), prefixed([4096.0], "cycle")
    ((1e-09, 'ns'), (1024.0, 'KiB'), (1.0, 'cycle'))
    """
    table = _BINARY if unit == "B" else _DECIMAL if unit in PREFIXED else {}
    x = np.abs(np.asarray(values, dtype=np.float64))
    x = x[np.isfinite(x) & (x > 0)]
    if not table or not x.size:
        return 1.0, unit
    middle = float(np.median(x))
    fitting = [(scale, prefix) for prefix, scale in table.items() if scale <= middle]
    scale, prefix = max(fitting) if fitting else min((s, p) for p, s in table.items())
    return scale, prefix + unit


def infinity(unit: str) -> str:
    """Return what an infinite value is called: an amount of data that is *never* enough.

    >>> infinity("B"), infinity("s")
    ('never', '∞')
    """
    return "never" if unit == "B" else "∞"


def nonfinite(value: float, unit: str) -> str:
    """Return what a value that is no finite number is called.

    >>> nonfinite(np.inf, "B"), nonfinite(-np.inf, "s"), nonfinite(np.nan, "s")
    ('never', '-∞', 'undefined')
    """
    return "undefined" if np.isnan(value) else infinity(unit) if value > 0 else "-∞"


def titled(name: str, unit: str) -> str:
    """Return a name with its unit; nothing for a number without one."""
    return name if unit in ("1", "") else f"{name} [{unit}]"


def plain(text: str) -> str:
    """Return a text that plotly.js shows as it is, and not as markup."""
    return text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")


def axis(result: StudyResult, name: str, values: ArrayLike | None = None) -> Axis:
    """Return how a column is drawn; by its values in `result.designs` where none are given."""
    column = result.columns[name]
    shown = result.designs[name] if values is None else values
    if not pd.api.types.is_numeric_dtype(np.asarray(shown)):
        return Axis(name, "", 1.0, False, "∞")
    scale, unit = prefixed(shown, column.unit)
    return Axis(titled(name, unit), unit, scale, spans_decades(shown), infinity(column.unit))


def drawable(values: Array, log: bool) -> tuple[Array, float | None]:
    """Place values on an axis; infinite ones on a rail beyond the others.

    Returns
    -------
    ndarray
        The values; NaN where a value cannot be drawn.
    float or None
        Where the rail is, or None where no value is infinite.

    >>> drawable(np.array([1.0, 3.0, np.inf]), log=False)
    (array([1. , 3. , 3.2]), 3.2)
    """
    x = np.array(values, dtype=np.float64)
    x[np.isneginf(x) | ((x <= 0) if log else False)] = np.nan
    far = np.isposinf(x)
    near = x[np.isfinite(x)]
    if not far.any():
        return x, None
    if not near.size:
        rail = 1.0
    elif log:
        rail = float(near.max() * max(near.max() / near.min(), 10.0) ** 0.1)
    else:
        rail = float(near.max() + 0.1 * ((near.max() - near.min()) or abs(near.max()) or 1.0))
    x[far] = rail
    return x, rail


def evenly(rows: NDArray[np.int64], count: int) -> NDArray[np.int64]:
    """Return at most `count` of some rows, evenly spread over them."""
    if len(rows) <= count:
        return rows
    return rows[np.linspace(0, len(rows) - 1, count).astype(np.int64)]


def numeric(result: StudyResult) -> list[str]:
    """Return the names of the columns that hold numbers, objectives first."""
    goals = [goal.name for goal in result.objectives]
    others = [name for name in result.columns if name not in goals]
    return [n for n in goals + others if pd.api.types.is_numeric_dtype(result.designs[n].dtype)]


def default_axes(result: StudyResult) -> tuple[str, str, str]:
    """Return the columns that x, y and colour show at first: objectives as far as they go.

    One objective is drawn against the first variable.
    """
    goals = [goal.name for goal in result.objectives]
    variables = [n for n, column in result.columns.items() if column.role == "variable"]
    if len(goals) == 1:
        first = variables[0] if variables else goals[0]
        return first, goals[0], (variables[1:] or [goals[0]])[0]
    return goals[0], goals[1], (goals[2:] or variables or goals)[0]


def change_next(sensitivities: Sequence[Sensitivity]) -> list[Sensitivity]:
    """Return, for each objective that has a bottleneck, the one whose improvement gains most."""
    best: dict[str, Sensitivity] = {}
    for item in sensitivities:
        if item.bottleneck and (
            item.objective not in best or item.gain > best[item.objective].gain
        ):
            best[item.objective] = item
    return list(best.values())


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
    """Return a colour for each label; none limits is transparent."""
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
