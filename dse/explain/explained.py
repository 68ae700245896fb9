"""Which designs a report explains in full: those that matter most, and others if there is time."""

from __future__ import annotations

import math
import time

import numpy as np

from dse.explain.answer import designs_of
from dse.explain.check_first import check_first
from dse.explain.founded import Founded
from dse.explain.robustness import Robustness, robustness
from dse.explain.verdict import Explanation, explain
from dse.result.record import Result
from dse.result.spare import EXPLAINED, evaluations_of_an_explanation
from dse.study.study import ResolvedStudy

_ENOUGH = 20.0  # seconds that all explanations may take in any case
_SHARE = 0.5  # of the search's time that they may take beyond


def explain_the_first(
    study: ResolvedStudy, result: Result, most: int
) -> tuple[list[Explanation], Robustness]:
    """Explain the recommended, compromise and best designs, and an even sample.

    If the search says that all take little time, they are explained at once: models are called less
    often. Else the first are explained whatever that takes, and tell for how many more there is
    time.

    Parameters
    ----------
    most : int
        Of the sample, at most; 0 for no explanation at all.

    Returns
    -------
    list of Explanation
        Of those designs.
    Robustness
        How far they and others hold if inputs are uncertain.

    Raises
    ------
    ModelError
        If a model raises.
    """
    if most <= 0:
        return [], Robustness()
    first = list(dict.fromkeys([*designs_of(study, result), *_best(result)]))
    rest = [n for n in _spread(result, most) if n not in first]
    every = [*first, *rest]
    held = robustness(study, result, every)
    if _seconds(study, result) * len(every) < _ENOUGH / 2:
        return explain(study, result, every, held=held), held
    began = time.perf_counter()
    found = explain(study, result, first, held=held)
    took = time.perf_counter() - began
    budget = max(_ENOUGH, _SHARE * float(result.provenance.get("seconds") or 0.0)) - took
    count = len(rest)
    if first:
        count = min(count, int(max(budget, 0.0) * len(first) / max(took, 1e-9)))
    chosen = np.unique(np.linspace(0, len(rest) - 1, count).astype(int)) if count else ()
    others = explain(study, result, [rest[i] for i in chosen], len(first), held)
    return found + others, held


def _seconds(study: ResolvedStudy, result: Result) -> float:
    """Return about how long models take to explain one design, by the pace of the search."""
    pace = float(result.provenance.get("designs_per_second") or 0.0)
    workers = int(result.provenance.get("workers") or 1)
    return evaluations_of_an_explanation(study) * workers / pace if pace else math.inf


def founded(study: ResolvedStudy, result: Result, most: int = EXPLAINED) -> Founded:
    """Return where the figures of a result are from, and what to check first.

    Parameters
    ----------
    most : int
        How many designs there is time to explain; nothing is evaluated if it is 0.

    Raises
    ------
    ModelError
        If a model raises.
    """
    choice = next(iter(designs_of(study, result)), None)
    return Founded(study.figures, check_first(study, result, choice, most))


def _best(result: Result) -> list[int]:
    """Return the compromise design and the best design in each objective."""
    front = result.front
    if not len(front):
        return []
    return [int(str(each.name)) for each in (front.compromise(), *map(front.best, _names(result)))]


def _names(result: Result) -> list[str]:
    return [objective.name for objective in result.objectives]


def _spread(result: Result, count: int) -> list[int]:
    """Return an even sample of the front; all feasible designs if they are few."""
    if not len(result.front):
        return []
    every = result.front.designs.index.to_numpy()
    if len(result.designs) <= count:
        every = result.designs.index[result.designs["feasible"].to_numpy(dtype=bool)].to_numpy()
    rows = np.unique(np.linspace(0, len(every) - 1, count).astype(int))
    return [int(n) for n in every[rows]]
