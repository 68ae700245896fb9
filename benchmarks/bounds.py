"""Bounding beside enumeration, and over spaces beyond it: seconds, boxes, bytes.

    python -m benchmarks.bounds parts [COUNT]    # parts of shipped studies, random model graphs
    python -m benchmarks.bounds spaces [NAME]    # large spaces and continua, exact and up to 1 %
    python -m benchmarks.bounds limit [SECONDS]  # a search that is cut short, and what it proved

`parts` takes COUNT (200 if absent) random sub-spaces of each shipped study, half of them with
random outputs as objectives, and as many random model graphs of all shipped models. It ends
with 1 if a front is not that of the enumeration, a set does not cover it within 1 %, or two workers
find another front than one. `spaces` takes those whose names begin with NAME. `limit` stops an
exact search of spaces that do not close after SECONDS (5 if absent); a longer search then tells how
far the front really is from the best designs, and the command ends with 1 if that is more than the
gap. Processor time is what the whole process took, peak memory too.
"""

from __future__ import annotations

import resource
import sys
import time
from collections.abc import Callable
from dataclasses import replace
from multiprocessing import get_context

import numpy as np

import dse
from benchmarks.bound_model_graphs import wired
from benchmarks.bound_problems import finer, lanes
from benchmarks.peer_problems import five
from benchmarks.shared_aes import shared_aes
from dse.evaluate.evaluator import Evaluator
from dse.evaluate.space import Real, Space
from dse.search.base import SearchSettings, Start, find_method
from dse.search.bound.cover import Cover, find_factor
from tests.search.bound.test_search import STUDIES, covers, front, narrowed, redirected, searched

SPACES: dict[str, tuple[Callable[[], Evaluator], tuple[float, ...]]] = {
    "lanes": (lambda: lanes(63, 10, 1250), (0.01, 0.001, 0.0)),
    "lanes, finer": (lambda: lanes(630, 100, 1250), (0.01, 0.0)),
    "lanes, finest": (lambda: lanes(6300, 1000, 1250), (0.01,)),
    "shared, 1e6": (shared_aes, (0.0,)),
    "shared, 1e8": (lambda: shared_aes(31, 6_400), (0.01, 0.0)),
    "shared, 1e9": (lambda: shared_aes(31, 64_000), (0.01, 0.0)),
    "shared, 1e10": (lambda: shared_aes(310, 6_400, 8), (0.01, 0.0)),
    "shared, 1e12": (lambda: shared_aes(3_100, 6_400, 80), (0.01, 0.001, 0.0)),
    "shared, two continuous": (lambda: shared_aes(0, None), (0.01,)),
    "shared, three continuous": (lambda: shared_aes(0, None, 2), (0.01,)),
    "crypto": (lambda: finer("crypto"), (0.01, 0.0)),
    "compress": (lambda: finer("compress"), (0.01, 0.0)),
    "jpeg": (lambda: finer("jpeg"), (0.01, 0.0)),
    "rotate": (lambda: finer("rotate"), (0.01, 0.0)),
    "five, overhead continuous": (lambda: continuous("overhead"), (0.01,)),
    "five, two continuous": (lambda: continuous("overhead", "latency_per_byte"), (0.01,)),
}
LIMITED: dict[str, Callable[[], Evaluator]] = {
    "lanes, finest": lambda: lanes(6300, 1000, 1250),
    "shared, 1e9": lambda: shared_aes(31, 64_000),
    "shared, 1e13": lambda: shared_aes(3_100, 64_000, 80),
}
LONG = 0.01
"""The tolerance of the longer search."""


def continuous(*names: str) -> Evaluator:
    """Return LogCA with five variables, some of them continuous."""
    evaluator = five().evaluator
    variables = evaluator.space.variables
    free = {n: Real(v.low, v.high, v.log) for n, v in variables.items() if isinstance(v, Real)}
    free = {n: v for n, v in free.items() if n in names}
    return replace(evaluator, space=Space({**variables, **free}))


def same(part: Evaluator) -> bool:
    """Return whether bounds find the front of the enumeration, exactly and within 1 %.

    Two workers must give the bytes of one.
    """
    whole, found = searched(part, "exhaustive"), searched(part, "bound")
    near = searched(part, "bound", 0.01)
    two = [searched(part, "bound", tolerance, workers=2) for tolerance in (0.0, 0.01)]
    equal = all(
        np.array_equal(mine, true, equal_nan=True)
        for one, other in ((found, whole), (found, two[0]), (near, two[1]))
        for mine, true in zip(front(one), front(other), strict=True)
    )
    return equal and covers(near, whole, part.signs, 0.01)


