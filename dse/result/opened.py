"""The storage of a run, opened before the work and closed after it."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from dse.problems import InputError, Problem
from dse.result.database import StorageError
from dse.result.folder import STORAGE
from dse.study.study import ResolvedStudy

if TYPE_CHECKING:
    from dse.result.storage import Store


@contextmanager
def opened(study: ResolvedStudy, out: Path | None) -> Iterator[Store | None]:
    """Open the run's storage, the study's own or one in the folder: before the work, not after."""
    store = _store_of(study, out)
    try:
        yield store
    finally:
        if store is not None:
            store.close()


def _store_of(study: ResolvedStudy, out: Path | None) -> Store | None:
    url = study.file.run.storage
    if url is None and out is not None:
        path = str((out / STORAGE).resolve())
        if any(character in path for character in "?#%"):
            problem = Problem("", "a database path cannot hold ?, # or %", "give another --out")
            raise InputError(path, [problem])
        url = f"sqlite:///{path}"
    if url is None:
        return None
    from dse.result.connection import make
    from dse.result.storage import Store

    own = out / STORAGE if out is not None and study.file.run.storage is None else None
    made = own is not None and not own.is_file()
    if own is not None and made:
        make(own)
    try:
        return Store.open(url, study.name, study.evaluator.objectives, study.digest, made)
    except StorageError as error:
        raise InputError(
            str(study.path or study.name), [Problem("run.storage", str(error))]
        ) from None
