"""Samplers: those of Optuna by name.

They work on a study in memory, a generation at a time, so that models see whole batches; each
finished generation is written to the storage in one transaction. A killed run loses at most the
generation under way.

Samplers repeat designs. The study in memory has every draw as a finished trial; in the storage a
repeat is a pruned one that names the first, so that the best trials there are designs, each once.
"""

from __future__ import annotations

import copy
import inspect
import warnings
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from importlib.util import find_spec
from typing import Any

import numpy as np
import optuna
from numpy.typing import NDArray
from optuna.distributions import (
    BaseDistribution,
    CategoricalDistribution,
    FloatDistribution,
    IntDistribution,
)
from optuna.storages import InMemoryStorage
from optuna.trial import FrozenTrial, TrialState

from dse.evaluate.evaluator import Evaluated, Evaluator
from dse.evaluate.front import Archive, Gathered
from dse.evaluate.judging import Judged, joined
from dse.evaluate.space import Choice, Integer, Points, Real, Space, Values
from dse.evaluate.table import ROW, TableSpace
from dse.problems import Problem, nearest
from dse.search.base import Plan, Progress, Search, Settings, Start, Trials
from dse.search.outcome import Outcome, of_sample
from dse.search.workers import NEVER, Judges, is_late

_GENERATIONS = {
    "NSGAIISampler": 50,
    "NSGAIIISampler": 50,
    "TPESampler": 8,
    "GPSampler": 4,
    "RandomSampler": 1_000,
    "QMCSampler": 1_024,
}  # designs asked for together if the study does not say
_EVALUATIONS = 2_000  # designs drawn if the study does not say
_DRAWS = 20  # of each design, at most, if the study does not say
_OURS = {"self", "seed", "constraints_func"}
_REPEATS = "repeats"  # the attribute of a trial whose design an earlier one has: its number
_REFUSED = 1e300  # a violation for what is not a number: Optuna takes no NaN


def plan(
    method: str, settings: Settings, space: Space, objectives: int, problems: list[Problem]
) -> Plan:
    """Plan a sampler's search; see `base.Method`."""
    problem = _refused(method, settings, objectives)
    problems += [problem] if problem else []
    total = settings.evaluations or min(_EVALUATIONS, _DRAWS * (space.size or _EVALUATIONS))
    population = 1 if problem else settings.options.get("population_size", _GENERATIONS[method])
    generation = min(settings.generation or int(population), total)
    return settings.planned(method, total, generation)


def _refused(method: str, settings: Settings, objectives: int) -> Problem | None:
    """Return what is wrong with a sampler's options, if anything is."""
    kind = getattr(optuna.samplers, method)
    allowed = [n for n in inspect.signature(kind.__init__).parameters if n not in _OURS]
    for name in settings.options:
        if name not in allowed:
            where = f"search.options.{name}"
            remedy = "give search.seed" if name == "seed" else nearest(name, allowed)
            return Problem(where, f"{method} has no option '{name}'", remedy)
    if method == "GPSampler" and find_spec("torch") is None:
        return Problem(
            "search.method",
            "GPSampler needs PyTorch, which is not installed",
            "pip install torch, or choose another method",
        )
    try:
        with quiet():  # some options are looked at no earlier than here
            probe = optuna.create_study(
                directions=["minimize"] * objectives,
                sampler=_sampler(method, dict(settings.options), 0),
            )
            for x in range(3):
                asked = probe.ask({"x": FloatDistribution(0, 1), "y": FloatDistribution(0, 1)})
                probe.tell(asked, [float(x)] * objectives)
        population = settings.options.get("population_size", 2)
        if int(population) != population:
            raise ValueError("population_size is not a whole number")
    except Exception as error:  # each sampler has its own checks and errors
        return Problem("search.options", f"{method} refuses its options: {error}")
    return None


def start(begun: Start) -> Search:
    """Return the sampling; see `base.Method`."""
    return _Sampling(begun)


class _Sampling:
    def __init__(self, begun: Start) -> None:
        self._evaluator, self._plan, self._trials = begun.evaluator, begun.plan, begun.trials
        self._judges = begun.judges()
        self._batches: list[Judged] = []
        self._done = 0
        self._seen: set[tuple[Any, ...]] = set()
        self._front = Gathered(Archive.empty(len(begun.evaluator.objectives)))
        self._reachable = reachable(begun.evaluator.space)
        self._earlier = self.progress()

    def steps(self, until: float = NEVER) -> Iterator[None]:
        for batch in sample(self._evaluator, self._plan, self._trials, self._judges, until):
            self._batches.append(batch)
            self._note(batch)
            if batch.recalled:
                self._earlier = self.progress()
            yield
            if len(self._seen) == self._reachable:
                return

    def _note(self, batch: Judged) -> None:
        """Add the new designs of a batch to the front."""
        rows = []
        drawn = {ROW: batch.points[ROW]} if ROW in batch.points else batch.points
        for row, key in enumerate(zip(*(v.tolist() for v in drawn.values()), strict=True)):
            if key not in self._seen:
                self._seen.add(key)
                rows.append(row)
        kept = np.array(rows, dtype=np.int64)
        kept = kept[batch.judged.feasible[kept]]
        points = (batch.judged.objectives * self._evaluator.signs)[kept]
        new = Archive(kept + self._done, points, np.zeros((len(kept), 0)))
        self._front = self._front.added(new)
        self._done += len(batch.judged)

    def progress(self) -> Progress:
        front, kept = len(self._front.archive().index), len(self._seen)
        return Progress(self._done, self._plan.evaluations, front, self._done - kept, kept)

    def earlier(self) -> Progress:
        return self._earlier

    def outcome(self) -> Outcome:
        names = self._batches[0].points
        points = {n: np.concatenate([b.points[n] for b in self._batches]) for n in names}
        judged = joined([b.judged for b in self._batches])
        found = of_sample(self._evaluator, points, judged, self._plan.method)
        whole = len(self._seen) == self._reachable and not found.complete
        return replace(found, ended="each row that a draw can give was drawn") if whole else found

    def state(self) -> dict[str, NDArray[Any]]:
        return {}  # each generation is in the storage already


