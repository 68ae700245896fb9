"""Runs that fail or end at the N-th operation on their folder's files, and what becomes of them.

``python -m tests.crashing STUDY ...`` is preloaded with ``faults.c`` and prints JSON: what went
wrong, and how many points it tried. It forks for each run, so that nothing is loaded twice.
"""

from __future__ import annotations

import argparse
import ctypes
import functools
import json
import os
import shutil
import subprocess
import sys
import tempfile
import traceback
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

MODES = ("once", "full", "kill")
"""One operation has no space; it and all that follow; the process ends at it."""
STATES = ("new", "resumed", "finished")
DONE, TOLD, CRASHED = 0, 3, 4


def library(folder: Path) -> Path:
    """Compile what is preloaded."""
    built = folder / "faults.so"
    source = Path(__file__).with_name("faults.c")
    command = ["cc", "-O1", "-shared", "-fPIC", "-D_LARGEFILE64_SOURCE", "-o", str(built)]
    subprocess.run([*command, str(source), "-ldl"], check=True)
    return built


def crashed(studies: Iterable[Path], folder: Path, *options: str) -> list[dict[str, Any]]:
    """Run the driver in a process of its own; return a row for each study, state and mode."""
    command = [sys.executable, "-m", "tests.crashing", *map(str, studies), *options]
    environment = os.environ | {"LD_PRELOAD": str(library(folder)), "TMPDIR": str(folder)}
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    if done.returncode:
        raise AssertionError(done.stderr)
    return [json.loads(line) for line in done.stdout.splitlines()]


def child(work: Callable[[], None], told: Path) -> int:
    """Work in a fork; return how it ended, with what it raised in a file."""
    pid = os.fork()
    if pid:
        return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
    from dse.problems import DseError

    code = DONE
    try:
        work()
    except (DseError, KeyboardInterrupt) as error:
        code = TOLD
        told.write_text(f"{type(error).__name__}: {error}")
    except BaseException:
        code = CRASHED
        told.write_text(traceback.format_exc())
    os._exit(code)


