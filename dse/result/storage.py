"""Storage: trials in Optuna's relational database, which its dashboard opens.

It keeps the trials of a sampler, and the front of any search in a database that the study names.
"""

from __future__ import annotations

import datetime
import fcntl
import functools
import json
import logging
import os
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import optuna
import sqlalchemy
from optuna.distributions import distribution_to_json
from optuna.exceptions import OptunaError
from optuna.storages import RDBStorage
from optuna.storages._rdb import models as tables
from optuna.trial import FrozenTrial, TrialState
from sqlalchemy import Connection
from sqlalchemy.exc import SQLAlchemyError

from dse.evaluate.criteria import Objective
from dse.evaluate.evaluator import Evaluator
from dse.result.database import DIGEST, PART, FrontDatabase, StorageError, part_note
from dse.search.optuna_adapter import quiet
from dse.search.outcome import Outcome
from dse.study.credentials import hide_credentials, is_masked, is_server, mask_url

_STATE = "dse:sampler"  # the attribute with a sampler's notes on the study
_BUSY = 60.0  # seconds to wait for a locked file, such as a file that a dashboard reads
_LIBPQ = ("psycopg", "psycopg2")
_SILENT = {
    "connect_timeout": 10,  # seconds
    "keepalives_idle": 10,
    "keepalives_interval": 5,
    "keepalives_count": 4,
    "tcp_user_timeout": 30_000,  # milliseconds
}  # the waiting times for a server that does not answer
_LOCK = 0x6473652D  # PostgreSQL's number of the lock for making tables and studies


