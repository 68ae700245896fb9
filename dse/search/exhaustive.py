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

from dse.evaluate.evaluator import Evaluated, Evaluator, concatenate_batches
from dse.evaluate.failures import DesignError, evaluate_naming_failures
from dse.evaluate.front import Archive, FrontBuilder
from dse.evaluate.lookup_tables import LookupTable, look_up_outputs, tabulate_models
from dse.evaluate.model_graph import Key, ModelError
from dse.evaluate.space import Space
from dse.evaluate.table_space import TableSpace
from dse.problems import Problem
from dse.search.base import Progress, SearchSettings, Start, refuse_options
from dse.search.convergence import convergence_table
from dse.search.outcome import Outcome, state_certificate
from dse.search.tally import Tally
from dse.search.workers import NEVER, EndedError, LateError, batch_size, is_late

_MAX_DESIGNS = 10_000_000_000  # beyond, a full enumeration takes hours on a workstation
EARLY = 20_000
"""Designs whose values are kept from the search on; of later ones, only the front's."""
SAMPLE = 2_000
"""The number of designs that are kept next to the front, to plot the designs behind it."""
_PARTS = 8  # chunks of an enumeration at least
_MAX_COUNTED = 10_000  # designs up to which a front is counted again after each chunk


def plan(
    settings: SearchSettings, space: Space, objectives: int, problems: list[Problem]
) -> SearchSettings:
    """Plan to evaluate every design; see `base.Method`."""
    refuse_options(settings, "give evaluations, or nothing", problems)
    size, limit = space.size, min(settings.evaluations or _MAX_DESIGNS, _MAX_DESIGNS)
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
    elif size > limit:
        counts = sorted(((v.count or 1, n) for n, v in space.variables.items()), reverse=True)
        largest = ", ".join(f"{n} ({count:,})" for count, n in counts[:3])
        shown = f"{size:,}" if size < 1e15 else f"about 10^{math.log10(size):.0f}"
        problems.append(
            Problem(
                "search.evaluations" if settings.evaluations else "search.method",
                f"exhaustive would evaluate {shown} designs, more than {limit:,}",
                'use method = "bound", which certifies the front, or "evolution", or fewer values '
                f"of the largest variables: {largest}",
            )
        )
    return replace(settings, evaluations=size or 1, generation=1)


@dataclass(frozen=True)
class State:
    """How far an enumeration is."""

    done: int
    """The designs before this one are counted in all that follows."""
    gathered: FrontBuilder
    """Their front, with the values of their constraints."""
    tally: Tally
    early: Evaluated
    """The values of the first `EARLY` of them."""

    @classmethod
    def empty(cls, evaluator: Evaluator) -> State:
        """Return the state before the first design."""
        constraints = len(evaluator.constraints)
        front = FrontBuilder.empty(len(evaluator.objectives), constraints)
        return cls(0, front, Tally.empty(constraints), Evaluated.empty(evaluator))

    def add(self, chunk: Chunk) -> State:
        """Return the state after the next chunk."""
        early = concatenate_batches([self.early, chunk.early]) if len(chunk.early) else self.early
        gathered = self.gathered.added(chunk.archive)
        return State(chunk.done, gathered, self.tally + chunk.tally, early)

    def to_arrays(self) -> dict[str, NDArray[Any]]:
        """Return the state as arrays, for a checkpoint."""
        whole = self.gathered.settled.joined(*self.gathered.waiting)
        return {
            "done": np.array(self.done),
            **self.tally.arrays(),
            **self.early.to_arrays(),
            "index": whole.index,
            "points": whole.points,
            "beside": whole.beside,
        }

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, NDArray[Any]]) -> State:
        """Return the state that `to_arrays` gave."""
        whole = Archive(arrays["index"], arrays["points"], arrays["beside"])
        empty = Archive.empty(whole.points.shape[1], whole.beside.shape[1])
        gathered, tally = FrontBuilder(empty.merged(whole)), Tally.from_arrays(arrays)
        return cls(int(arrays["done"]), gathered, tally, Evaluated.from_arrays(arrays))


