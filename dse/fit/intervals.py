"""The values of a table: the law, intervals, crossings, and how the values vary together.

Intervals are by profile likelihood: a value is held, all else is fitted again, and the loss may
rise by the square of Student's t for 95 % and the degrees of freedom of its noise. That needs no
assumption on the distribution of the value. A value that the times do not determine has an open
interval (0 or inf). The noise is estimated once, from the widest law, for host and accelerated
times separately. A value that depends on both has the degrees of freedom of Welch and
Satterthwaite, (a + b)²/(a²/m + b²/n), if the two noises give it the variances a and b. Their ratio
is that of the parts of the loss that rise: the change of the fitted times with a value is that of
its own estimator.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, replace
from typing import TypeAlias

import numpy as np
from scipy import optimize, stats

from dse.fit.law import (
    COORDINATES,
    EXPONENT,
    EXPONENTS,
    FIXED,
    GAIN,
    HOST_OUT,
    INDEX,
    PER_BYTE,
    PER_BYTE_OUT,
    SETUP,
    Condition,
    Law,
    LawChoice,
    Mask,
    Points,
    Shape,
    choose_law,
    count_terms,
    crossings,
    evaluate_law,
    fit_law,
    make_grid,
    minimize,
    residuals,
    times,
    weights,
    widest,
)
from dse.model.quantity import Array

Interval: TypeAlias = tuple[float, float]
BREAK_EVEN, HALF, LINE = -1, -2, -3
"""Values next to the coordinates: log g1, log g_{A/2}, and log C/A."""
_STIFFNESSES = (2.0, 100.0)
"""Of a condition that laws are held to, in the weight of a point: a soft one leads to where a
stiff one on its own gets stuck, and the stiff one holds to a thousandth of the noise."""
_SMALL = 1e-4  # in logarithms: a step from which the width is extrapolated
_ABSENT = 1e-3
"""In standard deviations: a term with less effect on all times is absent. A fit leaves an absent
term with about 1e-6, and rounding decides which times change with it."""
_FAR = 30.0  # in logarithms: beyond any size that was measured
_NEAR = 5e-4  # of the distance from the value, at which an end is found
_GRID = 40  # sizes at which a crossing is tried that the best law does not have


@dataclass(frozen=True)
class Best:
    """A law at its best, whose values are held elsewhere.

    Parameters
    ----------
    freedom : (int, int)
        Degrees of freedom of the noise of host and of accelerated times.
    """

    points: Points
    weight: Array
    law: Array
    loss: float
    free: tuple[bool, ...]
    ratio: float
    freedom: tuple[int, int]

    def hold(self, place: int, value: float, start: Array) -> tuple[float, Array]:
        """Return the root of the rise of the loss if a value is held, and the law.

        `place`: a coordinate, or one of `BREAK_EVEN`, `HALF` and `LINE`. `value`: its logarithm, or
        the exponent.
        """
        free = np.array(self.free)
        law = start.copy()
        if place >= 0:
            free[place], law[place] = False, value
            law, loss = minimize(self.points, self.weight, law, free)
        else:
            for stiffness in _STIFFNESSES:
                condition = self._condition(place, value, stiffness * float(self.weight.max()))
                law, loss = minimize(self.points, self.weight, law, free, condition)
        return float(np.sqrt(max(loss - self.loss, 0.0))), law

    def _condition(self, place: int, goal: float, stiffness: float) -> Condition:
        def line(law: Array) -> tuple[float, Array]:
            slopes = np.zeros(COORDINATES)
            slopes[INDEX], slopes[GAIN] = stiffness, -stiffness
            return stiffness * (law[INDEX] - law[GAIN] - goal), slopes

        size = np.exp(np.array([goal, goal]))
        grid = make_grid(size, size * self.ratio, np.array([False, True]))

        def crossing(law: Array) -> tuple[float, Array]:
            total, slopes = evaluate_law(law, grid)
            value, slope = np.log(total[1] / total[0]), slopes[:, 1] - slopes[:, 0]
            if place == HALF:
                value += law[GAIN] - np.log(2.0)
                slope[GAIN] += 1.0
            return stiffness * value, stiffness * slope

        return line if place == LINE else crossing


def interval(best: Best, place: int, value: float) -> tuple[float, float]:
    """Return the ends of the 95 % interval of a value; −inf and inf for open ends.

    `place`: as in `Best.hold`. `value`: the value at its best: a logarithm, or the exponent itself.
    """
    limit = threshold(best, place, value)
    return _end(best, place, value, -1.0, limit), _end(best, place, value, 1.0, limit)


def possible_sizes(best: Best, place: int) -> tuple[float, float] | None:
    """Return the sizes that a crossing may have at 95 % if the best law has none; None for no size.

    They are from the sixteenth of the smallest measured size to 1,000 times the largest.
    """
    limit = float(stats.t.ppf(0.975, max(min(best.freedom), 1)))
    sizes = best.points.size
    grid = np.geomspace(sizes.min() / 16.0, sizes.max() * 1e3, _GRID)
    allowed = [g for g in grid.tolist() if best.hold(place, np.log(g), best.law)[0] < limit]
    return (allowed[0], allowed[-1]) if allowed else None


def threshold(best: Best, place: int, value: float) -> float:
    """Return how many standard deviations the loss may rise by within an interval."""
    host, device = (max(freedom, 1) for freedom in best.freedom)
    points = best.points
    slopes = residuals(points, best.law, best.weight)[1]
    if place >= 0 and np.linalg.norm(np.nan_to_num(slopes[place])) < _ABSENT:
        return float(stats.t.ppf(0.975, min(host, device)))
    moved = best.hold(place, value + _SMALL, best.law)[1]
    before, after = (
        times(law, points.size, points.returned, points.accelerated)[0] for law in (best.law, moved)
    )
    change = (best.weight * (after / before - 1.0)) ** 2
    on_host = float(change[~points.accelerated].sum() / change.sum())
    return float(stats.t.ppf(0.975, 1.0 / (on_host**2 / host + (1.0 - on_host) ** 2 / device)))


def _end(best: Best, place: int, value: float, side: float, limit: float) -> float:
    """Return one end: widen until the loss has risen too far, then narrow it down."""
    absent = _absent_term(place, side)
    if absent is not None and best.hold(place, absent, best.law)[0] < limit:
        return absent
    law, rises = best.law, {value: -limit}

    def rise(target: float) -> float:
        nonlocal law
        if target not in rises:
            # Of two valleys of the loss, the last law may be in the higher one.
            starts = (law,) if law is best.law else (law, best.law)
            risen, found = min(
                (best.hold(place, target, start) for start in starts), key=lambda held: held[0]
            )
            rises[target] = risen - limit
            if risen < limit:
                law = found  # the next law is near the last law that the times allow
        return rises[target]

    lowest, highest = EXPONENTS if place == EXPONENT else (value - _FAR, max(value, 0.0) + _FAR)
    last = lowest if side < 0 else highest
    # The root of the rise is nearly a straight line: a small step gives a first one.
    step = 1e-2
    if place != EXPONENT:
        small = rise(value + side * _SMALL) + limit
        step = 0.9 * float(np.clip(_SMALL * limit / max(small, 1e-12), 1e-10, 2.0))
    inner, outer = value, value
    while True:
        inner, outer = outer, float(np.clip(outer + side * step, lowest, highest))
        if rise(outer) >= 0.0:
            width = max(abs(outer - value), 1e-11)
            return float(optimize.brentq(rise, inner, outer, xtol=_NEAR * width))
        if outer == last:
            return last if place == EXPONENT else side * np.inf
        step *= 2.0


def _absent_term(place: int, side: float) -> float | None:
    """Return the open end that a value may have on a side: the term is not there."""
    if place == GAIN:
        return np.inf if side > 0 else None
    if place in (INDEX, EXPONENT) or place < 0:
        return None
    return -np.inf if side < 0 else None


# -------------------------------------------------------------------------------------- values

_SAMPLES = 160  # tables that a law and its noise make
_MIDDLE = (0.1587, 0.8413)  # of the fits: one standard deviation to either side
_OPEN, _WIDEST = 100.0, 3.0  # logarithms of an absent term, and the most deviation
_PLACES = {
    "host_fixed_time": FIXED,
    "host_time_per_byte_out": HOST_OUT,
    "computational_index": INDEX,
    "complexity": EXPONENT,
    "overhead_and_latency": SETUP,
    "overhead": SETUP,
    "latency": SETUP,
    "latency_per_byte": PER_BYTE,
    "latency_per_byte_out": PER_BYTE_OUT,
    "acceleration": GAIN,
    "speedup_limit": GAIN,
}


@dataclass(frozen=True)
class Analysis:
    """The result of fitting one table.

    Parameters
    ----------
    fit : ndarray, shape (8,)
        The coordinates of the law.
    parameters : mapping of str to float
        By name, in seconds and bytes.
    break_even : float or None
        The size from which offloading is beneficial; None if it always or never does.
    break_even_interval : (float, float) or None
        None if the times speak against any.
    always : bool
        Whether offloading is beneficial from a call of 1 B on.
    end : float
        The size up to which offloading is beneficial; inf if it has no end, NaN if it never does.
    scale : ndarray, shape (2,)
        Relative noise of host and accelerated times.
    kept : ndarray of bool, shape (points,)
        Which points count: all but those of another kind.
    scores : mapping of Law to float
        Evidence (AICc) of each law; the least is best.
    """

    law: Law
    fit: Array
    parameters: Mapping[str, float]
    intervals: Mapping[str, Interval]
    break_even: float | None
    break_even_interval: Interval | None
    always: bool
    end: float
    scale: Array
    kept: Mask
    scores: Mapping[Law, float]


def analyse(
    points: Points, shape: Shape, ratio: float = 0.0, choice: LawChoice | None = None
) -> Analysis:
    """Return all values of a table with their intervals.

    `ratio`: bytes returned for each byte sent, of break-even.
    """
    law, fit, scale, kept, scores = choice or choose_law(points, shape)
    weight = weights(points, scale, kept)
    best = _best(points, weight, widest(shape, law), shape, ratio)
    parameters, intervals = _values(fit, best, shape, widest(shape, law))
    size, span, always, end = None, None, False, np.nan
    if shape.both:
        size, span, always, end = _break_even(fit, best)
        _add_half(fit, best, parameters, intervals)
    return Analysis(law, fit, parameters, intervals, size, span, always, end, scale, kept, scores)


def _best(points: Points, weight: Array, law: Law, shape: Shape, ratio: float) -> Best:
    """Return a law at its best, from which intervals are taken."""
    fit, loss = fit_law(points, weight, law, shape)
    on_device = int(points.accelerated.sum())
    counts = len(points.size) - on_device, on_device
    host, device = (n - terms for n, terms in zip(counts, count_terms(law, shape), strict=True))
    if not shape.both:
        host = device = host if shape.host else device
    return Best(points, weight, fit, loss, law.free, ratio, (host, device))


def _values(
    fit: Array, best: Best, shape: Shape, wide: Law
) -> tuple[dict[str, float], dict[str, Interval]]:
    """Return the values of a table and their intervals, by name."""
    places: dict[str, int] = {}
    if shape.host:
        places |= {"host_fixed_time": FIXED, "computational_index": INDEX}
        places |= {"host_time_per_byte_out": HOST_OUT} if shape.host_returned else {}
    elif shape.accelerated:
        places["accelerated_time_per_byte"] = INDEX
    places["complexity"] = EXPONENT
    if shape.accelerated:
        places["overhead_and_latency"] = SETUP
        if shape.returned:
            places["latency_per_byte_out"] = PER_BYTE_OUT
    values, spans = {}, {}
    for name, place in places.items():
        span = interval(best, place, float(best.law[place])) if wide.free[place] else None
        values[name], spans[name] = _plain(place, fit[place], span)
    if shape.both and (wide.free[PER_BYTE] or PER_BYTE in shape.given):
        for name, place in (("latency_per_byte", PER_BYTE), ("acceleration", GAIN)):
            span = interval(best, place, float(best.law[place])) if wide.free[place] else None
            values[name], spans[name] = _plain(place, fit[place], span)
    elif shape.both:
        # Slopes mean something in a linear law only: their intervals are taken at β = 1.
        free = tuple(each and i != EXPONENT for i, each in enumerate(wide.free))
        line = _best(best.points, best.weight, Law(free, wide.values), shape, best.ratio)
        line = replace(line, freedom=best.freedom)  # the noise is still the noise of the widest law
        slope, here = float(line.law[INDEX] - line.law[GAIN]), fit[INDEX] - fit[GAIN]
        name = "accelerated_time_per_byte"
        values[name], spans[name] = _plain(LINE, here, interval(line, LINE, slope))
        span = interval(line, GAIN, float(line.law[GAIN]))
        values["speedup_limit"], spans["speedup_limit"] = _plain(GAIN, fit[GAIN], span)
    return values, spans


@np.errstate(over="ignore")
def _plain(place: int, value: float, span: Interval | None) -> tuple[float, Interval]:
    """Return a value and its interval, which has the value inside, out of logarithms."""
    low, high = (value, value) if span is None else (min(span[0], value), max(span[1], value))
    if place == EXPONENT:
        return float(value), (float(low), float(high))
    return float(np.exp(value)), (float(np.exp(low)), float(np.exp(high)))


def _break_even(fit: Array, best: Best) -> tuple[float | None, Interval | None, bool, float]:
    """Return break-even with its interval, if offloading always is beneficial, and its end."""
    low, end = crossings(fit, best.ratio)
    start = crossings(best.law, best.ratio)[0]
    always = low == 0.0
    if low > 0.0 and start > 0.0:
        return low, _plain(BREAK_EVEN, np.log(low), _span(best, BREAK_EVEN, start))[1], always, end
    sizes = possible_sizes(best, BREAK_EVEN)
    if low > 0.0:
        first, last = sizes or (0.0, np.inf)
        return low, (min(first, low), max(last, low)), always, end
    if sizes is None:
        return None, None, always, end
    return None, (0.0, sizes[1]) if always else (sizes[0], np.inf), always, end


def _span(best: Best, place: int, size: float) -> Interval:
    return interval(best, place, float(np.log(size)))


def _add_half(fit: Array, best: Best, values: dict[str, float], spans: dict[str, Interval]) -> None:
    """Add the size of half the acceleration to the values of a table that has one."""
    if not np.isfinite(fit[GAIN]):
        return
    size, start = (
        crossings(law, best.ratio, float(np.exp(min(law[GAIN], 60.0))) / 2.0)[0]
        for law in (fit, best.law)
    )
    if size > 0.0 and start > 0.0:
        values["half_acceleration"], spans["half_acceleration"] = _plain(
            HALF, np.log(size), _span(best, HALF, start)
        )


Function: TypeAlias = Callable[[Mapping[str, float]], dict[str, float]]
_STEP = 1e-4  # in logarithms, of a derivative


@dataclass(frozen=True)
class Covariance:
    """How values vary together, as the times leave them open.

    Parameters
    ----------
    matrix : ndarray, shape (values, values)
        Of their logarithms; of ``complexity`` itself.
    """

    names: tuple[str, ...]
    matrix: Array

    def transformed(self, values: Mapping[str, float], function: Function) -> Covariance:
        """Return how the results of a function of all values vary together, to first order."""
        here, columns = function(values), list[dict[str, float]]()
        for name in self.names:
            step = _STEP * (1.0 if name == "complexity" else values[name])
            low, high = (function({**values, name: values[name] + d}) for d in (-step, step))
            change = {n: (high[n] - low[n]) / (2.0 * _STEP) for n in low}
            columns.append(
                {n: d / (here[n] if d and n != "complexity" else 1.0) for n, d in change.items()}
            )
        names = [n for n in here if any(column[n] for column in columns)]
        slopes = np.array([[column[n] for column in columns] for n in names])
        return Covariance(tuple(names), slopes @ self.matrix @ slopes.T if names else np.eye(0))


def estimate_covariance(
    samples: Array,
    analysis: Analysis,
    parameters: Mapping[str, float],
    given: Collection[str],
    shape: Shape,
) -> Covariance:
    """Return how values vary together: fits of tables that the widest law and its noise make.

    The law is the one that intervals are taken from: terms that evidence left out vary as well.
    Fits are not linear in the noise, least of all near a term that is nearly absent: a curvature at
    the best would not do. The deviation is half of the width of the middle 68 % of the fits, and
    the correlation that of their normal scores: a term that is absent from some fits changes
    neither much.
    """
    wide = widest(shape, analysis.law)
    total = float(np.exp(analysis.fit[SETUP]))
    names: list[str] = []
    scales: list[float] = []
    for name, value in parameters.items():
        place = _PLACES.get(name)
        if place is None or name in given:
            continue
        if wide.free[place] and np.isfinite(analysis.fit[place]) and value > 0:
            names.append(name)
            # A term of a sum is the rest of it: its logarithm varies more than the sum's.
            scales.append(total / value if place == SETUP else 1.0)
    places = [_PLACES[name] for name in names]
    matrix = (
        _robust_covariance(samples[:, places]) * np.outer(scales, scales) if names else np.eye(0)
    )
    return Covariance(tuple(names), matrix)


def _robust_covariance(fits: Array) -> Array:
    inside = np.nan_to_num(fits, posinf=_OPEN, neginf=-_OPEN)
    low, high = np.quantile(inside, _MIDDLE, axis=0)
    deviation = np.minimum((high - low) / 2.0, _WIDEST)
    ranks = stats.rankdata(inside, axis=0)
    scores = stats.norm.ppf(ranks / (len(inside) + 1.0))
    size = np.sqrt((scores**2).sum(axis=0))
    correlation = scores.T @ scores / np.maximum(np.outer(size, size), 1e-300)
    np.fill_diagonal(correlation, 1.0)
    return np.asarray(correlation * np.outer(deviation, deviation))


def sample_fits(points: Points, analysis: Analysis, shape: Shape) -> Array:
    """Return samples (samples, 8) for a covariance: fits of tables that the widest law makes."""
    scale, wide = analysis.scale, widest(shape, analysis.law)
    weight = weights(points, scale, analysis.kept)
    fit = fit_law(points, weight, wide, shape)[0]
    exact = times(fit, points.size, points.returned, points.accelerated)[0]
    noise = np.where(points.accelerated, scale[1], scale[0])
    normal = np.random.default_rng(0).standard_normal((_SAMPLES, len(exact)))
    tables = (points._replace(time=exact * np.exp(noise * row)) for row in normal)
    return np.array([minimize(table, weight, fit, np.array(wide.free))[0] for table in tables])
