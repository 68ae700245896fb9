"""The exact mean latency of the slotted schedule under Poisson arrivals.

A stream owns R slots a round of P clocks: C clocks apart in its turn, and H = P − R·C clocks more
while it is swapped out. A slot takes the head of the queue, if there is one that has arrived by
then. The queue lengths that the slots see are a Markov chain with the period of the round. Its
generating function has R − 1 unknowns, which the zeros of z^R = exp(a(z − 1)) in the unit disc fix,
where a = λP are the arrivals of a round. In the mean queue over the clocks of a round, which gives
the latency by Little's law, all cancels but one sum over these zeros (docs/sharing.md has the
steps). With ρ = a/R, ω_k = exp(2πik/R), δ = ρH/P and y_k = ω_k·exp(δ(z_k − 1)), the mean latency in
clocks is::

    P/(2R(1 − ρ)) + H²/(RP) · Σ_{k=1}^{R−1} ω_k·g_k / ((1 − y_k)(1 − ω_k)) + C
    g_k = (exp(δ(z_k − 1)) − 1)/δ

The first term is the wait for slots spread evenly over the round, the second what their bunching
adds, the third the pipeline. Nothing cancels, at any load.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Any, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dse.model import Array, Floats, Quantity, model, moves
from dse.problems import Problem
from objectives.sharing.quantities import Pipeline, SchedulePeriod, Traffic, problems_in, refuse
from objectives.sharing.schedule import schedule, utilization

Complex: TypeAlias = NDArray[np.complexfloating[Any, Any]]
_PAIRS = 1 << 13
"""Roots taken at a time: their dozen complex temporaries stay in the cache."""
_ROUNDING = float(np.finfo(np.float64).eps)


@dataclass(frozen=True, eq=False)
class ExactLatency:
    """The outputs of :func:`exact_latency`."""

    latency: Annotated[
        Array,
        Quantity("s", "exact mean latency, from arrival to the end of the pipeline", "W", low=0),
    ]
    latency_error: Annotated[
        Array, Quantity("s", "estimate of the rounding error of the exact mean latency", low=0)
    ]


@model
@moves(latency="+arrival_rate +clock_period")
def exact_latency(
    pipeline: Pipeline, schedule_period: SchedulePeriod, traffic: Traffic
) -> ExactLatency:
    """Mean latency of an element under the hierarchical round-robin schedule, exactly.

    Assumes Poisson arrivals, independent of the schedule, and room for every element that waits.
    The schedule is that of Hall & Chamberlain 2014; the formula is this module's own.

    More arrivals are those of before and others among them, which delay the next ones and hasten
    none; an element meets the queue at a random time of the round. So latency rises with the
    arrival rate, and with the clock period, which slows the clocks and brings more arrivals to
    each. With the schedule period and the pipeline depth it may do either.

    Returns
    -------
    ExactLatency
        Arrays of the broadcast shape of the inputs: inf if the arrival rate reaches the service
        rate, NaN if ``streams < pipeline_depth``.
    """
    length, away = schedule(*pipeline, schedule_period)
    load = utilization(length, schedule_period, *traffic)
    wait, error = mean_wait(length, away, schedule_period, load)
    clocks = wait + pipeline.pipeline_depth
    error = error + _ROUNDING * clocks
    return ExactLatency(clocks * traffic.clock_period, error * traffic.clock_period)


def mean_wait(
    length: Floats, away: Floats, schedule_period: Floats, load: Floats
) -> tuple[Array, Array]:
    """Return the exact mean wait for a slot and the estimate of its rounding error, in clocks.

    Parameters
    ----------
    length, away, schedule_period : array_like
        As :func:`objectives.sharing.schedule.schedule` gives them.
    load : array_like
        Utilization; inf is returned from 1 on.
    """
    columns = np.broadcast_arrays(length, away, schedule_period, load)
    shape = columns[0].shape
    length, away, period, load = (np.ravel(c).astype(np.float64) for c in columns)
    stable = (load < 1) & (period >= 1)
    free = np.where(stable, 1 - load, np.nan)
    even = length / (2 * period * free)
    wait, error = even, 4 * _ROUNDING * even / free
    some = np.flatnonzero(stable & (away > 0) & (period > 1))
    if some.size:
        total, spread = _bunching(period[some], load[some], away[some] / length[some])
        scale = away[some] ** 2 / (period[some] * length[some])
        wait[some] += scale * total
        error[some] += scale * (spread + 4 * _ROUNDING * total / free[some])
    for clocks in (wait, error):
        clocks[load >= 1] = np.inf
    return wait.reshape(shape)[()], error.reshape(shape)[()]


def _bunching(period: Array, load: Array, share: Array) -> tuple[Array, Array]:
    """Sum over the zeros for each design, in blocks of whole designs."""
    pairs = period.astype(np.int64) // 2  # zeros come in conjugate pairs, k and R − k
    total, error = np.empty_like(load), np.empty_like(load)
    ends = np.cumsum(pairs)
    first = 0
    while first < pairs.size:
        before = ends[first] - pairs[first]
        last = max(first + 1, int(np.searchsorted(ends, before + _PAIRS, side="right")))
        block = slice(first, last)
        starts = ends[block] - pairs[block] - before
        repeats = pairs[block]
        k = np.arange(1, ends[last - 1] - before + 1) - np.repeat(starts, repeats)
        of_pair = (np.repeat(c[block], repeats) for c in (period, load, share))
        terms, errors = _terms(k, *of_pair)
        total[block] = np.add.reduceat(terms, starts)
        error[block] = np.add.reduceat(errors, starts)
        first = last
    return total, error


def _terms(k: NDArray[np.int64], period: Array, load: Array, share: Array) -> tuple[Array, Array]:
    """Return each pair's share of the sum, and of its error from the residual of the zero."""
    angle = 2 * np.pi * k / period
    zeta = log_zero(angle, load)  # ln z
    moved = complex_expm1(zeta)  # z − 1
    slope = 1 - load * (1 + moved)
    residual = zeta - load * moved - 1j * angle
    delta = np.maximum(load * share, 1e-200)  # a rate of 0 is the limit
    omega_less_1 = complex_expm1(1j * angle)
    omega = 1 + omega_less_1
    growth = complex_expm1(delta * moved) / delta
    one_less_y = -(omega_less_1 + omega * delta * growth)
    weight = np.where(2 * k == period, 1.0, 2.0)
    terms = weight * (omega * growth / (-omega_less_1 * one_less_y)).real
    size = np.abs(residual) + _ROUNDING * (np.abs(zeta) + angle)
    square = one_less_y.real**2 + one_less_y.imag**2
    # d(term)/dz = y/(1 − y)²; |y| and |z| are at most 1
    return terms, weight * size / (np.abs(slope) * square) + 4 * _ROUNDING * np.abs(terms)


