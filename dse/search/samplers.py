"""Optuna: its samplers by name, and studies in its own storage. The only module that imports it.

Samplers work on a study in memory, a generation at a time, so that models see whole batches; each
finished generation is written to the storage in one transaction. A killed run loses at most the
generation under way.

Samplers repeat designs. The study in memory has every draw as a finished trial; in the storage a
repeat is a pruned one that names the first, so that the best trials there are designs, each once.
"""

from __future__ import annotations

import copy
import datetime
import inspect
import json
import warnings
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from importlib.util import find_spec
from typing import Any

import numpy as np
import optuna
import sqlalchemy
from numpy.typing import NDArray
from optuna.distributions import (
    BaseDistribution,
    CategoricalDistribution,
    FloatDistribution,
    IntDistribution,
    distribution_to_json,
)
from optuna.storages import InMemoryStorage, RDBStorage
from optuna.storages._rdb import models as tables
from optuna.trial import FrozenTrial, TrialState

from dse.evaluate.evaluator import Evaluated, Evaluator
from dse.evaluate.judging import Judged, judge
from dse.evaluate.objective import Objective
from dse.evaluate.space import Choice, Integer, Points, Real, Space, Values
from dse.problems import DseError, Problem, nearest
from dse.search.base import Plan, Settings

# name: (designs asked for together where the study does not say, options that are the engine's)
_SAMPLERS = {
    "NSGAIISampler": 50,
    "NSGAIIISampler": 50,
    "TPESampler": 8,
    "GPSampler": 4,
    "RandomSampler": 1_000,
    "QMCSampler": 1_024,
}
_OURS = {"self", "seed", "constraints_func"}
_DIGEST = "dse:digest"  # the attribute that says which study the trials are of
_STATE = "dse:sampler"  # the attribute that keeps what a sampler noted of the study
_REPEATS = "repeats"  # the attribute of a trial whose design an earlier one has: its number
_REFUSED = 1e300  # an violation for what has no number: Optuna takes no NaN


class StorageError(DseError):
    """The storage cannot be reached or read."""


def sampler_names() -> list[str]:
    """Return the multi-objective samplers that a study may name."""
    return list(_SAMPLERS)


def check_sampler(method: str, settings: Settings, objectives: int, problems: list[Problem]) -> int:
    """Check a sampler's options; return how many designs it is asked for together."""
    kind = getattr(optuna.samplers, method)
    allowed = [n for n in inspect.signature(kind.__init__).parameters if n not in _OURS]
    for name in settings.options:
        if name not in allowed:
            where = f"search.options.{name}"
            remedy = "give search.seed" if name == "seed" else nearest(name, allowed)
            problems.append(Problem(where, f"{method} has no option '{name}'", remedy))
            return 1
    if method == "GPSampler" and find_spec("torch") is None:
        problems.append(
            Problem(
                "search.method",
                "GPSampler needs PyTorch, which is not installed",
                "pip install torch, or choose another method",
            )
        )
        return 1
    try:
        with _quiet():  # some options are looked at no earlier than here
            probe = optuna.create_study(
                directions=["minimize"] * objectives,
                sampler=_sampler(method, dict(settings.options), 0),
            )
            for x in range(3):
                asked = probe.ask({"x": FloatDistribution(0, 1), "y": FloatDistribution(0, 1)})
                probe.tell(asked, [float(x)] * objectives)
        if int(settings.options.get("population_size", 2)) != settings.options.get(
            "population_size", 2
        ):
            raise ValueError("population_size is no whole number")
    except Exception as error:  # each sampler has its own checks and errors
        problems.append(Problem("search.options", f"{method} refuses its options: {error}"))
        return 1
    population = settings.options.get("population_size", _SAMPLERS[method])
    return settings.generation or int(population)


def _sampler(method: str, options: dict[str, Any], seed: int) -> optuna.samplers.BaseSampler:
    with _quiet():
        sampler: optuna.samplers.BaseSampler = getattr(optuna.samplers, method)(
            seed=seed, **options
        )
    return sampler


@contextmanager
def _quiet() -> Iterator[None]:
    verbosity = optuna.logging.get_verbosity()
    optuna.logging.set_verbosity(optuna.logging.ERROR)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            yield
    finally:
        optuna.logging.set_verbosity(verbosity)


def distributions(space: Space) -> dict[str, BaseDistribution]:
    """Return the space in Optuna's terms; grids of real numbers are snapped to (`Space.snap`)."""
    found: dict[str, BaseDistribution] = {}
    for name, variable in space.variables.items():
        match variable:
            case Real():
                found[name] = FloatDistribution(variable.low, variable.high, log=variable.log)
            case Integer():
                high = variable.low + (variable.count - 1) * variable.step
                step = 1 if variable.log else variable.step
                found[name] = IntDistribution(variable.low, high, log=variable.log, step=step)
            case Values():
                found[name] = CategoricalDistribution(variable.values)
            case Choice():
                found[name] = CategoricalDistribution(variable.names)
    return found


