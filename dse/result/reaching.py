"""Reaching a target: which designs of a front do, and the least that it takes."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from dse.evaluate.front import find_compromise
from dse.evaluate.objective import Objective
from dse.evaluate.target import (
    EXAMPLE,
    Bound,
    Target,
    TargetError,
    asked_of,
    bound_of,
    comparisons,
    is_better,
)
from dse.model.units import UnitError
from dse.problems import InputError, Problem, nearest
from dse.result.record import Certificate, Front, Result
from dse.result.target import Best, TargetAnswer
from dse.search.outcome import share


def reaching(front: Front, text: str) -> NDArray[np.bool_]:
    """Tell which designs of a front reach a target.

    Raises
    ------
    InputError
        If the text is not a target, or one that a front cannot answer: see `dse.evaluate.target`.
    """
    try:
        asked = comparisons(str(text))
    except TargetError as error:
        raise InputError(front.source.name, [Problem("target", str(error), EXAMPLE)]) from None
    clock = front.source.constants.get("clock", (None, ""))[0]
    bounds, problems = [], []
    for comparison in asked:
        objective, wrong = asked_of(comparison, front.objectives)
        if wrong is not None:
            problems.append(Problem("target", wrong.message, wrong.remedy))
        elif objective is None:
            near = nearest(comparison.name, [o.name for o in front.objectives])
            message = f"'{comparison.name}' is not an objective"
            remedy = f"{near}; a bound on another quantity belongs into the study's [target]"
            problems.append(Problem("target", message, remedy))
        elif not is_better(comparison, objective):
            message = f"'{comparison.text}' does not ask for a better value: a front has no answer"
            remedy = "write it under [target] in the study, or pick from the front with where(...)"
            problems.append(Problem("target", message, remedy))
        else:
            try:
                bounds.append(bound_of(comparison, objective, clock))
            except UnitError as error:
                problems.append(Problem("target", f"'{comparison.text}': {error}"))
    if problems:
        raise InputError(front.source.name, problems)
    return reaches(front, bounds)


def reaches(front: Front, bounds: Sequence[Bound]) -> NDArray[np.bool_]:
    """Tell which designs of a front reach all of some bounds."""
    found = np.ones(len(front), dtype=bool)
    for bound in bounds:
        found &= bound.reached(front.designs[bound.objective].to_numpy(dtype=np.float64))
    return found


def nearest_to(front: Front, bounds: Sequence[Bound]) -> int:
    """Return the row of a front that comes nearest to some bounds.

    That whose greatest miss is least, as a share of what is asked for; of a bound of 0, in the
    bound's unit. Of equals, the nearest to the best of every objective.
    """
    missed = np.zeros(len(front))
    for bound in bounds:
        values = front.designs[bound.objective].to_numpy(dtype=np.float64)
        short = np.where(bound.reached(values), 0.0, np.abs(values - bound.value))
        missed = np.maximum(missed, short / (abs(bound.value) or 1.0))
    return nearest_of(front, missed == missed.min())


def nearest_of(front: Front, among: NDArray[np.bool_]) -> int:
    """Return the row of some designs that is nearest to the best of every objective."""
    return find_compromise(front.points, np.array([o.sign for o in front.objectives]), among)


def best_of(front: Front, objective: Objective, among: NDArray[np.bool_]) -> tuple[int, int]:
    """Return the row of some designs that is best in an objective, and how many are equal in it.

    Of equals, the nearest to the best of every objective.
    """
    values = front.points[:, [o.name for o in front.objectives].index(objective.name)]
    equal = among & (values == values[among].min())
    return nearest_of(front, equal), int(equal.sum())


def answered(result: Result, target: Target) -> TargetAnswer:
    """Return what the front of a result says to a target."""
    front = result.front
    reached = reaches(front, target.bounds)
    numbers = tuple(front.designs.index[reached].tolist())
    bounded = {bound.objective for bound in target.bounds}
    wanted = [o for o in result.objectives if o.name == target.least]
    wanted = wanted or [o for o in result.objectives if o.name not in bounded]
    best = tuple(_best(front, o, reached) for o in wanted) if numbers else ()
    nearest = () if numbers or not len(front) else tuple(_nearest(front, target.bounds))
    words = _words(result, target, numbers, best, nearest)
    return TargetAnswer(target.reach, target.least, numbers, best, nearest, tuple(words))


def _best(front: Front, objective: Objective, among: NDArray[np.bool_]) -> Best:
    row, equal = best_of(front, objective, among)
    value = float(front.designs[objective.name].iloc[row])
    word = "least" if objective.sign > 0 else "most"
    number = int(front.designs.index[row])
    return Best(objective.name, objective.unit, word, value, number, equal)


def _nearest(front: Front, bounds: Sequence[Bound]) -> list[Best]:
    """Return the best value of each bounded objective, the other bounds kept if that can be."""
    by_name = {o.name: o for o in front.objectives}
    kept = {b: reaches(front, [other for other in bounds if other is not b]) for b in bounds}
    among = {b: rows for b, rows in kept.items() if rows.any()}
    every = np.ones(len(front), dtype=bool)
    among = among or dict.fromkeys(bounds, every)
    return [_best(front, by_name[bound.objective], rows) for bound, rows in among.items()]


def _words(
    result: Result,
    target: Target,
    numbers: Sequence[int],
    best: Sequence[Best],
    nearest: Sequence[Best],
) -> list[str]:
    front, words = len(result.front), []
    if not front:
        return ["No design is on the front yet: none is known to reach it."]
    if numbers:
        reach = "reaches" if len(numbers) == 1 else "reach"
        words.append(f"{len(numbers):,} of the {front:,} designs on the front {reach} it.")
        words += [f"The {each}." for each in best]
    else:
        words.append("No design on the front reaches it.")
        for each in nearest:
            others = [b.text for b in target.bounds if b.objective != each.objective]
            told = f"With {' and '.join(others)}, the" if others else "The"
            words.append(f"{told} {each}.")
    if target.searched:
        names = " and ".join(target.searched)
        words.append(f"The search kept to {names}: all designs of this run do.")
    words.append(_certain(result.certificate, bool(numbers)))
    return words


def _certain(certificate: Certificate, reached: bool) -> str:
    """Return how far an answer is to be trusted."""
    least = "needs less" if reached else "comes nearer"
    if not certificate.complete:
        return "The front is not certified: a design that was not evaluated may do better."
    if certificate.tolerances:
        return "A design that is not on the front may do better by the certificate's tolerances."
    if certificate.gap:
        return (
            f"The front is certified up to {share(certificate.gap)}: a design that is not on it "
            f"may do better by as much in each objective."
        )
    return f"That is exact: the front is certified, and no feasible design {least}."
