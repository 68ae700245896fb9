"""A Dask scheduler and workers on loopback, in processes of their own."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

_WAITS = 120.0  # seconds, for processes on a busy machine


def until(happened: Callable[[], object], what: str) -> None:
    """Wait for something that happens."""
    last = time.monotonic() + _WAITS
    while not happened():
        assert time.monotonic() < last, f"waited in vain for {what}"
        time.sleep(0.02)


class Processes:
    """A scheduler, and workers that are started and ended one by one.

    Parameters
    ----------
    folder : Path
        Of their logs, and where they work.
    environment : mapping of str to str
        What workers see beside the environment of here.
    """

    def __init__(self, folder: Path, **environment: str) -> None:
        self._folder, self._environment = folder, os.environ | environment
        self.started: list[subprocess.Popen[bytes]] = []
        self._file = folder / "scheduler.json"
        self.scheduler = self._start("scheduler", "--host", "127.0.0.1", "--port", "0")

    def _start(self, kind: str, *options: str, **environment: str) -> subprocess.Popen[bytes]:
        place = self._folder / f"{kind}{len(self.started)}"
        place.mkdir()
        command = [sys.executable, "-m", f"distributed.cli.dask_{kind}", *options]
        with (place / "log").open("wb") as log:
            process = subprocess.Popen(
                [*command, "--scheduler-file", str(self._file), "--no-dashboard"],
                cwd=place,
                env=self._environment | environment,
                stdout=log,
                stderr=subprocess.STDOUT,
            )
        self.started.append(process)
        return process

    @property
    def address(self) -> str:
        """Where the scheduler listens."""
        until(lambda: self._file.is_file() and self._file.read_text().endswith("}"), "a scheduler")
        return str(json.loads(self._file.read_text())["address"])

    def worker(self, **environment: str) -> subprocess.Popen[bytes]:
        """Start a worker of one thread; the scheduler's file must be there."""
        until(self._file.is_file, "a scheduler")
        options = ("--no-nanny", "--nthreads", "1", "--host", "127.0.0.1")
        return self._start("worker", *options, **environment)

    def restart(self) -> None:
        """Kill the scheduler and start it again at the same address."""
        port = self.address.rpartition(":")[2]
        killed(self.scheduler)
        self._file.unlink()
        self.scheduler = self._start("scheduler", "--host", "127.0.0.1", "--port", port)

    def end(self) -> None:
        """End each process that was started."""
        for process in self.started:
            if process.poll() is None:
                process.kill()
            process.wait()


@contextmanager
def processes(folder: Path, workers: int, **environment: str) -> Iterator[Processes]:
    """Start a scheduler and workers, and end them."""
    started = Processes(folder, **environment)
    try:
        for _ in range(workers):
            started.worker()
        yield started
    finally:
        started.end()


def killed(process: subprocess.Popen[bytes]) -> None:
    """Kill a process at once, as a machine that fails would."""
    process.send_signal(signal.SIGKILL)
    process.wait()
