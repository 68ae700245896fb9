"""Exhaustive search: every design of a finite space, chunk by chunk, and the front of all.

Memory grows with the front, not with the space. The result does not depend on how the designs are
cut into chunks, nor on how many workers there are.
"""

from __future__ import annotations

import functools
import math
from collections import deque
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from dse.evaluate.evaluator import Evaluated, Evaluator, concatenate
from dse.evaluate.failures import DesignError, evaluate_designs
from dse.evaluate.front import Archive, FrontBuilder
from dse.evaluate.lookup_tables import Tabulated, look_up, tabulate
from dse.evaluate.space import Points, Space
from dse.evaluate.table_space import TableSpace
from dse.evaluate.wiring import Key, ModelError
from dse.problems import Problem
from dse.search.base import Plan, Progress, Search, Settings, Start, no_options
from dse.search.convergence import convergence
from dse.search.judges import Judges
from dse.search.outcome import Outcome, statement
from dse.search.tally import Tally
from dse.search.workers import NEVER, EndedError, LateError, Workers, batch_size, is_late

MOST = 10_000_000_000
"""Designs beyond which a full enumeration is refused: hours on a workstation."""
EARLY = 20_000
"""Designs whose values are kept from the search on; of later ones, only the front's."""
SAMPLE = 2_000
"""The number of designs that are kept next to the front, to plot the designs behind it."""
_COUNTED = 10_000  # designs up to which a front is counted again after each chunk


def plan(
    method: str, settings: Settings, space: Space, objectives: int, problems: list[Problem]
) -> Plan:
    """Plan to evaluate every design; see `base.Method`."""
    size = space.size
    no_options(method, settings, "give evaluations, or nothing", problems)
    most = min(settings.evaluations or MOST, MOST)
    if size is None:
        names = [n for n, v in space.variables.items() if v.count is None]
        problems.append(
            Problem(
                "search.method",
                f"exhaustive cannot enumerate a continuum: {', '.join(names)}",
                'use method = "bound" with a tolerance, which certifies the front, or "evolution"; '
                "or give each real variable steps = N",
            )
        )
    elif size > most:
        counts = sorted(((v.count or 1, n) for n, v in space.variables.items()), reverse=True)
        largest = ", ".join(f"{n} ({count:,})" for count, n in counts[:3])
        shown = f"{size:,}" if size < 1e15 else f"about 10^{math.log10(size):.0f}"
        problems.append(
            Problem(
                "search.evaluations" if settings.evaluations else "search.method",
                f"exhaustive would evaluate {shown} designs, more than {most:,}",
                'use method = "bound", which certifies the front, or "evolution", or fewer values '
                f"of the largest variables: {largest}",
            )
        )
    return settings.planned(method, size or 1)


def start(begun: Start) -> Search:
    """Return the enumeration; see `base.Method`."""
    return _Enumeration(begun)


class _Enumeration:
    def __init__(self, begun: Start) -> None:
        self._begun, self._evaluator = begun, begun.evaluator
        self._state = (
            State.from_arrays(begun.state) if begun.state else State.empty(begun.evaluator)
        )
        self._earlier = self.progress()

    def steps(self, until: float = NEVER) -> Iterator[None]:
        given = self._begun.chunk, self._begun.workers, self._state, until
        states = enumerate_designs(self._evaluator, *given)
        for self._state in states:
            yield
        if self._state.done == self._evaluator.space.size:
            for tally in ask_all_objectives(self._begun, self._state.tally, until):
                self._state = replace(self._state, tally=tally)
                yield

    def progress(self) -> Progress:
        gathered = self._state.gathered
        counted = len(gathered) <= _COUNTED
        front = len((gathered.archive() if counted else gathered.settled).index)
        kept = min(self._state.done, len(gathered) + SAMPLE)
        return Progress(self._state.done, self._evaluator.space.size or 0, front, kept=kept)

    def earlier(self) -> Progress:
        return self._earlier

    def outcome(self) -> Outcome:
        return outcome_of(self._evaluator, self._state, self._begun.judges())

    def state(self) -> dict[str, NDArray[Any]]:
        return self._state.to_arrays()


