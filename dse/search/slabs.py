"""Slabs: consecutive designs of a finite space, evaluated, and the state that they add up to."""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from dse.evaluate.evaluator import Evaluated, Evaluator, concatenate
from dse.evaluate.failures import evaluate_designs
from dse.evaluate.front import Archive, FrontBuilder, Gathered
from dse.evaluate.tabulate import Tabulated, look_up, tabulate
from dse.evaluate.wiring import Key, ModelError
from dse.search.tally import Tally
from dse.search.workers import NEVER, TASK_SECONDS, is_late

EARLY = 20_000
"""Designs whose values are kept from the search on; of later ones only the front's."""


@dataclass(frozen=True)
class State:
    """How far an enumeration is.

    Parameters
    ----------
    done : int
        The designs before this one are in all that follows.
    gathered : Gathered
        Their front, with the values of their constraints beside it.
    tally : Tally
        Their counts.
    early : Evaluated
        What the first `EARLY` of them give.
    """

    done: int
    gathered: Gathered
    tally: Tally
    early: Evaluated

    @classmethod
    def empty(cls, evaluator: Evaluator) -> State:
        """Return the state before the first design."""
        constraints = len(evaluator.constraints)
        archive = Archive.empty(len(evaluator.objectives), constraints)
        return cls(0, Gathered(archive), Tally.empty(constraints), Evaluated.empty(evaluator))

    @property
    def archive(self) -> Archive:
        """The front of the designs that are done."""
        return self.gathered.archive()

    def added(self, slab: Slab) -> State:
        """Return the state after one more slab, the next one."""
        early = concatenate([self.early, slab.early]) if len(slab.early) else self.early
        gathered = self.gathered.added(slab.archive)
        return State(slab.done, gathered, self.tally + slab.tally, early)


class Slab(NamedTuple):
    """What some consecutive designs give: those before `done`; the rest as in `State`.

    Attributes
    ----------
    seconds : float
        What they took.
    """

    done: int
    archive: Archive
    tally: Tally
    early: Evaluated
    seconds: float


def slab(
    evaluator: Evaluator,
    tables: Mapping[Key, Tabulated],
    start: int,
    stop: int,
    chunk: int,
    until: float = NEVER,
    piece: int | None = None,
    every: bool = False,
) -> Slab:
    """Evaluate the designs from `start` up to `stop`, or as many as are begun before `until`.

    Beyond the `EARLY` ones, objectives are asked only of designs that no constraint excludes.

    Parameters
    ----------
    evaluator, tables : Evaluator, mapping
        What judges designs, and what it need not compute.
    start, stop : int
        Design numbers.
    chunk : int
        Designs evaluated at once, at most.
    until : float
        A deadline, by `time.time`.
    piece : int, optional
        Designs evaluated at once to begin with; their number grows, and with a deadline, which is
        looked at in between, it follows what they take.
    every : bool
        Whether objectives are asked of all designs.
    """
    started = time.perf_counter()
    constraints = len(evaluator.constraints)
    front = FrontBuilder.empty(len(evaluator.objectives), constraints)
    tally, early = Tally.empty(constraints), []
    chunk = max(1, chunk // evaluator.scenarios)  # arrays have a row for each scenario
    low, size = start, min(piece or chunk, chunk)
    while low < stop and not is_late(until):
        began = time.perf_counter()
        index = np.arange(low, min(low + size, stop, EARLY if low < EARLY else stop))
        digits = evaluator.space.digits(index)
        known = look_up(evaluator.space, tables, digits)
        points = evaluator.space.from_digits(digits)
        screens = low >= EARLY and not every
        judged = evaluate_designs(replace(evaluator, screens=screens), points, low, known)
        tally += Tally.of(index, judged, evaluator.constraints, evaluator.domains, screens)
        if low < EARLY:
            early.append(judged)
        keep = judged.feasible
        signed = judged.objectives[keep] * evaluator.signs
        front = front.added(index[keep], signed, judged.constrained[keep])
        low += len(index)
        size = _next_size(size, chunk, time.perf_counter() - began if until < NEVER else 0.0)
    archive, values = front.archive(), concatenate(early) if early else Evaluated.empty(evaluator)
    return Slab(low, archive, tally, values, time.perf_counter() - started)


def _next_size(size: int, chunk: int, seconds: float) -> int:
    """Return how many designs to evaluate next, if the last so many took these seconds."""
    if seconds > TASK_SECONDS:
        return max(1, int(size * TASK_SECONDS / seconds))
    return min(4 * size, chunk) if seconds < TASK_SECONDS / 8 else size


def saved(state: State) -> dict[str, NDArray[Any]]:
    """Return a state as arrays, for a checkpoint."""
    whole = state.gathered.settled.joined(*state.gathered.waiting)
    return {
        "done": np.array(state.done),
        **state.tally.arrays(),
        "index": whole.index,
        "points": whole.points,
        "beside": whole.beside,
        "objectives": state.early.objectives,
        "constrained": state.early.constrained,
        "feasible": state.early.feasible,
    }


def loaded(arrays: Mapping[str, NDArray[Any]]) -> State:
    """Return the state that `saved` gave the arrays of."""
    whole = Archive(arrays["index"], arrays["points"], arrays["beside"])
    empty = Archive.empty(whole.points.shape[1], whole.beside.shape[1])
    early = Evaluated(arrays["objectives"], arrays["constrained"], arrays["feasible"])
    gathered = Gathered(empty.merged(whole))
    return State(int(arrays["done"]), gathered, Tally.from_arrays(arrays), early)


def tables_of(evaluator: Evaluator) -> dict[Key, Tabulated]:
    """Return what of each design need not be computed; see `tabulate`."""
    try:
        return tabulate(evaluator)
    except ModelError:
        return {}  # raised again when it can be traced to a design
