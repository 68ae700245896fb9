"""Settled: which search a study gets, once it is known what its models take."""

from __future__ import annotations

from dataclasses import replace

from dse.evaluate.failures import DesignError
from dse.search import cost
from dse.search.workers import ALONE, LateError, Workers
from dse.study.study import ResolvedStudy

METHOD = "method"
"""What a checkpoint calls the method that it is of."""


def settled(study: ResolvedStudy, workers: Workers = ALONE, began: str = "") -> ResolvedStudy:
    """Return a study with the search that it gets, which may follow from what its models take.

    Parameters
    ----------
    workers : Workers
        If processes work, models are run in one of them.
    began : str
        The method that an earlier run began with, which goes on; empty if there is none.
    """
    plan = study.plan
    if plan.guided is None or began == plan.method:
        return study
    if began:
        return replace(study, plan=cost.guided(plan, study.evaluator))
    try:
        pace = workers.alone(cost.pace, study.evaluator)
    except (DesignError, LateError):  # the search tells what is wrong
        return study
    found = cost.settled(plan, study.evaluator, pace)
    if found is plan:
        return study
    note = f"{found.method} search was chosen: {found.reason}"
    return replace(study, plan=found, notes=(*study.notes, note))
