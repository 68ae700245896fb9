"""The files of inputs, and external files that a run does not copy.

An external file is outside the study's folder; it may be private, or large. A run keeps only its
place and its SHA-256. It is explained with the same content, or not at all.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from dse.problems import check_regular

MARKER = "run.json"
"""The file that a run folder is known by."""
BYTES = 1 << 30
"""Of a file that is read as an input, at most."""


class Outside(NamedTuple):
    """An input that is not copied: its name in the study, its place, and its SHA-256.

    The file's own is under ``"."``; of a folder each file's under its place below it.
    """

    name: str
    path: Path
    sha256: Mapping[str, str]

    @classmethod
    def of(cls, name: str, path: Path, files: Sequence[Path], code: Mapping[Path, str]) -> Outside:
        """Return an input with the digests of its files. Loaders see its name: a link stays one."""
        digests = {place_in(path, file): code[file] for file in files}
        return cls(name, path.parent.resolve() / path.name, digests)

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


def places(outside: Mapping[str, Outside]) -> Iterator[str]:
    """Yield which file of which input has which content."""
    for key, each in sorted(outside.items()):
        yield from (f"{key}\0{place}\0{digest}" for place, digest in sorted(each.sha256.items()))


def files_of(path: Path) -> list[Path]:
    """Return a file itself; of a folder all files below it, except hidden ones and files of runs.

    Raises
    ------
    OSError
        If a folder cannot be read.
    ValueError
        If a name in it is not text.
    """
    if not path.is_dir():
        return [path]
    found: list[Path] = []
    seen: set[str] = set()
    for at, folders, names in os.walk(path, onerror=_raised, followlinks=True):
        real = os.path.realpath(at)
        known = real in seen  # by a link: it may be a loop
        seen.add(real)
        folders[:] = [] if known else [name for name in folders if _is_given(Path(at, name))]
        found += [] if known else [Path(at, name) for name in names if not name.startswith(".")]
    for file in found:
        if file.name != file.name.encode(errors="replace").decode():
            raise ValueError(f"{file.name!a}: the name of a file is not UTF-8 text")
    return sorted(file for file in found if file.is_file())


def _is_given(folder: Path) -> bool:
    """Return whether to look into a folder: not if it is hidden or a run wrote it."""
    return not folder.name.startswith(".") and not (folder / MARKER).is_file()


def _raised(error: OSError) -> None:
    raise error


def place_in(path: Path, file: Path) -> str:
    """Return the path of a file in a folder; ``"."`` if it is the file itself."""
    return file.relative_to(path).as_posix()


def is_copied(folder: Path | None, name: str, files: Sequence[Path]) -> bool:
    """Return whether copies of an input's files are where the copy of the study looks for them.

    They do not if the name leaves the folder, even to come back, or leads through a link.
    """
    if folder is None or Path(name).is_absolute():
        return False
    own = folder.resolve()
    return bool(files) and all(file.resolve() == own / file.relative_to(folder) for file in files)


def sha256_of(path: Path) -> str:
    """Return the SHA-256 of a file."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
