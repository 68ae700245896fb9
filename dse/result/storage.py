"""Storage: a run's study in Optuna's relational database, which its dashboard opens.

It keeps the trials of a sampler, and the front of any search in a database that the study names.
Without either, a run folder has a `dse.result.database`.
"""

from __future__ import annotations

import datetime
import json
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import numpy as np
import optuna
import sqlalchemy
from numpy.typing import NDArray
from optuna.distributions import distribution_to_json
from optuna.storages import RDBStorage
from optuna.storages._rdb import models as tables
from optuna.trial import FrozenTrial, TrialState
from sqlalchemy import Connection

from dse.evaluate.criteria import Objective
from dse.evaluate.evaluator import Evaluator
from dse.evaluate.space import Points
from dse.result.connection import (
    alone,
    check_password,
    check_path,
    engine_options,
    interrupted_in_silence,
    refused,
    told,
)
from dse.result.database import DIGEST, PART, StorageError, part_note, registered
from dse.search.asking import distributions, quiet
from dse.search.outcome import Outcome
from dse.study.credentials import shown_url

_STATE = "dse:sampler"  # the attribute with a sampler's notes on the study


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
        check_password(url)
        check_path(url)
        directions = [o.direction for o in objectives]
        with quiet():
            try:
                options = engine_options(url)
                with alone(url, options):  # of processes that begin together, one makes the tables
                    storage = RDBStorage(
                        url,
                        engine_kwargs=options,
                        skip_compatibility_check=made,
                        skip_table_creation=made,
                    )
                    interrupted_in_silence(storage)
                    name = own_name(storage, name, digest)
                    study = optuna.create_study(
                        storage=storage, study_name=name, directions=directions, load_if_exists=True
                    )
                    alike = [d.name.lower() for d in study.directions] == directions
                    if alike:
                        study.set_metric_names([o.name for o in objectives])
                        study.set_user_attr(DIGEST, digest)
            except Exception as error:  # drivers, servers and schemas raise different errors
                raise refused(url, error) from None
        if not alike:
            raise StorageError(
                f"{shown_url(url)} holds another study named '{name}', with other objectives: "
                "rename one of the two"
            )
        return cls(storage, study)

    def trials(self) -> list[FrozenTrial]:
        """Return the finished trials, in order."""
        finished = (TrialState.COMPLETE, TrialState.PRUNED, TrialState.FAIL)
        with told(self.storage.url):
            return self.study.get_trials(deepcopy=False, states=finished)

    def state(self) -> dict[str, Any]:
        """Return a sampler's notes on the study, which are no trials."""
        with told(self.storage.url):
            found: dict[str, Any] = self.study.user_attrs.get(_STATE, {})
        return found

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
        if trials:
            with self._alone() as (connection, first):
                self._insert(connection, first, trials)
                if state is not None:
                    self._note(connection, state)

    @contextmanager
    def _alone(self) -> Iterator[tuple[Connection, int]]:
        """Begin a transaction in which no other process adds trials; yield the next number."""
        with told(self.storage.url), self.storage.engine.begin() as connection:
            yield connection, self._locked(connection)

    def _locked(self, connection: Connection) -> int:
        here, trial = tables.StudyModel.__table__, tables.TrialModel.__table__
        # Runs on other machines wait here: two trials must not get the same number.
        mine = sqlalchemy.select(here).where(here.c.study_id == self.study._study_id)
        connection.execute(mine.with_for_update())
        query = sqlalchemy.select(sqlalchemy.func.count()).select_from(trial)
        mine = query.where(trial.c.study_id == self.study._study_id)
        return int(connection.execute(mine).scalar_one())

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

    def _noted(self, notes: Any) -> Any:
        return (notes.c.study_id == self.study._study_id) & (notes.c.key == _STATE)

    def _note(self, connection: Connection, state: Mapping[str, Any]) -> None:
        """Replace the stored notes of a sampler."""
        notes = tables.StudyUserAttributeModel.__table__
        connection.execute(sqlalchemy.delete(notes).where(self._noted(notes)))
        row = {"study_id": self.study._study_id, "key": _STATE, "value_json": json.dumps(state)}
        connection.execute(sqlalchemy.insert(notes), [row])

    def register(self, evaluator: Evaluator, outcome: Outcome) -> None:
        """Write the front, or what `registered` keeps of it, unless there are trials already."""
        if self._written():
            return
        rows = registered(evaluator, outcome)
        points = {name: values[rows] for name, values in outcome.points.items()}
        values = outcome.judged.objectives[rows]
        if note := part_note(outcome):
            with quiet(), told(self.storage.url):
                self.study.set_user_attr(PART, note)
        trials = _trials(evaluator, outcome.numbers[rows], points, values)
        with self._alone() as (connection, first):
            if trials and not first:
                self._insert(connection, first, trials)

    def note(self, outcome: Outcome) -> str | None:
        """Return a note for the reader on the trials that `register` writes, if any."""
        if not self._written():
            return part_note(outcome)
        with told(self.storage.url):  # another process may have registered it
            note: str | None = self.study.user_attrs.get(PART)
        return note

    def _written(self) -> bool:
        trial = tables.TrialModel.__table__
        one = sqlalchemy.select(trial.c.trial_id).where(trial.c.study_id == self.study._study_id)
        with told(self.storage.url), self.storage.engine.connect() as connection:
            return connection.execute(one.limit(1)).first() is not None

    def close(self) -> None:
        """Close the connections to the database."""
        self.storage.scoped_session.remove()
        self.storage.engine.dispose()


