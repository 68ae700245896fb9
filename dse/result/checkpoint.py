"""Checkpoints: the state of an unfinished search, as arrays with the digest of their study."""

from __future__ import annotations

import hashlib
import io
import zipfile
import zlib
from collections.abc import Mapping
from pathlib import Path
from typing import IO, Any

import numpy as np
from numpy.typing import NDArray

from dse.problems import InputError, Problem
from dse.result.writing import write_bytes

_DIGEST, _SUM = "digest", "sha256"
_BROKEN = (OSError, ValueError, EOFError, KeyError, MemoryError, NotImplementedError)
"""The errors of numpy for foreign files, also for headers that promise terabytes."""


class DamagedError(ValueError):
    """The stored state of a search was changed, or is the state of another study."""


def write(path: Path, state: Mapping[str, NDArray[Any]], digest: str) -> None:
    """Write the whole state of a search with the digest of its study; nothing if it is empty."""
    if state:
        write_bytes(path, packed(state, digest))


def read(path: Path, digest: str) -> dict[str, NDArray[Any]]:
    """Return the written state; an empty one if there is no file.

    Raises
    ------
    InputError
        If the file cannot be read, or is of another study.
    """
    if not path.is_file():
        return {}
    try:
        with path.open("rb") as raw:
            return unpacked(raw, digest)
    except (OSError, DamagedError) as error:
        message = str(error) if isinstance(error, DamagedError) else f"cannot be read: {error}"
        problem = Problem("", message, "remove it, or start with --fresh")
        raise InputError(str(path), [problem]) from None


def packed(state: Mapping[str, NDArray[Any]], digest: str) -> bytes:
    """Return a state as bytes that name their study."""
    content, own = io.BytesIO(), {_DIGEST: np.array(digest), _SUM: np.array(_sum(state))}
    np.savez(content, allow_pickle=False, **state, **own)
    return content.getvalue()


def unpacked(content: IO[bytes], digest: str) -> dict[str, NDArray[Any]]:
    """Return the state from the bytes that `packed` returned.

    Raises
    ------
    DamagedError
        If the bytes are damaged, or are the state of another study.
    """
    try:
        with np.load(content, allow_pickle=False) as file:
            if any(part.compress_type != zipfile.ZIP_STORED for part in file.zip.infolist()):
                raise ValueError("it is compressed")  # a few bytes could fill the memory
            state = {name: file[name] for name in file.files}
    except (*_BROKEN, zipfile.BadZipFile, zlib.error) as error:
        raise DamagedError(f"cannot be read: {error}") from None
    if state.pop(_DIGEST, None) != digest:
        raise DamagedError("is of another study")
    if state.pop(_SUM, None) != _sum(state):
        raise DamagedError("is not as its run wrote it")
    return state


def _sum(state: Mapping[str, NDArray[Any]]) -> str:
    """Return the SHA-256 of arrays with their names, kinds and shapes."""
    found = hashlib.sha256()
    for name, array in sorted(state.items()):
        found.update(f"{name}\0{array.dtype.str}\0{array.shape}\0".encode())
        found.update(np.ascontiguousarray(array).tobytes())
    return found.hexdigest()
