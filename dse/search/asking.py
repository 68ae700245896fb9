"""Optuna's samplers, asked for designs: a study in memory, and trials as the storage has them."""

from __future__ import annotations

import copy
import warnings
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import numpy as np
import optuna
from optuna.distributions import (
    BaseDistribution,
    CategoricalDistribution,
    FloatDistribution,
    IntDistribution,
)
from optuna.storages import InMemoryStorage
from optuna.trial import FrozenTrial, TrialState

from dse.evaluate.evaluator import Evaluated, Evaluator
from dse.evaluate.space import Choice, Integer, Points, Real, Space, Values
from dse.search.base import Plan
from dse.search.judges import Judges
from dse.search.workers import is_late

_REPEATS = "repeats"  # the attribute of a trial whose design an earlier one has: its number
_REFUSED = 1e300  # a violation for what is not a number: Optuna takes no NaN


def sampler_of(method: str, options: dict[str, Any], seed: int) -> optuna.samplers.BaseSampler:
    """Return a sampler by name."""
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


class Snapping(InMemoryStorage):
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
        """Set a value, on its grid."""
        if isinstance(self._space.variables.get(param_name), Real | Integer):
            param_value_internal = self._space.snap(param_name, param_value_internal)
        super().set_trial_param(trial_id, param_name, param_value_internal, distribution)


def asked_of(
    study: optuna.Study, evaluator: Evaluator, plan: Plan, draws: range, until: float
) -> tuple[list[optuna.Trial], Points]:
    """Return trials and designs for some draws: one at least, and all if there is time.

    The samples depend on the seed, on the number of the first sample, and on the trials so far.
    """
    shared = distributions(evaluator.space)
    with quiet():
        # one sequence for the quasi-random sampler, which numbers its own points
        start = 0 if plan.method == "QMCSampler" else draws.start
        seed = int(np.random.SeedSequence([plan.seed, start]).generate_state(1)[0])
        study.sampler = sampler_of(plan.method, dict(plan.options), seed)
        asked: list[optuna.Trial] = []
        for _ in draws:
            if asked and is_late(until):
                break
            asked.append(study.ask(shared))
        # the sampler's draws are snapped in the storage: read them back from there
        drawn = study.get_trials(deepcopy=False)[-len(asked) :]
    labels = {n: [t.params[n] for t in drawn] for n in shared}
    return asked, evaluator.space.from_labels(labels)


def tell(
    study: optuna.Study, trial: optuna.Trial, evaluator: Evaluator, judged: Evaluated, i: int
) -> None:
    """Report the values of a trial's design, at place `i` of a batch, to a study."""
    violations = evaluator.violations(judged.constrained[i : i + 1])[0]
    for constraint, violation in zip(evaluator.constraints, violations, strict=True):
        trial.set_constraint(constraint.name, float(np.nan_to_num(violation, nan=_REFUSED)))
    values = judged.objectives[i]
    if np.isnan(values).any():
        study.tell(trial, state=TrialState.FAIL)
    else:
        study.tell(trial, values.tolist())


def registered(
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


def drawn(trial: FrozenTrial) -> FrozenTrial:
    """Return a trial of the storage as the sampler is to see it; the inverse of `registered`."""
    if _REPEATS in trial.user_attrs:
        trial = copy.copy(trial)
        trial.state = TrialState.COMPLETE
    return trial


def in_memory(evaluator: Evaluator) -> optuna.Study:
    """Return an empty study in memory."""
    with quiet():
        return optuna.create_study(
            storage=Snapping(evaluator.space),
            directions=[objective.direction for objective in evaluator.objectives],
        )


def recall(study: optuna.Study, trials: Sequence[FrozenTrial], state: Mapping[str, Any]) -> None:
    """Add trials of the storage with their numbers, and the sampler's notes."""
    with quiet():
        study.add_trials([drawn(t) for t in trials])
        for key, value in state.items():
            study._storage.set_study_system_attr(study._study_id, key, value)


@dataclass(frozen=True)
class Batch:
    """Designs with their values; `recalled` designs are of an earlier session."""

    points: Points
    evaluated: Evaluated
    recalled: bool = False


def recalled(evaluator: Evaluator, trials: Sequence[FrozenTrial], judges: Judges) -> Batch:
    """Return what the storage holds as a batch; evaluated again, as models are pure and quick."""
    names: Mapping[str, Any] = evaluator.space.variables
    points = evaluator.space.from_labels({n: [t.params[n] for t in trials] for n in names})
    return Batch(points, judges.judge(points, 0), recalled=True)
