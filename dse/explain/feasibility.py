"""Designs that a looser constraint would admit, and that are not worth building."""

from __future__ import annotations

import numpy as np

from dse.evaluate.evaluator import Evaluator
from dse.evaluate.failures import ignore_errors
from dse.explain.benefit import worth_words
from dse.search.outcome import Outcome


def useless(evaluator: Evaluator, outcome: Outcome) -> dict[int, str]:
    """Return what the designs have that would be admitted, of those that do not pay.

    Parameters
    ----------
    evaluator : Evaluator
        Of the study.
    outcome : Outcome
        Of a search that found nothing feasible.
    """
    tally = outcome.tally
    asked = np.unique([*tally.admitted.tolist(), tally.nearest])
    if outcome.numbered and evaluator.space.size is not None:
        numbers = asked[asked >= 0]
        points = evaluator.space.from_index(numbers)
        values = ignore_errors(evaluator).evaluate(points).objectives
    else:
        kept = np.isin(outcome.numbers, asked)
        numbers, values = outcome.numbers[kept], outcome.judged.objectives[kept]
    told = ((int(n), worth_words(evaluator, v)) for n, v in zip(numbers, values, strict=True))
    return {number: words for number, words in told if words}
