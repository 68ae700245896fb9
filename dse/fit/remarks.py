"""What a fit says in sentences: which law, what cannot be told apart, and where offloading pays."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import numpy as np

from dse.fit.analysis import Analysis
from dse.fit.choose import Shape
from dse.fit.law import EXPONENT, FIXED, GAIN, PER_BYTE, PER_BYTE_OUT, SETUP, Law, Points
from dse.fit.series import Series
from dse.model.values import number, show

_SLIGHT = 0.05  # of the least accelerated time: a fixed cost below that is hardly one
_FEW = 3  # degrees of freedom
_SLOWEST = 0.1  # speedup of the work itself: an accelerator slower than that is hardly built


def remarks(
    series: Series, points: Points, analysis: Analysis, shape: Shape, given: Mapping[str, float]
) -> Iterator[str]:
    """Yield the sentences on a fit, the most important first.

    Parameters
    ----------
    series : Series
    points : Points
    analysis : Analysis
    shape : Shape
    given : mapping of str to float
        What is known beside the table.
    """
    if shape.both:
        yield _crossing(series, analysis)
    yield _law(analysis, shape)
    yield from _sums(analysis, shape, given)
    yield from _freedom(points, analysis)
    if shape.accelerated:
        yield from _overlapped(points, analysis)
    if shape.returned and shape.both:
        yield "break-even is that of calls that return as much for each byte as the table's median"


def _crossing(series: Series, analysis: Analysis) -> str:
    sizes = series.size[np.isfinite(series.host) & np.isfinite(series.accelerated)]
    if analysis.always:
        word = "offloading pays at every size"
        if np.isfinite(analysis.end):
            return f"offloading pays up to {show(analysis.end, 'B')}"
        return word
    if analysis.break_even is None:
        limit = min(analysis.parameters.get(n, np.inf) for n in ("acceleration", "speedup_limit"))
        if limit >= _SLOWEST:
            return "offloading pays at no size"
        return (
            "offloading pays at no size: large calls take at least "
            f"{number(1 / limit)} times as long as on the host. "
            "Is the unit in the name of a column wrong?"
        )
    at = analysis.break_even
    where = ""
    if sizes.size and not sizes.min() <= at <= sizes.max():
        where = ", outside the measured sizes: an extrapolation"
    end = f" up to {show(analysis.end, 'B')}" if np.isfinite(analysis.end) else ""
    return f"offloading pays from {show(at, 'B')}{end}{where}"


def formula(law: Law, shape: Shape) -> str:
    """Return the law in symbols.

    >>> from dse.fit.law import Law
    >>> law = Law((True, True, False, True, False, False, True), (0.0, 0.0, 1.0, 0, -1e999, 0, 0))
    >>> formula(law, Shape(True, True, False, {}))
    'T0 = h + C g, T1 = c + s g'
    """
    there = [free or np.isfinite(v) for free, v in zip(law.free, law.values, strict=True)]
    curved = law.free[EXPONENT] or law.values[EXPONENT] != 1.0
    power = "g^β" if curved else "g"
    parts = []
    if shape.host:
        parts.append("T0 = " + ("h + " if there[FIXED] else "") + f"C {power}")
    if shape.accelerated:
        terms = ["c"] if there[SETUP] else []
        one_slope = shape.both and not there[PER_BYTE] and not curved
        if there[PER_BYTE]:
            terms.append("l g")
        if there[PER_BYTE_OUT] and shape.returned:
            terms.append("m q")
        if one_slope or not shape.both:
            terms.append(f"s {power}")
        elif there[GAIN]:
            terms.append(f"C {power} / A")
        parts.append("T1 = " + " + ".join(terms))
    return ", ".join(parts)


def _law(analysis: Analysis, shape: Shape) -> str:
    own = analysis.scores[analysis.law]
    others = {law: s for law, s in analysis.scores.items() if law != analysis.law}
    others = {law: s for law, s in others.items() if np.isfinite(s)}
    text = f"law: {formula(analysis.law, shape)}"
    if not others or not np.isfinite(own):
        return f"{text}, the simplest: the points are too few to compare others"
    next_best = min(others, key=lambda law: others[law])
    return (
        f"{text}, by evidence: AICc {own:.1f}; the best other, "
        f"{formula(next_best, shape)}, has {others[next_best]:.1f} (fewer terms win within 2)"
    )


def _sums(analysis: Analysis, shape: Shape, given: Mapping[str, float]) -> Iterator[str]:
    """Yield what the times give as a sum alone, and what would split it."""
    values, spans = analysis.parameters, analysis.intervals
    if "overhead_and_latency" in values and not {"overhead", "latency"} & given.keys():
        yield (
            f"o + L is {show(values['overhead_and_latency'], 's')}: the times of whole calls do "
            "not tell o from L. Time how long the host is busy with a call, and give it: --given "
            'overhead="… s"'
        )
    if "speedup_limit" in values:
        low = spans["speedup_limit"][0]
        yield (
            f"l + C/A is {number(values['accelerated_time_per_byte'] * 1e9)} ns/B: with β = 1 the "
            "two are one slope. A is at least "
            f"{number(low)}, and l at most that slope. A kernel of another β on the same engine, "
            'a copy without computing, or --given latency_per_byte="… s/B" or acceleration=… '
            "splits it"
        )
    if not shape.host:
        yield "C and A need the time on the host: s is C/A, and l with it if β = 1"


def _freedom(points: Points, analysis: Analysis) -> Iterator[str]:
    count = points.size.shape[1]
    if count - analysis.law.terms <= _FEW:
        yield f"few points: {count} times for {analysis.law.terms} values; intervals are wide"


def _overlapped(points: Points, analysis: Analysis) -> Iterator[str]:
    device = points.accelerated[0]
    least = float(points.time[0, device].min())
    fixed = float(np.exp(analysis.at[SETUP]))
    if fixed < _SLIGHT * least:
        yield (
            "an accelerated call has hardly a fixed cost: are calls batched, or several in flight? "
            "Then these are not times of one call"
        )
