"""Repeatability: designs are evaluated again, in another way, and must give the same values.

The outputs of a model depend only on its inputs. A model that reuses a buffer in two threads, mixes
the designs of a large batch, or depends on the time, the process or the number of its calls breaks
this promise. Its designs then give other values one by one, in small batches and in one thread.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from dse.evaluate.evaluator import Evaluated, Evaluator, concatenate
from dse.evaluate.failures import describe_design, evaluate_designs
from dse.evaluate.space import Points
from dse.evaluate.wiring import ModelError
from dse.model.quantity import Array
from dse.problems import DseError

_SINGLE = 8
"""Designs that are evaluated one by one: a call costs as much for one design as for fifty."""
_BATCH = 48
"""Designs per batch: faults of large batches begin at 50 to 1,000 rows."""
ROUNDING = 1e-12
"""Relative difference that is rounding: vector and scalar code differ in the last bits."""
_DIAGNOSED_ROWS = 4_096
"""Rows of the batch that shows which model of several is at fault."""


class RepeatabilityError(DseError):
    """A design gave other values when it was evaluated again."""


def evaluate_differently(evaluator: Evaluator, points: Points) -> Evaluated:
    """Evaluate designs in this thread, some one by one, the others in small batches.

    Objectives of designs that a constraint excludes stay NaN: a model may raise for such a design.
    """
    evaluator = replace(evaluator, screens=True)
    count = len(next(iter(points.values())))
    batches = [
        evaluate_designs(evaluator, {n: v[low:high] for n, v in points.items()}, low)
        for low, high in _cuts(count)
    ]
    return concatenate(batches) if batches else Evaluated.empty(evaluator)


def _cuts(count: int) -> Iterator[tuple[int, int]]:
    low = 0
    while low < count:
        high = min(low + (1 if low < _SINGLE else _BATCH), count)
        yield low, high
        low = high


def compare(
    evaluator: Evaluator,
    points: Points,
    recorded: Evaluated,
    again: Evaluated,
    numbers: NDArray[np.int64] | None,
    where: str = "in the search",
) -> None:
    """Compare the recorded values of designs with the values of a second evaluation.

    Objectives of designs that a constraint excludes may be missing in either.

    Raises
    ------
    RepeatabilityError
        Naming the model, the design and both values.
    """
    excluded = np.any(evaluator.violations(recorded.constrained) > 0, axis=1, keepdims=True)
    known = ~excluded | ~(np.isnan(recorded.objectives) | np.isnan(again.objectives))
    wrong = _differ(recorded.objectives, again.objectives) & known
    for row, k in np.argwhere(wrong)[:1].tolist():
        objective = evaluator.objectives[k]
        values = recorded.objectives[row, k], again.objectives[row, k]
        texts = [show_exactly(float(v), objective.unit) for v in values]
        _refuse(evaluator, points, row, numbers, objective.quantity, objective.name, texts, where)
    for k, constraint in enumerate(evaluator.constraints):
        one, other = recorded.constrained[:, k], again.constrained[:, k]
        differ = _differ(one, other)
        if constraint.relation is not None:  # a difference of two sides, which is near 0 by chance
            differ &= (constraint.violation(one) > 0) != (constraint.violation(other) > 0)
        for row in np.flatnonzero(differ)[:1].tolist():
            texts = [show_exactly(float(v[row]), constraint.unit) for v in (one, other)]
            quantity = constraint.names[0]
            _refuse(evaluator, points, row, numbers, quantity, constraint.name, texts, where)


def _differ(one: Array, other: Array) -> NDArray[np.bool_]:
    with np.errstate(all="ignore"):
        return np.asarray(~np.isclose(one, other, rtol=ROUNDING, atol=0.0, equal_nan=True))


def _refuse(
    evaluator: Evaluator,
    points: Points,
    row: int,
    numbers: NDArray[np.int64] | None,
    quantity: str,
    name: str,
    values: list[str],
    where: str,
) -> None:
    design = {n: v[row : row + 1] for n, v in points.items()}
    model = _model_at_fault(evaluator, design, quantity)
    number = "the design" if numbers is None else f"design {numbers[row]}"
    raise RepeatabilityError(
        f"{model} does not give the same value twice: '{name}' of {number} "
        f"({describe_design(evaluator, points, row)}) was {values[0]} {where} and is "
        f"{values[1]} when the design is evaluated again. {explain_rule(evaluator)}"
    )


def explain_rule(evaluator: Evaluator) -> str:
    """Return the rule that a model has broken, in words."""
    declared = any(m.monotonic or m.lower_bounds for m in evaluator.wiring.models)
    why = (
        "The outputs of a model must depend only on its inputs: not on other designs of the batch, "
        "other threads, earlier calls, the time or the environment."
    )
    return f"{why} Its declarations must hold." if declared else why


def show_exactly(value: float, unit: str) -> str:
    """Return a value with all its digits and its unit."""
    return f"{value!r} {unit}".removesuffix(" 1").removesuffix(" ")


def _model_at_fault(evaluator: Evaluator, design: Points, quantity: str) -> str:
    """Return the first model on the way to a quantity that depends on its batch, or all models."""
    wiring = evaluator.wiring
    requests = [r for r in evaluator.requests() if r[0] == quantity][:1]
    many = {n: np.repeat(v, _DIAGNOSED_ROWS) for n, v in design.items()}
    names = list(dict.fromkeys(key[0] for key in wiring.runs(requests)))
    try:
        runs = [wiring.done(requests, evaluator.space.columns(p)) for p in (design, many, design)]
    except ModelError:
        runs = []
    for key in wiring.runs(requests) if runs else ():
        first, *others = (run[key] for run in runs)
        if any(_differ(first[n], other[n]).any() for other in others for n in first):
            return key[0]
    return names[0] if len(names) == 1 else f"one of the models {', '.join(names)}"
