"""Inputs that lie outside of a study's folder: where a run's copy of the study has them."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from pathlib import Path

from dse.evaluate.wiring import Wiring
from dse.study.schema import ResourceFile, StudyFile

_FOLDER = "outside"


def written(path: Path, entry: str) -> Path:
    """Return the file or folder that an input of a study names.

    Parameters
    ----------
    path : Path
        The study's folder.
    entry : str
        What the study says, relative to that folder.
    """
    copy = path / _place(entry)
    return copy if copy.exists() else path / entry


def outside(file: StudyFile, wiring: Wiring, folder: Path) -> dict[str, Path]:
    """Return the files of inputs that lie outside of a study's folder, by the place of a copy."""
    found = {}
    for name, given in file.inputs.items():
        entry = given.file if isinstance(given, ResourceFile) else given
        if name not in wiring.resources or not isinstance(entry, str):
            continue
        path = written(folder, entry)
        for each in files(path):
            if not each.resolve().is_relative_to(folder.resolve()):
                rest = each.relative_to(path) if each != path else Path()
                found[(Path(_place(entry)) / rest).as_posix()] = each
    return found


def files(path: Path) -> Iterable[Path]:
    """Return a file itself, and of a folder the files that lie in it."""
    if not path.is_dir():
        return [path]
    return sorted(p for p in path.iterdir() if p.is_file() and not p.name.startswith("."))


def _place(entry: str) -> str:
    digits = hashlib.sha256(entry.encode("utf-8", "surrogatepass")).hexdigest()[:12]
    return f"{_FOLDER}/{digits}/{Path(entry).name}"
