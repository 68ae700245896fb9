"""Cut searches at model calls and at their own lines, and see that the next runs end the same.

``python -m benchmarks.interruptions 2000`` raises an error, SIGINT or SIGTERM, lets a second run
end, and compares its tables and certificate with those of a run that nobody disturbed. The number
of a call or of a line decides where a cut is, not a clock: the same command makes the same cuts.
"""

from __future__ import annotations

import argparse
import functools
import io
import json
import os
import shutil
import signal
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, redirect_stdout
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tests.clusters import Processes, processes, until
from tests.crashing import CRASHED, DONE, TOLD, child
from tests.toy import DECLARED, SMALL, written

ACTIONS = ("error", "SIGINT", "SIGTERM")
PLACES = ("call", "line")
_CONTROL = "DSE_CUTS"
"""The environment variable that names the folder through which a model learns where to cut."""
_COUNTED = """
    import os
    folder = os.environ.get("DSE_CUTS")
    if folder is None:  # in the fresh process of dse certify
        return Toy(lanes * clock / (1e9 + size * 1e6), lanes**1.5 * 100 * (1 + (clock / 1e9) ** 2))
    with open(folder + "/calls", "ab", buffering=0) as calls:
        calls.write(b".")
        number = calls.tell()
    with open(folder + "/plan") as file:
        at, action, process = file.read().split()
    if number == int(at):
        if action == "error":
            raise OSError("a cut")
        import signal
        os.kill(int(process), getattr(signal, action))
    return Toy(l"""
_SEARCH = {
    "exhaustive": "",
    "bound": "",
    "evolution": "evaluations = 120\ngeneration = 20\nseed = 3\n",
    "guided": "evaluations = 24\ngeneration = 8\n",
    "NSGAIISampler": "evaluations = 60\nseed = 3\noptions = { population_size = 20 }\n",
    "TPESampler": "evaluations = 30\n",
    "RandomSampler": "evaluations = 60\n",
    "QMCSampler": "evaluations = 60\n",
}
_SIZES = 'size = { values = ["1 KiB", "2 KiB", "4 KiB"] }\n'
_UNCERTAIN = '[inputs]\nsize = { uniform = ["1 KiB", "4 KiB"] }\n[uncertainty]\nsamples = 16\n'


@dataclass(frozen=True)
class Case:
    """A search, with a variant of the study or of who works.

    Parameters
    ----------
    search : str
        The method.
    variant : str
        ``plain``, ``uncertain``, ``tolerance``, ``threads``, ``processes`` or ``dask``.
    weight : int
        Its part of the cuts: one for what starts processes, as that takes seconds.
    """

    search: str
    variant: str = "plain"
    weight: int = 10

    def write(self, folder: Path) -> Path:
        """Write the study, and return its path."""
        text = SMALL
        if self.variant == "uncertain":
            text = text.replace(_SIZES, "") + _UNCERTAIN
        text += f'[search]\nmethod = "{self.search}"\n{_SEARCH[self.search]}'
        text += "tolerance = 0.05\n" if self.variant == "tolerance" else ""
        text += "[run]\nchunk = 40\n"
        text += "processes = true\n" if self.variant == "processes" else ""
        model = DECLARED.replace("\n    return Toy(l", _COUNTED, 1)
        return written(folder, "", text, model)

    @property
    def workers(self) -> int:
        """How many threads or processes work."""
        return 2 if self.variant in ("threads", "processes") else 1


CASES = (
    *(Case(search) for search in _SEARCH),
    *(Case(search, "uncertain") for search in ("exhaustive", "bound", "evolution", "guided")),
    Case("bound", "tolerance"),
    *(Case(search, "threads", 5) for search in ("exhaustive", "bound", "evolution", "guided")),
    *(Case(search, "processes", 1) for search in ("exhaustive", "bound", "evolution")),
    *(Case(search, "dask", 1) for search in ("exhaustive", "evolution", "guided")),
)


@dataclass(frozen=True)
class Cut:
    """Where a run is cut, and how."""

    place: str
    number: int
    action: str


class _Lines:
    """Count the lines of the search that this thread runs, and cut at one."""

    def __init__(self, cut: Cut | None) -> None:
        self.seen, self._cut = 0, cut
        self._known: dict[Any, bool] = {}

    def __call__(self, frame: Any, event: str, _: Any) -> Any:
        code = frame.f_code
        if code not in self._known:
            self._known[code] = f"{os.sep}dse{os.sep}search{os.sep}" in code.co_filename
        return self._line if self._known[code] else None

    def _line(self, frame: Any, event: str, _: Any) -> Any:
        if event == "line":
            self.seen += 1
            if self._cut is not None and self.seen == self._cut.number:
                if self._cut.action == "error":
                    sys.settrace(None)
                    raise MemoryError("a cut")
                os.kill(os.getpid(), getattr(signal, self._cut.action))
        return self._line


