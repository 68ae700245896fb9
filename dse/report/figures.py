"""Plotly figures for scripts, to show, change or write to a file.

The only module that knows plotly.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
import pandas as pd
import plotly.graph_objects as go
from plotly.subplots import make_subplots

from dse.model.values import add_unit, choose_prefix, show_value
from dse.problems import InputError, Problem, nearest
from dse.report.front_view import (
    MANY,
    ColumnLooks,
    choose_designs,
    default_axes,
    describe_column,
    select_evenly,
)
from dse.report.scales import NEUTRAL, PALETTE, VALUES, color_scale, escape_markup, place_values
from dse.result.record import Result

if TYPE_CHECKING:  # plotly's graph objects are loaded when the first of them is named
    Figure: TypeAlias = go.Figure


def front_figure(
    result: Result,
    x: str | None = None,
    y: str | None = None,
    color: str | None = None,
    before: Result | None = None,
) -> Figure:
    """Return the front over any two columns, dominated designs in the background.

    The report shows the same in 2-D. It is a sample if the front has more than 6,000 designs.

    Parameters
    ----------
    result : Result
        What a run found.
    x, y, color : str, optional
        Columns of `result.designs`; cost, benefit and what else varies if they are not given.
    before : Result, optional
        The result before a change of the study: its front is shown in grey.

    Raises
    ------
    InputError
        If a column is unknown.
    """
    names = [a or b for a, b in zip((x, y, color), default_axes(result), strict=True)]
    unknown = [name for name in names if name not in result.columns]
    if unknown:
        problems = [Problem("", f"no column '{n}'", nearest(n, result.columns)) for n in unknown]
        raise InputError(result.name, problems)
    drawn = choose_designs(result)
    across, up, colored = (describe_column(result, drawn, name) for name in names)
    kind = go.Scattergl if len(drawn.designs) > MANY else go.Scatter
    figure = go.Figure(layout={"template": "plotly_white", "title": escape_markup(result.name)})
    of_front = (
        f"{drawn.front:,} of {drawn.total:,}" if drawn.front < drawn.total else f"{drawn.front:,}"
    )
    rest = len(drawn.designs) - drawn.front
    faint = {"color": NEUTRAL, "size": 4, "opacity": 0.35}
    series = (
        (slice(drawn.front, None), f"dominated ({rest:,})", faint),
        (slice(0, drawn.front), f"front ({of_front})", _colored(colored, drawn.front)),
    )
    for rows, label, marker in series:
        places = {"x": _places(across)[rows], "y": _places(up)[rows]}
        hover = _hover(result, drawn.designs.iloc[rows])
        figure.add_trace(kind(name=label, mode="markers", marker=marker, **places, **hover))
    if before is not None and {across.name, up.name} <= before.columns.keys():
        figure.add_trace(kind(name="front before", mode="markers", **_before(before, across, up)))
    figure.update_xaxes(**_axis(across))
    figure.update_yaxes(**_axis(up))
    _rails(figure, across, up)
    return figure.update_layout(legend={"orientation": "h", "y": 1.02, "yanchor": "bottom"})


def _before(result: Result, across: ColumnLooks, up: ColumnLooks) -> dict[str, Any]:
    """Return the front of another result on the axes of this one, in grey."""
    front = result.front.designs
    front = front.iloc[select_evenly(np.arange(len(front)), MANY)]
    sides = [_places(each._replace(values=front[each.name].to_numpy())) for each in (across, up)]
    marker = {"color": NEUTRAL, "size": 7, "symbol": "circle-open"}
    return {"x": sides[0], "y": sides[1], "marker": marker, "hoverinfo": "skip"}


def sweep_figure(name: str, table: pd.DataFrame, objectives: Sequence[tuple[str, str]]) -> Figure:
    """Return what the runs along an input found, a plot for each objective.

    The table has the columns ``best X`` and ``nash X`` for each objective X, and a row per value of
    the input. Objectives are names and units.
    """
    figure = make_subplots(rows=max(len(objectives), 1), shared_xaxes=True, vertical_spacing=0.04)
    figure.update_layout(template="plotly_white", height=120 + 220 * len(objectives))
    for row, (objective, unit) in enumerate(objectives, 1):
        values = {word: table[f"{word} {objective}"].to_numpy() for word in ("best", "nash")}
        scale, shown_unit = choose_prefix([*values["best"], *values["nash"]], unit)
        for (word, drawn), color in zip(values.items(), PALETTE, strict=False):
            line = go.Scatter(
                x=[escape_markup(str(value)) for value in table.index],
                y=drawn / scale,
                name=word,
                mode="lines+markers",
                marker={"color": color},
                legendgroup=word,
                showlegend=row == 1,
            )
            figure.add_trace(line, row=row, col=1)
        figure.update_yaxes(
            title_text=escape_markup(add_unit(objective, shown_unit)), row=row, col=1
        )
    figure.update_xaxes(type="category")
    figure.update_xaxes(title_text=escape_markup(name), row=max(len(objectives), 1), col=1)
    return figure


def _places(column: ColumnLooks, log: bool | None = None) -> Any:
    """Return the positions of the values of a column."""
    log = column.log if log is None else log
    scale = column.scales[log]
    if scale is None:
        return np.array([escape_markup(option) for option in column.values], dtype=object)
    return place_values(column.values / column.scale, scale.rail, log)


def _axis(column: ColumnLooks) -> dict[str, Any]:
    scale = column.scales[column.log]
    title = {"title": {"text": escape_markup(column.axis)}}
    if scale is None:
        return title | {"type": "category"}
    looks = {"type": "linear", "exponentformat": "SI"}
    if column.log:
        looks = {"type": "log"}
    return (
        title
        | looks
        | (scale.powers if column.log else {})
        | ({"tickvals": scale.whole} if scale.whole else {})
        | ({"range": scale.shown} if scale.shown else {})
    )


def _rails(figure: Figure, across: ColumnLooks, up: ColumnLooks) -> None:
    """Draw the lines on which infinite values lie, with their names."""
    for column, add, corner in (
        (across, figure.add_vline, "bottom left"),
        (up, figure.add_hline, "top right"),
    ):
        scale = column.scales[column.log]
        if scale is not None and scale.rail is not None:
            line = {"dash": "dot", "width": 1, "color": NEUTRAL}
            add(scale.rail, line=line, layer="below", annotation_text=column.infinite,
                annotation_position=corner)  # fmt: skip


def _colored(column: ColumnLooks, front: int) -> dict[str, Any]:
    """Return the markers of the front, coloured by a column."""
    scale = column.scales[column.color_log]
    if scale is None:
        codes, _ = pd.factorize(column.values, sort=True)
        return {"color": [PALETTE[code % len(PALETTE)] for code in codes[:front]], "size": 7}
    places = _places(column, column.color_log)[:front]
    bar: dict[str, Any] = {"title": {"text": escape_markup(column.title), "side": "right"}}
    if scale.ticks is not None:
        bar |= {"tickvals": [at for at, _ in scale.ticks], "ticktext": [t for _, t in scale.ticks]}
    elif scale.whole is not None:
        bar |= {"tickvals": scale.whole}
    color = np.log10(places) if column.color_log else places
    return {"color": color, "colorscale": color_scale(VALUES), "colorbar": bar, "size": 7}


def _hover(result: Result, table: pd.DataFrame) -> dict[str, Any]:
    """Return what a point says on hover: the design's number and every column with its unit."""
    lines, texts = ["design %{customdata[0]}"], [table.index.astype(str).to_numpy(object)]
    for name in result.columns:
        lines.append(escape_markup(name) + f" = %{{customdata[{len(texts)}]}}")
        texts.append(_texts(result, name, table[name]))
    custom = np.column_stack(texts)
    return {"customdata": custom, "hovertemplate": "<br>".join(lines) + "<extra></extra>"}


def _texts(result: Result, name: str, values: pd.Series[Any]) -> Any:
    """Return the values of a column as texts with units."""
    codes, distinct = pd.factorize(values, use_na_sentinel=False)
    unit = result.columns[name].unit
    if pd.api.types.is_numeric_dtype(values.dtype):
        texts = [show_value(v, unit) for v in distinct]
    else:
        texts = [escape_markup(str(v)) for v in distinct]
    return np.asarray(texts, dtype=object)[codes]
