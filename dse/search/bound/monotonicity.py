"""Monotonicity: how quantities change along variables, and the declarations that bounds lack.

Two questions have one source, the tables of values and the declarations of models
(`dse.model.declarations`), followed from model to model.

1. Which end of a variable is best for all? If no objective and no constraint gets worse towards an
   end, no design is better than the same design at that end. The search keeps only that end.
2. Which declarations do bounds lack? An output with a table needs none. Any other output needs one
   for each input that may have several values. This question runs no model, since a study loads at
   once and a model may take seconds.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, TypeAlias

import numpy as np

from dse.evaluate.criteria import Conditions, Constraint, Reduction
from dse.evaluate.model_graph import Key
from dse.evaluate.space import Integer, Real
from dse.model.contract import Model
from dse.model.grammar import Call, Expression, Name
from dse.model.quantity import Array, Resource
from dse.search.bound.cells import Axis, Extremes
from dse.search.bound.ranges import Ranges

Moves: TypeAlias = Array
"""How a quantity moves along each variable: 1, -1, 0 for not at all, NaN if that is not known."""


def find_best_ends(ranges: Ranges) -> dict[int, int]:
    """Return the variables whose change in one direction improves all: -1 to the least, 1 the last.

    A design is no better than the same one at that end, if that has a value at all: a model may
    have none there, and no declaration reports it.
    """
    every = np.array([*find_moves(ranges)])
    ends = np.where((every >= 0).all(axis=0), -1, np.where((every <= 0).all(axis=0), 1, 0))
    return {i: end for i, end in enumerate(ends.tolist()) if end}


def find_moves(ranges: Ranges) -> Iterator[Moves]:
    """Yield how each objective, times its sign, moves, then the violation of each constraint."""
    moving, evaluator = _Moving(ranges), ranges.evaluator
    for o in evaluator.objectives:
        moves, low = moving.of(o.quantity, o.conditions), moving.low(o.quantity)
        yield o.sign * _reduced(moves, low, o.reduction)
    yield from (moving.violation(each) for each in evaluator.constraints)


class _Moving:
    """How quantities move, each found once."""

    def __init__(self, ranges: Ranges) -> None:
        self._ranges, self._model_graph = ranges, ranges.evaluator.model_graph
        self._found: dict[tuple[str, Key], Moves] = {}

    def low(self, name: str) -> float:
        """Return what a quantity is never below."""
        quantity = self._model_graph.quantities[name]
        return max(quantity.low, quantity.above)

    def of(self, name: str, conditions: Conditions) -> Moves:
        """Return how a quantity moves under some conditions."""
        producer = self._model_graph.producers.get(name)
        if name in conditions or producer is None:
            return self._own("" if name in conditions else name)
        relevant, key = self._model_graph.relevant(producer, conditions)
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
        left, right = (
            self._side(side, given) for side in (relation.sides.left, relation.sides.right)
        )
        moves = (
            _both(left, -right) if not relation.sides.sign.startswith(">") else _both(right, -left)
        )
        if relation.sides.sign == "==":
            moves = _unknown(moves)
        return _reduced(moves, -np.inf, constraint.reduction)

    def _side(self, node: Expression, conditions: Conditions) -> Moves:
        """Return how a side of a relation moves; one of several terms moves any way."""
        if isinstance(node, Name):
            return self.of(node.name, conditions)
        moves = self._own("")
        for part in node.parts if isinstance(node, Call) else ():
            moves = _both(moves, _unknown(self._side(part, conditions)))
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
        through_the_clock = self._model_graph.conversions[model.name].get(name, (1.0, 0))[1]
        return _both(moves, _unknown(self.of("clock", conditions))) if through_the_clock else moves


def _along(values: Array, axis: int) -> float:
    """Return how values move along an axis."""
    ordered = np.moveaxis(values, axis, -1)
    low, high = ordered[..., :-1], ordered[..., 1:]
    rises, falls = bool((high >= low).all()), bool((high <= low).all())
    return float(rises) - float(falls) if rises or falls else np.nan


def _both(one: Moves, other: Moves) -> Moves:
    """Return the moves of a quantity that depends on inputs in two ways."""
    return np.where(other == 0, one, np.where((one == 0) | (one == other), other, np.nan))


def _unknown(moves: Moves) -> Moves:
    """Return the moves of a quantity that depends on this one in an unknown way."""
    return np.where(moves == 0, 0.0, np.nan)


def _reduced(moves: Moves, low: float, reduction: Reduction | None) -> Moves:
    """Return the moves of a reduction of values, none below `low`."""
    return moves if reduction is None or reduction.rises(low) else _unknown(moves)


def describe_signs(signs: Mapping[str, int]) -> str:
    """Return signs of inputs as `dse.monotonic` takes them.

    >>> describe_signs({"lanes": 1, "latency": -1, "size": 0})
    '+lanes -latency =size'
    """
    return " ".join(f"{'=+-'[sign]}{name}" for name, sign in signs.items())


def find_missing_declarations(ranges: Ranges) -> list[str]:
    """Return in sentences which moves would have to be declared for bounds to be tight."""
    return list(dict.fromkeys(sentence for sentence, _ in _missing(ranges)))


def find_endless_declarations(ranges: Ranges) -> list[str]:
    """Return the missing declarations that a continuous variable feeds: halving never ends."""
    continuous = {axis.name for axis in ranges.axes if axis.continuous}
    moves = _missing(ranges)
    return list(dict.fromkeys(text for text, name in moves if continuous & _fed_by(ranges, name)))


def find_unordered_variables(ranges: Ranges) -> tuple[int, ...]:
    """Return the variables that feed inputs without a declaration in a model.

    All of them need a single value before the output has bounds.
    """
    return ranges.variables(n for _, name in _missing(ranges) for n in _fed_by(ranges, name))


def _fed_by(ranges: Ranges, name: str) -> frozenset[str]:
    """Return what a quantity depends on; itself if no model gives it."""
    model_graph = ranges.evaluator.model_graph
    producer = model_graph.producers.get(name)
    return frozenset({name}) if producer is None else model_graph.upstream[producer.name]


def _missing(ranges: Ranges) -> list[tuple[str, str]]:
    """Return the missing declarations, in the order of their use: a sentence, and the input."""
    search = _Search(ranges)
    for objective in ranges.evaluator.objectives:
        search.visit(objective.quantity, objective.conditions, -1 if objective.sign > 0 else 1)
    for constraint in ranges.evaluator.constraints:
        for name in constraint.names:
            for side in (-1, 1):
                search.visit(name, constraint.conditions, side)
    return search.found


class _Search:
    """A walk from outputs to their inputs that visits each bound of each quantity once."""

    def __init__(self, ranges: Ranges) -> None:
        self._ranges, self._model_graph = ranges, ranges.evaluator.model_graph
        self._seen: set[tuple[str, Key, int]] = set()
        self._several: dict[tuple[str, Key], bool] = {}
        self.found: list[tuple[str, str]] = []

    def visit(self, name: str, conditions: Conditions, side: int) -> None:
        """Look at an end of a quantity, and at all that it is computed from."""
        producer = self._model_graph.producers.get(name)
        if name in conditions or producer is None:
            return
        relevant, key = self._model_graph.relevant(producer, conditions)
        if (name, key, side) in self._seen:
            return
        self._seen.add((name, key, side))
        if self._ranges.is_tabled(key, name):
            return
        for model in (producer, *(producer.lower_bounds.get(name, ()) if side < 0 else ())):
            self._inputs(model, name, relevant, side)

    def _inputs(self, model: Model, name: str, conditions: Conditions, side: int) -> None:
        moves = model.monotonic.get(name, {})
        for each in self._given(model, conditions):
            move = moves.get(each)
            ends = (-1, 1) if move is None else (side * move if move else -1,)
            for taken in self._taken(model, each):
                for end in ends:
                    self.visit(taken, conditions, end)
            if move is None and self._varies_in(model, each, conditions):
                what = f"{model.name} does not declare how '{name}' changes with '{each}'"
                self.found.append((what, each))

    def _given(self, model: Model, conditions: Conditions) -> Iterator[str]:
        """Yield the inputs of a model that are numbers, and not left to their defaults."""
        model_graph = self._model_graph
        for each, declared in model.inputs.items():
            origins = (conditions, model_graph.producers, model_graph.constants, model_graph.varied)
            if not isinstance(declared, Resource) and any(each in origin for origin in origins):
                yield each

    def _taken(self, model: Model, each: str) -> tuple[str, ...]:
        """Return what an input is read from: the clock too, if that converts it."""
        _, power = self._model_graph.conversions[model.name].get(each, (1.0, 0))
        return (each, "clock") if power else (each,)

    def _varies_in(self, model: Model, each: str, conditions: Conditions) -> bool:
        return any(self._varies(taken, conditions) for taken in self._taken(model, each))

    def _varies(self, name: str, conditions: Conditions) -> bool:
        """Return whether a quantity may have several values in the space."""
        producer = self._model_graph.producers.get(name)
        if name in conditions:
            return False
        if producer is None:
            places = self._ranges.variables([name])
            return any(_sets_several(self._ranges.axes[place], name) for place in places)
        relevant, key = self._model_graph.relevant(producer, conditions)
        table = self._ranges.tables().get((key, name))
        if table is not None:  # made by now: it knows better
            return bool(table.ends[0].min() != table.ends[1].max())
        if (name, key) not in self._several:
            self._several[name, key] = any(
                self._varies_in(producer, each, relevant)
                for each in self._given(producer, relevant)
            )
        return self._several[name, key]


def _sets_several(axis: Axis, name: str) -> bool:
    """Return whether a variable sets a quantity to several values."""
    if isinstance(axis.variable, Real | Integer):  # compare the bounds: there may be 2**53 values
        return axis.count > 1 and axis.variable.low != axis.variable.high
    values = axis.quantities()[name]
    return bool(values.min() != values.max())