def own_name(storage: RDBStorage, name: str, digest: str) -> str:
    """Return the name of a study in a storage that may have another study of its name."""
    for summary in storage.get_all_studies():
        if summary.study_name == name:
            theirs = storage.get_study_user_attrs(summary._study_id).get(DIGEST)
            # a run that was killed at once leaves a study without a digest and without trials
            unused = theirs is None and not storage.get_n_trials(summary._study_id)
            return name if theirs == digest or unused else f"{name}@{digest[:8]}"
    return name


def _rows(
    ids: Sequence[int], trials: Sequence[FrozenTrial]
) -> Iterator[tuple[Any, list[dict[str, Any]]]]:
    """Yield the rows of each table that hold these trials."""
    texts: dict[int, str] = {}  # distributions are common to all trials: written once
    params, values = [], []
    attributes: dict[Any, list[dict[str, Any]]] = {
        tables.TrialUserAttributeModel.__table__: [],
        tables.TrialSystemAttributeModel.__table__: [],
    }
    for trial_id, trial in zip(ids, trials, strict=True):
        for name, distribution in trial.distributions.items():
            key = id(distribution)
            if key not in texts:
                texts[key] = distribution_to_json(distribution)
            params.append(
                {
                    "trial_id": trial_id,
                    "param_name": name,
                    "param_value": distribution.to_internal_repr(trial.params[name]),
                    "distribution_json": texts[key],
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


def _trials(
    evaluator: Evaluator, numbers: NDArray[np.int64], points: Points, objectives: Any
) -> list[FrozenTrial]:
    """Return feasible designs as finished trials; ``design`` is their number.

    A trial lacks the variables that are missing (NaN) in a table's row.
    """
    labels = evaluator.space.labels(points)
    shared = distributions(evaluator.space)
    names = list(evaluator.space.variables)
    rows = zip(*(labels[n].tolist() for n in names), strict=True) if names else ((),) * len(numbers)
    holds = {f"constraints:{constraint.name}": 0.0 for constraint in evaluator.constraints}
    return [
        FrozenTrial(
            number=-1,
            trial_id=-1,
            state=TrialState.COMPLETE,
            value=None,
            values=values,
            datetime_start=None,
            datetime_complete=None,
            params=(params := {n: v for n, v in zip(names, row, strict=True) if v == v}),
            distributions=shared if len(params) == len(shared) else {n: shared[n] for n in params},
            user_attrs={"design": number},
            system_attrs=holds,
            intermediate_values={},
        )
        for number, values, row in zip(numbers.tolist(), objectives.tolist(), rows, strict=True)
    ]
