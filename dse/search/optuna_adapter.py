"""Optuna's samplers, by name.

They work on a study in memory, a generation at a time: models then see whole batches. Each
finished generation is written to the storage in one transaction. A killed run loses at most the
generation under way.

Samplers repeat designs. The study in memory has every sample as a finished trial. In the storage, a
repeat is a pruned trial that names the first one: each design is then one finished trial.
"""

from __future__ import annotations

import copy
import inspect
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
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

from dse.evaluate.evaluator import Evaluated, concatenate_batches
from dse.evaluate.front import Archive, FrontBuilder
from dse.evaluate.space import Choice, Integer, Points, Real, Space, Values
from dse.evaluate.table_space import ROW, TableSpace
from dse.problems import Problem, nearest
from dse.search.base import Progress, SearchSettings, Start
from dse.search.outcome import Outcome, make_sample_outcome
from dse.search.workers import NEVER, is_late

_GENERATIONS = {
    "NSGAIISampler": 50,
    "NSGAIIISampler": 50,
    "TPESampler": 8,
    "GPSampler": 4,
    "RandomSampler": 1_000,
    "QMCSampler": 1_024,
}  # designs sampled together if the study does not say
_EVALUATIONS = 2_000  # designs sampled if the study does not say
_SAMPLES_PER_DESIGN = 20  # at most, if the study does not say
_OWN_OPTIONS = {"self", "seed", "constraints_func"}  # that a study cannot give
_REPEATS = "repeats"  # the attribute of a trial whose design an earlier one has: its number
_NAN_VIOLATION = 1e300  # Optuna takes no NaN


# ------------------------------------------------------------------------------------ the plan


def plan(
    settings: SearchSettings, space: Space, objectives: int, problems: list[Problem]
) -> SearchSettings:
    """Plan a sampler's search; see `base.Method`."""
    method = settings.method
    problem = _check_options(settings, objectives)
    problems += [problem] if problem else []
    designs = space.size or _EVALUATIONS
    total = settings.evaluations or min(_EVALUATIONS, _SAMPLES_PER_DESIGN * designs)
    population = 1 if problem else settings.options.get("population_size", _GENERATIONS[method])
    generation = min(settings.generation or int(population), total)
    return replace(settings, evaluations=total, generation=generation)


def _check_options(settings: SearchSettings, objectives: int) -> Problem | None:
    """Return what is wrong with a sampler's options, if anything is."""
    method = settings.method
    parameters = inspect.signature(getattr(optuna.samplers, method).__init__).parameters
    allowed = [name for name in parameters if name not in _OWN_OPTIONS]
    for name in settings.options:
        if name not in allowed:
            remedy = "give search.seed" if name == "seed" else nearest(name, allowed)
            place = f"search.options.{name}"
            return Problem(place, f"{method} has no option '{name}'", remedy)
    if method == "GPSampler" and find_spec("torch") is None:
        return Problem(
            "search.method",
            "GPSampler needs PyTorch, which is not installed",
            "pip install torch, or choose another method",
        )
    try:
        with quiet():  # samplers check some options only when they sample
            probe = optuna.create_study(
                directions=["minimize"] * objectives, sampler=_make_sampler(settings, 0)
            )
            for x in range(3):
                trial = probe.ask({"x": FloatDistribution(0, 1), "y": FloatDistribution(0, 1)})
                probe.tell(trial, [float(x)] * objectives)
        population = settings.options.get("population_size", 2)
        if int(population) != population:
            raise ValueError("population_size is not a whole number")
    except Exception as error:  # each sampler has its own checks and errors
        return Problem("search.options", f"{method} refuses its options: {error}")
    return None


def _make_sampler(settings: SearchSettings, seed: int) -> optuna.samplers.BaseSampler:
    kind = getattr(optuna.samplers, settings.method)
    sampler: optuna.samplers.BaseSampler = kind(seed=seed, **settings.options)
    return sampler


