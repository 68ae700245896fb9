"""Exhaustive search: every design of a finite space, slab by slab, and the front of all.

Memory grows with the front, not with the space. What comes out does not depend on how the designs
are cut into slabs and chunks, nor on how many workers there are.
"""

from __future__ import annotations

import collections
import functools
import math
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import replace
from typing import Any

from numpy.typing import NDArray

from dse.evaluate.evaluator import Evaluator
from dse.evaluate.failures import DesignError
from dse.evaluate.space import Space
from dse.evaluate.tabulate import Tabulated
from dse.evaluate.wiring import Key
from dse.problems import Problem
from dse.search.base import Plan, Progress, Search, Settings, Start, no_options
from dse.search.enumerated import SAMPLE, of_enumeration
from dse.search.outcome import Outcome
from dse.search.slabs import EARLY, State, loaded, saved, slab, tables_of
from dse.search.tally import Tally
from dse.search.workers import (
    NEVER,
    PROBE_SECONDS,
    TASK_SECONDS,
    EndedError,
    LateError,
    Workers,
    is_late,
)

MOST = 10_000_000_000
"""Designs beyond which a full enumeration is refused: hours on a workstation."""
_SLABS = 10_000  # tasks at most, whatever was measured
_FIRST = (
    8  # the first slabs before a deadline are so much smaller: until it is known what they take
)
_COUNTED = 10_000  # designs up to which a front is counted anew after each slab


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
        self._begun, self._evaluator, self._judges = begun, begun.evaluator, begun.judges()
        self._state = loaded(begun.state) if begun.state else State.empty(begun.evaluator)
        self._earlier = self.progress()

    def steps(self, until: float = NEVER) -> Iterator[None]:
        given = self._begun.chunk, self._begun.workers, self._state, until
        states = enumerate_designs(self._evaluator, *given)
        for self._state in states:
            yield
        if self._state.done == self._evaluator.space.size:
            for tally in asked_of_all(self._begun, self._state.tally, until):
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
        return of_enumeration(self._evaluator, self._state, self._judges)

    def state(self) -> dict[str, NDArray[Any]]:
        return saved(self._state)


def asked_of_all(begun: Start, tally: Tally, until: float) -> Iterator[Tally]:
    """Ask every objective of every design if none is feasible, to tell what to loosen.

    Yields
    ------
    Tally
        The one given; in the end that of all designs with all objectives, unless a model raises
        for one that constraints exclude, or it is late.
    """
    if tally.feasible or tally.evaluated <= EARLY or not begun.evaluator.constraints:
        return
    given = begun.chunk, begun.workers, None, until, True
    with suppress(DesignError):
        for state in enumerate_designs(begun.evaluator, *given):
            yield state.tally if state.done == tally.evaluated else tally


def enumerate_designs(
    evaluator: Evaluator,
    chunk: int,
    workers: Workers,
    start: State | None = None,
    until: float = NEVER,
    every: bool = False,
) -> Iterator[State]:
    """Evaluate every design; yield the state after each slab.

    Parameters
    ----------
    evaluator : Evaluator
        With a finite space.
    chunk : int
        Designs evaluated at once; a matter of speed alone.
    workers : Workers
        Who evaluates.
    start : State, optional
        What to go on from.
    until : float
        The `time.time` after which no chunk is begun.
    every : bool
        Whether objectives are asked of all designs; see `slab`.

    Raises
    ------
    DesignError
        If a model raises; the message names the design.
    """
    total = evaluator.space.size
    if total is None:
        raise ValueError("a space with a continuous variable cannot be enumerated")
    state = start or State.empty(evaluator)
    if state.done < total:
        try:
            tables = workers.alone(tables_of, evaluator)
        except LateError as late:
            raise late.told(0, total - 1, NEVER) or late from None
        pace = 0.0
        for reached, pace in _probed(evaluator, tables, chunk, workers, state, every):  # noqa: B007
            state = reached
            yield state
            if is_late(until):
                return
        if is_late(until):
            return
        size = _slab_size(pace, chunk, total - state.done, workers.count)
        first = size if until == NEVER else max(1, size // _FIRST)
        most = _slab_size(0.0, chunk, total - state.done, workers.count)
        cuts = _Cuts(state.done, total, most, first)
        piece = max(1, int(TASK_SECONDS / max(pace, 1e-9)))
        work = functools.partial(slab, evaluator, tables)
        tasks = ((low, high, chunk, until, piece, every) for low, high in cuts)
        try:
            for done in workers.each(work, tasks):
                low, high = cuts.under_way.popleft()
                if done.done > low:
                    latest = done.seconds / (done.done - low)
                    pace = latest if until < NEVER else min(pace, latest)  # others may hold it up
                    cuts.follow(pace)
                    state = state.added(done)
                    yield state
                if done.done < high:
                    return  # it is late
        except EndedError as ended:
            low, high = cuts.under_way[0]
            raise ended.at(low, high - 1) from None
        except LateError as late:
            low, high = cuts.under_way[0]
            if hung := late.told(low, high - 1, pace * (high - low)):
                raise hung from None


class _Cuts:
    """Where slabs begin and end, of a size that follows what they take.

    A probe cannot tell: a slab's front grows with it, and workers share the machine.
    """

    def __init__(self, start: int, total: int, most: int, size: int) -> None:
        self._low, self._total, self._most, self._size = start, total, most, size
        self.under_way: collections.deque[tuple[int, int]] = collections.deque()

    def __iter__(self) -> Iterator[tuple[int, int]]:
        while self._low < self._total:
            self.under_way.append((self._low, min(self._low + self._size, self._total)))
            self._low = self.under_way[-1][1]
            yield self.under_way[-1]

    def follow(self, pace: float) -> None:
        """Make the slabs to come of a size that takes some tenths of a second at a pace."""
        wanted = int(TASK_SECONDS / max(pace, 1e-9))
        self._size = max(1, min(wanted, 2 * self._size, self._most))


def _probed(
    evaluator: Evaluator,
    tables: Mapping[Key, Tabulated],
    chunk: int,
    workers: Workers,
    state: State,
    every: bool,
) -> Iterator[tuple[State, float]]:
    """Evaluate pieces that grow, until two in a row tell how long a design takes, in seconds.

    One is not enough: the first of all loads what was not needed before.
    """
    total = evaluator.space.size or 0
    size, last = 1, 0.0  # designs of a piece; seconds that the last of this size took
    while state.done < total:
        first = state.done
        stop = min(first + size, total)
        try:
            rest = chunk, NEVER, None, every
            done = workers.alone(slab, evaluator, tables, first, stop, *rest)
        except EndedError as ended:
            raise ended.at(first, stop - 1) from None
        except LateError as late:
            known = last / size if last else NEVER if not state.done else 0.0
            if hung := late.told(first, stop - 1, known * (stop - first)):
                raise hung from None
            return
        state = state.added(done)
        seconds = min(done.seconds, last or done.seconds)
        yield state, seconds / (stop - first)
        if last or size == chunk:
            return
        if seconds > PROBE_SECONDS:
            last = seconds
        else:
            size = min(8 * size, chunk)


def _slab_size(pace: float, chunk: int, left: int, workers: int) -> int:
    """Return how many designs make a task: some tenths of a second, and some tasks a worker."""
    size = int(TASK_SECONDS / max(pace, 1e-12))
    if size >= chunk:
        return max(chunk, min(size // chunk * chunk, -(-left // (4 * workers))))
    return max(1, min(size, -(-left // (4 * workers))), left // _SLABS)
