"""Instrumented objects of the last programs, kept: built once, run on many inputs."""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import shutil
import tempfile
from dataclasses import asdict
from pathlib import Path
from typing import Any

from dse.profile.build.build import Job, build_object
from dse.profile.build.elf import write_sparse

KEPT = 8  # programs
_FILES = ("program.o", "tables.json")


def build_kept(job: Job, folder: Path) -> dict[str, Any]:
    """Do a job, or take what the same job made before; return its tables.

    The user's cache keeps results by a digest of the IR and of the instrumentation.
    """
    place = _cache() / _digest(job)
    if all((place / name).is_file() for name in _FILES):
        write_sparse(Path(job.object), (place / "program.o").read_bytes())
        os.utime(place)
        tables: dict[str, Any] = json.loads((place / "tables.json").read_text())
        return tables
    made = build_object(job, folder)
    with contextlib.suppress(OSError):  # no room, or no right to write: it is made again
        _keep(job, place)
    return made


def _cache() -> Path:
    home = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    return Path(home) / "dse" / "profile"


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
