"""The work of the accelerators and of the host, if some calling contexts are accelerated.

M. A. Kim, S. A. Edwards, "Computation vs. Memory Systems: Pinning Down Accelerator Bottlenecks",
2010, section III.D: communication is local, inside an accelerator, or global, over the shared
medium. Each accelerated function has an accelerator, which does everything that it calls as well.
"""

from __future__ import annotations

import functools
from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from dse.model import Array, Floats
from objectives.communication.dataflow import MAX_CANDIDATES, CallTree, Dataflow, Dataflows
from objectives.communication.quantities import Accelerators

_ROUNDING = 1e-9  # of a function all of whose work is in the one call of an accelerator


class Moved(NamedTuple):
    """Bytes that accelerators read and write, by the way that they take."""

    inside: Floats
    """Read in the call that wrote or fetched them, or in the store that kept them."""
    between: Floats
    """From a call of an accelerator to one of another; if nothing is kept, also to its own."""
    back: Floats
    """Sent back so that a later call of the same accelerator can fetch them."""
    crossing: Floats
    """From the host to an accelerator, or back."""


class Units(NamedTuple):
    """The accelerators, shape (…, accelerators); 0 if a design has fewer."""

    instructions: Array
    waiting: Array
    """Of these, so many that no parallel hardware shortens."""
    code: Array
    """Instructions of the code that they hold; a function in two accelerators counts twice."""


class Work(NamedTuple):
    """A program's work by where it is done; bytes are counted at their reader, each once.

    Numbers for one program, or arrays with an element per design.
    """

    host_instructions: Floats
    accelerator_instructions: Floats
    host_bytes: Floats
    """Written and read on the host."""
    returned: Floats
    """Written by accelerators and read on the host: once for each function that reads it."""
    call_working_set: Floats
    """Bytes that the largest call of each accelerator touches, summed."""
    working_set: Floats
    """Bytes that each accelerator touches in the run, summed."""
    whole_working_set: Floats
    """Bytes that the program touches."""
    calls: Floats
    """Of the accelerators, and from them: each callback to the host is one as well."""
    callbacks: Floats
    """Of these, calls from inside of functions that live above and stay on the host."""
    accelerators: Floats
    """How many there are."""
    anew: Moved
    """The data that moves if each call of an accelerator fetches its data."""
    kept: Moved
    """The data that moves if accelerators keep data until it is written again."""
    units: Units


