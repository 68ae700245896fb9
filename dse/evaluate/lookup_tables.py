"""Tabulation: a model with few variables runs once for each of their combinations.

An enumeration gives most models the same inputs many times: an engine's clock depends on its
pipeline depth, not on the interface. `tabulate` stores the outputs of this model in a table, and
designs look them up. The results are equal to the last bit, because models are elementwise.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dse.evaluate.evaluator import Evaluator
from dse.evaluate.space import Choice, Space
from dse.evaluate.wiring import Key
from dse.model.quantity import Array

_MIN_REUSE = 4  # designs per row of a table; with fewer, its lookups cost more than the model
_MAX_ROWS = 1_000_000
"""The maximum number of rows of a table, which bounds its memory."""


@dataclass(frozen=True)
class Tabulated:
    """The outputs of one model for every combination of the variables that it depends on.

    Parameters
    ----------
    variables : tuple of str
        In the space's order, the last one fastest.
    outputs : mapping of str to ndarray, shape (combinations,) or (scenarios, combinations)
        By quantity name.
    """

    variables: tuple[str, ...]
    outputs: Mapping[str, Array]


class Looked(Mapping[str, Array]):
    """A model's outputs for some designs, looked up at the first use."""

    def __init__(self, table: Tabulated, rows: NDArray[np.int64]) -> None:
        self._table, self._rows = table, rows
        self._found: dict[str, Array] = {}

    def __getitem__(self, name: str) -> Array:
        if name not in self._found:
            output = self._table.outputs[name]
            self._found[name] = np.take(output, self._rows, axis=-1)
        return self._found[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._table.outputs)

    def __len__(self) -> int:
        return len(self._table.outputs)


def tabulate(evaluator: Evaluator) -> dict[Key, Tabulated]:
    """Return tables for the models of a finite space for which they save time.

    Raises
    ------
    ModelError
        If a model raises.
    """
    space = evaluator.space
    size = space.size
    if size is None:
        raise ValueError("a space with a continuous variable has no tables")
    owners = space.quantities()
    found: dict[Key, Tabulated] = {}
    for key in evaluator.wiring.runs(evaluator.requests()):
        upstream = evaluator.wiring.upstream[key[0]]
        used = {owners[q] for q in upstream if q in owners}
        variables = tuple(n for n in space.variables if n in used)
        rows = math.prod(space.variables[n].count or 1 for n in variables)
        if rows * _MIN_REUSE > size or rows * evaluator.scenarios > _MAX_ROWS:
            continue
        found[key] = Tabulated(variables, _outputs(evaluator, key, variables, rows))
    return found


def _outputs(
    evaluator: Evaluator, key: Key, variables: tuple[str, ...], rows: int
) -> dict[str, Array]:
    space = evaluator.space
    part = Space({n: space.variables[n] for n in variables})
    columns = part.columns(part.from_index(np.arange(rows))) if variables else {}
    columns |= _first_of_the_rest(space, variables)
    model = next(m for m in evaluator.wiring.models if m.name == key[0])
    conditions = dict(key[1])
    values = evaluator.wiring.evaluate([(name, conditions) for name in model.outputs], columns)
    return {
        name: np.ascontiguousarray(np.broadcast_to(value, (*np.shape(value)[:-1], rows)))
        for name, value in zip(model.outputs, values, strict=True)
    }


def _first_of_the_rest(space: Space, variables: tuple[str, ...]) -> dict[str, Any]:
    """Return one value for each variable without effect: every name then has a value."""
    rest = Space({n: v for n, v in space.variables.items() if n not in variables})
    if not rest.variables:
        return {}
    points = {
        n: v.levels()[:1] if isinstance(v, Choice) else np.asarray(v.levels()[:1], dtype=np.float64)
        for n, v in rest.variables.items()
    }
    return {name: values[0] for name, values in rest.columns(points).items()}


def look_up(
    space: Space, tables: Mapping[Key, Tabulated], digits: Mapping[str, NDArray[np.int64]]
) -> dict[Key, Looked]:
    """Return the table entries of designs that are given by the indices of their values."""
    rows: dict[tuple[str, ...], NDArray[np.int64]] = {}
    for table in tables.values():
        if table.variables not in rows:
            index: Any = np.int64(0)
            for name in table.variables:
                index = index * (space.variables[name].count or 1) + digits[name]
            rows[table.variables] = np.atleast_1d(np.asarray(index, dtype=np.int64))
    return {key: Looked(table, rows[table.variables]) for key, table in tables.items()}
