"""Workers: threads, processes or a Dask cluster, and how designs are spread over them."""

from __future__ import annotations

import contextlib
import itertools
import math
import multiprocessing
import threading
import time
from collections import deque
from collections.abc import Callable, Generator, Iterable, Iterator
from concurrent.futures import BrokenExecutor, Future, ThreadPoolExecutor
from dataclasses import dataclass, replace
from functools import partial
from queue import SimpleQueue
from typing import Any, ParamSpec, TypeVar

from dse.evaluate.evaluator import Evaluated, Evaluator, concatenate_batches
from dse.evaluate.failures import DesignError, evaluate_naming_failures
from dse.evaluate.space import Points
from dse.search.cluster import Cluster, WorkerEndedError

T = TypeVar("T")
P = ParamSpec("P")

PIECE = 8_192
"""Rows worked on at once: their columns stay in the processor's cache."""
MODEL_PIECE = 32_768
"""Rows that models work on at once: to call all models costs as much as some thousand rows."""
NEVER = float("inf")
"""A time limit that does not come."""
HANGS = "a model hangs, or takes that long"
_ENDED = (
    " ended: a model crashed, left with os._exit, or took more memory than there is; "
    "it was at {designs}, or soon after"
)
_MIN_HANG = 2.0  # seconds: any task may take so long, as the first of a process loads libraries
_AT_ONCE = 1e-3  # seconds
_AHEAD = 2  # tasks for each thread that are under way or wait for earlier ones
_FEW = 64  # designs: batches double up to this size
_TASKS = 4  # of a small batch per worker: a task of fast designs costs more than they do
_GROWTH = 4  # and then have this fraction of the designs done
# Two threads share the interpreter's lock. Measured on two idle cores, they take as long as one for
# designs that a model computes faster, and up to 1.4 times as long, however many there are.
_SLOW_DESIGN = 1e-3  # seconds of one among many
_LONG_BATCH = 0.2  # seconds of a small batch that is worth several calls of all models
_FRACTION = 8  # and this one, over all workers, if the user sets a time limit


