"""Where a design stands: on the front, or dominated by which; what would make it feasible."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from dse.evaluate.evaluator import Evaluator
from dse.evaluate.front import scaled
from dse.evaluate.space import Choice, Points, Space
from dse.evaluate.table import TableSpace
from dse.explain.advice import Effect
from dse.explain.benefit import paying
from dse.explain.neighbours import Neighbours, judged, neighbours, numbers_of
from dse.explain.sensitivity import gain
from dse.explain.wording import value_words
from dse.model.amounts import amount
from dse.model.quantity import Array
from dse.model.values import change, listed, worded
from dse.result.record import Result

_NAMED = 3  # dominating designs that are told
_PAIRS = 100_000  # designs that differ in two variables, at most
_BATCH = 4_096
_SWAP = 1.0  # how far another option is: as far as the whole range of a number


@dataclass(frozen=True)
class Dominator:
    """A design of the front that is at least as good in everything, and better in something.

    Parameters
    ----------
    design : int
        Its number.
    effects : tuple of Effect
        What every objective is here, and there.
    """

    design: int
    effects: tuple[Effect, ...]

    def __str__(self) -> str:
        better = listed(str(e) for e in self.effects if e.better)
        return f"design {self.design}: {better}"


@dataclass(frozen=True)
class Standing:
    """Where a design stands among those of the front.

    Parameters
    ----------
    on_front : bool
        Whether it is one of them.
    dominated : int
        By how many of them it is dominated.
    by : tuple of Dominator
        The nearest of these, three at most.
    """

    on_front: bool
    dominated: int
    by: tuple[Dominator, ...]


def standing(result: Result, number: int, values: Array) -> Standing:
    """Return where a feasible design stands.

    Parameters
    ----------
    number : int
        Of the design.
    values : ndarray, shape (objectives,)
        Its objectives.
    """
    front = result.front
    on_front = number in front.designs.index
    if on_front or not len(front):
        return Standing(on_front, 0, ())
    signs = np.array([o.sign for o in result.objectives])
    mine = values * signs
    points = front.points
    rows = np.flatnonzero((points <= mine).all(axis=1) & (points < mine).any(axis=1))
    unit, _ = scaled(np.vstack([points[rows], mine]), signs)
    near = rows[np.argsort(((unit[:-1] - unit[-1]) ** 2).sum(axis=1), kind="stable")]
    return Standing(
        False,
        len(rows),
        tuple(
            Dominator(int(front.designs.index[row]), effects(result, values, points[row] * signs))
            for row in near[:_NAMED]
        ),
    )


def effects(result: Result, before: Array, after: Array) -> tuple[Effect, ...]:
    """Return what every objective is before and after."""
    return tuple(
        Effect(o.name, o.unit, float(b), float(a), float(gain(o, b, a)))
        for o, b, a in zip(result.objectives, before, after, strict=True)
    )


@dataclass(frozen=True)
class Change:
    """One variable set to another value, in words."""

    variable: str
    before: str
    after: str

    def __str__(self) -> str:
        return f"{worded(self.variable)} {change(self.before, self.after)}"


@dataclass(frozen=True)
class Mend:
    """The least change that makes an infeasible design feasible.

    Parameters
    ----------
    changes : tuple of Change
        Of one variable, or of two if one does not do.
    design : int or None
        The number of the design that results; None if it has none.
    values : tuple of (str, str)
        Its objectives, in words.
    pays : bool
        Whether it is worth building; see `dse.explain.benefit`.
    """

    changes: tuple[Change, ...]
    design: int | None
    values: tuple[tuple[str, str], ...]
    pays: bool = True

    def __str__(self) -> str:
        number = f" (design {self.design})" if self.design is not None else ""
        gives = listed(f"{worded(name)} {value}" for name, value in self.values)
        but = "" if self.pays else "; it would not be worth building"
        return f"{listed(map(str, self.changes))}{number}, with {gives}{but}"


def mends(evaluator: Evaluator, result: Result, points: Points) -> tuple[Mend, ...]:
    """Return what makes one infeasible design feasible, the least change first.

    The nearest feasible value along each variable; if there is none along any, the nearest pair of
    values of two variables. Distances are shares of a variable's range, and 1 between options.

    Parameters
    ----------
    points : Points
        The design: one.
    """
    space = evaluator.space
    near = neighbours(space, points)
    feasible = judged(evaluator, result, near.points).feasible if len(near.of) else near.of
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
    return _told(evaluator, result, points, found)


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
        feasible = np.flatnonzero(judged(evaluator, result, both).feasible)
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


def _told(evaluator: Evaluator, result: Result, points: Points, found: Points) -> tuple[Mend, ...]:
    space, quantities = evaluator.space, evaluator.wiring.quantities
    count = len(next(iter(found.values())))
    if not count:
        return ()
    own, labels = space.labels(points), space.labels(found)
    numbers = numbers_of(space, result, found)
    values = judged(evaluator, result, found).objectives
    pays, mended = paying(evaluator, values), []
    for row in range(count):
        changes = [
            Change(
                name,
                value_words(variable, own[name][0], quantities.get(name)),
                value_words(variable, labels[name][row], quantities.get(name)),
            )
            for name, variable in space.variables.items()
            if own[name][0] != labels[name][row]
        ]
        gives = tuple(
            (o.name, amount(float(v), o.unit))
            for o, v in zip(evaluator.objectives, values[row], strict=True)
        )
        number = int(numbers[row]) if numbers[row] >= 0 else None
        mended.append(Mend(tuple(changes), number, gives, bool(pays[row])))
    return tuple(mended)
