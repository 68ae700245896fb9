"""Advice: what to change in a design, what that gives, and what it costs.

Three kinds of change are told apart by who sets the input:

* *within your space*: a variable of the study. Every value of every variable is tried, one at a
  time, and the designs that result are designs of the space.
* *another part*: what a row of a catalog sets. The rows that the study leaves out are put in the
  place of the chosen one.
* *not yours to change*: what the study is given, such as the kernel, the host and assumptions. What
  the objectives would gain there is a sensitivity, and never advice.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from dse.evaluate.evaluator import Evaluator
from dse.evaluate.objective import Objective
from dse.evaluate.space import Points
from dse.explain.neighbours import Known, evaluated, judged, neighbours, numbers_of
from dse.explain.sensitivity import GIVEN, PART, SPACE, Kind, gain
from dse.explain.words import amount, listed, plain, value_words
from dse.model.quantity import Array
from dse.model.values import change
from dse.result.record import Result
from dse.study.left_out import left_out
from dse.study.study import ResolvedStudy

_SEEN = 1.01  # a smaller factor is not worth a word
_WORTH_IT = 1.05  # a smaller factor is not what to change first
_MOST = 1e3  # a larger factor, or an infinite one, weighs as this

__all__ = ["GIVEN", "PART", "SPACE", "Advice", "Effect", "Kind", "advice", "first"]


@dataclass(frozen=True)
class Effect:
    """What a change does to one objective.

    Parameters
    ----------
    objective, unit : str
        Its name and unit.
    before, after : float
        Its value [unit].
    gain : float
        The factor by which it gets better; less than 1 if it gets worse.
    """

    objective: str
    unit: str
    before: float
    after: float
    gain: float

    def __str__(self) -> str:
        return f"{plain(self.objective)} {change(*self.words)}"

    @property
    def words(self) -> tuple[str, str]:
        """Both values for people."""
        return amount(self.before, self.unit), amount(self.after, self.unit)

    @property
    def better(self) -> bool:
        """Whether it gets better, to be seen in the digits that people are shown."""
        return self.gain > 1 and self.words[0] != self.words[1]

    @property
    def worse(self) -> bool:
        """Whether it gets worse, to be seen in the digits that people are shown."""
        return self.gain < 1 and self.words[0] != self.words[1]


@dataclass(frozen=True)
class Advice:
    """One change to a design that improves an objective and keeps every constraint.

    Parameters
    ----------
    kind : {"within your space", "another part"}
        Whether the result is a design of the space.
    variable : str
        What is changed: a variable.
    before, after : str
        What it is set to, in words.
    design : int or None
        The number of the design that results; None if it has none.
    objective : str
        The objective that gains most.
    effects : tuple of Effect
        What it does to every objective, in the study's order.
    """

    kind: Kind
    variable: str
    before: str
    after: str
    design: int | None
    objective: str
    effects: tuple[Effect, ...]

    @property
    def gain(self) -> float:
        """The factor by which `objective` gets better."""
        return next(e.gain for e in self.effects if e.objective == self.objective)

    @property
    def trade(self) -> float:
        """The product of all factors, as a logarithm: above 0 if it gains more than it costs."""
        factors = np.clip([e.gain for e in self.effects], 1 / _MOST, _MOST)
        return float(np.log(np.nan_to_num(factors, nan=1.0)).sum())

    def __str__(self) -> str:
        better = [e for e in self.effects if e.better and e.objective != self.variable]
        better.sort(key=lambda e: e.objective != self.objective)
        worse = [str(e) for e in self.effects if e.worse and e.objective != self.variable]
        number = f" (design {self.design})" if self.design is not None else ""
        part = ", which the study leaves out" if self.kind == PART else ""
        costs = any(e.worse for e in self.effects)  # it may be the change itself that costs
        price = f", at the price of {listed(worse)}" if worse else ""
        price = price if costs else ", at no cost in other objectives"
        gains = f": {listed(map(str, better))}" if better else ""
        to = change(self.before, self.after)
        return f"{plain(self.variable)} {to}{number}{part}{gains}{price}"


def advice(
    study: ResolvedStudy, result: Result, points: Points, before: Array
) -> list[tuple[Advice, ...]]:
    """Return for designs what to change: first within the space, then other parts.

    Of each variable and each objective, the value that improves this objective most, by 1 % at
    least; of those that do so equally, the one that costs least elsewhere. The most gained for what
    it costs comes first. What results is feasible, and still pays if the design does.

    Parameters
    ----------
    points : Points
        The designs, by variable.
    before : ndarray, shape (designs, objectives)
        Their objectives.
    """
    found = _within(study.evaluator, result, points, before)
    for row, others in enumerate(_parts(study, points, before)):
        found[row] += others
    return [tuple(each) for each in found]


def first(items: Sequence[Advice], kind: Kind) -> Advice | None:
    """Return what to change first: what gains most for what it costs, if it gains 5 % at least."""
    mine = [item for item in items if item.kind == kind]
    worth = [item for item in mine if item.gain >= _WORTH_IT]
    return max(worth or mine, key=lambda item: item.trade, default=None)


def _within(
    evaluator: Evaluator, result: Result, points: Points, before: Array
) -> list[list[Advice]]:
    space, quantities = evaluator.space, evaluator.wiring.quantities
    near = neighbours(space, points)
    if not len(near.of):
        return [[] for _ in before]
    known = judged(evaluator, result, near.points)
    numbers = numbers_of(space, result, near.points)
    labels, own = space.labels(near.points), space.labels(points)
    names = list(space.variables)
    found: list[list[Advice]] = [[] for _ in before]
    gains = _gains(evaluator, before[near.of], known)
    for row, mine in enumerate(_split(near.of, len(before))):
        for k, name in enumerate(names):
            at = mine[near.moved[mine] == k]
            variable, quantity = space.variables[name], quantities.get(name)
            for best, i in _best(gains[at]):
                one = at[best]
                found[row].append(
                    Advice(
                        SPACE,
                        name,
                        value_words(variable, own[name][row], quantity),
                        value_words(variable, labels[name][one], quantity),
                        int(numbers[one]) if numbers[one] >= 0 else None,
                        evaluator.objectives[i].name,
                        _effects(evaluator.objectives, before[row], known, one, gains),
                    )
                )
        found[row].sort(key=lambda item: -item.trade)
    return found


def _split(of: NDArray[np.int64], count: int) -> list[NDArray[np.int64]]:
    """Return for each design the positions of its neighbours."""
    order = np.argsort(of, kind="stable")
    ends = np.searchsorted(of[order], np.arange(1, count))
    return np.split(order, ends)


def _gains(evaluator: Evaluator, before: Array, known: Known) -> Array:
    """Return the factors by which designs are better; NaN for those that are no advice."""
    sound, columns = known.feasible, []
    for i, objective in enumerate(evaluator.objectives):
        after = known.objectives[:, i]
        columns.append(gain(objective, before[:, i], after))
        worth = worth_of(evaluator, objective)
        if worth is not None:
            sound = sound & ((after > worth) | ~(before[:, i] > worth))
    return np.where(sound[:, None], np.column_stack(columns), np.nan)


def worth_of(evaluator: Evaluator, objective: Objective) -> float | None:
    """Return above which value a maximized objective pays; None if nothing says so."""
    quantity = evaluator.wiring.quantities.get(objective.quantity)
    return quantity.worth if quantity is not None and objective.direction == "maximize" else None


def _best(gains: Array) -> list[tuple[int, int]]:
    """Return rows that improve an objective most, each once, with the objective that gains most."""
    found: dict[int, int] = {}
    if not len(gains):
        return []
    bounded = np.log(np.clip(np.nan_to_num(gains, nan=1 / _MOST), 1 / _MOST, _MOST))
    trade = bounded.sum(axis=1)
    for i in range(gains.shape[1]):
        column = np.where(np.isnan(gains[:, i]), -np.inf, gains[:, i])
        top = column.max()
        if top >= _SEEN:
            ties = np.flatnonzero(column >= top)
            row = int(ties[np.argmax(trade[ties])])
            found.setdefault(row, int(np.nanargmax(gains[row])))
    return list(found.items())


def _effects(
    objectives: Sequence[Objective], before: Array, known: Known, row: int, gains: Array
) -> tuple[Effect, ...]:
    return tuple(
        Effect(o.name, o.unit, float(b), float(a), float(g))
        for o, b, a, g in zip(objectives, before, known.objectives[row], gains[row], strict=True)
    )


def _parts(study: ResolvedStudy, points: Points, before: Array) -> list[list[Advice]]:
    """Return what rows that the study leaves out would give in the place of the chosen ones."""
    evaluator, count = study.evaluator, len(before)
    found: list[list[Advice]] = [[] for _ in range(count)]
    own = evaluator.space.columns(points)
    labels = evaluator.space.labels(points)
    for name, rows in left_out(study).items():
        for option, values in rows.items():
            columns = own | {n: np.full(count, value) for n, value in values.items()}
            known = evaluated(evaluator, columns, count)
            gains = _gains(evaluator, before, known)
            for row in np.flatnonzero((gains >= _SEEN).any(axis=1)).tolist():
                objective = evaluator.objectives[int(np.nanargmax(gains[row]))].name
                effects = _effects(evaluator.objectives, before[row], known, row, gains)
                found[row].append(
                    Advice(PART, name, labels[name][row], option, None, objective, effects)
                )
    for each in found:
        each.sort(key=lambda item: -item.trade)
    return found