def batch_size(done: int, until: float = NEVER, workers: int = 1) -> int:
    """Return how many designs are evaluated next, by the number that the session has evaluated.

    The sizes do not depend on how long anything takes, and so not on a busy machine. A batch takes
    about a quarter of the time so far. So little is lost if the run is killed. If the user sets a
    time limit, all workers together overrun it by about an eighth.

    >>> [batch_size(done) for done in (0, 1, 2, 100, 256, 8_000)]
    [1, 1, 2, 64, 64, 2000]
    >>> batch_size(8_000, until=1.0, workers=2)
    500
    """
    if until < NEVER:
        return max(1, done // (_FRACTION * workers))
    return max(1, min(done, _FEW), done // _GROWTH)


def is_late(until: float) -> bool:
    """Return whether a time limit, in seconds of `time.time`, is over, on any machine."""
    return until < NEVER and time.time() > until


class EndedError(DesignError):
    """A process that worked has ended; the text has a place for the `{designs}` of its task.

    The `task`, from 0, is the first task without a result. Others may have been under way.
    """

    def __init__(self, text: str, task: int = 0) -> None:
        super().__init__(text, task)
        self.text, self.task = text, task

    def __str__(self) -> str:
        return self.text.format(designs="a few designs")

    def with_designs(self, first: int, last: int) -> EndedError:
        """Return the error with the numbers of the designs of its task."""
        designs = f"design {first}" if first == last else f"designs {first} to {last}"
        return EndedError(self.text.format(designs=designs), self.task)


class LateError(EndedError):
    """The time was over after a process had `waited` so many seconds for a task; 0: before it."""

    def __init__(self, task: int, waited: float) -> None:
        text = "the time was over before {designs} began: give the run more"
        if waited:
            text = f"{{designs}}: not done after {waited:.1f} s, when the time was over: {HANGS}"
        super().__init__(text, task)
        self.waited = waited


@dataclass(frozen=True)
class Workers:
    """Who does the work."""

    count: int
    backend: str = "threading"
    """joblib's name; threads serve models that release the interpreter lock, as numpy does. One of
    "threading", "loky", "dask"."""
    until: float = NEVER
    """The `time.time` at which processes that still work are ended; threads cannot be."""
    since: float = 0.0
    """The `time.time` at which the session began, if it has a time limit."""
    cluster: Cluster | None = None
    isolated: bool = False
    """Whether models run in other processes than this one even if that takes longer."""

    @property
    def isolate_models(self) -> bool:
        """Whether all models run in other processes than this one, however cheap they are."""
        return self.backend == "loky" or self.isolated

    def threads(self) -> Threads:
        """Return threads of this process for pieces of work that are too short for `each`."""
        return Threads(1 if self.isolate_models else self.count)

    @property
    def midway(self) -> float:
        """When half of the time that is left now is over: for what prepares a search."""
        return self.until if self.until == NEVER else (time.time() + self.until) / 2

    def call(self, function: Callable[..., T], *task: object) -> T:
        """Return what a function returns: here, or in a process if models run in processes.

        Raises
        ------
        DesignError
            As in `each`.
        """
        if not self.isolate_models:
            return function(*task)
        (result,) = self.each(partial(function, *task), [()])
        return result

    def each(self, function: Callable[..., T], tasks: Iterable[tuple[object, ...]]) -> Iterator[T]:
        """Yield what a function returns for each task, in order; leaving early drops the rest.

        What tasks share is bound to the function: it travels to a cluster once.

        Raises
        ------
        ClusterError
            If the cluster does not answer.
        DesignError
            If a model raises: of several errors the first in order, not the first in time.
        EndedError
            If a process that works ends; a `LateError` if it was ended as the time is over, unless
            a model hangs.
        """
        given, failing = list[float](), partial(_attempt, function)
        if self.cluster is not None and not self.cluster.lost:
            results = self.cluster.each(failing, _timed(tasks, given), self.until)
        elif self.backend == "loky":
            results = self._each_in_processes(failing, _timed(tasks, given))
        elif self.count > 1 and self.cluster is None:
            yield from _each_in_threads(self.count, function, tasks)
            return
        else:
            yield from (function(*task) for task in tasks)
            return
        with contextlib.closing(results):
            for task in itertools.count():
                try:
                    result = next(results)
                except StopIteration:
                    return
                except (TimeoutError, multiprocessing.TimeoutError):
                    began = given[task] < self.until
                    late = LateError(task, time.time() - given[task] if began else 0.0)
                    # a task has an eighth of the designs before it: if it takes longer, it hangs
                    hangs = late.waited >= max(_MIN_HANG, given[task] - self.since)
                    raise (EndedError(late.text, task) if hangs else late) from None
                except WorkerEndedError:
                    raise EndedError("several workers of the cluster" + _ENDED, task) from None
                except BrokenExecutor:
                    raise EndedError("a process of the workers" + _ENDED, task) from None
                if isinstance(result, DesignError):
                    raise result
                yield result

    def _each_in_processes(
        self, function: Callable[..., T], tasks: Iterable[tuple[object, ...]]
    ) -> Generator[T]:
        import joblib

        with joblib.parallel_config(backend=self.backend, n_jobs=self.count):
            parallel = joblib.Parallel(return_as="generator")
            results = parallel(joblib.delayed(function)(*task) for task in tasks)
            try:
                while True:
                    if self.until < NEVER:
                        parallel.timeout = max(self.until - time.time(), _AT_ONCE)
                    try:
                        result = next(results)
                    except StopIteration:
                        return
                    yield result
            finally:
                parallel.timeout = _AT_ONCE
                with contextlib.suppress(Exception, KeyboardInterrupt):  # of the processes, too
                    deque(results, maxlen=0)


ALONE = Workers(1)
"""One thread: this one."""


def _each_in_threads(
    count: int, function: Callable[..., T], tasks: Iterable[tuple[object, ...]]
) -> Iterator[T]:
    # Daemon threads: a model that hangs does not keep the process. Few tasks are taken ahead.
    left, under_way, given = iter(tasks), deque[Future[T]](), SimpleQueue[Any]()
    for _ in range(count):
        threading.Thread(target=_serve, args=(given, function), daemon=True).start()
    try:
        while True:
            for task in itertools.islice(left, _AHEAD * count - len(under_way)):
                under_way.append(Future())
                given.put((under_way[-1], task))
            if not under_way:
                return
            yield under_way.popleft().result()
    finally:
        for future in under_way:
            future.cancel()
        for _ in range(count):
            given.put(None)


def _serve(given: SimpleQueue[Any], function: Callable[..., Any]) -> None:
    """Work on tasks until there is none."""
    while (job := given.get()) is not None:
        future, task = job
        if future.set_running_or_notify_cancel():
            try:
                future.set_result(function(*task))
            except BaseException as error:
                future.set_exception(error)


def _timed(tasks: Iterable[tuple[object, ...]], given: list[float]) -> Iterator[tuple[object, ...]]:
    """Yield tasks, and note when each is given."""
    for task in tasks:
        given.append(time.time())
        yield task


def _attempt(function: Callable[P, T], *task: P.args, **named: P.kwargs) -> T | DesignError:
    """Return the error instead of raising it: errors then come in the order of the tasks."""
    try:
        return function(*task, **named)
    except DesignError as error:
        return error


class Threads:
    """Threads that wait for pieces of milliseconds, kept for a search; numpy lets them run at once.

    The chunks do not depend on the number of threads, and neither do the last bits of a result. One
    thread is this one.
    """

    def __init__(self, count: int = 1) -> None:
        self._pool = ThreadPoolExecutor(count, "piece") if count > 1 else None

    def start(self, function: Callable[..., T], *task: object) -> Callable[[], T]:
        """Work on one task next to the caller; return a function that waits for its result.

        The task must not use these threads itself. One thread does the task at once.
        """
        if self._pool is None:
            result = function(*task)
            return lambda: result
        return self._pool.submit(function, *task).result

    def each(self, function: Callable[..., T], tasks: Iterable[tuple[Any, ...]]) -> Iterator[T]:
        """Yield what a function returns for each task, in order; leaving early drops the rest."""
        if self._pool is None:
            return (function(*task) for task in tasks)
        return self._pool.map(lambda task: function(*task), tasks)

    def rows(self, function: Callable[[slice], T], count: int, most: int = PIECE) -> list[T]:
        """Return what a function returns for each run of rows, in order; one at least.

        The runs have about as many rows each, at most `most`. More than a quarter of `PIECE` are
        an even number of runs: two threads then end at about the same time.
        """
        runs = -(-count // most)
        if count > PIECE // 4:
            runs += runs % 2
        size = max(1, -(-count // max(runs, 1)))
        lows = range(0, max(count, 1), size)
        return list(self.each(function, ((slice(low, low + size),) for low in lows)))


# ------------------------------------------------------------------------- batches of designs


class BatchEvaluator:
    """Evaluate batches of designs, in pieces of at most `chunk`, spread over workers.

    The chunk is a matter of speed only. So is `keep_small`: small batches then stay on this thread,
    unless they take long. That suits models which compute a few designs about as fast as one.
    """

    def __init__(
        self,
        evaluator: Evaluator,
        workers: Workers = ALONE,
        chunk: int = 65_536,
        keep_small: bool = False,
    ) -> None:
        self._evaluator, self._workers, self._keep_small = evaluator, workers, keep_small
        rows = max(1, chunk // evaluator.scenarios)  # arrays have a row per scenario
        self._max_piece = min(rows, MODEL_PIECE)
        self._done = 0
        self._pace = math.inf  # seconds per design and worker of the last batch

    def evaluate(
        self, points: Points, first: int, until: float = NEVER, screens: bool = False
    ) -> Evaluated:
        """Evaluate designs numbered from `first`: all, or the first of them if the time is over.

        Some are evaluated in any case, unless the workers are processes, which are ended. With
        `screens`, objectives are computed only of designs that no constraint excludes.

        Raises
        ------
        DesignError
            If a model raises.
        """
        evaluator = replace(self._evaluator, screens=screens) if screens else self._evaluator
        count = len(next(iter(points.values())))
        workers = self._workers if self._pays(count) else ALONE
        cuts, began = list(self._cut(count, workers.count, until)), time.perf_counter()
        tasks = (
            (
                {name: values[low:high] for name, values in points.items()},
                first + low,
                NEVER if low == 0 else until,
            )
            for low, high in cuts
        )
        parts = [Evaluated.empty(evaluator)]
        try:
            for part in workers.each(partial(_evaluate_piece, evaluator), tasks):
                parts.append(part)
                if len(part) == 0 or is_late(until):
                    break
        except EndedError as ended:
            low, high = cuts[ended.task]
            if not isinstance(ended, LateError) or self._done + low == 0:
                raise ended.with_designs(first + low, first + high - 1) from None
        evaluated = concatenate_batches(parts[1:]) if len(parts) > 1 else parts[0]
        self._done += len(evaluated)
        seconds = time.perf_counter() - began  # a model may wait for another program
        self._pace = seconds * min(workers.count, len(cuts)) / max(len(evaluated), 1)
        return evaluated

    def _pays(self, count: int) -> bool:
        """Return whether workers are quicker than this thread: threads wait for each other.

        This is a matter of speed only, and not of the result.
        """
        if self._workers.backend != "threading" or self._workers.isolated:
            return True
        if count <= _FEW:
            return not self._keep_small or count * self._pace >= _LONG_BATCH
        return self._pace >= _SLOW_DESIGN

    def _cut(self, count: int, workers: int, until: float) -> Iterator[tuple[int, int]]:
        """Yield the pieces of a batch: one for each worker, and smaller ones with a time limit."""
        tasks = 1 if workers == 1 else _TASKS
        if count > _FEW:  # as many pieces for each worker, and all about as large
            tasks = -(-count // (workers * self._max_piece))
        size = -(-count // (workers * tasks))
        low = 0
        while low < count:
            limit = batch_size(self._done + low, until, workers) if until < NEVER else size
            high = min(low + min(size, limit, self._max_piece), count)
            yield low, high
            low = high


def _evaluate_piece(evaluator: Evaluator, points: Points, first: int, until: float) -> Evaluated:
    if is_late(until):
        return Evaluated.empty(evaluator)
    return evaluate_naming_failures(evaluator, points, first)
