"""Samplers of Optuna, by name.

They work on a study in memory, a generation at a time: models then see whole batches. Each
finished generation is written to the storage in one transaction. A killed run loses at most the
generation under way.

Samplers repeat designs. The study in memory has every sample as a finished trial. In the storage, a
repeat is a pruned trial that names the first one: each design is then one finished trial.
"""

from __future__ import annotations

import inspect
from collections.abc import Iterator
from dataclasses import dataclass, replace
from importlib.util import find_spec
from typing import Any

import numpy as np
import optuna
from numpy.typing import NDArray
from optuna.distributions import (
    FloatDistribution,
)

from dse.evaluate.evaluator import Evaluator, concatenate
from dse.evaluate.front import Archive, FrontBuilder
from dse.evaluate.space import Space
from dse.evaluate.table_space import ROW, TableSpace
from dse.problems import Problem, nearest
from dse.search.asking import (
    Batch,
    asked_of,
    distributions,
    in_memory,
    quiet,
    recall,
    recalled,
    registered,
    sampler_of,
    tell,
)
from dse.search.base import Plan, Progress, Search, Settings, Start, Trials
from dse.search.judges import Judges
from dse.search.outcome import Outcome, of_sample
from dse.search.workers import NEVER, is_late

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
                sampler=sampler_of(method, dict(settings.options), 0),
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


@dataclass(frozen=True)
class State:
    """The samples so far.

    Parameters
    ----------
    batches : tuple of Batch
        All samples, in order.
    done, kept : int
        Draws, and distinct designs among them.
    front : FrontBuilder
        The front of these designs.
    recalled : Progress
        How far earlier sessions were.
    """

    batches: tuple[Batch, ...]
    done: int
    kept: int
    front: FrontBuilder
    recalled: Progress


class _Sampling:
    def __init__(self, begun: Start) -> None:
        self._evaluator, self._plan, self._trials = begun.evaluator, begun.plan, begun.trials
        self._judges = begun.judges()
        none = Progress(0, begun.plan.evaluations, 0)
        front = FrontBuilder.empty(len(begun.evaluator.objectives))
        self._state = State((), 0, 0, front, none)
        self._first: dict[tuple[Any, ...], int] = {}  # the first draw of each design
        self._reachable = reachable(begun.evaluator.space)

    def steps(self, until: float = NEVER) -> Iterator[None]:
        for batch in sample(self._evaluator, self._plan, self._trials, self._judges, until):
            self._state = self._added(self._state, batch)
            yield
            if self._state.kept == self._reachable:
                return

    def _added(self, state: State, batch: Batch) -> State:
        """Return the state with one more batch."""
        drawn = {ROW: batch.points[ROW]} if ROW in batch.points else batch.points
        keys = zip(*(v.tolist() for v in drawn.values()), strict=True)
        new = [
            number - state.done
            for number, key in enumerate(keys, state.done)
            if self._first.setdefault(key, number) == number
        ]
        rows = np.array(new, dtype=np.int64)
        rows = rows[batch.evaluated.feasible[rows]]
        points = (batch.evaluated.objectives * self._evaluator.signs)[rows]
        front = state.front.added(Archive(rows + state.done, points, np.zeros((len(rows), 0))))
        done, kept = state.done + len(batch.evaluated), state.kept + len(new)
        recalled = state.recalled
        if batch.recalled:
            recalled = Progress(done, self._plan.evaluations, 0, done - kept)
        return State((*state.batches, batch), done, kept, front, recalled)

    def progress(self) -> Progress:
        state = self._state
        front, repeats = len(state.front.archive().index), state.done - state.kept
        return Progress(state.done, self._plan.evaluations, front, repeats, state.kept)

    def earlier(self) -> Progress:
        return self._state.recalled

    def outcome(self) -> Outcome:
        batches = self._state.batches
        names = batches[0].points
        points = {n: np.concatenate([b.points[n] for b in batches]) for n in names}
        judged = concatenate([b.evaluated for b in batches])
        found = of_sample(self._evaluator, points, judged, self._plan.method)
        whole = self._state.kept == self._reachable and not found.complete
        return (
            replace(found, ended="each row that a sample can give was sampled") if whole else found
        )

    def state(self) -> dict[str, NDArray[Any]]:
        return {}  # each generation is in the storage already


def reachable(space: Space) -> int | None:
    """Return how many designs draws can give; None for a continuum."""
    return space.size - space.repeats if isinstance(space, TableSpace) else space.size


def sample(
    evaluator: Evaluator,
    plan: Plan,
    store: Trials | None,
    judges: Judges | None = None,
    until: float = NEVER,
) -> Iterator[Batch]:
    """Search with an Optuna sampler; yield each generation, those in the storage first.

    The seed of a generation depends on the study's seed and on the number of designs. Therefore
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
    study = in_memory(evaluator)
    known = store.trials() if store is not None else []
    recall(study, known, store.state() if store is not None else {})
    done = len(known)
    if known:
        yield recalled(evaluator, known, judges)
    shared = distributions(evaluator.space)
    first: dict[tuple[Any, ...], int] = {}  # by the values of the variables
    registered(known, shared, first)
    while done < plan.evaluations and not (done > len(known) and is_late(until)):
        draws = range(done, min(done + plan.generation, plan.evaluations))
        asked, points = asked_of(study, evaluator, plan, draws, until)
        judged = judges.judge(points, done, until)
        asked = asked[: len(judged)]
        with quiet():
            for i, trial in enumerate(asked):
                tell(study, trial, evaluator, judged, i)
            finished = study.get_trials(deepcopy=False)[done : done + len(asked)]
        if store is not None:
            kept = registered(finished, shared, first)
            store.append(kept, study._storage.get_study_system_attrs(study._study_id))
        done += len(asked)
        yield Batch({n: v[: len(asked)] for n, v in points.items()}, judged)
