"""Objects that are kept in the user's cache: of the last programs, and of their runtimes.

A program is built once and run on many inputs. A runtime is the same for all programs.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import platform
import shutil
import subprocess
import tempfile
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from dse.profile.build.build import Job, build_object
from dse.profile.build.elf import write_sparse

KEPT = 8  # programs
RUNTIMES = 32  # one for each set of options
_FILES = ("program.o", "tables.json")


def build_kept(job: Job, folder: Path) -> dict[str, Any]:
    """Do a job, or take what the same job made before; return its tables.

    The user's cache keeps results by a digest of the IR and of the instrumentation.
    """
    place = _cache("profile") / _digest(job)
    if all((place / name).is_file() for name in _FILES):
        write_sparse(Path(job.object), (place / "program.o").read_bytes())
        os.utime(place)
        tables: dict[str, Any] = json.loads((place / "tables.json").read_text())
        return tables
    made = build_object(job, folder)
    with contextlib.suppress(OSError):  # no room, or no right to write: it is made again
        _keep(job, place)
    return made


def compile_kept(
    command: Sequence[str], version: str, source: Path, target: Path
) -> subprocess.CompletedProcess[str] | None:
    """Compile a runtime for this machine, or take the object of the same command before.

    Parameters
    ----------
    command : sequence of str
        Without the names of files.
    version : str
        Of the compiler.
    source : Path
        Its folder holds all that it includes, besides headers of the system.
    target : Path

    Returns
    -------
    subprocess.CompletedProcess or None
        Of the compiler, None if the object was there.
    """
    from llvmlite import binding

    machine = [os.uname().machine, binding.get_host_cpu_name(), *platform.libc_ver()]
    with contextlib.suppress(RuntimeError):  # where LLVM cannot list them
        machine.append(binding.get_host_cpu_features().flatten())
    words = (source.name, version, *machine, *command[1:])
    whole = hashlib.sha256("\0".join(words).encode())
    for path in sorted(each for each in source.parent.iterdir() if each.suffix in (".c", ".h")):
        whole.update(f"\0{path.name}\0".encode() + path.read_bytes())
    place = _cache("runtime") / f"{whole.hexdigest()}.o"
    with contextlib.suppress(OSError):
        shutil.copyfile(place, target)
        os.utime(place)
        return None
    line = [*command, "-c", str(source), "-o", str(target)]
    done = subprocess.run(line, capture_output=True, text=True, check=False)  # noqa: S603
    if not done.returncode:
        with contextlib.suppress(OSError):
            place.parent.mkdir(parents=True, exist_ok=True)
            with tempfile.NamedTemporaryFile(dir=place.parent, delete=False) as file:
                file.write(target.read_bytes())
            Path(file.name).replace(place)
            for old in sorted(place.parent.glob("*.o"), key=_when, reverse=True)[RUNTIMES:]:
                old.unlink()
    return done


def _cache(name: str) -> Path:
    home = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    return Path(home) / "dse" / name


def _digest(job: Job) -> str:
    whole = hashlib.sha256()
    settings = asdict(job) | {"modules": [], "object": "", "tables": ""}
    whole.update(json.dumps(settings, sort_keys=True).encode())
    for file in (*sorted(Path(__file__).parent.glob("*.py")), *map(Path, job.modules)):
        content = file.read_bytes()
        whole.update(b"%d " % len(content) + content)
    return whole.hexdigest()


def _keep(job: Job, place: Path) -> None:
    place.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=place.parent) as name:
        made = Path(name) / "made"
        made.mkdir()
        write_sparse(made / "program.o", Path(job.object).read_bytes())
        shutil.copy(job.tables, made / "tables.json")
        os.replace(made, place)
    old = sorted((p for p in place.parent.iterdir() if len(p.name) == 64), key=_when, reverse=True)
    for each in old[KEPT:]:
        shutil.rmtree(each, ignore_errors=True)


def _when(path: Path) -> float:
    return path.stat().st_mtime