class _Snapping(InMemoryStorage):
    """In memory, with grid values in the place of what a sampler drew between them."""

    def __init__(self, space: Space) -> None:
        super().__init__()
        self._space = space

    def set_trial_param(
        self,
        trial_id: int,
        param_name: str,
        param_value_internal: float,
        distribution: BaseDistribution,
    ) -> None:
        if isinstance(self._space.variables.get(param_name), Real | Integer):
            param_value_internal = self._space.snap(param_name, param_value_internal)
        super().set_trial_param(trial_id, param_name, param_value_internal, distribution)


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
    def open(cls, url: str, name: str, objectives: Sequence[Objective], digest: str) -> Store:
        """Open a storage, and make the study in it where there is none.

        A study of that name with another digest stays as it is: the new one is then called
        ``name@digest``, with the first eight characters.

        Raises
        ------
        StorageError
            Where the storage cannot be reached, or holds another study of this name.
        """
        directions = [o.direction for o in objectives]
        with _quiet():
            try:
                storage = RDBStorage(url, engine_kwargs={"hide_parameters": True})
                name = _own_name(storage, name, digest)
                study = optuna.create_study(
                    storage=storage, study_name=name, directions=directions, load_if_exists=True
                )
            except Exception as error:  # drivers, servers and schemas fail in their own ways
                reason = str(error).replace(url, shown_url(url)).splitlines()[0]
                if "DB access module" in reason:
                    reason = (
                        "its database driver is not installed; for PostgreSQL: "
                        "pip install 'dse-accelerators[postgresql]'"
                    )
                raise StorageError(f"{shown_url(url)} cannot be used: {reason}") from None
        if [d.name.lower() for d in study.directions] != directions:
            raise StorageError(
                f"{shown_url(url)} holds another study named '{name}', with other objectives: "
                "rename one of the two"
            )
        with _quiet():
            study.set_metric_names([o.name for o in objectives])
            study.set_user_attr(_DIGEST, digest)
        return cls(storage, study)

    def trials(self) -> list[FrozenTrial]:
        """Return the finished trials, in order."""
        finished = (TrialState.COMPLETE, TrialState.PRUNED, TrialState.FAIL)
        return self.study.get_trials(deepcopy=False, states=finished)

    def state(self) -> dict[str, Any]:
        """Return what a sampler noted of the study itself, beside the trials."""
        found: dict[str, Any] = self.study.user_attrs.get(_STATE, {})
        return found

    def append(self, trials: Sequence[FrozenTrial], state: Mapping[str, Any] | None = None) -> None:
        """Write finished trials in one transaction, numbered after those that are there.

        Parameters
        ----------
        trials : sequence of FrozenTrial
            The trials.
        state : mapping, optional
            What `state` is to return from now on.
        """
        if not trials:
            return
        now = datetime.datetime.now(datetime.UTC).replace(tzinfo=None)
        study_id = self.study._study_id
        with self.storage.engine.begin() as connection:
            trial = tables.TrialModel.__table__
            here = tables.StudyModel.__table__
            # runs on other machines wait here, so that no number is given twice
            mine = sqlalchemy.select(here).where(here.c.study_id == study_id).with_for_update()
            connection.execute(mine)
            first = connection.execute(
                sqlalchemy.select(sqlalchemy.func.count())
                .select_from(trial)
                .where(trial.c.study_id == study_id)
            ).scalar_one()
            rows = [
                {
                    "number": first + i,
                    "study_id": study_id,
                    "state": t.state,
                    "datetime_start": now,
                    "datetime_complete": now,
                }
                for i, t in enumerate(trials)
            ]
            insert = sqlalchemy.insert(trial).returning(
                trial.c.trial_id, sort_by_parameter_order=True
            )
            ids = [row[0] for row in connection.execute(insert, rows)]
            for table, content in _rows(ids, trials):
                if content:
                    connection.execute(sqlalchemy.insert(table), content)
            if state is not None:
                notes = tables.StudyUserAttributeModel.__table__
                mine = (notes.c.study_id == study_id) & (notes.c.key == _STATE)
                connection.execute(sqlalchemy.delete(notes).where(mine))
                row = {"study_id": study_id, "key": _STATE, "value_json": json.dumps(state)}
                connection.execute(sqlalchemy.insert(notes), [row])

    def close(self) -> None:
        """Let go of the database's connections."""
        self.storage.scoped_session.remove()
        self.storage.engine.dispose()


def _own_name(storage: RDBStorage, name: str, digest: str) -> str:
    for summary in storage.get_all_studies():
        if summary.study_name == name:
            theirs = storage.get_study_user_attrs(summary._study_id).get(_DIGEST)
            return name if theirs == digest else f"{name}@{digest[:8]}"
    return name


def _rows(
    ids: Sequence[int], trials: Sequence[FrozenTrial]
) -> Iterator[tuple[Any, list[dict[str, Any]]]]:
    """Yield the rows of each table that hold these trials."""
    texts: dict[int, str] = {}  # distributions are shared: written once
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


