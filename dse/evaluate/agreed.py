"""Agreement: variables of which one end is best in every objective and constraint.

If every objective and every constraint gets no worse towards the same end of a variable, no design
is better than the one that has this end and is the same otherwise. How quantities move along
variables is seen in tables of all values, or follows from what models declare
(`dse.model.declarations`), one model after the other.
"""

from __future__ import annotations

import ast
from typing import Any, TypeAlias

import numpy as np

from dse.evaluate.cells import Extremes
from dse.evaluate.conditions import Conditions, Reduction
from dse.evaluate.constraint import Constraint
from dse.evaluate.ranges import Ranges
from dse.evaluate.wiring import Key
from dse.model.contract import Model
from dse.model.quantity import Array, Resource

Moves: TypeAlias = Array
"""How a quantity moves along each variable: 1, -1, 0 for not at all, NaN if that is not known."""


def agreed(ranges: Ranges) -> dict[int, int]:
    """Return the places of variables with an end that is best for all: -1 the least, 1 the last.

    A design is no better than the same one at that end, if that has a value at all: a model may
    have none there, which no declaration tells.
    """
    moving, evaluator = _Moving(ranges), ranges.evaluator
    worse = [
        o.sign * _reduced(moving.of(o.quantity, o.conditions), moving.low(o.quantity), o.reduction)
        for o in evaluator.objectives
    ]
    every = np.array([*worse, *(moving.violation(each) for each in evaluator.constraints)])
    ends = np.where((every >= 0).all(axis=0), -1, np.where((every <= 0).all(axis=0), 1, 0))
    return {i: end for i, end in enumerate(ends.tolist()) if end}


class _Moving:
    """How quantities move, each found once."""

    def __init__(self, ranges: Ranges) -> None:
        self._ranges, self._wiring = ranges, ranges.evaluator.wiring
        self._found: dict[tuple[str, Key], Moves] = {}

    def low(self, name: str) -> float:
        """Return what a quantity is never below."""
        quantity = self._wiring.quantities[name]
        return max(quantity.low, quantity.above)

    def of(self, name: str, conditions: Conditions) -> Moves:
        """Return how a quantity moves under some conditions."""
        producer = self._wiring.producers.get(name)
        if name in conditions or producer is None:
            return self._own("" if name in conditions else name)
        relevant, key = self._wiring.relevant(producer, conditions)
        if (name, key) not in self._found:
            table = self._ranges.table(key, name)
            self._found[name, key] = (
                self._declared(producer, name, relevant) if table is None else self._tabled(table)
            )
        return self._found[name, key]

    def violation(self, constraint: Constraint) -> Moves:
        """Return how the violation of a constraint moves."""
        given, relation = constraint.conditions, constraint.relation
        if relation is None:
            moves, low = self.of(constraint.quantity, given), self.low(constraint.quantity)
            moves = _reduced(moves, low, constraint.reduction)
            return moves if constraint.upper else -moves
        left, right = (self._side(side, given) for side in (relation.left, relation.right))
        moves = (
            _both(left, -right) if not relation.relation.startswith(">") else _both(right, -left)
        )
        if relation.relation == "==":
            moves = _unknown(moves)
        return _reduced(moves, -np.inf, constraint.reduction)

    def _side(self, node: ast.expr, conditions: Conditions) -> Moves:
        """Return how a side of a relation moves; one of several terms moves any way."""
        if isinstance(node, ast.Name):
            return self.of(node.id, conditions)
        moves = self._own("")
        for each in ast.iter_child_nodes(node):
            if isinstance(each, ast.expr) and not (
                isinstance(node, ast.Call) and each is node.func
            ):
                moves = _both(moves, _unknown(self._side(each, conditions)))
        return moves

    def _own(self, name: str) -> Moves:
        """Return how a quantity moves that a variable sets, or nothing."""
        moves = np.zeros(len(self._ranges.axes))
        if name in self._ranges.owners:
            place = self._ranges.owners[name]
            axis = self._ranges.axes[place]
            moves[place] = 1.0 if axis.continuous else _along(axis.quantities()[name], 0)
        return moves

    def _tabled(self, table: Extremes) -> Moves:
        moves, count = self._own(""), len(table.variables)
        finest: tuple[Any, ...] = tuple(slice(self._ranges.axes[i].count) for i in table.variables)
        values = table.ends[0][(..., *finest)]
        for j, i in enumerate(table.variables):
            moves[i] = _along(values, j - count)
        return moves

    def _declared(self, model: Model, name: str, conditions: Conditions) -> Moves:
        moves, declared = self._own(""), model.monotonic.get(name, {})
        for each, what in model.inputs.items():
            if not isinstance(what, Resource):
                own = self._taken(model, each, conditions)
                moves = _both(moves, np.where(own == 0, 0.0, declared.get(each, np.nan) * own))
        for floor in model.lower_bounds.get(name, ()):  # which may be least at the other end
            for each in floor.inputs:
                moves = _both(moves, _unknown(self._taken(model, each, conditions)))
        return moves

    def _taken(self, model: Model, name: str, conditions: Conditions) -> Moves:
        """Return how an input moves in the unit that a model takes it in."""
        moves = self.of(name, conditions)
        through_the_clock = self._wiring.conversions[model.name].get(name, (1.0, 0))[1]
        return _both(moves, _unknown(self.of("clock", conditions))) if through_the_clock else moves


def _along(values: Array, axis: int) -> float:
    """Return how values move along an axis."""
    ordered = np.moveaxis(values, axis, -1)
    low, high = ordered[..., :-1], ordered[..., 1:]
    rises, falls = bool((high >= low).all()), bool((high <= low).all())
    return float(rises) - float(falls) if rises or falls else np.nan


def _both(one: Moves, other: Moves) -> Moves:
    """Return how something moves that moves by two ways."""
    return np.where(other == 0, one, np.where((one == 0) | (one == other), other, np.nan))


def _unknown(moves: Moves) -> Moves:
    """Return the moves of something that moves with this in a way that is not known."""
    return np.where(moves == 0, 0.0, np.nan)


def _reduced(moves: Moves, low: float, reduction: Reduction | None) -> Moves:
    """Return the moves of a reduction: each rises with its terms, a harmonic mean of positives."""
    harmonic = reduction is not None and reduction.how == "harmonic mean" and low < 0
    return _unknown(moves) if harmonic else moves
