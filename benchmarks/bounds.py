"""Bounding beside enumeration, and over spaces beyond it: seconds, boxes, bytes.

    python -m benchmarks.bounds parts [COUNT]    # random parts and objectives of shipped studies
    python -m benchmarks.bounds spaces           # large spaces and continua, exact and up to 1 %

`parts` takes COUNT (200 if absent) random sub-spaces of each shipped study, half of them with
random outputs as objectives, and ends with 1 if a front is not that of the enumeration. Processor
time is what the whole process took, peak memory too.
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
from benchmarks.bound_problems import lanes
from benchmarks.peer_problems import five
from benchmarks.shared_aes import shared_aes
from dse.evaluate.evaluator import Evaluator
from dse.evaluate.space import Real, Space
from tests.test_bound import SHIPPED, STUDIES, covers, front, narrowed, redirected, searched

SPACES: dict[str, tuple[Callable[[], Evaluator], tuple[float, ...]]] = {
    "lanes": (lambda: lanes(63, 10, 1250), (0.01, 0.001, 0.0)),
    "lanes, finer": (lambda: lanes(630, 100, 1250), (0.01,)),
    "lanes, finest": (lambda: lanes(6300, 1000, 1250), (0.01,)),
    "shared, 1e6": (shared_aes, (0.01, 0.001, 0.0)),
    "shared, 1e8": (lambda: shared_aes(31, 6_400), (0.01, 0.001, 0.0)),
    "shared, 1e9": (lambda: shared_aes(31, 64_000), (0.01, 0.001, 0.0)),
    "shared, 1e10": (lambda: shared_aes(310, 6_400, 8), (0.01, 0.001, 0.0)),
    "shared, 1e12": (lambda: shared_aes(3_100, 6_400, 80), (0.01, 0.001, 0.0)),
    "shared, two continuous": (lambda: shared_aes(0, None), (0.01, 0.001)),
    "shared, three continuous": (lambda: shared_aes(0, None, 2), (0.01, 0.001)),
    "five, overhead continuous": (lambda: continuous("overhead"), (0.01,)),
    "five, two continuous": (lambda: continuous("overhead", "latency_per_byte"), (0.01,)),
}


def continuous(*names: str) -> Evaluator:
    """Return LogCA with five variables, some of them continuous."""
    evaluator = five().evaluator
    variables = evaluator.space.variables
    free = {n: Real(v.low, v.high, v.log) for n, v in variables.items() if isinstance(v, Real)}
    free = {n: v for n, v in free.items() if n in names}
    return replace(evaluator, space=Space({**variables, **free}))


def same(part: Evaluator) -> bool:
    """Tell whether bounding finds what enumeration finds, exactly and within 1 %."""
    whole, found = searched(part, "exhaustive"), searched(part, "bound")
    near = searched(part, "bound", 0.01)
    equal = all(
        np.array_equal(mine, true, equal_nan=True)
        for mine, true in zip(front(found), front(whole), strict=True)
    )
    return equal and covers(near, whole, part.signs, 0.01)


def parts(count: int) -> int:
    """Compare random parts of shipped studies; return how many differ."""
    wrong = 0
    for number, name in enumerate(SHIPPED):
        evaluator = dse.load(STUDIES / f"{name}.toml").evaluator
        rng = np.random.default_rng((7, number))
        began, different = time.process_time(), 0
        for k in range(count):
            part = narrowed(evaluator, rng)
            different += not same(redirected(part, rng) if k % 2 else part)
        print(f"{name:18} {count} parts, {different} differ, {time.process_time() - began:.0f} s")
        wrong += different
    return wrong


def space(name: str, tolerance: float) -> None:
    """Print what a search of one space takes, in a process of its own for the sake of memory."""
    evaluator = SPACES[name][0]()
    began = time.process_time()
    found = searched(evaluator, "bound", tolerance)
    seconds = time.process_time() - began
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1000
    size = evaluator.space.size
    print(
        f"{name:28} {f'{size:,}' if size else 'continuum':>19}, tolerance {tolerance:5}: "
        f"{seconds:6.1f} s, {found.tally.evaluated:,} evaluated, "
        f"{int(found.on_front.sum()):,} on the front, {peak} MB",
        flush=True,
    )


def spaces() -> None:
    """Print what larger and larger spaces take."""
    for name, (_, tolerances) in SPACES.items():
        for tolerance in tolerances:
            one = get_context("spawn").Process(target=space, args=(name, tolerance))
            one.start()
            one.join()


if __name__ == "__main__":
    if sys.argv[1:2] == ["spaces"]:
        spaces()
    else:
        sys.exit(bool(parts(int(sys.argv[2]) if len(sys.argv) > 2 else 200)))
