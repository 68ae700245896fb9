"""Scales: colours, titles, ticks, and how numbers lie on an axis, infinity included.

The axes are plain data for Python's figures and the report's script.
"""

from __future__ import annotations

import base64
from typing import Any, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import ArrayLike

from dse.model.quantity import Array
from dse.model.values import choose_prefix, show_number

Plot: TypeAlias = dict[str, Any]
"""``data`` and ``layout``, as plotly.js takes them."""

PALETTE = (
    *("#0072b2", "#d55e00", "#009e73", "#cc79a7"),
    *("#e69f00", "#56b4e9", "#f0e442"),
)
"""Colours of categories: those of Okabe and Ito (2008) without black, strongest first.

They differ for colour-blind readers too.
"""
NEUTRAL = "#8b93a1"
"""Colour of the background: dominated designs, the curve that improvements start from."""
VALUES = (
    *("#fee838", "#e1cc55", "#c3b369", "#a59c74", "#8a8678"),
    *("#707173", "#575d6d", "#3b496c", "#123570"),
)
"""Colours of numbers, ascending: cividis (Nunez et al., 2018), dark for the highest."""
_MANY = 24  # distinct whole numbers above which an axis has round ticks instead
_GAP = 0.05  # of an axis, between neighbouring ticks
_TICKS = 6  # round ones on a logarithmic axis
_FEW = 5  # designs of a front below which the others count as near it


def color_scale(colors: tuple[str, ...]) -> list[list[Any]]:
    """Return colours as plotly takes them: Python and the browser name scales differently."""
    return [[i / (len(colors) - 1), color] for i, color in enumerate(colors)]


def ink_on(color: str) -> str:
    """Return black or white, whichever differs more from a colour.

    >>> ink_on("#0072b2"), ink_on("#f0e442")
    ('#fff', '#000')
    """
    encoded = np.array([int(color[i : i + 2], 16) / 255 for i in (1, 3, 5)])
    linear = np.where(encoded <= 0.04045, encoded / 12.92, ((encoded + 0.055) / 1.055) ** 2.4)
    luminance = float(linear @ [0.2126, 0.7152, 0.0722])
    return "#000" if (luminance + 0.05) ** 2 > 0.05 * 1.05 else "#fff"


class Scale(NamedTuple):
    """How the numbers of a column lie on an axis, linear or logarithmic.

    Ranges and places are in the shown unit; in powers of ten if the axis is logarithmic.
    """

    rail: float | None  # the place of infinite values, beyond the others; None if there are none
    shown: tuple[float, float] | None  # the range of the front, if dominated designs lie far out
    span: tuple[float, float]  # the range of the front
    powers: dict[str, Any]  # ticks of a logarithmic axis; see `log_ticks`
    ticks: list[tuple[float, str]] | None  # for axes without ticks; None if any will do
    whole: list[float] | None  # values as ticks of a plotly axis, if they are few whole numbers


def choose_scale(values: Array, front: int, log: bool, infinite: str) -> Scale:
    """Return how numbers in the shown unit lie on an axis.

    The first ones are of the front. `infinite` is what infinite values are called.
    """
    usable = np.isfinite(values) & ((values > 0) if log else True)
    near = values[:front][usable[:front]]
    if near.size < _FEW:
        near = values[usable]
    low, high = (float(near.min()), float(near.max())) if near.size else (1.0, 1.0)
    rail = None
    if np.isposinf(values).any():
        step = max(high / low, 10.0) ** 0.1 if log else 0.1 * ((high - low) or abs(high) or 1.0)
        rail = 1.0 if not near.size else high * step if log else high + step
    on = place_values(values, rail, log)
    drawn = np.log10(on) if log else on
    span = _range(drawn[:front])
    every = values[usable]
    decades = log and bool(every.size) and bool(every.max() > 1000 * every.min())
    far = bool(np.isposinf(values[:front]).any())
    ticks = None
    if (log or far) and near.size:
        ticks = _ticks(values[usable], low, high, log)
        if far and rail is not None:
            ticks.append((float(np.log10(rail)) if log else rail, infinite))
    shown = _shown(span, _range(drawn)) if front >= _FEW else None
    whole = None if decades else _few(values[usable], log)
    powers = log_ticks(decades, float(every.min(initial=np.inf)))
    return Scale(rail, shown, span, powers, ticks, whole)


def place_values(values: Array, rail: float | None, log: bool) -> Array:
    """Place values on an axis: infinite ones on the rail, NaN for values without a place.

    >>> place_values(np.array([1.0, 9.0, np.inf, -np.inf]), 5.0, log=False)
    array([ 1., nan,  5., nan])
    """
    inside = np.isfinite(values) & ((values > 0) if log else True)
    if rail is None:
        return np.where(inside, values, np.nan)
    return np.where(np.isposinf(values), rail, np.where(inside & (values < rail), values, np.nan))


def _whole(values: Array) -> bool:
    x = values[np.isfinite(values)]
    return bool((x == np.round(x)).all())


