"""Two cores beside one, and what an enumeration holds in memory.

    python -m benchmarks.cores slow [rounds]             # a model of 1 ms a design, by processes
    python -m benchmarks.cores logca [designs] [rounds]  # a sweep of LogCA, by threads
    python -m benchmarks.cores memory [designs ...]      # the sweep's peak, in fresh processes

Runs with one worker and with two take turns. What other programs use of two cores meanwhile is
printed: on a busy machine wall time says little, and a round waits for a while until there is
little else. `bound` is what two idle cores could reach if nothing waited for a lock: one worker's
processor time over the longest of half of the two's and of the busiest thread's.
"""

from __future__ import annotations

import multiprocessing
import os
import resource
import statistics
import sys
import threading
import time
from collections.abc import Callable
from typing import Annotated, NamedTuple

import numpy as np
import psutil  # type: ignore[import-untyped]

from dse import Array, Floats, Quantity
from dse.search.base import Start, find_method
from dse.search.workers import Workers
from dse.study.study import ResolvedStudy, make_study

LOOPS = 20_000
DESIGNS = 10_000  # of fewer, what processes take to begin is a part
QUIET = 0.2  # cores that others may use
PATIENCE = 60.0  # seconds


class Slow(NamedTuple):
    gain: Annotated[Array, Quantity("1", "what is gained")]


def slow(
    x: Annotated[Floats, Quantity("1", "a knob", low=0)],
    y: Annotated[Floats, Quantity("1", "another knob", low=0)],
) -> Slow:
    """Work for about a millisecond a design, and hold the interpreter's lock."""
    both = np.asarray(x + y / 1e4, dtype=np.float64)
    found = []
    for value in both.ravel().tolist():
        for n in range(LOOPS):
            value += n % 7
        found.append(value)
    return Slow(np.reshape(found, both.shape))


def slow_study() -> ResolvedStudy:
    return make_study(
        {
            "study": {"name": "slow", "models": ["slow"]},
            "space": {"x": {"integer": [1, 50]}, "y": {"integer": [1, DESIGNS // 50]}},
            "objective": [{"maximize": "gain"}, {"minimize": "x"}],
        },
        {"slow": slow},
    )


def logca_study(designs: int) -> ResolvedStudy:
    side = round(designs**0.25)
    steps = {"steps": side, "log": True}
    return make_study(
        {
            "study": {"name": "sweep", "models": ["objectives.logca:offload"]},
            "inputs": {"granularity": 4096, "latency_per_byte": 0.1},
            "space": {
                "acceleration": {"real": [2, 64]} | steps,
                "overhead": {"real": [10, 1e5]} | steps,
                "latency": {"real": [1, 5000]} | steps,
                "computational_index": {"real": [2, 1e4]} | steps,
            },
            "objective": [{"maximize": "speedup"}, {"minimize": "acceleration"}],
            "search": {"method": "exhaustive"},
        }
    )


class Taken(NamedTuple):
    """Seconds: of the wall, of all processors, of the busiest thread; cores that others used."""

    wall: float
    worked: float
    busiest: float
    others: float


def _busy() -> float:
    """Return the seconds that all cores have worked."""
    times = psutil.cpu_times()
    return float(sum(times) - times.idle - getattr(times, "iowait", 0.0))


def _patient() -> None:
    """Wait for a second in which others use little, but not for ever."""
    last = time.monotonic() + PATIENCE
    while time.monotonic() < last:
        before = _busy()
        time.sleep(1.0)
        if _busy() - before < QUIET:
            return


def _threads() -> dict[tuple[int, int], float]:
    """Return the processor time of each thread of this process and of those below it."""
    here = psutil.Process()
    return {
        (process.pid, thread.id): thread.user_time + thread.system_time
        for process in (here, *here.children(recursive=True))
        for thread in process.threads()
    }


def searched(study: ResolvedStudy, workers: Workers) -> Taken:
    """Search, and measure; threads that end before the search does are seen every 0.1 s."""
    seen, done = _threads(), threading.Event()
    before = dict(seen)

    def watch() -> None:
        while not done.wait(0.1):
            seen.update(_threads())

    watcher = threading.Thread(target=watch)
    search = find_method("exhaustive").start(
        Start(study.evaluator, study.plan, study.file.run.chunk, workers)
    )
    watcher.start()
    began, busy = time.perf_counter(), _busy()
    for _ in search.steps():
        pass
    wall, busy = time.perf_counter() - began, _busy() - busy
    seen.update(_threads())
    done.set()
    watcher.join()
    own = {t: s - before.get(t, 0.0) for t, s in seen.items() if t[1] != watcher.native_id}
    return Taken(
        wall, sum(own.values()), max(own.values()), max(busy - sum(own.values()), 0) / wall
    )


def compared(make: Callable[[], ResolvedStudy], one: Workers, two: Workers, rounds: int) -> None:
    study = make()
    searched(study, two)  # loads what is needed, starts what works
    found: dict[str, list[Taken]] = {"one": [], "two": []}
    for _ in range(rounds):
        _patient()
        for name, workers in (("one", one), ("two", two)):
            found[name].append(searched(study, workers))
    pairs = list(zip(found["one"], found["two"], strict=True))
    print(f"{study.evaluator.space.size:,} designs; load {os.getloadavg()[0]:.1f}")
    for a, b in pairs:
        print(
            f"  one {a.wall:.2f} s ({a.worked:.2f} s of processor), two {b.wall:.2f} s "
            f"({b.worked:.2f} s), ratio {a.wall / b.wall:.2f}, bound "
            f"{a.worked / max(b.worked / 2, b.busiest):.2f}; others {a.others:.1f}, {b.others:.1f}"
        )
    quiet = [a.wall / b.wall for a, b in pairs if max(a.others, b.others) < QUIET]
    bounds = [a.worked / max(b.worked / 2, b.busiest) for a, b in pairs]
    print(f"  bound {_shown(bounds)}; ratio of {len(quiet)} quiet rounds {_shown(quiet)}")


def _shown(values: list[float]) -> str:
    if not values:
        return "unknown"
    return f"{statistics.median(values):.2f} ({min(values):.2f} to {max(values):.2f})"


def _peak(designs: int, workers: int) -> None:
    study = logca_study(designs)
    base = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    began, worked = time.perf_counter(), time.process_time()
    search = find_method("exhaustive").start(
        Start(study.evaluator, study.plan, study.file.run.chunk, Workers(workers))
    )
    for _ in search.steps():
        pass
    found = search.outcome()
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    print(
        f"  {study.evaluator.space.size:>13,} designs, {workers} threads, front "
        f"{int(found.on_front.sum()):,}: peak {peak / 1024:.0f} MB, {base / 1024:.0f} MB before; "
        f"{time.perf_counter() - began:.1f} s, {time.process_time() - worked:.1f} s of processor",
        flush=True,
    )


def main() -> None:
    what, *given = sys.argv[1:] or ["slow"]
    numbers = [int(float(text)) for text in given]
    if what == "slow":
        one, two = Workers(1, "loky"), Workers(2, "loky")
        compared(slow_study, one, two, *(numbers or [5]))
    elif what == "logca":
        designs, rounds = (*numbers, *(10**8, 3)[len(numbers) :])
        compared(lambda: logca_study(designs), Workers(1), Workers(2), rounds)
    else:
        for designs in numbers or [10**6, 10**7, 10**8, 3 * 10**8, 10**9]:
            for workers in (1, 2):
                fresh = multiprocessing.get_context("spawn").Process(
                    target=_peak, args=(designs, workers)
                )
                fresh.start()
                fresh.join()


if __name__ == "__main__":
    main()
