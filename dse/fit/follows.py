"""Whether times follow the sizes; if not, whether a given value is to blame."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace

import numpy as np
from scipy import stats

from dse.fit.analysis import Analysis
from dse.fit.choose import Shape
from dse.fit.given import coordinates, fixed_by
from dse.fit.law import times
from dse.fit.series import Series
from dse.fit.shown import told_value
from dse.model.values import listed, show
from dse.problems import InputError, Problem

_NOISE, _LOOSE, _RANK = 0.8, 0.25, 0.5
_FLAT = 1.1  # growth of times over all sizes, below which there is none
_ABOVE = 1.1  # a fixed cost may be that much above the least time, by noise


def check_given(series: Series, shape: Shape, given: Mapping[str, float]) -> None:
    """Raise InputError if given values do not fit the columns, or each other."""
    missing = "" if shape.both else "host_s" if shape.accelerated else "accelerated_s"
    needs = {"latency_per_byte", "acceleration"} & given.keys() if missing else set()
    if not shape.accelerated:
        needs |= {"overhead", "latency"} & given.keys()
    if not shape.host:
        needs |= {"computational_index", "host_fixed_time"} & given.keys()
    if {"latency_per_byte", "acceleration"} <= given.keys():
        problem = Problem("--given", "latency_per_byte and acceleration are both given")
        raise InputError(series.name, [problem])
    if needs:
        message = f"{sorted(needs)[0]} says nothing without {missing}, which is not measured"
        raise InputError(series.name, [Problem("--given", message)])
    fixed = given.get("host_fixed_time", 0.0)
    if shape.host and fixed > _ABOVE * (least := float(np.nanmin(series.host))):
        message = f"host_fixed_time is given as {show(fixed, 's')}, which no call can be below"
        seen = f"the shortest measured call on the host takes {show(least, 's')} in all"
        raise InputError(series.name, [Problem("--given", message, seen)])


def check_follows(
    series: Series,
    shape: Shape,
    given: Mapping[str, float],
    found: Analysis,
    again: Callable[[Shape], Analysis],
) -> None:
    """Raise InputError if times have little to do with the sizes.

    Parameters
    ----------
    series : Series
    shape : Shape
    given : mapping of str to float
    found : Analysis
        The fit with the given values.
    again : callable
        Fits the series in another shape: without a given value, to see whether that is to blame.
    """
    message, remedy = _unfollowed(series, found)
    if not message:
        return
    problem = Problem("", message, remedy)
    names = fixed_by(given)
    for without in [[name] for name in names] + [names] * (len(names) > 1):
        rest = {name: value for name, value in given.items() if name not in without}
        plain = again(replace(shape, given=coordinates(rest)))
        if not _unfollowed(series, plain)[0]:
            problem = _blamed({name: given[name] for name in without}, message, plain)
            break
    raise InputError(series.name, [problem])


def _blamed(given: Mapping[str, float], message: str, plain: Analysis) -> Problem:
    """Return the problem as one of given values, without which the times follow the sizes."""
    values = listed(
        [
            f"{name} is given as {told_value(name, v, given.get('complexity', 1.0))}"
            for name, v in given.items()
        ]
    )
    them = "them" if len(given) > 1 else "it"
    alone = [f"{name} = {_spanned(name, plain)}" for name in given if name in plain.parameters]
    told = f", and give {listed(alone)}" if alone else ""
    return Problem("--given", f"{values}: with {them} {message}", f"without {them} they do{told}")


def _spanned(name: str, found: Analysis) -> str:
    beta = found.parameters.get("complexity", 1.0)
    low, high = (told_value(name, end, beta) for end in found.intervals[name])
    return f"{told_value(name, found.parameters[name], beta)} ({low} to {high})"


def _unfollowed(series: Series, found: Analysis) -> tuple[str, str]:
    """Return how times do not follow the sizes and what to look at; empty texts if they do."""
    sizes = np.array([[series.size.min(), series.size.max()]])
    which = np.full(sizes.shape, not np.isfinite(series.host).any())
    ends = times(found.at[None], sizes, np.zeros_like(sizes), which)[0][0]
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
            return (
                message,
                "is it one series, are the rows whole, and the columns what they are named?",
            )
    return "", ""
