"""Search by bounds: boxes of designs that cannot improve the front are dropped unevaluated.

A branch and bound for fronts (J. Niebling and G. Eichfelder, A branch-and-bound-based algorithm for
nonconvex multiobjective optimization, 2019). Each box has an ideal point: no design of the box is
better in any objective (`dse.search.bound.ranges`). A box is dropped if no design of it can be
feasible, or if a design found so far is at least as good as its ideal point. Else it is halved,
until it holds few enough designs to evaluate them all.

Without a tolerance the front is the whole Pareto front, ties included. With a tolerance ε, every
feasible design x has a design a on the front with f(a) ≤ (1 + ε) f(x) in each objective to be
minimized, and f(a) ≥ f(x) / (1 + ε) in each to be maximized. A continuum needs a tolerance. The
proof: a dropped box has a found design that is at least as good as its ideal point made worse by ε,
and so as any of its designs made worse by ε. While boxes are open, the least factor of ε for which
this holds for all of them is the tolerance that is proven.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dse.evaluate.evaluator import Evaluated, concatenate_batches
from dse.evaluate.front import Archive, FrontBuilder, find_distinct_front
from dse.evaluate.space import Space
from dse.model.quantity import Array
from dse.problems import Problem
from dse.search.base import UNLIMITED, Progress, Search, SearchSettings, Start, refuse_options
from dse.search.bound.boxes import (
    MEASURED,
    OpenBoxes,
    count_box_designs,
    design_numbers,
    design_places,
    enumerate_designs,
    find_middles,
    halve_boxes,
    make_box_at_best_ends,
    make_unasked_marks,
    make_whole_box,
    measure_variables,
    space_fractions,
)
from dse.search.bound.cache import remember_runs
from dse.search.bound.cells import Bounds, Boxes
from dse.search.bound.cover import HUGE, Cover, count_doublings, find_factor, relax_points
from dse.search.bound.evidence import (
    KEPT,
    keep_designs,
    list_grounds,
    make_outcome,
    mark_first_rows,
)
from dse.search.bound.monotonicity import find_missing_declarations
from dse.search.bound.ranges import make_ranges
from dse.search.bound.refutation import DesignsInBoxes, check_designs
from dse.search.outcome import Gap, Outcome, Tolerance
from dse.search.tally import Tally
from dse.search.workers import HANGS, MODEL_PIECE, NEVER, EndedError, LateError, is_late

_SEEDS = 20_000  # random designs to begin with
_MAX_ENUMERATED = 16  # designs of a box: to evaluate so few costs less than to halve the box
_BOXES_PER_MIDDLE = 2  # boxes per middle that is evaluated: of each, they cost more than they drop
_PIECE = 1 << 12  # boxes whose designs are evaluated together
_FIRST_PIECE = 1 << 6  # of the most promising boxes, which often drop the others
_ENUMERATED_TOGETHER = 1 << 10  # boxes whose designs one thread lists
_MAX_BOXES = 1 << 16  # boxes of a step, which bounds its memory
_WORK_PER_BOX = 8  # designs and bounds computed before a step, per box of the step
_MIN_COVER = 1 << 10  # designs of a cover that is too small to be thinned
_MAX_BREADTH = 200_000  # open boxes; with more, the smallest go first: depth first bounds memory
_THINNED = 8.0  # designs closer than the tolerance divided by this represent each other
_BILLION = 10**9  # the progress through a continuum is counted in billionths
_COUNTED = 1 << 27  # designs of a space up to which each is counted once: 16 MB of bits


def plan(
    settings: SearchSettings, space: Space, objectives: int, problems: list[Problem]
) -> SearchSettings:
    """Plan to bound the whole space; see `base.Method`."""
    refuse_options(settings, "use tolerance", problems)
    given = sum(map(any, settings.tolerances.values()))
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
    return replace(settings, evaluations=most, generation=1)


def start(begun: Start) -> Search:
    """Return the search; see `base.Method`."""
    if not begun.workers.isolate_models:  # a cache does not see runs on other machines
        begun = replace(begun, evaluator=remember_runs(begun.evaluator))
    return _Bounding(begun)


@dataclass(frozen=True)
class _State:
    """The state of a search by bounds; a step makes a new one and changes nothing of the old."""

    open: OpenBoxes
    """The boxes that may still hold a design for the front."""
    cover: Cover
    """The objectives of the designs found so far."""
    front: FrontBuilder
    """The designs that may be on the front."""
    tally: Tally
    clamped: bool
    """Whether variables of which all agree on the best end are held there."""
    counted: NDArray[np.uint8]
    """One bit per design of a small space: whether the tally counts it. Empty for a large space."""
    early: tuple[tuple[NDArray[np.int64], Evaluated], ...] = ()
    """Places and values of some designs for plots."""
    sown: int = 0
    """Random designs evaluated so far."""
    boxes: int = 0
    """Boxes whose bounds were computed."""
    thinned: int = 0
    swept: int = 0
    """Points of the cover when it was last thinned, and when all open boxes were last compared with
    it."""

    @property
    def work(self) -> int:
        """How much was done: designs evaluated and boxes bounded."""
        return self.tally.evaluated + self.boxes


class _Bounding:
    """A search by bounds: what stays the same, and one state, which each step replaces."""

    def __init__(self, begun: Start) -> None:
        evaluator, plan = begun.evaluator, begun.plan
        self._evaluator, self._plan = evaluator, plan
        self._batches = begun.batch_evaluator(keep_small=True)
        self._ranges = make_ranges(evaluator, begun.workers)
        self._threads = begun.workers.threads()
        names = [objective.name for objective in evaluator.objectives]
        self._tolerance, self._amount = plan.arrays_of_tolerances(names)
        self._exact = not (self._tolerance.any() or self._amount.any())
        size = evaluator.space.size
        self._most = np.inf if plan.evaluations == (size or UNLIMITED) else plan.evaluations
        self._numbered = size is not None and size < np.iinfo(np.int64).max
        self._until = NEVER
        try:
            self._state = self._resumed(begun.state) if begun.state else self._first()
        except LateError as late:
            raise EndedError(
                f"the time limit ended after {late.waited:.1f} s, before the first bounds were "
                f"computed: {HANGS}"
            ) from None

    # ------------------------------------------------------------------------------ the protocol

    def steps(self, until: float = NEVER) -> Iterator[None]:
        self._until = until
        while not self._is_done(self._state) and not (
            self._state.tally.evaluated and is_late(until)
        ):
            try:
                # The one assignment commits a step. An interruption at any place, or an error of a
                # model, leaves the state before the step. No box is ever lost.
                self._state = self._stepped(self._state)
            except LateError:
                return
            yield

    def progress(self) -> Progress:
        state = self._state
        size = self._evaluator.space.size or _BILLION
        done = size if not len(state.open) else min(int(size * self._decided(state)), size - 1)
        held = state.front
        found = max(len(state.cover), len(held.settled.index))
        done = max(done, state.tally.evaluated and 1)
        return Progress(done, size, found, kept=len(held) + KEPT, bounded=state.work)

    def state(self) -> dict[str, NDArray[Any]]:
        state = self._state
        archive = state.front.archive()
        early = [judged for _, judged in state.early]
        whole = concatenate_batches([*early, Evaluated.empty(self._evaluator)])
        places = [np.zeros((0, len(self._ranges.axes)), dtype=np.int64)]
        return {
            "boxes": np.array([state.boxes, state.sown, state.thinned, state.swept]),
            **state.open.arrays(),
            "clamped": np.array(state.clamped),
            "counted": state.counted,
            "cover": state.cover.points,
            "index": archive.index,
            "points": archive.points,
            "beside": archive.beside,
            "early": np.concatenate([*places, *(each for each, _ in state.early)]),
            "objectives": whole.objectives,
            "constrained": whole.constrained,
            "feasible": whole.feasible,
            **state.tally.arrays(),
        }

    def outcome(self) -> Outcome:
        state = self._state
        archive, constraints = state.front.archive(), len(self._evaluator.constraints)
        if self._numbered:
            places = design_places(self._ranges, archive.index)
        else:  # some were looked at twice
            archive = archive.rows(mark_first_rows(archive.beside))
            places = archive.beside[:, constraints:].astype(np.int64)
        every = np.ones(len(places), dtype=bool)
        values = archive.points * self._evaluator.signs
        judged = Evaluated(values, archive.beside[:, :constraints], every)
        return make_outcome(
            self._evaluator,
            keep_designs(self._ranges, (places, judged), state.early, self._numbered),
            archive.points,
            state.tally,
            Gap(
                float(self._tolerance.max()),
                *self._proven(state),
                state.boxes,
                self._decided(state),
                list_grounds(self._ranges),
                self._unbounded(state),
                tuple(find_missing_declarations(self._ranges)) if len(state.open) else (),
            ),
            self._numbered,
        )

    # ----------------------------------------------------------------------------- its beginnings

    def _empty(self, clamped: bool) -> _State:
        """Return the state before anything is known."""
        objectives, constraints = len(self._tolerance), len(self._evaluator.constraints)
        columns = constraints + (0 if self._numbered else len(self._ranges.axes))
        size = self._evaluator.space.size or 0
        bits = -(-size // 8) if size <= _COUNTED else 0
        return _State(
            make_whole_box(self._root(clamped), objectives),
            Cover.empty(objectives, self._threads),
            FrontBuilder.empty(objectives, columns),
            Tally.empty(constraints),
            clamped,
            np.zeros(bits, dtype=np.uint8),
        )

    def _first(self) -> _State:
        """Return the first state: the box of all designs, if one may be feasible."""
        state = self._empty(not self._exact)  # of ties each counts if nothing may be missed
        return self._opened(state, state.open)

    def _resumed(self, arrays: Mapping[str, NDArray[Any]]) -> _State:
        """Return the state that `state` gave the arrays of."""
        boxes, sown, thinned, swept = arrays["boxes"].tolist()
        empty = self._empty(bool(arrays["clamped"]))
        self._ranges(empty.open.boxes)  # makes the tables that the certificate rests on
        judged = Evaluated(arrays["objectives"], arrays["constrained"], arrays["feasible"])
        return replace(
            empty,
            open=OpenBoxes.from_arrays(arrays),
            cover=empty.cover.added(arrays["cover"]),
            front=empty.front.added(Archive(arrays["index"], arrays["points"], arrays["beside"])),
            tally=Tally.from_arrays(arrays),
            early=((arrays["early"], judged),),
            sown=sown,
            boxes=boxes,
            thinned=thinned,
            swept=swept,
            counted=arrays["counted"],
        )

    def _root(self, clamped: bool) -> Boxes:
        return self._clamped if clamped else self._ranges.whole()

    @cached_property
    def _clamped(self) -> Boxes:
        return make_box_at_best_ends(self._ranges)

    @cached_property
    def _seeds(self) -> NDArray[np.int64]:
        """The places of the random designs with which the search begins."""
        rng = np.random.default_rng(self._plan.seed)
        size = self._evaluator.space.size
        count = int(max(1, min(_SEEDS, _SEEDS if size is None else size // 20, self._most)))
        return np.column_stack([rng.integers(0, axis.count, count) for axis in self._ranges.axes])

    # --------------------------------------------------------------------------------- the search

    def _is_done(self, state: _State) -> bool:
        if state.sown < len(self._seeds):
            return False
        return not len(state.open) or state.tally.evaluated >= self._most

    def _proven(self, state: _State) -> tuple[float, dict[str, Tolerance]]:
        """Return the proven tolerance: a fraction, and one per objective if they differ."""
        ideal, cover = state.open.ideal, state.cover
        if not self._plan.tolerances:
            share = find_factor(cover, ideal, np.ones(len(self._tolerance)))
            return max(share, self._plan.tolerance), {}
        factor = max(find_factor(cover, ideal, self._tolerance, self._amount), 1.0)
        every = zip(self._evaluator.objectives, self._tolerance, self._amount, strict=True)
        found = {o.name: Tolerance(factor * float(s), factor * float(a)) for o, s, a in every}
        return (factor * float(self._tolerance.max()) if np.isfinite(factor) else np.inf), found

    def _unbounded(self, state: _State) -> tuple[str, ...]:
        """Return the objectives in which an open box may be better than any tolerance allows."""
        names = [objective.name for objective in self._evaluator.objectives]
        if not len(state.open):
            return ()
        if not len(state.cover):
            return tuple(names)
        share, amount = self._tolerance, self._amount
        if not self._plan.tolerances:
            share = np.ones(len(names))
        worse = relax_points(state.open.ideal, HUGE * share, HUGE * amount)
        open_ = (worse < state.cover.points.min(axis=0)).any(axis=0)
        return tuple(name for name, is_open in zip(names, open_, strict=True) if is_open)

    def _decided(self, state: _State) -> float:
        """Return which share of the space was evaluated or proven not to matter."""
        if not len(state.open):
            return 1.0
        left = space_fractions(self._ranges, state.open.boxes).sum()
        root = space_fractions(self._ranges, self._root(state.clamped))[0]
        # a sum of rounded shares may exceed the whole, and the rest of a large space may round to 0
        return min(max(0.0, 1.0 - float(left / root)), float(np.nextafter(1.0, 0.0)))

    def _stepped(self, state: _State) -> _State:
        """Return the state after one more step.

        A step is a part of the work before it: so slow models have their results kept often, and
        an interruption loses little. It follows the work and not a clock: a front within a
        tolerance depends on the order in which boxes are looked at.
        """
        seeds = self._seeds
        if state.sown < len(seeds):
            part = seeds[state.sown : 2 * state.sown + 1]
            state, _ = self._evaluated(state, part, None)
            state = replace(state, sown=state.sown + len(part))
        else:
            state = self._worked(state)
        if not len(state.open):  # its blocks take more memory than its designs
            state = replace(state, cover=state.cover.bare())
        return state

    def _worked(self, state: _State) -> _State:
        """Look at a batch of open boxes: drop, enumerate or halve each."""
        batch, rest = self._taken(state)
        batch = self._undominated(state.cover, batch)
        few = count_box_designs(self._ranges, batch.boxes) <= _MAX_ENUMERATED
        small = batch.rows(few)
        state = self._halved(replace(state, open=rest), batch.rows(~few))
        opened = state.open.rows(slice(len(rest), None))
        own = DesignsInBoxes(opened, np.arange(0, len(opened), _BOXES_PER_MIDDLE))
        middles = find_middles(self._ranges, opened.boxes.rows(own.rows))
        state, undefined = self._evaluated(state, middles, own)
        small = small.rows(_order_by_ideal(small.ideal))
        piece = _FIRST_PIECE
        while len(small):  # some at a time, the most promising first: they drop others
            places, box = self._enumerated(small.boxes.rows(slice(piece)))
            state, more = self._evaluated(state, places, DesignsInBoxes(small, box))
            undefined |= more
            small = self._undominated(state.cover, small.rows(slice(piece, None)))
            piece = min(2 * piece, _PIECE)
        if state.clamped and undefined:  # at another end it may have one
            root = make_whole_box(self._root(clamped=False), len(self._tolerance))
            state = replace(state, clamped=False, open=root)
        if len(state.cover) > 1.2 * state.swept:  # else a box is compared when it is taken
            still = self._undominated(state.cover, state.open)
            state = replace(state, open=still, swept=len(state.cover))
        return state

    def _halved(self, state: _State, batch: OpenBoxes) -> _State:
        """Add those halves of boxes that may hold a design for the front."""
        batch = self._measured(batch)
        variable = np.argmax(np.where(batch.boxes.level > 0, batch.widths, -1.0), axis=1)
        children, parent = halve_boxes(self._ranges, batch.boxes, variable)
        widths = batch.widths[parent]
        widths[np.arange(len(parent)), variable[parent]] /= 2
        rest = state.open
        opened = replace(batch.rows(parent), boxes=children, widths=widths)
        state = self._opened(state, replace(opened, age=opened.age + 1))
        return replace(state, open=rest.joined(state.open))

    def _enumerated(self, boxes: Boxes) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Return every design of small boxes, and of which box it is."""
        count = len(boxes.level)
        lows = range(0, count, _ENUMERATED_TOGETHER)
        tasks = ((self._ranges, boxes.rows(slice(k, k + _ENUMERATED_TOGETHER))) for k in lows)
        places, owners = zip(*self._threads.each(enumerate_designs, tasks), strict=True)
        return np.concatenate(places), np.concatenate(
            [owner + low for owner, low in zip(owners, lows, strict=True)]
        )

    def _measured(self, batch: OpenBoxes) -> OpenBoxes:
        """Return boxes with the effect of each variable, measured again for old ones."""
        old = np.flatnonzero(batch.age >= MEASURED)
        if not len(old):
            return batch

        def piece(rows: slice) -> Array:
            boxes = batch.boxes.rows(old[rows])
            return measure_variables(self._ranges, self._bounds_in_time, boxes)

        widths, age = batch.widths.copy(), batch.age.copy()
        widths[old], age[old] = np.concatenate(self._threads.rows(piece, len(old))), 0
        return replace(batch, widths=widths, age=age)

    def _bounds(self, boxes: Boxes) -> Bounds:
        """Return the bounds of boxes, a fixed number at a time."""
        parts = self._threads.rows(
            lambda rows: self._bounds_in_time(boxes.rows(rows)), len(boxes.level), MODEL_PIECE
        )
        return Bounds(*(np.concatenate(column) for column in zip(*parts, strict=True)))

    def _bounds_in_time(self, boxes: Boxes) -> Bounds:
        if is_late(self._until):
            raise LateError(0, 0.0)
        return self._ranges(boxes)

    def _taken(self, state: _State) -> tuple[OpenBoxes, OpenBoxes]:
        """Return the boxes to look at next, and the others.

        The boxes with the largest miss come first, which lowers the gap; of many, the smallest.
        """
        left = (self._most - state.tally.evaluated) / _MAX_ENUMERATED
        most = int(max(1, min(_MAX_BOXES, state.work // _WORK_PER_BOX, left)))
        boxes = state.open
        if len(boxes) <= most:
            return boxes, boxes.rows(slice(0, 0))
        first = boxes.boxes.level.sum(axis=1) if len(boxes) > _MAX_BREADTH else -boxes.miss
        order = np.argsort(first, kind="stable")
        return boxes.rows(order[:most]), boxes.rows(np.sort(order[most:]))

    def _opened(self, state: _State, new: OpenBoxes) -> _State:
        """Return the state with those new boxes open, and no others, that may hold a design."""
        bounds = self._bounds(new.boxes)
        found = replace(new, ideal=bounds.ideal, asked=make_unasked_marks(len(new)))
        found = self._undominated(state.cover, found.rows(bounds.possible))
        tolerances = self._tolerance, self._amount
        miss = count_doublings(state.cover, found.ideal, found.miss, *tolerances)
        return replace(state, open=replace(found, miss=miss), boxes=state.boxes + len(new))

    def _undominated(self, cover: Cover, boxes: OpenBoxes) -> OpenBoxes:
        """Return those boxes of which what is found does not cover the ideal."""
        if self._exact:
            covered = cover.strictly(boxes.ideal, boxes.asked)
        else:
            worse = relax_points(boxes.ideal, self._tolerance, self._amount)
            covered = cover.weakly(worse, boxes.asked)
        left = boxes.rows(~covered)
        return replace(left, asked=np.full(len(left), cover.mark, dtype=np.int32))

    def _evaluated(
        self, state: _State, places: NDArray[np.int64], held: DesignsInBoxes | None
    ) -> tuple[_State, bool]:
        """Evaluate designs; good ones go into the cover, and into the front.

        Each is of a box; seeds are of none. Then whether a design of a box has no value.
        """
        if not len(places):
            return state, False
        # the first are for plots, and without a feasible design the tally needs the others
        screens = sum(len(each) for each, _ in state.early) >= KEPT and state.tally.feasible > 0
        judged = self._batches.evaluate(
            self._ranges.points(places), state.tally.evaluated, self._until, screens
        )
        if len(judged) < len(places):
            raise LateError(0, 0.0)
        checked = self._threads.start(self._check, state, places, judged, held)
        recorded = self._threads.start(self._record, state, places, judged, screens)
        undefined = held is not None and self._has_undefined(judged)
        early = state.early
        if sum(len(each) for _, each in early) < KEPT:
            early = (*early, (places[:KEPT], judged.rows(slice(KEPT))))
        cover, thinned = self._covering(state, judged.objectives, judged.feasible)
        checked()
        front, tally, counted = recorded()
        return (
            replace(
                state,
                tally=tally,
                early=early,
                front=front,
                cover=cover,
                thinned=thinned,
                counted=counted,
            ),
            undefined,
        )

    def _check(
        self,
        state: _State,
        places: NDArray[np.int64],
        judged: Evaluated,
        held: DesignsInBoxes | None,
    ) -> None:
        """Check designs against the bounds of their boxes, and the first seeds once all are there.

        Raises
        ------
        RefutedError
            If a declaration on which bounds rest does not hold.
        """
        seed = self._plan.seed
        if held is not None:
            check_designs(self._ranges, places, judged, held, seed)
        elif state.sown + len(places) == len(self._seeds):
            all_places, all_judged = zip(*state.early, (places, judged), strict=True)
            first = np.concatenate(all_places)[:KEPT]
            values = concatenate_batches(list(all_judged)).rows(slice(KEPT))
            check_designs(self._ranges, first, values, None, seed)

    def _has_undefined(self, judged: Evaluated) -> bool:
        """Return whether a design that no constraint excludes has no value.

        A design that a constraint excludes is excluded at each other end of a held variable too.
        """
        excluded = (self._evaluator.violations(judged.constrained) > 0).any(axis=1)
        values = np.column_stack([judged.objectives, judged.constrained])
        return bool(np.isnan(values[~excluded]).any())

    def _record(
        self, state: _State, places: NDArray[np.int64], judged: Evaluated, screened: bool
    ) -> tuple[FrontBuilder, Tally, NDArray[np.uint8]]:
        """Return the front and the counts with more designs."""
        evaluator, index = self._evaluator, self._numbers(state, places)
        fresh, counted = _count_once(state.counted, index)
        own = judged.rows(fresh)
        tally = state.tally + Tally.of(
            index[fresh], own, evaluator.constraints, evaluator.domains, screened
        )
        beside = judged.constrained
        if not self._numbered:
            beside = np.column_stack([beside, places])
        archive = Archive(index, judged.objectives * evaluator.signs, beside)
        if not judged.feasible.all():
            archive = archive.rows(np.flatnonzero(judged.feasible))
        return state.front.added(archive), tally, counted

    def _covering(
        self, state: _State, objectives: Array, feasible: NDArray[np.bool_]
    ) -> tuple[Cover, int]:
        """Return the cover with more designs, and how many it held when it was last thinned."""

        def relaxed(values: Array) -> Array:
            if self._exact:
                return values
            part = self._tolerance / _THINNED, self._amount / _THINNED
            return relax_points(values, *part)

        def promising(rows: slice) -> Array:
            values = (objectives[rows] * self._evaluator.signs)[feasible[rows]]
            values = values[~state.cover.by_pivots(relaxed(values))]
            return values[find_distinct_front(values)]

        values = np.concatenate(self._threads.rows(promising, len(objectives)))
        values = values[find_distinct_front(values)]
        cover = state.cover.added(values[~state.cover.weakly(relaxed(values))])
        if len(cover) > 2 * state.thinned + 4 * _MIN_COVER:
            cover = cover.thinned()
            return cover, len(cover)
        return cover, state.thinned

    def _numbers(self, state: _State, places: NDArray[np.int64]) -> NDArray[np.int64]:
        if self._numbered:
            return design_numbers(self._ranges, places)
        return state.tally.evaluated + np.arange(len(places))


"""Begin or resume the search; see `base.Method`."""


def _order_by_ideal(ideal: Array) -> NDArray[np.intp]:
    """Return an order of boxes: first those whose ideal points are good in all objectives."""
    ranks = np.argsort(np.argsort(ideal, axis=0, kind="stable"), axis=0, kind="stable")
    return np.argsort(ranks.sum(axis=1), kind="stable")


def _count_once(
    counted: NDArray[np.uint8], index: NDArray[np.int64]
) -> tuple[NDArray[np.intp] | slice, NDArray[np.uint8]]:
    """Return the rows of designs that were not counted, each once, and all that are counted now.

    Seeds and middles of boxes are evaluated again when their box is enumerated. A count of designs
    must not exceed the space.
    """
    if not len(counted):
        return slice(None), counted
    own, rows = np.unique(index, return_index=True)
    bits = np.left_shift(1, own & 7).astype(np.uint8)
    fresh = np.flatnonzero(counted[own >> 3] & bits == 0)
    grown = counted.copy()
    np.bitwise_or.at(grown, own[fresh] >> 3, bits[fresh])
    return np.sort(rows[fresh]), grown
