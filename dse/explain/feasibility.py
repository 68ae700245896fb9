"""Feasibility: the least change that makes a design feasible; designs that do not pay anyway."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from dse.evaluate.evaluator import Evaluator
from dse.evaluate.failures import ignore_errors
from dse.evaluate.space import Choice, Points, Space
from dse.evaluate.table_space import TableSpace
from dse.explain.benefit import are_beneficial, describe_missing_benefit
from dse.explain.neighbours import Neighbours, find_neighbours, find_numbers, look_up_designs
from dse.explain.wording import describe_value
from dse.model.amounts import amount
from dse.model.quantity import Array
from dse.model.values import change, listed, worded
from dse.result.record import Result
from dse.search.outcome import Outcome

_PAIRS = 100_000  # designs that differ in two variables, at most
_BATCH = 4_096
_SWAP = 1.0  # how far another option is: as far as the whole range of a number


@dataclass(frozen=True)
class Setting:
    """One variable set to another value, in words."""

    variable: str
    before: str
    after: str

    def __str__(self) -> str:
        return f"{worded(self.variable)} {change(self.before, self.after)}"


@dataclass(frozen=True)
class Repair:
    """The least change that makes an infeasible design feasible.

    Parameters
    ----------
    changes : tuple of Setting
        Of one variable, or of two if one does not do.
    design : int or None
        The number of the design that results; None if it has none.
    values : tuple of (str, str)
        Its objectives, in words.
    pays : bool
        Whether it is beneficial; see `dse.explain.benefit`.
    """

    changes: tuple[Setting, ...]
    design: int | None
    values: tuple[tuple[str, str], ...]
    pays: bool = True

    def __str__(self) -> str:
        number = f" (design {self.design})" if self.design is not None else ""
        gives = listed(f"{worded(name)} {value}" for name, value in self.values)
        but = "" if self.pays else "; it would not be beneficial"
        return f"{listed(map(str, self.changes))}{number}, with {gives}{but}"


def find_repairs(evaluator: Evaluator, result: Result, points: Points) -> tuple[Repair, ...]:
    """Return what makes one infeasible design feasible, the least change first.

    The nearest feasible value along each variable; if there is none along any, the nearest pair of
    values of two variables. Distances are shares of a variable's range, and 1 between options.

    Parameters
    ----------
    points : Points
        The design: one.
    """
    space = evaluator.space
    near = find_neighbours(space, points)
    feasible = look_up_designs(evaluator, result, near.points).feasible if len(near.of) else near.of
    far = _distances(space, points, near)
    rows = []
    for k in range(len(space.variables)):
        mine = np.flatnonzero((near.moved == k) & np.asarray(feasible, dtype=bool))
        if len(mine):
            rows.append(int(mine[np.argmin(far[mine])]))
    rows.sort(key=lambda row: far[row])
    found = {n: v[rows] for n, v in near.points.items()}
    if not rows and not isinstance(space, TableSpace):
        found = _pair(evaluator, result, near, far)
    return _describe_repairs(evaluator, result, points, found)


def _distances(space: Space, points: Points, near: Neighbours) -> Array:
    """Return how far each neighbour is from the design along the variable that differs."""
    far = np.full(len(near.of), _SWAP)
    for k, (name, variable) in enumerate(space.variables.items()):
        mine = near.moved == k
        if not isinstance(variable, Choice) and mine.any():
            there = variable.to_unit(near.points[name][mine])
            far[mine] = np.abs(there - variable.to_unit(points[name][:1])[0])
    return far


def _pair(evaluator: Evaluator, result: Result, near: Neighbours, far: Array) -> Points:
    """Return the nearest feasible design that differs in two variables, or none."""
    first, second = np.triu_indices(len(near.of), 1)
    other = near.moved[first] != near.moved[second]
    first, second = first[other], second[other]
    order = np.argsort(far[first] + far[second], kind="stable")[:_PAIRS]
    for start in range(0, len(order), _BATCH):
        some = order[start : start + _BATCH]
        both = _joined(evaluator.space, near, first[some], second[some])
        feasible = np.flatnonzero(look_up_designs(evaluator, result, both).feasible)
        if len(feasible):
            return {name: values[feasible[:1]] for name, values in both.items()}
    return {name: values[:0] for name, values in near.points.items()}


def _joined(
    space: Space, near: Neighbours, first: NDArray[np.int64], second: NDArray[np.int64]
) -> Points:
    """Return designs with the changes of two neighbours each."""
    found: Points = {}
    for k, name in enumerate(space.variables):
        values = near.points[name]
        found[name] = np.where(near.moved[second] == k, values[second], values[first])
    return found


def _describe_repairs(
    evaluator: Evaluator, result: Result, points: Points, found: Points
) -> tuple[Repair, ...]:
    space, quantities = evaluator.space, evaluator.wiring.quantities
    count = len(next(iter(found.values())))
    if not count:
        return ()
    own, labels = space.labels(points), space.labels(found)
    numbers = find_numbers(space, result, found)
    values = look_up_designs(evaluator, result, found).objectives
    pays, repairs = are_beneficial(evaluator, values), []
    for row in range(count):
        changes = [
            Setting(
                name,
                describe_value(variable, own[name][0], quantities.get(name)),
                describe_value(variable, labels[name][row], quantities.get(name)),
            )
            for name, variable in space.variables.items()
            if own[name][0] != labels[name][row]
        ]
        gives = tuple(
            (o.name, amount(float(v), o.unit))
            for o, v in zip(evaluator.objectives, values[row], strict=True)
        )
        number = int(numbers[row]) if numbers[row] >= 0 else None
        repairs.append(Repair(tuple(changes), number, gives, bool(pays[row])))
    return tuple(repairs)


def find_unprofitable(evaluator: Evaluator, outcome: Outcome) -> dict[int, str]:
    """Return the values of designs that a looser constraint admits and that are not beneficial.

    Parameters
    ----------
    evaluator : Evaluator
        Of the study.
    outcome : Outcome
        Of a search that found nothing feasible.
    """
    tally = outcome.tally
    asked = np.unique([*tally.admitted.tolist(), tally.nearest])
    if outcome.numbered and evaluator.space.size is not None:
        numbers = asked[asked >= 0]
        points = evaluator.space.from_index(numbers)
        values = ignore_errors(evaluator).evaluate(points).objectives
    else:
        kept = np.isin(outcome.numbers, asked)
        numbers, values = outcome.numbers[kept], outcome.judged.objectives[kept]
    told = (
        (int(n), describe_missing_benefit(evaluator, v))
        for n, v in zip(numbers, values, strict=True)
    )
    return {number: words for number, words in told if words}