class _Enumeration:
    """The enumeration; see `base.Search`."""

    def __init__(self, setup: Start) -> None:
        self._setup, self._evaluator = setup, setup.evaluator
        self._state = (
            State.from_arrays(setup.state) if setup.state else State.empty(setup.evaluator)
        )

    def steps(self, until: float = NEVER) -> Iterator[None]:
        for chunk in self._evaluate_chunks(self._state.done, until):
            self._state = self._state.add(chunk)
            yield
        if self._state.done == self._evaluator.space.size:
            yield from self._complete_tally(until)

    def _complete_tally(self, until: float) -> Iterator[None]:
        """Compute all objectives if no design is feasible: the tally finds a constraint to loosen.

        The search knows no objectives of designs that constraints exclude. If a model raises for
        such a design, or the time is over, the tally stays as it is.
        """
        tally, constraints = self._state.tally, self._evaluator.constraints
        if tally.feasible or tally.evaluated <= EARLY or not constraints:
            return
        whole = Tally.empty(len(constraints))
        with suppress(DesignError):
            for chunk in self._evaluate_chunks(0, until, screens=False):
                whole += chunk.tally
                if chunk.done == tally.evaluated:
                    self._state = replace(self._state, tally=whole)
                yield

    def _evaluate_chunks(self, first: int, until: float, screens: bool = True) -> Iterator[Chunk]:
        """Evaluate the designs from one on, in chunks, until the end or the time."""
        evaluator, workers = self._evaluator, self._setup.workers
        total = evaluator.space.size or 0
        if first == total or (first and is_late(until)):
            return
        tables = workers.call(make_tables, evaluator)
        rows = max(1, self._setup.chunk // evaluator.scenarios)  # arrays have a row per scenario
        under_way: deque[tuple[int, int]] = deque()

        def tasks() -> Iterator[tuple[Any, ...]]:
            for low, high in cut_chunks(first, total, rows):
                under_way.append((low, high))
                piece = rows if until == NEVER else batch_size(low - first, until, workers.count)
                # one design in any case
                yield low, high, piece, until if low else NEVER, screens

        work = functools.partial(evaluate_chunk, evaluator, tables)
        try:
            for chunk in workers.each(work, tasks()):
                low, high = under_way.popleft()
                if chunk.done > low:
                    yield chunk
                if chunk.done < high:
                    return  # the time is over
        except EndedError as ended:
            low, high = under_way[0]
            if not isinstance(ended, LateError) or self._state.done == 0:
                raise ended.with_designs(low, high - 1) from None

    def progress(self) -> Progress:
        gathered = self._state.gathered
        counted = len(gathered) <= _MAX_COUNTED
        front = len((gathered.archive() if counted else gathered.settled).index)
        kept = min(self._state.done, len(gathered) + SAMPLE)
        return Progress(self._state.done, self._evaluator.space.size or 0, front, kept=kept)

    def state(self) -> dict[str, NDArray[Any]]:
        return self._state.to_arrays()

    def outcome(self) -> Outcome:
        """Keep the front and an even sample of the enumerated designs.

        Only the sample beyond the first `EARLY` designs is evaluated again.
        """
        evaluator, state = self._evaluator, self._state
        archive, size = state.gathered.archive(), evaluator.space.size
        even = np.linspace(0, max(state.done - 1, 0), min(SAMPLE, state.done)).astype(int)
        others = np.setdiff1d(even, archive.index)
        early, late = others[others < EARLY], others[others >= EARLY]
        every = np.ones(len(archive.index), dtype=bool)
        front = Evaluated(archive.points * evaluator.signs, archive.beside, every)
        parts = [front, state.early.rows(early), *self._evaluate_again(late)]
        numbers = np.concatenate([archive.index, early, late])
        order = np.argsort(numbers, kind="stable")
        on_front = np.arange(len(numbers)) < len(archive.index)
        complete, is_table = state.done == size, isinstance(evaluator.space, TableSpace)
        return Outcome(
            numbers[order],
            evaluator.space.from_index(numbers[order]),
            concatenate_batches(parts).rows(order),
            on_front[order],
            state.tally,
            convergence_table([], evaluator.signs),
            complete,
            True,
            state_certificate(
                "exhaustive", size, state.done, archive.points, 0, complete, is_table
            ),
        )

    def _evaluate_again(self, numbers: NDArray[np.int64]) -> Iterator[Evaluated]:
        """Yield the values of designs, with the objectives of designs that constraints exclude.

        The search did not compute these objectives. If a model raises for them, they are NaN.
        """
        if not len(numbers):
            return
        points, first = self._evaluator.space.from_index(numbers), int(numbers[0])
        batches = self._setup.batch_evaluator()
        with suppress(DesignError):
            evaluated = batches.evaluate(points, first)
            if not evaluated.failed:
                yield evaluated
                return
        yield batches.evaluate(points, first, screens=True)


start = _Enumeration
"""Begin or resume the search; see `base.Method`."""


# --------------------------------------------------------------------------------- the chunks


class Chunk(NamedTuple):
    """The result of consecutive designs up to `done`; the rest as in `State`."""

    done: int
    archive: Archive
    tally: Tally
    early: Evaluated


def cut_chunks(first: int, total: int, limit: int) -> Iterator[tuple[int, int]]:
    """Yield where chunks begin and end: small at first, and of at most `limit` designs.

    The sizes follow only from the numbers of the designs. A busy machine thus does the same work
    as an idle one. They grow with the designs done: a slow model saves its state often. No chunk
    has more than an eighth of all designs: many workers end at about the same time.

    >>> [high - low for low, high in cut_chunks(0, 1_000, 100)]
    [1, 1, 2, 4, 8, 16, 32, 64, 64, 64, 64, 80, 100, 100, 100, 100, 100, 100]
    """
    low, limit = first, min(limit, max(1, total // _PARTS))
    while low < total:
        high = min(low + min(batch_size(low - first), limit), total)
        yield low, high
        low = high


def evaluate_chunk(
    evaluator: Evaluator,
    tables: Mapping[Key, LookupTable],
    low: int,
    high: int,
    rows: int,
    until: float = NEVER,
    screens: bool = True,
) -> Chunk:
    """Evaluate consecutive designs, or as many of them as begin in time.

    Beyond the `EARLY` ones, objectives are computed only for designs that no constraint excludes.
    So many `rows` are evaluated at once, with the tables of `make_tables`.
    """
    constraints = len(evaluator.constraints)
    front = FrontBuilder.empty(len(evaluator.objectives), constraints)
    tally, early = Tally.empty(constraints), [Evaluated.empty(evaluator)]
    while low < high and not is_late(until):
        index = np.arange(low, min(low + rows, high, EARLY if low < EARLY else high))
        digits = evaluator.space.digits(index)
        known = look_up_outputs(evaluator.space, tables, digits)
        points = evaluator.space.from_digits(digits)
        screened = screens and low >= EARLY
        evaluated = evaluate_naming_failures(
            replace(evaluator, screens=screened), points, low, known
        )
        tally += Tally.of(index, evaluated, evaluator.constraints, evaluator.domains, screened)
        if low < EARLY:
            early.append(evaluated)
        keep = evaluated.feasible
        signed = evaluated.objectives[keep] * evaluator.signs
        front = front.added(Archive(index[keep], signed, evaluated.constrained[keep]))
        low += len(index)
    return Chunk(low, front.archive(), tally, concatenate_batches(early))


def make_tables(evaluator: Evaluator) -> dict[Key, LookupTable]:
    """Return tables of models that depend on few variables; see `tabulate`."""
    try:
        return tabulate_models(evaluator)
    except ModelError:
        return {}  # raised again when it can be traced to a design
