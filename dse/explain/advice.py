"""Advice: other designs in the place of a design, with their effects on the objectives.

There are three kinds of change, by who sets the input:

* *within your space*: a variable of the study. Each value of each variable is evaluated, one
  variable at a time. The resulting designs are in the space.
* *another part*: inputs of a catalog entry. Entries that the study leaves out replace the selected
  entry.
* *not yours to change*: inputs of the study, such as the kernel, the host and assumptions. They get
  sensitivities and no advice.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from dse.evaluate.evaluator import Evaluator
from dse.evaluate.failures import ignore_errors
from dse.evaluate.front import scaled
from dse.evaluate.samples import option_of
from dse.evaluate.space import Choice, Points, Space
from dse.evaluate.table_space import TableSpace
from dse.explain.changes import (
    Change,
    Neighbours,
    Setting,
    compare_objectives,
    describe_value,
    find_neighbours,
    find_numbers,
    list_settings,
    look_up_designs,
    trades,
)
from dse.explain.sensitivity import PART, SPACE, Kind, gain_factor
from dse.explain.targets import (
    are_beneficial,
    benefit_names,
    list_benefits,
    meets_bounds,
    values_of,
)
from dse.model.quantity import Array
from dse.model.values import amount, percent, worded
from dse.result.record import Front, Result
from dse.study.alternatives import alternatives
from dse.study.study import ResolvedStudy

_MIN_GAIN = 1.01  # a smaller factor is not listed
_WORTHWHILE = 1.05  # a smaller factor is not the first change to make
STEP = 0.1
"""The fraction by which a step makes an objective better."""
_DOMINATORS = 3  # dominating designs that are listed
_PAIRS = 100_000  # designs that differ in two variables, at most
_BATCH = 4_096
_OPTION_DISTANCE = 1.0  # between two options: as far as the whole range of a number


# Changes of a feasible design -----------------------------------------------------------------


def find_advice(
    study: ResolvedStudy, result: Result, points: Points, before: Array
) -> list[tuple[Change, ...]]:
    """Return for designs the changes to make: within the space, then other parts.

    For each variable and each objective, there is the value that improves this objective most, by
    at least 1 %. For each objective, there is also the best trade among the changes that keep it.
    Changes that keep every benefit of a design come first, then the best trades. The resulting
    designs are feasible and beneficial, and meet the target if the design does.

    Parameters
    ----------
    points : Points
        The designs, by variable.
    before : ndarray, shape (designs, objectives)
        Their objectives.
    """
    changes = _advise_within_space(study, result, points, before)
    for row, parts in enumerate(_advise_parts(study, points, before)):
        changes[row] += parts
    names = benefit_names(study.evaluator)

    def order(item: Change) -> tuple[bool, bool, float]:
        return item.kind != SPACE, any(item.on(n).gain < 1 for n in names), -item.trade

    return [tuple(sorted(mine, key=order)) for mine in changes]


def first_change(changes: Sequence[Change], kind: Kind, objective: str) -> Change | None:
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


def _advise_within_space(
    study: ResolvedStudy, result: Result, points: Points, before: Array
) -> list[list[Change]]:
    evaluator = study.evaluator
    space, quantities = evaluator.space, evaluator.model_graph.quantities
    near = find_neighbours(space, points)
    changes: list[list[Change]] = [[] for _ in before]
    if not len(near.of):
        return changes
    objectives, feasible = look_up_designs(evaluator, result, near.points)
    numbers = find_numbers(space, result, near.points)
    labels, own = space.labels(near.points), space.labels(points)
    names = list(space.variables)
    gains = _gains(study, before[near.of], objectives, feasible)
    for row in range(len(before)):
        for k in _select(gains, near.moved, np.flatnonzero(near.of == row)):
            name = names[near.moved[k]]
            variable, quantity = space.variables[name], quantities.get(name)
            values = own[name][row], labels[name][k]
            texts = (describe_value(variable, value, quantity) for value in values)
            number = int(numbers[k]) if numbers[k] >= 0 else None
            effects = compare_objectives(evaluator.objectives, before[row], objectives[k])
            changes[row].append(Change((Setting(name, *texts),), number, effects))
    return changes


def _advise_parts(study: ResolvedStudy, points: Points, before: Array) -> Iterator[list[Change]]:
    """Yield for each design the catalog entries that the study leaves out and that improve it."""
    evaluator, count = study.evaluator, len(before)
    changes: list[list[Change]] = [[] for _ in range(count)]
    columns, labels = evaluator.space.columns(points), evaluator.space.labels(points)
    for name, rows in alternatives(study).items():
        kept = {n: v for n, v in columns.items() if n != option_of(name)}
        for option, values in rows.items():
            replaced = kept | {n: np.full(count, value) for n, value in values.items()}
            other = ignore_errors(evaluator).evaluate_columns(replaced, count)
            gains = _gains(study, before, other.objectives, other.feasible)
            for row in np.flatnonzero((gains >= _MIN_GAIN).any(axis=1)).tolist():
                effects = compare_objectives(
                    evaluator.objectives, before[row], other.objectives[row]
                )
                setting = Setting(name, labels[name][row], option)
                changes[row].append(Change((setting,), None, effects, PART))
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


def _select(gains: Array, moved: NDArray[np.int64], rows: NDArray[np.int64]) -> list[int]:
    """Return the neighbours of one design that are advised, of equals the best trade."""
    selected = dict[int, None]()
    trade = trades(gains)

    def add(candidates: NDArray[np.int64], *keys: Array) -> None:
        if len(candidates):
            best = np.lexsort([-key[candidates] for key in keys])[0]
            selected[int(candidates[best])] = None

    for variable in np.unique(moved[rows]):
        mine = rows[moved[rows] == variable]
        for gain in gains.T:
            add(mine[gain[mine] >= _MIN_GAIN], trade, gain)
    worthwhile = np.asarray((gains >= _WORTHWHILE).any(axis=1))
    for gain in gains.T:
        add(rows[(gain[rows] >= 1) & worthwhile[rows]], trade)
    return list(selected)


# Repairs of an infeasible design --------------------------------------------------------------


def find_repairs(
    evaluator: Evaluator, result: Result, points: Points, before: Array
) -> tuple[Change, ...]:
    """Return the changes that make one infeasible design feasible, the least change first.

    The nearest feasible value along each variable; if there is none, the nearest pair of values of
    two variables. Distances are fractions of a variable's range, and 1 between options.

    Parameters
    ----------
    points : Points
        The design.
    before : ndarray, shape (objectives,)
        Its objectives.
    """
    space = evaluator.space
    near = find_neighbours(space, points)
    if not len(near.of):
        return ()
    _, feasible = look_up_designs(evaluator, result, near.points)
    distances = _distances(space, points, near)
    rows = []
    for k in range(len(space.variables)):
        mine = np.flatnonzero((near.moved == k) & feasible)
        if len(mine):
            rows.append(int(mine[np.argmin(distances[mine])]))
    rows.sort(key=lambda row: distances[row])
    repaired = {n: v[rows] for n, v in near.points.items()}
    if not rows and not isinstance(space, TableSpace):
        repaired = _nearest_pair(evaluator, result, near, distances)
    if not len(next(iter(repaired.values()))):
        return ()
    own = {n: v[0] for n, v in space.labels(points).items()}
    labels, numbers = space.labels(repaired), find_numbers(space, result, repaired)
    objectives, _ = look_up_designs(evaluator, result, repaired)
    return tuple(
        Change(
            list_settings(evaluator, own, {n: v[row] for n, v in labels.items()}),
            int(number) if number >= 0 else None,
            compare_objectives(evaluator.objectives, before, objectives[row]),
            beneficial=bool(are_beneficial(evaluator, objectives[row : row + 1]).all()),
        )
        for row, number in enumerate(numbers)
    )


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
) -> Points:
    """Return the nearest feasible design that differs in two variables, or none."""
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
            return {name: values[feasible[:1]] for name, values in both.items()}
    return {name: values[:0] for name, values in near.points.items()}


# Designs of the front -------------------------------------------------------------------------


@dataclass(frozen=True)
class Dominance:
    """The place of a design among the designs of the front.

    Parameters
    ----------
    on_front : bool
        Whether it is one of them.
    dominated : int
        The number of designs that dominate it.
    by : tuple of Change
        The nearest of these, three at most.
    """

    on_front: bool
    dominated: int = 0
    by: tuple[Change, ...] = ()

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
    unit, _ = scaled(np.vstack([points[rows], own]), signs)
    near = rows[np.argsort(((unit[:-1] - unit[-1]) ** 2).sum(axis=1), kind="stable")]
    changes = (_front_change(front, values, row) for row in near[:_DOMINATORS])
    return Dominance(False, len(rows), tuple(changes))


def _front_change(front: Front, before: Array, row: int) -> Change:
    effects = compare_objectives(front.objectives, before, front.points[row] * front.signs)
    return Change((), int(front.designs.index[row]), effects)


def find_steps(
    evaluator: Evaluator, result: Result, design: int, among: NDArray[np.bool_]
) -> dict[str, str]:
    """Return, by wanted improvement, the cheapest design that is a tenth better in an objective.

    The cheapest has the least sum of the fractions by which the other objectives get worse. An
    objective that is 0 or infinite has no fraction, and no step.

    Parameters
    ----------
    design : int
        The first design, on the front.
    among : ndarray of bool, shape (designs of the front,)
        The designs that count. Without a better design, there is a text only if all count.
    """
    front, signs, steps = result.front, result.front.signs, dict[str, str]()
    own = front.points[front.designs.index.get_loc(design)]
    points = np.where(among[:, None], front.points, np.inf)
    with np.errstate(all="ignore"):
        worse = (points - own) / np.abs(own)
    prices = np.nan_to_num(np.where(points <= own, 0.0, worse), nan=np.inf, posinf=np.inf)
    for i, objective in enumerate(front.objectives):
        rows = np.flatnonzero(points[:, i] <= own[i] - STEP * abs(own[i]))
        if not np.isfinite(own[i]) or own[i] == 0.0 or not (len(rows) or among.all()):
            continue
        more, most = ("more", "most") if objective.sign < 0 else ("less", "least")
        best = amount(float(front.points[:, i].min() * signs[i]), objective.unit)
        text = f"none on the front, the {most} is {best}"
        if len(rows):
            price = np.delete(prices[rows], i, axis=1).sum(axis=1)
            row = int(rows[np.lexsort((worse[rows, i], price))[0]])
            numbers = design, int(front.designs.index[row])
            settings = list_settings(evaluator, *(values_of(result, n) for n in numbers))
            text = str(replace(_front_change(front, own * signs, row), settings=settings))
        steps[f"{percent(STEP)} {more} {worded(objective.name)}"] = text
    return steps
