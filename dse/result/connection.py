"""Connections to a database: how `dse` makes them, how long it waits, and their errors."""

from __future__ import annotations

import fcntl
import logging
import os
import sqlite3
from collections.abc import Iterator, Mapping
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any, cast

from optuna.exceptions import OptunaError
from optuna.storages import RDBStorage
from sqlalchemy import create_engine, make_url, text
from sqlalchemy.exc import SQLAlchemyError
from sqlalchemy.pool import NullPool, StaticPool

from dse.result.database import StorageError
from dse.result.writing import write_bytes
from dse.study.credentials import hidden, is_masked, is_server, shown_url

_BUSY = 60.0
"""The seconds to wait for a locked file, such as a file that a dashboard reads."""
_LIBPQ = ("psycopg", "psycopg2")
_SILENT = {
    "connect_timeout": 10,  # seconds
    "keepalives_idle": 10,
    "keepalives_interval": 5,
    "keepalives_count": 4,
    "tcp_user_timeout": 30_000,  # milliseconds
}  # the waiting times for a server that does not answer
_LONGEST_PATH = 504  # bytes: SQLite allows 512 with "-journal" behind the name
_LOCK = 0x6473652D  # PostgreSQL's number of the lock for making tables and studies


def make(path: Path) -> None:
    """Make an empty database with Optuna's tables: a killed run leaves all of them or none.

    The tables are made in memory and copied, because a file is synced after each new table.
    """
    storage = RDBStorage("sqlite://", engine_kwargs={"poolclass": StaticPool})

    try:
        with closing(storage.engine.raw_connection()) as raw:
            write_bytes(path, cast("sqlite3.Connection", raw.driver_connection).serialize())
    finally:
        storage.scoped_session.remove()
        storage.engine.dispose()


def interrupted_in_silence(storage: RDBStorage) -> None:
    """Keep a pool from logging a signal that arrives while it takes a connection back.

    The interruption continues from there, and is reported once, where it ends.
    """
    kind = type(storage.engine.pool)
    logging.getLogger(f"{kind.__module__}.{kind.__name__}").addFilter(_is_no_interruption)


def _is_no_interruption(record: logging.LogRecord) -> bool:
    return not (record.exc_info and isinstance(record.exc_info[1], KeyboardInterrupt))


def engine_options(url: str) -> dict[str, Any]:
    """Return the options of a connection for SQLAlchemy."""
    options: dict[str, Any] = {"hide_parameters": True}
    if url.startswith("sqlite") and "timeout=" not in url:
        options["connect_args"] = {"timeout": _BUSY}
    if is_server(url):
        options["pool_pre_ping"] = True  # the pool connects again to a restarted server
        if make_url(url).get_driver_name() in _LIBPQ:
            options["connect_args"] = {k: v for k, v in _SILENT.items() if f"{k}=" not in url}
    return options


@contextmanager
def _opened(folder: Path) -> Iterator[int]:
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        yield descriptor
    finally:
        os.close(descriptor)


@contextmanager
def alone(url: str, options: Mapping[str, Any]) -> Iterator[None]:
    """Make other processes wait that open the same database.

    Optuna makes the tables of a database in several transactions, and fails if another process
    makes them at the same time. For a file, the lock is on its folder: SQLite locks the file.
    """
    path = make_url(url).database
    if url.startswith("sqlite") and path and path != ":memory:":
        with _opened(Path(path).absolute().parent) as folder:
            fcntl.flock(folder, fcntl.LOCK_EX)
            yield
        return
    if not is_server(url):
        yield
        return
    engine = create_engine(url, poolclass=NullPool, **{**options, "pool_pre_ping": False})
    with engine.begin() as connection:
        connection.execute(text(f"SET LOCAL lock_timeout = '{_BUSY:.0f}s'"))
        connection.execute(text(f"SELECT pg_advisory_xact_lock({_LOCK})"))
        yield


@contextmanager
def told(url: str) -> Iterator[None]:
    """Turn every error of a database into one without the credentials of its URL.

    Raises
    ------
    StorageError
        In place of an error of a driver, of SQLAlchemy or of Optuna.
    """
    try:
        yield
    except (SQLAlchemyError, OptunaError, ImportError) as error:
        raise refused(url, error) from None


def refused(url: str, error: BaseException) -> StorageError:
    """Return the error of a database in one line, without the credentials of its URL."""
    cause = error.__cause__ if isinstance(error, OptunaError) and error.__cause__ else error
    error = getattr(cause, "orig", None) or cause  # Optuna's text names no column or file
    reason = (hidden(str(error), url).splitlines() or [type(error).__name__])[0]
    if isinstance(error, ModuleNotFoundError) or "DB access module" in reason:
        reason = (
            "its database driver is not installed; for PostgreSQL: "
            "pip install 'dse-accelerators[postgresql]'"
        )
    return StorageError(f"{shown_url(url)} cannot be used: {reason}")


def check_path(url: str) -> None:
    """See that the path of an SQLite database is not too long for SQLite.

    Raises
    ------
    StorageError
        If it is: SQLite reports only that it cannot open the file, or that a commit failed.
    """
    with told(url):
        path = make_url(url).database if url.startswith("sqlite") else None
    length = len(os.fsencode(os.path.abspath(path))) if path and path != ":memory:" else 0
    if length > _LONGEST_PATH:
        raise StorageError(
            f"the path of the database has {length:,} bytes, and SQLite takes at most "
            f"{_LONGEST_PATH}: give a shorter --out or run.storage"
        )


def check_password(url: str) -> None:
    """Refuse a URL whose password is replaced by stars.

    Raises
    ------
    StorageError
        If the password is hidden.
    """
    if is_masked(url):
        kept = "the copy of a study in a run folder has no password: name the study itself"
        raise StorageError(f"{shown_url(url)} cannot be used: {kept}")
