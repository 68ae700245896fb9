"""Undeclared: the moves that bounds would have to know, found without running a model.

An output that depends on few variables is tabulated; of any other, an input that may have several
values needs a declared move. A model may take seconds, and a study is to load at once: so what an
input depends on decides whether it may have several values, not what comes out.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from dse.evaluate.cells import Axis
from dse.evaluate.conditions import Conditions
from dse.evaluate.ranges import Ranges
from dse.evaluate.variables import Integer, Real
from dse.evaluate.wiring import Key
from dse.model.contract import Model
from dse.model.quantity import Resource


class Unknown(NamedTuple):
    """A move that is not declared.

    Parameters
    ----------
    sentence : str
        Of which model and output, in words.
    name : str
        The input.
    """

    sentence: str
    name: str


def undeclared(ranges: Ranges) -> list[str]:
    """Return in sentences which moves would have to be declared for bounds to be tight."""
    return list(dict.fromkeys(move.sentence for move in _unknown(ranges)))


def endless(ranges: Ranges) -> list[str]:
    """Return those of `undeclared` that a continuous variable feeds: no halving ends there."""
    continuous = {axis.name for axis in ranges.axes if axis.continuous}
    moves = _unknown(ranges)
    return list(dict.fromkeys(m.sentence for m in moves if continuous & _fed_by(ranges, m.name)))


def blind(ranges: Ranges) -> tuple[int, ...]:
    """Return the variables that feed inputs of which a model does not say how its output moves.

    All of them have to have one value before anything is known of that output.
    """
    return ranges.variables(n for move in _unknown(ranges) for n in _fed_by(ranges, move.name))


def _fed_by(ranges: Ranges, name: str) -> frozenset[str]:
    """Return what a quantity depends on; itself if no model gives it."""
    wiring = ranges.evaluator.wiring
    producer = wiring.producers.get(name)
    return frozenset({name}) if producer is None else wiring.upstream[producer.name]


def _unknown(ranges: Ranges) -> list[Unknown]:
    """Return the moves that bounds of a study lack, in the order in which they are asked for."""
    search = _Search(ranges)
    for objective in ranges.evaluator.objectives:
        search.visit(objective.quantity, objective.conditions, -1 if objective.sign > 0 else 1)
    for constraint in ranges.evaluator.constraints:
        for name in constraint.names:
            for side in (-1, 1):
                search.visit(name, constraint.conditions, side)
    return search.found


class _Search:
    """Follows outputs to what they depend on, each end of each once."""

    def __init__(self, ranges: Ranges) -> None:
        self._ranges, self._wiring = ranges, ranges.evaluator.wiring
        self._seen: set[tuple[str, Key, int]] = set()
        self._several: dict[tuple[str, Key], bool] = {}
        self.found: list[Unknown] = []

    def visit(self, name: str, conditions: Conditions, side: int) -> None:
        """Look at an end of a quantity, and at all that it is computed from."""
        producer = self._wiring.producers.get(name)
        if name in conditions or producer is None:
            return
        relevant, key = self._wiring.relevant(producer, conditions)
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
                what = f"{model.name} does not declare how '{name}' moves with '{each}'"
                self.found.append(Unknown(what, each))

    def _given(self, model: Model, conditions: Conditions) -> Iterator[str]:
        """Yield the inputs of a model that are numbers, and not left to their defaults."""
        wiring = self._wiring
        for each, declared in model.inputs.items():
            origins = (conditions, wiring.producers, wiring.constants, wiring.varied)
            if not isinstance(declared, Resource) and any(each in origin for origin in origins):
                yield each

    def _taken(self, model: Model, each: str) -> tuple[str, ...]:
        """Return what an input is read from: the clock too, if that converts it."""
        _, power = self._wiring.conversions[model.name].get(each, (1.0, 0))
        return (each, "clock") if power else (each,)

    def _varies_in(self, model: Model, each: str, conditions: Conditions) -> bool:
        return any(self._varies(taken, conditions) for taken in self._taken(model, each))

    def _varies(self, name: str, conditions: Conditions) -> bool:
        """Tell whether a quantity may have several values in the space."""
        producer = self._wiring.producers.get(name)
        if name in conditions:
            return False
        if producer is None:
            places = self._ranges.variables([name])
            return any(_sets_several(self._ranges.axes[place], name) for place in places)
        relevant, key = self._wiring.relevant(producer, conditions)
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
    """Tell whether a variable sets a quantity to several values."""
    if isinstance(axis.variable, Real | Integer):  # by the ends: there may be 2**53 values
        return axis.count > 1 and axis.variable.low != axis.variable.high
    values = axis.quantities()[name]
    return bool(values.min() != values.max())
