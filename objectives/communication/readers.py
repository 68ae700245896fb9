"""The dataflow of programs from their profiles, whatever form these have."""

from __future__ import annotations

import heapq
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from scipy.sparse import csr_array
from scipy.sparse.csgraph import connected_components

from dse.model import Array
from dse.problems import InputError, Problem
from dse.profile.document import Profile
from objectives.communication.dataflow import (
    CallTree,
    Chain,
    Dataflow,
    Dataflows,
    Kinds,
    inclusive_transfers,
    shares_inside,
)
from objectives.programs import Calls, Counts, Program, load_program, load_programs

_BOUNDED = (
    "memory that functions touch, and data that they fetch once, is not known: bounded by all "
    "bytes read and passed on"
)

_UNBOUNDED = (
    "which values wait for one another is not known: nothing bounds how fast accelerators compute"
)
_RECURSIVE = (
    "functions call each other in a circle: how often an accelerator of one would call back to the "
    "host is not told, and costs nothing"
)
_IO_UNTOLD = (
    "which functions do input or output is not known, and all may move: exclude the ones that must "
    "not"
)


def load_dataflow(path: str | Path) -> Dataflow:
    """Read the dataflow of one program; see :func:`objectives.programs.load_program`."""
    return load_program(path, _dataflow)


def load_dataflows(path: str | Path) -> Dataflows:
    """Read the dataflow of one program, or of each in a folder in the order of their names.

    See :func:`objectives.programs.load_programs`.
    """
    return Dataflows(load_programs(path, _dataflow))


def _dataflow(program: Program, name: str) -> Dataflow:
    dataflow = from_counts(program) if isinstance(program, Counts) else from_profile(program, name)
    if dataflow.computation.sum() + dataflow.total_bytes == 0:
        message = "no function computes anything, and none reads anything"
        raise InputError(name, [Problem("", message, "profile a run that does some work")])
    return dataflow


def from_counts(counts: Counts) -> Dataflow:
    """Return the dataflow of counts by function; contexts and inclusive transfers are estimates."""
    own = slice(counts.functions)
    tree = expand(counts.invocations[own], counts.computation[own], counts.calls)
    into, out = counts.transfers, counts.transfers
    if counts.transfers.any():
        into, out = inclusive_transfers(counts.transfers, shares_inside(tree, len(counts.names)))
    reads = counts.local_bytes + counts.transfers.sum(axis=0)
    touched = shares_inside(tree, len(counts.names)).T @ reads + out.sum(axis=1)
    return Dataflow(
        counts.program,
        counts.names,
        counts.functions,
        counts.invocations,
        counts.computation,
        counts.local_bytes,
        counts.code,
        counts.transfers,
        into,
        out,
        into,
        out,
        touched,
        touched,
        (),
        tree,
        (*counts.missing, _BOUNDED, _UNBOUNDED, _IO_UNTOLD, *[_RECURSIVE] * _circular(counts)),
    )


def _circular(counts: Counts) -> bool:
    """Return whether several functions call each other in a circle."""
    size = len(counts.names)
    ends = np.array(list(counts.calls), dtype=np.int64).reshape(-1, 2).T
    graph = csr_array((np.ones(ends.shape[1]), (ends[0], ends[1])), shape=(size, size))
    return bool(connected_components(graph, connection="strong")[0] < size)


