"""The storage of a run: the database of its folder, or the one that the study names.

Only Optuna's samplers and a storage URL need Optuna and SQLAlchemy, which take half a second to
import.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from dse.problems import InputError, Problem
from dse.result.database import FrontDatabase, StorageError
from dse.result.folder import STORAGE
from dse.search.base import METHODS
from dse.study.study import ResolvedStudy

if TYPE_CHECKING:
    from dse.result.storage import Store

_SAMPLERS = "dse.search.samplers"


@contextmanager
def open_storage(study: ResolvedStudy, out: Path | None) -> Iterator[Store | FrontDatabase | None]:
    """Open the run's storage, the study's own or one in the folder: before the work, not after."""
    store = _store_of(study, out)
    try:
        yield store
    finally:
        if store is not None:
            store.close()


def _store_of(study: ResolvedStudy, out: Path | None) -> Store | FrontDatabase | None:
    url = study.file.run.storage
    own = out / STORAGE if out is not None and url is None else None
    if own is not None and METHODS.get(study.plan.method) != _SAMPLERS:
        return FrontDatabase(own, study.name, study.digest)
    if own is not None:
        path = str(own.resolve())
        if any(character in path for character in "?#%"):
            problem = Problem("", "a database path cannot hold ?, # or %", "give another --out")
            raise InputError(path, [problem])
        url = f"sqlite:///{path}"
    if url is None:
        return None
    from dse.result.connection import make
    from dse.result.storage import Store

    made = own is not None and not own.is_file()
    if own is not None and made:
        make(own)
    try:
        return Store.open(url, study.name, study.evaluator.objectives, study.digest, made)
    except StorageError as error:
        raise InputError(
            str(study.path or study.name), [Problem("run.storage", str(error))]
        ) from None