# ---------------------------------------------------------------------------------- the search


@dataclass(frozen=True)
class Samples:
    """The samples so far, the state of the search."""

    batches: tuple[tuple[Points, Evaluated], ...]
    done: int
    kept: int
    """Samples, and distinct designs among them."""
    front: FrontBuilder


class Sampling:
    """The search; see `base.Search`.

    The seed of a generation depends on the study's seed and on the number of designs. Therefore
    a resumed search goes on as an uninterrupted one would.
    """

    def __init__(self, setup: Start) -> None:
        self._evaluator, self._plan, self._storage = setup.evaluator, setup.plan, setup.trials
        self._batches = setup.batch_evaluator()
        space, objectives = setup.evaluator.space, setup.evaluator.objectives
        self._reachable = (
            space.size - space.repeats if isinstance(space, TableSpace) else space.size
        )
        self._distributions = distributions(space)
        self._first: dict[tuple[Any, ...], int] = {}  # the first sample of each design
        self.samples = Samples((), 0, 0, FrontBuilder.empty(len(objectives)))
        with quiet():
            self._study = optuna.create_study(
                storage=_GridStorage(space), directions=[o.direction for o in objectives]
            )
            trials = self._storage.trials() if self._storage is not None else []
            self._study.add_trials([_as_sampled(trial) for trial in trials])
            for key, value in (self._storage.state() if self._storage is not None else {}).items():
                self._study._storage.set_study_system_attr(self._study._study_id, key, value)
        if trials:  # evaluated again, as models are pure and quick
            points = self._points_of(trials)
            self.samples = self._add(self.samples, points, self._batches.evaluate(points, 0))

    def steps(self, until: float = NEVER) -> Iterator[None]:
        """Search; see `base.Search`."""
        began = self.samples.done
        while self.samples.done < self._plan.evaluations and self.samples.kept != self._reachable:
            if self.samples.done > began and is_late(until):
                return
            done = self.samples.done
            self.samples = self._sample(self.samples, until)
            if self.samples.done == done:
                return
            yield

    def _sample(self, state: Samples, until: float) -> Samples:
        """Return the state after one more generation; the storage has it then."""
        study, done = self._study, state.done
        count = min(self._plan.generation, self._plan.evaluations - done)
        with quiet():
            # one sequence for the quasi-random sampler, which numbers its own points
            number = 0 if self._plan.method == "QMCSampler" else done
            seed = np.random.SeedSequence([self._plan.seed, number]).generate_state(1)[0]
            study.sampler = _make_sampler(self._plan, int(seed))
            trials: list[optuna.Trial] = []
            while len(trials) < count and not (trials and is_late(until)):
                trials.append(study.ask(self._distributions))
            # the samples are on their grids in the storage: read them back from there
            points = self._points_of(study.get_trials(deepcopy=False)[done:])
        evaluated = self._batches.evaluate(points, done, until)
        points = {name: values[: len(evaluated)] for name, values in points.items()}
        with quiet():
            for row, trial in enumerate(trials[: len(evaluated)]):
                self._tell(trial, evaluated, row)
            finished = study.get_trials(deepcopy=False)[done : done + len(evaluated)]
        after = self._add(state, points, evaluated)
        if self._storage is not None:
            first = [self._first[key] for key in _keys(points)]
            marked = [_mark_repeat(*pair) for pair in zip(finished, first, strict=True)]
            attributes = study._storage.get_study_system_attrs(study._study_id)
            self._storage.append(marked, attributes)
        return after

    def _points_of(self, trials: Sequence[FrozenTrial]) -> Points:
        names = self._distributions
        return self._evaluator.space.from_labels({n: [t.params[n] for t in trials] for n in names})

    def _tell(self, trial: optuna.Trial, evaluated: Evaluated, row: int) -> None:
        """Report the values of a trial's design to the study."""
        evaluator = self._evaluator
        violations = evaluator.violations(evaluated.constrained[row : row + 1])[0]
        for constraint, violation in zip(evaluator.constraints, violations, strict=True):
            trial.set_constraint(
                constraint.name, float(np.nan_to_num(violation, nan=_NAN_VIOLATION))
            )
        values = evaluated.objectives[row]
        if np.isnan(values).any():
            self._study.tell(trial, state=TrialState.FAIL)
        else:
            self._study.tell(trial, values.tolist())

    def _add(self, state: Samples, points: Points, evaluated: Evaluated) -> Samples:
        """Return the state with one more batch."""
        new = [
            number - state.done
            for number, key in enumerate(_keys(points), state.done)
            if self._first.setdefault(key, number) == number
        ]
        rows = np.array(new, dtype=np.int64)
        rows = rows[evaluated.feasible[rows]]
        signed = (evaluated.objectives * self._evaluator.signs)[rows]
        front = state.front.added(Archive(rows + state.done, signed, np.zeros((len(rows), 0))))
        batches = (*state.batches, (points, evaluated))
        return Samples(batches, state.done + len(evaluated), state.kept + len(new), front)

    def progress(self) -> Progress:
        """Return how far it is; see `base.Search`."""
        state = self.samples
        front, repeats = len(state.front.archive().index), state.done - state.kept
        return Progress(state.done, self._plan.evaluations, front, repeats, state.kept)

    def outcome(self) -> Outcome:
        """Return the designs found so far; see `base.Search`."""
        batches, evaluated = zip(*self.samples.batches, strict=True)
        points = {name: np.concatenate([b[name] for b in batches]) for name in batches[0]}
        values = concatenate_batches(list(evaluated))
        outcome = make_sample_outcome(self._evaluator, points, values, self._plan.method)
        if self.samples.kept == self._reachable and not outcome.complete:
            return replace(outcome, ended="each row that a sample can give was sampled")
        return outcome

    def state(self) -> dict[str, NDArray[Any]]:
        """Return nothing; see `base.Search`."""
        return {}  # each generation is in the storage already


