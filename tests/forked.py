"""Commands in processes of their own, forked from one that has loaded what they import.

To import all of it takes longer than most of these commands; the process, its signals, its folder
and its standard streams are real.
"""

from __future__ import annotations

import multiprocessing
import os
import shutil
import signal
import subprocess
import sys
import tempfile
from collections.abc import Callable, Mapping
from pathlib import Path

import dse.cli
import dse.report
import dse.result.shared
import dse.result.storage
import dse.result.tables
import dse.run
import dse.search.samplers
import dse.terminal
from tests.commands import Done
from tests.migrations import read_once

CONTEXT = multiprocessing.get_context("forkserver")
CONTEXT.set_forkserver_preload([__name__])


read_once()


def nothing() -> None:
    """Prepare nothing."""


class Forked:
    """A ``dse`` command under way.

    Parameters
    ----------
    arguments : str
    cwd : Path
        Where it runs.
    environ : mapping, optional
        Environment variables beside those of here.
    prepare : callable, optional
        What the process does first: a function of a module.
    session : bool
        Whether it has a session of its own, as from a terminal.
    """

    def __init__(
        self,
        *arguments: str,
        cwd: Path,
        environ: Mapping[str, str] | None = None,
        prepare: Callable[[], None] = nothing,
        session: bool = False,
    ) -> None:
        self._folder = Path(tempfile.mkdtemp())
        self._said = [self._folder / name for name in ("stdout", "stderr")]
        wanted = dict(os.environ) | dict(environ or {})
        given = (["dse", *arguments], str(cwd), wanted, prepare, session, self._said)
        self._process = CONTEXT.Process(target=_run, args=given)
        self._process.start()

    @property
    def pid(self) -> int:
        """The process."""
        assert self._process.pid is not None
        return self._process.pid

    @property
    def running(self) -> bool:
        """Whether it has not ended."""
        return self._process.exitcode is None

    def ended(self, seconds: float = 120.0) -> Done:
        """Wait for its end; return what it left."""
        self._process.join(seconds)
        code = self._process.exitcode
        if code is None:
            self.kill()
            raise subprocess.TimeoutExpired("dse", seconds)
        done = Done(code, *(each.read_text() for each in self._said))
        shutil.rmtree(self._folder)
        return done

    def kill(self) -> None:
        """End it at once."""
        os.kill(self.pid, signal.SIGKILL)
        self._process.join()
        shutil.rmtree(self._folder)


def forked(*arguments: str, cwd: Path) -> Done:
    """Run a command to its end."""
    return Forked(*arguments, cwd=cwd).ended()


def _run(
    arguments: list[str],
    cwd: str,
    environ: dict[str, str],
    prepare: Callable[[], None],
    session: bool,
    said: list[Path],
) -> None:
    if session:
        os.setsid()
    for number, path in enumerate(said, 1):
        file = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
        os.dup2(file, number)
        os.close(file)
    os.environ.clear()
    os.environ |= environ
    os.chdir(cwd)
    sys.argv = arguments
    prepare()
    dse.cli.main()
