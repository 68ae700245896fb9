"""Figures of a result, for scripts: plotly figures to show, change or write to a file.

The only module that knows plotly.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, TypeAlias

import numpy as np
import pandas as pd
import plotly.graph_objects as go
from plotly.offline import get_plotlyjs

from dse.explain.explanation import Curve, Part, Regions
from dse.model.section import Bars, Heatmap, Lines, Tree
from dse.model.units import show
from dse.report.axes import (
    NEUTRAL,
    PALETTE,
    axis,
    default_axes,
    drawable,
    evenly,
    nonfinite,
    numeric,
    plain,
)
from dse.report.curve_plot import curve_plot
from dse.report.section_plot import section_plot
from dse.report.static_plots import Plot, breakdown_plot, convergence_plot, regions_plot
from dse.result.record import Result

Figure: TypeAlias = go.Figure
_DOMINATED = 3_000  # dominated designs in a plot: enough to see where they lie
_GL = 3_000  # points from which WebGL draws faster than SVG


def front_figure(
    result: Result, x: str | None = None, y: str | None = None, color: str | None = None
) -> go.Figure:
    """Return the front over any two columns, dominated designs in the background.

    Parameters
    ----------
    result : Result
        What a run found.
    x, y, color : str, optional
        Columns of `result.designs`; the first objectives where they are not given.

    Raises
    ------
    ValueError
        Where a column is unknown.
    """
    names = _chosen(result, (x, y, color), default_axes(result))
    front, others = _rows(result)
    kind = go.Scattergl if len(front) + len(others) > _GL else go.Scatter
    figure = go.Figure(layout={"template": "plotly_white", "title": plain(result.name)})
    shown = pd.concat([others, front])
    columns = {name: _drawn(result, name, shown[name]) for name in names}
    for table, label, faint in ((others, "dominated", True), (front, "front", False)):
        rows = slice(0, len(others)) if faint else slice(len(others), None)
        figure.add_trace(
            kind(
                x=columns[names[0]][rows],
                y=columns[names[1]][rows],
                name=f"{label} ({len(table):,})",
                mode="markers",
                marker=_faint() if faint else _colored(result, names[2], front[names[2]]),
                **_hover(result, table),
            )
        )
    figure.update_xaxes(**_axis(result, names[0], shown[names[0]]))
    figure.update_yaxes(**_axis(result, names[1], shown[names[1]]))
    return figure.update_layout(legend={"orientation": "h", "y": 1.02, "yanchor": "bottom"})


def front_3d_figure(
    result: Result, x: str | None = None, y: str | None = None, z: str | None = None
) -> go.Figure:
    """Return the front over any three columns, in space.

    Raises
    ------
    ValueError
        Where a column is unknown.
    """
    known = numeric(result)
    names = _chosen(result, (x, y, z), tuple((known * 3)[:3]))
    front, others = _rows(result)
    shown = pd.concat([others, front])
    columns = {name: _drawn(result, name, shown[name]) for name in names}
    figure = go.Figure(layout={"template": "plotly_white", "title": plain(result.name)})
    for table, label, faint in ((others, "dominated", True), (front, "front", False)):
        rows = slice(0, len(others)) if faint else slice(len(others), None)
        figure.add_trace(
            go.Scatter3d(
                **{which: columns[n][rows] for which, n in zip("xyz", names, strict=True)},
                name=f"{label} ({len(table):,})",
                mode="markers",
                marker=_faint(2) if faint else _colored(result, names[2], front[names[2]], 4),
                **_hover(result, table),
            )
        )
    axes = {f"{w}axis": _axis(result, n, shown[n]) for w, n in zip("xyz", names, strict=True)}
    return figure.update_layout(scene=axes)


def parallel_figure(result: Result) -> go.Figure:
    """Return the front as lines over one axis for each variable and objective."""
    front, _ = _rows(result)
    wanted = ("variable", "objective")
    names = [name for name, column in result.columns.items() if column.role in wanted]
    objective = result.objectives[0].name
    values, _ = drawable(
        front[objective].to_numpy(np.float64), axis(result, objective, front[objective]).log
    )
    lines = go.Parcoords(
        dimensions=[_dimension(result, name, front[name]) for name in names],
        line={"color": values, "colorscale": "Viridis", "showscale": False},
        labelangle=-15,
    )
    layout = {"template": "plotly_white", "margin": {"t": 110}}
    return go.Figure(lines, layout).update_layout(title=plain(result.name))


def regions_figure(regions: Regions) -> go.Figure:
    """Return the optimization regions of one design along one axis."""
    return _figure(regions_plot(regions))


def breakdown_figure(parts: Sequence[Part]) -> go.Figure:
    """Return where time and area of one design go."""
    return _figure(breakdown_plot(parts))


def curve_figure(curve: Curve) -> go.Figure:
    """Return the figure of quantities along an input; see `dse.explain.explanation.Curve`."""
    return _figure(curve_plot(curve))


def convergence_figure(result: Result) -> go.Figure:
    """Return front size and hypervolume over the evaluated designs."""
    return _figure(convergence_plot(result.convergence))


def section_figure(part: Lines | Bars | Heatmap | Tree) -> go.Figure:
    """Return a picture of a section; see `dse.model.section`."""
    return _figure(section_plot(part)).update_layout(title=plain(part.title))


def plotly_js() -> str:
    """Return the text of plotly.js, for a page that works offline."""
    return str(get_plotlyjs())


def _figure(plot: Plot) -> go.Figure:
    return go.Figure(plot["data"], plot["layout"] | {"template": "plotly_white"})


def _chosen(result: Result, given: Sequence[str | None], default: Sequence[str]) -> tuple[str, ...]:
    names = tuple(a or b for a, b in zip(given, default, strict=True))
    unknown = [name for name in names if name not in result.columns]
    if unknown:
        raise ValueError(f"no column {unknown[0]!r}; there are {', '.join(result.columns)}")
    return names


def _rows(result: Result) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Return the front, and an even sample of the feasible designs that it dominates."""
    designs = result.designs
    on_front = designs["on_front"].to_numpy(bool)
    others = np.flatnonzero(designs["feasible"].to_numpy(bool) & ~on_front)
    return designs[on_front], designs.iloc[evenly(others, _DOMINATED)]


