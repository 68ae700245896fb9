"""How far to trust a fit: errors of sizes left out, outliers, kinks, and notes in sentences."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

import numpy as np
from scipy import stats

from dse.fit.analysis import Analysis
from dse.fit.law import (
    FIXED,
    GAIN,
    PER_BYTE,
    PER_BYTE_OUT,
    SETUP,
    Law,
    Mask,
    Points,
    times,
)
from dse.fit.least_squares import minimize
from dse.fit.selection import Shape
from dse.fit.series import Series
from dse.model.quantity import Array
from dse.model.values import listed, number, show

OUTLIER = 4.0
"""Standard deviations from which a point is called an outlier."""
_POOR = 0.2  # median relative error of sizes left out, from which a fit is unreliable
_KINK_SIZES = 6  # in which a kink can be told from noise
_KINK_CHANCE = 0.001  # of a kink in times that have none
_KINK_EFFECT = 0.02  # relative: a smaller kink is not worth a note
_SLIGHT = 0.05  # of the shortest accelerated time: a smaller fixed cost is nearly none
_FEW = 3  # degrees of freedom
_SLOWEST = 0.1  # speedup of the work itself: slower accelerators are hardly built
_NOISE, _LOOSE, _RANK = 0.8, 0.25, 0.5
_FLAT = 1.1  # growth of times over all sizes, below which there is none


class Errors(NamedTuple):
    """Relative errors T/t − 1 of a law at the points of a table.

    Attributes
    ----------
    inside : ndarray, shape (points,)
        Of the law that all points are in.
    left_out : ndarray, shape (points,)
        Of the law that the point's size is not in.
    """

    inside: Array
    left_out: Array


def leave_one_out(points: Points, weight: Array, law: Law, fit: Array) -> Errors:
    """Return the errors of a law; each size is left out in turn, in both columns."""

    def relative(law: Array) -> Array:
        found = times(law, points.size, points.returned, points.accelerated)[0]
        return np.asarray(found / points.time - 1.0)

    left_out = np.empty(len(points.size))
    for size in np.unique(points.size):
        here = points.size == size
        other = minimize(points, np.where(here, 0.0, weight), fit, np.array(law.free))[0]
        left_out[here] = relative(other)[here]
    return Errors(relative(fit), left_out)


def _columns(points: Points) -> tuple[tuple[str, Mask], ...]:
    columns = ("host", ~points.accelerated), ("accelerated", points.accelerated)
    return tuple((word, column) for word, column in columns if column.any())


def note_poor_fit(points: Points, errors: Errors, given: Sequence[str]) -> Iterator[str]:
    """Yield that a law misses the times that it has not seen, if it does."""
    doubt = f"is {listed(given)} as given, " if given else ""
    for word, column in _columns(points):
        if (off := float(np.median(np.abs(errors.left_out[column])))) > _POOR:
            yield (
                f"left out of the fit, the {word} times are {off:.0%} off in the median: the "
                f"values are unreliable. Check: {doubt}is it one series (--by), and one kind of "
                "call?"
            )


def note_outliers(points: Points, scale: Array, inside: Array) -> Iterator[str]:
    """Yield a sentence on points that are far from the law, against the noise."""
    for word, column in _columns(points):
        noise = max(float(scale[int(word == "accelerated")]), 1e-6)
        far = np.flatnonzero(column & (np.abs(inside) > OUTLIER * noise))
        if far.size:
            shown = [
                f"{show(points.size[k], 'B')} ({-inside[k] / (1 + inside[k]):+.0%})"
                for k in far[:3]
            ]
            more = f" and {far.size - 3} more" if far.size > 3 else ""
            plural = "s" if far.size > 1 else ""
            yield f"{word}: outlier{plural} at {listed(shown)}{more}, which count little"


def note_kinks(points: Points, inside: Array) -> Iterator[str]:
    """Yield a sentence on each column in which a step or a bend is beyond noise.

    The errors are compared with a step and a change of slope at each size. The best is noted if its
    F-test, times the sizes tried, is below 0.001.
    """
    for word, column in _columns(points):
        sizes = np.unique(points.size[column])
        if len(sizes) < _KINK_SIZES:
            continue
        x = np.log(points.size[column])
        y = -np.log1p(inside[column])
        chance, effect, size = min((*_kink(x, y, np.log(size)), size) for size in sizes[2:-1])
        if chance * (len(sizes) - 3) < _KINK_CHANCE and effect > _KINK_EFFECT:
            before = sizes[np.searchsorted(sizes, size) - 1]
            yield (
                f"{word}: a kink between {show(before, 'B')} and {show(size, 'B')}, "
                f"{effect:.0%} of the time: a cache, a threshold, a second code path, "
                "or several requests in flight? Fit the sizes on each side separately"
            )


def _kink(x: Array, y: Array, place: float) -> tuple[float, float]:
    """Return the chance of a step and bend at a place by noise, and how much it explains."""
    smooth = np.column_stack([np.ones_like(x), x])
    after = x >= place - 1e-9
    bent = np.column_stack([smooth, after, np.where(after, x - place, 0.0)])
    fits = [m @ np.linalg.lstsq(m, y, rcond=None)[0] for m in (smooth, bent)]
    plain, better = (float(((y - fit) ** 2).sum()) for fit in fits)
    freedom = len(x) - 4
    if freedom < 1 or better >= plain:
        return 1.0, 0.0
    ratio = (plain - better) / 2 / max(better / freedom, 1e-24)
    return float(stats.f.sf(ratio, 2, freedom)), float(np.ptp(fits[1]))


def measured_crossings(series: Series) -> list[float]:
    """Return the sizes at which the measured times cross: straight lines between neighbours.

    Repeats count by their median.
    """
    common = np.unique(series.size[np.isfinite(series.host) & np.isfinite(series.accelerated)])
    host, accelerated = (
        np.array([np.nanmedian(column[series.size == size]) for size in common])
        for column in (series.host, series.accelerated)
    )
    ahead = accelerated - host
    found = []
    for i in np.flatnonzero(np.sign(ahead[1:]) != np.sign(ahead[:-1])):
        share = ahead[i] / (ahead[i] - ahead[i + 1])
        found.append(float(common[i] + share * (common[i + 1] - common[i])))
    return found


def describe_mismatch(series: Series, found: Analysis) -> tuple[str, str]:
    """Return how times do not follow the sizes, and a remedy; empty texts if they do."""
    sizes = np.array([series.size.min(), series.size.max()])
    which = np.full(2, not np.isfinite(series.host).any())
    ends = times(found.fit, sizes, np.zeros(2), which)[0]
    if ends[1] < _FLAT * ends[0]:
        message = "the times hardly grow with the sizes: there is no work per byte to fit"
        return message, "measure larger calls"
    for accelerated, word in enumerate(("host", "accelerated")):
        size, time = series.column(bool(accelerated))
        if not size.size:
            continue
        noise = float(found.scale[accelerated])
        rank = float(stats.spearmanr(size, time).statistic)
        if noise > _NOISE or (noise > _LOOSE and not rank > _RANK):
            message = f"the {word} times do not follow the sizes: the fit is {noise:.0%} off"
            return message, "check that it is one series, that rows are whole, and column names"
    return "", ""


def describe_fit(
    series: Series, points: Points, found: Analysis, shape: Shape, given: Mapping[str, float]
) -> Iterator[str]:
    """Yield the sentences on a fit, the most important first."""
    if shape.both:
        yield _crossing(series, found)
    yield _selection(found, shape)
    yield from _sums(found, shape, given)
    if (count := len(points.size)) - found.law.terms <= _FEW:
        yield f"few points: {count} times for {found.law.terms} values; intervals are wide"
    if shape.accelerated:
        shortest = float(points.time[points.accelerated].min())
        if float(np.exp(found.fit[SETUP])) < _SLIGHT * shortest:
            yield (
                "an accelerated call has nearly no fixed cost: are calls batched, or several in "
                "flight? Then these are not times of one call"
            )
    if shape.returned and shape.both:
        yield "break-even is for calls that return the median of the table's bytes per byte sent"


def _crossing(series: Series, found: Analysis) -> str:
    sizes = series.size[np.isfinite(series.host) & np.isfinite(series.accelerated)]
    if found.always:
        if np.isfinite(found.end):
            return f"offloading pays up to {show(found.end, 'B')}"
        return "offloading pays at every size"
    if found.break_even is None:
        limit = min(found.parameters.get(n, np.inf) for n in ("acceleration", "speedup_limit"))
        if limit >= _SLOWEST:
            return "offloading pays at no size"
        return (
            "offloading pays at no size: large calls take at least "
            f"{number(1 / limit)} times as long as on the host. "
            "Is the unit in the name of a column wrong?"
        )
    where = ""
    if sizes.size and not sizes.min() <= found.break_even <= sizes.max():
        where = ", outside the measured sizes: an extrapolation"
    end = f" up to {show(found.end, 'B')}" if np.isfinite(found.end) else ""
    return f"offloading pays from {show(found.break_even, 'B')}{end}{where}"


def formula(law: Law, shape: Shape) -> str:
    """Return the law in symbols.

    >>> from dse.fit.law import Law
    >>> law = Law((True, True, False, True, False, False, True), (0.0, 0.0, 1.0, 0, -1e999, 0, 0))
    >>> formula(law, Shape(True, True, False, {}))
    'T0 = h + C g, T1 = c + s g'
    """
    there = [free or np.isfinite(v) for free, v in zip(law.free, law.values, strict=True)]
    power = "g" if law.linear else "g^β"
    parts = []
    if shape.host:
        parts.append("T0 = " + ("h + " if there[FIXED] else "") + f"C {power}")
    if shape.accelerated:
        terms = ["c"] if there[SETUP] else []
        if there[PER_BYTE]:
            terms.append("l g")
        if there[PER_BYTE_OUT] and shape.returned:
            terms.append("m q")
        if not shape.both or (law.linear and not there[PER_BYTE]):
            terms.append(f"s {power}")
        elif there[GAIN]:
            terms.append(f"C {power} / A")
        parts.append("T1 = " + " + ".join(terms))
    return ", ".join(parts)


def _selection(found: Analysis, shape: Shape) -> str:
    own = found.scores[found.law]
    others = {
        law: score for law, score in found.scores.items() if law != found.law and np.isfinite(score)
    }
    text = f"law: {formula(found.law, shape)}"
    if not others or not np.isfinite(own):
        return f"{text}, the simplest: the points are too few to compare others"
    next_best = min(others, key=lambda law: others[law])
    return (
        f"{text}, by evidence: AICc {own:.1f}; the best other, "
        f"{formula(next_best, shape)}, has {others[next_best]:.1f} (fewer terms win within 2)"
    )


def _sums(found: Analysis, shape: Shape, given: Mapping[str, float]) -> Iterator[str]:
    """Yield the values that the times give as a sum only, and measurements that would split it."""
    values = found.parameters
    if "overhead_and_latency" in values and not {"overhead", "latency"} & given.keys():
        yield (
            f"o + L is {show(values['overhead_and_latency'], 's')}: the times of whole calls do "
            "not separate o from L. Time how long the host is busy with a call, and give it: "
            '--given overhead="… s"'
        )
    if "speedup_limit" in values:
        yield (
            f"l + C/A is {number(values['accelerated_time_per_byte'] * 1e9)} ns/B: with β = 1 the "
            f"two are one slope. A is at least {number(found.intervals['speedup_limit'][0])}, and "
            "l at most that slope. A kernel of another β on the same engine, a copy without "
            'computing, or --given latency_per_byte="… s/B" or acceleration=… splits it'
        )
    if not shape.host:
        yield "C and A need the time on the host: s is C/A, and l with it if β = 1"
    free = found.law.free
    if not found.law.linear and free[PER_BYTE]:
        low, _ = found.intervals.get("latency_per_byte", (1.0, 1.0))
        if low == 0.0:
            yield "l and C/A are hardly separable: g and g**β are alike at these sizes"
