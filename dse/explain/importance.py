"""The importance of variables: slices through designs, along which one variable varies.

A slice shows how far one variable changes each objective if all others stay. It needs no sample of
the whole space.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from dse.explain.changes import count_neighbours, find_neighbours, limit_values, look_up_designs
from dse.explain.explanation import find_points
from dse.model.quantity import Array
from dse.result.record import Result
from dse.study.study import ResolvedStudy

_MAX_VALUES = 48  # of a variable, for a readable slice


class Slice(NamedTuple):
    """Designs that differ from a design in one variable, with the design itself."""

    variable: str
    values: NDArray[Any]  # in ascending order; options in the order of the study
    objectives: Array  # (values, objectives), NaN where a model raises
    feasible: NDArray[np.bool_]


def find_slices(
    study: ResolvedStudy, result: Result, numbers: Sequence[int]
) -> dict[int, list[Slice]]:
    """Return by number the slices through designs, a slice per variable that has other values.

    The slices need at most about as many evaluations as the search; a slow model has them for the
    first designs only.
    """
    evaluator, space = study.evaluator, study.evaluator.space
    if not len(numbers) or not space.variables:
        return {}
    most = min(limit_values(result), _MAX_VALUES)
    numbers = numbers[: max(1, result.certificate.evaluated // count_neighbours(space, most))]
    own = find_points(study, result, numbers)
    near = find_neighbours(space, own, most)
    points = {name: np.concatenate([own[name], near.points[name]]) for name in own}
    objectives, feasible = look_up_designs(evaluator, result, points)
    labels = space.labels(points)
    slices: dict[int, list[Slice]] = {}
    for row, number in enumerate(numbers):
        slices[number] = []
        for k, name in enumerate(space.variables):
            others = np.flatnonzero((near.of == row) & (near.moved == k)) + len(numbers)
            rows = np.concatenate([[row], others])
            _, first = np.unique(points[name][rows], return_index=True)  # in ascending order
            rows = rows[first]
            if len(rows) > 1:
                piece = Slice(name, labels[name][rows], objectives[rows], feasible[rows])
                slices[number].append(piece)
    return slices
