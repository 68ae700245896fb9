"""The engine: one way to start, follow, interrupt and resume any of the searches."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np
from numpy.typing import NDArray

from dse.evaluate.evaluator import Evaluated, Evaluator
from dse.evaluate.front import Archive, is_nondominated
from dse.evaluate.judging import Judged
from dse.search.base import Plan, Progress
from dse.search.evolution import Evolved, evolve
from dse.search.exhaustive import State, Workers, enumerate_designs
from dse.search.outcome import Outcome, of_enumeration, of_sample
from dse.search.tally import Tally

if TYPE_CHECKING:
    from dse.search.samplers import Store


class Search(Protocol):
    """A search under way.

    `steps` yields after each piece of work; in between, `progress`, `outcome` and `state` tell how
    far it is, what it has found, and what a resumed search needs.
    """

    def steps(self) -> Iterator[None]:
        """Work, a piece at a time."""

    def progress(self) -> Progress:
        """Return how far it is."""

    def outcome(self) -> Outcome:
        """Return what it has found so far."""

    def state(self) -> dict[str, NDArray[Any]]:
        """Return what is needed to go on; nothing where the storage holds it."""


def search(
    evaluator: Evaluator,
    plan: Plan,
    *,
    chunk: int,
    workers: Workers,
    state: dict[str, NDArray[Any]],
    store: Store | None,
) -> Search:
    """Return the search that a plan asks for, at the point where a checkpoint or storage left it.

    Parameters
    ----------
    chunk : int
        Designs evaluated at once.
    workers : Workers
        Who evaluates.
    state : dict of str to ndarray
        What an earlier `Search.state` returned; empty on a first run.
    store : Store, optional
        The storage; only samplers write to it as they go.
    """
    if plan.method == "exhaustive":
        return _Enumeration(evaluator, chunk, workers, state)
    if plan.method == "evolution":
        return _Evolution(evaluator, plan, state)
    return _Sampling(evaluator, plan, store)


class _Enumeration:
    def __init__(
        self, evaluator: Evaluator, chunk: int, workers: Workers, arrays: dict[str, NDArray[Any]]
    ) -> None:
        self._evaluator, self._chunk, self._workers = evaluator, chunk, workers
        self._total = evaluator.space.size or 0
        self._state = State(
            0, Archive.empty(len(evaluator.objectives)), Tally.empty(len(evaluator.constraints))
        )
        if arrays:
            done, evaluated, feasible, undefined = arrays["counts"].tolist()
            tally = Tally(
                evaluated,
                feasible,
                undefined,
                arrays["broken"],
                arrays["least"],
                arrays["admitted"],
                float(arrays["distance"]),
                int(arrays["nearest"]),
                arrays["missed"],
            )
            self._state = State(done, Archive(arrays["index"], arrays["points"]), tally)

    def steps(self) -> Iterator[None]:
        for state in enumerate_designs(self._evaluator, self._chunk, self._workers, self._state):
            self._state = state
            yield

    def progress(self) -> Progress:
        return Progress(self._state.done, self._total, len(self._state.archive.index))

    def outcome(self) -> Outcome:
        return of_enumeration(self._evaluator, self._state)

    def state(self) -> dict[str, NDArray[Any]]:
        state, tally = self._state, self._state.tally
        counts = [state.done, tally.evaluated, tally.feasible, tally.undefined]
        return {
            "counts": np.array(counts),
            "broken": tally.broken,
            "least": tally.least,
            "admitted": tally.admitted,
            "distance": np.array(tally.distance),
            "nearest": np.array(tally.nearest),
            "missed": tally.missed,
            "index": state.archive.index,
            "points": state.archive.points,
        }


class _Evolution:
    def __init__(self, evaluator: Evaluator, plan: Plan, arrays: dict[str, NDArray[Any]]) -> None:
        self._evaluator, self._plan = evaluator, plan
        self._state: Evolved | None = None
        if arrays:
            judged = Evaluated(arrays["objectives"], arrays["constrained"], arrays["feasible"])
            self._state = Evolved(arrays["unit"], judged, arrays["parents"])

    def steps(self) -> Iterator[None]:
        for state in evolve(self._evaluator, self._plan, self._state):
            self._state = state
            yield

    def progress(self) -> Progress:
        if self._state is None:
            return Progress(0, self._plan.evaluations, 0)
        rows = self._state.parents[self._state.judged.feasible[self._state.parents]]
        points = self._state.judged.objectives[rows] * self._evaluator.signs
        front = int(is_nondominated(points).sum())
        return Progress(len(self._state.unit), self._plan.evaluations, front)

    def outcome(self) -> Outcome:
        if self._state is None:
            raise ValueError("the search has not begun")
        points = self._evaluator.space.from_unit(self._state.unit)
        return of_sample(self._evaluator, points, self._state.judged)

    def state(self) -> dict[str, NDArray[Any]]:
        if self._state is None:
            return {}
        judged = self._state.judged
        return {
            "unit": self._state.unit,
            "parents": self._state.parents,
            "objectives": judged.objectives,
            "constrained": judged.constrained,
            "feasible": judged.feasible,
        }


class _Sampling:
    def __init__(self, evaluator: Evaluator, plan: Plan, store: Store | None) -> None:
        self._evaluator, self._plan, self._store = evaluator, plan, store
        self._batches: list[Judged] = []
        self._done = 0
        self._front = 0

    def steps(self) -> Iterator[None]:
        from dse.search.samplers import sample

        front = Archive.empty(len(self._evaluator.objectives))
        for batch in sample(self._evaluator, self._plan, self._store):
            self._batches.append(batch)
            keep = batch.judged.feasible
            points = (batch.judged.objectives * self._evaluator.signs)[keep]
            front = front.merged(np.flatnonzero(keep) + self._done, points)
            self._done += len(keep)
            self._front = len(front.index)
            yield

    def progress(self) -> Progress:
        return Progress(self._done, self._plan.evaluations, self._front)

    def outcome(self) -> Outcome:
        names = self._evaluator.space.variables
        points = {n: np.concatenate([b.points[n] for b in self._batches]) for n in names}
        judged = Evaluated(
            np.concatenate([b.judged.objectives for b in self._batches]),
            np.concatenate([b.judged.constrained for b in self._batches]),
            np.concatenate([b.judged.feasible for b in self._batches]),
        )
        return of_sample(self._evaluator, points, judged)

    def state(self) -> dict[str, NDArray[Any]]:
        return {}  # each generation is in the storage already
