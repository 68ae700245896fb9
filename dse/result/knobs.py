"""Dead knobs: variables that a model takes, and that change nothing."""

from __future__ import annotations

import numpy as np

from dse.evaluate.table import TableSpace
from dse.evaluate.wiring import ModelError
from dse.result.record import CUT_SHORT
from dse.result.spare import affordable
from dse.search.outcome import Outcome
from dse.study.study import ResolvedStudy


def flat_knobs(study: ResolvedStudy, outcome: Outcome, stopped: str, pace: float) -> list[str]:
    """Return a note for each variable that changes nothing, though a model takes it.

    Sampled: up to 64 kept designs, with the variable set to both ends of its range and its middle;
    after a time-out or Ctrl-C as many of them as half a second allows, at the pace of the search.
    """
    evaluator = study.evaluator
    count, most = len(outcome.numbers), 64
    if stopped in CUT_SHORT:
        pace = np.inf if study.file.run.processes else pace  # what was under way may hang
        each = 3 * len(evaluator.space.variables)
        most = min(most, affordable(evaluator, outcome.points, 0.5, pace) // each)
    rows = np.unique(np.linspace(0, count - 1, most).astype(int))
    if len(rows) == 0 or isinstance(evaluator.space, TableSpace):
        return []  # between the rows of a table there is nothing
    unit = evaluator.space.to_unit({n: v[rows] for n, v in outcome.points.items()})
    notes = []
    for i, (name, variable) in enumerate(evaluator.space.variables.items()):
        if variable.count == 1:
            continue
        answers = []
        for position in (0.0, 0.5, np.nextafter(1.0, 0.0)):
            moved = unit.copy()
            moved[:, i] = position
            try:
                answers.append(evaluator.evaluate(evaluator.space.from_unit(moved)))
            except ModelError as error:  # the result stands
                notes.append(f"space.{name} was not probed for being a dead knob: {error}")
                break
        if len(answers) < 3:
            continue
        if all(
            np.array_equal(a.objectives, answers[0].objectives, equal_nan=True)
            and np.array_equal(a.constrained, answers[0].constrained, equal_nan=True)
            for a in answers[1:]
        ):
            notes.append(
                f"space.{name} changed no objective and no constraint in {len(rows)} sampled "
                "designs: it may be a dead knob in this range"
            )
    return notes
