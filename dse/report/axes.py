"""What a plot shows, as plain data: axes, prefixes, samples, and where infinity lies.

Scripts draw it through `dse.report.figures`, the report through its own page; both show the same.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray

from dse.explain.explanation import Sensitivity
from dse.model.quantity import Array
from dse.result.record import Result

PALETTE = ("#3566a8", "#d1762c", "#3f8f5f", "#b4508c", "#7a68b5", "#8a6d3b", "#2f96a6", "#c0504d")
"""Colours of series; neighbours differ for colour-blind readers too."""
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


def infinite_word(unit: str) -> str:
    """Return what it means that a quantity is infinite: a time without end is saturation.

    >>> infinite_word("s"), infinite_word("B"), infinite_word("1")
    ('saturated', 'never', '∞')
    """
    return {"s": "saturated", "cycle": "saturated", "B": "never"}.get(unit, "∞")


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


def axis(result: Result, name: str, values: ArrayLike | None = None) -> Axis:
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


def numeric(result: Result) -> list[str]:
    """Return the names of the columns that hold numbers, objectives first."""
    objectives = [objective.name for objective in result.objectives]
    others = [name for name in result.columns if name not in objectives]
    return [
        n for n in objectives + others if pd.api.types.is_numeric_dtype(result.designs[n].dtype)
    ]


def default_axes(result: Result) -> tuple[str, str, str]:
    """Return the columns that x, y and colour show at first: objectives as far as they go.

    One objective is drawn against the first variable.
    """
    objectives = [objective.name for objective in result.objectives]
    variables = [n for n, column in result.columns.items() if column.role == "variable"]
    if len(objectives) == 1:
        first = variables[0] if variables else objectives[0]
        return first, objectives[0], (variables[1:] or [objectives[0]])[0]
    return objectives[0], objectives[1], (objectives[2:] or variables or objectives)[0]


def change_next(sensitivities: Sequence[Sensitivity]) -> list[Sensitivity]:
    """Return, for each objective that has a bottleneck, the one whose improvement gains most."""
    best: dict[str, Sensitivity] = {}
    for item in sensitivities:
        if item.bottleneck and (
            item.objective not in best or item.gain > best[item.objective].gain
        ):
            best[item.objective] = item
    return list(best.values())
