"""A cluster: Dask's scheduler and its workers, and how tasks are done there.

What tasks share travels once, as bytes that each worker opens for itself: the study's own code is
in them. A task whose worker is lost is done again by another; so is what travels once.
"""

from __future__ import annotations

import asyncio
import functools
import hashlib
import itertools
import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from typing import Any, NamedTuple, TypeVar

from dse.problems import DseError, InputError, Problem
from dse.search.versions import differences, versions

T = TypeVar("T")

ANSWERS = 5.0  # seconds: a scheduler that has not answered by then does not
_ALONE = 30.0  # seconds without any worker, after which a run ends
_LOOKS = 1.0  # seconds between looks at the cluster while nothing comes
_TICK = 0.25  # seconds between looks at who has nothing to do
_AHEAD = 2  # tasks sent per thread, so no thread waits for its next task
_WAITING = 16  # finished tasks that wait for an earlier one
_HELD = 4  # things that tasks share and that are kept there


class ClusterError(DseError):
    """The cluster does not answer, or cannot do its tasks."""


class WorkerEndedError(Exception):
    """A task ended the worker that did it, several times in a row."""


class _Task(NamedTuple):
    """A task under way, and the worker that it was sent to: if that is lost, another does it."""

    future: Any
    worker: str


class Cluster:
    """The workers of a Dask scheduler.

    Parameters
    ----------
    client : distributed.Client
        Connected to the scheduler.
    address : str
        What messages call it.

    Attributes
    ----------
    tasks : int
        How many were done there.
    lost : bool
        Whether the connection is lost.
    """

    def __init__(self, client: Any, address: str) -> None:
        self._client, self.address = client, address
        self.tasks, self.lost = 0, False
        self._names: tuple[str, ...] = ()  # packages whose code is compared
        self._shared: dict[str, Any] = {}  # futures, by their content
        self._workers: Mapping[str, int] = {}  # their threads, by address
        self._asked = -_LOOKS

    @property
    def threads(self) -> int:
        """How many tasks it does at once, as of about now."""
        return sum(self._known().values())

    def _known(self) -> Mapping[str, int]:
        """Return the recent threads of each worker; raise if the scheduler does not answer."""
        if time.monotonic() - self._asked > _LOOKS:
            asked = self._client.scheduler.ncores
            try:
                self._workers = self._client.sync(asked, callback_timeout=ANSWERS)
            except (OSError, ValueError, AttributeError, RuntimeError):
                raise self._gone() from None
            self._asked = time.monotonic()
        return self._workers

    def check(self, names: tuple[str, ...]) -> None:
        """Hold what the workers run to what runs here.

        Parameters
        ----------
        names : tuple of str
            The packages whose code is compared; see `packages`.

        Raises
        ------
        InputError
            If there is no worker, or one has other versions or other code: the result would not be
            the same. The message lists each.
        """
        ours = _here(names)
        try:
            given = self._client.sync(
                self._client._run, versions, names, on_error="return", callback_timeout=ANSWERS
            )
        except (OSError, ValueError, RuntimeError) as error:
            why = str(error) or type(error).__name__
            raise InputError(
                self.address, [Problem("", f"its workers do not answer: {why}")]
            ) from None
        if not given:
            remedy = f"start some there: dask worker {self.address}"
            raise InputError(self.address, [Problem("", "it has no workers", remedy)])
        problems = [
            Problem(worker, told, "install there what is installed here")
            for worker, theirs in given.items()
            if (told := differences(ours, theirs))
        ]
        if problems:
            raise InputError(self.address, problems)
        self._names = names

    def each(
        self, function: Callable[..., T], tasks: Iterable[tuple[object, ...]], until: float
    ) -> Iterator[T]:
        """Yield what a function returns for each task, in order; leaving early drops the rest.

        Parameters
        ----------
        function : callable
            With what tasks share bound to it; it travels once.
        until : float
            The `time.time` after which nothing is waited for.

        Raises
        ------
        ClusterError
            If the scheduler does not answer, or no worker is left.
        TimeoutError
            If the time is over.
        WorkerEndedError
            If a task ends its workers.
        """
        shared, left, under_way = self._sent(function), iter(tasks), deque[_Task]()
        try:
            while True:
                self._fill(under_way, shared, left)
                if not under_way:
                    return
                self._wait_for(under_way, until, lambda: self._fill(under_way, shared, left))
                ready = [*itertools.takewhile(lambda t: t.future.status == "finished", under_way)]
                for value in self._gathered(ready or [under_way[0]]):
                    under_way.popleft()
                    self.tasks += 1
                    yield value
        finally:
            under_way.clear()  # what nobody holds, the scheduler drops

    def _fill(
        self, under_way: deque[_Task], shared: Any, tasks: Iterator[tuple[object, ...]]
    ) -> None:
        """Begin tasks; each worker gets some.

        Left to itself, the scheduler sends tasks to where what they share is, and lets others idle.
        """
        workers = self._known()
        room = {worker: _AHEAD * threads for worker, threads in workers.items()}
        for task in under_way:
            if task.worker in room and not task.future.done():
                room[task.worker] -= 1
        most = _WAITING * max(sum(workers.values()), 1)
        while len(under_way) < most and (room or not under_way):
            worker = max(room, key=room.__getitem__, default="")
            if room.get(worker, 1) <= 0 or (new := next(tasks, None)) is None:
                return
            given = shared, _here(self._names), self._names, new
            place = {"workers": [worker], "allow_other_workers": True} if worker else {}
            under_way.append(_Task(self._submitted(_done, *given, **place), worker))
            if worker:
                room[worker] -= 1

    def _sent(self, function: Callable[..., T]) -> Any:
        """Return a task that gives a worker what tasks share; lost, it is done again."""
        import cloudpickle

        packed = cloudpickle.dumps(function)
        name = f"dse-shared-{hashlib.sha256(packed).hexdigest()[:32]}"
        if name not in self._shared:
            while len(self._shared) >= _HELD:
                self._shared.pop(next(iter(self._shared)))
            self._shared[name] = self._submitted(_kept, packed, key=name)
        return self._shared[name]

    def _submitted(self, function: Any, *given: Any, **place: Any) -> Any:
        from dask.config import set as setting

        with setting({"distributed.admin.large-graph-warning-threshold": "1 TB"}):
            return self._client.submit(function, *given, pure=False, **place)

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
            if time.monotonic() - idle > _ALONE:
                raise ClusterError(f"no worker is left at {self.address}")

    def _gathered(self, tasks: Sequence[_Task]) -> list[Any]:
        from distributed import KilledWorker

        try:
            found: list[Any] = self._client.gather([task.future for task in tasks])
        except KilledWorker:
            raise WorkerEndedError from None
        except ModuleNotFoundError as error:
            raise ClusterError(f"a worker at {self.address} cannot load a model: {error}") from None
        except Exception as error:
            if not _is_cancelled(error) and not isinstance(error, OSError):
                raise
            raise self._gone() from None
        for each in found:
            if isinstance(each, _Differs):
                raise ClusterError(f"a worker at {self.address} came to it later: {each.told}")
        return found

    def _gone(self) -> ClusterError:
        self.lost = True
        return ClusterError(f"the Dask scheduler at {self.address} does not answer")


_here = versions


def _is_cancelled(error: BaseException) -> bool:
    from concurrent.futures import CancelledError

    return isinstance(error, CancelledError | asyncio.CancelledError)


# ------------------------------------------------------------------------------ on the workers


def is_in_a_task() -> bool:
    """Return whether this is a task of a worker: it occupies a thread of the cluster."""
    from distributed.worker import thread_state

    return hasattr(thread_state, "execution_state")


class _Differs:
    """The answer of a worker whose versions or code differ."""

    def __init__(self, told: str) -> None:
        self.told = told


def _kept(packed: bytes) -> bytes:
    return packed


@functools.lru_cache(maxsize=_HELD)
def _opened(packed: bytes) -> Callable[..., Any]:
    import cloudpickle

    function: Callable[..., Any] = cloudpickle.loads(packed)
    return function


def _done(
    packed: bytes, ours: Mapping[str, str], names: tuple[str, ...], task: tuple[object, ...]
) -> Any:
    told = differences(ours, versions(names))
    return _Differs(told) if told else _opened(packed)(*task)
