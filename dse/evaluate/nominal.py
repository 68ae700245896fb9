"""Nominal values: the same models with each uncertain input at its middle."""

from __future__ import annotations

from dataclasses import replace
from typing import TypeVar

from dse.evaluate.conditions import scenarios
from dse.evaluate.constraint import Constraint
from dse.evaluate.evaluator import Evaluator
from dse.evaluate.objective import Objective
from dse.evaluate.samples import SAMPLE, certain

_Asked = TypeVar("_Asked", Objective, Constraint)


def fix_at_middles(evaluator: Evaluator) -> Evaluator:
    """Return an evaluator whose objectives and constraints use no samples."""
    return replace(
        evaluator,
        objectives=tuple(without_samples(o) for o in evaluator.objectives),
        constraints=tuple(without_samples(c) for c in evaluator.constraints),
    )


def without_samples(asked: _Asked) -> _Asked:
    """Return an objective or a constraint with its scenarios, each uncertain input at its middle.

    Its reduction remains for the scenarios of ``over``.
    """
    if SAMPLE not in asked.conditions:
        return asked
    conditions = certain(asked.conditions)
    each, reduction = scenarios(conditions), asked.reduction
    several = any(isinstance(bound, tuple) for bound in conditions.values())
    if reduction is not None:
        weights = reduction.weights[:each]
        reduction = replace(reduction, weights=weights, skipped=0) if several else None
    return replace(asked, conditions=conditions, reduction=reduction)
