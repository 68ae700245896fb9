"""Cut runs at every N-th write, fsync, rename and removal; the finished number of N is printed.

``python -m benchmarks.crashes`` takes hours; ``--stride 10`` a tenth of them.
"""

from __future__ import annotations

import argparse
import tempfile
from pathlib import Path

from tests.crashing import crashed
from tests.toy import SEARCHES, small


def main() -> None:
    """Print how many cuts each search, state and mode had, and what went wrong."""
    parser = argparse.ArgumentParser()
    parser.add_argument("searches", nargs="*", default=list(SEARCHES))
    parser.add_argument("--stride", type=int, default=1)
    given = parser.parse_args()
    tried = wrong = 0
    for search in given.searches:
        with tempfile.TemporaryDirectory() as folder:
            study = small(Path(folder), search)
            for row in crashed([study], Path(folder), "--stride", str(given.stride), "--whole"):
                print(f"{search}, {row['state']} run, {row['mode']}: {row['tried']} cuts")
                print(*row["wrong"], sep="\n", end="")
                tried, wrong = tried + row["tried"], wrong + len(row["wrong"])
    print(f"{tried} cuts, {wrong} of them ended with something else than the undisturbed front")


if __name__ == "__main__":
    main()