def log_zero(angle: Array, load: Array) -> Complex:
    """Return ln z of the zero in the disc: ln z − ρ(z − 1) = iθ, by three steps of Halley.

    It is Lambert's W₀ in another dress, but exact near the branch point, where the argument of W
    rounds away what matters. The start is the root of the quadratic expansion about z = 1; three
    steps of third order end below rounding for all loads in [0, 1) and angles in (0, π].
    """
    free = 1 - load
    zeta = 2j * angle / (free + np.sqrt(free * free - 2j * load * angle))
    for _ in range(3):
        moved = complex_expm1(zeta)
        curve = load * (1 + moved)
        slope = 1 - curve
        step = (zeta - load * moved - 1j * angle) / slope
        zeta -= step / (1 + 0.5 * step * curve / slope)
    return zeta


def complex_expm1(z: Complex) -> Complex:
    """Return exp(z) − 1 by real functions, which are several times faster than the complex one."""
    result = np.empty_like(z)
    grown, half = np.expm1(z.real), 0.5 * z.imag
    sine = np.sin(half)
    scaled = 2 * sine * (1 + grown)
    result.real = grown - sine * scaled
    result.imag = np.cos(half) * scaled
    return result


class StreamLatencies(NamedTuple):
    """The result of :func:`latency_by_stream`."""

    latency: Array
    """Mean latency of each stream [s]; inf for a stream that saturates."""
    mean: float
    """Mean over the elements of all streams [s]: weighted by the rates."""


def latency_by_stream(
    pipeline_depth: int,
    context_switch: int,
    schedule_period: int,
    arrival_rates: ArrayLike,
    clock_period: float,
) -> StreamLatencies:
    """Exact mean latencies of streams with rates of their own.

    The schedule is fixed and skips nobody, so a stream's latency depends on its own rate alone.

    Parameters
    ----------
    pipeline_depth, context_switch, schedule_period : int
    clock_period : float
        As in :func:`exact_latency`.
    arrival_rates : array_like of shape (streams,)
        Elements a second of each stream.

    Raises
    ------
    InputError
        If an input is outside its domain, with all such at once.

    >>> rates = [6e6, 6e6, 2e6, 2e6, 2e6, 2e6, 2e6, 2e6]
    >>> latency_by_stream(4, 4, 5, rates, 10e-9).latency[:3] * 1e9
    array([213.15, 213.15, 164.45])
    """
    rates = np.atleast_1d(np.asarray(arrival_rates, dtype=np.float64))
    problems = problems_in(
        {
            "streams": rates.size,
            "pipeline_depth": pipeline_depth,
            "context_switch": context_switch,
            "schedule_period": schedule_period,
            "clock_period": clock_period,
        }
    )
    if rates.ndim != 1:
        remedy = "give one rate for each stream"
        problems.append(Problem("arrival_rates", f"has shape {rates.shape}", remedy))
    for stream in np.flatnonzero(~(rates.ravel() >= 0)):
        where = f"arrival_rates[{stream}]"
        problems.append(Problem(where, f"is {rates.ravel()[stream]:g}", "give 0 or more 1/s"))
    refuse("latency_by_stream", problems)
    latency = exact_latency(
        rates.size, pipeline_depth, context_switch, schedule_period, rates, clock_period
    ).latency
    served = rates > 0  # a stream without elements has no share, whatever its latency
    if not served.any():
        return StreamLatencies(latency, float(latency[0]))
    return StreamLatencies(latency, float(np.average(latency[served], weights=rates[served])))
