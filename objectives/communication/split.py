"""The work of the accelerators and of the host, if some calling contexts are accelerated.

M. A. Kim, S. A. Edwards, "Computation vs. Memory Systems: Pinning Down Accelerator Bottlenecks",
2010, section III.D: communication is local, inside an accelerator, or global, over the shared
medium. Each accelerated function has an accelerator, which does everything that it calls as well.
"""

from __future__ import annotations

import functools
from collections.abc import Iterable, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from dse.model import Array, Floats
from objectives.communication.dataflow import MAX_CANDIDATES, Dataflow, Dataflows, callbacks

_ROUNDING = 1e-9  # of a function all of whose work is in the one call of an accelerator


class Moved(NamedTuple):
    """Bytes that accelerators read and write, by the way that they take."""

    inside: float
    """Read in the call that wrote or fetched them, or in the store that kept them."""
    between: float
    """From a call of an accelerator to one of another; if nothing is kept, also to its own."""
    back: float
    """Sent back so that a later call of the same accelerator can fetch them."""
    crossing: float
    """From the host to an accelerator, or back."""


class Unit(NamedTuple):
    """One accelerator."""

    instructions: float
    waiting: float
    """Of these, so many that no parallel hardware shortens."""
    code: float
    """Instructions of the code that it holds; a function in two accelerators counts twice."""


class Split(NamedTuple):
    """A program's work by where it is done; bytes are counted at their reader, each once."""

    host_instructions: float
    accelerator_instructions: float
    host_bytes: float
    """Written and read on the host."""
    returned: float
    """Written by accelerators and read on the host: once for each function that reads it."""
    anew: Moved
    """The data that moves if each call of an accelerator fetches its data."""
    kept: Moved
    """The data that moves if accelerators keep data until it is written again."""
    call_working_set: float
    """Bytes that the largest call of each accelerator touches, summed."""
    working_set: float
    """Bytes that each accelerator touches in the run, summed."""
    whole_working_set: float
    """Bytes that the program touches."""
    calls: float
    """Of the accelerators, and from them: each callback to the host is one as well."""
    callbacks: float
    """Of these, calls from inside of functions that live above and stay on the host."""
    units: tuple[Unit, ...]

    @property
    def accelerators(self) -> float:
        """How many there are."""
        return float(len(self.units))


def outermost(dataflow: Dataflow, functions: Iterable[int]) -> tuple[int, ...]:
    """Return the contexts of these functions that are below no other of them.

    Parameters
    ----------
    dataflow : Dataflow
        The program.
    functions : iterable of int
        Positions in `dataflow.names`.

    Returns
    -------
    tuple of int
        Positions in `dataflow.tree`, in order.
    """
    tree, chosen = dataflow.tree, set(functions)
    inside: list[bool] = []
    found: list[int] = []
    for node, (parent, function) in enumerate(
        zip(tree.parent.tolist(), tree.function.tolist(), strict=True)
    ):
        below = parent >= 0 and inside[parent]
        inside.append(below or function in chosen)
        if inside[node] and not below:
            found.append(node)
    return tuple(found)


@functools.lru_cache(maxsize=1 << 16)
def split(dataflow: Dataflow, contexts: tuple[int, ...]) -> Split:
    """Return what moves if these contexts, with everything below them, are accelerated.

    Contexts of one function share its accelerator. A function that works for an accelerator and
    elsewhere has its bytes divided as its computation is: what enters and leaves a call, as its
    computation outside of that call, for which each call of the accelerator has an even part.

    Parameters
    ----------
    dataflow : Dataflow
        The program.
    contexts : tuple of int
        Positions in `dataflow.tree`, none below another.
    """
    tree = dataflow.tree
    functions = sorted({int(tree.function[v]) for v in contexts})
    unit = _units(dataflow, contexts, functions)
    weight = _weights(dataflow, unit, len(functions))
    moved = float(tree.computation[unit >= 0].sum())
    taken = np.zeros(len(dataflow.names))
    np.add.at(taken, tree.function[list(contexts)], tree.inclusive_share[list(contexts)])
    host = 1.0 - weight.sum(axis=1)
    others, elsewhere = _outside(dataflow, contexts, functions, weight)
    part = taken[functions] / elsewhere  # of what functions write or read outside of a call
    out = (dataflow.returned[functions, :] * part.T).T  # by reading function, as the next ones
    to_host = float((host @ out).sum())
    back = float((out * weight * others).sum())
    back_calls = sum(called_back(dataflow, contexts).values())
    into, once = (
        _entering(dataflow, matrix[:, functions] * part, weight, host, others)
        for matrix in (dataflow.transfers_into, dataflow.fetched)
    )
    return Split(
        float(tree.computation.sum()) - moved,
        moved,
        max(float(host @ dataflow.reads) - to_host, 0.0),
        to_host,
        Moved(into.inside, into.between + into.own, back, into.from_host + to_host),
        Moved(once.inside + once.own, once.between, 0.0, once.from_host + to_host),
        float(dataflow.call_working_set[functions].sum()),
        float(dataflow.working_set[functions].sum()),
        float(dataflow.working_set.max(initial=0.0)),
        _entries(dataflow, contexts) + back_calls,
        back_calls,
        _hardware(dataflow, unit, functions),
    )


