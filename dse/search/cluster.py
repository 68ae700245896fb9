"""A cluster: Dask's scheduler and its workers, and how they do tasks.

The common part of tasks travels once, as bytes that each worker opens for itself: the study's own
code is in them. If a worker is lost, another does its tasks again.
"""

from __future__ import annotations

import functools
import hashlib
import importlib.metadata
import importlib.util
import itertools
import platform
import time
from collections import deque
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

from dse.problems import DseError, InputError, Problem

T = TypeVar("T")

ANSWER_SECONDS = 5.0
"""A scheduler that has not answered after so many seconds is not there."""
_MAX_WORKERLESS = 30.0  # seconds without any worker, after which a run ends
_LOOK = 1.0  # seconds between looks at the cluster while nothing comes
_TICK = 0.25  # seconds between looks at who has nothing to do
_AHEAD = 2  # tasks sent per thread, so no thread waits for its next task
_WAITING = 16  # finished tasks that wait for an earlier one
_HELD = 4  # common parts of tasks that a worker keeps
_LIBRARIES = ("numpy", "scipy")  # other versions may give other bits


# -------------------------------------------------------------------------------- the versions


def list_packages(modules: Iterable[str]) -> tuple[str, ...]:
    """Return the packages that workers must have: `dse`, and the packages of some modules."""
    return tuple(sorted({"dse", *(name.partition(".")[0] for name in modules)} - {"__main__"}))


@functools.lru_cache(maxsize=8)
def list_versions(packages: tuple[str, ...]) -> Mapping[str, str]:
    """Return versions by name: of Python, of libraries, and of the code of packages itself.

    Results are the same on every machine only if these are.
    """
    python = {"Python": ".".join(platform.python_version_tuple()[:2])}
    libraries = {name: importlib.metadata.version(name) for name in _LIBRARIES}
    return python | libraries | {name: _version_of_code(name) for name in packages}


def _version_of_code(package: str) -> str:
    """Return a package's version and a digest of its code, which may change without it."""
    spec = importlib.util.find_spec(package)
    if spec is None:
        return "absent"
    roots = [Path(p) for p in spec.submodule_search_locations or ()]
    files = [(f.relative_to(root).as_posix(), f) for root in roots for f in root.rglob("*.py")]
    if not roots and spec.origin and spec.has_location:
        files = [(package, Path(spec.origin))]
    state = hashlib.sha256()
    for name, file in sorted(files):
        state.update(name.encode() + b"\0" + file.read_bytes() + b"\0")
    code = f"code {state.hexdigest()[:8]}"
    with suppress(importlib.metadata.PackageNotFoundError):
        version = importlib.metadata.version("dse-accelerators" if package == "dse" else package)
        return f"{version} ({code})"
    return code


def describe_differences(ours: Mapping[str, str], theirs: Mapping[str, str] | BaseException) -> str:
    """Return in words which versions of a worker differ from ours; empty if none does."""
    if isinstance(theirs, BaseException):
        return f"cannot work: {theirs}"
    return ", ".join(
        f"{name} is {theirs.get(name, 'absent')} there and {version} here"
        for name, version in ours.items()
        if theirs.get(name) != version
    )


# --------------------------------------------------------------------------------- the cluster


class ClusterError(DseError):
    """The cluster does not answer, or cannot do its tasks."""


class WorkerEndedError(Exception):
    """A task ended the worker that did it, several times in a row."""


class _Task(NamedTuple):
    """A task under way, and the worker that it was sent to."""

    future: Any
    worker: str