start = Sampling
"""Begin or resume the search; see `base.Method`."""


def _keys(points: Points) -> Iterator[tuple[Any, ...]]:
    """Yield for each design its identity: its row in a table, or its values."""
    columns = [points[ROW]] if ROW in points else points.values()
    return zip(*(column.tolist() for column in columns), strict=True)


# ----------------------------------------------------------------------------------- the study


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
    """Return the space in Optuna's terms; `_GridStorage` puts real numbers on their grids."""
    result: dict[str, BaseDistribution] = {}
    for name, variable in space.variables.items():
        match variable:
            case Real():
                result[name] = FloatDistribution(variable.low, variable.high, log=variable.log)
            case Integer():
                high = variable.low + (variable.count - 1) * variable.step
                step = 1 if variable.log else variable.step
                result[name] = IntDistribution(variable.low, high, log=variable.log, step=step)
            case Values():
                result[name] = CategoricalDistribution(variable.values)
            case Choice():
                result[name] = CategoricalDistribution(variable.names)
    return result


class _GridStorage(InMemoryStorage):
    """A storage in memory that replaces samples between grid values by grid values."""

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


def _mark_repeat(trial: FrozenTrial, first: int) -> FrozenTrial:
    """Return a trial as the storage holds it: pruned if trial `first` has its design."""
    if first == trial.number or trial.state != TrialState.COMPLETE:
        return trial
    trial = copy.copy(trial)
    trial.state = TrialState.PRUNED
    trial.user_attrs = {**trial.user_attrs, _REPEATS: first}
    return trial


def _as_sampled(trial: FrozenTrial) -> FrozenTrial:
    """Return a trial of the storage as the sampler sees it; the inverse of `_mark_repeat`."""
    if _REPEATS in trial.user_attrs:
        trial = copy.copy(trial)
        trial.state = TrialState.COMPLETE
    return trial
