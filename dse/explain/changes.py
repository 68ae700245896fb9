"""Changes of a design: variables in words, effects on the objectives, and neighbouring designs."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import takewhile
from typing import Any, Literal, TypeAlias

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from dse.evaluate.criteria import Objective
from dse.evaluate.evaluator import Evaluator
from dse.evaluate.failures import ignore_errors
from dse.evaluate.space import Choice, Points, Space, Variable, is_flag
from dse.evaluate.table_space import TableSpace
from dse.explain.sensitivity import gain_factor
from dse.model.quantity import Array, Quantity
from dse.model.values import show_amount, show_change, show_number, show_percent, word_name
from dse.result.record import Result

Kind: TypeAlias = Literal["within your space", "catalog entry"]
"""The other design is in the space, or it has a catalog entry that the study leaves out."""
SPACE: Kind = "within your space"
ENTRY: Kind = "catalog entry"
SAMPLED = 64
"""The values of a continuum that are evaluated, and of any variable at least."""
_BATCH = 65_536
_NO_CHANGE = 5e-5  # as a fraction: rounds to 0.0 %
_MAX_FACTOR = 1e3  # a larger factor, or an infinite one, weighs as this
_FACTOR = 2.0  # a larger ratio is shown as a factor, a smaller one in percent


# Variables in words ---------------------------------------------------------------------------


def describe_value(variable: Variable, value: Any, quantity: Quantity | None) -> str:
    """Return one value of a variable in words.

    >>> from dse.evaluate.space import Integer
    >>> describe_value(Integer(0, 1), 1.0, None), describe_value(Integer(0, 9), 9.0, None)
    ('yes', '9')
    """
    if isinstance(variable, Choice):
        return str(value)
    unit = quantity.unit if quantity is not None else "1"
    if unit == "1" and is_flag(variable, quantity):
        return "yes" if float(value) else "no"
    return show_amount(float(value), unit)


def describe_design(
    evaluator: Evaluator, values: Mapping[str, Any], names: Iterable[str] | None = None
) -> str:
    """Return the variables of a design in words; only some if `names` are given."""
    variables, quantities = evaluator.space.variables, evaluator.model_graph.quantities
    names = [n for n in variables if n in values] if names is None else names
    return ", ".join(
        f"{word_name(n)} {describe_value(variables[n], values[n], quantities.get(n))}"
        for n in names
    )


@dataclass(frozen=True)
class Setting:
    """One variable set to another value, in words."""

    variable: str
    before: str
    after: str

    @property
    def differing(self) -> tuple[str, str]:
        """Both values; of an option of several parts, the parts that differ."""
        return _differing(self.before, self.after)

    def __str__(self) -> str:
        return f"{word_name(self.variable)} {show_change(*self.differing)}"


def _differing(before: str, after: str) -> tuple[str, str]:
    """Return the parts that differ of two lists of equal length; else both as they are.

    >>> _differing("axi-dma, engines 2, aes", "axi-dma, engines 4, aes")
    ('engines 2', '4')
    """
    parts = list(zip(before.split(", "), after.split(", "), strict=False))
    if len(parts) == 1 or before.count(", ") != after.count(", "):
        return before, after
    own, other = zip(*((a, b) for a, b in parts if a != b), strict=True)
    if len(own) > 1:
        return ", ".join(own), ", ".join(other)
    words = zip(own[0].split(" ")[:-1], other[0].split(" ")[:-1], strict=False)
    common = len([*takewhile(lambda pair: pair[0] == pair[1], words)])
    return own[0], " ".join(other[0].split(" ")[common:])


def list_settings(
    evaluator: Evaluator, before: Mapping[str, Any], after: Mapping[str, Any]
) -> tuple[Setting, ...]:
    """Return the variables that differ between two designs."""
    quantities = evaluator.model_graph.quantities
    return tuple(
        Setting(name, *(describe_value(variable, v, quantities.get(name)) for v in pair))
        for name, variable in evaluator.space.variables.items()
        if name in before and (pair := (before[name], after[name]))[0] != pair[1]
    )


# Effects on the objectives --------------------------------------------------------------------


@dataclass(frozen=True)
class Effect:
    """The effect of a change on one objective."""

    objective: str
    unit: str
    before: float
    after: float
    gain: float  # the factor by which it gets better; less than 1 if it gets worse

    def __str__(self) -> str:
        shown = f"{word_name(self.objective)} {show_amount(self.after, self.unit)}"
        return shown if np.isnan(self.before) else f"{shown} ({self.change})"

    @property
    def change(self) -> str:
        """The change as a signed percentage or a factor."""
        return show_relative_change(self.before, self.after, self.unit)


def show_relative_change(before: float, after: float, unit: str) -> str:
    """Return a change as a signed percentage or a factor.

    >>> show_relative_change(2.0, 1.5, "s"), show_relative_change(2.0, 5.0, "s")
    ('−25 %', '×2.5')
    """
    if not (np.isfinite(before) and np.isfinite(after) and before):
        return f"from {show_amount(before, unit)}"
    fraction = (after - before) / abs(before)
    if before > 0 and fraction >= _FACTOR - 1:
        return f"×{show_number(1 + fraction, 3)}"
    if abs(fraction) < _NO_CHANGE:
        return "0 %"
    if abs(fraction) > 1:  # of a negative value
        return f"from {show_amount(before, unit)}"
    return f"{'+' if fraction > 0 else '−'}{show_percent(abs(fraction))}"


def compare_objectives(
    objectives: Sequence[Objective], before: Array, after: Array
) -> tuple[Effect, ...]:
    """Return the effect of a change on every objective, signs as they are."""
    return tuple(
        Effect(o.name, o.unit, float(b), float(a), float(gain_factor(o, b, a)))
        for o, b, a in zip(objectives, before, after, strict=True)
    )


@dataclass(frozen=True)
class Change:
    """Another design in the place of a design, with the effect on every objective in order."""

    settings: tuple[Setting, ...]  # the variables that differ; empty if they are not listed
    design: int | None  # the number of the other design, if it has one
    effects: tuple[Effect, ...]
    kind: Kind = SPACE
    beneficial: bool = True

    @property
    def gain(self) -> float:
        """The largest factor by which an objective gets better."""
        return max(effect.gain for effect in self.effects)

    @property
    def trade(self) -> float:
        """The product of all factors, as a logarithm: above 0 if it gains more than it costs."""
        return float(multiply_factors(np.array([[effect.gain for effect in self.effects]]))[0])

    @property
    def effects_first(self) -> str:
        """The design, its effects as changes, and then its settings."""
        changed = [e for e in self.effects if e.before != e.after]
        effects = ", ".join(
            f"{word_name(e.objective)} {e.change}" if e.before else str(e) for e in changed
        )
        settings = ", ".join(map(str, self.settings))
        return f"design {self.design}: {effects}{f' ({settings})' if settings else ''}"

    def on(self, objective: str) -> Effect:
        """Return the effect on an objective."""
        return next(e for e in self.effects if e.objective == objective)

    def __str__(self) -> str:
        design = "" if self.design is None else f"design {self.design}"
        head = ", ".join(map(str, self.settings))
        head = f"{head} ({design})" if head and design else head or design
        effects = [str(e) for e in self.effects if e.before != e.after]
        text = f"{head}: {', '.join(effects) or 'all objectives unchanged'}"
        return text if self.beneficial else f"{text}; not beneficial"


def multiply_factors(gains: Array) -> Array:
    """Return for each row of factors their product, as a logarithm."""
    bounded = np.nan_to_num(gains, nan=1.0, posinf=_MAX_FACTOR)
    bounded = np.clip(bounded, 1 / _MAX_FACTOR, _MAX_FACTOR)
    return np.asarray(np.log(bounded).sum(axis=1))


# Neighbours -----------------------------------------------------------------------------------


@dataclass(frozen=True)
class Neighbours:
    """Designs near other designs, each with the positions of its design and of what differs."""

    points: Points
    of: NDArray[np.int64]  # the position of the design that each is a neighbour of
    moved: NDArray[np.int64]  # the position of the variable that differs


def limit_values(result: Result) -> int:
    """Return how many values a variable may have for all of them to be evaluated.

    It is the number of designs that the search evaluated, within bounds: an explanation of a slow
    model must not take longer than its search.
    """
    return int(np.clip(result.certificate.evaluated, SAMPLED, _BATCH))


def count_neighbours(space: Space, most: int) -> int:
    """Return about how many neighbours of one design `find_neighbours` gives."""
    return sum(min(v.count or SAMPLED, most) for v in space.variables.values())


def describe_sampling(space: Space, most: int) -> str:
    """Return which values `find_neighbours` evaluates, in words."""
    sampled = [
        f"{word_name(name)}: {SAMPLED} values"
        if variable.count is None
        else f"{word_name(name)}: {most:,} of {variable.count:,} values"
        for name, variable in space.variables.items()
        if variable.count is None or variable.count > most
    ]
    return f"evaluated of {', '.join(sampled)}" if sampled else "all values evaluated"


def find_neighbours(space: Space, points: Points, most: int = SAMPLED) -> Neighbours:
    """Return every design of the space that differs from one of these in one variable.

    Of a variable with more values than `most`, or a continuum, an even sample over its whole range
    and, on a grid, the next values on both sides. Of a table, its rows.
    """
    if isinstance(space, TableSpace):
        return _rows(space, points)
    count = len(next(iter(points.values())))
    pieces: list[Neighbours] = []
    for k, (name, variable) in enumerate(space.variables.items()):
        values = _along(variable, points[name], most)
        rows, columns = np.nonzero(values != points[name][:, None])
        moved = {n: v[rows] for n, v in points.items()} | {name: values[rows, columns]}
        pieces.append(Neighbours(moved, np.arange(count)[rows], np.full(len(rows), k)))
    return Neighbours(
        {n: np.concatenate([piece.points[n] for piece in pieces]) for n in space.variables},
        np.concatenate([piece.of for piece in pieces]),
        np.concatenate([piece.moved for piece in pieces]),
    )


def find_idle_variables(evaluator: Evaluator, values: Mapping[str, Any]) -> list[str]:
    """Return the variables without effect on a design.

    With all their other values, the objectives and the constraints on quantities stay the same. An
    example is the schedule period of an engine that serves calls as they come. A relation often
    keeps one of its values, so relations do not count. A table has no other values of one variable.
    """
    space = evaluator.space
    if isinstance(space, TableSpace):
        return []
    own = space.from_labels({n: np.array([values[n]]) for n in space.variables})
    near = find_neighbours(space, own)
    points = {n: np.concatenate([own[n], near.points[n]]) for n in space.variables}
    found = ignore_errors(evaluator).evaluate(points)
    limits = [k for k, c in enumerate(evaluator.constraints) if c.relation is None]
    rows = np.column_stack([found.objectives, found.constrained[:, limits]])
    same = ((rows == rows[0]) | (np.isnan(rows) & np.isnan(rows[0]))).all(axis=1)[1:]
    varied = [near.moved == k for k in range(len(space.variables))]
    return [n for n, at in zip(space.variables, varied, strict=True) if at.any() and same[at].all()]


def _along(variable: Variable, own: NDArray[np.float64], most: int) -> NDArray[np.float64]:
    """Return the values of a variable to look at, for each design (designs, values)."""
    count = variable.count
    if count is None:
        even = variable.from_unit(np.linspace(0.0, 1.0, SAMPLED))
        return np.broadcast_to(even, (len(own), SAMPLED))
    if count <= most:
        return np.broadcast_to(variable.levels(), (len(own), count))
    even = variable.at(np.linspace(0, count - 1, most).astype(np.int64))
    place = variable.position(own)
    near = [variable.at(np.clip(place + step, 0, count - 1)) for step in (-1, 1)]
    return np.column_stack([np.broadcast_to(even, (len(own), len(even))), *near])


def _rows(space: TableSpace, points: Points) -> Neighbours:
    """Return the rows of a table that differ from these in one variable."""
    every = space.from_index(np.arange(space.size))
    none = np.zeros(0, dtype=np.int64)
    rows, of, moved = [none], [none], [none]
    for row in range(len(space.to_index(points)) if space.variables else 0):
        differs = np.column_stack([every[n] != points[n][row] for n in space.variables])
        near = np.flatnonzero(differs.sum(axis=1) == 1)
        rows.append(near)
        of.append(np.full(len(near), row))
        moved.append(differs[near].argmax(axis=1))
    return Neighbours(
        space.from_index(np.concatenate(rows)), np.concatenate(of), np.concatenate(moved)
    )


def find_numbers(space: Space, result: Result, points: Points) -> NDArray[np.int64]:
    """Return the numbers of designs in a result; -1 for designs without one."""
    if result.certificate.numbered and space.size is not None:
        return space.to_index(points)
    names = list(space.variables)
    kept = result.designs[names]
    kept = kept[~kept.duplicated().to_numpy()]
    asked = pd.MultiIndex.from_frame(pd.DataFrame(space.labels(points))[names])
    rows = pd.MultiIndex.from_frame(kept).get_indexer(asked)
    return np.asarray(np.where(rows >= 0, kept.index.to_numpy()[rows], -1), dtype=np.int64)


def look_up_designs(
    evaluator: Evaluator, result: Result, points: Points
) -> tuple[Array, NDArray[np.bool_]]:
    """Return objectives and feasibility of designs: from the result, or evaluated.

    A design for which a model raises has NaN, and is infeasible.
    """
    count = len(next(iter(points.values())))
    objectives = np.full((count, len(evaluator.objectives)), np.nan)
    feasible = np.zeros(count, dtype=bool)
    todo = np.ones(count, dtype=bool)
    if result.certificate.numbered and evaluator.space.size is not None:
        numbers = pd.Index(evaluator.space.to_index(points))
        rows = result.designs.index.get_indexer(numbers)
        todo = rows < 0
        kept = result.designs.iloc[rows[~todo]]
        objectives[~todo] = kept[[o.name for o in evaluator.objectives]].to_numpy(np.float64)
        feasible[~todo] = kept["feasible"].to_numpy(bool)
    for rows in np.split(np.flatnonzero(todo), range(_BATCH, int(todo.sum()), _BATCH)):
        if len(rows):
            columns = evaluator.space.columns({n: v[rows] for n, v in points.items()})
            values = ignore_errors(evaluator).evaluate_columns(columns, len(rows))
            objectives[rows], feasible[rows] = values.objectives, values.feasible
    return objectives, feasible