def shown_url(url: str) -> str:
    """Return a storage URL without its password."""
    try:
        # a query may hold credentials of its own
        return sqlalchemy.make_url(url).set(query={}).render_as_string(hide_password=True)
    except sqlalchemy.exc.ArgumentError:
        return "(no database URL)"


def trials_of(
    evaluator: Evaluator, numbers: NDArray[np.int64], points: Points, objectives: Any
) -> list[FrozenTrial]:
    """Return feasible designs as finished trials; ``design`` is their number."""
    labels = evaluator.space.labels(points)
    shared = distributions(evaluator.space)
    names = list(evaluator.space.variables)
    columns = [labels[n].tolist() for n in names]
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
            params=dict(zip(names, row, strict=True)),
            distributions=shared,
            user_attrs={"design": number},
            system_attrs=holds,
            intermediate_values={},
        )
        for number, values, row in zip(
            numbers.tolist(), objectives.tolist(), zip(*columns, strict=True), strict=True
        )
    ]


def sample(evaluator: Evaluator, plan: Plan, store: Store | None) -> Iterator[Judged]:
    """Search with an Optuna sampler; yield each generation, those in the storage first.

    The seed of a generation depends on the study's seed and on how many designs there are, so that
    a resumed search goes on as an uninterrupted one would.

    Raises
    ------
    DesignError
        Where a model raises.
    """
    with _quiet():
        study = optuna.create_study(
            storage=_Snapping(evaluator.space),
            directions=[objective.direction for objective in evaluator.objectives],
        )
        known = store.trials() if store is not None else []
        study.add_trials([_drawn(t) for t in known])  # numbered, and so identified, as they were
        for key, value in (store.state() if store is not None else {}).items():
            study._storage.set_study_system_attr(study._study_id, key, value)
    done = len(known)
    if known:
        yield _judged(evaluator, known)
    shared = distributions(evaluator.space)
    first: dict[tuple[Any, ...], int] = {}  # by the values of the variables
    _registered(known, shared, first)
    while done < plan.evaluations:
        with _quiet():
            # one sequence for the quasi-random sampler, which numbers its own points
            fixed = plan.method == "QMCSampler"
            seed = np.random.SeedSequence([plan.seed, 0 if fixed else done]).generate_state(1)[0]
            study.sampler = _sampler(plan.method, dict(plan.options), int(seed))
            count = min(plan.generation, plan.evaluations - done)
            asked = [study.ask(shared) for _ in range(count)]
            # the sampler's draws are snapped in the storage: read them back from there
            drawn = study.get_trials(deepcopy=False)[-count:]
        labels = {n: [t.params[n] for t in drawn] for n in shared}
        points = evaluator.space.from_labels(labels)
        judged = judge(evaluator, points, done)
        with _quiet():
            for i, trial in enumerate(asked):
                _tell(study, trial, evaluator, judged, i)
            finished = study.get_trials(deepcopy=False)[-count:]
        if store is not None:
            kept = _registered(finished, shared, first)
            store.append(kept, study._storage.get_study_system_attrs(study._study_id))
        done += count
        yield Judged(points, judged)


def _tell(
    study: optuna.Study, trial: optuna.Trial, evaluator: Evaluator, judged: Evaluated, i: int
) -> None:
    violations = evaluator.violations(judged.constrained[i : i + 1])[0]
    for constraint, violation in zip(evaluator.constraints, violations, strict=True):
        trial.set_constraint(constraint.name, float(np.nan_to_num(violation, nan=_REFUSED)))
    values = judged.objectives[i]
    if np.isnan(values).any():
        study.tell(trial, state=TrialState.FAIL)
    else:
        study.tell(trial, values.tolist())


def _registered(
    trials: Sequence[FrozenTrial], names: Iterable[str], first: dict[tuple[Any, ...], int]
) -> list[FrozenTrial]:
    """Return trials as the storage holds them; note in `first` which trial first had a design."""
    kept = []
    for trial in trials:
        number = first.setdefault(tuple(trial.params[n] for n in names), trial.number)
        if number != trial.number and trial.state == TrialState.COMPLETE:
            trial = copy.copy(trial)
            trial.state = TrialState.PRUNED
            trial.user_attrs = {**trial.user_attrs, _REPEATS: number}
        kept.append(trial)
    return kept


def _drawn(trial: FrozenTrial) -> FrozenTrial:
    """Return a trial of the storage as the sampler is to see it; the inverse of `_registered`."""
    if _REPEATS in trial.user_attrs:
        trial = copy.copy(trial)
        trial.state = TrialState.COMPLETE
    return trial


def _judged(evaluator: Evaluator, trials: Sequence[FrozenTrial]) -> Judged:
    """Return what the storage holds as a batch; evaluated again, as models are pure and quick."""
    names: Mapping[str, Any] = evaluator.space.variables
    points = evaluator.space.from_labels({n: [t.params[n] for t in trials] for n in names})
    return Judged(points, judge(evaluator, points, 0))
