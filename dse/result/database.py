"""The database in a run folder, as a file: whether it holds a trial, without Optuna."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path

from dse.problems import DseError


class StorageError(DseError):
    """The storage cannot be reached, read or written."""


def has_trials(path: Path) -> bool:
    """Tell whether a database holds a trial; one that cannot be asked may hold some."""
    if not path.is_file():
        return False
    try:
        with closing(sqlite3.connect(f"{path.resolve().as_uri()}?mode=ro", uri=True)) as database:
            return database.execute("SELECT 1 FROM trials LIMIT 1").fetchone() is not None
    except sqlite3.Error as error:
        return "no such table" not in str(error)
