"""The searches that `benchmarks.peers` compares: ours and the peers', all on one `Task`."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from importlib.util import find_spec
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dse.evaluate.evaluator import Evaluated, Evaluator
from dse.evaluate.failures import evaluate_naming_failures
from dse.evaluate.space import Choice, Integer, Points, Space, Values
from dse.model import Array
from dse.search.base import UNLIMITED, SearchSettings, Start, find_method
from dse.search.bound.monotonicity import find_missing_declarations
from dse.search.bound.ranges import Ranges

_CHUNK = 16_384
_PENALTY = 1e3  # beyond any objective on its scale


@dataclass
class Task:
    """A problem to search for some seconds of processor, which keeps what was evaluated.

    Parameters
    ----------
    logs : ndarray of bool
        The objectives that peers see in the logarithm.
    """

    evaluator: Evaluator
    logs: NDArray[np.bool_]
    seed: int
    seconds: float
    designs: int = 0
    kept: list[Array] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.until = time.process_time() + self.seconds

    @property
    def late(self) -> bool:
        return time.process_time() > self.until

    @property
    def space(self) -> Space:
        return self.evaluator.space

    def keep(self, judged: Evaluated) -> None:
        self.designs += len(judged)
        self.kept.append(judged.objectives[judged.feasible])

    def points(self) -> Array:
        """Return the feasible objectives that were found, less being better."""
        empty = np.zeros((0, len(self.evaluator.objectives)))
        return np.concatenate([empty, *self.kept]) * self.evaluator.signs

    def judged(self, unit: Array) -> Evaluated:
        """Evaluate points of the unit cube."""
        points = self.space.from_unit(np.clip(unit, 0.0, 1.0))
        found = evaluate_naming_failures(self.evaluator, points, 0)
        self.keep(found)
        return found

    def fitness(self, points: Points) -> Array:
        """Evaluate designs for a peer: less is better, what violates a constraint is far off."""
        found = evaluate_naming_failures(self.evaluator, points, 0)
        self.keep(found)
        return self.penalized(found)

    def penalized(self, found: Evaluated) -> Array:
        signs = self.evaluator.signs
        value = shown(np.nan_to_num(found.objectives, nan=1e30) * signs, self.logs, signs)
        if found.feasible.all():
            return value
        violation = np.maximum(self.evaluator.violations(found.constrained), 0.0)
        total = np.log1p(np.nan_to_num(violation, nan=1e9, posinf=1e9)).sum(axis=1)
        return np.where(found.feasible[:, None], value, _PENALTY + total[:, None])


def shown(points: Array, logs: NDArray[np.bool_], signs: Array) -> Array:
    """Return points on the scale of each objective, with large numbers in place of infinities."""
    held = np.clip(points, -1e30, 1e30)
    with np.errstate(all="ignore"):
        return np.where(logs, signs * np.log(np.maximum(held * signs, 1e-30)), held)


def evolution(task: Task) -> bool:
    """Evolution as the product plans it, without an end."""
    settings = SearchSettings("evolution", UNLIMITED, seed=task.seed)
    count = len(task.evaluator.objectives)
    return _ours(task, find_method("evolution").plan(settings, task.space, count, []))


def bound(task: Task) -> bool:
    """Bound up to 1 %, to the end or for ten times as long as the others."""
    if task.seed or (task.space.size is None and find_missing_declarations(Ranges(task.evaluator))):
        return False  # once is enough, as it is not random; and it needs to know how models move
    task.until += 9 * task.seconds
    settings = SearchSettings("bound", UNLIMITED, tolerance=0.01)
    count = len(task.evaluator.objectives)
    return _ours(task, find_method("bound").plan(settings, task.space, count, []))


def _ours(task: Task, plan: SearchSettings) -> bool:
    search = find_method(plan.method).start(Start(task.evaluator, plan))
    for _ in search.steps():
        if task.late:
            break
    task.until = time.process_time()
    outcome = search.outcome()
    task.designs = outcome.tally.evaluated
    task.kept = [outcome.evaluated.objectives[outcome.on_front]]
    return True


def random(task: Task) -> bool:
    rng = np.random.default_rng(task.seed)
    while not task.late:
        task.judged(rng.random((_CHUNK, len(task.space.variables))))
    return True


def sobol(task: Task) -> bool:
    from scipy.stats import qmc

    points = qmc.Sobol(len(task.space.variables), rng=np.random.default_rng(task.seed))
    while not task.late:
        task.judged(points.random(_CHUNK))
    return True


def _suggested(trial: Any, space: Space) -> dict[str, float]:
    """Ask a trial of Optuna or Rustuna for a design, each variable in its own terms."""
    found: dict[str, float] = {}
    for name, variable in space.variables.items():
        if isinstance(variable, Choice | Values):
            found[name] = trial.suggest_categorical(name, list(range(variable.count)))
        elif isinstance(variable, Integer):
            found[name] = trial.suggest_int(name, variable.low, variable.high, log=variable.log)
        elif variable.steps is not None:
            found[name] = trial.suggest_int(name, 0, variable.steps - 1)
        else:
            found[name] = trial.suggest_float(name, variable.low, variable.high, log=variable.log)
    return found


def _told(task: Task, study: Any, generation: int) -> bool:
    """Ask and tell by generations, so that the models see arrays."""
    while not task.late:
        trials = [study.ask() for _ in range(generation)]
        rows = [_suggested(trial, task.space) for trial in trials]
        points: Points = {}
        for name, variable in task.space.variables.items():
            column = np.array([row[name] for row in rows])
            by_position = isinstance(variable, Choice | Values) or (
                not isinstance(variable, Integer) and variable.steps is not None
            )
            points[name] = variable.at(column) if by_position else column.astype(np.float64)
        for trial, values in zip(trials, task.fitness(points).tolist(), strict=True):
            study.tell(trial.number, values)
    return True


def _optuna(task: Task, name: str, generation: int) -> bool:
    import optuna

    optuna.logging.set_verbosity(optuna.logging.ERROR)
    sampler = getattr(optuna.samplers, name)(seed=task.seed)
    directions: list[Any] = ["minimize"] * len(task.evaluator.objectives)
    return _told(task, optuna.create_study(directions=directions, sampler=sampler), generation)


def _rustuna(task: Task) -> bool:
    import rustuna

    sampler = rustuna.samplers.NSGAIISampler(seed=task.seed)
    directions = ["minimize"] * len(task.evaluator.objectives)
    return _told(task, rustuna.create_study(directions=directions, sampler=sampler), 50)


def _pymoo(task: Task, population: int) -> bool:
    from pymoo.algorithms.moo.nsga2 import NSGA2
    from pymoo.core.problem import Problem
    from pymoo.core.termination import NoTermination

    class Vectorized(Problem):  # type: ignore[misc]
        def _evaluate(self, x: Array, out: dict[str, Any], *_: Any, **__: Any) -> None:
            out["F"] = task.penalized(task.judged(x))

    width = len(task.space.variables)
    problem = Vectorized(n_var=width, n_obj=len(task.evaluator.objectives), xl=0.0, xu=1.0)
    algorithm = NSGA2(pop_size=population)
    algorithm.setup(problem, termination=NoTermination(), seed=task.seed, verbose=False)
    while not task.late:
        algorithm.next()
    return True


def _pygmo(task: Task, population: int) -> bool:
    import pygmo

    width, count = len(task.space.variables), len(task.evaluator.objectives)

    class Vectorized:
        def fitness(self, x: Array) -> Array:
            return self.batch_fitness(x)

        def batch_fitness(self, x: Array) -> Array:
            return task.penalized(task.judged(x.reshape(-1, width))).ravel()

        def get_bounds(self) -> tuple[list[float], list[float]]:
            return [0.0] * width, [1.0] * width

        def get_nobj(self) -> int:
            return count

    problem, by_arrays = pygmo.problem(Vectorized()), pygmo.bfe(pygmo.member_bfe())
    held = pygmo.population(problem, population, seed=task.seed, b=by_arrays)
    step = pygmo.nsga2(gen=1, m=1.0 / width, seed=task.seed)
    step.set_bfe(by_arrays)
    algorithm = pygmo.algorithm(step)
    while not task.late:
        held = algorithm.evolve(held)
    return True


SEARCHES: Mapping[str, Callable[[Task], bool]] = {
    "dse evolution": evolution,
    "dse bound, 1 %": bound,
    "pygmo NSGA-II, 100": lambda task: _pygmo(task, 100),
    "pygmo NSGA-II, 1000": lambda task: _pygmo(task, 1_000),
    "pymoo NSGA-II, 100": lambda task: _pymoo(task, 100),
    "pymoo NSGA-II, 1000": lambda task: _pymoo(task, 1_000),
    "rustuna NSGA-II": _rustuna,
    "optuna NSGA-II": lambda task: _optuna(task, "NSGAIISampler", 50),
    "optuna TPE": lambda task: _optuna(task, "TPESampler", 10),
    "random": random,
    "sobol": sobol,
}


def installed(label: str) -> bool:
    """Tell whether what a search needs is installed."""
    needs = label.split()[0]
    return needs not in ("pygmo", "pymoo", "rustuna", "optuna") or find_spec(needs) is not None
