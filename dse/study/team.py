"""Who works on a study: threads, processes or a cluster."""

from __future__ import annotations

import os
from typing import NamedTuple

import joblib

from dse.search.cluster import Cluster, is_in_a_task
from dse.search.versions import packages
from dse.search.workers import Workers
from dse.study.beside import is_beside
from dse.study.study import ResolvedStudy


def team_of(study: ResolvedStudy, count: int | None, cluster: Cluster | None) -> Workers:
    """Return who works on a study: a cluster, what a script asks of joblib, or as the study says.

    Parameters
    ----------
    count : int, optional
        Threads or processes.
    cluster : Cluster, optional
        Who works, whatever else is said.

    Raises
    ------
    InputError
        If the cluster has no workers, or others than here; see `Cluster.check`.
    """
    table = study.file.run
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    given = configured() if cluster is None else Configured("dask", None, cluster)
    if given.cluster is not None:
        modules = {model.function.__module__ for model in study.evaluator.wiring.models}
        given.cluster.check(packages(name for name in modules if not is_beside(name)))
        there = given.cluster
        return Workers(there.threads, "dask", cluster=there, apart=table.processes)
    chosen = given.backend or ("loky" if table.processes else "threading")
    return Workers(count or given.jobs or table.workers or cores or 1, chosen)


class Configured(NamedTuple):
    """What `joblib.parallel_config` says around a call; None if it does not say."""

    backend: str | None = None
    jobs: int | None = None
    cluster: Cluster | None = None


def configured() -> Configured:
    """Return what a script asks of joblib around a run; nothing in what joblib itself spreads."""
    backend, jobs = joblib.parallel.get_active_backend(prefer="threads")  # loky only if asked for
    name = type(backend).__name__
    if backend.nesting_level:
        return Configured()
    if client := getattr(backend, "client", None):
        if is_in_a_task():
            return Configured("threading", 1)  # the cluster must not wait for itself
        return Configured("dask", None, Cluster(client, client.scheduler.address))
    _, jobs = joblib.parallel.get_active_backend()
    count = None if jobs is None else joblib.effective_n_jobs(jobs)
    return Configured("loky" if name == "LokyBackend" else None, count)
