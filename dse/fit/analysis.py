"""Tables of times, fitted: the law, its values with intervals, and where the two times cross."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from dse.fit.choose import Shape, chosen, evidence, fitted, laws, noise, used, weights, widest
from dse.fit.crossing import crossings
from dse.fit.intervals import BREAK_EVEN, HALF, LINE, Fitted, Value, interval, possible
from dse.fit.law import (
    EXPONENT,
    FIXED,
    GAIN,
    INDEX,
    PER_BYTE,
    PER_BYTE_OUT,
    SETUP,
    Law,
    Mask,
    Points,
)
from dse.model.quantity import Array

Interval: TypeAlias = tuple[float, float]
_SLOPES = ("speedup_limit", "accelerated_time_per_byte")
_Crossed: TypeAlias = tuple[float | None, Interval | None, bool, float]
_Told: TypeAlias = tuple[
    dict[str, float], dict[str, Interval], float | None, Interval | None, bool, float
]


@dataclass(frozen=True)
class Analysis:
    """What one table says.

    Parameters
    ----------
    law : Law
        Which terms were chosen.
    at : ndarray, shape (7,)
        The law: logarithms, and the exponent.
    parameters : mapping of str to float
        By name, in seconds and bytes.
    intervals : mapping of str to (float, float)
        Of each parameter, 95 %.
    break_even : float or None
        The size from which offloading pays; None if it always or never does.
    break_even_interval : (float, float) or None
        None if the times speak against any.
    always : bool
        Whether offloading pays from a call of 1 B on.
    end : float
        The size up to which offloading pays; inf if it has no end, NaN if it never does.
    scale : ndarray, shape (2,)
        Relative noise of host and accelerated times.
    kept : ndarray of bool, shape (points,)
        Which points count: all but the wildest.
    scores : mapping of Law to float
        Evidence (AICc) of each law; the least is best.
    """

    law: Law
    at: Array
    parameters: Mapping[str, float]
    intervals: Mapping[str, Interval]
    break_even: float | None
    break_even_interval: Interval | None
    always: bool
    end: float
    scale: Array
    kept: Mask
    scores: Mapping[Law, float]


def analyse(points: Points, shape: Shape, ratio: Array | None = None) -> list[Analysis]:
    """Fit tables of equal shape.

    Parameters
    ----------
    points : Points
    shape : Shape
    ratio : ndarray, shape (tables,), optional
        Bytes returned for each byte sent, of break-even; 0 by default.
    """
    count = len(points.size)
    ratio = np.zeros(count) if ratio is None else ratio
    choices = laws(shape)
    wide = max((widest(shape, law) for law in choices), key=lambda law: law.terms)
    scale, kept = noise(points, wide, shape)
    weight = weights(points, scale, kept)
    fits = [fitted(points, weight, law, shape)[0] for law in choices]
    pairs = zip(choices, fits, strict=True)
    scores = np.array([evidence(points, scale, kept, at, law) for law, at in pairs])
    picked = chosen(scores, choices)
    found: dict[int, Analysis] = {}
    for number in np.unique(picked):
        rows = np.flatnonzero(picked == number)
        law = choices[number]
        every = [dict(zip(choices, scores[:, row].tolist(), strict=True)) for row in rows]
        around = _around(points.take(rows), shape, ratio[rows], widest(shape, law), weight[rows])
        group = _group(around, shape, law, fits[number][rows])
        for row, told, values in zip(rows.tolist(), every, group, strict=True):
            found[row] = Analysis(law, fits[number][row], *values, scale[row], kept[row], told)
    return [found[row] for row in range(count)]


def _around(points: Points, shape: Shape, ratio: Array, wide: Law, weight: Array) -> Fitted:
    """Return the widest laws of tables at their best, from which intervals are taken."""
    best, cost = fitted(points, weight, wide, shape)
    return Fitted(points, weight, best, cost, wide.free, ratio)


def _group(around: Fitted, shape: Shape, law: Law, at: Array) -> list[_Told]:
    """Return what tables say that bear the same law."""
    wide = widest(shape, law)
    freedom = _freedom(around.points, wide, shape)
    told: list[dict[str, float]] = [{} for _ in at]
    spans: list[dict[str, Interval]] = [{} for _ in at]
    linear = "speedup_limit" in _values(shape, wide, at, around.at)
    straight = _straight(around, shape, wide) if linear else around
    for name, (place, here, start) in _values(shape, wide, at, around.at).items():
        low = high = here
        if name in _SLOPES and linear:
            best = straight.at[:, GAIN]
            start = best if place == GAIN else straight.at[:, INDEX] - best
            low, high = interval(straight, Value(place, freedom), start)
        elif place < 0 or wide.free[place]:
            low, high = interval(around, Value(place, freedom), start)
        low, high = np.fmin(low, here), np.fmax(high, here)
        if place != EXPONENT:
            here, low, high = np.exp(here), np.exp(low), np.exp(high)
        for i in range(len(at)):
            told[i][name] = float(here[i])
            spans[i][name] = float(low[i]), float(high[i])
    crossed: list[_Crossed] = [(None, None, False, np.nan)] * len(at)
    if shape.both:
        crossed = _crossed(around, at, freedom)
        _add_half(around, at, freedom, told, spans)
    return [(told[i], spans[i], *crossed[i]) for i in range(len(at))]


def _straight(around: Fitted, shape: Shape, wide: Law) -> Fitted:
    """Return the widest laws with β = 1: slopes mean something in a linear law alone."""
    free = tuple(each and i != EXPONENT for i, each in enumerate(wide.free))
    return _around(around.points, shape, around.ratio, Law(free, wide.values), around.weight)


def _values(shape: Shape, wide: Law, at: Array, best: Array) -> dict[str, tuple[int, Array, Array]]:
    """Return the values to tell: by name, the place, the value and where its interval starts."""
    places: dict[str, int] = {}
    if shape.host:
        places |= {"host_fixed_time": FIXED, "computational_index": INDEX}
    elif shape.accelerated:
        places["accelerated_time_per_byte"] = INDEX
    places["complexity"] = EXPONENT
    if shape.accelerated:
        places["overhead_and_latency"] = SETUP
        if shape.returned:
            places["latency_per_byte_out"] = PER_BYTE_OUT
    found = {name: (place, at[:, place], best[:, place]) for name, place in places.items()}
    if shape.both and (wide.free[PER_BYTE] or PER_BYTE in shape.given):
        found["latency_per_byte"] = (PER_BYTE, at[:, PER_BYTE], best[:, PER_BYTE])
        found["acceleration"] = (GAIN, at[:, GAIN], best[:, GAIN])
    elif shape.both:
        line = [law[:, INDEX] - law[:, GAIN] for law in (at, best)]
        found["accelerated_time_per_byte"] = (LINE, line[0], line[1])
        found["speedup_limit"] = (GAIN, at[:, GAIN], best[:, GAIN])
    return found


def _freedom(points: Points, wide: Law, shape: Shape) -> tuple[int, int]:
    """Return the degrees of freedom of host and accelerated times; of the one that there is."""
    on_device = int(points.accelerated[0].sum())
    counts = int(points.size.shape[1]) - on_device, on_device
    host, device = (n - t for n, t in zip(counts, used(wide, shape), strict=True))
    if not shape.both:
        return (host, host) if shape.host else (device, device)
    return host, device


def _crossed(around: Fitted, at: Array, freedom: tuple[int, int]) -> list[_Crossed]:
    """Return break-even with its interval, whether offloading always pays, and up to which size."""
    ones = np.ones(len(at))
    low, high = crossings(at, around.ratio, ones)
    wide_low = crossings(around.at, around.ratio, ones)[0]
    start = np.where((low > 0.0) & (wide_low > 0.0), wide_low, np.nan)
    ends = interval(around, Value(BREAK_EVEN, freedom), np.log(start))
    lost = np.flatnonzero(np.isnan(start))
    seen = possible(around, Value(BREAK_EVEN, freedom), lost)
    found: list[_Crossed] = []
    for i in range(len(at)):
        always, end = bool(low[i] == 0.0), float(high[i])
        if np.isfinite(start[i]):
            span = min(np.exp(ends[0][i]), low[i]), max(np.exp(ends[1][i]), low[i])
            found.append((float(low[i]), (float(span[0]), float(span[1])), always, end))
        elif low[i] > 0.0:
            around_it = seen[i] or (0.0, np.inf)
            span = min(around_it[0], low[i]), max(around_it[1], low[i])
            found.append((float(low[i]), (float(span[0]), float(span[1])), always, end))
        elif (sizes := seen[i]) is None:
            found.append((None, None, always, end))
        else:
            span = (0.0, sizes[1]) if always else (sizes[0], np.inf)
            found.append((None, span, always, end))
    return found


def _add_half(
    around: Fitted,
    at: Array,
    freedom: tuple[int, int],
    told: list[dict[str, float]],
    spans: list[dict[str, Interval]],
) -> None:
    """Add the size of half the acceleration to the values of each table that has one."""
    sizes, starts = (
        crossings(law, around.ratio, np.exp(np.minimum(law[:, GAIN], 60.0)) / 2.0)[0]
        for law in (at, around.at)
    )
    rows: NDArray[np.bool_] = (sizes > 0.0) & (starts > 0.0) & np.isfinite(at[:, GAIN])
    start = np.where(rows, starts, np.nan)
    low, high = interval(around, Value(HALF, freedom), np.log(start))
    for i in np.flatnonzero(rows):
        told[i]["half_acceleration"] = float(sizes[i])
        ends = min(np.exp(low[i]), sizes[i]), max(np.exp(high[i]), sizes[i])
        spans[i]["half_acceleration"] = float(ends[0]), float(ends[1])
