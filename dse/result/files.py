"""Atomic writes: a reader sees the old file or the new file, and never half of one.

Text, JSON, and the state of an unfinished search: arrays with the digest of their study.
"""

from __future__ import annotations

import errno
import hashlib
import io
import json
import os
import zipfile
from collections.abc import Callable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dse.model.values import json_value
from dse.problems import InputError, Problem

_NO_FOLDERS = (errno.EINVAL, errno.ENOTSUP, errno.EACCES)
_DIGEST, _SUM = "digest", "sha256"  # among the arrays of a state: of the study, of the arrays


def write_whole(path: Path, write: Callable[[Path], object]) -> None:
    """Write a file under a temporary name, sync it to the disk, then rename it.

    Raises
    ------
    OSError
        If it cannot be written; the error names `path`, not the temporary file.
    """
    temporary = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        write(temporary)
        _to_disk(temporary)
        os.replace(temporary, path)
    except BaseException as error:
        with suppress(OSError):
            temporary.unlink(missing_ok=True)
        if isinstance(error, OSError) and error.filename in (None, str(temporary)):
            raise OSError(error.errno, error.strerror, str(path)) from error
        raise
    try:
        _to_disk(path.parent)
    except OSError as error:
        if error.errno not in _NO_FOLDERS:  # some file systems sync only files
            raise


def write_text(path: Path, text: str) -> None:
    """Write a text file as a whole."""
    write_bytes(path, text.encode())


def write_bytes(path: Path, content: bytes) -> None:
    """Write bytes as a whole file."""
    write_whole(path, lambda temporary: temporary.write_bytes(content))


def write_json(path: Path, content: Mapping[str, Any]) -> None:
    """Write JSON as a whole file; infinities become the texts "inf" and "-inf"."""
    text = json.dumps(json_value(content), indent=2, ensure_ascii=False, allow_nan=False)
    write_text(path, text + "\n")


def write_state(path: Path, state: Mapping[str, NDArray[Any]], digest: str) -> None:
    """Write the state of a search with the digest of its study; nothing if it is empty."""
    if state:
        content = io.BytesIO()
        own = {_DIGEST: np.array(digest), _SUM: np.array(_sum_of(state))}
        np.savez(content, allow_pickle=False, **state, **own)
        write_bytes(path, content.getvalue())


def read_state(path: Path, digest: str) -> dict[str, NDArray[Any]]:
    """Return the written state; an empty one if there is no file.

    Raises
    ------
    InputError
        If the file cannot be read, or is of another study.
    """
    if not path.is_file():
        return {}
    try:
        with path.open("rb") as raw, np.load(raw, allow_pickle=False) as file:
            if any(part.compress_type != zipfile.ZIP_STORED for part in file.zip.infolist()):
                raise ValueError("it is compressed")  # a few bytes could fill the memory
            state = {name: file[name] for name in file.files}
    except Exception as error:  # numpy has many errors for damaged files
        message = f"cannot be read: {error}"
    else:
        message = "is of another study"
        if state.pop(_DIGEST, None) == digest:
            if state.pop(_SUM, None) == _sum_of(state):
                return state
            message = "is not as its run wrote it"
    remedy = "remove it, or start with --fresh"
    raise InputError(str(path), [Problem("", message, remedy)])


def _sum_of(state: Mapping[str, NDArray[Any]]) -> str:
    """Return the SHA-256 of arrays with their names, kinds and shapes."""
    content = hashlib.sha256()
    for name, array in sorted(state.items()):
        content.update(f"{name}\0{array.dtype.str}\0{array.shape}\0".encode())
        content.update(np.ascontiguousarray(array).tobytes())
    return content.hexdigest()


def remove_leftovers(folder: Path, name: str) -> None:
    """Remove half-written files that a killed run left."""
    for path in folder.glob(f".{name}.*"):
        with suppress(OSError):
            path.unlink()


def _to_disk(path: Path) -> None:
    file = os.open(path, os.O_RDONLY)
    try:
        os.fsync(file)
    finally:
        os.close(file)