def _ticks(values: Array, low: float, high: float, log: bool) -> list[tuple[float, str]]:
    inside = values[(values >= low) & (values <= high)]
    few = _few(inside, log)
    if few is not None:
        places = np.array(few)
    elif log:
        places = _round(low, high)
    else:
        places = np.linspace(low, high, 5)
        places = np.unique(np.round(places) if _whole(values) else places)
    texts = [show_number(float(f"{p:.2g}") if few is None else p) for p in places.tolist()]
    at = np.log10(places) if log else places
    return list(zip(at.tolist(), texts, strict=True))


def _round(low: float, high: float) -> Array:
    """Return at most six places at 1, 2 and 5, or at powers of ten, between two numbers.

    If there are fewer than two, the limits and the middle are.

    >>> _round(16.0, 1600.0).tolist(), _round(3.0, 4.0).round(2).tolist()
    ([20.0, 50.0, 100.0, 200.0, 500.0, 1000.0], [3.0, 3.46, 4.0])
    """
    powers = np.arange(np.floor(np.log10(low)), np.ceil(np.log10(high)) + 1)
    tenths = 10.0**powers
    fine = np.sort(np.concatenate([tenths, 2 * tenths, 5 * tenths]))
    for step in (fine, tenths, *(tenths[::k] for k in (2, 3, 5, 10, 20, 50))):
        inside = step[(step >= low) & (step <= high)]
        if len(inside) <= _TICKS:
            break
    return inside if len(inside) > 1 else np.geomspace(low, high, 3 if high > low else 1)


def _few(values: Array, log: bool) -> list[float] | None:
    """Return the distinct values if they are few and whole; None else. Neighbours keep a gap."""
    if not values.size or not _whole(values):
        return None
    distinct = np.unique(values)
    if distinct.size > _MANY:
        return None
    places = np.log10(distinct) if log else distinct
    kept, gap = [0], _GAP * (places[-1] - places[0])
    for i in range(1, len(places)):
        if places[i] - places[kept[-1]] >= gap:
            kept.append(i)
    return [float(distinct[i]) for i in kept]


def _range(values: Array) -> tuple[float, float]:
    x = values[np.isfinite(values)]
    low, high = (float(x.min()), float(x.max())) if x.size else (0.0, 0.0)
    more = 0.1 * abs(low) or 0.5
    return (low, high) if high > low else (low - more, low + more)


def _shown(near: tuple[float, float], every: tuple[float, float]) -> tuple[float, float] | None:
    """Return the range of the front and a margin, if that is far less than all of it."""
    pad = 0.15 * (near[1] - near[0])
    low, high = max(near[0] - pad, every[0] - pad / 3), min(near[1] + pad, every[1] + pad / 3)
    return (low, high) if high - low < 0.6 * (every[1] - every[0]) else None


def spans_decades(values: ArrayLike) -> bool:
    """Return whether values are positive and span more than two decades.

    >>> spans_decades([1.0, 500.0, np.inf]), spans_decades([0.0, 500.0])
    (True, False)
    """
    x = np.asarray(values, dtype=np.float64)
    x = x[np.isfinite(x)]
    return bool(x.size) and bool(x.min() > 0) and bool(x.max() > 100 * x.min())


def escape_markup(text: str) -> str:
    """Return a text that plotly.js shows as it is, and not as markup."""
    return text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")


def pack_numbers(values: ArrayLike) -> dict[str, str]:
    """Return numbers as plotly.js reads them compactly: single precision, base64."""
    data = np.asarray(values, dtype="<f4").tobytes()
    return {"dtype": "f4", "bdata": base64.b64encode(data).decode("ascii")}


def log_ticks(decades: bool, low: float) -> dict[str, Any]:
    """Return ticks of a logarithmic axis: powers of ten, or 1, 2 and 5, each in full.

    >>> log_ticks(False, 20.0)
    {'dtick': 'D2', 'tickformat': '~s'}
    """
    return {"dtick": 1 if decades else "D2", "tickformat": "~s" if low >= 1 else ",~g"}


def byte_ticks(low: float, high: float) -> dict[str, Any]:
    """Return ticks at powers of two for a logarithmic axis of bytes.

    >>> byte_ticks(16.0, 4096.0)["ticktext"]
    ['16 B', '64 B', '256 B', '1 KiB', '4 KiB']
    """
    first, last = int(np.ceil(np.log2(low))), int(np.floor(np.log2(high)))
    step = next((step for step in (1, 2, 5, 10, 20) if (last - first) / step <= 7), 100)
    powers = [p for p in range(first, last + 1) if p % step == 0]
    scaled = [choose_prefix([2.0**p], "B") for p in powers]
    texts = [f"{2.0**p / scale:g} {unit}" for p, (scale, unit) in zip(powers, scaled, strict=True)]
    return {"tickmode": "array", "tickvals": [2.0**p for p in powers], "ticktext": texts}
