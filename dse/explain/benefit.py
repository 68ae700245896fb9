"""Worth: what a design is built for, and from which value on it pays to have it."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from dse.evaluate.evaluator import Evaluator
from dse.evaluate.objective import Objective
from dse.model.amounts import amount
from dse.model.quantity import Array
from dse.model.values import listed, worded


def worth_of(evaluator: Evaluator, objective: Objective) -> float | None:
    """Return above which value a maximized objective pays; None if nothing says so."""
    quantity = evaluator.wiring.quantities.get(objective.quantity)
    return quantity.worth if quantity is not None and objective.direction == "maximize" else None


def benefits(evaluator: Evaluator) -> list[tuple[int, float]]:
    """Return the positions of the objectives that say from where on they pay, with that value."""
    every = ((i, worth_of(evaluator, o)) for i, o in enumerate(evaluator.objectives))
    return [(i, worth) for i, worth in every if worth is not None]


def paying(evaluator: Evaluator, values: Array) -> NDArray[np.bool_]:
    """Tell which designs pay: in one at least of the objectives that say so, if any does.

    Parameters
    ----------
    values : ndarray, shape (designs, objectives)
        Signs as they are.
    """
    pays = [values[:, i] > worth for i, worth in benefits(evaluator)]
    return np.any(pays, axis=0) if pays else np.ones(len(values), dtype=bool)


def worth_words(evaluator: Evaluator, values: Array) -> str:
    """Return what a design has that would have to be more for it to pay; empty if it pays.

    Parameters
    ----------
    values : ndarray, shape (objectives,)
        Signs as they are.
    """
    found = benefits(evaluator)
    if paying(evaluator, values[None]).all():
        return ""
    objectives = evaluator.objectives
    has = listed(
        f"{worded(objectives[i].name)} {amount(float(values[i]), objectives[i].unit)}"
        for i, _ in found
    )
    return f"{has}, and that pays only above {amount(found[0][1], objectives[found[0][0]].unit)}"


def benefits_of(evaluator: Evaluator) -> list[str]:
    """Return the objectives that are benefits: those that are maximized, else what is built for."""
    found = [o.name for o in evaluator.objectives if o.direction == "maximize"]
    return found or [built_for(evaluator, evaluator.objectives).name]


def built_for(evaluator: Evaluator, objectives: Sequence[Objective]) -> Objective:
    """Return the objective that a design is built for: the first that pays, else the first."""
    return objectives[next((i for i, _ in benefits(evaluator)), 0)]
