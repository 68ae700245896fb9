"""Benefit: the main objective of a design, and its value from which on a design is beneficial."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from dse.evaluate.criteria import Objective
from dse.evaluate.evaluator import Evaluator
from dse.model.amounts import amount
from dse.model.quantity import Array
from dse.model.values import listed, worded


def break_even_value(evaluator: Evaluator, objective: Objective) -> float | None:
    """Return the value above which a maximized objective is beneficial; None if not declared."""
    quantity = evaluator.wiring.quantities.get(objective.quantity)
    return quantity.worth if quantity is not None and objective.direction == "maximize" else None


def list_benefits(evaluator: Evaluator) -> list[tuple[int, float]]:
    """Return the positions of the objectives that say from where on they pay, with that value."""
    every = ((i, break_even_value(evaluator, o)) for i, o in enumerate(evaluator.objectives))
    return [(i, worth) for i, worth in every if worth is not None]


def are_beneficial(evaluator: Evaluator, values: Array) -> NDArray[np.bool_]:
    """Return which designs are beneficial in at least one objective that declares it.

    Parameters
    ----------
    values : ndarray, shape (designs, objectives)
        Signs as they are.
    """
    pays = [values[:, i] > worth for i, worth in list_benefits(evaluator)]
    return np.any(pays, axis=0) if pays else np.ones(len(values), dtype=bool)


def describe_missing_benefit(evaluator: Evaluator, values: Array) -> str:
    """Return the values that are too small for a benefit; empty if the design is beneficial.

    Parameters
    ----------
    values : ndarray, shape (objectives,)
        Signs as they are.
    """
    found = list_benefits(evaluator)
    if are_beneficial(evaluator, values[None]).all():
        return ""
    objectives = evaluator.objectives
    has = listed(
        f"{worded(objectives[i].name)} {amount(float(values[i]), objectives[i].unit)}"
        for i, _ in found
    )
    unit = objectives[found[0][0]].unit
    return f"{has}, and is beneficial only above {amount(found[0][1], unit)}"


def benefit_names(evaluator: Evaluator) -> list[str]:
    """Return the maximized objectives; without any, the main objective."""
    found = [o.name for o in evaluator.objectives if o.direction == "maximize"]
    return found or [main_objective(evaluator, evaluator.objectives).name]


def main_objective(evaluator: Evaluator, objectives: Sequence[Objective]) -> Objective:
    """Return the main objective: the first with a declared benefit, else the first."""
    return objectives[next((i for i, _ in list_benefits(evaluator)), 0)]
