"""Cost: the time per design, and the search for a study that names none.

From about a millisecond per design on, a guided search finds more of the front in the same time
than an enumeration, an evolution or bounds. Formulas over arrays take less than 10 µs per design,
simulators more than 10 ms. The limit is a decade from both: a study thus gets the same method on
fast and on slow machines.
"""

from __future__ import annotations

import math
import time
from dataclasses import replace

from dse.evaluate.audit import sample
from dse.evaluate.evaluator import Evaluator
from dse.evaluate.wiring import ModelError
from dse.model.values import show
from dse.search.base import Plan, method_of

COSTLY = 1e-3
"""Seconds per design from which a guided search finds more; see docs/guided.md."""
PATIENCE = 600.0
"""Seconds that a search may take if the study has no time-out."""
_SIZES = (1, 8, 64, 512)  # designs of a batch: the arrays of a formula cost nothing else
_SECONDS, _LONG = 0.25, 2.0  # a batch that takes longer is the last; one design is not run again


def pace(evaluator: Evaluator) -> float:
    """Return the seconds that a design takes, at least, in a few batches; NaN if a model raises.

    On a busy machine a call of many formulas takes tens of milliseconds, however few its designs: a
    batch that takes no longer is no reason to end.
    """
    found = math.inf
    for size in _SIZES:
        points = sample(evaluator.space, size)
        for _ in range(2):  # the first of all loads what was not needed before
            began = time.perf_counter()
            try:
                evaluator.evaluate(points)
            except ModelError:
                return math.nan
            seconds = time.perf_counter() - began
            found = min(found, seconds / size)
            if seconds < _SECONDS or size > 1 or seconds > _LONG:
                break
        if seconds > _SECONDS:
            break
    return found


def settled(plan: Plan, evaluator: Evaluator, seconds: float) -> Plan:
    """Return the plan of a study whose designs take so many seconds each; NaN if that is not known.

    It is another one if the study names no method, a design takes more than `COSTLY`, and what was
    planned would take more than the time-out, or than `PATIENCE`, on one core.
    """
    whole, patience = seconds * plan.evaluations, plan.timeout or PATIENCE
    if plan.guided is None or not (seconds > COSTLY and whole > patience):
        return plan
    each = show(float(f"{seconds:.1g}"), "s")
    reason = (
        f"a design takes about {each}, and {plan.method} search could take {_told(whole)} of one "
        "core; to have that all the same, name it as the method"
    )
    return replace(guided(plan, evaluator), reason=reason)


def guided(plan: Plan, evaluator: Evaluator) -> Plan:
    """Return the plan of a guided search in place of the default plan."""
    if plan.guided is None:
        return plan
    objectives, method = len(evaluator.objectives), plan.guided.method
    return method_of(method).plan(method, plan.guided, evaluator.space, objectives, [])


def _told(seconds: float) -> str:
    """Return a time in words.

    >>> _told(90), _told(7200), _told(1e7)
    ('1.5 minutes', '2 hours', '116 days')
    """
    for unit, name in ((86_400, "days"), (3_600, "hours"), (60, "minutes")):
        if seconds >= unit:
            return f"{seconds / unit:.3g} {name}"
    return f"{seconds:.3g} seconds"