def _drawn(result: Result, name: str, values: pd.Series[Any]) -> Any:
    how = axis(result, name, values)
    if not pd.api.types.is_numeric_dtype(values.dtype):
        return values.astype(str).map(plain).to_numpy()
    return drawable(values.to_numpy(np.float64) / how.scale, how.log)[0]


def _axis(result: Result, name: str, values: pd.Series[Any]) -> dict[str, Any]:
    how = axis(result, name, values)
    numbers = {"type": "log", "exponentformat": "power"} if how.log else {"exponentformat": "SI"}
    return {"title": {"text": plain(how.title)}, **numbers}


def _faint(size: int = 4) -> dict[str, Any]:
    return {"color": NEUTRAL, "size": size, "opacity": 0.35}


def _colored(result: Result, name: str, values: pd.Series[Any], size: int = 7) -> dict[str, Any]:
    if not pd.api.types.is_numeric_dtype(values.dtype):
        codes, _ = pd.factorize(values, sort=True)
        return {"color": [PALETTE[code % len(PALETTE)] for code in codes], "size": size}
    how = axis(result, name, values)
    shown = _drawn(result, name, values)
    bar: dict[str, Any] = {"title": {"text": plain(how.title)}}
    if how.log:
        shown = np.log10(shown)
        bar |= {"tickprefix": "10^"}
    return {"color": shown, "colorscale": "Viridis", "colorbar": bar, "size": size}


def _hover(result: Result, table: pd.DataFrame) -> dict[str, Any]:
    """Return what a point says on hover: the design's number and every column with its unit."""
    lines, texts = ["design %{customdata[0]}"], [table.index.astype(str).to_numpy(object)]
    for name in result.columns:
        lines.append(plain(name) + f" = %{{customdata[{len(texts)}]}}")
        texts.append(_texts(result, name, table[name]))
    custom = np.column_stack(texts)
    return {"customdata": custom, "hovertemplate": "<br>".join(lines) + "<extra></extra>"}


def _texts(result: Result, name: str, values: pd.Series[Any]) -> Any:
    """Return the values of a column as texts with units."""
    codes, distinct = pd.factorize(values, use_na_sentinel=False)
    unit = result.columns[name].unit
    if pd.api.types.is_numeric_dtype(values.dtype):
        shown = [show(v, unit) if np.isfinite(v) else nonfinite(v, unit) for v in distinct]
    else:
        shown = [plain(str(v)) for v in distinct]
    return np.asarray(shown, dtype=object)[codes]


def _dimension(result: Result, name: str, values: pd.Series[Any]) -> dict[str, Any]:
    how = axis(result, name, values)
    if not pd.api.types.is_numeric_dtype(values.dtype):
        codes, options = pd.factorize(values, sort=True)
        texts = [str(option) for option in options]  # ticks of this plot are no markup
        places = list(range(len(texts)))
        return {"label": plain(name), "values": codes, "tickvals": places, "ticktext": texts}
    shown, rail = drawable(values.to_numpy(np.float64) / how.scale, how.log)
    if not how.log and rail is None:
        return {"label": plain(how.title), "values": shown}
    near = shown[np.isfinite(shown) & (shown != rail)]
    if not near.size:
        near = np.array([1.0])
    space = np.geomspace if how.log else np.linspace
    ticks = np.unique(space(near.min(), near.max(), 5)).tolist()
    texts = [f"{tick:.3g}" for tick in ticks]
    if rail is not None:
        ticks, texts = [*ticks, rail], [*texts, how.infinite]
    warp = np.log10 if how.log else np.asarray
    return {
        "label": plain(how.title),
        "values": warp(shown),
        "tickvals": [float(warp(tick)) for tick in ticks],
        "ticktext": texts,
    }
