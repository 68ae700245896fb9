"""Execution of a study: its workers (threads, processes or a cluster), and its search method."""

from __future__ import annotations

import os
import sys
from dataclasses import replace
from operator import attrgetter
from typing import NamedTuple

from dse.evaluate.failures import DesignError
from dse.search.base import SearchSettings
from dse.search.cluster import Cluster, is_in_a_task, list_packages
from dse.search.method_choice import adapt_to_bounds, adapt_to_pace, plan_guided, probe_bounds
from dse.search.workers import ALONE, Workers
from dse.study.code_loading import is_of_a_study
from dse.study.study import ResolvedStudy


def choose_workers(study: ResolvedStudy, count: int | None, cluster: Cluster | None) -> Workers:
    """Return the workers of a study: a cluster, joblib's as a script chose, or as in the study.

    `cluster`: who works, whatever else is said.

    InputError if the cluster has no workers, or others than here; see `Cluster.check`.
    """
    table = study.file.run
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    given = (
        joblib_configuration() if cluster is None else JoblibConfiguration("dask", None, cluster)
    )
    if given.cluster is not None:
        modules = {model.function.__module__ for model in study.evaluator.model_graph.models}
        given.cluster.check(list_packages(name for name in modules if not is_of_a_study(name)))
        cluster = given.cluster
        return Workers(cluster.threads, "dask", cluster=cluster, isolated=table.processes)
    chosen = given.backend or ("loky" if table.processes else "threading")
    return Workers(count or given.jobs or table.workers or cores or 1, chosen)


class JoblibConfiguration(NamedTuple):
    """The settings of `joblib.parallel_config` around a call; None where it has none."""

    backend: str | None = None
    jobs: int | None = None
    cluster: Cluster | None = None


def joblib_configuration() -> JoblibConfiguration:
    """Return what a script asks of joblib around a run; nothing in what joblib itself spreads."""
    if "joblib" not in sys.modules:  # no script asks for anything
        return JoblibConfiguration()
    import joblib

    backend, jobs = joblib.parallel.get_active_backend(prefer="threads")  # loky only if asked for
    name = type(backend).__name__
    if backend.nesting_level:
        return JoblibConfiguration()
    if client := getattr(backend, "client", None):
        if is_in_a_task():
            return JoblibConfiguration("threading", 1)  # the cluster must not wait for itself
        return JoblibConfiguration("dask", None, Cluster(client, client.scheduler.address))
    _, jobs = joblib.parallel.get_active_backend()
    count = None if jobs is None else joblib.effective_n_jobs(jobs)
    return JoblibConfiguration("loky" if name == "LokyBackend" else None, count)


METHOD = "method"
"""The key of the search method in a checkpoint."""


def choose_search(study: ResolvedStudy, workers: Workers = ALONE, began: str = "") -> ResolvedStudy:
    """Return a study with its search method, which may follow from its models and their bounds.

    `workers`: if processes work, models are run in one of them. `began`: the method that an earlier
    run began with, which goes on; empty if there is none.
    """
    plan = study.plan
    if began:
        guided = plan_guided(plan, study.evaluator)
        others = [other for other in (plan, guided, plan.bounded) if other is not None]
        found = next((other for other in others if other.key == began), plan)
    else:
        try:
            found = _adapt(study, workers)
        except DesignError:  # the search reports it
            return study
    if found is plan:
        return study
    note = f"{found.method} search was chosen: {found.reason}"
    return replace(study, plan=found, notes=study.notes if began else (*study.notes, note))


def _adapt(study: ResolvedStudy, workers: Workers) -> SearchSettings:
    """Return the settings that suit the speed of the models and the bounds of a study."""
    plan, evaluator = study.plan, study.evaluator
    if plan.guided is not None:
        pace = workers.call(attrgetter("pace"), evaluator)
        plan = adapt_to_pace(plan, evaluator, pace)
    if plan.bounded is not None and plan is study.plan:
        plan = adapt_to_bounds(plan, workers.call(probe_bounds, evaluator, plan.bounded))
    return plan