class _Crashes:
    """One study, in a state from which its runs are cut."""

    def __init__(self, path: Path, work: Path, quick: bool) -> None:
        from optuna.storages._rdb.storage import _VersionManager

        import dse.run as runs
        from dse.study.study import read_study

        # what Optuna looks up for each database that it opens, once for all: it is most of the time
        create = _VersionManager._create_alembic_script
        manager = object.__new__(_VersionManager)
        manager.url = "sqlite://"
        script = functools.cache(lambda: create(manager))
        _VersionManager._create_alembic_script = lambda _: script()  # type: ignore
        runs.is_checkpoint_due = lambda *_: True
        if quick:
            runs.report = lambda study, result, page, *_: _page(page)
        self._run, self._study = runs.run, read_study(path)
        self._work, self._told, self._out = work, work / "told", work / "out"
        self._seen, self._counts = work / "seen", dict[str, int]()
        self._faults = ctypes.CDLL(None)
        self._faults.faults_arm.argtypes = [ctypes.c_char_p, ctypes.c_long, ctypes.c_int]
        self._faults.faults_seen.restype = ctypes.c_long

    def template(self, state: str) -> Path:
        """Return a folder as a run finds it."""
        folder = self._work / f"template-{state}"
        if folder.is_dir():
            return folder
        if state == "resumed":
            child(lambda: self._interrupted(folder), self._told)
        elif state == "finished":
            shutil.copytree(self._work / "whole", folder)
            (folder / "report.html").unlink()
            (folder / "study.db").unlink()
        return folder

    def _undisturbed(self, folder: Path) -> int:
        def work() -> None:
            self._run(self._study, folder, 1)

        return child(work, self._told)

    def _interrupted(self, folder: Path) -> None:
        seen = 0

        def interrupt(_: Any) -> None:
            nonlocal seen
            seen += 1
            if seen == 3:
                raise KeyboardInterrupt

        self._run(self._study, folder, 1, interrupt)

    def _cut(self, template: Path, mode: str, n: int) -> int:
        """Cut a run at its N-th operation in a fork; return how the fork ended."""
        shutil.rmtree(self._out, ignore_errors=True)
        if template.is_dir():
            shutil.copytree(template, self._out)
        self._seen.unlink(missing_ok=True)

        def work() -> None:
            self._faults.faults_arm(str(self._out).encode(), n, MODES.index(mode))
            try:
                self._run(self._study, self._out, 1)
            finally:
                seen = self._faults.faults_seen()
                self._faults.faults_arm(b"", 0, 0)
                self._seen.write_text(str(seen))

        return child(work, self._told)

    def count(self, state: str) -> int:
        """Return the number of operations of a run that nothing disturbs."""
        if state not in self._counts:
            if self._cut(self.template(state), "once", 0) != DONE:
                raise AssertionError(self._told.read_text())
            self._counts[state] = int(self._seen.read_text())
        return self._counts[state]

    def at(self, template: Path, mode: str, n: int) -> tuple[bool, str]:
        """Cut a run at its N-th operation; return whether there was one, and what went wrong."""
        code = self._cut(template, mode, n)
        first = self._told.read_text() if code in (TOLD, CRASHED) else ""
        if code == CRASHED:
            return True, f"a traceback: {first}"
        again = self._undisturbed(self._out)
        if again != DONE:
            return True, f"{first or code}; then, again: {self._told.read_text()}"
        left = [p.name for p in self._out.iterdir() if p.name.startswith(".")]
        wrong = f"left {left}" if left else ""
        if (self._out / "front.csv").read_bytes() != self.whole:
            wrong = f"{first or code}; then another front"
        return not self._seen.is_file() or int(self._seen.read_text()) >= n, wrong

    whole: bytes = b""

    def truth(self) -> None:
        """Note the front of a run that nothing disturbs; load what forks are to have."""
        self._run(self._study, self._work / "first", 1)
        self.count("new")
        self.whole = (self._out / "front.csv").read_bytes()
        shutil.move(self._out, self._work / "whole")


def _page(path: Path) -> dict[str, Any]:
    from dse.result.files import write_text

    write_text(path, "page")
    return {"short": []}


def cut(crashes: _Crashes, state: str, mode: str, places: Iterable[int]) -> dict[str, Any]:
    """Cut runs at some operations; return how many there were, and what went wrong."""
    template, tried, wrong = crashes.template(state), 0, list[str]()
    for n in places:
        there, problem = crashes.at(template, mode, n)
        tried += there
        wrong += [f"N = {n}: {problem}"] if problem else []
    return {"state": state, "mode": mode, "tried": tried, "wrong": wrong}


def main() -> None:
    """Print a row for each study, state and mode."""
    parser = argparse.ArgumentParser()
    parser.add_argument("studies", nargs="+", type=Path)
    parser.add_argument("--stride", type=int, default=1)
    parser.add_argument("--once", nargs="*", metavar="STATE:MODE", help="one cut in each instead")
    parser.add_argument("--whole", action="store_true", help="write the report as users have it")
    given = parser.parse_args()
    for path in given.studies:
        with tempfile.TemporaryDirectory() as work:
            crashes = _Crashes(path, Path(work), not given.whole)
            crashes.truth()
            for state in STATES:
                modes = [
                    mode for mode in MODES if not given.once or f"{state}:{mode}" in given.once
                ]
                last = crashes.count(state) if modes else 0
                for mode in modes:
                    # one cut is at another fraction of the operations in each mode
                    one = 1 + last * (1 + MODES.index(mode)) // 4
                    places = [one] if given.once else range(1, last + 1, given.stride)
                    row = cut(crashes, state, mode, places)
                    sys.stdout.write(json.dumps(row) + "\n")
                    sys.stdout.flush()


if __name__ == "__main__":
    main()
