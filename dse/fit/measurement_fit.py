"""The fit of a series: values, intervals, errors, and notes for the reader."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from dse.fit.analysis import Analysis, Covariance, Interval, analyse, estimate_covariance
from dse.fit.diagnostics import (
    Errors,
    describe_fit,
    describe_mismatch,
    leave_one_out,
    note_kinks,
    note_outliers,
    note_poor_fit,
)
from dse.fit.known_values import coordinates, fitted_with
from dse.fit.law import Points
from dse.fit.selection import Shape, weights
from dse.fit.series import Series
from dse.fit.values import show_value
from dse.model.values import as_data, listed, show
from dse.problems import InputError, Problem

_ABOVE = 1.1  # a fixed cost may be that much above the shortest time, by noise


@dataclass(frozen=True)
class Fit:
    """The fit of a series.

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
    given : mapping of str to float
        Known values.
    shape : Shape
    """

    series: Series
    points: Points
    analysis: Analysis
    parameters: Mapping[str, float]
    intervals: Mapping[str, Interval]
    errors: Errors
    ratio: float
    notes: list[str]
    given: Mapping[str, float]
    shape: Shape

    @cached_property
    def covariance(self) -> Covariance:
        """How the values vary together; it takes many fits."""
        parts = self.points, self.analysis, self.parameters, self.given, self.shape
        return estimate_covariance(*parts)

    @property
    def left_out(self) -> dict[str, float]:
        """Median and worst relative error of points that the fit has not seen."""
        sizes = np.abs(self.errors.left_out)
        return {"median": float(np.median(sizes)), "worst": float(sizes.max())}

    def record(self) -> dict[str, Any]:
        """Return the fit as data for JSON."""
        record = {
            "parameters": self.parameters,
            "intervals": self.intervals,
            "break_even": self.analysis.break_even,
            "break_even_interval": self.analysis.break_even_interval,
            "leave_one_out": self.left_out,
            "notes": self.notes,
            "covariance": {
                "of": list(self.covariance.names),
                "matrix": self.covariance.matrix.tolist(),
            },
        }
        return dict(as_data(record))


def fit(series: Series, given: Mapping[str, float] | None = None) -> Fit:
    """Fit a series.

    Parameters
    ----------
    series : Series
    given : mapping of str to float, optional
        Known values, in seconds and bytes: see `dse.fit.known_values.UNITS`.

    Raises
    ------
    InputError
        If the times do not follow the sizes, or a given value does not fit the columns.
    """
    given = given or {}
    points, ratio = _points(series)
    device = points.accelerated
    shape = Shape(bool((~device).any()), bool(device.any()), ratio > 0.0, coordinates(given))
    _check_given(series, shape, given)
    analysis = analyse(points, shape, ratio)
    _check_mismatch(series, points, shape, given, analysis, ratio)
    weight = weights(points, analysis.scale, analysis.kept)
    errors = leave_one_out(points, weight, analysis.law, analysis.fit)
    values, spans, notes = _split_sum(series, analysis, given)
    notes = [
        *note_poor_fit(points, errors, fitted_with(given)),
        *describe_fit(series, points, analysis, shape, given),
        *notes,
        *note_outliers(points, analysis.scale, errors.inside),
        *note_kinks(points, errors.inside),
    ]
    return Fit(series, points, analysis, values, spans, errors, ratio, notes, given, shape)


def _points(series: Series) -> tuple[Points, float]:
    """Return a series as points, and the median of bytes returned for each byte sent.

    The median is 0 if as many bytes are returned per byte at every size: nothing then separates
    their time from that of the bytes sent.
    """
    returned = np.where(np.isfinite(series.returned), series.returned, 0.0)
    on_host, on_device = np.isfinite(series.host), np.isfinite(series.accelerated)
    size, out, time = (
        np.concatenate([column[on_host], other[on_device]])
        for column, other in (
            (series.size, series.size),
            (returned, returned),
            (series.host, series.accelerated),
        )
    )
    ratio = out / size
    varied = bool((out > 0.0).any()) and bool(np.ptp(ratio) >= 1e-3 * ratio.max())
    which = np.repeat([False, True], [on_host.sum(), on_device.sum()])
    return Points(size, out, time, which), float(np.median(returned / series.size)) * varied


def _check_given(series: Series, shape: Shape, given: Mapping[str, float]) -> None:
    """Raise InputError if given values do not fit the columns, or each other."""
    needs: set[str] = set()
    if not shape.accelerated:
        needs |= {"overhead", "latency", "latency_per_byte", "acceleration"} & given.keys()
    if not shape.host:
        both = {"latency_per_byte", "acceleration"}
        needs |= ({"computational_index", "host_fixed_time"} | both) & given.keys()
    problems = []
    if {"latency_per_byte", "acceleration"} <= given.keys():
        problems.append(Problem("--given", "latency_per_byte and acceleration are both given"))
    elif needs:
        missing = "host_s" if shape.accelerated else "accelerated_s"
        message = f"{min(needs)} has no effect without {missing}, which is not measured"
        problems.append(Problem("--given", message))
    elif shape.host:
        fixed, shortest = given.get("host_fixed_time", 0.0), float(np.nanmin(series.host))
        if fixed > _ABOVE * shortest:
            message = f"host_fixed_time is given as {show(fixed, 's')}, which no call can be below"
            seen = f"the shortest measured call on the host takes {show(shortest, 's')} in all"
            problems.append(Problem("--given", message, seen))
    if problems:
        raise InputError(series.name, problems)


def _check_mismatch(
    series: Series,
    points: Points,
    shape: Shape,
    given: Mapping[str, float],
    found: Analysis,
    ratio: float,
) -> None:
    """Raise InputError if times do not follow the sizes; name the given value that is to blame."""
    message, remedy = describe_mismatch(series, found)
    if not message:
        return
    problem = Problem("", message, remedy)
    names = fitted_with(given)
    for without in [[name] for name in names] + [names] * (len(names) > 1):
        rest = {name: value for name, value in given.items() if name not in without}
        plain = analyse(points, replace(shape, given=coordinates(rest)), ratio)
        if not describe_mismatch(series, plain)[0]:
            problem = _blame({name: given[name] for name in without}, message, plain)
            break
    raise InputError(series.name, [problem])


def _blame(given: Mapping[str, float], message: str, plain: Analysis) -> Problem:
    """Return the problem as one of given values, without which the times follow the sizes."""

    def span(name: str) -> str:
        beta = plain.parameters.get("complexity", 1.0)
        low, high = (show_value(name, end, beta) for end in plain.intervals[name])
        return f"{show_value(name, plain.parameters[name], beta)} ({low} to {high})"

    exponent = given.get("complexity", 1.0)
    values = listed([f"{n} is given as {show_value(n, v, exponent)}" for n, v in given.items()])
    them = "them" if len(given) > 1 else "it"
    fits = [f"{name} = {span(name)}" for name in given if name in plain.parameters]
    more = f", and give {listed(fits)}" if fits else ""
    return Problem("--given", f"{values}: with {them} {message}", f"without {them} they do{more}")


def _split_sum(
    series: Series, analysis: Analysis, given: Mapping[str, float]
) -> tuple[dict[str, float], dict[str, Interval], list[str]]:
    """Return the values with o + L split by a given one of them, and notes on the rest."""
    values, spans = dict(analysis.parameters), dict(analysis.intervals)
    known = next((name for name in ("overhead", "latency") if name in given), None)
    if known is None or "overhead_and_latency" not in values:
        return values, spans, []
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
    notes = []
    if total < value:
        notes.append(f"the given {known} is more than the times have: {total:.4g} s in all")
    return values, spans, notes
