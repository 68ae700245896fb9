"""Connecting to a database: how one is made, for how long it is waited for, what it refuses."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any, cast

from optuna.exceptions import OptunaError
from optuna.storages import RDBStorage
from sqlalchemy.exc import SQLAlchemyError
from sqlalchemy.pool import StaticPool

from dse.result.database import StorageError
from dse.result.writing import write_bytes
from dse.study.urls import hidden, shown_url

_BUSY = 60.0
"""Seconds that a file is waited for which somebody else holds, such as a dashboard that reads."""


def make(path: Path) -> None:
    """Make an empty database with Optuna's tables, whole: a run that is killed leaves none or all.

    It is made in memory and copied, as each table that is made in a file is written to the disk.
    """
    storage = RDBStorage("sqlite://", engine_kwargs={"poolclass": StaticPool})

    try:
        with closing(storage.engine.raw_connection()) as raw:
            write_bytes(path, cast("sqlite3.Connection", raw.driver_connection).serialize())
    finally:
        storage.scoped_session.remove()
        storage.engine.dispose()


def engine_options(url: str) -> dict[str, Any]:
    """Return how SQLAlchemy is to connect."""
    options: dict[str, Any] = {"hide_parameters": True}
    if url.startswith("sqlite") and "timeout=" not in url:
        options["connect_args"] = {"timeout": _BUSY}
    return options


@contextmanager
def told(url: str) -> Iterator[None]:
    """Say what a database refuses, without the credentials of its URL.

    Raises
    ------
    StorageError
        In the place of whatever a driver, SQLAlchemy or Optuna raises.
    """
    try:
        yield
    except (SQLAlchemyError, OptunaError) as error:
        cause = error.__cause__ if isinstance(error, OptunaError) else error
        whole = str(getattr(cause, "orig", None) or cause or error)
        reason = hidden(whole, url).splitlines()[0]
        message = f"{shown_url(url)} cannot be used: {reason}"
        raise StorageError(message) from None
