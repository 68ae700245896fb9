"""The line that bounds a call's time on a shared engine, in any phase of the schedule.

Network calculus calls an engine with such a line a latency-rate server (D. Stiliadis, A. Varma,
Latency-rate servers: a general model for analysis of traffic scheduling algorithms, IEEE/ACM
Transactions on Networking 6(5), 1998).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

import numpy as np

from dse.model import Array, Quantity, lower_bound, model, monotonic
from objectives.quantities import ClockPeriod, ElementBytes, Lanes, Passes
from objectives.sharing._floors import line
from objectives.sharing.quantities import Pipeline, SchedulePeriod
from objectives.sharing.schedule import schedule


@dataclass(frozen=True, eq=False)
class EngineLine:
    """What `engine_line` gives."""

    engine_time_per_byte: Annotated[
        Array, Quantity("s/B", "time of a stream's slots for each byte of a call", low=0)
    ]
    engine_rounding_time: Annotated[
        Array, Quantity("s", "time of the slots by which a call is rounded up, at most", low=0)
    ]
    engine_delay: Annotated[
        Array,
        Quantity("s", "further time at the engine, in the worst phase of the schedule", low=0),
    ]


@lower_bound(engine_time_per_byte=line, engine_rounding_time=line, engine_delay=line)
@model
@monotonic(
    engine_time_per_byte="+streams +context_switch -schedule_period +clock_period -lanes"
    " -element_bytes +passes",
    engine_rounding_time="+streams +context_switch -schedule_period +clock_period =lanes"
    " =element_bytes +passes",
    engine_delay="+streams +context_switch +clock_period =lanes =element_bytes",
)
def engine_line(
    pipeline: Pipeline,
    schedule_period: SchedulePeriod,
    clock_period: ClockPeriod,
    lanes: Lanes,
    element_bytes: ElementBytes,
    passes: Passes,
) -> EngineLine:
    """Return a line in the granularity that no call's time at the engine is above.

    A stream has R slots a round of P clocks, C clocks apart but for a pause of H = P − R·C more
    between rounds. A call takes ``m = passes · ceil(g / (element_bytes · lanes))`` of them. From
    just after a slot to the m-th slot from there pass ``m · P/R + H · (1 − b/R)`` clocks in the
    worst phase if m is b more than full rounds, and b is not less than the greatest common divisor
    d of passes and R. So the slots take ``m · P/R``, of which at most ``passes · P/R`` are due to
    the rounding up of m, and `engine_delay` is ``H · (1 − d/R) + C``, the pipeline included. All
    times are times the clock. Calls one after the other each have ``m · P/R`` from the end of the
    last one's or from their arrival, whichever is later, and end by `engine_delay` later.

    P/R and H move as :func:`objectives.sharing.schedule.printed_latency` says; the divisor jumps
    with R and passes.

    >>> line = engine_line(8, 4, 4, 4, 1.0, lanes=1, element_bytes=16, passes=1)
    >>> float(16 * line.engine_time_per_byte), float(line.engine_delay)
    (10.0, 22.0)
    """
    length, away = schedule(*pipeline, schedule_period)
    slot = length / schedule_period * clock_period * passes
    with np.errstate(invalid="ignore"):  # values that are not numbers are replaced afterwards
        whole = (
            np.asarray(x, dtype=np.float64).astype(np.int64) for x in (passes, schedule_period)
        )
        together = np.gcd(*whole)
    delay = away * (1.0 - together / np.asarray(schedule_period, dtype=np.float64))
    return EngineLine(
        slot / np.multiply(element_bytes, lanes),
        slot,
        (delay + np.asarray(pipeline.pipeline_depth)) * clock_period,
    )