@dataclass(frozen=True)
class State:
    """How far an enumeration is.

    Parameters
    ----------
    done : int
        The designs before this one are in all that follows.
    gathered : FrontBuilder
        Their front, with the values of their constraints.
    tally : Tally
        Their counts.
    early : Evaluated
        The values of the first `EARLY` of them.
    """

    done: int
    gathered: FrontBuilder
    tally: Tally
    early: Evaluated

    @classmethod
    def empty(cls, evaluator: Evaluator) -> State:
        """Return the state before the first design."""
        constraints = len(evaluator.constraints)
        front = FrontBuilder.empty(len(evaluator.objectives), constraints)
        return cls(0, front, Tally.empty(constraints), Evaluated.empty(evaluator))

    @property
    def archive(self) -> Archive:
        """The front of the designs that are done."""
        return self.gathered.archive()

    def add(self, chunk: Chunk) -> State:
        """Return the state after the next chunk."""
        early = concatenate([self.early, chunk.early]) if len(chunk.early) else self.early
        gathered = self.gathered.added(chunk.archive)
        return State(chunk.done, gathered, self.tally + chunk.tally, early)

    def to_arrays(self) -> dict[str, NDArray[Any]]:
        """Return the state as arrays, for a checkpoint."""
        whole = self.gathered.settled.joined(*self.gathered.waiting)
        return {
            "done": np.array(self.done),
            **self.tally.arrays(),
            "index": whole.index,
            "points": whole.points,
            "beside": whole.beside,
            "objectives": self.early.objectives,
            "constrained": self.early.constrained,
            "feasible": self.early.feasible,
        }

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, NDArray[Any]]) -> State:
        """Return the state that `to_arrays` gave."""
        whole = Archive(arrays["index"], arrays["points"], arrays["beside"])
        empty = Archive.empty(whole.points.shape[1], whole.beside.shape[1])
        early = Evaluated(arrays["objectives"], arrays["constrained"], arrays["feasible"])
        gathered = FrontBuilder(empty.merged(whole))
        return cls(int(arrays["done"]), gathered, Tally.from_arrays(arrays), early)


class Chunk(NamedTuple):
    """The result of consecutive designs up to `done`; the rest as in `State`."""

    done: int
    archive: Archive
    tally: Tally
    early: Evaluated


# ------------------------------------------------------------------------------ the enumeration


