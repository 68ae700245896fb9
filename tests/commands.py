"""The command line in this process: what a command imports takes longer than what it does."""

from __future__ import annotations

import contextlib
import io
import os
import signal
import sys
from pathlib import Path
from typing import NamedTuple
from unittest import mock

import pytest

from dse.cli import main


class Done(NamedTuple):
    """What a command left: its exit code, and what it wrote."""

    returncode: int
    stdout: str
    stderr: str


def leave_out_assumptions(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let a recommendation say nothing of how far it holds: that takes most of the time."""
    monkeypatch.setattr("dse.explain.recommendation.check_assumptions", lambda *_: ())
    monkeypatch.setattr("dse.explain.recommendation.find_switch_points", lambda *_, **__: None)


def called(*arguments: str, cwd: Path, columns: int = 80) -> Done:
    """Run a command in a folder, on a terminal of so many columns."""
    out, err, code = io.StringIO(), io.StringIO(), 0
    handlers = {sign: signal.getsignal(sign) for sign in (signal.SIGINT, signal.SIGTERM)}
    with (
        contextlib.chdir(cwd),
        mock.patch.dict(os.environ, COLUMNS=str(columns)),
        mock.patch.object(sys, "argv", ["dse", *arguments]),
        contextlib.redirect_stdout(out),
        contextlib.redirect_stderr(err),
    ):
        try:
            main()
        except SystemExit as error:
            code = int(error.code or 0)
        finally:
            for sign, handler in handlers.items():
                signal.signal(sign, handler)
    return Done(code, out.getvalue(), err.getvalue())
