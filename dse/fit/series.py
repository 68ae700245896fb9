"""Measured times of one series, and what is plainly wrong with them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from dse.model.quantity import Array
from dse.model.values import show
from dse.problems import Problem

FEWEST = 4
"""Sizes that a column of times must have."""
_DROP, _JUMP = 20.0, 100.0  # between neighbouring sizes: no law of a host or device does that
_STEEPEST = 3.0
_SLOW = 1e-8  # seconds a byte: a rate given as a time is slower than that at the largest size


@dataclass(frozen=True)
class Series:
    """What was measured of one kernel on one machine.

    Parameters
    ----------
    name : str
        What the table calls it.
    size : ndarray, shape (points,)
        Bytes of a call.
    host, accelerated : ndarray, shape (points,)
        Seconds of a call; NaN where it was not measured.
    returned : ndarray, shape (points,)
        Bytes that a call returns; NaN if the table does not have them.
    """

    name: str
    size: Array
    host: Array
    accelerated: Array
    returned: Array

    def column(self, accelerated: bool) -> tuple[Array, Array]:
        """Return sizes and times of a column, where it was measured."""
        times = self.accelerated if accelerated else self.host
        known = np.isfinite(times)
        return self.size[known], times[known]


def faults(series: Series, names: tuple[str, str]) -> Iterator[Problem]:
    """Yield what is wrong with a series before anything is fitted.

    Parameters
    ----------
    names : (str, str)
        The columns of the host's and of the accelerated time, for messages.
    """
    for accelerated, name in enumerate(names):
        size, time = series.column(bool(accelerated))
        if not time.size:
            continue
        sizes = np.unique(size)
        middle = np.array([np.median(time[size == s]) for s in sizes])
        if len(sizes) < FEWEST:
            found = f"{len(sizes)} size{'s' if len(sizes) > 1 else ''}"
            message = f"{name} has {found}: at least {FEWEST} are wanted"
            yield Problem(series.name, message, "measure more sizes, or leave the column empty")
        elif (problem := _torn(sizes, middle, name)) or (problem := _rate(sizes, middle, name)):
            yield Problem(series.name, *problem)


def _torn(sizes: Array, times: Array, name: str) -> tuple[str, str] | None:
    """Return what is wrong if times jump between neighbouring sizes as no law does."""
    with np.errstate(over="ignore"):  # of 1e300 s after 1 s, infinity is what is meant
        grown = times[1:] / times[:-1]
        most = _JUMP * (sizes[1:] / sizes[:-1]) ** _STEEPEST
    for i in np.flatnonzero((grown < 1.0 / _DROP) | (grown > most)):
        before, after = (show(t, "s") for t in times[i : i + 2])
        at, to = (show(s, "B") for s in sizes[i : i + 2])
        message = f"{name} goes from {before} at {at} to {after} at {to}"
        return message, "are units mixed in the column? Give all times of a column in its unit"
    return None


def _rate(sizes: Array, times: Array, name: str) -> tuple[str, str] | None:
    """Return what is wrong if times look like a throughput: they level off, or fall, with size."""
    half = len(sizes) // 2
    lower, upper = (
        np.polyfit(np.log(sizes[part]), np.log(times[part]), 1)[0]
        for part in (slice(0, half + 1), slice(-half - 1, None))
    )
    falls = times[-1] < 0.7 * times[0] and upper < 0.0
    rises = bool((np.diff(times[: half + 1]) > 0.0).all()) and times[half] > 1.1 * times[0]
    levels = rises and lower > 2.0 * upper + 0.02 and times[-1] / sizes[-1] > _SLOW
    levels &= upper < 0.1
    wide = sizes[-1] >= 8.0 * sizes[0]
    if not (wide and (falls or levels)):
        return None
    word = "falls" if falls else "levels off"
    return (
        f"{name} {word} as calls grow: that is a throughput, not the time of a call",
        "give seconds of a call: its bytes over the throughput",
    )
