"""Bounding beside enumeration, and over spaces beyond it: seconds, boxes, bytes.

    python -m benchmarks.bounds parts [COUNT]    # random parts and objectives of shipped studies
    python -m benchmarks.bounds spaces           # larger and larger spaces, exact and up to 1 %

`parts` takes COUNT (200 if absent) random sub-spaces of each shipped study, half of them with
random outputs as objectives, and ends with 1 if a front is not that of the enumeration. Processor
time is what the whole process took, peak memory too.
"""

from __future__ import annotations

import resource
import sys
import time
from dataclasses import replace

import numpy as np

import dse
from dse.evaluate.evaluator import Evaluator
from dse.evaluate.space import Integer, Space
from tests.test_bound import SHIPPED, STUDIES, covers, front, narrowed, redirected, searched

SPACES = {
    "crypto": {},
    "and every period and depth": {
        "schedule_period": Integer(1, 64),
        "pipeline_depth": Integer(1, 32),
    },
    "and streams from 8 to 64": {
        "schedule_period": Integer(1, 64),
        "pipeline_depth": Integer(1, 32),
        "streams": Integer(8, 64),
    },
}


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


def spaces() -> None:
    """Print what larger and larger spaces take."""
    evaluator = dse.load(STUDIES / "crypto.toml").evaluator
    for name, larger in SPACES.items():
        space = Space({**evaluator.space.variables, **larger})
        for tolerance in (0.01, 0.0):
            began = time.process_time()
            found = searched(replace(evaluator, space=space), "bound", tolerance)
            seconds = time.process_time() - began
            peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1000
            print(
                f"{name:28} {space.size or 0:15,} designs, tolerance {tolerance:4}: "
                f"{seconds:6.1f} s, {found.tally.evaluated:,} evaluated, "
                f"{int(found.on_front.sum()):,} on the front, {peak} MB"
            )


if __name__ == "__main__":
    if sys.argv[1:2] == ["spaces"]:
        spaces()
    else:
        sys.exit(bool(parts(int(sys.argv[2]) if len(sys.argv) > 2 else 200)))
