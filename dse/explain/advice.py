"""Advice: other designs in the place of a design, with their effects on the objectives.

Advice names a design or a catalog entry that exists and that models evaluated:

* *within your space*: each value of each variable is evaluated, one variable at a time. If a
  variable has too many values, the text says how many were evaluated.
* *catalog entry*: entries that the study leaves out replace the selected entry.

A factor on an input that no option gives is a sensitivity, and no advice.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from dse.evaluate.evaluator import Evaluator
from dse.evaluate.failures import ignore_errors
from dse.evaluate.front import scale_front
from dse.evaluate.samples import option_column
from dse.evaluate.space import Choice, Points, Space
from dse.evaluate.table_space import TableSpace
from dse.explain.benefit import are_beneficial, benefit_names, list_benefits
from dse.explain.changes import (
    ENTRY,
    SPACE,
    Change,
    Kind,
    Neighbours,
    Setting,
    compare_objectives,
    count_neighbours,
    describe_sampling,
    find_neighbours,
    find_numbers,
    limit_values,
    list_settings,
    look_up_designs,
    multiply_factors,
)
from dse.explain.sensitivity import gain_factor
from dse.explain.targets import design_values, meets_bounds
from dse.model.quantity import Array
from dse.model.values import show_amount, show_percent, word_name
from dse.result.record import Front, Result
from dse.study.alternatives import list_alternatives
from dse.study.study import ResolvedStudy

_MIN_GAIN = 1.01  # a smaller factor is not listed
_WORTHWHILE = 1.05  # a smaller factor is not the first change to make
STEP = 0.1
"""The fraction by which a step makes an objective better."""
_DOMINATORS = 3  # dominating designs that are listed
_PAIRS = 100_000  # designs that differ in two variables, at most
_BATCH = 4_096
_BLOCK = 2**18  # neighbours that are in memory, about
_OPTION_DISTANCE = 1.0  # between two options: as far as the whole range of a number


# Changes of a feasible design -----------------------------------------------------------------


def find_advice(
    study: ResolvedStudy, result: Result, points: Points, before: Array
) -> list[tuple[Change, ...]]:
    """Return for designs the changes to make: within the space, then other catalog entries.

    For each variable and each objective, there is the value, and the other entry, that improves
    this objective most, by at least 1 %. For each objective, there is also the best trade among the
    changes that keep it. Changes that keep every benefit of a design come first, then the best
    trades. The resulting designs are feasible and beneficial, and meet the target if the design
    does.

    `before` are the objectives of the designs, of shape (designs, objectives).
    """
    changes, most = list[list[Change]](), limit_values(result)
    size = max(1, _BLOCK // max(1, count_neighbours(study.evaluator.space, most)))
    for start in range(0, len(before), size):
        block = {name: values[start : start + size] for name, values in points.items()}
        changes += _advise_within_space(study, result, block, before[start : start + size], most)
    for row, entries in enumerate(_advise_entries(study, points, before)):
        changes[row] += entries
    names = benefit_names(study.evaluator)

    def order(item: Change) -> tuple[bool, bool, float]:
        return item.kind != SPACE, any(item.on(n).gain < 1 for n in names), -item.trade

    return [tuple(sorted(mine, key=order)) for mine in changes]


def best_trade(changes: Sequence[Change], kind: Kind, objective: str) -> Change | None:
    """Return the best trade that keeps an objective and gains more than it costs; None if none.

    It improves some objective by at least 5 %.
    """
    worthwhile = [
        item
        for item in changes
        if item.kind == kind
        and item.on(objective).gain >= 1
        and item.gain >= _WORTHWHILE
        and item.trade > 0
    ]
    return max(worthwhile, key=lambda item: item.trade, default=None)


def describe_no_change(
    study: ResolvedStudy, result: Result, changes: Sequence[Change], before: Array
) -> str:
    """Return the objectives that no other value of one variable improves; empty if there is none.

    `changes` are the advice for a feasible design, and `before` are its objectives.
    """
    evaluator = study.evaluator
    own = [change for change in changes if change.kind == SPACE]
    names = [
        word_name(o.name)
        for o in evaluator.objectives
        if not any(change.on(o.name).gain >= _MIN_GAIN for change in own)
    ]
    if not names or isinstance(evaluator.space, TableSpace):
        return ""
    sampling = describe_sampling(evaluator.space, limit_values(result))
    bounds = study.target.bounds if study.target is not None else ()
    which = "feasible and beneficial" if list_benefits(evaluator) else "feasible"
    if bounds and meets_bounds(evaluator.objectives, before[None], bounds).all():
        which += ", target-meeting"
    better = f"{show_percent(_MIN_GAIN - 1)} better in {' or '.join(names)}"
    return f"no {which} design with one other value is {better} ({sampling})"


def _advise_within_space(
    study: ResolvedStudy, result: Result, points: Points, before: Array, most: int
) -> list[list[Change]]:
    evaluator = study.evaluator
    space = evaluator.space
    near = find_neighbours(space, points, most)
    changes: list[list[Change]] = [[] for _ in before]
    if not len(near.of):
        return changes
    objectives, feasible = look_up_designs(evaluator, result, near.points)
    gains = _gains(study, before[near.of], objectives, feasible)
    rows = (np.flatnonzero(near.of == row) for row in range(len(before)))
    best = np.array([k for mine in rows for k in mine[_select(gains[mine], near.moved[mine])]], int)
    selected = {name: values[best] for name, values in near.points.items()}
    numbers, labels = find_numbers(space, result, selected), space.labels(selected)
    own = space.labels(points)
    for i, (k, row) in enumerate(zip(best, near.of[best], strict=True)):
        ends = ({n: values[j] for n, values in of.items()} for of, j in ((own, row), (labels, i)))
        number = int(numbers[i]) if numbers[i] >= 0 else None
        effects = compare_objectives(evaluator.objectives, before[row], objectives[k])
        changes[row].append(Change(list_settings(evaluator, *ends), number, effects))
    return changes


def _advise_entries(study: ResolvedStudy, points: Points, before: Array) -> Iterator[list[Change]]:
    """Yield for each design the catalog entries that the study leaves out and that improve it."""
    evaluator, count = study.evaluator, len(before)
    changes: list[list[Change]] = [[] for _ in range(count)]
    columns, labels = evaluator.space.columns(points), evaluator.space.labels(points)
    for name, rows in list_alternatives(study).items():
        options = list(rows)
        replaced = {
            n: np.tile(v, len(rows)) for n, v in columns.items() if n != option_column(name)
        }
        for n in rows[options[0]]:
            replaced[n] = np.repeat([values[n] for values in rows.values()], count)
        other = ignore_errors(evaluator).evaluate_columns(replaced, count * len(rows))
        gains = _gains(study, np.tile(before, (len(rows), 1)), other.objectives, other.feasible)
        for row in range(count):
            after, mine = other.objectives[row::count], gains[row::count]
            for k in _select(mine, np.zeros(len(rows), dtype=np.int64)):
                effects = compare_objectives(evaluator.objectives, before[row], after[k])
                setting = Setting(name, labels[name][row], options[k])
                changes[row].append(Change((setting,), None, effects, ENTRY))
    yield from changes


def _gains(study: ResolvedStudy, before: Array, after: Array, feasible: NDArray[np.bool_]) -> Array:
    """Return the factors by which designs are better; NaN for designs that are no advice."""
    evaluator = study.evaluator
    sound = feasible & are_beneficial(evaluator, after)
    if study.target is not None:
        objectives, bounds = evaluator.objectives, study.target.bounds
        meets, met = (meets_bounds(objectives, values, bounds) for values in (after, before))
        sound &= meets | ~met
    for i, break_even in list_benefits(evaluator):
        sound &= (after[:, i] > break_even) | ~(before[:, i] > break_even)
    factors = [
        gain_factor(objective, before[:, i], after[:, i])
        for i, objective in enumerate(evaluator.objectives)
    ]
    return np.where(sound[:, None], np.column_stack(factors), np.nan)


def _select(gains: Array, moved: NDArray[np.int64]) -> list[int]:
    """Return which neighbours of one design are advised, of equals the best trade."""
    selected = dict[int, None]()
    trade, rows = multiply_factors(gains), np.arange(len(gains))

    def add(candidates: NDArray[np.int64], *keys: Array) -> None:
        if len(candidates):
            best = np.lexsort([-key[candidates] for key in keys])[0]
            selected[int(candidates[best])] = None

    for variable in np.unique(moved):
        mine = rows[moved == variable]
        for gain in gains.T:
            add(mine[gain[mine] >= _MIN_GAIN], trade, gain)
    worthwhile = np.asarray((gains >= _WORTHWHILE).any(axis=1))
    for gain in gains.T:
        add(rows[(gain >= 1) & worthwhile], trade)
    return list(selected)


# Repairs of an infeasible design --------------------------------------------------------------


def find_repairs(
    evaluator: Evaluator, result: Result, points: Points, before: Array
) -> tuple[tuple[Change, ...], str]:
    """Return the changes that make one infeasible design feasible, the least change first.

    If there is none, the text lists the evaluated designs.

    The nearest feasible value along each variable; if there is none, the nearest pair of values of
    two variables. Distances are fractions of a variable's range, and 1 between options.

    `before` are the objectives of the design.
    """
    space = evaluator.space
    most = limit_values(result)
    near = find_neighbours(space, points, most)
    if not len(near.of):
        return (), "no design differs in one variable"
    _, feasible = look_up_designs(evaluator, result, near.points)
    distances = _distances(space, points, near)
    rows = []
    for k in range(len(space.variables)):
        mine = np.flatnonzero((near.moved == k) & feasible)
        if len(mine):
            rows.append(int(mine[np.argmin(distances[mine])]))
    rows.sort(key=lambda row: distances[row])
    repaired = {n: v[rows] for n, v in near.points.items()}
    none = f"no other value of one variable ({describe_sampling(space, most)})"
    if not rows and not isinstance(space, TableSpace):
        few = find_neighbours(space, points)
        repaired, pairs = _nearest_pair(evaluator, result, few, _distances(space, points, few))
        none += f", and none of {pairs:,} pairs of values"
    if not len(next(iter(repaired.values()))):
        return (), none
    own = {n: v[0] for n, v in space.labels(points).items()}
    labels, numbers = space.labels(repaired), find_numbers(space, result, repaired)
    objectives, _ = look_up_designs(evaluator, result, repaired)
    changes = (
        Change(
            list_settings(evaluator, own, {n: v[row] for n, v in labels.items()}),
            int(number) if number >= 0 else None,
            compare_objectives(evaluator.objectives, before, objectives[row]),
            beneficial=bool(are_beneficial(evaluator, objectives[row : row + 1]).all()),
        )
        for row, number in enumerate(numbers)
    )
    return tuple(changes), ""


def _distances(space: Space, points: Points, near: Neighbours) -> Array:
    """Return the distance of each neighbour from the design, along the variable that differs."""
    distances = np.full(len(near.of), _OPTION_DISTANCE)
    for k, (name, variable) in enumerate(space.variables.items()):
        mine = near.moved == k
        if not isinstance(variable, Choice) and mine.any():
            there = variable.to_unit(near.points[name][mine])
            distances[mine] = np.abs(there - variable.to_unit(points[name][:1])[0])
    return distances


def _nearest_pair(
    evaluator: Evaluator, result: Result, near: Neighbours, distances: Array
) -> tuple[Points, int]:
    """Return the nearest feasible design that differs in two variables, if any; and the pairs."""
    first, second = np.triu_indices(len(near.of), 1)
    other = near.moved[first] != near.moved[second]
    first, second = first[other], second[other]
    order = np.argsort(distances[first] + distances[second], kind="stable")[:_PAIRS]
    for start in range(0, len(order), _BATCH):
        one, two = (rows[order[start : start + _BATCH]] for rows in (first, second))
        both = {
            name: np.where(near.moved[two] == k, near.points[name][two], near.points[name][one])
            for k, name in enumerate(evaluator.space.variables)
        }
        feasible = np.flatnonzero(look_up_designs(evaluator, result, both)[1])
        if len(feasible):
            return {name: values[feasible[:1]] for name, values in both.items()}, len(order)
    return {name: values[:0] for name, values in near.points.items()}, len(order)


# Designs of the front -------------------------------------------------------------------------


@dataclass(frozen=True)
class Dominance:
    """The place of a design among the designs of the front."""

    on_front: bool
    dominated: int = 0  # the number of designs that dominate it
    by: tuple[Change, ...] = ()  # the nearest of these, three at most

    def __str__(self) -> str:
        if self.on_front:
            return "yes"
        if not self.dominated:
            return "no, but no design of the front dominates it"
        more = f" and {self.dominated - len(self.by):,} more" * (self.dominated > len(self.by))
        return f"no, dominated by {'; '.join(map(str, self.by))}{more}"


def compare_with_front(result: Result, number: int, values: Array) -> Dominance:
    """Return the place of a feasible design with these objectives."""
    front = result.front
    if number in front.designs.index or not len(front):
        return Dominance(number in front.designs.index)
    signs, points = front.signs, front.points
    own = values * signs
    rows = np.flatnonzero((points <= own).all(axis=1) & (points < own).any(axis=1))
    unit, _ = scale_front(np.vstack([points[rows], own]), signs)
    near = rows[np.argsort(((unit[:-1] - unit[-1]) ** 2).sum(axis=1), kind="stable")]
    changes = (_front_change(front, values, row) for row in near[:_DOMINATORS])
    return Dominance(False, len(rows), tuple(changes))


def _front_change(front: Front, before: Array, row: int) -> Change:
    effects = compare_objectives(front.objectives, before, front.points[row] * front.signs)
    return Change((), int(front.designs.index[row]), effects)


def find_steps(
    evaluator: Evaluator, result: Result, design: int, among: NDArray[np.bool_]
) -> dict[str, str]:
    """Return, by wanted improvement, the design with the lowest price that is a tenth better.

    The price is the loss per gain: the sum of the fractions by which objectives get worse over the
    sum of those by which they get better. Of equal prices, the smaller change is first. The gain
    of an objective that is 0 or infinite has no fraction, and there is no step for it. The designs
    `among` the front count. Without a better design, there is a text only if all count.
    """
    front, signs, steps = result.front, result.front.signs, dict[str, str]()
    own = front.points[front.designs.index.get_loc(design)]
    points = np.where(among[:, None], front.points, np.inf)
    known = np.isfinite(own) & (own != 0.0)
    with np.errstate(all="ignore"):
        worse = (points - own) / np.abs(own)
        losses = np.where(points > own, worse, 0.0).sum(axis=1)
        gains = np.where((points < own) & known, -worse, 0.0).sum(axis=1)
        prices = losses / gains
    for i, objective in enumerate(front.objectives):
        if not known[i]:
            continue
        rows = np.flatnonzero(points[:, i] <= own[i] - STEP * abs(own[i]))
        if not (len(rows) or among.all()):
            continue
        more = "more" if objective.sign < 0 else "less"
        best = show_amount(float(front.points[:, i].min() * signs[i]), objective.unit)
        text = f"no design on the front, the best is {best}"
        if len(rows):
            row = int(rows[np.lexsort((gains[rows], prices[rows]))[0]])
            numbers = design, int(front.designs.index[row])
            settings = list_settings(evaluator, *(design_values(result, n) for n in numbers))
            change = replace(_front_change(front, own * signs, row), settings=settings)
            text = change.effects_first
        steps[f"at least {show_percent(STEP)} {more} {word_name(objective.name)}"] = text
    return steps