@dataclass(frozen=True)
class Store:
    """A study in Optuna's own relational storage.

    Parameters
    ----------
    storage : RDBStorage
        The open storage.
    study : optuna.Study
        The study in it.
    """

    storage: RDBStorage
    study: optuna.Study

    @classmethod
    def open(
        cls, url: str, name: str, objectives: Sequence[Objective], digest: str, made: bool = False
    ) -> Store:
        """Open a storage, and make the study in it if there is none.

        If a study of that name has another digest, it stays as it is. The new study then gets the
        name ``name@digest``, with the first eight characters.

        Parameters
        ----------
        made : bool
            Whether the database is new: its tables then need no check.

        Raises
        ------
        StorageError
            If the storage cannot be opened, or holds another study of this name.
        """
        if is_masked(url):
            why = "the copy of a study in a run folder has no password: name the study itself"
            raise StorageError(f"{mask_url(url)} cannot be used: {why}")
        directions = [o.direction for o in objectives]
        try:
            options = _engine_options(url)
            # of processes that begin together, one makes the tables and the study
            with quiet(), _exclusive(url, options):
                storage = RDBStorage(
                    url,
                    engine_kwargs=options,
                    skip_compatibility_check=made,
                    skip_table_creation=made,
                )
                _log_no_interruption(storage)
                name = _own_name(storage, name, digest)
                study = optuna.create_study(
                    storage=storage, study_name=name, directions=directions, load_if_exists=True
                )
                alike = [d.name.lower() for d in study.directions] == directions
                if alike:
                    study.set_metric_names([o.name for o in objectives])
                    study.set_user_attr(DIGEST, digest)
        except StorageError:
            raise
        except Exception as error:  # drivers, servers and schemas raise different errors
            raise _storage_error(url, error) from None
        if not alike:
            raise StorageError(
                f"{mask_url(url)} holds another study named '{name}', with other objectives: "
                "rename one of the two"
            )
        return cls(storage, study)

    def trials(self) -> list[FrozenTrial]:
        """Return the finished trials, in order."""
        finished = (TrialState.COMPLETE, TrialState.PRUNED, TrialState.FAIL)
        with self._errors():
            return self.study.get_trials(deepcopy=False, states=finished)

    def state(self) -> dict[str, Any]:
        """Return a sampler's notes on the study, which are no trials."""
        with self._errors():
            state: dict[str, Any] = self.study.user_attrs.get(_STATE, {})
        return state

    def append(self, trials: Sequence[FrozenTrial], state: Mapping[str, Any] | None = None) -> None:
        """Write finished trials in one transaction, with the next numbers.

        Parameters
        ----------
        trials : sequence of FrozenTrial
            The trials.
        state : mapping, optional
            The new value of `state`.

        Raises
        ------
        StorageError
            If the database takes no trials: it is full, missing, or locked for a minute.
        """
        if not trials:
            return
        with self._errors(), self.storage.engine.begin() as connection:
            self._insert(connection, self._lock(connection), trials)
            if state is not None:
                self._write_state(connection, state)

    def register(self, evaluator: Evaluator, outcome: Outcome) -> None:
        """Write the trials of a `FrontDatabase`, unless there are trials already."""
        if self._has_trials():
            return
        with tempfile.TemporaryDirectory() as folder, quiet():
            front = FrontDatabase(Path(folder, "study.db"), self.study.study_name, "")
            front.register(evaluator, outcome)
            source = optuna.load_study(
                study_name=self.study.study_name, storage=f"sqlite:///{front.path}"
            )
            trials = source.get_trials(deepcopy=False)
        if note := part_note(outcome):
            with quiet(), self._errors():
                self.study.set_user_attr(PART, note)
        with self._errors(), self.storage.engine.begin() as connection:
            first = self._lock(connection)
            if trials and not first:  # another process may have written the front
                self._insert(connection, first, trials)

    def note(self, outcome: Outcome) -> str | None:
        """Return a note for the reader on the trials that `register` writes, if any."""
        if not self._has_trials():
            return part_note(outcome)
        with self._errors():
            note: str | None = self.study.user_attrs.get(PART)
        return note

    def close(self) -> None:
        """Close the connections to the database."""
        self.storage.scoped_session.remove()
        self.storage.engine.dispose()

    def _has_trials(self) -> bool:
        trial = tables.TrialModel.__table__
        first = sqlalchemy.select(trial.c.trial_id).where(trial.c.study_id == self.study._study_id)
        with self._errors(), self.storage.engine.connect() as connection:
            return connection.execute(first.limit(1)).first() is not None

    @contextmanager
    def _errors(self) -> Iterator[None]:
        """Turn each error of the database into a `StorageError`."""
        try:
            yield
        except (SQLAlchemyError, OptunaError, ImportError) as error:
            raise _storage_error(self.storage.url, error) from None

    def _lock(self, connection: Connection) -> int:
        """Keep other processes from adding trials; return the next number."""
        study, trial = tables.StudyModel.__table__, tables.TrialModel.__table__
        row = sqlalchemy.select(study).where(study.c.study_id == self.study._study_id)
        connection.execute(row.with_for_update())
        count = sqlalchemy.select(sqlalchemy.func.count()).select_from(trial)
        query = count.where(trial.c.study_id == self.study._study_id)
        return int(connection.execute(query).scalar_one())

    def _insert(self, connection: Connection, first: int, trials: Sequence[FrozenTrial]) -> None:
        now = datetime.datetime.now(datetime.UTC).replace(tzinfo=None)
        trial = tables.TrialModel.__table__
        rows = [
            {
                "number": first + i,
                "study_id": self.study._study_id,
                "state": t.state,
                "datetime_start": now,
                "datetime_complete": now,
            }
            for i, t in enumerate(trials)
        ]
        insert = sqlalchemy.insert(trial).returning(trial.c.trial_id, sort_by_parameter_order=True)
        ids = [row[0] for row in connection.execute(insert, rows)]
        for table, content in _rows(ids, trials):
            if content:
                connection.execute(sqlalchemy.insert(table), content)

    def _write_state(self, connection: Connection, state: Mapping[str, Any]) -> None:
        notes = tables.StudyUserAttributeModel.__table__
        old = (notes.c.study_id == self.study._study_id) & (notes.c.key == _STATE)
        connection.execute(sqlalchemy.delete(notes).where(old))
        row = {"study_id": self.study._study_id, "key": _STATE, "value_json": json.dumps(state)}
        connection.execute(sqlalchemy.insert(notes), [row])


def _engine_options(url: str) -> dict[str, Any]:
    """Return the options of a connection for SQLAlchemy."""
    options: dict[str, Any] = {"hide_parameters": True}
    if url.startswith("sqlite") and "timeout=" not in url:
        options["connect_args"] = {"timeout": _BUSY}
    if is_server(url):
        options["pool_pre_ping"] = True  # the pool connects again to a restarted server
        if sqlalchemy.make_url(url).get_driver_name() in _LIBPQ:
            options["connect_args"] = {k: v for k, v in _SILENT.items() if f"{k}=" not in url}
    return options


