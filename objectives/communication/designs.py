"""The split of a program's work for many designs at once."""

from __future__ import annotations

import functools
from typing import NamedTuple

import numpy as np

from dse.model import Array, Floats
from objectives.communication.dataflow import MAX_CANDIDATES, Dataflows
from objectives.communication.split import Split, outermost, split

_SELECTIONS = 2.0**MAX_CANDIDATES


class Sums(NamedTuple):
    """The fields of :class:`Split` as arrays, one element a design."""

    host_instructions: Array
    accelerator_instructions: Array
    host_bytes: Array
    accelerator_bytes: Array
    between_bytes: Array
    crossing_bytes: Array
    calls: Array
    accelerators: Array
    code: Array


def design_sums(dataflow: Dataflows, workload: Floats, selection: Floats) -> Sums:
    """Return the split of each design, NaN if there is no such program or selection.

    Each program and selection is looked at once, however many designs have it.
    """
    key = np.asarray(np.asarray(workload) * _SELECTIONS + selection, dtype=np.float64)
    keys, place = np.unique(key, return_inverse=True)
    table = np.array([_one(dataflow, float(k)) for k in keys]).reshape(-1, len(Split._fields))
    rows = table[place.reshape(key.shape)]
    return Sums(*(rows[..., k] for k in range(rows.shape[-1])))


@functools.lru_cache(maxsize=1 << 16)
def _one(dataflow: Dataflows, key: float) -> Split:
    """Return the split of one program and selection; NaN if there is none."""
    workload, selection = divmod(key, _SELECTIONS)
    if not (0 <= workload < len(dataflow.programs) and selection < 2 ** len(dataflow.candidates)):
        return Split(*[np.nan] * len(Split._fields))
    program = dataflow.programs[int(workload)]
    own = set(program.names[: program.functions])
    names = [name for name in dataflow.chosen(int(selection)) if name in own]
    return split(program, outermost(program, [program.position(name) for name in names]))


def product(count: Array, cost: Floats) -> Array:
    """Return count × cost; nothing costs nothing, also if the cost is infinite."""
    return np.where(count == 0.0, 0.0 * np.isnan(cost), count * np.asarray(cost))