def from_profile(profile: Profile, program: str = "") -> Dataflow:
    """Return the dataflow of a profile.

    Raises
    ------
    InputError
        If the profile was made without transfers.
    """
    program = program or (Path(profile.program.sources[0]).name if profile.program.sources else "")
    if not profile.settings.transfers:
        raise InputError(
            program,
            [
                Problem(
                    "settings.transfers",
                    "the profile was made without transfers",
                    "profile the program again without --no-transfers",
                )
            ],
        )
    transfers = (
        profile.transfers,
        profile.transfers_into,
        profile.transfers_out,
        profile.fetched,
        profile.returned,
    )
    own = [f.name for f in profile.functions]
    origins = {name for rows in transfers for t in rows for name in (t.source, t.to)} - set(own)
    names = (*own, *sorted(origins))
    at = {name: i for i, name in enumerate(names)}
    filler = [0] * len(origins)
    tree = _tree(profile, at)
    between, into, out, fetched, returned = (
        _matrix([(at[t.source], at[t.to], t.bytes) for t in rows], len(at)) for rows in transfers
    )
    return Dataflow(
        program,
        names,
        len(own),
        _floats([*(f.invocations for f in profile.functions), *filler]),
        _floats([*(f.computation for f in profile.functions), *filler]),
        _floats([*(f.local_bytes for f in profile.functions), *filler]),
        _code(profile, at),
        between,
        into,
        out,
        fetched,
        returned,
        _floats([*(f.working_set for f in profile.functions), *filler]),
        _floats([*(f.call_working_set for f in profile.functions), *filler]),
        tuple(_chains(profile, at)),
        tree,
        (*profile.notes, *_untold(profile)),
        _kinds(profile),
    )


def _kinds(profile: Profile) -> Kinds:
    """Return what is known of a profile's functions."""
    return Kinds(
        library=frozenset(f.name for f in profile.functions if f.foreign),
        system=frozenset(f.name for f in profile.functions if f.system),
        io=frozenset(f.name for f in profile.functions if f.io),
    )


def _untold(profile: Profile) -> Iterator[str]:
    """Yield the numbers that a profile could contain and does not."""
    if profile.program.optimisation == 0:  # values are in memory: no chain is seen
        yield _UNBOUNDED
    if any(f.io is None for f in profile.functions):
        yield _IO_UNTOLD


def _tree(profile: Profile, at: dict[str, int]) -> CallTree:
    nodes = profile.call_tree
    unknown = sorted({node.function for node in nodes} - set(at))
    wrong = [i for i, node in enumerate(nodes) if node.parent >= i]
    if unknown or wrong:
        raise InputError(
            "profile",
            [
                *(Problem("call_tree", f"there is no function '{name}'") for name in unknown),
                *(
                    Problem(f"call_tree.{i}.parent", "is not an earlier node", f"below {i}, or -1")
                    for i in wrong
                ),
            ],
        )
    parent = np.array([node.parent for node in nodes], dtype=np.int64)
    function = np.array([at[node.function] for node in nodes], dtype=np.int64)
    invocations = _floats([node.invocations for node in nodes])
    computation = _floats([node.computation for node in nodes])
    recursions = tuple((r.source, r.to, float(r.count)) for r in profile.recursions)
    again = np.zeros(len(nodes))
    for _, to, count in recursions:
        again[to] += count
    calls = invocations - again
    told = [c if n.entered is None else n.entered for n, c in zip(nodes, calls, strict=True)]
    return CallTree(parent, function, invocations, calls, computation, recursions, _floats(told))


def _chains(profile: Profile, at: dict[str, int]) -> Iterator[Chain]:
    homes = {block.id: at[block.function] for block in profile.blocks}
    for chain in profile.chains:
        yield Chain(homes[chain.block], chain.length, chain.steps, chain.starts)


def _code(profile: Profile, at: dict[str, int]) -> Array:
    code = np.zeros(len(at))
    for block in profile.blocks:
        code[at[block.function]] += block.area
    return code


def _floats(values: Sequence[float]) -> Array:
    return np.array(values, dtype=np.float64)


def _matrix(rows: Sequence[tuple[int, int, float]], size: int) -> Array:
    matrix = np.zeros((size, size))
    for source, to, moved in rows:
        matrix[source, to] += moved
    return matrix


# --------------------------------------------------------------- calling contexts from a call graph

MAX_CONTEXTS = 4000


@dataclass(frozen=True)
class _Graph:
    """A call graph without recursion."""

    callees: Mapping[int, tuple[int, ...]]
    work_part: Mapping[tuple[int, int], float]
    call_part: Mapping[tuple[int, int], float]
    roots: tuple[int, ...]
    outer: Array
    inclusive: Array


