"""The front as all pictures and tables show it: its designs, and the looks of each column.

The page and Python's figure draw the same data: `choose_designs` chooses the designs, and
`describe_column` describes a column of them.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from dse.evaluate.criteria import Objective
from dse.model.values import add_conditions, add_unit, choose_decimals, choose_prefix, infinite_word
from dse.report.scales import Scale, choose_scale, spans_decades
from dse.result.record import Result

MANY = 3_000
"""Designs above which 2-D paints them on a canvas, which is quicker than one element each."""
MOST = 6_000
"""Designs of the front in pictures: of a larger front an even sample and the named ones."""
HELD = 120_000
"""Designs of the front that the page holds, to sort, filter and select, more than it draws."""
_GROUPS = 8  # ranges of a variable, to see whether it explains clusters
_MIN_EXPLAINED = 0.1  # of the variance: a variable that explains less does not colour the front
_OTHERS = 4_000  # dominated designs, to show how they lie


class DrawnDesigns(NamedTuple):
    """The designs in pictures."""

    designs: pd.DataFrame  # of the front by number, then other feasible and explained ones
    front: int  # how many are of the front
    total: int  # how many designs the front has
    nash: int | None  # the row of the Nash design; None without a front, or for one objective


def choose_designs(
    result: Result, explained: Collection[int] = (), most: int | None = None
) -> DrawnDesigns:
    """Choose the designs to draw.

    A thinned front keeps the best, Nash and explained designs.

    Parameters
    ----------
    explained : collection of int
        Numbers of designs to include in any case.
    most : int, optional
        Designs of the front to hold; `MOST` if it is not given.
    """
    most = MOST if most is None else most
    on_front = result.designs["on_front"].to_numpy(bool)
    wanted = result.designs.index.isin(list(explained))
    front = np.flatnonzero(on_front)
    middle = None
    if len(front) and len(result.objectives) > 1:
        middle = int(front[result.front.nash_row])
    kept = front
    if len(front) > most:
        always = np.flatnonzero(on_front & (wanted | result.designs.index.isin(list_best(result))))
        always = always if middle is None else np.union1d(always, middle)
        rest = np.delete(front, np.searchsorted(front, always))
        kept = np.union1d(select_evenly(rest, most - len(always)), always)
    others = np.flatnonzero(result.designs["feasible"].to_numpy(bool) & ~on_front)
    more = np.union1d(select_evenly(others, _OTHERS), np.flatnonzero(wanted & ~on_front))
    rows = np.concatenate([kept, more]).astype(np.int64)
    place = None if middle is None else int(np.searchsorted(kept, middle))
    return DrawnDesigns(result.designs.iloc[rows], len(kept), len(front), place)


def list_best(result: Result) -> list[int | None]:
    """Return the number of the design that is best in each objective; None if there is none."""
    if not len(result.front):
        return [None for _ in result.objectives]
    return [int(str(result.front.best(o.name).name)) for o in result.objectives]


class ColumnLooks(NamedTuple):
    """The looks of a column."""

    name: str
    role: str
    about: str
    unit: str  # the base unit; "" for options
    title: str  # name and unit with the prefix that suits most values
    axis: str  # the same, and which way is better
    scale: float  # what a value in the base unit is divided by
    log: bool  # whether the axis is logarithmic at first
    color_log: bool  # whether colours follow the logarithm: so they say more over one decade
    infinite: str  # what an infinite value is called
    number: bool  # whether it holds numbers; options else
    decimals: int | None  # that align the front's values in the shown unit; None if none do
    scales: tuple[Scale | None, Scale | None]  # linear and logarithmic; None if it has none
    values: NDArray[Any]  # in the base unit, or options


def describe_column(result: Result, drawn: DrawnDesigns, name: str) -> ColumnLooks:
    """Return the looks of a column of the held designs."""
    column = result.columns[name]
    series = drawn.designs[name]
    about = (column.name, column.role, column.about)
    if not pd.api.types.is_numeric_dtype(series.dtype):
        options = series.astype(str).to_numpy(object)
        return ColumnLooks(
            *about, "", name, name, 1.0, False, False, "∞", False, None, (None, None), options
        )
    values = series.to_numpy(np.float64)
    scale, unit = choose_prefix(values, column.unit)
    title, infinite = add_unit(name, unit), infinite_word(column.unit)
    objective = next((o for o in result.objectives if o.name == name), None)
    axis = title if objective is None else _heading(objective, unit)
    feasible = values[drawn.designs["feasible"].to_numpy(bool)]  # others do not choose the scale
    positive = not (feasible <= 0).any()
    linear, logarithmic = (
        choose_scale(values / scale, drawn.front, log, infinite) if positive or not log else None
        for log in (False, True)
    )
    near = values[: drawn.front]
    near = near[np.isfinite(near)]
    color_log = positive and bool(near.size) and bool(near.max() > 10 * near.min())
    log = positive and spans_decades(feasible)
    return ColumnLooks(
        *about,
        unit=column.unit,
        title=title,
        axis=axis,
        scale=scale,
        log=log,
        color_log=color_log,
        infinite=infinite,
        number=True,
        decimals=choose_decimals(near / scale),
        scales=(linear, logarithmic),
        values=values,
    )


def _heading(objective: Objective, unit: str) -> str:
    """Return what an axis of an objective is called: with its conditions and the better way."""
    way = "higher" if objective.direction == "maximize" else "lower"
    return (
        f"{add_unit(add_conditions(objective.name, objective.condition), unit)} · {way} is better"
    )


def default_axes(result: Result) -> tuple[str, str, str]:
    """Return the columns that x, y and colour show at first: cost, benefit, and what else varies.

    The benefit is the first ratio that is maximized, or else the first maximized objective, or the
    first of all. The cost is the objective that it is traded for: of the minimized ones, and if it
    is traded for none of them of all, the one whose ranks on the front fall most as the benefit's
    rise. Colour is the variable that explains the clusters, if one does; else the first other
    objective, else the first other variable, that varies on the front. One objective is plotted
    against the first variable that varies.
    """
    designs = result.front.designs
    front = designs.iloc[select_evenly(np.arange(len(designs)), MOST)]
    names = [objective.name for objective in result.objectives]
    variables = [n for n, column in result.columns.items() if column.role == "variable"]
    varied = [n for n in [*names, *variables] if len(pd.unique(front[n])) > 1]
    if len(names) == 1:
        first, *rest = [*(n for n in varied if n in variables), *variables, *names]
        return first, names[0], [*rest, names[0]][0]
    maximized = [o for o in result.objectives if o.direction == "maximize"]
    ratios = [o for o in maximized if o.unit == "1"]
    benefit = (ratios or maximized or list(result.objectives))[0].name
    cost = _cost(result.objectives, front, benefit)
    if variable := _explaining(front, [n for n in varied if n in variables], (cost, benefit)):
        return cost, benefit, variable
    others = [n for n in [*varied, *names] if n not in (cost, benefit)]
    return cost, benefit, [*others, benefit][0]


def _explaining(front: pd.DataFrame, variables: Sequence[str], axes: Sequence[str]) -> str | None:
    """Return the variable that explains the places of the designs best; None if none does.

    Each variable divides the designs into groups: its options, or eight ranges of equal size. The
    measure is ω², the fraction of the variance of the ranks between groups, corrected for their
    number.
    """
    best, largest = None, _MIN_EXPLAINED
    ranks = front[list(axes)].astype(np.float64).rank(pct=True)
    total = float(((ranks - ranks.mean()) ** 2).to_numpy().sum())
    for name in variables:
        values = front[name]
        if pd.api.types.is_numeric_dtype(values.dtype) and values.nunique() > _GROUPS:
            values = pd.qcut(values, _GROUPS, labels=False, duplicates="drop")
        inside = ranks - ranks.groupby(values.to_numpy()).transform("mean")
        within, groups = float((inside**2).to_numpy().sum()), values.nunique()
        if total == 0 or len(front) <= groups:
            continue
        noise = within / (len(front) - groups)
        explained = (total - within - (groups - 1) * noise) / (total + noise)
        if explained > largest:
            best, largest = name, explained
    return best


def _cost(objectives: Sequence[Objective], front: pd.DataFrame, benefit: str) -> str:
    """Return the objective that a benefit is traded for."""
    good = {o.name: -o.sign * front[o.name].astype(np.float64).rank() for o in objectives}
    with np.errstate(invalid="ignore", divide="ignore"):  # a constant column has no correlation
        agree = {
            n: np.nan_to_num(good[benefit].corr(g, min_periods=2))
            for n, g in good.items()
            if n != benefit
        }
    minimized = [o.name for o in objectives if o.name in agree and o.direction == "minimize"]
    traded = [n for n in minimized if agree[n] < 0]
    return min(traded or [n for n in agree if agree[n] < 0] or minimized or list(agree),
               key=agree.__getitem__)  # fmt: skip


def select_evenly(rows: NDArray[np.int64], count: int) -> NDArray[np.int64]:
    """Return at most `count` of some rows, evenly spread over them."""
    if len(rows) <= count:
        return rows
    return rows[np.linspace(0, len(rows) - 1, count).astype(np.int64)]
