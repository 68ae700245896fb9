"""A study with uncertain inputs beside the same study with their middles: seconds and bytes.

    python -m benchmarks.uncertain [DESIGNS] [DRAWS …]

DESIGNS (10,000 if absent) are enumerated for LogCA's speedup: certain, then with each number of
SAMPLES (1, 10, 100 and 1000). Each line has the processor's and the wall's seconds, what a sample
costs beside the certain study, and the peak memory of the whole process.
"""

from __future__ import annotations

import math
import resource
import sys
import time
from multiprocessing import get_context
from typing import Any

import dse


def content(designs: int, samples: int) -> dict[str, Any]:
    """Return a study of about so many designs; certain for 0 samples."""
    side = math.isqrt(designs)
    latency: Any = {"between": [1000, 1600]}
    index: Any = {"normal": 90, "deviation": 9}
    return {
        "study": {"name": "uncertain", "models": ["objectives.logca:offload"]},
        "inputs": {
            "latency": latency if samples else 1300,
            "computational_index": index if samples else 90,
            "latency_per_byte": 0.5,
        },
        "space": {
            "acceleration": {"real": [2, 64], "steps": side},
            "overhead": {"real": [100, 4000], "steps": side},
        },
        "objective": [
            {"maximize": "speedup", "at": {"granularity": 4096}},
            {"minimize": "acceleration"},
            {"maximize": "overhead"},
        ],
        "uncertainty": {"samples": samples or 2},
        "search": {"method": "exhaustive"},
    }


def timed(designs: int, samples: int) -> tuple[float, float, float]:
    """Return seconds of the processor, of the wall, and MB at most; in a process of its own."""
    with get_context("spawn").Pool(1) as pool:
        return pool.apply(_timed, (designs, samples))


def _timed(designs: int, samples: int) -> tuple[float, float, float]:
    study = dse.from_mapping(content(designs, samples))
    dse.from_mapping(content(100, 0)).run()  # what is loaded once is not counted
    busy, began = time.process_time(), time.perf_counter()
    study.run()
    spent = time.process_time() - busy, time.perf_counter() - began
    return *spent, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def main() -> None:
    """Print a line for the certain study and for each number of samples."""
    given = [int(each) for each in sys.argv[1:]] or [10_000]
    designs, every = given[0], given[1:] or [1, 10, 100, 1000]
    every = [max(2, samples) for samples in every]
    print(f"{designs:,} designs          processor s   wall s   a sample, of certain      MB")
    sure = timed(designs, 0)
    print(f"certain            {sure[0]:13.2f} {sure[1]:8.2f} {'':20} {sure[2]:7.0f}")
    for samples in every:
        busy, wall, size = timed(designs, samples)
        share = busy / sure[0] / samples
        print(f"{samples:6,} samples       {busy:13.2f} {wall:8.2f} {share:20.3f} {size:7.0f}")


if __name__ == "__main__":
    main()
