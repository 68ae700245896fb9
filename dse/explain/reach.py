"""Whether a design reaches the target that a run was asked for, in words."""

from __future__ import annotations

from dse.evaluate.evaluator import Evaluator
from dse.evaluate.target import Bound, Target
from dse.model.amounts import amount
from dse.model.quantity import Array
from dse.model.values import listed, number, worded

_CLOSE = 8  # digits of what misses a target by little


def reach_words(evaluator: Evaluator, target: Target | None, values: Array) -> str:
    """Return whether a feasible design reaches a target, and if not, what it has instead.

    Parameters
    ----------
    target : Target or None
        Empty words if it is None.
    values : ndarray, shape (objectives,)
        Signs as they are.
    """
    if target is None:
        return ""
    has = dict(zip((o.name for o in evaluator.objectives), values.tolist(), strict=True))
    missed = [bound for bound in target.bounds if not bound.reached(has[bound.objective])]
    if not missed:
        return f"it reaches the target, {target.reach}"
    told = {f"{worded(b.objective)} is {_beside(has[b.objective], b)}": None for b in missed}
    return f"it misses the target, {target.reach}: its {listed(told)}"


def _beside(value: float, bound: Bound) -> str:
    """Return what misses a bound, in more digits if it looks as if it did not."""
    told = amount(value, bound.unit)
    if told != amount(bound.value, bound.unit):
        return told
    shown = number(value, _CLOSE)
    return f"{shown} {bound.unit}" if bound.unit != "1" else shown
