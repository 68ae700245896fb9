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

from collections.abc import Collection, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from dse.evaluate.evaluator import Evaluator
from dse.evaluate.objective import Objective
from dse.evaluate.samples import option_of
from dse.evaluate.space import Points
from dse.evaluate.target import Target
from dse.explain.benefit import benefits, benefits_of, paying
from dse.explain.neighbours import Known, evaluated, judged, neighbours, numbers_of
from dse.explain.sensitivity import GIVEN, PART, SPACE, Kind, gain
from dse.explain.wording import value_words
from dse.model.amounts import amount
from dse.model.quantity import Array
from dse.model.values import change, listed, worded
from dse.result.record import Result
from dse.study.left_out import left_out
from dse.study.study import ResolvedStudy

_SEEN = 1.01  # a smaller factor is not worth a word
_WORTH_IT = 1.05  # a smaller factor is not what to change first
_LITTLE = 1e-3  # a smaller share is not told in digits
_MOST = 1e3  # a larger factor, or an infinite one, weighs as this

__all__ = ["GIVEN", "PART", "SPACE", "Advice", "Effect", "Kind", "advice", "keeping"]


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
        return f"{worded(self.objective)} {change(*self.words)}"

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

    @property
    def price(self) -> str:
        """What there is of a price whose values are told elsewhere: more of it, or less."""
        return f"{'more' if self.after > self.before else 'less'} {worded(self.objective)}"

    @property
    def little(self) -> str:
        """By how much it changes, of what it was, for a change that the digits do not show."""
        with np.errstate(all="ignore"):
            by = abs(np.float64(self.after) - self.before) / abs(np.float64(self.before))
        more = "more" if self.after > self.before else "less"
        shown = "less than 0.1" if by < _LITTLE else f"{100 * by:.1g}"
        return f"{shown} % {more} {worded(self.objective)}"


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
        return float(_trade(np.array([[e.gain for e in self.effects]]))[0])

    def on(self, objective: str) -> Effect:
        """Return what it does to an objective."""
        return next(e for e in self.effects if e.objective == objective)

    def __str__(self) -> str:
        number = f" (design {self.design})" if self.design is not None else ""
        part = ", which the study leaves out" if self.kind == PART else ""
        to = change(self.before, self.after)
        told = effect_words(self.effects, self.objective, {self.variable})
        return f"{worded(self.variable)} {to}{number}{part}{told}"


def effect_words(effects: Sequence[Effect], first: str = "", known: Collection[str] = ()) -> str:
    """Return what a change does: what gets better, and at which price.

    A price that the digits do not show is told as a share, and only if no other is.

    Parameters
    ----------
    effects : sequence of Effect
        On every objective.
    first : str
        The objective that is told first.
    known : collection of str
        Objectives that are told elsewhere: of these no values are told.
    """
    told = [e for e in effects if e.objective not in known]
    better = sorted((e for e in told if e.better), key=lambda e: e.objective != first)
    gains = f": {listed(map(str, better))}" if better else ""
    if any(e.worse for e in effects):  # it may be the change itself that costs
        worse = listed(e.price if e.objective in known else str(e) for e in effects if e.worse)
        return f"{gains}, at the price of {worse}"
    little = listed(e.little for e in told if e.gain < 1)
    return f"{gains}, at {little}" if little else f"{gains}, at no cost in other objectives"


def advice(
    study: ResolvedStudy, result: Result, points: Points, before: Array
) -> list[tuple[Advice, ...]]:
    """Return for designs what to change: first within the space, then other parts.

    Of each variable and each objective, the value that improves this objective most, by 1 % at
    least; of those that do so equally, the one that costs least elsewhere. And for each objective
    the change of any variable that gains most for what it costs, of those that improve it, and of
    those that make it no worse. First comes what leaves every benefit of a design as it is or
    better, and of that what gains most for what it costs. What results is feasible and pays, and
    reaches the target if the design does.

    Parameters
    ----------
    points : Points
        The designs, by variable.
    before : ndarray, shape (designs, objectives)
        Their objectives.
    """
    found = _within(study.evaluator, result, points, before, study.target)
    for row, others in enumerate(_parts(study, points, before)):
        found[row] += others
    gained = benefits_of(study.evaluator)
    ordered = (sorted(each, key=lambda item: _order(item, gained)) for each in found)
    return [tuple(each) for each in ordered]


def _order(item: Advice, gained: Collection[str]) -> tuple[bool, bool, float]:
    costs = any(item.on(name).gain < 1 for name in gained)
    return item.kind != SPACE, costs, -item.trade


