"""Time: what a run whose time is over may still evaluate, so that its result follows at once."""

from __future__ import annotations

import time

from dse.evaluate.evaluator import Evaluator
from dse.evaluate.space import Points
from dse.evaluate.wiring import ModelError
from dse.result.record import CUT_SHORT, Result
from dse.search.base import Progress
from dse.search.outcome import Outcome
from dse.study.study import ResolvedStudy

EXPLAINED = 16
"""Designs that the report explains in full."""
FRONT, NEAR = 300, 200
"""Designs of the front, and beside it, held against each other if inputs are uncertain."""
_SWEPT = 250  # values of a curve or of the axis along which bottlenecks are looked for
_ALONG = 64  # values that are looked at along a continuous variable
_AFTER = 0.5  # seconds of models after a time-out
_SLOW = 0.005  # seconds; a call that takes longer is not timed with more designs
_MORE = 16


def fresh(evaluated: int, before: Progress) -> int:
    """Return how many of the designs that were evaluated this session evaluated.

    Parameters
    ----------
    before : Progress
        How far the search was when the session began.
    """
    return max(evaluated - (before.done - before.repeats), 0)


def pace_of(seconds: float, workers: int, evaluated: int) -> float:
    """Return the seconds that a design took in a search, at most: all its work is counted."""
    return seconds * workers / max(evaluated, 1)


def affordable(evaluator: Evaluator, points: Points, seconds: float, pace: float) -> int:
    """Return about how many designs can be evaluated in some seconds; tried on the given ones.

    Parameters
    ----------
    pace : float
        The seconds that a design takes, at most: if that is more than there is, none is tried.
    """
    if pace > seconds:
        return 0

    def timed(count: int) -> float:
        few = {name: values[:count] for name, values in points.items()}
        began = time.perf_counter()
        try:
            evaluator.evaluate(few)
        except ModelError:
            return float("inf")
        return time.perf_counter() - began

    count = min(_MORE, len(next(iter(points.values()))))
    pace = timed(1)
    if pace < _SLOW and count > 1:
        pace = max(timed(count) - timed(1), 0.0) / (count - 1)
    return int(seconds / max(pace, 1e-9))


def explainable(
    study: ResolvedStudy, result: Result, outcome: Outcome, left: float | None, before: Progress
) -> int:
    """Return how many designs the report explains: those that there is time for.

    Parameters
    ----------
    before : Progress
        How far the search was when the session began.
    left : float or None
        Seconds of the time-out that are left. After a time-out or Ctrl-C there is little time.
    """
    short = result.certificate.stopped in CUT_SHORT
    if short and study.file.run.processes:
        return 0  # what was under way may hang, and models would run here
    if left is None and not short:
        return EXPLAINED
    seconds = _AFTER if short or left is None else max(left, _AFTER)
    kept = result.provenance
    done = fresh(result.certificate.evaluated, before)
    pace = pace_of(kept["seconds"], kept["workers"], done)
    few = affordable(study.evaluator, outcome.points, seconds, pace)
    if study.uncertainty.sources:
        few = max(0, few - min(FRONT + NEAR, len(result.designs)))
    return min(EXPLAINED, few // evaluations_of_an_explanation(study))


def evaluations_of_an_explanation(study: ResolvedStudy) -> int:
    """Return about how many designs are evaluated, at most, to explain one."""
    inputs = len(study.evaluator.wiring.quantities)
    near = sum(v.count or _ALONG for v in study.evaluator.space.variables.values())
    return inputs * (_SWEPT if study.file.regions or study.curves else 2) + near
