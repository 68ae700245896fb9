"""An enumeration that several processes divide: each claims slabs, and all read what all found.

The slabs are cut by the size of the space alone, so that a process may come at any time. What comes
out is what one process finds: fronts and counts add up in any order.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dse.evaluate.front import Gathered
from dse.evaluate.judging import DesignError
from dse.evaluate.tabulate import Tabulated
from dse.evaluate.wiring import Key
from dse.search.base import Progress, Start
from dse.search.enumerated import SAMPLE, of_enumeration
from dse.search.outcome import Outcome
from dse.search.parts import WAIT, Part, Parts, Standing, cuts
from dse.search.slabs import Slab, State, loaded, merged, saved, slab, tables_of
from dse.search.tally import Tally
from dse.search.workers import NEVER, TASK_SECONDS, EndedError, LateError, is_late

_FEWEST, _MOST = 256, 4_096  # slabs of a space, if it has as many designs
_LARGE = 65_536  # designs of a slab that may be of more slabs than the fewest
_CLAIMED, _HELD = 2.0, 1.0  # seconds of work that are claimed together, and handed in together


def size_of(total: int) -> int:
    """Return the designs of a slab; there are some hundred to some thousand slabs.

    >>> size_of(10_000), size_of(20_000_000), size_of(10**10)
    (40, 65574, 2441407)
    """
    return -(-total // min(max(_FEWEST, total // _LARGE), _MOST))


class Divided:
    """An enumeration of which this process does a part; see `dse.search.base.Search`."""

    def __init__(
        self, begun: Start, parts: Parts, asked: Callable[[Start, Tally, float], Iterator[Tally]]
    ) -> None:
        self._begun, self._parts, self._asked = begun, parts, asked
        self._evaluator, self._judges = begun.evaluator, begun.judges()
        self._total = begun.evaluator.space.size or 0
        self._whole = State.empty(begun.evaluator)  # what was read of all
        self._read: set[int] = set()
        self._front = Gathered(self._whole.archive)  # of what was done here
        self._own, self._pace = 0, 0.0  # designs done here; seconds that each takes a worker
        self._standing = Standing(0, self._total)

    def steps(self, until: float = NEVER) -> Iterator[None]:
        """Claim, evaluate and hand in, until all is done, by whomever."""
        self._parts.join(cuts(self._total, size_of(self._total)))
        tables: Mapping[Key, Tabulated] | None = None
        try:
            while not is_late(until):
                claimed = self._parts.claim(self._wanted())
                if claimed and tables is None:
                    tables = self._tables()
                if claimed:
                    yield from self._work(claimed, tables or {}, until)
                self._standing = self._parts.standing()
                if self._standing.done == self._total:
                    self._gather()
                    if self._whole.done == self._total:  # else some of it is damaged
                        for tally in self._asked(self._begun, self._whole.tally, until):
                            self._whole = replace(self._whole, tally=tally)
                            yield
                        return
                elif not claimed:
                    time.sleep(WAIT)
                yield
        finally:
            self._parts.leave()

    def _tables(self) -> Mapping[Key, Tabulated]:
        try:
            return self._begun.workers.alone(tables_of, self._evaluator)
        except LateError as late:
            raise late.told(0, self._total - 1, NEVER) or late from None

    def _wanted(self) -> int:
        """Return how many slabs to claim: some seconds of work, and two for each worker."""
        workers = self._begun.workers.count
        seconds = self._pace * size_of(self._total)
        return max(2 * workers, int(_CLAIMED * workers / seconds) if seconds else 0)

    def _work(
        self, claimed: list[Part], tables: Mapping[Key, Tabulated], until: float
    ) -> Iterator[None]:
        """Evaluate slabs; hand in those that are done now and then, and before an error."""
        begun, finished = self._begun, list[tuple[Part, Slab]]()
        piece = max(1, int(TASK_SECONDS / self._pace)) if self._pace else 1
        tasks = (
            (begun.evaluator, tables, p.low, p.high, begun.chunk, until, piece) for p in claimed
        )
        last, place = time.monotonic(), 0
        try:
            for place, found in enumerate(begun.workers.each(slab, tasks), 1):
                part = claimed[place - 1]
                finished.append((part._replace(high=found.done), found))
                if found.done > part.low:
                    self._pace = found.seconds / (found.done - part.low)
                if time.monotonic() - last > _HELD:
                    self._hand_in(finished)
                    finished, last = [], time.monotonic()
                    yield
                if found.done < part.high:
                    break  # it is late
        except EndedError as ended:
            self._hand_in(finished)
            low, high = claimed[place][1:]
            raise ended.at(low, high - 1) from None
        except DesignError:
            self._hand_in(finished)
            raise
        except LateError as late:
            self._hand_in(finished)
            low, high = claimed[place][1:]
            expected = self._pace * (high - low) if self._pace else NEVER
            if hung := late.told(low, high - 1, expected):
                raise hung from None
            return
        self._hand_in(finished)

    def _hand_in(self, finished: list[tuple[Part, Slab]]) -> None:
        states = {part.number: self._state(part, found) for part, found in finished}
        if not states:
            return

        def content(numbers: Collection[int]) -> Mapping[str, NDArray[Any]]:
            return saved(merged([state for n, state in states.items() if n in numbers]))

        self._parts.done([part for part, _ in finished], content)
        for state in states.values():
            self._front, self._own = self._front.added(state.archive), self._own + state.done
        self._standing = self._parts.standing()

    def _state(self, part: Part, found: Slab) -> State:
        spans = np.array([[part.low, part.high]])
        return State(part.high - part.low, Gathered(found.archive), found.tally, found.early, spans)

    def _gather(self) -> None:
        """Read what was handed in since the last time."""
        for number, arrays in self._parts.results(self._read):
            if arrays is None:
                self._parts.drop(number)
                continue
            state = loaded(arrays)
            self._whole = merged([self._whole, state]) if self._read else state
            self._read.add(number)

    def progress(self) -> Progress:
        """Return how far all processes are; the front is that of this one until the end."""
        front = self._whole.gathered if self._read else self._front
        kept = min(self._standing.done, len(front) + SAMPLE)
        others = max(self._standing.done - self._own, 0)
        shown = len(front.settled.index)
        return Progress(self._standing.done, self._total, shown, kept=kept, others=others)

    def earlier(self) -> Progress:
        """Return what was not done here."""
        others = max(self._whole.done - self._own, 0)
        return Progress(others, self._total, 0, others=others)

    def outcome(self) -> Outcome:
        """Return what all have found so far."""
        self._gather()
        whole = self._whole
        return of_enumeration(self._evaluator, whole, self._judges)

    def state(self) -> dict[str, NDArray[Any]]:
        """Return nothing: the storage holds it."""
        return {}
