"""Reproduction: designs are evaluated again, in another way, before a front is certified.

A certificate rests on models whose outputs depend only on their inputs. A model that reuses a
buffer in two threads, mixes the designs of a large batch, or depends on the time, the process or
the number of its calls breaks this promise, and the search cannot see it. Its designs then give
other values when they are evaluated one by one, in small batches, in another order and in one
thread.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from dse.evaluate.audit import sample
from dse.evaluate.evaluator import Evaluated, Evaluator, concatenate
from dse.evaluate.failures import describe_design, evaluate_designs
from dse.evaluate.space import Points
from dse.evaluate.wiring import ModelError
from dse.model.quantity import Array
from dse.problems import DseError
from dse.search.bound.cover import Cover, relaxed
from dse.search.outcome import Outcome

_SAMPLE = 256
"""Designs drawn at random: enough to find a fault in 1.2 % of the designs with 95 %."""
_FRONT_PART = 4
"""One design of the front is taken for this many random designs."""
_FRACTION = 0.04
"""Random designs as a fraction of all evaluations; with those of the front 5 %."""
_MIN_SAMPLE = 16
"""Random designs at least, if the search gives a certificate."""
_SINGLE = 8
"""Designs that are evaluated one by one: a call costs as much for one design as for fifty."""
_BATCH = 48
"""Designs per batch: faults of large batches begin at 50 to 1,000 rows."""
_SLACK = 1e-12
"""Relative difference that is rounding: vector and scalar code differ in the last bits."""
_CONFIDENCE = 0.95
_DIAGNOSED_ROWS = 4_096
"""Rows of the batch that shows which model of several is at fault."""


class ReproductionError(DseError):
    """A design gave other values when it was evaluated again."""


@dataclass(frozen=True)
class Reproduction:
    """The designs that gave the same values again.

    Parameters
    ----------
    designs : int
        Designs that were evaluated again.
    detectable : float
        The smallest fraction of wrong designs that this finds with 95 % probability; 0 if every
        design of the search was evaluated again.
    """

    designs: int
    detectable: float


def detectable_fraction(random: int) -> float:
    """Return the fraction of wrong designs that a random sample finds with 95 % probability.

    >>> round(detectable_fraction(256), 4)
    0.0116
    """
    return 1.0 - (1.0 - _CONFIDENCE) ** (1.0 / random) if random else 1.0


def reproduce(evaluator: Evaluator, outcome: Outcome, seed: int = 0) -> Reproduction:
    """Evaluate designs of a search again: some of the front, and others drawn at random.

    Raises
    ------
    ReproductionError
        If a design gives another value, or a random design is better than a front that is
        claimed to be complete.
    DesignError
        If a model raises that did not raise in the search.
    """
    rng = np.random.default_rng(seed)
    certified = outcome.complete or outcome.gap is not None
    count = sample_size(outcome.tally.evaluated, certified)
    order = rng.permutation(np.flatnonzero(outcome.on_front))
    front, more = np.split(order, [-(-count // _FRONT_PART)])
    others = rng.permutation(np.flatnonzero(~outcome.on_front))
    others = np.concatenate([others, more])[:count]
    rows = rng.permutation(np.concatenate([front, others]))
    points = {name: values[rows] for name, values in outcome.points.items()}
    again = evaluate_differently(evaluator, points)
    compare(evaluator, points, outcome.judged.rows(rows), again, outcome.numbers[rows])
    if certified:
        hold_against_front(evaluator, outcome, points, again)
        if outcome.gap is not None:  # the designs that a search by bounds keeps are not random
            fresh = sample(evaluator.space, count)
            hold_against_front(evaluator, outcome, fresh, evaluate_differently(evaluator, fresh))
            return Reproduction(len(rows) + count, detectable_fraction(count))
    whole = len(rows) >= outcome.tally.evaluated
    return Reproduction(len(rows), 0.0 if whole else detectable_fraction(len(others)))


def sample_size(evaluated: int, certified: bool) -> int:
    """Return how many random designs are evaluated again after a number of evaluations."""
    return min(_SAMPLE, max(_MIN_SAMPLE if certified else 1, round(_FRACTION * evaluated)))


def evaluate_differently(evaluator: Evaluator, points: Points) -> Evaluated:
    """Evaluate designs in this thread, some one by one, the others in small batches."""
    evaluator = replace(evaluator, screens=False)
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
    numbers: NDArray[np.int64],
    where: str = "in the search",
) -> None:
    """Compare the recorded values of designs with those of a second evaluation.

    Objectives of designs that a constraint excludes may be missing in the record.

    Raises
    ------
    ReproductionError
        Naming the model, the design and both values.
    """
    excluded = np.any(evaluator.violations(recorded.constrained) > 0, axis=1, keepdims=True)
    known = ~excluded | ~np.isnan(recorded.objectives)
    wrong = _differ(recorded.objectives, again.objectives) & known
    for row, k in np.argwhere(wrong)[:1].tolist():
        objective = evaluator.objectives[k]
        values = recorded.objectives[row, k], again.objectives[row, k]
        texts = [_show(float(v), objective.unit) for v in values]
        _refuse(evaluator, points, row, numbers, objective.quantity, objective.name, texts, where)
    for k, constraint in enumerate(evaluator.constraints):
        one, other = recorded.constrained[:, k], again.constrained[:, k]
        differ = _differ(one, other)
        if constraint.relation is not None:  # a difference of two sides, which is near 0 by chance
            differ &= (constraint.violation(one) > 0) != (constraint.violation(other) > 0)
        for row in np.flatnonzero(differ)[:1].tolist():
            texts = [_show(float(v[row]), constraint.unit) for v in (one, other)]
            quantity = constraint.names[0]
            _refuse(evaluator, points, row, numbers, quantity, constraint.name, texts, where)


def hold_against_front(
    evaluator: Evaluator, outcome: Outcome, points: Points, again: Evaluated
) -> None:
    """Check that no design is better than the front by more than the certified tolerance.

    Raises
    ------
    ReproductionError
        Naming the design.
    """
    if outcome.gap is not None and not np.isfinite(outcome.gap.reached):
        return
    gap = outcome.gap
    front = (outcome.judged.objectives * evaluator.signs)[outcome.on_front]
    cover = Cover.empty(len(evaluator.objectives)).added(front)
    shares, amounts, floors = [], [], []
    for objective in evaluator.objectives:
        share, amount = (gap.reached, 0.0) if gap is not None else (0.0, 0.0)
        if gap is not None and objective.name in gap.apart:
            share, amount = gap.apart[objective.name]
        shares.append(max(share, _SLACK))
        amounts.append(amount)
        floors.append(gap.floor.get(objective.name, 0.0) if gap is not None else 0.0)
    rows = np.flatnonzero(again.feasible)
    signed = (again.objectives * evaluator.signs)[rows]
    limit = relaxed(signed, np.array(shares), np.array(floors), np.array(amounts))
    for row in rows[~cover.weakly(limit)][:1].tolist():
        values = ", ".join(
            f"{o.name} = {_show(float(v), o.unit)}"
            for o, v in zip(evaluator.objectives, again.objectives[row], strict=True)
        )
        raise ReproductionError(
            f"the design {describe_design(evaluator, points, row)} has {values} when it is "
            "evaluated again. No design on the front is as good. " + _why(evaluator)
        )


def _differ(one: Array, other: Array) -> NDArray[np.bool_]:
    with np.errstate(all="ignore"):
        return np.asarray(~np.isclose(one, other, rtol=_SLACK, atol=0.0, equal_nan=True))


def _refuse(
    evaluator: Evaluator,
    points: Points,
    row: int,
    numbers: NDArray[np.int64],
    quantity: str,
    name: str,
    values: list[str],
    where: str,
) -> None:
    design = {n: v[row : row + 1] for n, v in points.items()}
    model = _model_at_fault(evaluator, design, quantity)
    raise ReproductionError(
        f"{model} does not give the same value twice: '{name}' of design {numbers[row]} "
        f"({describe_design(evaluator, points, row)}) was {values[0]} {where} and is "
        f"{values[1]} when the design is evaluated again. {_why(evaluator)}"
    )


def _why(evaluator: Evaluator) -> str:
    declared = any(m.monotonic or m.lower_bounds for m in evaluator.wiring.models)
    why = (
        "The outputs of a model must depend only on its inputs: not on other designs of the batch, "
        "other threads, earlier calls, the time or the environment."
    )
    return f"{why} Its declarations must hold." if declared else why


def _show(value: float, unit: str) -> str:
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
