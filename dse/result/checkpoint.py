"""Checkpoints: what an unfinished search needs to go on, as arrays that name their study."""

from __future__ import annotations

import hashlib
import io
import zipfile
import zlib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dse.problems import InputError, Problem
from dse.result.writing import write_bytes

_DIGEST, _SUM = "digest", "sha256"
_BROKEN = (OSError, ValueError, EOFError, KeyError, MemoryError, NotImplementedError)
"""What numpy raises for files that are none of its own, headers that promise terabytes included."""


def write(path: Path, state: Mapping[str, NDArray[Any]], digest: str) -> None:
    """Write a search's state whole, with the digest of its study; nothing for an empty one."""
    if state:
        content, own = io.BytesIO(), {_DIGEST: np.array(digest), _SUM: np.array(_sum(state))}
        np.savez(content, allow_pickle=False, **state, **own)
        write_bytes(path, content.getvalue())


def read(path: Path, digest: str) -> dict[str, NDArray[Any]]:
    """Return the state that was written; empty if there is none.

    Raises
    ------
    InputError
        If the file cannot be read, or is of another study.
    """
    if not path.is_file():
        return {}
    remedy = "remove it, or start with --fresh"
    try:
        with path.open("rb") as raw, np.load(raw, allow_pickle=False) as file:
            if any(part.compress_type != zipfile.ZIP_STORED for part in file.zip.infolist()):
                raise ValueError("it is compressed")  # a few bytes could fill the memory
            state = {name: file[name] for name in file.files}
    except (*_BROKEN, zipfile.BadZipFile, zlib.error) as error:
        problem = Problem("", f"cannot be read: {error}", remedy)
        raise InputError(str(path), [problem]) from None
    if state.pop(_DIGEST, None) != digest:
        raise InputError(str(path), [Problem("", "is of another study", remedy)])
    if state.pop(_SUM, None) != _sum(state):
        raise InputError(str(path), [Problem("", "is not as its run wrote it", remedy)])
    return state


def _sum(state: Mapping[str, NDArray[Any]]) -> str:
    """Return the SHA-256 of arrays: of their names, kinds, shapes and content."""
    found = hashlib.sha256()
    for name, array in sorted(state.items()):
        found.update(f"{name}\0{array.dtype.str}\0{array.shape}\0".encode())
        found.update(np.ascontiguousarray(array).tobytes())
    return found.hexdigest()
