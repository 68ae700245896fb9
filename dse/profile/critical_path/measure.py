"""The run of a program with times, and the critical paths that it gives."""

from __future__ import annotations

import subprocess
from collections.abc import Callable, Mapping, Sequence
from typing import IO, Any

from dse.profile.critical_path.build import TimedProgram
from dse.profile.critical_path.weights import CYCLE
from dse.profile.document import CriticalPath
from dse.profile.errors import NotMeasuredError
from dse.profile.run.run import Limits, run_program


def measure_critical_paths(
    program: TimedProgram,
    arguments: Sequence[str],
    limits: Limits,
    environ: Mapping[str, str],
    stdin: IO[Any],
    progress: Callable[[float, int], None] | None = None,
) -> tuple[CriticalPath | None, ...]:
    """Run a program and return the critical path of each of its functions, None if it never ran.

    Raises
    ------
    NotMeasuredError
        If the run did not end by itself.
    """
    silent = subprocess.DEVNULL
    outcome = run_program(
        program.executable, arguments, limits, environ, stdin, silent, progress, stderr=silent
    )
    if outcome.stopped:
        raise NotMeasuredError(f"the second run ended by {outcome.stopped}")
    if not program.result.is_file():
        raise NotMeasuredError("the second run ended early")
    rows = [map(int, line.split()) for line in program.result.read_text().splitlines()]
    return tuple(
        CriticalPath(calls=calls, work=work / CYCLE, length=length / CYCLE, linked_objects=linked)
        if calls
        else None
        for calls, work, length, linked in rows
    )