@dataclass
class Interruptions:
    """Cuts of one case, in a folder of its own.

    Parameters
    ----------
    case : Case
        The search.
    folder : Path
        Where it writes.
    """

    case: Case
    folder: Path
    wrong: list[str] = field(default_factory=list)
    cluster: Processes | None = None

    def __enter__(self) -> Interruptions:
        import dse

        self._stack, self._told = ExitStack(), self.folder / "told"
        self._plan(None)
        os.environ[_CONTROL] = str(self.folder)
        if self.case.variant == "dask":
            import distributed  # noqa: F401 # once, for all forks

            logs = self.folder / "cluster"
            logs.mkdir()
            self.cluster = self._stack.enter_context(processes(logs, 2))
            self._address = self.cluster.address
            until(self._has_workers, "workers of the cluster")
        self._study = dse.load(self.case.write(self.folder))
        self._study.run(self.folder / "first", workers=1)  # loads what forks are to have
        whole = self.folder / "whole"
        code = self._forked(whole, None)
        if code != DONE:
            raise AssertionError(self._told.read_text())
        self.counts = json.loads((self.folder / "seen").read_text())
        self._truth = _tables(whole)
        return self

    def __exit__(self, *_: object) -> None:
        self._stack.close()

    def _has_workers(self) -> bool:
        from distributed import Client

        with Client(self._address) as client:
            return len(client.scheduler_info(n_workers=-1)["workers"]) == 2

    def cuts(self, number: int, turn: int = 0) -> Iterator[Cut]:
        """Yield cuts, spread evenly over the calls and the lines of an undisturbed run.

        Each turn takes other lines, and does something else at the same calls.
        """
        between = turn / len(ACTIONS) % 1.0
        each = max(1, round(number / len(PLACES)))
        for place in PLACES:
            of_place = each if self.counts[place] else 0
            step = max(1.0, self.counts[place] / max(1, of_place))
            for i in range(min(of_place, self.counts[place])):
                action = ACTIONS[(i + turn) % len(ACTIONS)]
                yield Cut(place, 1 + int((i + between) * step), action)

    def cut(self, cut: Cut) -> None:
        """Cut a run, let the next one end, and note what is wrong with its folder."""
        out = self.folder / "out"
        shutil.rmtree(out, ignore_errors=True)
        code, first = self._forked(out, cut), ""
        if code in (TOLD, CRASHED):
            first = self._told.read_text()
        if code == CRASHED and (cut.place == "call" or cut.action != "error"):
            self._note(cut, f"a traceback: {first}")
        if code not in (DONE, TOLD, CRASHED):
            self._note(cut, f"the process ended with {code}")
        if (out / "summary.json").is_file() and (why := _impossible(out)):
            self._note(cut, why)
        again = self._forked(out, None)
        if again != DONE:
            self._note(cut, f"then, again: {self._told.read_text()}")
            return
        tables = _tables(out)
        for name in sorted(name for name in tables if tables[name] != self._truth[name]):
            self._note(cut, f"another {name}: {_excerpt(tables[name], self._truth[name])}")
        if left := [p.name for p in out.rglob(".*") if p.name != ".dse-run"]:
            self._note(cut, f"left {', '.join(left)}")
        self.last = out

    def certify(self) -> None:
        """Put the certificate of the last resumed run to the test; it is the undisturbed run's."""
        out = self.folder / "out"

        def work() -> None:
            from dse.cli import commands

            said = io.StringIO()
            try:
                with redirect_stdout(said):
                    commands(["certify", str(out), "--designs", "200"], standalone_mode=False)
            except SystemExit:  # a search that certifies nothing is not refuted
                if not said.getvalue().startswith("Nothing is certified"):
                    raise

        self._plan(None)
        if child(_plain(work), self._told) != DONE:
            told = self._told.read_text()
            self.wrong.append(f"{self.case.search} {self.case.variant}: certify: {told}")

    def _note(self, cut: Cut, problem: str) -> None:
        where = f"{self.case.search} {self.case.variant} {cut.place} {cut.number} {cut.action}"
        self.wrong.append(f"{where}: {problem}")

    def _plan(self, cut: Cut | None, process: int = 0) -> None:
        number = cut.number if cut is not None and cut.place == "call" else 0
        (self.folder / "plan").write_text(f"{number} {cut.action if cut else '-'} {process}")
        (self.folder / "calls").write_bytes(b"")

    def _forked(self, out: Path, cut: Cut | None) -> int:
        def work() -> None:
            quicken()
            self._plan(cut, os.getpid())
            lines = _Lines(cut if cut is not None and cut.place == "line" else None)
            first = not (self.folder / "seen").is_file()
            traced = first or (cut is not None and cut.place == "line")
            if self.case.variant == "dask":
                from dse.api.cluster import connected
                from dse.run import run

                with connected(self._address) as cluster:
                    _traced(lambda: run(self._study, out, cluster=cluster), lines, traced)
            else:
                workers = self.case.workers
                _traced(lambda: self._study.run(out, workers=workers), lines, traced)
            if first:
                seen = {"call": (self.folder / "calls").stat().st_size, "line": lines.seen}
                (self.folder / "seen").write_text(json.dumps(seen))

        return child(_plain(work), self._told)


