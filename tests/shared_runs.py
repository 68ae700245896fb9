"""Processes that run ``dse`` on one storage."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import dse.result.shared
import dse.result.tables
import dse.run
from tests.forked import Forked


class Running:
    """A ``dse run`` under way.

    Parameters
    ----------
    study : Path
        The file; the run's folder is beside it.
    out : str
        The folder's name.
    given : dict
        Environment variables that the study's model reads.
    """

    def __init__(self, study: Path, out: str, given: dict[str, object]) -> None:
        words = {name: str(value) for name, value in given.items()}
        arguments = ("run", study.name, "--out", out)
        self._process = Forked(*arguments, cwd=study.parent, environ=words, prepare=_prepare)
        self.pid = self._process.pid
        self.kill = self._process.kill

    def ended(self, code: int = 0) -> str:
        """Wait for its end; return what it said, on one line."""
        done = self._process.ended()
        told = done.stdout + done.stderr
        assert done.returncode == code, told
        assert "Traceback" not in told
        assert "Hunter2" not in told
        return " ".join(told.split())


def _prepare() -> None:
    """Let a process be forgotten after 2 s, and leave out what runs models beside the search.

    A model then tells what the search evaluates.
    """
    dse.result.shared.GONE, dse.result.shared._BEAT = 2.0, 0.3
    for module, name, nothing in (
        (dse.result.tables, "flat_knobs", []),
        (dse.run, "held_to_the_contract", {}),
        (dse.run, "explainable", 0),
    ):
        setattr(module, name, lambda *_, nothing=nothing: nothing)


def said(says: Path, pid: int | None = None) -> Counter[str]:
    """Return how often each design was evaluated, by one process or by all."""
    files = [f for f in says.iterdir() if f.name.isdigit() and pid in (None, int(f.name))]
    return Counter(line for file in files for line in file.read_text().splitlines())
