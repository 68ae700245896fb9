"""Kill runs at random moments (SIGKILL), and see that the next ones end as if nothing had been.

``python -m benchmarks.kills 100`` kills runs of every search in turn, one to three times each
before a run may end, and prints how many kills there were and how many ended with another front.
"""

from __future__ import annotations

import argparse
import os
import shutil
import signal
import tempfile
import time
from pathlib import Path

import numpy as np

from tests.crashing import DONE, child
from tests.toy import SEARCHES, small

_IN_A_ROW = 3


class _Kills:
    """One search: its study, its undisturbed front, and how long a run takes."""

    def __init__(self, search: str, folder: Path) -> None:
        import dse.run as runs
        from dse.study.study import read_study

        runs.is_checkpoint_due = lambda *_: True
        self.search, self._folder, self._told = search, folder, folder / "told"
        self._run, self._study = runs.run, read_study(small(folder, search))
        self._run(self._study, folder / "first", 1)  # loads what forks are to have
        began = time.monotonic()
        self._finished(folder / "whole")
        self.seconds = time.monotonic() - began
        self._front = (folder / "whole" / "front.csv").read_bytes()

    def _finished(self, out: Path) -> None:
        def work() -> None:
            self._run(self._study, out, 1)

        if child(work, self._told) != DONE:
            raise AssertionError(self._told.read_text())

    def killed(self, seconds: float, out: Path) -> bool:
        """Run, and kill it after some seconds; return whether it was still there."""
        pid = os.fork()
        if not pid:
            self._run(self._study, out, 1)
            os._exit(DONE)
        time.sleep(seconds)
        os.kill(pid, signal.SIGKILL)
        return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == -signal.SIGKILL

    def wrong(self, out: Path) -> str:
        """Let a run end; return what is wrong with what it leaves, if anything is."""
        try:
            self._finished(out)
        except AssertionError as error:
            return str(error)
        if (out / "front.csv").read_bytes() != self._front:
            return "another front"
        left = [p.name for p in out.rglob(".*")]
        return f"left {', '.join(left)}" if left else ""


def main() -> None:
    """Print the kills and what went wrong."""
    parser = argparse.ArgumentParser()
    parser.add_argument("kills", type=int, nargs="?", default=100)
    parser.add_argument("--seed", type=int, default=0)
    given = parser.parse_args()
    draw, done, wrong = np.random.default_rng(given.seed), 0, 0
    with tempfile.TemporaryDirectory() as work:
        folders = {search: Path(work) / search for search in SEARCHES}
        for folder in folders.values():
            folder.mkdir()
        every = [_Kills(search, folder) for search, folder in folders.items()]
        counts = dict.fromkeys(SEARCHES, 0)
        while done < given.kills:
            for each in every:
                out = folders[each.search] / "out"
                shutil.rmtree(out, ignore_errors=True)
                for _ in range(draw.integers(1, _IN_A_ROW, endpoint=True)):
                    counts[each.search] += each.killed(draw.uniform(0.0, each.seconds), out)
                if problem := each.wrong(out):
                    wrong += 1
                    print(f"{each.search}: {problem}")
            done = sum(counts.values())
    print(", ".join(f"{search} {count}" for search, count in counts.items()))
    print(f"{done} kills, after which {wrong} runs ended with something else than without them")


if __name__ == "__main__":
    main()