def enumerate_designs(
    evaluator: Evaluator,
    rows: int,
    workers: Workers,
    start: State | None = None,
    until: float = NEVER,
    every: bool = False,
) -> Iterator[State]:
    """Evaluate every design; yield the state after each chunk.

    Parameters
    ----------
    evaluator : Evaluator
        With a finite space.
    rows : int
        Designs evaluated at once, at most; a matter of speed and memory only.
    workers : Workers
        Who evaluates.
    start : State, optional
        The state to go on from.
    until : float
        The `time.time` after which no design is begun.
    every : bool
        Whether objectives are computed for all designs; see `evaluate_chunk`.

    Raises
    ------
    DesignError
        If a model raises; the message names the design.
    """
    total = evaluator.space.size
    if total is None:
        raise ValueError("a space with a continuous variable cannot be enumerated")
    state = start or State.empty(evaluator)
    if state.done == total or (state.done and is_late(until)):
        return
    try:
        tables = workers.alone(make_tables, evaluator)
    except LateError as late:
        raise late.told(0, total - 1, done=0) or late from None
    rows = max(1, rows // evaluator.scenarios)  # arrays have a row for each scenario
    under_way: deque[tuple[int, int]] = deque()

    def tasks(first: int) -> Iterator[tuple[Any, ...]]:
        for low, high in cut_chunks(first, total, rows):
            under_way.append((low, high))
            piece = rows if until == NEVER else batch_size(low - first, until, workers.count)
            yield low, high, piece, until if low else NEVER, every  # one design in any case

    first = state.done
    work = functools.partial(evaluate_chunk, evaluator, tables)
    try:
        for chunk in workers.each(work, tasks(first)):
            low, high = under_way.popleft()
            if chunk.done > low:
                state = state.add(chunk)
                yield state
            if chunk.done < high:
                return  # the time is over
    except EndedError as ended:
        low, high = under_way[0]
        raise ended.at(low, high - 1) from None
    except LateError as late:
        low, high = under_way[0]
        if hung := late.told(low, high - 1, done=state.done):
            raise hung from None


def cut_chunks(first: int, total: int, most: int) -> Iterator[tuple[int, int]]:
    """Yield where chunks begin and end: small at first, and of at most so many designs.

    The sizes follow only from the numbers of the designs. A busy machine thus does the same work
    as an idle one. They grow with the designs done: a slow model saves its state often.

    >>> [high - low for low, high in cut_chunks(0, 1_000, 100)]
    [1, 1, 2, 4, 8, 16, 32, 64, 64, 64, 64, 64, 64, 64, 64, 72, 81, 91, 100, 80]
    """
    low = first
    while low < total:
        high = min(low + min(batch_size(low - first), most), total)
        yield low, high
        low = high


def evaluate_chunk(
    evaluator: Evaluator,
    tables: Mapping[Key, Tabulated],
    low: int,
    high: int,
    rows: int,
    until: float = NEVER,
    every: bool = False,
) -> Chunk:
    """Evaluate consecutive designs, or as many of them as are begun in time.

    Beyond the `EARLY` ones, objectives are computed only for designs that no constraint excludes.

    Parameters
    ----------
    evaluator, tables : Evaluator, mapping
        The models, and the tables of their outputs.
    low, high : int
        The first design, and the one after the last.
    rows : int
        Designs evaluated at once.
    until : float
        A `time.time`.
    every : bool
        Whether objectives are computed for all designs.
    """
    constraints = len(evaluator.constraints)
    front = FrontBuilder.empty(len(evaluator.objectives), constraints)
    tally, early = Tally.empty(constraints), []
    while low < high and not is_late(until):
        index = np.arange(low, min(low + rows, high, EARLY if low < EARLY else high))
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
        front = front.added(Archive(index[keep], signed, judged.constrained[keep]))
        low += len(index)
    values = concatenate(early) if early else Evaluated.empty(evaluator)
    return Chunk(low, front.archive(), tally, values)


def make_tables(evaluator: Evaluator) -> dict[Key, Tabulated]:
    """Return tables of models that depend on few variables; see `tabulate`."""
    try:
        return tabulate(evaluator)
    except ModelError:
        return {}  # raised again when it can be traced to a design


def ask_all_objectives(begun: Start, tally: Tally, until: float) -> Iterator[Tally]:
    """Compute every objective of every design if none is feasible, to find what to loosen.

    Yields
    ------
    Tally
        The given one; in the end the tally of all designs with all objectives, unless a model
        raises for a design that constraints exclude, or the time is over.
    """
    if tally.feasible or tally.evaluated <= EARLY or not begun.evaluator.constraints:
        return
    given = begun.chunk, begun.workers, None, until, True
    with suppress(DesignError):
        for state in enumerate_designs(begun.evaluator, *given):
            yield state.tally if state.done == tally.evaluated else tally


# ------------------------------------------------------------------------------ the outcome


def outcome_of(evaluator: Evaluator, state: State, judges: Judges | None = None) -> Outcome:
    """Keep the front and an even sample of the enumerated designs.

    Only the sample beyond the first `EARLY` designs is evaluated again: with the objectives of what
    constraints exclude, which the search did not ask, unless a model raises for such a design.
    """
    archive = state.archive
    even = np.unique(np.linspace(0, max(state.done - 1, 0), min(SAMPLE, state.done)).astype(int))
    more = np.setdiff1d(even, archive.index, assume_unique=True)
    early, late = more[more < EARLY], more[more >= EARLY]
    parts = [
        Evaluated(
            archive.points * evaluator.signs,
            archive.beside,
            np.ones(len(archive.index), dtype=bool),
        ),
        state.early.rows(early),
    ]
    if len(late):
        points, first = evaluator.space.from_index(late), int(late[0])
        parts.append(_sampled(judges or Judges(evaluator), points, first))
    numbers = np.concatenate([archive.index, early, late])
    order = np.argsort(numbers, kind="stable")
    on_front = np.zeros(len(numbers), dtype=bool)
    on_front[: len(archive.index)] = True
    size = evaluator.space.size
    complete, tabled = state.done == size, isinstance(evaluator.space, TableSpace)
    return Outcome(
        numbers[order],
        evaluator.space.from_index(numbers[order]),
        concatenate(parts).rows(order),
        on_front[order],
        state.tally,
        convergence([], evaluator.signs),
        complete,
        True,
        statement("exhaustive", size, state.done, archive.points, 0, complete, tabled),
    )


def _sampled(judges: Judges, points: Points, first: int) -> Evaluated:
    with suppress(DesignError):
        judged = judges.judge(points, first)
        if not judged.failed:
            return judged
    return judges.screening().judge(points, first)