def _outside(
    dataflow: Dataflow, contexts: Sequence[int], functions: list[int], weight: Array
) -> tuple[Array, Array]:
    """Return what of each accelerator is other calls than a given one, and of each function.

    Returns
    -------
    ndarray, shape (units,)
        The part of an accelerator's calls; 0 if it is called once.
    ndarray, shape (n, units)
        The part of a function's work that is outside of a call of an accelerator; 1 if it is none.
    """
    tree = dataflow.tree
    outermost = tree.calls if tree.outermost is None else tree.outermost
    calls = np.zeros(len(functions))
    places = [functions.index(int(tree.function[v])) for v in contexts]
    np.add.at(calls, places, outermost[list(contexts)])
    others = 1.0 - 1.0 / np.maximum(calls, 1.0)
    elsewhere = 1.0 - weight * (1.0 - others)
    return others, np.where(elsewhere > _ROUNDING, elsewhere, 1.0)


def _entries(dataflow: Dataflow, contexts: Sequence[int]) -> float:
    """Return the calls of accelerators from the host.

    What an accelerator calls again through functions that it holds is inside; if it calls back to
    the host, what comes from there again is not.
    """
    tree = dataflow.tree
    outermost = tree.calls if tree.outermost is None else tree.outermost
    return float(
        sum((tree.calls if called_back(dataflow, (v,)) else outermost)[v] for v in contexts)
    )


def called_back(dataflow: Dataflow, contexts: Sequence[int]) -> dict[int, float]:
    """Return the calls from inside of these contexts to functions that stay on the host.

    By function. Other functions that live above are held by the accelerator as well, like all that
    it calls.
    """
    found = callbacks(dataflow.tree, contexts)
    return {f: count for f, count in found.items() if f in dataflow.on_host}


class _Entering(NamedTuple):
    """Bytes that accelerators read, by where they come from."""

    inside: float
    from_host: float
    between: float
    own: float


def _entering(
    dataflow: Dataflow, into: Array, weight: Array, host: Array, others: Array
) -> _Entering:
    """Divide what enters the accelerators (columns), by writing function (rows).

    `others` as `_outside` gives it, which has been taken out of `into`.
    """
    came = weight.T @ into  # (accelerator that wrote, accelerator that reads)
    own = np.diag(came) * others
    np.fill_diagonal(came, own)
    from_host = host @ into
    inside = np.maximum(weight.T @ dataflow.reads - from_host - came.sum(axis=0), 0.0)
    between = float(came.sum() - own.sum())
    return _Entering(float(inside.sum()), float(from_host.sum()), between, float(own.sum()))


def whole(dataflow: Dataflow) -> Split:
    """Return the program if nothing is accelerated."""
    return split(dataflow, ())


def _units(dataflow: Dataflow, contexts: tuple[int, ...], functions: list[int]) -> NDArray[np.intp]:
    """Return each context's accelerator, -1 on the host."""
    tree = dataflow.tree
    unit = np.full(len(tree.parent), -1)
    for context in contexts:
        unit[tree.below(context)] = functions.index(int(tree.function[context]))
    return unit


def _weights(dataflow: Dataflow, unit: NDArray[np.intp], units: int) -> Array:
    """Return the part of each function that an accelerator does, shape (n, units)."""
    tree, on = dataflow.tree, unit >= 0
    weight = np.zeros((len(dataflow.names), units))
    np.add.at(weight, (tree.function[on], unit[on]), tree.own_share[on])
    return weight


def _hardware(dataflow: Dataflow, unit: NDArray[np.intp], functions: list[int]) -> tuple[Unit, ...]:
    """Return each accelerator's work and code."""
    tree, found = dataflow.tree, []
    for u, function in enumerate(functions):
        mine = unit == u
        work = float(tree.computation[mine].sum())
        every = float(dataflow.computation_inclusive[function])
        part = work / every if every else 0.0
        code = float(dataflow.code[sorted(set(tree.function[mine].tolist()))].sum())
        found.append(Unit(work, min(float(dataflow.waiting[function]) * part, work), code))
    return tuple(found)


# ----------------------------------------------------------------------------- many designs at once

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
    """Return the split of each design, NaN if there is no such program or selection."""
    splits, place = distinct_splits(dataflow, workload, selection)
    work = work_of(splits or [NOTHING])
    return Work(*(part[place] for part in work))


def distinct_splits(
    dataflow: Dataflows, workload: Floats, selection: Floats
) -> tuple[list[Split], NDArray[np.intp]]:
    """Return the splits of designs, each once, and which one each design has.

    `NOTHING` if there is no such program or selection.
    """
    key = np.asarray(np.asarray(workload) * _SELECTIONS + selection, dtype=np.float64)
    keys, place = np.unique(key, return_inverse=True)
    return [_split_of(dataflow, float(k)) for k in keys], place.reshape(key.shape)


_NO_BYTES = Moved(np.nan, np.nan, np.nan, np.nan)
NOTHING = Split(
    np.nan, np.nan, np.nan, np.nan, _NO_BYTES, _NO_BYTES, np.nan, np.nan, np.nan, np.nan, np.nan, ()
)


@functools.lru_cache(maxsize=1 << 16)
def _split_of(dataflow: Dataflows, key: float) -> Split:
    workload, selection = divmod(key, _SELECTIONS)
    if not (0 <= workload < len(dataflow.programs) and selection < 2 ** len(dataflow.candidates)):
        return NOTHING
    program = dataflow.programs[int(workload)]
    own = set(program.names[: program.functions])
    names = [name for name in dataflow.chosen(int(selection)) if name in own]
    return split(program, outermost(program, [program.position(name) for name in names]))


def product(count: Floats, cost: Floats) -> Array:
    """Return count × cost; nothing costs nothing, also if the cost is infinite."""
    return np.where(np.asarray(count) == 0.0, 0.0 * np.isnan(cost), count * np.asarray(cost))
