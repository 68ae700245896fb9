"""Time what this processor does with its instructions for ciphers, without them, and elsewhere.

Four tables of times of one call, by its bytes:

* ``aes``: AES-128-CBC, and ``sha256``: SHA-256, by ``openssl speed``. The host works without the
  processor's instructions for them (OpenSSL's capability mask), the accelerator is the processor
  with them. `openssl` gives a throughput of one call after the other: bytes over it are the time.
* ``process-memory`` and ``process-socket``: SHA-256 here, without the instructions, or shipped to
  another process that has them, through shared memory or a socket; a call is a round trip.
"""

from __future__ import annotations

import contextlib
import csv
import hashlib
import mmap
import os
import platform
import re
import shutil
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NamedTuple

SIZES = tuple(1 << k for k in range(4, 21, 2))
"""Bytes of a call: from 16 B to 1 MiB."""
KERNELS = {"aes": "aes-128-cbc", "sha256": "sha256"}
REPEATS = 3
"""Of which the quickest counts: other programs only add to a time."""
_ROW = re.compile(r"^\+F:\d+:[^:]+:([\d.]+)$", re.M)


class Time(NamedTuple):
    """A row of the table: seconds of a call."""

    run: str
    granularity: int
    host: float
    accelerated: float


class MissingError(Exception):
    """A program that the measurement needs is not there."""


def mask() -> dict[str, str]:
    """Return the setting under which OpenSSL does without instructions for ciphers and hashes."""
    if platform.machine() in ("aarch64", "arm64"):
        return {"OPENSSL_armcap": "0"}
    # x86: without AES, PCLMULQDQ, SSSE3 and AVX; without SHA
    return {"OPENSSL_ia32cap": "~0x1200020200000000:~0x20000020"}


def openssl(kernel: str, size: int, seconds: int, masked: bool, repeats: int = REPEATS) -> float:
    """Return the seconds of one call of a kernel.

    Raises
    ------
    MissingError
        If there is no ``openssl``.
    """
    if shutil.which("openssl") is None:
        raise MissingError("there is no program openssl: apt-get install openssl")
    environment = {**os.environ, **(mask() if masked else {})}
    asked = ["openssl", "speed", "-mr", "-seconds", str(seconds), "-bytes", str(size)]
    rates = []
    for _ in range(repeats):
        done = subprocess.run(  # noqa: S603 (the arguments are this module's)
            [*asked, "-evp", KERNELS[kernel]],
            env=environment,
            capture_output=True,
            text=True,
            check=True,
        )
        found = _ROW.search(done.stdout)
        if found is None:
            raise MissingError(f"openssl speed says nothing of {kernel}: {done.stdout[-200:]}")
        rates.append(float(found[1]))
    return size / max(rates)


def best(call: Callable[[], object], seconds: float) -> float:
    """Return the least seconds of a call, repeated for so long: other programs only add to it."""
    least, end = float("inf"), time.perf_counter() + seconds
    while (began := time.perf_counter()) < end or least == float("inf"):
        call()
        least = min(least, time.perf_counter() - began)
    return least


def alone(sizes: tuple[int, ...], seconds: float) -> list[float]:
    """Return the seconds of SHA-256 in this process, by size."""
    times = []
    for size in sizes:
        data = os.urandom(size)
        times.append(best(lambda data=data: hashlib.sha256(data).digest(), seconds))  # type: ignore[misc]
    return times


def serve(memory: mmap.mmap | None, channel: socket.socket) -> None:
    """Answer calls until the other side ends: the size comes in 8 bytes, a digest goes back."""
    while len(head := channel.recv(8, socket.MSG_WAITALL)) == 8:
        size = int.from_bytes(head, "little")
        data = memory[:size] if memory is not None else channel.recv(size, socket.MSG_WAITALL)
        channel.sendall(hashlib.sha256(data).digest())


@contextlib.contextmanager
def server(way: str, largest: int) -> Iterator[Callable[[bytes], bytes]]:
    """Open a process that hashes with the processor's instructions; yield a call of it."""
    here, there = socket.socketpair()
    with tempfile.TemporaryFile() as file, here, there:
        file.truncate(largest)
        memory = mmap.mmap(file.fileno(), largest)
        shared = [there.fileno(), *([file.fileno()] if way == "memory" else [])]
        environment = {k: v for k, v in os.environ.items() if k not in mask()}
        command = [sys.executable, __file__, "serve", *map(str, shared)]
        process = subprocess.Popen(command, pass_fds=shared, env=environment)  # noqa: S603
        there.close()

        def call(data: bytes) -> bytes:
            head = len(data).to_bytes(8, "little")
            if way == "memory":
                memory[: len(data)] = data
                here.sendall(head)
            else:
                here.sendall(head + data)
            return here.recv(32, socket.MSG_WAITALL)

        try:
            yield call
        finally:
            here.close()
            process.wait(10)


def shipped(way: str, sizes: tuple[int, ...], seconds: float) -> list[float]:
    """Return the seconds of SHA-256 in another process, by size."""
    times = []
    with server(way, max(sizes)) as call:
        for size in sizes:
            data = os.urandom(size)
            if call(data) != hashlib.sha256(data).digest():
                raise RuntimeError(f"the other process gave a wrong digest of {size} bytes")
            times.append(best(lambda data=data: call(data), seconds))  # type: ignore[misc]
    return times


def unaided(sizes: tuple[int, ...], seconds: float) -> list[float]:
    """Return `alone` of a process that does without the processor's instructions."""
    command = [sys.executable, __file__, "alone", str(seconds), *map(str, sizes)]
    done = subprocess.run(  # noqa: S603
        command, env={**os.environ, **mask()}, capture_output=True, text=True, check=True
    )
    return [float(word) for word in done.stdout.split()]


def measured(sizes: tuple[int, ...] = SIZES, seconds: int = 1) -> Iterator[Time]:
    """Yield the times, a row of the table each.

    Raises
    ------
    MissingError
        If there is no ``openssl``.
    """
    for kernel in KERNELS:
        for size in sizes:
            host, own = (openssl(kernel, size, seconds, masked) for masked in (True, False))
            yield Time(kernel, size, host, own)
    part = seconds / 4
    here = unaided(sizes, part)
    for way in ("memory", "socket"):
        for size, host, away in zip(sizes, here, shipped(way, sizes, part), strict=True):
            yield Time(f"process-{way}", size, host, away)


def write(path: Path, times: list[Time]) -> None:
    """Write a table for ``dse fit``."""
    with path.open("w", encoding="utf-8", newline="") as file:
        rows = csv.writer(file)
        rows.writerow(["run", "granularity_B", "host_s", "accelerated_s"])
        rows.writerows([t.run, t.granularity, repr(t.host), repr(t.accelerated)] for t in times)


if __name__ == "__main__":  # the other side of a call
    what, *words = sys.argv[1:]
    if what == "serve":
        descriptor, *files = map(int, words)
        part = mmap.mmap(files[0], 0) if files else None
        serve(part, socket.socket(fileno=descriptor))
    else:
        seconds, *sizes = words
        print(*map(repr, alone(tuple(map(int, sizes)), float(seconds))))