def expand(
    invocations: Array, computation: Array, calls: Mapping[tuple[int, int], Calls]
) -> CallTree:
    """Return the tree of contexts of a call graph.

    Parameters
    ----------
    invocations, computation : ndarray, shape (functions,)
        Own ones of each function.
    calls : mapping of (caller, function) to Calls
        A call that closes a cycle is a recursion and opens no context.

    Returns
    -------
    CallTree
        At most 4000 contexts with most computation; the computation of the others counts for
        the context that calls them.

    >>> tree = expand(np.ones(3), np.array([1.0, 5, 8]), {(0, 1): Calls(1, 1), (0, 2): Calls(1, 1),
    ...                                                  (1, 2): Calls(3, 3)})
    >>> tree.parent.tolist(), tree.function.tolist(), tree.computation.tolist()
    ([-1, 0, 1, 0], [0, 1, 2, 2], [1.0, 5.0, 6.0, 2.0])
    """
    graph = _without_recursion(invocations, computation, calls)
    rows: list[tuple[int, int, float, float, float]] = []
    heap = [(-graph.inclusive[f], n, f, -1, 1.0, 1.0) for n, f in enumerate(graph.roots)]
    heapq.heapify(heap)
    pushed = len(heap)
    left_out: dict[int, float] = {}
    while heap:
        _, _, f, parent, work, called = heapq.heappop(heap)
        if len(rows) == MAX_CONTEXTS and parent >= 0:
            left_out[parent] = left_out.get(parent, 0.0) + work * graph.inclusive[f]
            continue
        node = len(rows)
        rows.append((parent, f, called * invocations[f], called * graph.outer[f], work))
        for g in graph.callees.get(f, ()):
            part = work * graph.work_part[f, g]
            item = (-part * graph.inclusive[g], pushed, g, node, part)
            heapq.heappush(heap, (*item, called * graph.call_part[f, g]))
            pushed += 1
    parent_of, function, invoked, entered, share = (np.array(c) for c in zip(*rows, strict=True))
    own = computation[function] * share
    for node, more in left_out.items():
        own[node] += more
    return CallTree(parent_of, function, invoked, entered, own)


def _without_recursion(
    invocations: Array, computation: Array, calls: Mapping[tuple[int, int], Calls]
) -> _Graph:
    size = len(invocations)
    callees: dict[int, list[int]] = {}
    for f, g in calls:
        callees.setdefault(f, []).append(g)
    called = {g for f, g in calls if f != g}
    first = [f for f in range(size) if f not in called]
    kept, order = _forward(callees, [*first, *range(size)])
    weight, count = np.zeros(size), np.zeros(size)
    for f, g in kept:
        weight[g] += calls[f, g].weight
        count[g] += calls[f, g].times
    work_part = {
        (f, g): calls[f, g].weight / weight[g] if weight[g] else calls[f, g].times / count[g]
        for f, g in kept
    }
    inclusive = np.array(computation, dtype=np.float64)
    below: dict[int, list[int]] = {}
    for f, g in kept:
        below.setdefault(f, []).append(g)
    for f in order:  # callees come first
        inclusive[f] += sum(work_part[f, g] * inclusive[g] for g in below.get(f, ()))
    roots = tuple(f for f in range(size) if count[f] == 0)
    return _Graph(
        {f: tuple(sorted(gs)) for f, gs in below.items()},
        work_part,
        {(f, g): calls[f, g].times / count[g] for f, g in kept},
        roots,
        np.where(count > 0, np.minimum(count, invocations), invocations),
        inclusive,
    )


def _forward(
    callees: Mapping[int, list[int]], starts: list[int]
) -> tuple[list[tuple[int, int]], list[int]]:
    """Return the calls that close no cycle, and the functions with callees before callers."""
    kept: list[tuple[int, int]] = []
    order: list[int] = []
    state: dict[int, int] = {}  # 1: on the way, 2: done
    for start in starts:
        if start in state:
            continue
        state[start] = 1
        way = [(start, iter(sorted(callees.get(start, ()))))]
        while way:
            f, rest = way[-1]
            g = next(rest, None)
            if g is None:
                state[f] = 2
                order.append(f)
                way.pop()
            elif state.get(g) != 1:
                kept.append((f, g))
                if g not in state:
                    state[g] = 1
                    way.append((g, iter(sorted(callees.get(g, ())))))
    return kept, order
