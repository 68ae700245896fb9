"""Checkpoints: what an unfinished search needs to go on, as arrays that name their study."""

from __future__ import annotations

import io
import zipfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dse.problems import InputError, Problem
from dse.result.writing import write_bytes

_DIGEST = "digest"


def write(path: Path, state: Mapping[str, NDArray[Any]], digest: str) -> None:
    """Write a search's state whole, with the digest of its study; nothing for an empty one."""
    if state:
        content = io.BytesIO()
        np.savez(content, allow_pickle=False, **state, **{_DIGEST: np.array(digest)})
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
        with np.load(path, allow_pickle=False) as file:
            state = {name: file[name] for name in file.files}
    except (OSError, ValueError, EOFError, zipfile.BadZipFile) as error:
        problem = Problem("", f"cannot be read: {error}", remedy)
        raise InputError(str(path), [problem]) from None
    if state.pop(_DIGEST, None) != digest:
        raise InputError(str(path), [Problem("", "is of another study", remedy)])
    return state
