"""Exhaustive search: every design of a finite space, streamed through a running front.

Memory grows with the front, not with the space. What comes out does not depend on how the designs
are cut into slabs and chunks, nor on how many workers there are.
"""

from __future__ import annotations

import itertools
import time
import warnings
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import joblib
import numpy as np

from dse.evaluate.evaluator import Evaluator
from dse.evaluate.front import Archive, FrontBuilder
from dse.evaluate.judging import DesignError, judge
from dse.evaluate.tabulate import Tabulated, look_up, tabulate
from dse.evaluate.wiring import Key, ModelError
from dse.search.tally import Tally

_SLAB_SECONDS = 0.4  # joblib polls every 10 ms: tasks must be much longer than that
_PROBE_SECONDS = 0.03  # longer than what a busy machine does to a cheap model
_SLABS = 10_000  # tasks at most, whatever was measured


@dataclass(frozen=True)
class Workers:
    """Who does the work.

    Parameters
    ----------
    count : int
        Threads or processes.
    backend : {"threading", "loky", "dask"}
        joblib's name; threads serve models that release the interpreter lock, as numpy does.
    """

    count: int
    backend: str = "threading"


@dataclass(frozen=True)
class State:
    """How far an enumeration is: the designs before `done` are in the archive and the tally."""

    done: int
    archive: Archive
    tally: Tally


def enumerate_designs(
    evaluator: Evaluator, chunk: int, workers: Workers, start: State | None = None
) -> Iterator[State]:
    """Evaluate every design; yield the state after each slab.

    Parameters
    ----------
    evaluator : Evaluator
        With a finite space.
    chunk : int
        Designs evaluated at once; a matter of speed alone.
    workers : Workers
        Who evaluates.
    start : State, optional
        Where to go on.

    Raises
    ------
    DesignError
        Where a model raises; the message names the design.
    """
    total = evaluator.space.size
    if total is None:
        raise ValueError("a space with a continuous variable cannot be enumerated")
    state = start or State(
        0, Archive.empty(len(evaluator.objectives)), Tally.empty(len(evaluator.constraints))
    )
    if state.done < total:
        tables = _tables(evaluator)
        pace = 0.0
        for reached, pace in _probed(evaluator, tables, chunk, state, total):  # noqa: B007
            state = reached
            yield state
        size = _slab_size(pace, chunk, total - state.done, workers.count)
        edges = [*range(state.done, total, size), total]
        yield from _parallel(evaluator, tables, chunk, workers, state, edges)


def _probed(
    evaluator: Evaluator, tables: Mapping[Key, Tabulated], chunk: int, state: State, total: int
) -> Iterator[tuple[State, float]]:
    """Evaluate pieces that grow, until two in a row tell how long a design takes, in seconds.

    One is not enough: the first of all loads what was not needed before.
    """
    size, last = 1, 0.0  # designs of a piece; seconds that the last of this size took
    while state.done < total:
        began, first = time.perf_counter(), state.done
        stop = min(first + size, total)
        state = _with(state, stop, slab(evaluator, tables, first, stop, chunk))
        seconds = time.perf_counter() - began
        seconds = min(seconds, last or seconds)
        yield state, seconds / (stop - first)
        if last or size == chunk:
            return
        if seconds > _PROBE_SECONDS:
            last = seconds
        else:
            size = min(8 * size, chunk)


def _slab_size(pace: float, chunk: int, left: int, workers: int) -> int:
    """Return how many designs make a task: some tenths of a second, and some tasks a worker."""
    size = int(_SLAB_SECONDS / max(pace, 1e-9))
    if size >= chunk:
        return max(chunk, min(size // chunk * chunk, -(-left // (4 * workers))))
    return max(1, min(size, -(-left // (4 * workers))), left // _SLABS)


def _tables(evaluator: Evaluator) -> dict[Key, Tabulated]:
    try:
        return tabulate(evaluator)
    except ModelError:
        return {}  # raised again where it can be traced to a design


def _parallel(
    evaluator: Evaluator,
    tables: Mapping[Key, Tabulated],
    chunk: int,
    workers: Workers,
    state: State,
    edges: list[int],
) -> Iterator[State]:
    bounds = list(itertools.pairwise(edges))
    if workers.count == 1 and workers.backend == "threading":
        for low, high in bounds:
            state = _with(state, high, slab(evaluator, tables, low, high, chunk))
            yield state
        return
    with joblib.parallel_config(backend=workers.backend, n_jobs=workers.count):
        work = joblib.delayed(_attempt)
        tasks = (work(evaluator, tables, low, high, chunk) for low, high in bounds)
        results = joblib.Parallel(return_as="generator")(tasks)
        try:
            for (_, high), result in zip(bounds, results, strict=True):
                if isinstance(result, DesignError):
                    raise result
                state = _with(state, high, result)
                yield state
        finally:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")  # tasks are dropped on purpose where it ends early
                results.close()


def _attempt(
    evaluator: Evaluator, tables: Mapping[Key, Tabulated], start: int, stop: int, chunk: int
) -> tuple[Archive, Tally] | DesignError:
    """Return the error instead of raising it: the first in order is told, not the first in time."""
    try:
        return slab(evaluator, tables, start, stop, chunk)
    except DesignError as error:
        return error


def _with(state: State, done: int, result: tuple[Archive, Tally]) -> State:
    archive, tally = result
    return State(done, state.archive.merged(archive.index, archive.points), state.tally + tally)


def slab(
    evaluator: Evaluator, tables: Mapping[Key, Tabulated], start: int, stop: int, chunk: int
) -> tuple[Archive, Tally]:
    """Return the front and the tally of the designs from `start` up to `stop`."""
    stream = FrontBuilder(len(evaluator.objectives))
    tally = Tally.empty(len(evaluator.constraints))
    chunk = max(1, chunk // evaluator.scenarios)  # arrays have a row for each scenario
    for low in range(start, stop, chunk):
        index = np.arange(low, min(low + chunk, stop))
        digits = evaluator.space.digits(index)
        known = look_up(evaluator.space, tables, digits)
        judged = judge(evaluator, evaluator.space.from_digits(digits), low, known)
        tally += Tally.of(index, judged, evaluator.constraints)
        stream.add(index[judged.feasible], (judged.objectives * evaluator.signs)[judged.feasible])
    return stream.archive(), tally
