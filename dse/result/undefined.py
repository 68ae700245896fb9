"""Why some designs of a run have no value: said of the first of them."""

from __future__ import annotations

import numpy as np

from dse.evaluate.conditions import Conditions
from dse.evaluate.evaluator import Evaluator
from dse.evaluate.undefined import why_undefined
from dse.search.outcome import Outcome


def why_first(
    evaluator: Evaluator, outcome: Outcome, quantity: str, conditions: Conditions, number: int
) -> str:
    """Return why a quantity of a design is not a number; empty if that is not known.

    Parameters
    ----------
    number : int
        Of the design.
    """
    space = evaluator.space
    if outcome.numbered and space.size is not None:
        points = space.from_index(np.array([number], dtype=np.int64))
    else:
        rows = np.flatnonzero(outcome.numbers == number)[:1]
        if not len(rows):
            return ""
        points = {name: values[rows] for name, values in outcome.points.items()}
    return why_undefined(evaluator.wiring, space.columns(points), quantity, conditions)


def why_undefined_objective(evaluator: Evaluator, outcome: Outcome) -> str:
    """Return why the first design has no value of an objective; empty if that is not known."""
    odd = outcome.tally.odd.tolist()
    for objective, (count, first, *_) in zip(evaluator.objectives, odd, strict=False):
        if count:
            why = why_first(evaluator, outcome, objective.quantity, objective.conditions, first)
            return f"of design {first}, {why}" if why else ""
    return ""
