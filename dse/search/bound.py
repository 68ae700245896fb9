"""Bounding: boxes of designs that cannot better what is found are dropped without evaluating them.

A branch and bound for fronts (J. Niebling and G. Eichfelder, A branch-and-bound-based algorithm for
nonconvex multiobjective optimization, 2019): each box has an ideal point that no design of it
betters (`dse.evaluate.ranges`); it is dropped if no design of it can be feasible, or if a found
design is at least as good as the ideal; else it is halved, until what is left is few enough to
enumerate.

Without a tolerance the front is the whole Pareto front, ties included. With a tolerance ε, every
feasible design x has a design a on the front with f(a) ≤ (1 + ε) f(x) in each objective to be
minimized, and f(a) ≥ f(x) / (1 + ε) in each to be maximized; a continuum needs one.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dse.evaluate.cells import Bounds, Boxes
from dse.evaluate.evaluator import Evaluated, concatenate
from dse.evaluate.front import FrontBuilder, distinct_front
from dse.evaluate.grounds import grounds
from dse.evaluate.memory import remembering
from dse.evaluate.space import Space
from dse.problems import Problem
from dse.search.audited import audit
from dse.search.base import UNLIMITED, Plan, Progress, Search, Settings, Start, no_options
from dse.search.boxes import (
    Open,
    Small,
    Widths,
    best,
    enumerated,
    halves,
    measured,
    middles,
    never,
    ranges_of,
    shares,
    sizes,
    whole,
)
from dse.search.cover import Cover, missed, reached, relaxed
from dse.search.outcome import Gap, Outcome, Tolerance, bounded
from dse.search.placed import KEPT, first, kept, numbers, placed
from dse.search.tally import Tally
from dse.search.workers import HANGS, NEVER, EndedError, LateError, is_late

_SEEDS = 20_000  # random designs to begin with
_SMALL = 16  # designs of a box that are rather enumerated than halved
_PIECE = 1 << 12  # boxes whose designs are evaluated together
_MOST = 1 << 16  # boxes worked on together
_FEWEST = 1 << 10
_SECONDS = 0.3  # that a batch should take
_DEEP = 200_000  # open boxes beyond which the smallest go first, so that they stay few
_THINNED = 8.0  # designs closer than this part of the tolerance stand for each other
_BILLION = 10**9  # what the progress through a continuum is counted in


def plan(
    method: str, settings: Settings, space: Space, objectives: int, problems: list[Problem]
) -> Plan:
    """Plan to bound the whole space; see `base.Method`."""
    no_options(method, settings, "use tolerance", problems)
    given = sum(map(any, settings.apart.values()))
    if space.size is None and not settings.tolerance and given < objectives:
        names = [n for n, v in space.variables.items() if v.count is None]
        problems.append(
            Problem(
                "search.tolerance",
                f"is 0{' for an objective' if given else ''}, but no front of a continuum is exact:"
                f" {', '.join(names)}",
                'give a tolerance, such as "1 %", or each real variable steps = N',
            )
        )
    most = settings.evaluations or space.size or UNLIMITED
    return settings.planned(method, most)


def start(begun: Start) -> Search:
    """Return the search; see `base.Method`."""
    if not begun.workers.asked_for:  # what others do elsewhere is not remembered here
        begun = replace(begun, evaluator=remembering(begun.evaluator))
    return _Bounding(begun)


class _Bounding:
    def __init__(self, begun: Start) -> None:
        evaluator, plan, arrays = begun.evaluator, begun.plan, begun.state
        self._evaluator, self._plan, self._judges = evaluator, plan, begun.judges()
        self._ranges = ranges_of(evaluator, begun.workers)
        self._threads = begun.workers.threads()
        names = [objective.name for objective in evaluator.objectives]
        self._tolerance, self._amount = plan.tolerances(names)
        self._exact = not (self._tolerance.any() or self._amount.any())
        self._floor = np.array([plan.floor.get(o.name, 0.0) for o in evaluator.objectives])
        size = evaluator.space.size
        self._most = np.inf if plan.evaluations == (size or UNLIMITED) else plan.evaluations
        self._numbered = size is not None and size < np.iinfo(np.int64).max
        constraints = len(evaluator.constraints)
        columns = constraints + (0 if self._numbered else len(self._ranges.axes))
        self._front = FrontBuilder(len(evaluator.objectives), columns)
        self._cover = Cover(len(evaluator.objectives), self._threads)
        self._settled = 0  # points of the cover when it was last thinned
        self._swept = 0  # and when all open boxes were last asked
        self._tally = Tally.empty(constraints)
        self._early: list[tuple[NDArray[np.int64], Evaluated]] = []
        self._boxes, self._batch, self._begun = 0, _FEWEST, False
        self._until, self._slice = NEVER, 1
        self._undefined = False  # whether a design of a box has no value
        self._clamped = not self._exact  # of ties each counts if nothing may be missed
        if arrays:
            self._clamped = bool(arrays["clamped"])
        try:
            self._root = best(self._ranges) if self._clamped else self._ranges.whole()
            root = whole(self._root, len(evaluator.objectives))
            self._open = self._opened(root.boxes, root.widths, root.age, root.miss)
        except LateError as late:
            raise EndedError(
                f"the first bounds were not there after {late.waited:.1f} s, when the time was "
                f"over: {HANGS}"
            ) from None
        if arrays:
            self._resume(arrays)
        size, before = self._evaluator.space.size or _BILLION, self._tally.evaluated
        self._earlier = Progress(before, size, len(self._cover))

    # ------------------------------------------------------------------------------ the protocol

    def steps(self, until: float = NEVER) -> Iterator[None]:
        self._until = until
        if not self._begun:
            self._begun = True
            self._sow()
            yield
        while len(self._open) and not is_late(until):
            if self._tally.evaluated >= self._most:
                return
            self._work()
            self._batch = min(_MOST, 2 * self._batch)  # not by the clock: the front would follow
            yield
        if not len(self._open):
            self._cover.rest()

    def progress(self) -> Progress:
        size = self._evaluator.space.size or _BILLION
        done = size if not len(self._open) else min(int(size * self._decided()), size - 1)
        found = len(self._cover)
        return Progress(max(done, self._tally.evaluated and 1), size, found, kept=found + KEPT)

    def earlier(self) -> Progress:
        return self._earlier

    def state(self) -> dict[str, NDArray[Any]]:
        archive = self._front.archive()
        early = [judged for _, judged in self._early]
        whole = concatenate([*early, Evaluated.empty(self._evaluator)])
        places = [np.zeros((0, len(self._ranges.axes)), dtype=np.int64)]
        return {
            "boxes": np.array([self._boxes, self._begun, self._batch, self._settled, self._swept]),
            **self._open.arrays(),
            "clamped": np.array(self._clamped),
            "cover": self._cover.points,
            "index": archive.index,
            "points": archive.points,
            "beside": archive.beside,
            "early": np.concatenate([*places, *(each for each, _ in self._early)]),
            "objectives": whole.objectives,
            "constrained": whole.constrained,
            "feasible": whole.feasible,
            **self._tally.arrays(),
        }

    def _resume(self, arrays: Mapping[str, NDArray[Any]]) -> None:
        """Go on from what `state` gave."""
        self._boxes, begun, self._batch, self._settled, self._swept = arrays["boxes"].tolist()
        self._begun = bool(begun)
        self._open = Open.from_arrays(arrays)
        self._cover.add(arrays["cover"])
        self._front.add(arrays["index"], arrays["points"], arrays["beside"])
        judged = Evaluated(arrays["objectives"], arrays["constrained"], arrays["feasible"])
        self._early = [(arrays["early"], judged)]
        self._tally = Tally.from_arrays(arrays)

    def outcome(self) -> Outcome:
        archive, constraints = self._front.archive(), len(self._evaluator.constraints)
        if self._numbered:
            places = placed(self._ranges, archive.index)
        else:  # some were looked at twice
            archive = archive.rows(first(archive.beside))
            places = archive.beside[:, constraints:].astype(np.int64)
        every = np.ones(len(places), dtype=bool)
        values = archive.points * self._evaluator.signs
        judged = Evaluated(values, archive.beside[:, :constraints], every)
        return bounded(
            self._evaluator,
            kept(self._ranges, (places, judged), self._early, self._numbered),
            archive.points,
            self._tally,
            Gap(
                float(self._tolerance.max()),
                *self._proven(),
                self._boxes,
                self._decided(),
                grounds(self._ranges),
                self._plan.floor,
            ),
            self._numbered,
        )

    # --------------------------------------------------------------------------------- the search

    def _proven(self) -> tuple[float, dict[str, Tolerance]]:
        """Return the tolerance that holds: a share, and that of each objective if they differ."""
        ideal, apart = self._open.ideal, self._plan.apart
        if not apart:
            share = reached(self._cover, ideal, np.ones(len(self._floor)), self._floor)
            return max(share, self._plan.tolerance), {}
        factor = max(reached(self._cover, ideal, self._tolerance, self._floor, self._amount), 1.0)
        every = zip(self._evaluator.objectives, self._tolerance, self._amount, strict=True)
        found = {o.name: Tolerance(factor * float(s), factor * float(a)) for o, s, a in every}
        return (factor * float(self._tolerance.max()) if np.isfinite(factor) else np.inf), found

    def _decided(self) -> float:
        """Return which share of the space was evaluated or proven not to matter."""
        if not len(self._open):
            return 1.0
        left = shares(self._ranges, self._open.boxes).sum()
        return 1.0 - float(left / shares(self._ranges, self._root)[0])

    def _sow(self) -> None:
        """Evaluate random designs, so that there is something to drop boxes by."""
        rng = np.random.default_rng(self._plan.seed)
        size = self._evaluator.space.size
        count = int(max(1, min(_SEEDS, _SEEDS if size is None else size // 20, self._most)))
        columns = [rng.integers(0, axis.count, count) for axis in self._ranges.axes]
        self._evaluate(np.column_stack(columns), None)

    def _work(self) -> None:
        """Look at a batch of open boxes: drop, enumerate or halve each."""
        taken = self._taken()
        batch = self._undominated(taken)
        try:
            few = sizes(self._ranges, batch.boxes) <= _SMALL
            opened, small = self._halved(batch.rows(~few)), batch.rows(few)
            if self._exact:
                self._evaluate(middles(self._ranges, opened.boxes), opened)
            else:
                places, box = enumerated(self._ranges, small.boxes)
                places = np.concatenate([places, middles(self._ranges, opened.boxes)])
                self._evaluate(places, small.rows(box).joined(opened))
                small = small.rows(slice(0, 0))
        except LateError:
            self._open = taken.joined(self._open)
            return
        self._open = self._open.joined(opened)
        try:
            while len(small):  # some at a time, for the sake of memory and of a deadline
                if is_late(self._until):
                    raise LateError(0, 0.0)
                places, box = enumerated(self._ranges, small.boxes.rows(slice(_PIECE)))
                self._evaluate(places, small.rows(box))
                small = small.rows(slice(_PIECE, None))
                small = self._undominated(small)
        except LateError:
            self._open = small.joined(self._open)
        if self._clamped and self._undefined:  # at another end it may have one
            self._clamped, self._root = False, self._ranges.whole()
            self._open = whole(self._root, len(self._floor))
        if len(self._cover) > 1.2 * self._swept:  # what is taken is asked then
            self._open = self._undominated(self._open)
            self._swept = len(self._cover)

    def _halved(self, batch: Open) -> Open:
        """Return those halves of boxes that may hold a design for the front."""
        batch = measured(self._ranges, self._bounds, batch)
        variable = np.argmax(np.where(batch.boxes.level > 0, batch.widths, -1.0), axis=1)
        children, parent = halves(self._ranges, batch.boxes, variable)
        widths = batch.widths[parent]
        widths[np.arange(len(parent)), variable[parent]] /= 2
        return self._opened(children, widths, batch.age[parent] + 1, batch.miss[parent])

    def _bounds(self, boxes: Boxes) -> Bounds:
        """Return the bounds of boxes, some at a time: a deadline may come."""
        parts: list[Bounds] = []
        low, count = 0, len(boxes.level)
        while low < count or not parts:
            if is_late(self._until):
                raise LateError(0, 0.0)  # the batch is to be done again
            began = time.perf_counter()
            parts += self._in_pieces(boxes.rows(slice(low, low + self._slice)))
            low += self._slice
            seconds = time.perf_counter() - began
            if seconds > _SECONDS:
                self._slice = max(1, int(self._slice * _SECONDS / seconds))
            elif seconds < _SECONDS / 16:
                self._slice = min(8 * self._slice, _MOST)
        return Bounds(*(np.concatenate(column) for column in zip(*parts, strict=True)))

    def _in_pieces(self, boxes: Boxes) -> list[Bounds]:
        return self._threads.rows(lambda rows: self._ranges(boxes.rows(rows)), len(boxes.level))

    def _taken(self) -> Open:
        """Take boxes out: what misses most, so that the gap falls; of very many, the smallest."""
        left = (self._most - self._tally.evaluated) / _SMALL
        most = int(max(1, min(self._batch, left)))
        if len(self._open) <= most:
            batch, self._open = self._open, self._open.rows(slice(0, 0))
            return batch
        first = self._open.boxes.level.sum(axis=1) if len(self._open) > _DEEP else -self._open.miss
        order = np.argsort(first, kind="stable")
        batch = self._open.rows(order[:most])
        self._open = self._open.rows(np.sort(order[most:]))
        return batch

    def _opened(self, boxes: Boxes, widths: Widths, age: Small, miss: Small) -> Open:
        """Return those boxes that may hold a design for the front."""
        self._boxes += len(boxes.level)
        bounds = self._bounds(boxes)
        found = Open(boxes, bounds.ideal, widths, age, miss, never(len(age)))
        found = found.rows(bounds.possible)
        found = self._undominated(found)
        least = self._tolerance, self._floor, self._amount
        miss = missed(self._cover, found.ideal, found.miss, *least)
        return replace(found, miss=miss)

    def _undominated(self, boxes: Open) -> Open:
        """Return those boxes of which what is found does not cover the ideal."""
        if self._exact:
            covered = self._cover.strictly(boxes.ideal, boxes.asked)
        else:
            worse = relaxed(boxes.ideal, self._tolerance, self._floor, self._amount)
            covered = self._cover.weakly(worse, boxes.asked)
        left = boxes.rows(~covered)
        return replace(left, asked=np.full(len(left), self._cover.mark, dtype=np.int32))

    def _evaluate(self, places: NDArray[np.int64], held: Open | None) -> None:
        """Evaluate designs; what is good goes into the cover, and into the front.

        Each is of a box; seeds are of none.
        """
        if not len(places):
            return
        seeds = held is None
        points = self._ranges.points(places)
        judged = self._judges.judge(points, self._tally.evaluated, self._until)
        if seeds:
            places = places[: len(judged)]
        elif len(judged) < len(places):
            raise LateError(0, 0.0)
        audit(self._ranges, self._evaluator, places, judged, held, self._plan.seed, self._until)
        if not seeds:
            every = np.column_stack([judged.objectives, judged.constrained])
            self._undefined |= bool(np.isnan(every).any())
        index = self._numbers(places)
        self._tally += Tally.of(index, judged, self._evaluator.constraints, self._evaluator.domains)
        if sum(len(each) for _, each in self._early) < KEPT:
            self._early.append((places[:KEPT], judged.rows(slice(KEPT))))
        keep = judged.feasible
        values = (judged.objectives * self._evaluator.signs)[keep]
        beside = judged.constrained[keep]
        if not self._numbered:
            beside = np.column_stack([beside, places[keep]])
        self._front.add(index[keep], values, beside)
        values = values[distinct_front(values)]
        thin = values
        if not self._exact:
            part = self._tolerance / _THINNED, self._floor, self._amount / _THINNED
            thin = relaxed(values, *part)
        self._cover.add(values[~self._cover.weakly(thin)])
        if len(self._cover) > 2 * self._settled + 4 * _FEWEST:
            self._cover.thin()
            self._settled = len(self._cover)

    def _numbers(self, places: NDArray[np.int64]) -> NDArray[np.int64]:
        if self._numbered:
            return numbers(self._ranges, places)
        return self._tally.evaluated + np.arange(len(places))