def reachable(space: Space) -> int | None:
    """Return how many designs draws can give; None for a continuum."""
    return space.size - space.repeats if isinstance(space, TableSpace) else space.size


def _sampler(method: str, options: dict[str, Any], seed: int) -> optuna.samplers.BaseSampler:
    with quiet():
        sampler: optuna.samplers.BaseSampler = getattr(optuna.samplers, method)(
            seed=seed, **options
        )
    return sampler


@contextmanager
def quiet() -> Iterator[None]:
    """Keep Optuna's log lines and warnings from the terminal."""
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


def sample(
    evaluator: Evaluator,
    plan: Plan,
    store: Trials | None,
    judges: Judges | None = None,
    until: float = NEVER,
) -> Iterator[Judged]:
    """Search with an Optuna sampler; yield each generation, those in the storage first.

    The seed of a generation depends on the study's seed and on how many designs there are, so that
    a resumed search goes on as an uninterrupted one would.

    Parameters
    ----------
    store : Trials, optional
        Where trials are kept.
    judges : Judges, optional
        Who judges a generation.
    until : float
        The `time.time` after which the search ends, in the midst of a generation if need be.

    Raises
    ------
    DesignError
        If a model raises.
    """
    judges = judges or Judges(evaluator)
    study, known = _recalled(evaluator, store)
    done = len(known)
    if known:
        yield _judged(evaluator, known, judges)
    shared = distributions(evaluator.space)
    first: dict[tuple[Any, ...], int] = {}  # by the values of the variables
    _registered(known, shared, first)
    while done < plan.evaluations and not (done > len(known) and is_late(until)):
        asked, points = _asked(study, evaluator, plan, done, until)
        judged = judges.judge(points, done, until)
        asked = asked[: len(judged)]
        with quiet():
            for i, trial in enumerate(asked):
                _tell(study, trial, evaluator, judged, i)
            finished = study.get_trials(deepcopy=False)[done : done + len(asked)]
        if store is not None:
            kept = _registered(finished, shared, first)
            store.append(kept, study._storage.get_study_system_attrs(study._study_id))
        done += len(asked)
        yield Judged({n: v[: len(asked)] for n, v in points.items()}, judged)


def _recalled(
    evaluator: Evaluator, store: Trials | None
) -> tuple[optuna.Study, Sequence[FrozenTrial]]:
    """Return a study in memory with the trials of the storage in it, and those trials."""
    with quiet():
        study = optuna.create_study(
            storage=_Snapping(evaluator.space),
            directions=[objective.direction for objective in evaluator.objectives],
        )
        known = store.trials() if store is not None else []
        study.add_trials([_drawn(t) for t in known])  # numbered, and so identified, as they were
        for key, value in (store.state() if store is not None else {}).items():
            study._storage.set_study_system_attr(study._study_id, key, value)
    return study, known


def _asked(
    study: optuna.Study, evaluator: Evaluator, plan: Plan, done: int, until: float
) -> tuple[list[optuna.Trial], Points]:
    """Return a generation's trials and designs: one at least, and all if there is time."""
    shared = distributions(evaluator.space)
    with quiet():
        # one sequence for the quasi-random sampler, which numbers its own points
        fixed = plan.method == "QMCSampler"
        seed = np.random.SeedSequence([plan.seed, 0 if fixed else done]).generate_state(1)[0]
        study.sampler = _sampler(plan.method, dict(plan.options), int(seed))
        asked: list[optuna.Trial] = []
        for _ in range(min(plan.generation, plan.evaluations - done)):
            if asked and is_late(until):
                break
            asked.append(study.ask(shared))
        # the sampler's draws are snapped in the storage: read them back from there
        drawn = study.get_trials(deepcopy=False)[done:]
    labels = {n: [t.params[n] for t in drawn] for n in shared}
    return asked, evaluator.space.from_labels(labels)


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


def _judged(evaluator: Evaluator, trials: Sequence[FrozenTrial], judges: Judges) -> Judged:
    """Return what the storage holds as a batch; evaluated again, as models are pure and quick."""
    names: Mapping[str, Any] = evaluator.space.variables
    points = evaluator.space.from_labels({n: [t.params[n] for t in trials] for n in names})
    return Judged(points, judges.judge(points, 0), recalled=True)
