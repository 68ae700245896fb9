"""The input of a program that runs several times."""

from __future__ import annotations

import os
import select
import shutil
import stat
import subprocess
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO, Any

_WAIT = 0.05  # seconds between looks at whether the first run has ended
_PART = 1 << 16  # bytes that a pipe holds


@contextmanager
def keep_input(stdin: IO[Any] | int | None, target: Path) -> Iterator[IO[Any] | int | None]:
    """Write a program's input to a file while its first run reads it; yield that run's input.

    Of a pipe, the file has the part that the first run could read: a pipe may never end. A terminal
    is for the first run only, and the file is then empty.
    """
    number = 0 if stdin is None else stdin if isinstance(stdin, int) else stdin.fileno()
    target.write_bytes(b"")
    if number == subprocess.DEVNULL or os.isatty(number):
        yield stdin
    elif stat.S_ISREG(os.fstat(number).st_mode):
        with open(number, "rb", closefd=False) as file, target.open("wb") as copy:
            shutil.copyfileobj(file, copy)
        with target.open("rb") as first:
            yield first
    else:
        with target.open("wb", buffering=0) as copy:
            to_read, to_write = os.pipe()
            ended = threading.Event()
            pump = threading.Thread(target=_pump, args=(number, to_write, copy, ended))
            pump.start()
            try:
                yield to_read
            finally:
                ended.set()
                os.close(to_read)
                pump.join()


def _pump(source: int, target: int, copy: IO[bytes], ended: threading.Event) -> None:
    """Copy from a pipe to another and to a file, until its end or that of its reader."""
    with suppress(BrokenPipeError):
        while not ended.is_set():
            if select.select([source], [], [], _WAIT)[0]:
                part = os.read(source, _PART)
                if not part:
                    break
                copy.write(part)
                while part and not ended.is_set():
                    if select.select([], [target], [], _WAIT)[1]:
                        part = part[os.write(target, part[:4096]) :]
    os.close(target)
