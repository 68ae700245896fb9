"""Read files that are damaged at random; print what is neither used nor told as bad input.

``python -m benchmarks.fuzz study 10000`` reads so many studies, and without a kind so many of each:
studies, catalogs, profiles, callgrind's output, tables, measured times, run folders and commands.
"""

from __future__ import annotations

import argparse
import resource
import tempfile
import time
from pathlib import Path

from tests.fuzzing import KINDS, finding

_MEMORY = 1 << 30  # bytes that one input may need, with all libraries that it loads


def main() -> None:
    """Print the findings, and how many inputs of each kind were read."""
    parser = argparse.ArgumentParser()
    parser.add_argument("kind", choices=[*KINDS, "all"], nargs="?", default="all")
    parser.add_argument("count", type=int, nargs="?", default=10_000)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--first", type=int, default=0, help="the number of the first input")
    given = parser.parse_args()
    pages = int(Path("/proc/self/statm").read_text().split()[0])
    most = pages * resource.getpagesize() + _MEMORY
    resource.setrlimit(resource.RLIMIT_AS, (most, most))
    folder = Path(tempfile.mkdtemp(prefix="fuzz-"))
    for kind in KINDS if given.kind == "all" else [given.kind]:
        began, wrong = time.monotonic(), 0
        for number in range(given.first, given.first + given.count):
            if problem := finding(kind, number, folder / f"{kind}-{number}", given.seed):
                wrong += 1
                print(problem, flush=True)
        seconds = time.monotonic() - began
        print(f"{kind}: {given.count:,} inputs, {wrong} findings, {seconds:.0f} s", flush=True)


if __name__ == "__main__":
    main()