class Cluster:
    """The workers of a Dask scheduler, to which a `distributed.Client` is connected.

    Messages name its `address`. So many `tasks` were done there; the connection may be `lost`.
    """

    def __init__(self, client: Any, address: str) -> None:
        self._client, self.address = client, address
        self.tasks, self.lost = 0, False
        self._packages: tuple[str, ...] = ()  # whose code is compared
        self._shared: dict[str, Any] = {}  # futures, by their content
        self._workers: Mapping[str, int] = {}  # their threads, by address
        self._looked = -_LOOK

    @property
    def threads(self) -> int:
        """How many tasks the cluster does at once, as of about now."""
        return sum(self._threads_by_worker().values())

    def _threads_by_worker(self) -> Mapping[str, int]:
        if time.monotonic() - self._looked > _LOOK:
            request = self._client.scheduler.ncores
            try:
                self._workers = self._client.sync(request, callback_timeout=ANSWER_SECONDS)
            except (OSError, ValueError, AttributeError, RuntimeError):
                raise self._lose() from None
            self._looked = time.monotonic()
        return self._workers

    def check(self, packages: tuple[str, ...]) -> None:
        """Compare the versions of all workers with those here; see `list_packages`.

        Raises
        ------
        InputError
            If there is no worker, or one has other versions or other code: the result would not be
            the same. The message lists each.
        """
        ours = list_versions(packages)
        arguments = {"on_error": "return", "callback_timeout": ANSWER_SECONDS}
        try:
            run = self._client._run
            answers = self._client.sync(run, list_versions, packages, **arguments)
        except (OSError, ValueError, RuntimeError) as error:
            why = str(error) or type(error).__name__
            problem = Problem("", f"its workers do not answer: {why}")
            raise InputError(self.address, [problem]) from None
        if not answers:
            remedy = f"start some there: dask worker {self.address}"
            raise InputError(self.address, [Problem("", "it has no workers", remedy)])
        problems = [
            Problem(worker, differences, "install there what is installed here")
            for worker, theirs in answers.items()
            if (differences := describe_differences(ours, theirs))
        ]
        if problems:
            raise InputError(self.address, problems)
        self._packages = packages

    def each(
        self, function: Callable[..., T], tasks: Iterable[tuple[object, ...]], until: float
    ) -> Generator[T]:
        """Yield what a function returns for each task, in order; leaving early drops the rest.

        What tasks share is bound to the function, which travels once.

        Raises
        ------
        ClusterError
            If the scheduler does not answer, or no worker is left.
        TimeoutError
            If the time is over: `time.time` is beyond `until`.
        WorkerEndedError
            If a task ends its workers.
        """
        shared, left, under_way = self._send(function), iter(tasks), deque[_Task]()
        try:
            while True:
                self._fill(under_way, shared, left)
                if not under_way:
                    return
                self._wait_for(under_way, until, lambda: self._fill(under_way, shared, left))
                ready = [*itertools.takewhile(lambda t: t.future.status == "finished", under_way)]
                for value in self._gather(ready or [under_way[0]], until):
                    under_way.popleft()
                    self.tasks += 1
                    yield value
        finally:
            under_way.clear()  # the scheduler drops futures that nobody holds

    def _fill(
        self, under_way: deque[_Task], shared: Any, tasks: Iterator[tuple[object, ...]]
    ) -> None:
        # Each worker gets some tasks. Without this, the scheduler sends tasks to where their common
        # part is, and lets other workers idle.
        workers = self._threads_by_worker()
        room = {worker: _AHEAD * threads for worker, threads in workers.items()}
        for task in under_way:
            if task.worker in room and not task.future.done():
                room[task.worker] -= 1
        limit = _WAITING * max(sum(workers.values()), 1)
        while len(under_way) < limit and (room or not under_way):
            worker = max(room, key=room.__getitem__, default="")
            if room.get(worker, 1) <= 0 or (new := next(tasks, None)) is None:
                return
            arguments = shared, list_versions(self._packages), self._packages, new
            place = {"workers": [worker], "allow_other_workers": True} if worker else {}
            under_way.append(_Task(self._submit(run_task, *arguments, **place), worker))
            if worker:
                room[worker] -= 1

    def _send(self, function: Callable[..., T]) -> Any:
        """Return a task that gives a worker the common part; if it is lost, it is done again."""
        import cloudpickle

        packed = cloudpickle.dumps(function)
        name = f"dse-shared-{hashlib.sha256(packed).hexdigest()[:32]}"
        if name not in self._shared:
            while len(self._shared) >= _HELD:
                self._shared.pop(next(iter(self._shared)))
            self._shared[name] = self._submit(_return, packed, key=name)
        return self._shared[name]

    def _submit(self, function: Any, *arguments: Any, **place: Any) -> Any:
        from dask.config import set as setting

        with setting({"distributed.admin.large-graph-warning-threshold": "1 TB"}):
            return self._client.submit(function, *arguments, pure=False, **place)

    def _wait_for(
        self, under_way: deque[_Task], until: float, meanwhile: Callable[[], None]
    ) -> None:
        """Wait for the first task, for as long as there is time, a scheduler and a worker."""
        idle, future = time.monotonic(), under_way[0].future
        while not future.done():
            left = until - time.time()
            if left <= 0:
                raise TimeoutError
            with suppress(TimeoutError):
                future.exception(timeout=min(left, _TICK))
            meanwhile()
            idle = time.monotonic() if self.threads else idle
            if time.monotonic() - idle > _MAX_WORKERLESS:
                raise ClusterError(f"no worker is left at {self.address}")

    def _gather(self, tasks: Sequence[_Task], until: float) -> list[Any]:
        import asyncio  # slow to import: only a cluster needs it
        from concurrent.futures import CancelledError

        from distributed import KilledWorker

        cancelled = CancelledError, asyncio.CancelledError
        try:
            results = self._collect([task.future for task in tasks], until)
        except TimeoutError:  # it is an OSError, too
            raise
        except KilledWorker:
            raise WorkerEndedError from None
        except ModuleNotFoundError as error:
            raise ClusterError(f"a worker at {self.address} cannot load a model: {error}") from None
        except (*cancelled, OSError):
            raise self._lose() from None
        for result in results:
            if isinstance(result, _Refusal):
                message = f"a worker that joined {self.address} later differs: {result.differences}"
                raise ClusterError(message)
        return results

    def _collect(self, futures: list[Any], until: float) -> list[Any]:
        """Return the results of finished tasks.

        A finished task whose worker was killed before its result was fetched is done again, for
        ever if no worker is left. So the wait has a limit, after which the workers are counted.
        """

        async def collect() -> Any:
            return await self._client.gather(futures, asynchronous=True)

        limit = _MAX_WORKERLESS
        while True:
            try:
                results: list[Any] = self._client.sync(collect, callback_timeout=limit)
                return results
            except TimeoutError:
                if time.time() > until:
                    raise
                if not self.threads:
                    raise ClusterError(f"no worker is left at {self.address}") from None
                limit *= 2

    def _lose(self) -> ClusterError:
        self.lost = True
        return ClusterError(f"the Dask scheduler at {self.address} does not answer")


# ------------------------------------------------------------------------------ on the workers


def is_in_a_task() -> bool:
    """Return whether this is a task of a worker: it occupies a thread of the cluster."""
    from distributed.worker import thread_state

    return hasattr(thread_state, "execution_state")


class _Refusal(NamedTuple):
    """The answer of a worker whose versions or code differ."""

    differences: str


def _return(packed: bytes) -> bytes:
    return packed


@functools.lru_cache(maxsize=_HELD)
def _unpack(packed: bytes) -> Callable[..., Any]:
    import cloudpickle

    function: Callable[..., Any] = cloudpickle.loads(packed)
    return function


def run_task(
    packed: bytes, ours: Mapping[str, str], packages: tuple[str, ...], task: tuple[object, ...]
) -> Any:
    """Return the result of a task, or a refusal if the versions of this worker differ."""
    differences = describe_differences(ours, list_versions(packages))
    return _Refusal(differences) if differences else _unpack(packed)(*task)
