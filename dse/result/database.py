"""The database of a run: trials of an Optuna study, which its dashboard opens.

`dse` writes the database of a run folder through `sqlite3` with Optuna's tables, as a whole. Only a
sampler or a storage URL needs Optuna and SQLAlchemy, which take half a second to import; see
`dse.result.storage`.
"""

from __future__ import annotations

import datetime
import importlib.metadata
import json
import math
import sqlite3
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dse.evaluate.criteria import Objective
from dse.evaluate.evaluator import Evaluator
from dse.evaluate.front import find_nash_design
from dse.evaluate.space import Choice, Integer, Real, Values, Variable
from dse.problems import DseError
from dse.result.files import write_bytes
from dse.search.outcome import Outcome

REGISTERED = 5_000
"""The maximum number of registered designs: a million take minutes and half a gigabyte."""
DIGEST = "dse:digest"  # the attribute with the digest of the study of the trials
PART = "dse:registered"  # the attribute with the part of a large front that the trials are
_METRICS = "study:metric_names"  # Optuna's
_SCHEMA_VERSION, _MIGRATION = 12, "v3.2.0.a"  # of the tables below, as in Optuna 5
_TABLES = """
CREATE TABLE studies (
    study_id INTEGER NOT NULL PRIMARY KEY, study_name VARCHAR(512) NOT NULL);
CREATE UNIQUE INDEX ix_studies_study_name ON studies (study_name);
CREATE TABLE version_info (
    version_info_id INTEGER NOT NULL PRIMARY KEY CHECK (version_info_id=1),
    schema_version INTEGER, library_version VARCHAR(256));
CREATE TABLE study_directions (
    study_direction_id INTEGER NOT NULL PRIMARY KEY, direction VARCHAR(8) NOT NULL,
    study_id INTEGER NOT NULL REFERENCES studies (study_id), objective INTEGER NOT NULL,
    UNIQUE (study_id, objective));
CREATE TABLE study_user_attributes (
    study_user_attribute_id INTEGER NOT NULL PRIMARY KEY,
    study_id INTEGER REFERENCES studies (study_id), "key" VARCHAR(512), value_json TEXT,
    UNIQUE (study_id, "key"));
CREATE TABLE study_system_attributes (
    study_system_attribute_id INTEGER NOT NULL PRIMARY KEY,
    study_id INTEGER REFERENCES studies (study_id), "key" VARCHAR(512), value_json TEXT,
    UNIQUE (study_id, "key"));
CREATE TABLE trials (
    trial_id INTEGER NOT NULL PRIMARY KEY, number INTEGER,
    study_id INTEGER REFERENCES studies (study_id), state VARCHAR(8) NOT NULL,
    datetime_start DATETIME, datetime_complete DATETIME);
CREATE INDEX ix_trials_study_id ON trials (study_id);
CREATE TABLE trial_user_attributes (
    trial_user_attribute_id INTEGER NOT NULL PRIMARY KEY,
    trial_id INTEGER REFERENCES trials (trial_id), "key" VARCHAR(512), value_json TEXT,
    UNIQUE (trial_id, "key"));
CREATE TABLE trial_system_attributes (
    trial_system_attribute_id INTEGER NOT NULL PRIMARY KEY,
    trial_id INTEGER REFERENCES trials (trial_id), "key" VARCHAR(512), value_json TEXT,
    UNIQUE (trial_id, "key"));
CREATE TABLE trial_params (
    param_id INTEGER NOT NULL PRIMARY KEY, trial_id INTEGER REFERENCES trials (trial_id),
    param_name VARCHAR(512), param_value FLOAT, distribution_json TEXT,
    UNIQUE (trial_id, param_name));
CREATE TABLE trial_values (
    trial_value_id INTEGER NOT NULL PRIMARY KEY,
    trial_id INTEGER NOT NULL REFERENCES trials (trial_id), objective INTEGER NOT NULL,
    value FLOAT, value_type VARCHAR(7) NOT NULL, UNIQUE (trial_id, objective));
CREATE TABLE trial_intermediate_values (
    trial_intermediate_value_id INTEGER NOT NULL PRIMARY KEY,
    trial_id INTEGER NOT NULL REFERENCES trials (trial_id), step INTEGER NOT NULL,
    intermediate_value FLOAT, intermediate_value_type VARCHAR(7) NOT NULL, UNIQUE (trial_id, step));
CREATE TABLE trial_heartbeats (
    trial_heartbeat_id INTEGER NOT NULL PRIMARY KEY,
    trial_id INTEGER NOT NULL UNIQUE REFERENCES trials (trial_id), heartbeat DATETIME NOT NULL);
CREATE TABLE alembic_version (version_num VARCHAR(32) NOT NULL PRIMARY KEY);
"""


class StorageError(DseError):
    """The storage cannot be opened, read or written."""


