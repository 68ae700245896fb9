"""The split of a program's work for many designs at once."""

from __future__ import annotations

import functools
from typing import NamedTuple

import numpy as np

from dse.model import Array, Floats
from objectives.communication.dataflow import MAX_CANDIDATES, Dataflows
from objectives.communication.split import Moved, Split, Unit, outermost, split

_SELECTIONS = 2.0**MAX_CANDIDATES


class Work(NamedTuple):
    """The fields of :class:`Split` as arrays, one element a design.

    `anew` and `kept` have one axis more, the last one, for the fields of :class:`Moved`. `units`
    has two more, for the accelerators, 0 if a design has fewer, and the fields of :class:`Unit`.
    """

    host_instructions: Array
    accelerator_instructions: Array
    host_bytes: Array
    returned: Array
    anew: Array
    kept: Array
    call_working_set: Array
    working_set: Array
    whole_working_set: Array
    calls: Array
    callbacks: Array
    accelerators: Array
    units: Array

    def of_units(self, field: str) -> Array:
        """Return a field of :class:`Unit`, an axis more for the accelerators."""
        return self.units[..., Unit._fields.index(field)]


def work_of(splits: list[Split]) -> Work:
    """Return splits as arrays, shape (splits,)."""
    most = max(len(s.units) for s in splits)
    units = np.zeros((len(splits), most, len(Unit._fields)))
    for row, each in zip(units, splits, strict=True):
        row[: len(each.units)] = np.array(each.units).reshape(-1, row.shape[1])
    columns = [np.array([getattr(s, name) for s in splits]) for name in Work._fields[:-1]]
    return Work._make([*columns, units])


def design_work(dataflow: Dataflows, workload: Floats, selection: Floats) -> Work:
    """Return the split of each design, NaN if there is no such program or selection.

    Each program and selection is looked at once, however many designs have it.
    """
    key = np.asarray(np.asarray(workload) * _SELECTIONS + selection, dtype=np.float64)
    keys, place = np.unique(key, return_inverse=True)
    work = work_of([_one(dataflow, float(k)) for k in keys] or [_NOTHING])
    return Work(*(part[place.reshape(key.shape)] for part in work))


_NO_BYTES = Moved(np.nan, np.nan, np.nan, np.nan)
_NOTHING = Split(
    np.nan, np.nan, np.nan, np.nan, _NO_BYTES, _NO_BYTES, np.nan, np.nan, np.nan, np.nan, np.nan, ()
)


@functools.lru_cache(maxsize=1 << 16)
def _one(dataflow: Dataflows, key: float) -> Split:
    """Return the split of one program and selection; NaN if there is none."""
    workload, selection = divmod(key, _SELECTIONS)
    if not (0 <= workload < len(dataflow.programs) and selection < 2 ** len(dataflow.candidates)):
        return _NOTHING
    program = dataflow.programs[int(workload)]
    own = set(program.names[: program.functions])
    names = [name for name in dataflow.chosen(int(selection)) if name in own]
    return split(program, outermost(program, [program.position(name) for name in names]))


def product(count: Floats, cost: Floats) -> Array:
    """Return count × cost; nothing costs nothing, also if the cost is infinite."""
    return np.where(np.asarray(count) == 0.0, 0.0 * np.isnan(cost), count * np.asarray(cost))
