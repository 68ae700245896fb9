"""The files of inputs, and those that a run does not copy: outside of its study's folder.

Such a file may be private, or large. What is kept of it is where it lies and its SHA-256, so that a
run is explained with what it read, or not at all.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from dse.problems import check_regular

BYTES = 1 << 30
"""Of a file that is read as an input, at most."""


class Outside(NamedTuple):
    """An input that is not copied: its name in the study, its place, and its SHA-256.

    The file's own is under ``"."``; of a folder each file's under its place below it.
    """

    name: str
    path: Path
    sha256: Mapping[str, str]

    def changed(self) -> list[str]:
        """Return which files are no longer what was read, or were not there.

        Raises
        ------
        InputError
            If what lies there now cannot be read as an input.
        OSError
            If it cannot be read at all.
        """
        check_regular(self.path, BYTES)
        found = {place_in(self.path, file): file for file in files_of(self.path)}
        differ = found.keys() ^ self.sha256.keys()
        same = found.keys() & self.sha256.keys()
        differ |= {place for place in same if sha256_of(found[place]) != self.sha256[place]}
        return sorted(differ)


def files_of(path: Path) -> list[Path]:
    """Return a file itself; of a folder its files and those of its folders, but hidden ones."""
    if not path.is_dir():
        return [path]
    inside = [entry for entry in path.iterdir() if not entry.name.startswith(".")]
    below = [each for entry in inside if entry.is_dir() for each in entry.iterdir()]
    return sorted(p for p in [*inside, *below] if p.is_file() and not p.name.startswith("."))


def place_in(path: Path, file: Path) -> str:
    """Return where a file lies in a folder; ``"."`` if it is the file itself."""
    return file.relative_to(path).as_posix()


def is_copied(folder: Path | None, name: str, files: Sequence[Path]) -> bool:
    """Tell whether copies of an input's files lie where the copy of the study looks for them.

    They do not if the name leaves the folder, even to come back, or leads through a link.
    """
    if folder is None or Path(name).is_absolute():
        return False
    own = folder.resolve()
    return all(file.resolve() == own / file.relative_to(folder) for file in files)


def sha256_of(path: Path) -> str:
    """Return the SHA-256 of a file."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
