"""What each constraint excludes: how many designs, and which of a sample."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from dse.evaluate.constraint import Constraint, violations
from dse.result.record import Cut
from dse.search.outcome import Outcome

SAMPLE = 2_000
"""Infeasible designs whose constraint is told: of more, an even sample."""


def cuts_of(constraints: Sequence[Constraint], outcome: Outcome) -> tuple[Cut, ...]:
    """Return what each constraint excludes.

    Of the designs that a search kept, an even sample of the infeasible ones is told with the first
    constraint, in the study's order, that each violates.
    """
    kept = ~(violations(constraints, outcome.judged.constrained) <= 0)  # a violation may be NaN
    rows = np.flatnonzero(kept.any(axis=1) & ~outcome.judged.feasible)
    if len(rows) > SAMPLE:
        rows = rows[np.linspace(0, len(rows) - 1, SAMPLE).astype(np.int64)]
    first = kept[rows].argmax(axis=1) if len(constraints) else np.empty(0, dtype=np.int64)
    numbers, tally = outcome.numbers[rows], outcome.tally
    counts = zip(constraints, tally.violated.tolist(), tally.alone.tolist(), strict=True)
    return tuple(
        Cut(constraint.name, violated, alone, tuple(numbers[first == k].tolist()))
        for k, (constraint, violated, alone) in enumerate(counts)
    )
