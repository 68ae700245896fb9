"""Neighbours: designs that differ from a design in one variable, and their values."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from dse.evaluate.evaluator import Evaluator
from dse.evaluate.failures import ignore_errors
from dse.evaluate.space import Points, Space, Variable
from dse.evaluate.table_space import TableSpace
from dse.model.quantity import Array
from dse.result.record import Result

_MOST = 64  # values along a variable that has more, in addition to the next ones
_BATCH = 65_536


@dataclass(frozen=True)
class Neighbours:
    """Designs near other designs.

    Parameters
    ----------
    points : Points
        The designs, by variable.
    of : ndarray of int, shape (neighbours,)
        The position of the design that each is a neighbour of.
    moved : ndarray of int, shape (neighbours,)
        The position of the variable that differs.
    """

    points: Points
    of: NDArray[np.int64]
    moved: NDArray[np.int64]


def find_neighbours(space: Space, points: Points) -> Neighbours:
    """Return every design of the space that differs from one of these in one variable.

    Of a variable with very many values, or a continuum, an even sample over its whole range and, on
    a grid, the next values on both sides. Of a table, its rows.
    """
    if isinstance(space, TableSpace):
        return _rows(space, points)
    count = len(next(iter(points.values())))
    pieces: list[Neighbours] = []
    for k, (name, variable) in enumerate(space.variables.items()):
        values = _along(variable, points[name])
        rows, columns = np.nonzero(values != points[name][:, None])
        moved = {n: v[rows] for n, v in points.items()} | {name: values[rows, columns]}
        pieces.append(Neighbours(moved, np.arange(count)[rows], np.full(len(rows), k)))
    return Neighbours(
        {n: np.concatenate([piece.points[n] for piece in pieces]) for n in space.variables},
        np.concatenate([piece.of for piece in pieces]),
        np.concatenate([piece.moved for piece in pieces]),
    )


def _along(variable: Variable, own: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the values of a variable to look at, for each design (designs, values)."""
    count = variable.count
    if count is None:
        even = variable.from_unit(np.linspace(0.0, 1.0, _MOST))
        return np.broadcast_to(even, (len(own), _MOST))
    if count <= _MOST:
        return np.broadcast_to(variable.levels(), (len(own), count))
    even = variable.at(np.unique(np.linspace(0, count - 1, _MOST).astype(np.int64)))
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
        found = np.flatnonzero(differs.sum(axis=1) == 1)
        rows.append(found)
        of.append(np.full(len(found), row))
        moved.append(differs[found].argmax(axis=1))
    return Neighbours(
        space.from_index(np.concatenate(rows)), np.concatenate(of), np.concatenate(moved)
    )


@dataclass(frozen=True)
class Known:
    """What designs give.

    Parameters
    ----------
    objectives : ndarray, shape (designs, objectives)
        Signs as they are; NaN if there is none, or a model raises.
    feasible : ndarray of bool, shape (designs,)
        Whether every constraint holds and every objective has a value.
    """

    objectives: Array
    feasible: NDArray[np.bool_]


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


def look_up_designs(evaluator: Evaluator, result: Result, points: Points) -> Known:
    """Return what designs give: as the result has it, and evaluated if it has not."""
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
            some = evaluate_or_nan(evaluator, columns, len(rows))
            objectives[rows], feasible[rows] = some.objectives, some.feasible
    return Known(objectives, feasible)


def evaluate_or_nan(evaluator: Evaluator, columns: dict[str, Array], count: int) -> Known:
    """Evaluate designs given as columns; one on which a model raises has no value."""
    values = ignore_errors(evaluator).evaluate_columns(columns, count)
    return Known(values.objectives, values.feasible)