def keeping(items: Sequence[Advice], kind: Kind, objective: str) -> list[Advice]:
    """Return the changes worth making that leave an objective as good as it is, or better.

    Those that gain 5 % at least somewhere; the most gained for what it costs comes first.
    """
    mine = [item for item in items if item.kind == kind and item.on(objective).gain >= 1]
    worth = [item for item in mine if item.gain >= _WORTH_IT]
    return sorted(worth, key=lambda item: -item.trade)


def _within(
    evaluator: Evaluator, result: Result, points: Points, before: Array, target: Target | None
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
    gains = _gains(evaluator, before[near.of], known, target)
    for row, mine in enumerate(_split(near.of, len(before))):
        for one in _chosen(gains, near.moved, mine):
            name = names[near.moved[one]]
            variable, quantity = space.variables[name], quantities.get(name)
            found[row].append(
                Advice(
                    SPACE,
                    name,
                    value_words(variable, own[name][row], quantity),
                    value_words(variable, labels[name][one], quantity),
                    int(numbers[one]) if numbers[one] >= 0 else None,
                    evaluator.objectives[int(np.nanargmax(gains[one]))].name,
                    _effects(evaluator.objectives, before[row], known, one, gains),
                )
            )
    return found


def _chosen(gains: Array, moved: NDArray[np.int64], mine: NDArray[np.int64]) -> dict[int, None]:
    """Return which neighbours of a design are advised, each once."""
    found: dict[int, None] = {}
    for k in np.unique(moved[mine]):
        at = mine[moved[mine] == k]
        found |= {int(at[row]): None for row in _best(gains[at])}
    return found | {int(mine[row]): None for row in _trades(gains[mine])}


def _split(of: NDArray[np.int64], count: int) -> list[NDArray[np.int64]]:
    """Return for each design the positions of its neighbours."""
    order = np.argsort(of, kind="stable")
    ends = np.searchsorted(of[order], np.arange(1, count))
    return np.split(order, ends)


def _gains(evaluator: Evaluator, before: Array, known: Known, target: Target | None) -> Array:
    """Return the factors by which designs are better; NaN for those that are no advice."""
    sound = known.feasible & paying(evaluator, known.objectives)
    if target is not None:
        sound &= _reached(evaluator, known.objectives, target) | ~_reached(
            evaluator, before, target
        )
    for i, worth in benefits(evaluator):
        sound = sound & ((known.objectives[:, i] > worth) | ~(before[:, i] > worth))
    columns = [
        gain(objective, before[:, i], known.objectives[:, i])
        for i, objective in enumerate(evaluator.objectives)
    ]
    return np.where(sound[:, None], np.column_stack(columns), np.nan)


def _reached(evaluator: Evaluator, values: Array, target: Target) -> NDArray[np.bool_]:
    names = [o.name for o in evaluator.objectives]
    every = (bound.reached(values[:, names.index(bound.objective)]) for bound in target.bounds)
    return np.asarray(np.logical_and.reduce([*every, np.ones(len(values), dtype=bool)]))


def _trade(gains: Array) -> Array:
    """Return of each row the product of all factors, as a logarithm."""
    bounded = np.clip(np.nan_to_num(gains, nan=1.0, posinf=_MOST), 1 / _MOST, _MOST)
    return np.asarray(np.log(bounded).sum(axis=1))


def _best(gains: Array) -> dict[int, None]:
    """Return rows that improve an objective most, each once."""
    found: dict[int, None] = {}
    trade = _trade(gains)
    for column in np.where(np.isnan(gains), -np.inf, gains).T:
        top = column.max(initial=-np.inf)
        if top >= _SEEN:
            ties = np.flatnonzero(column >= top)
            found[int(ties[np.argmax(trade[ties])])] = None
    return found


def _trades(gains: Array) -> dict[int, None]:
    """Return for each objective the rows that pay best: of those that improve or keep it."""
    found: dict[int, None] = {}
    trade = _trade(gains)
    seen = (gains >= _WORTH_IT).any(axis=1)
    for column in gains.T:
        for kept in (column >= _WORTH_IT, (column >= 1) & seen):
            rows = np.flatnonzero(kept)
            if len(rows):
                found[int(rows[np.argmax(trade[rows])])] = None
    return found


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
    every = evaluator.space.columns(points)
    labels = evaluator.space.labels(points)
    for name, rows in left_out(study).items():
        own = {n: v for n, v in every.items() if n != option_of(name)}
        for option, values in rows.items():
            columns = own | {n: np.full(count, value) for n, value in values.items()}
            known = evaluated(evaluator, columns, count)
            gains = _gains(evaluator, before, known, study.target)
            for row in np.flatnonzero((gains >= _SEEN).any(axis=1)).tolist():
                objective = evaluator.objectives[int(np.nanargmax(gains[row]))].name
                effects = _effects(evaluator.objectives, before[row], known, row, gains)
                found[row].append(
                    Advice(PART, name, labels[name][row], option, None, objective, effects)
                )
    return found
