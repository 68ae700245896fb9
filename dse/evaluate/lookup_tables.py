"""Tabulation: a model with few variables runs once for each of their combinations.

An enumeration gives most models the same inputs many times: an engine's clock depends on its
pipeline depth, not on the interface. `tabulate_models` stores the outputs of this model in a table,
and designs look them up. The results are equal to the last bit, because models are elementwise.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dse.evaluate.evaluator import Evaluator
from dse.evaluate.model_graph import Key, select_outputs
from dse.evaluate.space import Space
from dse.model.quantity import Array

_MIN_REUSE = 4  # designs per row of a table; with fewer, its lookups cost more than the model
_MAX_ROWS = 1_000_000
"""The maximum number of rows of a table, which bounds its memory."""
_PIECE = 1 << 16  # rows computed at once, which bounds the memory of intermediate values


@dataclass(frozen=True)
class LookupTable:
    """The outputs of one model for every combination of the variables that it depends on."""

    variables: tuple[str, ...]
    """In the space's order, the last one fastest."""
    rows: int
    """The number of combinations."""
    outputs: Mapping[str, Array]
    """By quantity name. Shape (rows,) or (scenarios, rows)."""


def combine_values(space: Space, variables: tuple[str, ...], rows: range) -> dict[str, Any]:
    """Return the columns of some combinations of some variables, and one value of each other.

    The others have no effect, but every name then has a value.
    """
    first = {n: v.from_unit(np.zeros(1)) for n, v in space.variables.items()}
    columns: dict[str, Any] = {n: v[0] for n, v in space.columns(first).items()}
    if variables:
        part = Space({n: space.variables[n] for n in variables})
        columns |= part.columns(part.from_index(np.arange(rows.start, rows.stop)))
    return columns


def tabulate_models(evaluator: Evaluator) -> dict[Key, LookupTable]:
    """Return tables for the models of a finite space for which they save time.

    Raises
    ------
    ModelError
        If a model raises.
    """
    space, model_graph = evaluator.space, evaluator.model_graph
    owners = space.quantities()
    models = {model.name: model for model in model_graph.models}
    tables: dict[Key, LookupTable] = {}
    for key in model_graph.runs(evaluator.requests()):
        used = {owners[q] for q in model_graph.upstream[key[0]] if q in owners}
        variables = tuple(n for n in space.variables if n in used)
        rows = math.prod(space.variables[n].count or 1 for n in variables)
        if rows * _MIN_REUSE > (space.size or 0) or rows * evaluator.scenarios > _MAX_ROWS:
            continue
        names = models[key[0]].outputs
        requests = [(name, dict(key[1])) for name in names]
        pieces = []
        for low in range(0, rows, _PIECE):
            piece = range(low, min(low + _PIECE, rows))
            values = model_graph.evaluate(requests, combine_values(space, variables, piece))
            shapes = ((*np.shape(value)[:-1], len(piece)) for value in values)
            pieces.append([np.broadcast_to(*pair) for pair in zip(values, shapes, strict=True)])
        outputs = (np.concatenate(column, axis=-1) for column in zip(*pieces, strict=True))
        tables[key] = LookupTable(variables, rows, dict(zip(names, outputs, strict=True)))
    return tables


def look_up_outputs(
    space: Space, tables: Mapping[Key, LookupTable], digits: Mapping[str, NDArray[np.int64]]
) -> dict[Key, Mapping[str, Any]]:
    """Return the table entries of designs that are given by the indices of their values."""
    rows: dict[tuple[str, ...], NDArray[np.int64]] = {}
    entries: dict[Key, Mapping[str, Any]] = {}
    for key, table in tables.items():
        if table.variables not in rows:
            index: Any = np.int64(0)
            for name in table.variables:
                index = index * (space.variables[name].count or 1) + digits[name]
            rows[table.variables] = np.atleast_1d(np.asarray(index, dtype=np.int64))
        entries |= select_outputs({key: table.outputs}, rows[table.variables], table.rows)
    return entries
