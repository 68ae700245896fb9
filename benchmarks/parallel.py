"""Searches on two cores: how much of their work two workers can share, from processor seconds.

    python -m benchmarks.parallel [search ...]

Elapsed times say little on a busy machine. So each search runs once on one thread, cut into the
pieces of two workers, and the processor time of each piece is measured. A schedule on two cores
then gives the seconds that two idle cores would take: pieces go to the core that is free first, and
all else is serial. `speedup` is the ratio of all work to this time. The schedule leaves out the
time that threads lose by waiting for the lock of the interpreter. `two threads` has the processor
seconds of a search with two workers. Its excess over `one` is this loss. The command ends with 1 if
both searches end with different bytes.
"""

from __future__ import annotations

import argparse
import hashlib
import sys
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import ExitStack
from typing import Any, NamedTuple, TypeVar
from unittest.mock import patch

import numpy as np

from benchmarks import peer_problems
from benchmarks.bound_problems import finer
from benchmarks.bounds import continuous
from benchmarks.shared_aes import shared_aes
from dse.evaluate.evaluator import Evaluator
from dse.search.base import SearchSettings, Start, find_method
from dse.search.workers import Threads, Workers

T = TypeVar("T")


class Case(NamedTuple):
    """A search: its problem, method, tolerance and evaluations (0: the default)."""

    make: Callable[[], Evaluator]
    method: str
    tolerance: float = 0.0
    evaluations: int = 0


CASES: Mapping[str, Case] = {
    "bound, rotate, exact": Case(lambda: finer("rotate"), "bound"),
    "bound, jpeg, exact": Case(lambda: finer("jpeg"), "bound"),
    "bound, shared, exact": Case(lambda: shared_aes(3_100, 6_400, 80), "bound"),
    "bound, compress, 1 %": Case(lambda: finer("compress"), "bound", 0.01),
    "bound, five, 1 %": Case(lambda: continuous("overhead", "latency_per_byte"), "bound", 0.01),
    "evolution, compress": Case(lambda: finer("compress"), "evolution", 0.0, 200_000),
    "evolution, twenty": Case(lambda: peer_problems.twenty().evaluator, "evolution", 0.0, 400_000),
}


class Schedule:
    """The clocks of two cores, in processor seconds; this thread is the first."""

    def __init__(self) -> None:
        self.now = self.other = self.serial = self.total = 0.0
        self.inside = False
        self._mark = time.thread_time()

    def pause(self) -> None:
        """Add the serial seconds since `resume`."""
        seconds = time.thread_time() - self._mark
        self.now += seconds
        self.serial += seconds
        self.total += seconds

    def resume(self) -> None:
        """Begin to count serial seconds."""
        self._mark = time.thread_time()

    def measure(self, function: Callable[..., T], task: tuple[Any, ...]) -> tuple[T, float]:
        """Return the result and the seconds of one piece of work."""
        self.inside, began = True, time.thread_time()
        try:
            result = function(*task)
        finally:
            self.inside = False
        seconds = time.thread_time() - began
        self.total += seconds
        return result, seconds

    def share(self, seconds: Iterable[float]) -> None:
        """Spread pieces over both cores, and wait for all."""
        cores, last = [self.now, max(self.now, self.other)], self.now
        for piece in seconds:
            core = 0 if cores[0] <= cores[1] else 1
            cores[core] += piece
            last = max(last, cores[core])
        self.now, self.other = last, max(cores)

    def each(self, function: Callable[..., T], tasks: Iterable[tuple[Any, ...]]) -> Iterator[T]:
        """Work on tasks as `Threads.each` does."""
        if self.inside:
            return iter([function(*task) for task in tasks])
        pieces = list(tasks)
        self.pause()
        results = [self.measure(function, task) for task in pieces]
        self.share(seconds for _, seconds in results)
        self.resume()
        return iter([result for result, _ in results])

    def start(self, function: Callable[..., T], *task: object) -> Callable[[], T]:
        """Work on a task as `Threads.start` does."""
        self.pause()
        result, seconds = self.measure(function, task)
        end = self.other = max(self.now, self.other) + seconds
        self.resume()

        def wait() -> T:
            self.pause()
            self.now = max(self.now, end)
            self.resume()
            return result

        return wait


class Run(NamedTuple):
    """What a search took: processor seconds, and a digest of all that it knows at its end."""

    seconds: float
    digest: str


def search(case: Case, evaluator: Evaluator, workers: int) -> Run:
    """Search, and measure."""
    settings = SearchSettings(case.method, case.evaluations, tolerance=case.tolerance)
    method, objectives = find_method(case.method), len(evaluator.objectives)
    plan = method.plan(settings, evaluator.space, objectives, [])
    began = time.process_time()
    under_way = method.start(Start(evaluator, plan, workers=Workers(workers)))
    for _ in under_way.steps():
        pass
    seconds = time.process_time() - began
    digest = hashlib.sha256()
    for array in under_way.state().values():
        digest.update(np.ascontiguousarray(array).tobytes())
    return Run(seconds, digest.hexdigest())


def schedule(case: Case, evaluator: Evaluator) -> Schedule:
    """Return the schedule of a search on two cores."""
    cores = Schedule()
    with ExitStack() as stack:
        stack.enter_context(patch.object(Threads, "each", lambda _, *given: cores.each(*given)))
        stack.enter_context(patch.object(Threads, "start", lambda _, *given: cores.start(*given)))
        stack.enter_context(patch.object(Workers, "each", lambda _, *given: cores.each(*given)))
        cores.resume()
        search(case, evaluator, 2)
        cores.pause()
    return cores


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("searches", nargs="*", default=list(CASES))
    given = parser.parse_args()
    unknown = sorted(set(given.searches) - set(CASES))
    if unknown:
        parser.error(f"no search {', '.join(unknown)}; there are {', '.join(CASES)}")
    heads = ["search", "one [s]", "serial [s]", "two cores [s]", "speedup", "two threads [s]"]
    print("| " + " | ".join(heads) + " |\n" + "|---" * len(heads) + "|")
    different = 0
    for name in given.searches:
        case = CASES[name]
        evaluator = case.make()
        search(case, evaluator, 1)  # imports, and tables that are made once
        one, two = (search(case, evaluator, workers) for workers in (1, 2))
        cores = schedule(case, evaluator)
        different += one.digest != two.digest
        numbers = one.seconds, cores.serial, cores.now, cores.total / cores.now, two.seconds
        print(f"| {name} | " + " | ".join(f"{number:.2f}" for number in numbers) + " |", flush=True)
    sys.exit(bool(different))


if __name__ == "__main__":
    main()
