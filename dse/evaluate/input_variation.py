"""Evaluators with changed inputs: uncertain ones at their middles, or one at a time at a limit."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, TypeVar

import numpy as np

from dse.evaluate.criteria import Constraint, Objective, count_scenarios
from dse.evaluate.evaluator import Evaluator
from dse.evaluate.samples import (
    SAMPLE,
    Sampled,
    Spread,
    Uncertain,
    Uncertainty,
    drop_samples,
    option_column,
    sample_conditions,
)
from dse.evaluate.space import Choice, Space
from dse.model.quantity import Array

_Criterion = TypeVar("_Criterion", Objective, Constraint)


def fix_at_middles(evaluator: Evaluator) -> Evaluator:
    """Return an evaluator whose objectives and constraints use no samples."""
    return replace(
        evaluator,
        objectives=tuple(without_samples(o) for o in evaluator.objectives),
        constraints=tuple(without_samples(c) for c in evaluator.constraints),
    )


def without_samples(criterion: _Criterion) -> _Criterion:
    """Return an objective or a constraint with its scenarios, each uncertain input at its middle.

    Its reduction remains for the scenarios of ``over``.
    """
    if SAMPLE not in criterion.conditions:
        return criterion
    conditions, reduction = drop_samples(criterion.conditions), criterion.reduction
    several = any(isinstance(bound, tuple) for bound in conditions.values())
    if reduction is not None:
        weights = reduction.weights[: count_scenarios(conditions)]
        reduction = replace(reduction, weights=weights, skipped=0) if several else None
    return replace(criterion, conditions=conditions, reduction=reduction)


@dataclass(frozen=True)
class InputRange:
    """An input value, and other values of it, such as the two limits of its range."""

    name: str
    value: float
    """The value, in the quantity's unit."""
    ends: tuple[float, ...]
    """The other values, in the quantity's unit."""
    variable: str = ""
    option: str = ""
    """The variable that selects its entry, and the entry; empty for fixed inputs."""
    where: str = ""
    """The place of a condition; empty for other input values."""


def vary_one_at_a_time(evaluator: Evaluator, inputs: Sequence[InputRange]) -> Evaluator:
    """Return an evaluator of samples: the values, then each input at its other values in turn.

    Every uncertain number is at its middle, except the input value that changes.
    """
    samples, start = 1 + sum(len(changed.ends) for changed in inputs), 1
    spread: dict[str, Spread] = {}
    varied_conditions: dict[str, Array] = {}
    for changed in inputs:
        rows = slice(start, start + len(changed.ends))
        start = rows.stop
        if changed.where:
            own = np.full((samples, 1), float(changed.value))
            varied_conditions.setdefault(changed.where, own)[rows, 0] = changed.ends
            continue
        variable = evaluator.space.variables.get(changed.variable)
        middle, option = np.array([float(changed.value)]), 0
        if isinstance(variable, Choice):
            middle = np.array([float(row[changed.name]) for row in variable.rows.values()])
            option = list(variable.rows).index(changed.option)
        own = np.tile(middle, (samples, 1))
        varied = spread.setdefault(changed.name, Spread(middle, own, changed.variable))
        varied.values[rows, option] = changed.ends
    numbered = {of_quantity.variable for of_quantity in spread.values()}
    variables = {
        n: replace(v, numbered=option_column(n)) if isinstance(v, Choice) and n in numbered else v
        for n, v in evaluator.space.variables.items()
    }
    constants = {r.name: r.value for r in inputs if not r.variable and not r.where}
    constants = {**evaluator.model_graph.constants, **constants}
    model_graph = replace(evaluator.model_graph, spread=spread, constants=constants)
    uncertainty = Uncertainty(values={"": np.zeros((samples, 1)), **varied_conditions})

    def with_samples(criterion: _Criterion, names: Sequence[str]) -> _Criterion:
        fixed = without_samples(criterion)
        conditions: dict[str, Any] = {**fixed.conditions}
        for name, bound in criterion.conditions.items():
            uncertain = bound.uncertain if isinstance(bound, Sampled) else None
            if uncertain is not None and uncertain.source.where in varied_conditions:
                conditions[name] = uncertain
        depends = SAMPLE in model_graph.needs(names, conditions).names
        if depends or any(isinstance(bound, Uncertain) for bound in conditions.values()):
            conditions = sample_conditions(conditions, uncertainty)
        return replace(fixed, conditions=conditions)

    return replace(
        evaluator,
        model_graph=model_graph,
        space=Space(variables),
        objectives=tuple(with_samples(o, (o.quantity,)) for o in evaluator.objectives),
        constraints=tuple(with_samples(c, c.names) for c in evaluator.constraints),
    )
