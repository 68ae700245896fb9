"""Advice: changes of a design, with their gains and prices.

There are three kinds of change, by who sets the input:

* *within your space*: a variable of the study. Every value of every variable is tried, one at a
  time, and the designs that result are designs of the space.
* *another part*: inputs of a catalog entry. Entries that the study leaves out replace the
  selected one.
* *not yours to change*: inputs of the study, such as the kernel, the host and assumptions. Their
  gains are sensitivities, and never advice.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from dse.evaluate.evaluator import Evaluator
from dse.evaluate.samples import option_of
from dse.evaluate.space import Points
from dse.evaluate.target import Target
from dse.explain.benefit import are_beneficial, benefit_names, list_benefits
from dse.explain.neighbours import (
    Known,
    evaluate_or_nan,
    find_neighbours,
    find_numbers,
    look_up_designs,
)
from dse.explain.sensitivity import PART, SPACE, Kind, gain_factor
from dse.explain.tradeoffs import Effect, compare_objectives, effect_words
from dse.explain.wording import describe_value
from dse.model.quantity import Array
from dse.model.values import change, worded
from dse.result.record import Result
from dse.study.alternatives import alternatives
from dse.study.study import ResolvedStudy

_SEEN = 1.01  # a smaller factor is not worth a word
_WORTH_IT = 1.05  # a smaller factor is not what to change first
_MOST = 1e3  # a larger factor, or an infinite one, weighs as this


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


def find_advice(
    study: ResolvedStudy, result: Result, points: Points, before: Array
) -> list[tuple[Advice, ...]]:
    """Return for designs what to change: first within the space, then other parts.

    For each variable and each objective, there is the value that improves this objective most, by
    at least 1 %. Of equal values it is the cheapest in other objectives. For each objective, there
    is also the best trade among the changes that improve it, and among the changes that keep it.
    Changes that keep every benefit of a design come first, then the best trades. The resulting
    designs are feasible and beneficial, and meet the target if the design does.

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
    gained = benefit_names(study.evaluator)
    ordered = (sorted(each, key=lambda item: _order(item, gained)) for each in found)
    return [tuple(each) for each in ordered]


def _order(item: Advice, gained: Collection[str]) -> tuple[bool, bool, float]:
    costs = any(item.on(name).gain < 1 for name in gained)
    return item.kind != SPACE, costs, -item.trade


def select_keeping(items: Sequence[Advice], kind: Kind, objective: str) -> list[Advice]:
    """Return the changes worth making that leave an objective as good as it is, or better.

    A change gains at least 5 % somewhere; the best trade comes first.
    """
    mine = [item for item in items if item.kind == kind and item.on(objective).gain >= 1]
    worth = [item for item in mine if item.gain >= _WORTH_IT]
    return sorted(worth, key=lambda item: -item.trade)


def _within(
    evaluator: Evaluator, result: Result, points: Points, before: Array, target: Target | None
) -> list[list[Advice]]:
    space, quantities = evaluator.space, evaluator.wiring.quantities
    near = find_neighbours(space, points)
    if not len(near.of):
        return [[] for _ in before]
    known = look_up_designs(evaluator, result, near.points)
    numbers = find_numbers(space, result, near.points)
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
                    describe_value(variable, own[name][row], quantity),
                    describe_value(variable, labels[name][one], quantity),
                    int(numbers[one]) if numbers[one] >= 0 else None,
                    evaluator.objectives[int(np.nanargmax(gains[one]))].name,
                    compare_objectives(evaluator.objectives, before[row], known.objectives[one]),
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
    """Return the factors by which designs are better; NaN for designs that are no advice."""
    sound = known.feasible & are_beneficial(evaluator, known.objectives)
    if target is not None:
        sound &= _reached(evaluator, known.objectives, target) | ~_reached(
            evaluator, before, target
        )
    for i, worth in list_benefits(evaluator):
        sound = sound & ((known.objectives[:, i] > worth) | ~(before[:, i] > worth))
    columns = [
        gain_factor(objective, before[:, i], known.objectives[:, i])
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
    """Return for each objective the best trades among rows that improve or keep it."""
    found: dict[int, None] = {}
    trade = _trade(gains)
    seen = (gains >= _WORTH_IT).any(axis=1)
    for column in gains.T:
        for kept in (column >= _WORTH_IT, (column >= 1) & seen):
            rows = np.flatnonzero(kept)
            if len(rows):
                found[int(rows[np.argmax(trade[rows])])] = None
    return found


def _parts(study: ResolvedStudy, points: Points, before: Array) -> list[list[Advice]]:
    """Return what rows that the study leaves out would give in the place of the chosen ones."""
    evaluator, count = study.evaluator, len(before)
    found: list[list[Advice]] = [[] for _ in range(count)]
    every = evaluator.space.columns(points)
    labels = evaluator.space.labels(points)
    for name, rows in alternatives(study).items():
        own = {n: v for n, v in every.items() if n != option_of(name)}
        for option, values in rows.items():
            columns = own | {n: np.full(count, value) for n, value in values.items()}
            known = evaluate_or_nan(evaluator, columns, count)
            gains = _gains(evaluator, before, known, study.target)
            for row in np.flatnonzero((gains >= _SEEN).any(axis=1)).tolist():
                objective = evaluator.objectives[int(np.nanargmax(gains[row]))].name
                effects = compare_objectives(
                    evaluator.objectives, before[row], known.objectives[row]
                )
                found[row].append(
                    Advice(PART, name, labels[name][row], option, None, objective, effects)
                )
    return found
