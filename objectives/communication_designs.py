"""The split of a program's work for many designs at once."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from dse.quantity import Array, Floats
from objectives.communication_dataflow import Dataflows
from objectives.communication_split import Split, outermost, split, whole


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
    """Return the split of each design; each program and selection is looked at once."""
    which, chosen = np.broadcast_arrays(
        np.asarray(workload, dtype=np.float64), np.asarray(selection, dtype=np.float64)
    )
    pairs, place = np.unique(np.stack([which.ravel(), chosen.ravel()]), axis=1, return_inverse=True)
    table = np.array([_one(dataflow, w, s) for w, s in pairs.T]).reshape(-1, len(Split._fields))
    rows = table[place.reshape(-1)]
    return Sums(*(rows[:, k].reshape(which.shape) for k in range(rows.shape[1])))


def _one(dataflow: Dataflows, workload: float, selection: float) -> Split:
    """Return the split of one program and selection; NaN where there is none."""
    known = 0 <= workload < len(dataflow.programs) and workload == np.floor(workload)
    if not (known and 0 <= selection < 2.0 ** len(dataflow.candidates)):
        return Split(*[np.nan] * len(Split._fields))
    program = dataflow.programs[int(workload)]
    own = set(program.names[: program.functions])
    names = [name for name in dataflow.chosen(int(selection)) if name in own]
    if not names:
        return whole(program)
    return split(program, outermost(program, [program.position(name) for name in names]))


def product(count: Array, cost: Floats) -> Array:
    """Return count × cost; nothing costs nothing, also where the cost is infinite."""
    return np.where(count == 0.0, 0.0 * np.isnan(cost), count * np.asarray(cost))
