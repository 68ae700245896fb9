"""Evaluators with changed inputs: uncertain ones at their middles, or one at a time at a limit."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, TypeVar

import numpy as np

from dse.evaluate.criteria import Constraint, Objective, scenarios
from dse.evaluate.evaluator import Evaluator
from dse.evaluate.samples import (
    SAMPLE,
    Sampled,
    Spread,
    Uncertain,
    Uncertainty,
    certain,
    option_of,
    sample_conditions,
)
from dse.evaluate.space import Choice, Space
from dse.model.quantity import Array

# Uncertain inputs at their middles ----------------------------------------------------------------


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


# One input at a time ------------------------------------------------------------------------------


@dataclass(frozen=True)
class InputRange:
    """An input value, and the two limits of its range.

    Parameters
    ----------
    name : str
        The quantity.
        The value, in the quantity's unit.
    ends : (float, float)
        The limits, in the quantity's unit.
    variable, option : str
        The variable that selects its entry, and the entry; empty for fixed inputs.
    where : str
        The place of a condition; empty for other input values.
    """

    name: str
    value: float
    ends: tuple[float, float]
    variable: str = ""
    option: str = ""
    where: str = ""


def vary_one_at_a_time(evaluator: Evaluator, inputs: Sequence[InputRange]) -> Evaluator:
    """Return an evaluator of ``1 + 2 n`` samples: the values, then each input at either limit.

    Every uncertain number is at its middle, except the input value that changes.
    """
    samples = 1 + 2 * len(inputs)
    columns = [_column(f, k, samples) for k, f in enumerate(inputs)]
    spread: dict[str, Spread] = {}
    for given, column in zip(inputs, columns, strict=True):
        if not given.where:
            before = spread.get(given.name) or _still(evaluator, given, samples)
            spread[given.name] = _with(evaluator, before, given, column)
    chosen = {each.variable for each in spread.values()} - {""}
    variables = {
        n: replace(v, numbered=option_of(n)) if isinstance(v, Choice) and n in chosen else v
        for n, v in evaluator.space.variables.items()
    }
    constants = {f.name: f.value for f in inputs if not f.variable and not f.where}
    wiring = replace(
        evaluator.wiring, spread=spread, constants={**evaluator.wiring.constants, **constants}
    )
    moved = {f.where: c[:, None] for f, c in zip(inputs, columns, strict=True) if f.where}
    every = Uncertainty(values={"": np.zeros((samples, 1)), **moved})

    def asking(asked: _Asked, names: Sequence[str]) -> _Asked:
        still = without_samples(asked)
        plain: dict[str, Any] = {**still.conditions, **_moved_conditions(asked.conditions, moved)}
        depends = SAMPLE in wiring.needs(names, plain).names
        if depends or any(isinstance(v, Uncertain) for v in plain.values()):
            return replace(still, conditions=sample_conditions(plain, every))
        return replace(still, conditions=plain)

    return replace(
        evaluator,
        wiring=wiring,
        space=Space(variables),
        objectives=tuple(asking(o, (o.quantity,)) for o in evaluator.objectives),
        constraints=tuple(asking(c, c.names) for c in evaluator.constraints),
    )


def _column(given: InputRange, number: int, samples: int) -> Array:
    """Return the values of an input in all samples."""
    column = np.full(samples, float(given.value))
    column[1 + 2 * number : 3 + 2 * number] = given.ends
    return column


def _still(evaluator: Evaluator, given: InputRange, samples: int) -> Spread:
    """Return a quantity that is equal in all samples: one number, or one per option."""
    values = np.array([float(given.value)])
    variable = evaluator.space.variables.get(given.variable)
    if isinstance(variable, Choice):
        values = np.array([float(row[given.name]) for row in variable.rows.values()])
    return Spread(values, np.tile(values, (samples, 1)), given.variable)


def _with(evaluator: Evaluator, spread: Spread, given: InputRange, column: Array) -> Spread:
    """Return the samples of a quantity with one more of its input values changed."""
    variable, place = evaluator.space.variables.get(given.variable), 0
    if isinstance(variable, Choice):
        place = list(variable.rows).index(given.option)
    values = spread.values.copy()
    values[:, place] = column
    return replace(spread, values=values)


def _moved_conditions(
    conditions: Mapping[str, Any], moved: Collection[str]
) -> dict[str, Uncertain]:
    """Return the uncertain conditions that change."""
    sampled = {n: v.uncertain for n, v in conditions.items() if isinstance(v, Sampled)}
    return {n: u for n, u in sampled.items() if u is not None and u.source.where in moved}
