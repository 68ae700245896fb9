"""Axes: designs as whole numbers on axes, and how objectives are declared to move along them.

A number has one axis, and so has a choice of rows; a choice of named parts has one for each part.
A continuum is searched on a grid.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from dse.evaluate.criteria import Conditions
from dse.evaluate.evaluator import Evaluator
from dse.evaluate.space import SUBSET, Choice, Space
from dse.evaluate.table_space import TableSpace
from dse.model.quantity import Array

STEPS = 1_024
"""Steps of the grid on which a continuous variable is searched."""

Places = NDArray[np.int64]


@dataclass(frozen=True)
class Axis:
    """One way in which designs may differ.

    Parameters
    ----------
    variable : int
        Its variable, by position in the space.
    count : int
        How many places it has.
    ordered : bool
        Whether places that are near each other are alike.
    part : int or None
        Which bit of the variable's subset it is, if it is one.
    """

    variable: int
    count: int
    ordered: bool
    part: int | None = None

    def moves(self) -> list[int]:
        """Return the steps of a move: powers of two both ways, or round to each other option."""
        if not self.ordered:
            return list(range(1, self.count))
        steps = [2**k for k in range((self.count - 1).bit_length())]
        return [sign * step for step in steps for sign in (-1, 1)]


@dataclass(frozen=True)
class Axes:
    """The axes of a space."""

    space: Space

    @cached_property
    def all(self) -> tuple[Axis, ...]:
        """The axes in the order of the variables."""
        found: list[Axis] = []
        for i, variable in enumerate(self.space.variables.values()):
            if isinstance(variable, Choice) and variable.about == SUBSET:
                bits = int(np.bitwise_or.reduce(self._subsets[i]))
                parts = [bit for bit in range(bits.bit_length()) if bits >> bit & 1]
                found += [Axis(i, 2, False, part) for part in parts]
            else:
                count = STEPS + 1 if variable.count is None else variable.count
                found.append(Axis(i, count, not isinstance(variable, Choice)))
        return tuple(found)

    @cached_property
    def _subsets(self) -> dict[int, Places]:
        """For each variable that chooses parts, the bits of its options."""
        return {
            i: np.array([int(next(iter(row.values()))) for row in variable.rows.values()])
            for i, variable in enumerate(self.space.variables.values())
            if isinstance(variable, Choice) and variable.about == SUBSET
        }

    def places(self, unit: Array) -> Places:
        """Return the places of designs, given as points of the unit cube, on each axis."""
        variables = tuple(self.space.variables.values())
        found = np.empty((len(unit), len(self.all)), dtype=np.int64)
        for k, axis in enumerate(self.all):
            variable, column = variables[axis.variable], np.clip(unit[:, axis.variable], 0.0, 1.0)
            if variable.count is None:
                found[:, k] = np.round(column * STEPS)
            elif axis.part is None:
                found[:, k] = variable.place(column)
            else:
                found[:, k] = self._subsets[axis.variable][variable.place(column)] >> axis.part & 1
        return found

    def unit(self, places: Places) -> Array:
        """Return points of the unit cube for places; leave out places that are no design."""
        variables = tuple(self.space.variables.values())
        found = np.zeros((len(places), len(variables)))
        chosen = {i: np.zeros(len(places), dtype=np.int64) for i in self._subsets}
        for axis, column in zip(self.all, places.T, strict=True):
            variable = variables[axis.variable]
            if axis.part is not None:
                chosen[axis.variable] |= column << axis.part
            elif variable.count is None:
                found[:, axis.variable] = column / STEPS
            else:
                found[:, axis.variable] = variable.middle(column)
        exists = np.ones(len(places), dtype=bool)
        for i, bits in chosen.items():
            order = np.argsort(self._subsets[i])
            at = order[np.minimum(np.searchsorted(self._subsets[i][order], bits), len(order) - 1)]
            exists &= self._subsets[i][at] == bits
            found[:, i] = variables[i].middle(at)
        return found[exists]

    def columns(self, places: Places) -> tuple[Array, NDArray[np.int64]]:
        """Return coordinates, alike for designs that are alike, and which axis each belongs to.

        Different options have the same distance as the two bounds of a number.
        """
        variables = tuple(self.space.variables.values())
        columns: list[Array] = []
        owners: list[int] = []
        for k, (axis, place) in enumerate(zip(self.all, places.T, strict=True)):
            variable = variables[axis.variable]
            if axis.part is not None:
                each = [place.astype(np.float64)]
            elif not axis.ordered:
                each = [(place == option) * np.sqrt(0.5) for option in range(axis.count)]
            else:
                each = [place / STEPS if variable.count is None else variable.middle(place)]
            columns += each
            owners += [k] * len(each)
        return np.column_stack(columns), np.array(owners)

    def neighbours(self, places: Places) -> Places:
        """Return the designs one move away from any of some."""
        found = []
        for k, axis in enumerate(self.all):
            for step in axis.moves():
                moved = places.copy()
                moved[:, k] += step
                found.append(self._kept(moved, k))
        return np.unique(np.concatenate(found), axis=0) if found else places[:0]

    def twice_moved(self, places: Places, count: int, rng: np.random.Generator) -> Places:
        """Return designs two random moves away from some; up to `count`."""
        moved = places[rng.integers(0, len(places), count)]
        for _ in range(2):
            which = rng.integers(0, len(self.all), len(moved))
            drawn = rng.random(len(moved))
            for k, axis in enumerate(self.all):
                steps = np.array(axis.moves() or [0])
                rows = np.flatnonzero(which == k)
                moved[rows, k] += steps[(drawn[rows] * len(steps)).astype(np.int64)]
            for k in range(len(self.all)):
                moved = self._kept(moved, k)
        return moved

    def mixed(self, places: Places, count: int, rng: np.random.Generator) -> Places:
        """Return designs that take each axis from one of two designs, drawn for each of `count`."""
        one, other = places[rng.integers(0, len(places), (2, count))]
        mixed: Places = np.where(rng.random(one.shape) < 0.5, one, other)
        return mixed

    def _kept(self, places: Places, k: int) -> Places:
        """Return those whose place on an axis exists, options counted round."""
        axis = self.all[k]
        if not axis.ordered:
            places[:, k] %= axis.count
            return places
        return places[(places[:, k] >= 0) & (places[:, k] < axis.count)]


def reached(evaluator: Evaluator, axes: Axes, name: str, conditions: Conditions) -> Array:
    """Return how a quantity moves along each axis: 1, -1, 0 for not at all, NaN if not declared."""
    if isinstance(evaluator.space, TableSpace):  # its columns do not depend on each other
        return np.full(len(axes.all), np.nan)
    owners = {n: i for i, n in enumerate(evaluator.space.variables)}
    rows = evaluator.space.quantities()
    found = np.zeros(len(evaluator.space.variables))
    for variable, move in _moves(evaluator, rows, name, conditions):
        i = owners[variable]
        choice = isinstance(evaluator.space.variables[variable], Choice)
        known = 0.0 if move == 0 else np.nan if choice else move
        found[i] = known if found[i] in (0.0, known) else found[i] if known == 0 else np.nan
    return np.array([found[axis.variable] for axis in axes.all])


def _moves(
    evaluator: Evaluator, rows: dict[str, str], name: str, conditions: Conditions
) -> Iterator[tuple[str, float]]:
    """Yield for each way from a variable to a quantity the variable and how the quantity moves."""
    wiring = evaluator.wiring
    if name in conditions:
        return
    if name in rows:
        yield rows[name], 1.0
        return
    producer = wiring.producers.get(name)
    if producer is None:
        return
    declared = producer.monotonic.get(name, {})
    conversions = wiring.conversions[producer.name]
    for each in producer.inputs:
        move = float(declared.get(each, np.nan))
        for variable, inner in _moves(evaluator, rows, each, conditions):
            yield variable, 0.0 if 0.0 in (move, inner) else move * inner
        if conversions.get(each, (1.0, 0))[1]:  # through the clock
            for variable, _ in _moves(evaluator, rows, "clock", conditions):
                yield variable, np.nan
