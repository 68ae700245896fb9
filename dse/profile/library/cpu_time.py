"""The CPU time of a program's threads, in a run of the plain program.

The profiled thread runs many times slower than the others: only a run without hooks has their
fractions of the time.
"""

from __future__ import annotations

import json
import subprocess
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import IO, Any

from dse.profile.build.toolchain import Toolchain
from dse.profile.errors import NotMeasuredError
from dse.profile.run.run import Limits, run_program

_CLOCKS = Path(__file__).with_name("cpu_time.c")


def compile_clocks(toolchain: Toolchain, result: Path, target: Path) -> None:
    """Compile what writes the CPU times to `result` when a program ends, to an object file."""
    name = json.dumps(str(result))
    command = [*toolchain.c, "-O1", "-std=gnu11", "-fPIC", "-fno-sanitize=all", f"-DRESULT={name}"]
    command += ["-c", str(_CLOCKS), "-o", str(target)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)  # noqa: S603
    if done.returncode:
        raise NotMeasuredError(f"the clocks do not compile: {done.stderr.strip()}")


def measure_cpu_fraction(
    executable: Path,
    result: Path,
    arguments: Sequence[str],
    limits: Limits,
    environ: Mapping[str, str],
    stdin: IO[Any],
    progress: Callable[[float, int], None] | None = None,
) -> float:
    """Return the fraction of a program's CPU time outside of the thread with main.

    Parameters
    ----------
    executable : Path
        The plain program with the object of :func:`compile_clocks`.
    result : Path
        The file that it writes.

    Raises
    ------
    NotMeasuredError
        If the run did not end by itself, or ended without a time.
    """
    silent = subprocess.DEVNULL
    outcome = run_program(
        executable, arguments, limits, environ, stdin, silent, progress, stderr=silent
    )
    if outcome.stopped or not result.is_file():
        reason = outcome.stopped or "a signal or _exit"
        raise NotMeasuredError(f"the run without instrumentation ended by {reason}")
    profiled, whole = map(float, result.read_text().split())
    if whole <= 0:
        raise NotMeasuredError("the run without instrumentation took no time")
    return min(max(1.0 - profiled / whole, 0.0), 1.0)
