"""Benefit: which designs are better than no accelerator, by the break-even values of objectives."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from dse.evaluate.criteria import Objective
from dse.evaluate.evaluator import Evaluator
from dse.evaluate.failures import ignore_errors
from dse.model.quantity import Array
from dse.model.values import show_amount, word_name
from dse.search.outcome import Outcome


def list_benefits(evaluator: Evaluator) -> list[tuple[int, float]]:
    """Return the position and break-even value of the maximized objectives that declare one."""
    return [(i, o.worth) for i, o in enumerate(evaluator.objectives) if o.worth is not None]


def are_beneficial(evaluator: Evaluator, values: Array) -> NDArray[np.bool_]:
    """Return which designs are beneficial in at least one objective that declares it.

    `values` have the shape (designs, objectives), and their signs as they are.
    """
    above = [values[:, i] > break_even for i, break_even in list_benefits(evaluator)]
    return np.logical_or.reduce(above) if above else np.ones(len(values), dtype=bool)


def describe_missing_benefit(evaluator: Evaluator, values: Array) -> str:
    """Return the values that are too small for a benefit; empty if the design is beneficial."""
    if are_beneficial(evaluator, values[None]).all():
        return ""
    shown = []
    for i, break_even in list_benefits(evaluator):
        o = evaluator.objectives[i]
        value, limit = show_amount(float(values[i]), o.unit), show_amount(break_even, o.unit)
        shown.append(f"{word_name(o.name)} {value}, beneficial above {limit}")
    return "; ".join(shown)


def find_useless_designs(evaluator: Evaluator, outcome: Outcome) -> dict[int, str]:
    """Return the values of designs that a looser constraint admits and that are not beneficial.

    `outcome` is of a search that found nothing feasible.
    """
    tally = outcome.tally
    admitted = np.unique([*tally.admitted.tolist(), tally.nearest])
    if outcome.numbered and evaluator.space.size is not None:
        numbers = admitted[admitted >= 0]
        points = evaluator.space.from_index(numbers)
        values = ignore_errors(evaluator).evaluate(points).objectives
    else:
        kept = np.isin(outcome.numbers, admitted)
        numbers, values = outcome.numbers[kept], outcome.evaluated.objectives[kept]
    texts = (describe_missing_benefit(evaluator, row) for row in values)
    return {int(n): text for n, text in zip(numbers, texts, strict=True) if text}


def benefit_names(evaluator: Evaluator) -> list[str]:
    """Return the maximized objectives; without any, the main objective."""
    maximized = [o.name for o in evaluator.objectives if o.direction == "maximize"]
    return maximized or [main_objective(evaluator).name]


def main_objective(evaluator: Evaluator) -> Objective:
    """Return the main objective: the first with a declared benefit, else the first."""
    return evaluator.objectives[next((i for i, _ in list_benefits(evaluator)), 0)]