def _traced(work: Callable[[], object], lines: _Lines, traced: bool) -> None:
    sys.settrace(lines if traced else None)
    try:
        work()
    finally:
        sys.settrace(None)


def _plain(work: Callable[[], None]) -> Callable[[], None]:
    """Return work that ends by a signal as the command line does: the first one interrupts it."""

    def ready() -> None:
        assert threading.current_thread() is threading.main_thread()
        for sign in (signal.SIGINT, signal.SIGTERM):
            signal.signal(sign, signal.default_int_handler)
        work()

    return ready


def _tables(out: Path) -> dict[str, bytes]:
    """Return what a resumed run must have in common with an undisturbed one."""
    certificate = json.loads((out / "summary.json").read_text())["certificate"]
    names = ("front.csv", "designs.csv")
    tables = {name: (out / name).read_bytes() for name in names}
    return tables | {"certificate": json.dumps(certificate, sort_keys=True).encode()}


def _excerpt(found: bytes, truth: bytes) -> str:
    if len(found) < 1_500:
        return f"{found.decode()} for {truth.decode()}"
    return f"{len(found.splitlines())} rows for {len(truth.splitlines())}"


def _impossible(out: Path) -> str:
    """Return what cannot be of an interrupted run's counts; empty if all can."""
    certificate: Mapping[str, Any] = json.loads((out / "summary.json").read_text())["certificate"]
    evaluated, size = certificate["evaluated"], certificate["designs"]
    return f"{evaluated} of {size} designs" if size is not None and evaluated > size else ""


def quicken() -> None:
    """Leave out of each run what is not cut: the page, and Optuna's look at its migrations."""
    import dse.run as runs
    from dse.result.files import write_text

    if "optuna" in sys.modules:
        from optuna.storages._rdb.storage import _VersionManager

        create = _VersionManager._create_alembic_script
        manager = object.__new__(_VersionManager)
        manager.url = "sqlite://"
        script = functools.cache(lambda: create(manager))
        _VersionManager._create_alembic_script = lambda _: script()  # type: ignore

    def report(
        study: Any,
        result: Any,
        path: Path,
        explains: bool = True,
        thorough: bool = False,
        scripts: Sequence[str] = (),
    ) -> dict[str, Any]:
        write_text(path, "page")
        return {"short": []}

    runs.report = report


def main() -> None:
    """Print a line for each case, and what went wrong."""
    parser = argparse.ArgumentParser()
    parser.add_argument("cuts", type=int, nargs="?", default=2_000)
    parser.add_argument("--search", action="append", help="only this one; may be given again")
    parser.add_argument("--variant", action="append", help="only this one; may be given again")
    parser.add_argument("--turn", type=int, default=0, help="1 and 2 make other cuts than 0")
    given = parser.parse_args()
    cases = [c for c in CASES if not given.search or c.search in given.search]
    cases = [c for c in cases if not given.variant or c.variant in given.variant]
    weights = sum(case.weight for case in cases)
    cuts, wrong = 0, 0
    for case in cases:
        with tempfile.TemporaryDirectory() as folder, Interruptions(case, Path(folder)) as made:
            began, here = time.monotonic(), 0
            number = max(2, round(given.cuts * case.weight / weights))
            for cut in made.cuts(number, given.turn):
                made.cut(cut)
                here += 1
            made.certify()
            seconds = (time.monotonic() - began) / max(1, here)
        print(f"{case.search} {case.variant}: {here} cuts of {seconds:.2f} s in", made.counts)
        for problem in made.wrong:
            print(f"  {problem[:600]}")
        sys.stdout.flush()
        cuts, wrong = cuts + here, wrong + len(made.wrong)
    print(f"{cuts} cuts, after which {wrong} were wrong")
    sys.exit(bool(wrong))


if __name__ == "__main__":
    main()