def outermost_contexts(dataflow: Dataflow, functions: Iterable[int]) -> tuple[int, ...]:
    """Return the contexts of functions that are below no other of them: positions in the tree.

    `functions` are positions in `dataflow.names`.
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
def split_work(dataflow: Dataflow, contexts: tuple[int, ...]) -> Work:
    """Return what moves if these contexts, with everything below them, are accelerated.

    Contexts of one function share its accelerator. A function that works for an accelerator and
    elsewhere has its bytes divided as its computation is: what enters and leaves a call, as its
    computation outside of that call, for which each call of the accelerator has an even part.
    """
    tree, nodes = dataflow.tree, list(contexts)
    functions = sorted({int(tree.function[v]) for v in contexts})
    unit = np.full(len(tree.parent), -1)  # each context's accelerator, -1 on the host
    for context in contexts:
        unit[tree.below(context)] = functions.index(int(tree.function[context]))
    moved, names = unit >= 0, len(dataflow.names)
    weight = np.zeros((names, len(functions)))  # the part of a function that an accelerator does
    np.add.at(weight, (tree.function[moved], unit[moved]), tree.own_share[moved])
    work, taken = float(tree.computation[moved].sum()), np.zeros(names)
    np.add.at(taken, tree.function[nodes], tree.inclusive_share[nodes])
    host = 1.0 - weight.sum(axis=1)
    others, elsewhere = _outside(dataflow, contexts, functions, weight)
    part = taken[functions] / elsewhere  # of what functions write or read outside of a call
    out = (dataflow.returned[functions, :] * part.T).T  # by reading function, as the next ones
    to_host = float((host @ out).sum())
    back = float((out * weight * others).sum())
    back_calls = sum(count_calls_back(dataflow, contexts).values())
    into, once = (
        _entering(dataflow, matrix[:, functions] * part, weight, host, others)
        for matrix in (dataflow.transfers_into, dataflow.fetched)
    )
    return Work(
        float(tree.computation.sum()) - work,
        work,
        max(float(host @ dataflow.reads) - to_host, 0.0),
        to_host,
        float(dataflow.call_working_set[functions].sum()),
        float(dataflow.working_set[functions].sum()),
        float(dataflow.working_set.max(initial=0.0)),
        _entries(dataflow, contexts) + back_calls,
        back_calls,
        float(len(functions)),
        Moved(into.inside, into.between + into.back, back, into.crossing + to_host),
        Moved(once.inside + once.back, once.between, 0.0, once.crossing + to_host),
        _hardware(dataflow, unit, functions),
    )


def _outside(
    dataflow: Dataflow, contexts: Sequence[int], functions: list[int], weight: Array
) -> tuple[Array, Array]:
    """Return what of each accelerator is other calls than a given one, and of each function.

    The part of an accelerator's calls, shape (units,), 0 if it is called once; and the part of a
    function's work that is outside of a call of an accelerator, shape (n, units), 1 if it is none.
    """
    tree, calls = dataflow.tree, np.zeros(len(functions))
    places = [functions.index(int(tree.function[v])) for v in contexts]
    np.add.at(calls, places, tree.entries[list(contexts)])
    others = 1.0 - 1.0 / np.maximum(calls, 1.0)
    elsewhere = 1.0 - weight * (1.0 - others)
    return others, np.where(elsewhere > _ROUNDING, elsewhere, 1.0)


def _entries(dataflow: Dataflow, contexts: Sequence[int]) -> float:
    """Return the calls of accelerators from the host.

    What an accelerator calls again through functions that it holds is inside; if it calls back to
    the host, what comes from there again is not.
    """
    tree = dataflow.tree
    entered = [
        (tree.calls if count_calls_back(dataflow, (v,)) else tree.entries)[v] for v in contexts
    ]
    return float(sum(entered))


def count_callbacks(tree: CallTree, contexts: Sequence[int]) -> dict[int, float]:
    """Return the calls from contexts, none below another, to functions that live above."""
    top = np.full(len(tree.parent), -1)
    for context in contexts:
        top[tree.below(context)] = context
    counts: dict[int, float] = {}
    for source, to, count in tree.recursions:
        if 0 <= to < top[source]:
            counts[int(tree.function[to])] = counts.get(int(tree.function[to]), 0.0) + count
    return counts


def count_calls_back(dataflow: Dataflow, contexts: Sequence[int]) -> dict[int, float]:
    """Return the calls from inside of these contexts to functions that stay on the host.

    By function. Other functions that live above are held by the accelerator as well, like all that
    it calls.
    """
    found = count_callbacks(dataflow.tree, contexts)
    return {f: count for f, count in found.items() if f in dataflow.on_host}


def _entering(dataflow: Dataflow, into: Array, weight: Array, host: Array, others: Array) -> Moved:
    """Divide the data that enters the accelerators (columns), by writing function (rows).

    Here `back` comes from other calls of the same accelerator, and `crossing` from the host.
    `others` is as `_outside` gives it, which has been taken out of `into`.
    """
    came = weight.T @ into  # (accelerator that wrote, accelerator that reads)
    own = np.diag(came) * others
    np.fill_diagonal(came, own)
    from_host = host @ into
    inside = np.maximum(weight.T @ dataflow.reads - from_host - came.sum(axis=0), 0.0)
    between = float(came.sum() - own.sum())
    return Moved(float(inside.sum()), between, float(own.sum()), float(from_host.sum()))


def whole_work(dataflow: Dataflow) -> Work:
    """Return the program if nothing is accelerated."""
    return split_work(dataflow, ())


def _hardware(dataflow: Dataflow, unit: NDArray[np.intp], functions: list[int]) -> Units:
    """Return each accelerator's work and code."""
    tree, columns = dataflow.tree, np.zeros((3, len(functions)))
    for u, function in enumerate(functions):
        mine = unit == u
        work = float(tree.computation[mine].sum())
        every = float(dataflow.computation_inclusive[function])
        part = work / every if every else 0.0
        code = float(dataflow.code[sorted(set(tree.function[mine].tolist()))].sum())
        columns[:, u] = work, min(float(dataflow.waiting[function]) * part, work), code
    return Units(*columns)


