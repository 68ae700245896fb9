"""Memory: a model that costs more than to look something up is run once for equal inputs.

A search with bounds evaluates the same corners many times, because neighbouring boxes have common
limits. A 64-bit code of their bits finds the inputs, which are then compared bit by bit.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Hashable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dse.evaluate.evaluator import Evaluator
from dse.model.contract import Model
from dse.model.quantity import Array

_WORTH = 2e-6  # seconds of a row from which to look it up is quicker than to run the model
_FEW = 512  # rows from which the time per row is measured
_BYTES = 1 << 25  # of a model's memory: when it is full, all is forgotten
_FACTOR = np.uint64(0x9E3779B97F4A7C15)  # 2^64 over the golden ratio
_HALF = np.uint64(32)

Words = NDArray[np.uint64]


def remember_runs(evaluator: Evaluator) -> Evaluator:
    """Return an evaluator whose costly models remember; threads of one process may share it."""
    models = tuple(_Remembering(**vars(model)) for model in evaluator.model_graph.models)
    return replace(evaluator, model_graph=replace(evaluator.model_graph, models=models))


class _Rows:
    """Rows of numbers by their codes, which ascend; rows are in the order in which they came."""

    def __init__(self, codes: Words, rows: Array, order: NDArray[np.int64] | None = None) -> None:
        self._codes, self._rows = codes, rows
        self._order = np.arange(len(codes)) if order is None else order

    @property
    def bytes(self) -> int:
        """The memory of the rows."""
        return self._rows.nbytes

    def find(self, codes: Words) -> tuple[NDArray[np.bool_], Array]:
        """Return which codes are known, and the rows of those."""
        place = np.minimum(np.searchsorted(self._codes, codes), len(self._codes) - 1)
        known = np.asarray(self._codes[place] == codes)
        return known, self._rows[self._order[place[known]]]

    def joined(self, codes: Words, rows: Array) -> _Rows:
        """Return these rows and rows of other codes, which ascend too; each code once."""
        fresh = ~self.find(codes)[0]
        place = np.searchsorted(self._codes, codes[fresh])
        order = np.insert(self._order, place, len(self._rows) + np.arange(len(place)))
        return _Rows(
            np.insert(self._codes, place, codes[fresh]),
            np.concatenate([self._rows, rows[fresh]]),
            order,
        )


class _Memory:
    """The stored outputs of a model by its fixed inputs, with the measured time per row."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._held: dict[Hashable, _Rows] = {}
        self._pace = np.inf  # seconds

    def __reduce__(self) -> tuple[Any, ...]:
        return _Memory, ()  # elsewhere it begins empty

    @property
    def pays(self) -> bool:
        """Whether to look up is quicker than to run the model, as far as is known."""
        return self._pace > _WORTH

    def timed(self, seconds: float, rows: int) -> None:
        """Note what some rows took."""
        if rows >= _FEW:
            self._pace = min(self._pace, seconds / rows)

    def of(self, same: Hashable) -> _Rows | None:
        """Return what is known."""
        return self._held.get(same)

    def add(self, same: Hashable, codes: Words, rows: Array) -> None:
        """Add rows."""
        with self._lock:
            if sum(each.bytes for each in self._held.values()) + rows.nbytes > _BYTES:
                self._held = {}
            held = self._held.get(same)
            self._held[same] = _Rows(codes, rows) if held is None else held.joined(codes, rows)


@dataclass(frozen=True, eq=False)
class _Remembering(Model):
    """A model that is not run again for inputs that it was run for."""

    memory: _Memory = field(default_factory=_Memory)

    def __call__(self, columns: Mapping[str, Any]) -> dict[str, Array]:
        """Run the model, or look up; see `Model.__call__`."""
        varied = {n: columns[n] for n in self.inputs if n in columns and np.ndim(columns[n])}
        if not varied or not self.memory.pays:
            return super().__call__(columns)
        fixed = {n: v for n, v in columns.items() if n not in varied}
        same = tuple((n, v if isinstance(v, Hashable) else id(v)) for n, v in fixed.items())
        shape = np.broadcast_shapes(*(column.shape for column in varied.values()))
        rows = {n: np.broadcast_to(column, shape).ravel() for n, column in varied.items()}
        table = np.column_stack([row.astype(np.float64, copy=False) for row in rows.values()])
        codes, first, back = np.unique(_codes(table), return_index=True, return_inverse=True)
        given = np.zeros((len(codes), table.shape[1] + len(self.outputs)))
        left, held = np.ones(len(codes), dtype=bool), self.memory.of(same)
        if held is not None:
            known, found = held.find(codes)
            given[known], left = found, ~known
        if left.any():
            chosen = {n: row[first[left]] for n, row in rows.items()}
            began = time.perf_counter()
            values = super().__call__(fixed | chosen)
            self.memory.timed(time.perf_counter() - began, len(chosen[next(iter(chosen))]))
            own = [np.broadcast_to(values[n], left.sum()) for n in self.outputs]
            given[left] = np.column_stack([*(table[first[left]].T), *own])
            self.memory.add(same, codes[left], given[left])
        if not np.array_equal(given[back, : table.shape[1]], table, equal_nan=True):
            return super().__call__(columns)  # two inputs of one code: once in 10^19 pairs
        wanted = given[:, table.shape[1] :].T
        return {
            name: column[back].reshape(shape)
            for name, column in zip(self.outputs, wanted, strict=True)
        }


def _codes(table: Array) -> Words:
    """Return a code of each row's bits."""
    found = np.zeros(len(table), dtype=np.uint64)
    for column in np.ascontiguousarray(table.T).view(np.uint64):
        found ^= column
        found ^= found >> _HALF  # the last bits of a float are often 0
        found *= _FACTOR
        found ^= found >> _HALF
    return found
