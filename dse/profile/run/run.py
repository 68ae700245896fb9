"""The instrumented program's run: same addresses and environment each time, within limits."""

from __future__ import annotations

import ctypes
import os
import resource
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

from dse.profile.errors import source_error

POLL = 0.05  # seconds between looks at the program's memory
GRACE = 20.0  # seconds for a stopped program to write its result
_LIBC = ctypes.CDLL(None)  # loaded before a fork
_PARENT_DEATH_SIGNAL = 1  # PR_SET_PDEATHSIG, prctl(2)


@dataclass(frozen=True, slots=True)
class Limits:
    """When to stop a program: seconds, and bytes of memory of program and profile; None: never."""

    seconds: float | None = None
    memory: int | None = None


@dataclass(frozen=True, slots=True)
class Outcome:
    """How the run ended: by itself, or for one of the limits."""

    returncode: int
    stopped: str  # "", "time limit", "memory limit" or "interrupted"
    seconds: float


def environment(names: Sequence[str]) -> dict[str, str]:
    """Return a small fixed environment, with the user's variables of these names.

    The environment shifts the program's stack, and so changes cache results.
    """
    fixed = {"PATH": "/usr/local/bin:/usr/bin:/bin", "LC_ALL": "C.UTF-8"}
    return fixed | {name: os.environ[name] for name in names if name in os.environ}


def run_program(
    program: Path,
    arguments: Sequence[str],
    limits: Limits,
    environ: Mapping[str, str],
    stdin: IO[Any] | int | None = None,
    stdout: IO[Any] | int | None = None,
    progress: Callable[[float, int], None] | None = None,
    stderr: int | None = None,
) -> Outcome:
    """Run a program, its streams passed on, and end it if it passes a limit.

    Parameters
    ----------
    progress : callable, optional
        Called several times a second with the seconds passed and the bytes of memory in use.
    """
    begun = time.monotonic()
    with _interrupts_kept() as interrupts:
        try:
            process = subprocess.Popen(  # noqa: S603
                [program.name, *arguments],
                executable=program,
                env=dict(environ),
                stdin=stdin,
                stdout=stdout,
                stderr=stderr,
                preexec_fn=_prepare,
            )
        except OSError as error:
            raise source_error("profile", f"the program does not start: {error.strerror}") from None
    stopped = ""
    try:
        if interrupts:
            raise KeyboardInterrupt
        while True:
            try:
                process.wait(POLL)
                break
            except subprocess.TimeoutExpired:
                pass
            used, passed = _memory(process.pid), time.monotonic() - begun
            if progress:
                progress(passed, used)
            if limits.seconds is not None and passed > limits.seconds:
                stopped = "time limit"
            elif limits.memory is not None and used > limits.memory:
                stopped = "memory limit"
            if stopped:
                _end(process)
                break
    except KeyboardInterrupt:
        _end(process)
        stopped = "interrupted"
    except BaseException:
        process.kill()  # nobody reads its result
        process.wait()
        raise
    return Outcome(process.returncode, stopped, time.monotonic() - begun)


@contextmanager
def _interrupts_kept() -> Iterator[list[int]]:
    """Keep Ctrl-C until there is a program to end; yield the list of interrupts.

    Blocking the signal would not do: another thread may take it, and Python then raises
    KeyboardInterrupt in this one.
    """
    interrupts: list[int] = []
    before = signal.getsignal(signal.SIGINT)
    if threading.current_thread() is not threading.main_thread() or not callable(before):
        yield interrupts  # Ctrl-C raises nothing here
        return
    signal.signal(signal.SIGINT, lambda number, _: interrupts.append(number))
    try:
        yield interrupts
    finally:
        signal.signal(signal.SIGINT, before)


@contextmanager
def exit_on_signals(
    progress: Callable[[float, int], None] | None,
) -> Iterator[Callable[[float, int], None]]:
    """Raise SystemExit on SIGTERM and SIGHUP; the profiled program then ends first.

    Yields what a run has to call in place of `progress`: Python drops an exception that a signal
    raises while an object is deleted, and this call raises it again.
    """
    received: list[int] = []

    def leave(number: int, _: object) -> None:
        received.append(number)
        raise SystemExit(128 + number)

    def watch(seconds: float, used: int) -> None:
        if received:
            raise SystemExit(128 + received[0])
        if progress:
            progress(seconds, used)

    before = {number: signal.signal(number, leave) for number in (signal.SIGTERM, signal.SIGHUP)}
    try:
        yield watch
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def _prepare() -> None:
    """Leave no core file and end with the profiler: before the program takes over."""
    _LIBC.prctl(_PARENT_DEATH_SIGNAL, signal.SIGKILL)
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))


def _end(process: subprocess.Popen[Any]) -> None:
    """Ask the program to write what it has; end it if it does not."""
    process.send_signal(signal.SIGRTMAX)  # programs handle SIGTERM
    try:
        process.wait(GRACE)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()


def _memory(pid: int) -> int:
    """Resident bytes of a process, 0 if it has just ended."""
    try:
        pages = int(Path(f"/proc/{pid}/statm").read_text().split()[1])
    except (OSError, IndexError):
        return 0
    return pages * resource.getpagesize()


def report_progress(seconds: float, used: int) -> None:
    """Show time and memory on one line of the terminal."""
    print(  # noqa: T201
        f"\r  running {seconds:6.1f} s, {used / 2**20:,.0f} MiB",
        end="",
        file=sys.stderr,
        flush=True,
    )