@dataclass(frozen=True)
class FrontDatabase:
    """The database of a run folder."""

    path: Path
    name: str
    digest: str

    def create(self, objectives: Sequence[Objective]) -> None:
        """Write a study without trials; a killed run leaves the whole file or none."""
        with self._study(objectives, {}) as database:
            write_bytes(self.path, database.serialize())

    def register(self, evaluator: Evaluator, outcome: Outcome) -> None:
        """Write the front, or what `select_stored_rows` keeps of it, unless there are trials."""
        if has_trials(self.path):
            return
        part = part_note(outcome)
        with self._study(evaluator.objectives, {PART: part} if part else {}) as database:
            _insert_trials(database, evaluator, outcome)
            database.commit()
            write_bytes(self.path, database.serialize())

    def note(self, outcome: Outcome) -> str | None:
        """Return a note for the reader on the trials that `register` writes, if any."""
        return part_note(outcome)

    def close(self) -> None:
        """Do nothing: no connection stays open."""

    @contextmanager
    def _study(
        self, objectives: Sequence[Objective], notes: Mapping[str, str]
    ) -> Iterator[sqlite3.Connection]:
        """Make the study in memory."""
        attributes = {DIGEST: self.digest, **notes}
        with closing(sqlite3.connect(":memory:")) as database:
            database.executescript(_TABLES)
            _insert(database, "studies", [(1, self.name)])
            version = importlib.metadata.version("optuna")
            _insert(database, "version_info", [(1, _SCHEMA_VERSION, version)])
            _insert(database, "alembic_version", [(_MIGRATION,)])
            directions = [(None, o.direction.upper(), 1, i) for i, o in enumerate(objectives)]
            _insert(database, "study_directions", directions)
            texts = [(None, 1, key, json.dumps(text)) for key, text in attributes.items()]
            _insert(database, "study_user_attributes", texts)
            metrics = json.dumps([o.name for o in objectives])
            _insert(database, "study_system_attributes", [(None, 1, _METRICS, metrics)])
            database.commit()
            yield database


def _insert(database: sqlite3.Connection, table: str, rows: Iterable[Sequence[Any]]) -> None:
    rows = list(rows)
    if rows:
        marks = ", ".join("?" * len(rows[0]))
        database.executemany(f"INSERT INTO {table} VALUES ({marks})", rows)  # noqa: S608 # our names


def _insert_trials(database: sqlite3.Connection, evaluator: Evaluator, outcome: Outcome) -> None:
    """Insert feasible designs as finished trials; the attribute ``design`` is their number.

    A trial lacks the variables that are missing (NaN) in a table's row.
    """
    rows = select_stored_rows(evaluator, outcome)
    now = datetime.datetime.now(datetime.UTC).replace(tzinfo=None).isoformat(" ")
    ids = range(1, len(rows) + 1)
    _insert(database, "trials", [(i, i - 1, 1, "COMPLETE", now, now) for i in ids])
    numbers = zip(ids, outcome.numbers[rows].tolist(), strict=True)
    designs = [(None, i, "design", str(number)) for i, number in numbers]
    _insert(database, "trial_user_attributes", designs)
    names = [f"constraints:{constraint.name}" for constraint in evaluator.constraints]
    _insert(
        database,
        "trial_system_attributes",
        ((None, i, name, "0.0") for i in ids for name in names),
    )
    labels = evaluator.space.labels({n: values[rows] for n, values in outcome.points.items()})
    for name, variable in evaluator.space.variables.items():
        text, choices = _distribution(variable)
        index = {choice: float(i) for i, choice in enumerate(choices)}
        pairs = zip(ids, labels[name].tolist(), strict=True)
        values = [
            (None, i, name, index[value] if choices else float(value), text)
            for i, value in pairs
            if value == value
        ]
        _insert(database, "trial_params", values)
    _insert(
        database,
        "trial_values",
        (
            (None, i, k, value if math.isfinite(value) else None, _kind(value))
            for i, row in zip(ids, outcome.evaluated.objectives[rows].tolist(), strict=True)
            for k, value in enumerate(row)
        ),
    )


def _kind(value: float) -> str:
    return "FINITE" if math.isfinite(value) else "INF_POS" if value > 0 else "INF_NEG"


def _distribution(variable: Variable) -> tuple[str, tuple[Any, ...]]:
    """Return a variable in Optuna's terms as JSON, and its choices if it is categorical."""
    choices: tuple[Any, ...] = ()
    attributes: dict[str, Any]
    match variable:
        case Real():
            kind = "FloatDistribution"
            attributes = {"step": None, "low": variable.low, "high": variable.high}
            attributes["log"] = variable.log
        case Integer():
            kind = "IntDistribution"
            high = variable.low + (variable.count - 1) * variable.step
            step = 1 if variable.log else variable.step
            attributes = {"log": variable.log, "step": step, "low": variable.low, "high": high}
        case Values() | Choice():
            kind = "CategoricalDistribution"
            choices = variable.values if isinstance(variable, Values) else tuple(variable.names)
            attributes = {"choices": choices}
    return json.dumps({"name": kind, "attributes": attributes}), choices


def has_trials(path: Path) -> bool:
    """Return whether a database holds a trial; a locked one may hold some."""
    if not path.is_file():
        return False
    try:
        with closing(sqlite3.connect(f"{path.resolve().as_uri()}?mode=ro", uri=True)) as database:
            return database.execute("SELECT 1 FROM trials LIMIT 1").fetchone() is not None
    except sqlite3.OperationalError as error:
        return "locked" in str(error)
    except sqlite3.Error:  # a damaged file is no database
        return False


def select_stored_rows(evaluator: Evaluator, outcome: Outcome) -> NDArray[np.int64]:
    """Return the rows of the kept designs that the database gets: the front, or a part of it.

    Of a front of more than `REGISTERED` designs: an even sample, the best design in each objective,
    and the Nash design.
    """
    front = np.flatnonzero(outcome.on_front)
    if len(front) <= REGISTERED:
        return front
    points = outcome.evaluated.objectives[front] * evaluator.signs
    always = [*points.argmin(axis=0).tolist(), find_nash_design(points, evaluator.objectives)]
    even = np.linspace(0, len(front) - 1, REGISTERED - len(always)).astype(np.int64)
    return np.asarray(front[np.union1d(even, always)])


def part_note(outcome: Outcome) -> str | None:
    """Return a note for the reader on the database of a very large front."""
    front = int(outcome.on_front.sum())
    if front <= REGISTERED:
        return None
    return (
        f"the storage has at most {REGISTERED:,} of the {front:,} designs on the front: an even "
        "sample, the best in each objective, and the Nash design; front.csv has them all"
    )
