"""Atomic writes: a reader sees the old file or the new file, and never half of one."""

from __future__ import annotations

import errno
import json
import os
from collections.abc import Callable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

from dse.model.values import as_data

_NO_FOLDERS = (errno.EINVAL, errno.ENOTSUP, errno.EACCES)


def write_whole(path: Path, write: Callable[[Path], None]) -> None:
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

    def write(temporary: Path) -> None:
        temporary.write_bytes(content)

    write_whole(path, write)


def write_json(path: Path, content: Mapping[str, Any]) -> None:
    """Write JSON as a whole file; infinities become the texts "inf" and "-inf"."""
    text = json.dumps(as_data(content), indent=2, ensure_ascii=False, allow_nan=False)
    write_text(path, text + "\n")


def sweep(folder: Path, name: str) -> None:
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
