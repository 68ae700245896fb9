"""Axes: designs as whole numbers on axes, and the declared directions of objectives along them.

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
    """One way in which designs may differ."""

    variable: int
    """Its variable, by position in the space."""
    count: int
    """How many places it has."""
    ordered: bool
    """Whether places that are near each other are alike."""
    part: int | None = None
    """The bit of the variable's subset, if it chooses parts."""

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
        axes: list[Axis] = []
        for i, variable in enumerate(self.space.variables.values()):
            if isinstance(variable, Choice) and variable.about == SUBSET:
                bits = int(np.bitwise_or.reduce(self._subsets[i]))
                parts = [bit for bit in range(bits.bit_length()) if bits >> bit & 1]
                axes += [Axis(i, 2, False, part) for part in parts]
            else:
                count = STEPS + 1 if variable.count is None else variable.count
                axes.append(Axis(i, count, not isinstance(variable, Choice)))
        return tuple(axes)

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
        places = np.empty((len(unit), len(self.all)), dtype=np.int64)
        for k, axis in enumerate(self.all):
            variable, column = variables[axis.variable], np.clip(unit[:, axis.variable], 0.0, 1.0)
            if variable.count is None:
                places[:, k] = np.round(column * STEPS)
            elif axis.part is None:
                places[:, k] = variable.place(column)
            else:
                places[:, k] = self._subsets[axis.variable][variable.place(column)] >> axis.part & 1
        return places

    def unit(self, places: Places) -> Array:
        """Return points of the unit cube for places; leave out places that are no design."""
        variables = tuple(self.space.variables.values())
        unit = np.zeros((len(places), len(variables)))
        subsets = {i: np.zeros(len(places), dtype=np.int64) for i in self._subsets}
        for axis, column in zip(self.all, places.T, strict=True):
            variable = variables[axis.variable]
            if axis.part is not None:
                subsets[axis.variable] |= column << axis.part
            elif variable.count is None:
                unit[:, axis.variable] = column / STEPS
            else:
                unit[:, axis.variable] = variable.middle(column)
        exists = np.ones(len(places), dtype=bool)
        for i, bits in subsets.items():
            order = np.argsort(self._subsets[i])
            row = np.minimum(np.searchsorted(self._subsets[i][order], bits), len(order) - 1)
            exists &= self._subsets[i][order[row]] == bits
            unit[:, i] = variables[i].middle(order[row])
        return unit[exists]

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
                own = [place.astype(np.float64)]
            elif not axis.ordered:
                own = [(place == option) * np.sqrt(0.5) for option in range(axis.count)]
            else:
                own = [place / STEPS if variable.count is None else variable.middle(place)]
            columns += own
            owners += [k] * len(own)
        return np.column_stack(columns), np.array(owners)

    def neighbours(self, places: Places) -> Places:
        """Return the designs one move away from any of some."""
        near = []
        for k, axis in enumerate(self.all):
            for step in axis.moves():
                moved = places.copy()
                moved[:, k] += step
                near.append(self._keep_existing(moved, k))
        return np.unique(np.concatenate(near), axis=0) if near else places[:0]

    def random_neighbours(self, places: Places, count: int, rng: np.random.Generator) -> Places:
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
                moved = self._keep_existing(moved, k)
        return moved

    def mixtures(self, places: Places, count: int, rng: np.random.Generator) -> Places:
        """Return designs that take each axis from one of two designs, drawn for each of `count`."""
        one, other = places[rng.integers(0, len(places), (2, count))]
        mixed: Places = np.where(rng.random(one.shape) < 0.5, one, other)
        return mixed

    def _keep_existing(self, places: Places, k: int) -> Places:
        """Return those whose place on an axis exists, options counted round."""
        axis = self.all[k]
        if not axis.ordered:
            places[:, k] %= axis.count
            return places
        return places[(places[:, k] >= 0) & (places[:, k] < axis.count)]


def find_directions(
    evaluator: Evaluator, axes: Axes, quantity: str, conditions: Conditions
) -> Array:
    """Return how a quantity changes along each axis, as the models declare.

    1 if it grows, -1 if it falls, 0 if it stays the same, NaN if nothing is declared.
    """
    space = evaluator.space
    if isinstance(space, TableSpace):  # its columns do not depend on each other
        return np.full(len(axes.all), np.nan)
    order = {name: i for i, name in enumerate(space.variables)}
    directions = np.zeros(len(order))
    for variable, direction in _find_paths(evaluator, space.quantities(), quantity, conditions):
        i = order[variable]
        if direction != 0 and isinstance(space.variables[variable], Choice):
            direction = np.nan
        if directions[i] == 0:
            directions[i] = direction
        elif direction not in (0.0, directions[i]):
            directions[i] = np.nan
    return np.array([directions[axis.variable] for axis in axes.all])


def _find_paths(
    evaluator: Evaluator, owners: dict[str, str], quantity: str, conditions: Conditions
) -> Iterator[tuple[str, float]]:
    """Yield the variable and the direction of each path from a variable to a quantity."""
    model_graph = evaluator.model_graph
    if quantity in conditions:
        return
    if quantity in owners:
        yield owners[quantity], 1.0
        return
    producer = model_graph.producers.get(quantity)
    if producer is None:
        return
    declared = producer.monotonic.get(quantity, {})
    conversions = model_graph.conversions[producer.name]
    for name in producer.inputs:
        outer = float(declared.get(name, np.nan))
        for variable, inner in _find_paths(evaluator, owners, name, conditions):
            yield variable, 0.0 if 0.0 in (outer, inner) else outer * inner
        if conversions.get(name, (1.0, 0))[1]:  # through the clock
            for variable, _ in _find_paths(evaluator, owners, "clock", conditions):
                yield variable, np.nan