@contextmanager
def _exclusive(url: str, options: Mapping[str, Any]) -> Iterator[None]:
    """Make other processes wait that open the same database.

    Optuna makes the tables of a database in several transactions, and fails if another process
    makes them at the same time. For a file, the lock is on its folder: SQLite locks the file.
    """
    path = sqlalchemy.make_url(url).database
    if url.startswith("sqlite") and path and path != ":memory:":
        folder = os.open(Path(path).absolute().parent, os.O_RDONLY)
        try:
            fcntl.flock(folder, fcntl.LOCK_EX)
            yield
        finally:
            os.close(folder)
        return
    if not is_server(url):
        yield
        return
    pool = {"poolclass": sqlalchemy.NullPool, "pool_pre_ping": False}
    engine = sqlalchemy.create_engine(url, **{**options, **pool})
    with engine.begin() as connection:
        connection.execute(sqlalchemy.text(f"SET LOCAL lock_timeout = '{_BUSY:.0f}s'"))
        connection.execute(sqlalchemy.text(f"SELECT pg_advisory_xact_lock({_LOCK})"))
        yield


def _log_no_interruption(storage: RDBStorage) -> None:
    """Keep a pool from logging a signal that arrives while it takes a connection back.

    The interruption continues from there, and is reported once, where it ends.
    """
    kind = type(storage.engine.pool)
    logging.getLogger(f"{kind.__module__}.{kind.__name__}").addFilter(_is_no_interruption)


def _is_no_interruption(record: logging.LogRecord) -> bool:
    return not (record.exc_info and isinstance(record.exc_info[1], KeyboardInterrupt))


def _storage_error(url: str, error: BaseException) -> StorageError:
    """Return an error in one line, without the credentials of the URL."""
    cause = error.__cause__ if isinstance(error, OptunaError) and error.__cause__ else error
    error = getattr(cause, "orig", None) or cause  # Optuna's text names no column or file
    reason = (hide_credentials(str(error), url).splitlines() or [type(error).__name__])[0]
    if isinstance(error, ModuleNotFoundError) or "DB access module" in reason:
        reason = (
            "its database driver is not installed; for PostgreSQL: pip install 'psycopg[binary]'"
        )
    return StorageError(f"{mask_url(url)} cannot be used: {reason}")


def _own_name(storage: RDBStorage, name: str, digest: str) -> str:
    """Return the name of a study in a storage that may have another study of its name."""
    for summary in storage.get_all_studies():
        if summary.study_name == name:
            other = storage.get_study_user_attrs(summary._study_id).get(DIGEST)
            # a run that was killed at once leaves a study without a digest and without trials
            unused = other is None and not storage.get_n_trials(summary._study_id)
            return name if other == digest or unused else f"{name}@{digest[:8]}"
    return name


def _rows(
    ids: Sequence[int], trials: Sequence[FrozenTrial]
) -> Iterator[tuple[Any, list[dict[str, Any]]]]:
    """Yield the rows of each table that hold these trials."""
    text = functools.cache(distribution_to_json)  # distributions are common to all trials
    params, values = [], []
    attributes: dict[Any, list[dict[str, Any]]] = {
        tables.TrialUserAttributeModel.__table__: [],
        tables.TrialSystemAttributeModel.__table__: [],
    }
    for trial_id, trial in zip(ids, trials, strict=True):
        for name, distribution in trial.distributions.items():
            params.append(
                {
                    "trial_id": trial_id,
                    "param_name": name,
                    "param_value": distribution.to_internal_repr(trial.params[name]),
                    "distribution_json": text(distribution),
                }
            )
        for objective, value in enumerate(trial.values or ()):
            stored, kind = tables.TrialValueModel.value_to_stored_repr(value)
            values.append(
                {"trial_id": trial_id, "objective": objective, "value": stored, "value_type": kind}
            )
        for table, content in zip(attributes, (trial.user_attrs, trial.system_attrs), strict=True):
            attributes[table] += [
                {"trial_id": trial_id, "key": k, "value_json": json.dumps(v)}
                for k, v in content.items()
            ]
    yield tables.TrialParamModel.__table__, params
    yield tables.TrialValueModel.__table__, values
    yield from attributes.items()