def parts(count: int) -> int:
    """Compare random parts of shipped studies, and random model graphs; return how many differ."""

    def part(name: str) -> Callable[[int, np.random.Generator], Evaluator]:
        evaluator = dse.load(STUDIES / f"{name}.toml").evaluator

        def drawn(k: int, rng: np.random.Generator) -> Evaluator:
            found = narrowed(evaluator, rng)
            return redirected(found, rng) if k % 2 else found

        return drawn

    every = {path.stem: part(path.stem) for path in sorted(STUDIES.glob("*.toml"))}
    every |= {"random model graphs": lambda _, rng: wired(rng)}
    wrong = 0
    for number, (name, draw) in enumerate(every.items()):
        began, different, designs = time.process_time(), [], 0
        for k in range(count):
            drawn = draw(k, np.random.default_rng((7, number, k)))
            designs += drawn.space.size or 0
            different += [] if same(drawn) else [k]
        told = f"{different or 'none'} differ, {designs:,} designs"
        print(f"{name:18} {count}: {told}, {time.process_time() - began:.0f} s", flush=True)
        wrong += len(different)
    return wrong


def space(name: str, tolerance: float) -> None:
    """Print what a search of one space takes, in a process of its own for the sake of memory."""
    evaluator = SPACES[name][0]()
    began = time.process_time()
    found = searched(evaluator, "bound", tolerance)
    seconds = time.process_time() - began
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1000
    size = evaluator.space.size
    enumeration = f", an enumeration about {enumeration_seconds(evaluator):,.0f} s" if size else ""
    print(
        f"{name:28} {f'{size:,}' if size else 'continuum':>19}, tolerance {tolerance:5}: "
        f"{seconds:6.1f} s, {found.tally.evaluated:,} evaluated, "
        f"{int(found.on_front.sum()):,} on the front, {peak} MB{enumeration}",
        flush=True,
    )


def enumeration_seconds(evaluator: Evaluator) -> float:
    """Return the processor seconds of an enumeration, from those of a slice in its order."""
    size = evaluator.space.size or 0
    count = min(size, 400_000)
    points = evaluator.space.from_index(size // 3 + np.arange(min(count, size - size // 3)))
    began = time.process_time()
    for low in range(0, count, 1 << 15):
        evaluator.evaluate({n: v[low : low + (1 << 15)] for n, v in points.items()})
    return (time.process_time() - began) / count * size


def spaces(prefix: str) -> None:
    """Print what larger and larger spaces take."""
    for name, (_, tolerances) in SPACES.items():
        for tolerance in tolerances if name.startswith(prefix) else ():
            one = get_context("spawn").Process(target=space, args=(name, tolerance))
            one.start()
            one.join()


def limit(seconds: float) -> int:
    """Cut searches short, and hold their gaps to longer ones; return how many are refuted."""
    refuted = 0
    for name, make in LIMITED.items():
        evaluator = make()
        plan = SearchSettings("bound", evaluator.space.size or 2**62, 1, 0, seconds, {}, 0.0)
        began, worked = time.time(), time.process_time()
        search = find_method("bound").start(Start(evaluator, plan, chunk=32_768))
        for _ in search.steps(until=began + seconds):
            pass
        outcome = search.outcome()
        took, worked, gap = time.time() - began, time.process_time() - worked, outcome.gap
        assert gap is not None
        long = searched(evaluator, "bound", LONG)
        cover, beyond = Cover.empty(len(evaluator.signs)), Cover.empty(len(evaluator.signs))
        cover = cover.added(front(outcome)[1] * evaluator.signs)
        beyond = beyond.added(front(long)[1] * evaluator.signs)
        same = np.ones(len(evaluator.signs))
        true = find_factor(cover, beyond.points, same)
        refuted += not true <= gap.reached
        print(
            f"{name:28} ended after {took:.1f} s, {worked:.1f} of the processor, "
            f"gap {gap.reached:.3g}; "
            f"a front that is certified within {LONG:.1%} is missed by {true:.3g}",
            flush=True,
        )
    return refuted


if __name__ == "__main__":
    what, given = sys.argv[1:2], (*sys.argv[2:3], "")[0]
    if what == ["spaces"]:
        spaces(given)
    elif what == ["limit"]:
        sys.exit(bool(limit(float(given or 5))))
    else:
        sys.exit(bool(parts(int(given or 200))))
