"""Verification: the check of a search before its front is certified.

Designs of the front and others drawn at random are evaluated again, in another way. A search that
claims that its front is complete must also have no better design among the random ones.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from dse.evaluate.audit import (
    ROUNDING,
    RepeatabilityError,
    compare_evaluations,
    evaluate_differently,
    explain_rule,
    show_exactly,
)
from dse.evaluate.evaluator import Evaluated, Evaluator
from dse.evaluate.space import Points, sample_designs
from dse.search.bound.cover import Cover, relax_points
from dse.search.bound.refutation import check_pairs
from dse.search.outcome import Gap, Outcome, Tolerance

_SAMPLE = 256  # random designs: enough to find a fault in 1.2 % of the designs with 95 %
_FRACTION = 0.05  # random designs as a fraction of all evaluations
_MIN_SAMPLE = 16  # random designs at least, if the search gives a certificate
_FRONT_SAMPLE = 1_024  # designs of the front at most; most fronts are smaller
_FRONT_FRACTION = 0.1  # of all evaluations, designs of the front at most: models may be slow
_CONFIDENCE = 0.95


@dataclass(frozen=True)
class Verification:
    """The designs that gave the same values again."""

    designs: int
    """Designs that were evaluated again."""
    detectable: float
    """The smallest fraction of wrong designs that this finds with 95 % probability; 0 if every
    design of the search was evaluated again."""


def detectable_fraction(random: int) -> float:
    """Return the fraction of wrong designs that a random sample finds with 95 % probability.

    >>> round(detectable_fraction(256), 4)
    0.0116
    """
    return 1.0 - (1.0 - _CONFIDENCE) ** (1.0 / random) if random else 1.0


def verify_outcome(evaluator: Evaluator, outcome: Outcome, seed: int = 0) -> Verification:
    """Evaluate designs of a search again: the front, and random designs.

    Raises
    ------
    RepeatabilityError
        If a design gives another value, or a random design is better than a front that is
        claimed to be complete.
    DesignError
        If a model raises that did not raise in the search.
    RefutedError
        If two designs of a search by bounds contradict a declaration on which its bounds may rest.
    """
    rng = np.random.default_rng(seed)
    total = outcome.tally.evaluated
    certified = outcome.complete or outcome.gap is not None
    count = sample_size(total, certified)
    order = _best_first(evaluator, outcome, rng.permutation(np.flatnonzero(outcome.on_front)))
    limit = min(_FRONT_SAMPLE, max(_MIN_SAMPLE, round(_FRONT_FRACTION * total)))
    front, more = np.split(order, [limit])
    others = rng.permutation(np.flatnonzero(~outcome.on_front))
    others = np.concatenate([others, more])[:count]
    rows = rng.permutation(np.concatenate([front, others]))
    points = {name: values[rows] for name, values in outcome.points.items()}
    again = evaluate_differently(evaluator, points)
    compare_evaluations(
        evaluator, points, outcome.evaluated.rows(rows), again, outcome.numbers[rows]
    )
    if certified:
        compare_with_front(evaluator, outcome, points, again)
    if outcome.gap is not None:  # the designs that a search by bounds keeps are not random
        if not outcome.tally.raised:  # else nothing is certified
            check_pairs(evaluator, points)
        fresh = sample_designs(evaluator.space, count)
        compare_with_front(evaluator, outcome, fresh, evaluate_differently(evaluator, fresh))
        return Verification(len(rows) + count, detectable_fraction(count))
    return Verification(len(rows), 0.0 if len(rows) >= total else detectable_fraction(len(others)))


def _best_first(evaluator: Evaluator, outcome: Outcome, rows: NDArray[np.intp]) -> NDArray[np.intp]:
    """Return rows of the front with the best design of each objective first.

    Users read these designs first, and a single value that is much too good is among them.
    """
    if not rows.size:
        return rows
    best = rows[np.argmin((outcome.evaluated.objectives * evaluator.signs)[rows], axis=0)]
    best = np.unique(best)
    return np.concatenate([best, rows[~np.isin(rows, best)]])


def sample_size(evaluated: int, certified: bool) -> int:
    """Return how many random designs are evaluated again after a number of evaluations."""
    return min(_SAMPLE, max(_MIN_SAMPLE if certified else 1, round(_FRACTION * evaluated)))


def compare_with_front(
    evaluator: Evaluator, outcome: Outcome, points: Points, again: Evaluated
) -> None:
    """Check that no design is better than the front by more than the certified tolerance.

    Raises
    ------
    RepeatabilityError
        Naming the design.
    """
    gap, objectives = outcome.gap or Gap(0.0, 0.0, {}, 0, 1.0), evaluator.objectives
    if not np.isfinite(gap.reached):
        return
    front = (outcome.evaluated.objectives * evaluator.signs)[outcome.on_front]
    cover = Cover.empty(len(objectives)).added(front)
    tolerances = [gap.tolerances.get(o.name, Tolerance(gap.reached)) for o in objectives]
    fractions = np.array([max(tolerance.fraction, ROUNDING) for tolerance in tolerances])
    amounts = np.array([tolerance.amount for tolerance in tolerances])
    rows = np.flatnonzero(again.feasible)
    signed = (again.objectives * evaluator.signs)[rows]
    limit = relax_points(signed, fractions, amounts)
    for row in rows[~cover.weakly(limit)][:1].tolist():
        values = ", ".join(
            f"{o.name} = {show_exactly(float(v), o.unit)}"
            for o, v in zip(evaluator.objectives, again.objectives[row], strict=True)
        )
        raise RepeatabilityError(
            f"the design {evaluator.describe_design(points, row)} has {values} when it is "
            "evaluated again. No design on the front is as good. " + explain_rule(evaluator)
        )
