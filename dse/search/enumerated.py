"""What an enumeration found: the front of the designs that are done, and a sample of the others."""

from __future__ import annotations

from contextlib import suppress

import numpy as np

from dse.evaluate.evaluator import Evaluated, Evaluator, concatenate
from dse.evaluate.failures import DesignError
from dse.evaluate.space import Points
from dse.evaluate.table import TableSpace
from dse.search.convergence import convergence
from dse.search.judges import Judges
from dse.search.outcome import Outcome, statement
from dse.search.slabs import EARLY, State

SAMPLE = 2_000
"""Designs that are kept beside the front, to draw what lies behind it."""


def of_enumeration(evaluator: Evaluator, state: State, judges: Judges | None = None) -> Outcome:
    """Keep the front and an even sample of the enumerated designs.

    Only the sample beyond the first `EARLY` designs is evaluated anew: with the objectives of what
    constraints exclude, which the search did not ask, unless a model raises for such a design.
    """
    archive = state.archive
    even = np.unique(np.linspace(0, max(state.done - 1, 0), min(SAMPLE, state.done)).astype(int))
    more = np.setdiff1d(even, archive.index, assume_unique=True)
    early, late = more[more < EARLY], more[more >= EARLY]
    parts = [
        Evaluated(
            archive.points * evaluator.signs,
            archive.beside,
            np.ones(len(archive.index), dtype=bool),
        ),
        state.early.rows(early),
    ]
    if len(late):
        points, first = evaluator.space.from_index(late), int(late[0])
        parts.append(_sampled(judges or Judges(evaluator), points, first))
    numbers = np.concatenate([archive.index, early, late])
    order = np.argsort(numbers, kind="stable")
    on_front = np.zeros(len(numbers), dtype=bool)
    on_front[: len(archive.index)] = True
    size = evaluator.space.size
    complete, tabled = state.done == size, isinstance(evaluator.space, TableSpace)
    return Outcome(
        numbers[order],
        evaluator.space.from_index(numbers[order]),
        concatenate(parts).rows(order),
        on_front[order],
        state.tally,
        convergence([], evaluator.signs),
        complete,
        True,
        statement("exhaustive", size, state.done, archive.points, 0, complete, tabled),
    )


def _sampled(judges: Judges, points: Points, first: int) -> Evaluated:
    with suppress(DesignError):
        judged = judges.judge(points, first)
        if not judged.failed:
            return judged
    return judges.screening().judge(points, first)
