"""The library of C++, built once for all users of an environment.

Zig compiles its libc++ at the first link, which takes about a minute, and keeps it for one user.
This module keeps the archives in the environment if it may write there, else in the user's cache.
"""

from __future__ import annotations

import contextlib
import importlib.metadata
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

ARCHIVES = ("libc++abi.a", "libc++.a", "libunwind.a")
_PATH = re.compile(rf"(\S+/(?:{'|'.join(map(re.escape, ARCHIVES))}))(?= |$)", re.MULTILINE)
_OWN = re.compile(r"-(?:nostdlib(?:\+\+)?|nodefaultlibs|stdlib=.*)")
_STEP = 0.2  # seconds between looks at the compiler


def prepare_cxx_link(compiler: Sequence[str], flags: Sequence[str]) -> tuple[list[str], list[str]]:
    """Return the command that links C++, and the library to add behind the objects.

    They are the given compiler and nothing for another compiler than zig, or if `flags` choose the
    library themselves.
    """
    if compiler[-1] != "c++" or any(_OWN.fullmatch(flag) for flag in flags):
        return list(compiler), []
    archives = _kept(compiler)
    return ([*compiler[:-1], "cc"], archives) if archives else (list(compiler), [])


def _kept(compiler: Sequence[str]) -> list[str]:
    """Return the archives, built if there are none; empty if they cannot be kept."""
    name = f"libc++-{importlib.metadata.version('ziglang')}-{os.uname().machine}"
    cache = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "dse"
    places = [Path(sys.prefix, "share", "dse-accelerators", name), cache / name]
    found = next((place for place in places if (place / ARCHIVES[-1]).is_file()), None)
    if found is None:
        found = _keep(_built(compiler), places)
    return [str(found / archive) for archive in ARCHIVES] if found else []


def _keep(archives: Sequence[Path], places: Sequence[Path]) -> Path | None:
    """Copy archives to the first place that may be written, and return it."""
    if len(archives) != len(ARCHIVES):
        return None
    for place in places:
        with contextlib.suppress(OSError):
            place.parent.mkdir(parents=True, exist_ok=True)
            with tempfile.TemporaryDirectory(dir=place.parent) as folder:
                made = Path(folder) / "made"
                made.mkdir()
                made.chmod(0o755)
                for archive in archives:
                    shutil.copyfile(archive, made / archive.name)
                with contextlib.suppress(OSError):  # another process was faster
                    made.replace(place)
            return place
    return None


def _built(compiler: Sequence[str]) -> list[Path]:
    """Let zig build its library, with the seconds on a terminal; return its archives."""
    with tempfile.TemporaryDirectory(prefix="dse-cxx-") as folder:
        source = Path(folder) / "empty.cpp"
        source.write_text("int main() { return 0; }\n")
        line = [*compiler, "-v", "-O1", "-fno-sanitize=all", "-mcpu=baseline", str(source)]
        said = Path(folder) / "said"
        with said.open("w") as file:
            process = subprocess.Popen(  # noqa: S603
                [*line, "-o", str(Path(folder) / "empty")], stdout=file, stderr=file
            )
            _show_progress(process)
        found = {Path(path).name: Path(path) for path in _PATH.findall(said.read_text())}
    return [found[name] for name in ARCHIVES if name in found and found[name].is_file()]


def _show_progress(process: subprocess.Popen[bytes]) -> None:
    """Wait for a process; show its seconds on a terminal."""
    begun, shown = time.monotonic(), False
    while True:
        try:
            process.wait(_STEP)
            break
        except subprocess.TimeoutExpired:
            passed = time.monotonic() - begun
            if sys.stderr.isatty() and passed > 2.0:
                shown = True
                message = f"\r  building the C++ library, once for this environment: {passed:.0f} s"
                sys.stderr.write(message)
                sys.stderr.flush()
    if shown:
        sys.stderr.write("\n")
