"""The fit of a series: values, intervals, errors, and what a reader should know of them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from dse.fit.analysis import Analysis, Interval, analyse
from dse.fit.checks import Errors, errors, kinks, wild
from dse.fit.choose import Shape, weights
from dse.fit.follows import check_follows, check_given
from dse.fit.given import coordinates, fixed_by
from dse.fit.law import EXPONENT, PER_BYTE, Points
from dse.fit.remarks import remarks
from dse.fit.series import Series
from dse.fit.together import Together, together
from dse.model.values import as_data, listed, show
from dse.problems import InputError, Problem

_MISSED = 0.2  # median relative error of points left out: what fits so is hardly a law


@dataclass(frozen=True)
class Fit:
    """What a series says.

    Parameters
    ----------
    series : Series
    points : Points
        Its times, those of the host first.
    analysis : Analysis
    parameters : mapping of str to float
        Seconds and bytes, by name.
    intervals : mapping of str to (float, float)
        95 %, of each parameter.
    errors : Errors
    ratio : float
        Bytes returned for each byte sent.
    notes : list of str
    together : Together
        How the values vary together.
    """

    series: Series
    points: Points
    analysis: Analysis
    parameters: Mapping[str, float]
    intervals: Mapping[str, Interval]
    errors: Errors
    ratio: float
    notes: list[str]
    together: Together

    @property
    def left_out(self) -> dict[str, float]:
        """Median and worst relative error of points that the fit has not seen."""
        sizes = np.abs(self.errors.left_out)
        return {"median": float(np.median(sizes)), "worst": float(sizes.max())}

    def record(self) -> dict[str, Any]:
        """Return the fit as data for JSON."""
        found = self.analysis
        record = {
            "parameters": self.parameters,
            "intervals": self.intervals,
            "break_even": found.break_even,
            "break_even_interval": found.break_even_interval,
            "leave_one_out": self.left_out,
            "notes": self.notes,
            "covariance": {
                "of": list(self.together.names),
                "matrix": self.together.covariance.tolist(),
            },
        }
        return dict(as_data(record))


def fit(series: Series, given: Mapping[str, float] | None = None) -> Fit:
    """Fit a series.

    Parameters
    ----------
    series : Series
    given : mapping of str to float, optional
        Known values, in seconds and bytes: see `dse.fit.given.UNITS`.

    Raises
    ------
    InputError
        If the times do not follow the sizes, or a given value does not fit the columns.
    """
    given = given or {}
    points, ratio = _points(series)
    on_device = points.accelerated[0]
    varied = bool((points.returned[0] > 0.0).any()) and not _proportional(points)
    shape = Shape(bool((~on_device).any()), bool(on_device.any()), varied, coordinates(given))
    check_given(series, shape, given)

    def analysed(shape: Shape) -> Analysis:
        return analyse(points, shape, np.array([ratio if varied else 0.0]))[0]

    analysis = analysed(shape)
    check_follows(series, shape, given, analysis, analysed)
    scale = analysis.scale
    weight = weights(points, scale[None], analysis.kept[None])
    seen = errors(points, weight, analysis.law, analysis.at)
    values, spans, split = _split(series, analysis, given)
    notes = [
        *_missed(points, seen, fixed_by(given)),
        *remarks(series, points, analysis, shape, given),
        *split,
        *wild(points, scale, seen.inside),
        *kinks(points, seen.inside),
    ]
    held = together(points, weight, analysis, values, given, shape)
    ratio = ratio if varied else 0.0
    return Fit(series, points, analysis, values, spans, seen, ratio, notes, held)


def _missed(points: Points, seen: Errors, given: Sequence[str]) -> Iterator[str]:
    """Yield that a law misses the times that it has not seen, if it does."""
    sizes, device = np.abs(seen.left_out), points.accelerated[0]
    doubt = f"is {listed(given)} as given, " if given else ""
    for word, which in (("host", ~device), ("accelerated", device)):
        if which.any() and (off := float(np.median(sizes[which]))) > _MISSED:
            yield (
                f"left out of the fit, the {word} times are {off:.0%} off in the median, so what "
                f"follows is hardly to be trusted: {doubt}is it one series (--by), and one kind "
                "of call?"
            )


def _points(series: Series) -> tuple[Points, float]:
    """Return a series as points, and the usual bytes returned for each byte sent."""
    returned = np.where(np.isfinite(series.returned), series.returned, 0.0)
    on_host, on_device = np.isfinite(series.host), np.isfinite(series.accelerated)
    parts = [
        np.concatenate([column[on_host], other[on_device]])
        for column, other in (
            (series.size, series.size),
            (returned, returned),
            (series.host, series.accelerated),
        )
    ]
    which = np.repeat([False, True], [on_host.sum(), on_device.sum()])
    size, out, time = (part[None, :] for part in parts)
    return Points(size, out, time, which[None, :]), float(np.median(returned / series.size))


def _proportional(points: Points) -> bool:
    """Tell whether as many bytes are returned for each byte sent at every size."""
    ratio = points.returned[0] / points.size[0]
    return bool(np.ptp(ratio) < 1e-3 * ratio.max())


def _split(
    series: Series, analysis: Analysis, given: Mapping[str, float]
) -> tuple[dict[str, float], dict[str, Interval], Iterator[str]]:
    """Return the values with o + L split by a given one of them, and what does not add up."""
    values, spans = dict(analysis.parameters), dict(analysis.intervals)
    notes = []
    known = next((name for name in ("overhead", "latency") if name in given), None)
    if known is not None and "overhead_and_latency" in values:
        other = "latency" if known == "overhead" else "overhead"
        total, (low, high) = values.pop("overhead_and_latency"), spans.pop("overhead_and_latency")
        value = given[known]
        if value > high:
            message = (
                f"{known} is given as {show(value, 's')}, but a call has {show(total, 's')} for "
                f"overhead and latency together ({show(low, 's')} to {show(high, 's')})"
            )
            raise InputError(series.name, [Problem("--given", message)])
        values |= {known: value, other: max(total - value, 0.0)}
        spans |= {known: (value, value), other: (max(low - value, 0.0), max(high - value, 0.0))}
        if total < value:
            notes.append(f"the given {known} is more than the times have: {total:.4g} s in all")
    linear = not analysis.law.free[EXPONENT] and analysis.law.values[EXPONENT] == 1.0
    if not linear and PER_BYTE in (i for i, free in enumerate(analysis.law.free) if free):
        low, _ = spans.get("latency_per_byte", (1.0, 1.0))
        if low == 0.0:
            notes.append("l and C/A are hardly told apart: g and g**β are alike at these sizes")
    return values, spans, iter(notes)
