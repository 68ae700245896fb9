"""Arrivals of elements in one stream: random processes, a metronome, and traces from files."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Literal, TypeAlias, get_args

import numpy as np
from numpy.typing import ArrayLike

from dse.model import Array
from dse.problems import InputError, Problem, nearest

ArrivalProcess: TypeAlias = Literal["poisson", "deterministic", "bursty"]
PROCESSES: tuple[str, ...] = get_args(ArrivalProcess)
CHUNK = 1 << 15
"""Elements generated at a time: the working set stays in the cache."""


def generate(
    process: str,
    rate: float,
    elements: int,
    seed: int,
    burst_length: float,
    peak_to_mean: float,
) -> Iterator[Array]:
    """Yield arrival times in chunks, ascending, for a rate in the inverse unit of the times.

    Parameters
    ----------
    process : {"poisson", "deterministic", "bursty"}
        Exponential gaps; equal gaps, from a random start; or gaps of an on–off source, with
        exponential gaps within a burst and an exponential silence after it.
    rate : float
        Mean rate.
    elements : int
        How many to yield in all.
    seed : int
        Of the generator; the same seed gives the same times.
    burst_length : float
        Mean elements of a burst (geometric), for ``"bursty"``.
    peak_to_mean : float
        Rate within a burst over the mean rate, for ``"bursty"``.
    """
    rng = np.random.default_rng(seed)
    start = rng.uniform() if process == "deterministic" else 0.0
    silence = burst_length * (1 - 1 / peak_to_mean)
    last = 0.0
    for first in range(0, elements, CHUNK):
        count = min(CHUNK, elements - first)
        if process == "deterministic":
            yield (np.arange(first, first + count, dtype=np.float64) + start) / rate
            continue
        gaps: Array = rng.standard_exponential(count)
        if process == "bursty":
            gaps /= peak_to_mean
            ends = np.flatnonzero(rng.random(count) < 1 / burst_length)
            gaps[ends] += silence * rng.standard_exponential(ends.size)
        gaps /= rate
        gaps[0] += last
        times = np.cumsum(gaps, out=gaps)
        last = float(times[-1])
        yield times


def read_trace(path: str | os.PathLike[str]) -> Array:
    """Read arrival times [s] of one stream: a number a line, ascending; ``#`` starts a comment.

    Raises
    ------
    InputError
        If lines are not numbers, are negative or go back in time; the first twenty at once.
    OSError
        If the file cannot be read.
    """
    times: list[float] = []
    problems: list[Problem] = []
    for number, line in enumerate(Path(path).read_text(encoding="utf-8").splitlines(), 1):
        text = line.partition("#")[0].strip()
        if not text:
            continue
        where = f"line {number}"
        try:
            time = float(text)
        except ValueError:
            problems.append(Problem(where, f"is {text!r}", "give one arrival time in seconds"))
            continue
        if not 0 <= time < np.inf:
            problems.append(Problem(where, f"is {text} s", "times are finite and 0 or more"))
        elif times and time < times[-1]:
            problems.append(
                Problem(where, f"is {text} s, before {times[-1]:g} s", "sort the arrivals by time")
            )
        else:
            times.append(time)
    if not times and not problems:
        problems.append(Problem("", "has no arrivals", "give one arrival time in seconds a line"))
    if problems:
        raise InputError(os.fspath(path), problems[:20])
    return np.array(times)


def arrival_problems(
    arrival_rate: float | None,
    arrivals: str | ArrayLike,
    elements: int,
    seed: int,
    fewest: int,
) -> list[Problem]:
    """Return what is wrong with a request for at least `fewest` arrivals; all at once."""
    problems: list[Problem] = []
    if isinstance(arrivals, str):
        if arrivals not in PROCESSES:
            remedy = f"{nearest(arrivals, PROCESSES)}; or give arrival times [s]"
            problems.append(Problem("arrivals", f"is {arrivals!r}", remedy))
        if not arrival_rate:
            remedy = "a process needs a number above 0 element/s"
            problems.append(Problem("arrival_rate", f"is {arrival_rate}", remedy))
        if int(elements) != elements or elements < fewest:
            remedy = f"give a whole number of at least {fewest}"
            problems.append(Problem("elements", f"is {elements}", remedy))
        if int(seed) != seed or seed < 0:
            problems.append(Problem("seed", f"is {seed}", "give a whole number of 0 or more"))
        return problems
    times = np.asarray(arrivals)
    if arrival_rate is not None:
        remedy = "times have their own rate: give None"
        problems.append(Problem("arrival_rate", f"is {arrival_rate}", remedy))
    if times.ndim != 1 or times.size < fewest:
        remedy = f"give a vector of at least {fewest}; departure_clocks takes fewer"
        problems.append(Problem("arrivals", f"has shape {times.shape}", remedy))
    elif not (times[0] >= 0 and np.isfinite(times[-1]) and np.all(times[1:] >= times[:-1])):
        remedy = "give finite times of 0 s or more in ascending order"
        problems.append(Problem("arrivals", "has times that are not numbers or go back", remedy))
    return problems
