"""A session: the search of the newest change of a study, and the fronts before and after it."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np

from dse.boundary import save_traceback
from dse.evaluate.front import is_nondominated
from dse.evaluate.space import Choice
from dse.explain.own_designs import evaluate_designs
from dse.live.controls import Changes, change_study
from dse.model.values import json_value
from dse.problems import DseError, without_passwords
from dse.result import folder as folders
from dse.result.lease import is_finished_run_of
from dse.result.record import Result
from dse.run import report, run
from dse.search.base import Progress
from dse.study.study import ResolvedStudy, read_study

Points = Mapping[str, Any]
"""Designs by column, as plain values for JSON."""

_KEPT = 8  # results that are there again at once
_LOOK = 0.3  # seconds between two looks at the study's files


class SupersededError(Exception):
    """A newer change ends this search."""


@dataclass(frozen=True)
class State:
    """The state of a session, as the page shows it.

    Parameters
    ----------
    status : str
        ``"searching"``, ``"writing"``, ``"done"`` or ``"failed"``.
    message : str
        The problem, if it failed.
    fraction : float
        The finished part of the search.
    changes : Changes
        The changes that are searched, or were.
    study : int
        Counts the versions of the study's file.
    asked : int
        Counts the changes of the page and of the file.
    preview : int
        The change whose provisional front is known.
    report : int
        The change whose report is there; 0 if there is none.
    """

    status: str = "searching"
    message: str = ""
    fraction: float = 0.0
    changes: Changes = field(default_factory=dict)
    study: int = 1
    asked: int = 1
    preview: int = 0
    report: int = 0


class Session:
    """A study that is open: a thread searches the newest change, and ends older searches.

    Parameters
    ----------
    source : Path
        A study file, which is read again when it changes, or the folder of a run.
    workspace : Path
        A folder for reports, which the caller removes.
    """

    def __init__(self, source: Path, workspace: Path) -> None:
        self.source, self.state = source.absolute(), State()
        self._workspace, self._is_run = workspace.absolute(), source.is_dir()
        self.study = folders.load_copied_study(source) if self._is_run else read_study(source)
        kept = source if self._is_run else folders.default_folder(self.study.name)
        self._result: Result | None = None  # of the report
        self._results: dict[str, Result] = {}  # by digest of their study, the newest last
        if self._is_run or is_finished_run_of(kept, self.study.digest):
            self._results[self.study.digest] = folders.load_result(kept)
        self.before: Points = {}  # the front of the report before
        self.provisional: Points = {}
        self._signature, self._looked = self._files(), 0.0
        self._wake, self._closed = threading.Condition(), False
        self._thread = threading.Thread(target=self._work, name="search", daemon=True)
        self._thread.start()

    def change(self, changes: Changes) -> None:
        """Search the study with these changes, which replace the changes before."""
        with self._wake:
            self._ask(changes=changes)

    def close(self) -> None:
        """End the search, and wait until it has ended."""
        with self._wake:
            self._closed = True
            self._wake.notify_all()
        self._thread.join(timeout=5.0)

    def report_of(self, number: int) -> Path:
        """Return the path of the report of a change."""
        return self._workspace / f"{number}.html"

    # The thread

    def _work(self) -> None:
        searched = 0
        while not self._closed:
            with self._wake:
                if searched == self.state.asked:
                    self._wake.wait(_LOOK)
            self._look()
            if self._closed or searched == self.state.asked:
                continue
            searched = self.state.asked
            if self.state.status == "failed":  # the file cannot be read, and has no search
                continue
            try:
                with self._problems(searched):
                    self._search(searched)
            except SupersededError:
                continue

    def _search(self, asked: int) -> None:
        """Search the study with the newest changes, and write the report."""
        study = change_study(self.study, self.state.changes)
        result = self._results.pop(study.digest, None)
        if result is None:
            self._show_provisional(study, asked)
            result = run(study, None, progress=lambda progress: self._follow(progress, asked))
        self._results[study.digest] = result
        for digest in list(self._results)[:-_KEPT]:
            del self._results[digest]
        self._check(asked)
        self._set(asked, status="writing", fraction=1.0)
        before = front_points(self._result) if self._result is not None else {}
        report(study, result, self.report_of(asked), scripts=("behind",))
        self._check(asked)
        old, self._result, self.before = self.state.report, result, before
        self._set(asked, status="done", report=asked)
        for path in self._workspace.glob("*.html"):  # the page may still load the one before
            if path not in (self.report_of(asked), self.report_of(old)):
                path.unlink()

    def _show_provisional(self, study: ResolvedStudy, asked: int) -> None:
        """Evaluate the designs that the last result kept, for a front before the search ends."""
        if self._result is None:
            return
        try:
            self.provisional = provisional_front(study, self._result)
        except DseError:  # of other variables, or a table
            return
        self._check(asked)
        self._set(asked, preview=asked)

    def _follow(self, progress: Progress, asked: int) -> None:
        self._look()
        self._check(asked)
        self._set(asked, fraction=min(1.0, progress.done / max(1, progress.total)))

    def _check(self, asked: int) -> None:
        if self._closed or self.state.asked != asked:
            raise SupersededError

    def _set(self, asked: int, **values: Any) -> None:
        with self._wake:
            if self.state.asked == asked:
                self.state = replace(self.state, **values)

    def _ask(self, **values: Any) -> None:
        """Note a change, which a search will find; the caller has the lock."""
        asked = self.state.asked + 1
        state = replace(self.state, status="searching", message="", fraction=0.0, asked=asked)
        self.state = replace(state, **values)
        self._wake.notify_all()

    # The study's files

    def _look(self) -> None:
        """Read the study again if one of its files has changed."""
        if self._is_run or time.monotonic() - self._looked < _LOOK:
            return
        self._looked = time.monotonic()
        signature = self._files()
        if signature == self._signature:
            return
        self._signature = signature
        with self._wake:
            self._ask(study=self.state.study + 1)
        with self._problems(self.state.asked):
            self.study = read_study(self.source)
            self._signature = self._files()

    def _files(self) -> tuple[Any, ...]:
        """Return the size and the time of each file that the study came from."""
        found = []
        for path in (self.source, *self.study.code):
            try:
                status = path.stat()
            except OSError:  # an editor replaces it
                found.append((path, 0, 0))
            else:
                found.append((path, status.st_size, status.st_mtime_ns))
        return tuple(found)

    @contextmanager
    def _problems(self, asked: int) -> Iterator[None]:
        """Show a problem on the page; the report before stays."""
        try:
            yield
        except SupersededError:
            raise
        except DseError as error:
            self._set(asked, status="failed", message=without_passwords(str(error)))
        except (Exception, SystemExit) as error:  # whatever a model raises
            where = f"its traceback is in {save_traceback(error)}"
            self._set(asked, status="failed", message=f"{type(error).__name__}: {error}; {where}")


def front_points(result: Result) -> Points:
    """Return the front of a result."""
    return _points(result.front.designs[[*result.columns]])


def provisional_front(study: ResolvedStudy, result: Result) -> Points:
    """Return the front of the designs that another result of the study kept.

    It is no front of the space: designs that the result did not keep may be better.

    DseError if the study has other variables or objectives, or a model raises.
    """
    designs = result.designs
    for name, variable in study.evaluator.space.variables.items():
        if isinstance(variable, Choice) and name in designs:
            designs = designs[designs[name].isin(variable.names)]
    every = evaluate_designs(study, designs)
    values = every.loc[every["feasible"] & (every["outside"].astype(str) == "")]
    costs = np.column_stack(
        [values[o.name].to_numpy(np.float64) * o.sign for o in study.evaluator.objectives]
    )
    known = np.flatnonzero(~np.isnan(costs).any(axis=1))
    values = values.iloc[known[is_nondominated(costs[known])]]
    table = designs.loc[values.index].copy()
    for name in table.columns.intersection(values.columns):
        table[name] = values[name]
    return _points(table[[*result.columns]])


def _points(table: Any) -> Points:
    return {name: json_value(table[name].tolist()) for name in table}