# ----------------------------------------------------------------------------- many designs at once

_SELECTIONS = 2.0**MAX_CANDIDATES


def design_work(dataflow: Dataflows, workload: Floats, selection: Floats) -> Work:
    """Return the work of each design, NaN if there is no such program or selection."""
    splits, place = distinct_splits(dataflow, workload, selection)
    splits = splits or [NOTHING]
    most = max(len(s.units.code) for s in splits)
    padded = [[np.append(x, np.zeros(most - len(x))) for x in s.units] for s in splits]

    def columns(rows: Iterable[Iterable[Floats]]) -> Iterator[Array]:
        return (np.array(column)[place] for column in zip(*rows, strict=True))

    numbers = columns(s[:-3] for s in splits)
    ways = (
        Moved(*columns(moved)) for moved in zip(*((s.anew, s.kept) for s in splits), strict=True)
    )
    return Work._make([*numbers, *ways, Units(*columns(padded))])


def distinct_splits(
    dataflow: Dataflows, workload: Floats, selection: Floats
) -> tuple[list[Work], NDArray[np.intp]]:
    """Return the work of designs, each once, and which one each design has.

    `NOTHING` if there is no such program or selection.
    """
    key = np.asarray(np.asarray(workload) * _SELECTIONS + selection, dtype=np.float64)
    keys, place = np.unique(key, return_inverse=True)
    return [_split_of(dataflow, float(k)) for k in keys], place.reshape(key.shape)


_NO_BYTES, _NO_UNITS = Moved(*[np.nan] * 4), Units(*np.zeros((3, 0)))
NOTHING = Work._make([*[np.nan] * 10, _NO_BYTES, _NO_BYTES, _NO_UNITS])


@functools.lru_cache(maxsize=1 << 16)
def _split_of(dataflow: Dataflows, key: float) -> Work:
    workload, selection = divmod(key, _SELECTIONS)
    if not (0 <= workload < len(dataflow.programs) and selection < 2 ** len(dataflow.candidates)):
        return NOTHING
    program = dataflow.programs[int(workload)]
    own = set(program.names[: program.functions])
    names = [name for name in dataflow.chosen(int(selection)) if name in own]
    return split_work(
        program, outermost_contexts(program, [program.position(name) for name in names])
    )


def multiply_costs(count: Floats, cost: Floats) -> Array:
    """Return count × cost; nothing costs nothing, also if the cost is infinite."""
    return np.where(np.asarray(count) == 0.0, 0.0 * np.isnan(cost), count * np.asarray(cost))


def place_traffic(work: Work, accelerators: Accelerators) -> tuple[Array, Array]:
    """Return the bytes in the accelerators' stores and those on the medium."""
    shared = np.asarray(accelerators.shared_store, dtype=np.float64)
    keeps = np.asarray(accelerators.keeps_data) == 1.0
    ways = (np.where(keeps, *way) for way in zip(work.kept, work.anew, strict=True))
    inside, between, back, crossing = ways
    return inside + shared * between, crossing + (1.0 - shared) * (between + back)


def count_stored_bytes(work: Work, accelerators: Accelerators) -> Array:
    """Return the bytes that the accelerators' stores hold."""
    shared = np.asarray(accelerators.shared_store) == 1.0
    keeps = np.asarray(accelerators.keeps_data) == 1.0
    alone = np.where(keeps, work.working_set, work.call_working_set)
    return np.where(shared, np.minimum(work.working_set, work.whole_working_set), alone)


def computing_cost(work: Work, factor: Floats) -> Array:
    """Return the accelerators' computing, in instructions at the speed of the host."""
    parallel = work.units.instructions / np.asarray(factor)[..., None]
    each = np.maximum(parallel, work.units.waiting)
    return np.asarray(each.sum(axis=-1) + 0.0 * work.accelerator_instructions)


def parallel_code(work: Work, factor: Floats) -> Array:
    """Return the code × the factor at which it computes, in instructions."""
    instructions, waiting, code = work.units
    bound = np.where(waiting > 0, instructions / waiting, np.inf)
    each = multiply_costs(code, np.minimum(np.asarray(factor)[..., None], bound))
    return np.asarray(each.sum(axis=-1) + 0.0 * work.calls)
