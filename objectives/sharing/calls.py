"""Calls of several elements: their time with the schedule, without other calls and under load.

A call brings m elements to a lane at once, and is done when the last of them leaves the pipeline.
It takes m slots of its stream in a row. A stream has R slots in a round of P clocks: C clocks
apart, with H = P − R·C more clocks between the rounds. The schedule comes from Hall & Chamberlain
2014; the formulas are this module's own.

Under Poisson calls, count slots in time and let n be the slot of the next element to arrive. A call
that finds n has its last element in slot n + m − 1. All but the remainder of that number by R
therefore follows from the mean queue, and the remainder from E[ω^n] at the R-th roots of unity.
Between slots an arrival multiplies ω^n by ω^m, and at a slot n rises by one if the queue is empty.
Over a round both effects balance (if ω^m is 1 too, the limit F_0(ω) replaces it)::

    E[ω^n] = (1 − ω)·B(ω)/(ΛP(ω^m − 1))        B(y) = (R − a)·Π (y − y_k)/(1 − y_k)

With W_e the mean wait of an element (:func:`objectives.sharing.slot_latency.slot_wait`), and ρ,
ω_k, v_k, y_k and g_k as there, the mean wait of a call for the slot of its last element is, in
clocks::

    (m − 1/2)·P/R + ρ·W_e − H²/(RP) · Σ_{j=1}^{R−1} ω_j^m · γ_j/(1 − y_j) · Π_{k≠j} (1 + x_jk)
    γ_j = (1 − ρ)·g_j/(ω_j^m − 1), or 1 if ω_j^m is 1
    x_jk = (ω_j − 1)(y_k − ω_k)/((ω_j − ω_k)(1 − y_k))
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Annotated, NamedTuple

import numpy as np

from dse.model import Array, Quantity, Requirement, lower_bound, model, monotonic, requires
from objectives.power_law import broadcast_alike
from objectives.quantities import (
    CallRate,
    ClockPeriod,
    PipelineDepth,
    Streams,
)
from objectives.queues import ROUNDING, Complex, complex_expm1, find_zeros, turn_angle
from objectives.sharing.schedule import (
    LONGEST_PERIOD,
    LaneElements,
    Pipeline,
    SchedulePeriod,
    find_distinct,
    make_schedule,
)
from objectives.sharing.slot_latency import slot_wait

_FACTORS = 1 << 13
"""Factors taken at a time: their few complex temporaries stay in the cache."""


ENGINE_INTERVAL = Quantity(
    "s", "time from call to call of a stream that always has one waiting", low=0
)
ENGINE_TIME_ALONE = Quantity(
    "s", "mean time at the engine of a call that finds no other one", low=0
)


@dataclass(frozen=True, eq=False)
class CallService:
    """The outputs of :func:`call_service`."""

    engine_interval: Annotated[Array, ENGINE_INTERVAL]
    engine_time_alone: Annotated[Array, ENGINE_TIME_ALONE]
    engine_time_worst: Annotated[
        Array,
        Quantity("s", "longest time at the engine of a call that finds no earlier one", low=0),
    ]


@dataclass(frozen=True, eq=False)
class CallLatency:
    """The outputs of :func:`call_latency`."""

    engine_utilization: Annotated[
        Array, Quantity("1", "calls of a stream per call that the engine can carry", "ρ", low=0)
    ]
    engine_wait_time: Annotated[
        Array,
        Quantity(
            "s", "mean time until the slot of a call's last element", low=0, part_of="engine_time"
        ),
    ]
    engine_pipeline_time: Annotated[
        Array,
        Quantity("s", "time of an element in the pipeline", "W_s", low=0, part_of="engine_time"),
    ]
    engine_time: Annotated[
        Array,
        Quantity(
            "s",
            "exact mean time of a call at the engine, until its last element leaves the pipeline",
            low=0,
            better="lower",
            label="service time at the engine",
        ),
    ]
    engine_time_error: Annotated[
        Array, Quantity("s", "estimate of the rounding error of the mean time of a call", low=0)
    ]
    element_latency: Annotated[
        Array,
        Quantity("s", "exact mean latency of an element that arrives in a call", "W", low=0),
    ]


class _SlotsBound(NamedTuple):
    engine_interval: Annotated[Array, Quantity("s", "never a shorter interval", low=0)]
    engine_time_alone: Annotated[Array, Quantity("s", "never a shorter time", low=0)]
    engine_time: Annotated[Array, Quantity("s", "never a shorter time", low=0)]


@monotonic(
    engine_interval="+streams =pipeline_depth +clock_period +lane_elements",
    engine_time_alone="+streams +pipeline_depth +clock_period +lane_elements",
    engine_time="+streams +pipeline_depth +clock_period +lane_elements",
)
@model
def _equal_slots(
    streams: Streams,
    pipeline_depth: PipelineDepth,
    clock_period: ClockPeriod,
    lane_elements: LaneElements,
) -> _SlotsBound:
    """Return lower bounds that hold for every schedule, and are monotonic where the times jump.

    ⌈N/C⌉ groups take C slots a turn, so a slot comes every ``P/R ≥ ⌈N/C⌉·C ≥ N`` clocks in the
    mean. The interval is at least m·N clocks. The time of a call is at least N/2 + m·C: half a mean
    gap between slots, m − 1 slots, the pipeline. Earlier calls hasten none.
    """
    interval = np.multiply(lane_elements, streams) * clock_period
    clocks = np.divide(streams, 2.0) + np.multiply(lane_elements, pipeline_depth)
    time = clocks * clock_period
    return _SlotsBound(*broadcast_alike((interval, time, time)))


@lower_bound(engine_interval=_equal_slots, engine_time_alone=_equal_slots)
@model
@monotonic(
    engine_interval="+streams +context_switch -schedule_period +clock_period +lane_elements",
    engine_time_alone="+streams +context_switch +clock_period +lane_elements",
    engine_time_worst="+streams +context_switch +clock_period +lane_elements",
)
def call_service(
    pipeline: Pipeline,
    schedule_period: SchedulePeriod,
    clock_period: ClockPeriod,
    lane_elements: LaneElements,
) -> CallService:
    """Return what the schedule gives a stream whose calls do not wait for earlier ones.

    P/R and the time away change as for :func:`objectives.sharing.schedule.printed_latency`. A later
    slot comes later in every phase of the round: times rise with `lane_elements`. With the gap
    ``g = C + H`` at constant R and C, the service time does too: it is k·P, C and
    ``((R − 1)C² + g²)/2P + b((R − 2)C² + 2Cg)/P`` for ``m − 1 = kR + b``, and P² times the
    derivative of the latter is ``(R − 1)Cg + g²/2 − (R − 1)C²/2 + bRC² > 0``, since g ≥ C.

    Times are NaN if ``streams < pipeline_depth``. `engine_interval` is of a stream with calls
    waiting. The others run from reaching the engine until the last element leaves the pipeline: the
    mean over the times of a round, and the least upper bound.

    Four slots of 4 clocks every 40: 5 elements take a round and a slot.

    >>> service = call_service(8, 4, 4, 4, 1.0, 5)
    >>> float(service.engine_interval), float(service.engine_time_worst)
    (50.0, 72.0)
    """
    depth = np.asarray(pipeline.pipeline_depth, dtype=np.float64)
    length, away = make_schedule(*pipeline, schedule_period)
    gap = depth + away  # from the last slot of a turn to the first of the next
    after = np.subtract(lane_elements, 1.0)
    rounds = np.floor(after / schedule_period)
    left = after - rounds * schedule_period
    first = ((np.subtract(schedule_period, 1.0)) * depth**2 + gap**2) / (2 * length)
    # of two gaps a fixed number of slots apart in the round, the product's mean over the round
    slot = (np.subtract(schedule_period, 2.0) * depth**2 + 2 * depth * gap) / length
    alone = first + left * slot + rounds * length + depth
    worst = gap + left * depth + rounds * length + depth
    interval = lane_elements * length / schedule_period
    return CallService(interval * clock_period, alone * clock_period, worst * clock_period)


@requires(
    Requirement(
        "engine_utilization < 1", "the engine's slots of a stream carry the calls it is offered"
    )
)
@lower_bound(engine_time=_equal_slots)
@model
@monotonic(
    engine_utilization="+streams +context_switch -schedule_period +call_rate +lane_elements"
    " +clock_period",
    engine_time="+streams +context_switch +call_rate +lane_elements +clock_period",
    element_latency="+streams +context_switch +call_rate +lane_elements +clock_period",
    engine_wait_time="+streams +context_switch +call_rate +lane_elements +clock_period",
)
def call_latency(
    pipeline: Pipeline,
    schedule_period: SchedulePeriod,
    call_rate: CallRate,
    lane_elements: LaneElements,
    clock_period: ClockPeriod,
) -> CallLatency:
    """Mean time of a call at the engine under Poisson calls, exactly.

    Assumes calls of one size, Poisson in each stream and independent of the schedule, and room for
    every element that waits. A design takes about R²/2 complex multiplications for R slots a round,
    whatever the size of its calls: tens of microseconds at 32, seconds at the longest period.

    As with single elements (:func:`objectives.sharing.slot_latency.exact_latency`), further calls
    delay the next ones and hasten none: times rise with the call rate and the clock period.
    Elements added to each call delay all that come later, and are later themselves than the others
    of their call. More streams, or longer switches, only lengthen the pause H. Time added to it
    brings arrivals: every slot then sees a queue as long as before or longer. And at no time is the
    queue longer, in distribution, than at the end of the pause: the change of the queue from slot
    to slot, T, keeps order, and if a queue X is at least T X, so are T X, and X with arrivals
    added. By Little's law the mean times rise, of elements, and of calls, m of which make one.

    Times are inf from a utilization of 1 on, and NaN if ``streams < pipeline_depth``. `engine_time`
    is a mean over calls, `element_latency` over elements: the same if `lane_elements` is 1.

    >>> one, five = (call_latency(8, 4, 4, 5, 6e6 / m, m, 10e-9) for m in (1, 5))
    >>> one.engine_time * 1e9, five.element_latency * 1e9, five.engine_time * 1e9
    (213.15, 606.04, 732.7)
    """
    length, away = make_schedule(*pipeline, schedule_period)
    load = np.multiply(call_rate, clock_period) * lane_elements * length / schedule_period
    columns = np.broadcast_arrays(length, away, schedule_period, load, lane_elements)
    table = np.array([np.ravel(column) for column in columns], dtype=np.float64)
    first, kind = find_distinct(table)  # a grid has few distinct schedules and loads
    distinct = np.take(table, first, axis=1)
    element, element_error = slot_wait(*distinct)
    waits = (element, *_call_wait(distinct, element, element_error))
    element, wait, error = (each[kind].reshape(columns[0].shape)[()] for each in waits)
    depth = np.where(np.isnan(load), np.nan, np.multiply(pipeline.pipeline_depth, 1.0))
    error = error + ROUNDING * (wait + depth)
    return CallLatency(
        engine_utilization=load,
        engine_wait_time=wait * clock_period,
        engine_pipeline_time=depth * clock_period,
        engine_time=(wait + depth) * clock_period,
        engine_time_error=error * clock_period,
        element_latency=(element + depth) * clock_period,
    )


def _call_wait(columns: Array, element: Array, element_error: Array) -> tuple[Array, Array]:
    """Return the exact mean wait for the slot of a call's last element and its error, in clocks.

    The columns are the inputs of :func:`~objectives.sharing.slot_latency.slot_wait`, the others its
    results.
    """
    length, away, period, load, batch = columns
    wait = (batch - 0.5) * length / period + load * element
    error = load * element_error + 4 * ROUNDING * wait
    inside = (period >= 2) & (period <= LONGEST_PERIOD)
    some = np.flatnonzero((load < 1) & (away > 0) & inside & (batch >= 1))
    if some.size:
        share = away[some] / (batch[some] * length[some])
        turned = np.mod(batch[some], period[some])
        total, spread = _remainder(period[some], load[some], share, turned)
        scale = away[some] ** 2 / (period[some] * length[some])
        wait[some] -= scale * total
        error[some] += scale * spread
    for clocks in (wait, error):
        clocks[load >= 1] = np.inf
    return wait, error


def _remainder(period: Array, load: Array, share: Array, turned: Array) -> tuple[Array, Array]:
    """Sum over the roots of unity for each design, in blocks of designs of one period."""
    total, error = np.empty_like(load), np.empty_like(load)
    order = np.argsort(period, kind="stable")
    periods, starts = np.unique(period[order], return_index=True)
    for slots, same in zip(periods, np.split(order, starts[1:]), strict=True):
        size = max(1, int(_FACTORS // (slots // 2)))
        for first in range(0, same.size, size):
            block = same[first : first + size]
            total[block], error[block] = _terms(
                int(slots), load[block], share[block], turned[block]
            )
    return total, error


def _terms(period: int, load: Array, share: Array, turned: Array) -> tuple[Array, Array]:
    """Return the sum of designs of one period, and an estimate of its error."""
    load, share, turned = load[:, None], share[:, None], turned[:, None]
    j = np.arange(1, period // 2 + 1)  # the rest are conjugates
    omega_less_1 = complex_expm1(2j * np.pi * j / period)
    angle = turn_angle(j * turned, period)
    moved, size = find_zeros(angle, load)  # v − 1
    delta = np.maximum(load * share, 1e-200)  # a rate of 0 is the limit
    growth = complex_expm1(delta * moved)  # y/ω − 1
    one_less_y = -(omega_less_1 + (1 + omega_less_1) * growth)
    power_less_1 = complex_expm1(1j * angle)
    whole = angle == 0  # v is 1 there
    gamma = (1 - load) * growth / (delta * np.where(whole, 1.0, power_less_1))
    gamma = np.where(whole, 1.0, gamma)
    product = _product(period, omega_less_1, growth / one_less_y)
    weight = np.where(2 * j == period, 1.0, 2.0)
    value = weight * (1 + power_less_1) * gamma / one_less_y * product
    # of each factor 1/|1 − y_k| + 1/|ω_j − y_k| times the error of y_k, of which |ω_j − y_k| is
    # taken as evenly spread as the roots of unity
    moves = delta * size
    near = np.abs(moves / one_less_y)
    factors = 2 * near.sum(axis=1) + period * np.log1p(period) * moves.max(axis=1)
    own = near + np.where(whole, 0.0, size / np.where(whole, 1.0, np.abs(moved)))
    relative = own + factors[:, None] + 4 * ROUNDING * (period + 1 / (1 - load))
    return value.real.sum(axis=1), (np.abs(value) * relative).sum(axis=1)


def _product(period: int, omega_less_1: Complex, growth: Complex) -> Complex:
    """Return Π_{k≠j} (1 + x_jk) over k = 1 … R − 1 for each j of the first half.

    `growth` has (y_k/ω_k − 1)/(1 − y_k) for the first half of k. As ω_j − ω_k is
    ω_k·(ω_{j−k} − 1), each x is a product of that and of (ω_j − 1)/(ω_{j−k} − 1). The order of
    the golden ratio spreads any first few k over the circle, which keeps the partial products
    within a few powers of ten.
    """
    half = omega_less_1.size
    mirrored = slice((period - 1) // 2 - 1, None, -1) if period > 2 else slice(0, 0)
    inverse = np.zeros(2 * period, dtype=np.complex128)
    inverse[1 : half + 1] = 1 / omega_less_1
    inverse[half + 1 : period] = inverse[1:period][mirrored].conj()
    inverse[period:] = inverse[:period]
    factors = np.concatenate([growth, growth[:, mirrored].conj()], axis=1)
    product = np.ones_like(growth)
    stride, k = _golden(period), 0
    for _ in range(period - 1):
        k = (k + stride) % period
        start = period + 1 - k  # of j − k at j = 1
        x = factors[:, k - 1, None] * (omega_less_1 * inverse[start : start + half])
        x += 1
        product *= x
    return product


def _golden(period: int) -> int:
    """Return the whole number next to 0.618 R that shares no factor with R."""
    stride = max(1, round(0.618 * period))
    while math.gcd(stride, period) > 1:
        stride += 1
    return stride
