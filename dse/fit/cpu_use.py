"""The time that the host is busy with a call, bounded by the CPU's use.

The host is busy for o + w g of the T1(g) seconds of a call. One CPU use u of a whole run is one
equation for the two: if each size ran for the same time, u is the mean of (o + w g)/T1(g). With
0 ≤ o ≤ c and 0 ≤ w ≤ the slope of T1, that bounds both. One CPU use per size separates them: the
busy times u T1 follow a straight line. A driver that polls is busy for as long as it waits.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from dse.fit.intervals import Analysis, Interval, analyse
from dse.fit.law import EXPONENT, SETUP, Points, Shape, times
from dse.fit.series import FEWEST, Series, measured_times
from dse.model.quantity import Array
from dse.model.values import show

_POLLS = 0.9  # CPU use from which a driver hardly sleeps
_WHOLE = 0.005  # half of a percent: the rounding of CPU uses that are whole percents


def bound_busy_time(series: Series, found: Analysis) -> tuple[Mapping[str, Interval], str]:
    """Return bounds of the busy time's parts by name, and a sentence on them; empty without any."""
    known = np.isfinite(series.accelerated) & np.isfinite(series.cpu)
    if not known.any():
        return {}, ""
    size, time, use = series.size[known], series.accelerated[known], series.cpu[known]
    if np.median(use) >= _POLLS:
        return {}, (
            f"CPU use is {np.median(use):.0%} of an accelerated call, as if the driver polls: it "
            "does not bound o"
        )
    if len(np.unique(use)) > 1 and len(np.unique(size)) >= FEWEST:
        busy = Points(size, 0.0 * size, use * time, np.ones(len(size), dtype=bool))
        spans = analyse(busy, Shape(False, True, False, {EXPONENT: 1.0})).intervals
        bounds = {
            "overhead": spans["overhead_and_latency"],
            "busy_per_byte": spans["accelerated_time_per_byte"],
        }
        condition = "a busy time that is a straight line over the size"
    else:
        bounds = _bounds_of_a_run(size, time, use, found)
        condition = (
            "equal time at each size, and o and the busy time per byte within their parts of the "
            "accelerated time"
        )
    if not bounds:
        return {}, "the CPU use is more than the accelerated times allow: it does not bound o"
    low, high = (show(end, "s") for end in bounds["overhead"])
    return bounds, f"o is between {low} and {high} by CPU use. Assumptions: no polling, {condition}"


def _bounds_of_a_run(
    size: np.ndarray, time: np.ndarray, use: np.ndarray, found: Analysis
) -> dict[str, Interval]:
    """Return the bounds by one CPU use of all sizes; none if they contradict each other."""
    distinct = np.unique(size)
    middle = np.array([np.median(time[size == one]) for one in distinct])
    calls, data = float(np.mean(1.0 / middle)), float(np.mean(distinct / middle))
    fixed = float(np.exp(found.fit[SETUP]))
    which = np.ones(len(distinct), dtype=bool)
    slope = float(np.min((times(found.fit, distinct, 0.0 * distinct, which)[0] - fixed) / distinct))
    slack = _WHOLE * bool(np.allclose(100.0 * use, np.round(100.0 * use)))
    least, most = float(use.min()) - slack, float(use.max()) + slack
    overhead = max((least - slope * data) / calls, 0.0), min(most / calls, fixed)
    per_byte = max((least - fixed * calls) / data, 0.0), min(most / data, slope)
    if overhead[0] > overhead[1] or per_byte[0] > per_byte[1]:
        return {}
    return {"overhead": overhead, "busy_per_byte": per_byte}


def bound_busy(
    series: Series, bounds: Mapping[str, Interval], size: Array, accelerated: Array
) -> tuple[Array, Array] | None:
    """Return the bounds of the time [s] that the host is busy with calls of some sizes.

    A driver that polls is busy for the whole call, or for the part that the CPU use gives. With one
    CPU use per run, the lower bound of o belongs to the upper bound of w.

    Parameters
    ----------
    size, accelerated : ndarray, shape (sizes,)
        Bytes of a call, and its seconds with the accelerator.

    Returns
    -------
    (ndarray, ndarray) or None, shape (sizes,)
        None if the CPU use is unknown or bounds nothing.
    """
    use = series.cpu[np.isfinite(series.accelerated) & np.isfinite(series.cpu)]
    if not use.size:
        return None
    if np.median(use) >= _POLLS:
        return float(np.median(use)) * accelerated, accelerated
    if not bounds:
        return None
    (low, high), (slow, fast) = bounds["overhead"], bounds["busy_per_byte"]
    ends = (low + fast * size, high + slow * size)
    if len(np.unique(use)) > 1:  # one use for each size: o and w are known by themselves
        ends = (low + slow * size, high + fast * size)
    return np.minimum(np.minimum(*ends), accelerated), np.minimum(np.maximum(*ends), accelerated)


def bound_freed_time(series: Series, bounds: Mapping[str, Interval]) -> dict[float, Interval]:
    """Return the bounds of the host time [s] that a call frees, by its size [B]."""
    size, host, accelerated = measured_times(series)
    busy = bound_busy(series, bounds, size, accelerated) if size.size else None
    if busy is None:
        return {}
    ends = zip((host - busy[1]).tolist(), (host - busy[0]).tolist(), strict=True)
    return dict(zip(size.tolist(), ends, strict=True))
