"""The dataflow of programs from their profiles, whatever form these have."""

from __future__ import annotations

import heapq
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from scipy.sparse import csr_array
from scipy.sparse.csgraph import connected_components

from dse.model import Array
from dse.model.values import plural, show_percent
from dse.problems import InputError, Problem
from dse.profile.document import Profile, Transfer
from objectives.communication.dataflow import (
    CallTree,
    Chain,
    Dataflow,
    Dataflows,
    Kinds,
    shares_inside,
)
from objectives.programs import Calls, Counts, Program, load_program, load_programs

MAX_CONTEXTS = 4000
_BOUNDED = (
    "memory that functions touch, and data that they fetch once, is not known: bounded by all "
    "bytes read and passed on"
)
_UNBOUNDED = (
    "which values wait for one another is not known: nothing bounds how fast accelerators compute"
)
_UNMEASURED = (
    "critical paths were not measured: a function whose decisions depend on its data, such as a "
    "decoder, may compute more slowly than stated (dse profile --critical-path measures it)"
)
_DEEP = (
    "functions with {part} of the computation ran only below the levels of calls that critical "
    "paths have: they may compute more slowly than stated ({names})"
)
_RECURSIVE = (
    "functions call each other in a circle: how often an accelerator of one would call back to the "
    "host is unknown, and counts as free"
)
_IO_UNKNOWN = (
    "which functions do input or output is not known, and all may move: exclude the ones that must "
    "not"
)


def load_dataflow(path: str | Path) -> Dataflow:
    """Read the dataflow of one program; see :func:`objectives.programs.load_program`."""
    return load_program(path, _dataflow)


def load_dataflows(path: str | Path) -> Dataflows:
    """Read one program, or each of a folder; see :func:`objectives.programs.load_programs`."""
    return Dataflows(load_programs(path, _dataflow))


def _dataflow(program: Program, name: str) -> Dataflow:
    dataflow = from_counts(program) if isinstance(program, Counts) else from_profile(program, name)
    if dataflow.computation.sum() + dataflow.total_bytes == 0:
        message = "no function computes anything, and none reads anything"
        raise InputError(name, [Problem("", message, "profile a run that does some work")])
    return dataflow


# -------------------------------------------------------------------------- a profile of this tool

_SEEN = 0.01
"""The fraction of a function's work in a library from which the function stays on the host."""
_MATHEMATICS = "libm.so"
"""The library of functions of numbers only, for which hardware is known."""
_WITH_HARDWARE = re.compile(
    r"(__)?(c?(a?(sin|cos|tan)h?|exp(2|10|m1)?|log(2|10|1p|b)?|pow|sqrt)|cabs|carg|atan2|sincos|"
    r"cbrt|hypot|fmod|remainder|remquo|erfc?|[lt]gamma(_r)?|[jy][01n])[fl]?(_finite)?$"
)
_HARDWARE_CODE = 50.0
"""Instructions that hardware for one of these functions holds: assumption. A call of `exp` executes
50 machine instructions, and one of `cbrt` 131 (glibc 2.36 on x86-64)."""

_OF_OBJECT = 20_000
"""Instructions per object of linked structures from which a function may move: assumption.

The address of an object is known only when the object before it has arrived. So the accelerator
waits for the host's memory each time, about 1 µs over an expansion bus. That is a seventh of the
time in which the host executes so many instructions. Functions that walk lists or trees have 1 to
10,190, others 48,710 or more (52 programs, docs/validation/verdicts.md).
"""

_STAYING_CALLS = frozenset(
    [
        *("sprintf", "snprintf", "vsprintf", "vsnprintf", "asprintf", "vasprintf", "sscanf"),
        *("vsscanf", "strtod", "strtof", "strtold", "atof"),
        *("qsort", "qsort_r", "bsearch", "rand", "rand_r", "random", "srand", "srandom"),
        *("drand48", "erand48", "lrand48", "nrand48", "mrand48", "jrand48", "srand48"),
    ]
)
"""Functions of the C library with more work or state than the bytes that they touch show: they
convert numbers, make random ones, sort or search."""

_COLUMNS = ("invocations", "computation", "local_bytes", "working_set", "call_working_set")
_MATRICES = ("transfers", "transfers_into", "transfers_out", "fetched", "returned")


def from_profile(profile: Profile, program: str = "") -> Dataflow:
    """Return the dataflow of a profile; InputError if it was made without transfers."""
    program = program or (Path(profile.program.sources[0]).name if profile.program.sources else "")
    if not profile.settings.transfers:
        message = "the profile was made without transfers"
        remedy = "profile the program again without --no-transfers"
        raise InputError(program, [Problem("settings.transfers", message, remedy)])
    functions, own = profile.functions, [f.name for f in profile.functions]
    tables = {name: getattr(profile, name) for name in _MATRICES}
    origins = {name for rows in tables.values() for t in rows for name in (t.source, t.to)}
    names = (*own, *sorted(origins - set(own)))
    at = {name: i for i, name in enumerate(names)}
    code = np.zeros(len(at))
    for block in profile.blocks:
        code[at[block.function]] += block.area
    homes = {block.id: at[block.function] for block in profile.blocks}
    none = [0.0] * (len(names) - len(own))  # of the origins
    tree = _tree(profile, at)
    for function in functions:
        if function.foreign and _WITH_HARDWARE.match(function.name):
            code[at[function.name]] = _HARDWARE_CODE
    measured: dict[str, Any] = {
        name: np.array([*(getattr(f, name) for f in functions), *none], dtype=np.float64)
        for name in _COLUMNS
    }
    measured |= {name: _matrix(rows, at) for name, rows in tables.items()}
    work, read = _library_work(profile, measured)
    measured["computation"] += work
    measured["local_bytes"] += read
    tree = replace(tree, computation=tree.computation + _spread(tree, work))
    calling, direct = _calling(profile, work, tree)
    return Dataflow(
        program,
        names,
        len(own),
        code=code,
        chains=tuple(Chain(homes[c.block], c.length, c.steps, c.starts) for c in profile.chains),
        critical_path=_critical_path(profile, tree, len(names)),
        tree=tree,
        missing=(*profile.notes, *_gaps(profile)),
        partial=profile.threads.limitation if profile.threads else "",
        kinds=Kinds(
            library=frozenset(f.name for f in functions if f.foreign),
            system=frozenset(f.name for f in functions if f.system),
            io=frozenset(f.name for f in functions if f.io),
            calling=calling,
            calling_directly=direct,
            walking=_walking(profile, tree),
        ),
        **measured,
    )


def _library_work(profile: Profile, measured: Mapping[str, Array]) -> tuple[Array, Array]:
    """Return computation and local bytes of the libraries that each function calls, shape (names,).

    An instruction of a library computes and reads as one of the program does in the mean. Code that
    copies memory computes nothing, and its bytes are among the transfers. If machine instructions
    were not counted, instructions of LLVM replace them.
    """
    machine = sum(function.instructions or 0 for function in profile.functions)
    executed = float(machine or sum(block.executions * block.area for block in profile.blocks) or 1)
    work = np.zeros_like(measured["computation"])
    for i, function in enumerate(profile.functions):
        computing = (each.instructions for each in function.libraries if not each.copies)
        work[i] = sum(computing) / executed
    read = measured["local_bytes"].sum() + measured["transfers"].sum()
    return work * measured["computation"].sum(), work * read


def _spread(tree: CallTree, work: Array) -> Array:
    """Return each context's part of its function's work, by invocations, shape (nodes,)."""
    invocations = np.bincount(tree.function, tree.invocations, len(work))[tree.function]
    return np.asarray(
        work[tree.function] * tree.invocations / np.where(invocations > 0, invocations, 1.0)
    )


def _calling(
    profile: Profile, work: Array, tree: CallTree
) -> tuple[dict[str, str], frozenset[str]]:
    """Return the functions that stay for a library's work, callees included, each with the reason.

    Also return the functions that call these libraries themselves. The C library is a reason only
    where it converts numbers, makes random ones, sorts or searches: its functions that copy memory
    are followed. The library of mathematics is no reason.
    """
    inclusive = np.bincount(tree.function, tree.inclusive, len(work))
    names = [f.name for f in profile.functions]
    called: dict[int, set[str]] = {}
    for parent, function in zip(tree.parent.tolist(), tree.function.tolist(), strict=True):
        if parent >= 0:
            called.setdefault(int(tree.function[parent]), set()).add(names[function])
    by_library: dict[str, Array] = {}
    for i, function in enumerate(profile.functions):
        computing = [each for each in function.libraries if not each.copies]
        total = sum(each.instructions for each in computing) or 1
        for each in computing:
            if each.library.startswith(_MATHEMATICS):
                continue
            if not each.library.startswith("libc.so") or called.get(i, set()) & _STAYING_CALLS:
                own = by_library.setdefault(each.library, np.zeros(len(work)))
                own[i] = each.instructions / total * work[i]
    found: dict[str, str] = {}
    for library, own in by_library.items():
        below = np.bincount(tree.function, tree.totals(_spread(tree, own)), len(work))
        for i in np.flatnonzero((below >= _SEEN * inclusive) & (below > 0)).tolist():
            part = show_percent(below[i] / inclusive[i])
            found[names[i]] = f"{part} of its work is in {library}, which was not profiled"
    direct = [names[i] for own in by_library.values() for i in np.flatnonzero(own).tolist()]
    return found, frozenset(direct)


def _critical_path(profile: Profile, tree: CallTree, size: int) -> Array | None:
    """Return the cycles of all calls, shape (size,); calls that were not measured as the others."""
    calls = np.bincount(tree.function, weights=tree.calls, minlength=size)
    cycles = np.full(size, np.nan)
    for i, function in enumerate(profile.functions):
        if path := function.critical_path:
            cycles[i] = path.length * max(1.0, calls[i] / path.calls)
    return None if np.isnan(cycles).all() else cycles


def _walking(profile: Profile, tree: CallTree) -> dict[str, str]:
    """Return the functions that walk linked structures of the host, each with the reason."""
    found, size = {}, len(profile.functions)
    calls = np.bincount(tree.function, tree.entries, size)
    work = np.bincount(tree.function, tree.inclusive, size) / np.maximum(calls, 1.0)
    for i, function in enumerate(profile.functions):
        path = function.critical_path
        if path and path.linked_objects >= max(1.0, work[i] / _OF_OBJECT) * path.calls:
            objects = plural(round(path.linked_objects / path.calls), "object")
            found[function.name] = f"walks linked structures of the host: {objects} in a call"
    return found


def _gaps(profile: Profile) -> Iterator[str]:
    """Yield the numbers that a profile could contain and does not."""
    measured = any(f.critical_path for f in profile.functions)
    if not measured:  # at -O 0, values are in memory
        yield _UNBOUNDED if profile.program.optimisation == 0 else _UNMEASURED
    elif deep := {
        f.name: f.computation
        for f in profile.functions
        if not (f.foreign or f.critical_path) and f.computation
    }:
        total = sum(f.computation for f in profile.functions)
        if (part := sum(deep.values()) / total) >= _SEEN:
            names = sorted(deep, key=lambda name: -deep[name])
            more = f" and {len(names) - 3} more" if len(names) > 3 else ""
            yield _DEEP.format(part=show_percent(part), names=", ".join(names[:3]) + more)
    if any(f.io is None for f in profile.functions):
        yield _IO_UNKNOWN


def _tree(profile: Profile, at: dict[str, int]) -> CallTree:
    nodes = profile.call_tree
    unknown = sorted({node.function for node in nodes} - set(at))
    problems = [Problem("call_tree", f"there is no function '{name}'") for name in unknown]
    problems += [
        Problem(f"call_tree.{i}.parent", "is not an earlier node", f"below {i}, or -1")
        for i, node in enumerate(nodes)
        if node.parent >= i
    ]
    if problems:
        raise InputError("profile", problems)
    invocations = np.array([node.invocations for node in nodes], dtype=np.float64)
    recursions = tuple((r.source, r.to, float(r.count)) for r in profile.recursions)
    calls = invocations.copy()
    for _, to, count in recursions:
        calls[to] -= count
    entered = [c if n.entered is None else n.entered for n, c in zip(nodes, calls, strict=True)]
    return CallTree(
        np.array([node.parent for node in nodes], dtype=np.int64),
        np.array([at[node.function] for node in nodes], dtype=np.int64),
        invocations,
        calls,
        np.array([node.computation for node in nodes], dtype=np.float64),
        recursions,
        np.array(entered, dtype=np.float64),
    )


def _matrix(rows: Sequence[Transfer], at: dict[str, int]) -> Array:
    matrix = np.zeros((len(at), len(at)))
    for row in rows:
        matrix[at[row.source], at[row.to]] += row.bytes
    return matrix


# ----------------------------------------------------------------------- counts of other profilers


def from_counts(counts: Counts) -> Dataflow:
    """Return the dataflow of counts by function; contexts and inclusive transfers are estimates."""
    own, size = slice(counts.functions), len(counts.names)
    tree = expand_call_graph(counts.invocations[own], counts.computation[own], counts.calls)
    inside = shares_inside(tree, size)
    into, out = inclusive_transfers(counts.transfers, inside)
    reads = counts.local_bytes + counts.transfers.sum(axis=0)
    touched = inside.T @ reads + out.sum(axis=1)
    ends = np.array(list(counts.calls), dtype=np.int64).reshape(-1, 2).T
    graph = csr_array((np.ones(ends.shape[1]), (ends[0], ends[1])), shape=(size, size))
    circular = connected_components(graph, connection="strong")[0] < size
    gaps = [_UNBOUNDED, *[_RECURSIVE] * circular, *[_IO_UNKNOWN] * (counts.io is None)]
    if "transfers" not in counts.lacks:
        gaps.insert(0, _BOUNDED)
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
        (*counts.missing, *gaps),
        Kinds(linked=counts.linked, io=counts.io or frozenset()),
        counts.lacks,
    )


def inclusive_transfers(transfers: Array, inside: Array) -> tuple[Array, Array]:
    """Estimate the transfers into and out of functions with everything they call, shape (n, n).

    For sources that do not measure them. Of the bytes from i to j as much as possible stays inside
    if both work in part for f: ``max(0, inside[j, f] − inside[i, f])`` of them come in. Data
    that several invocations below f read counts for each.
    """
    into, out = np.zeros_like(transfers), np.zeros_like(transfers)
    for f in range(len(transfers)):
        more = inside[None, :, f] - inside[:, None, f]
        into[:, f] = (transfers * np.maximum(more, 0.0)).sum(axis=1)
        out[f, :] = (transfers * np.maximum(-more, 0.0)).sum(axis=0)
    return into, out


def expand_call_graph(
    invocations: Array, computation: Array, calls: Mapping[tuple[int, int], Calls]
) -> CallTree:
    """Return the tree of contexts of a call graph.

    A call graph says who called whom. What a function does for each of its callers is not in it:
    work is divided by the weights of the calls (their cost if the source has it, else their
    number), invocations by their number.

    `invocations` and `computation`, shape (functions,), are each function's own; a call that
    closes a cycle is a recursion and opens no context. The tree has at most the 4000 contexts with
    most computation; the computation of the others counts for the context that calls them.

    >>> calls = {(0, 1): Calls(1, 1), (0, 2): Calls(1, 1), (1, 2): Calls(3, 3)}
    >>> tree = expand_call_graph(np.ones(3), np.array([1.0, 5, 8]), calls)
    >>> tree.parent.tolist(), tree.function.tolist(), tree.computation.tolist()
    ([-1, 0, 1, 0], [0, 1, 2, 2], [1.0, 5.0, 6.0, 2.0])
    """
    size = len(invocations)
    callees, order = _forward_calls(size, calls)
    weight, count = np.zeros(size), np.zeros(size)
    for f, below in callees.items():
        for g in below:
            weight[g] += calls[f, g].weight
            count[g] += calls[f, g].times

    def work_part(f: int, g: int) -> float:
        call = calls[f, g]
        return float(call.weight / weight[g] if weight[g] else call.times / count[g])

    inclusive = np.array(computation, dtype=np.float64)
    for f in order:  # callees come first
        inclusive[f] += sum(work_part(f, g) * inclusive[g] for g in callees.get(f, ()))
    entered = np.where(count > 0, np.minimum(count, invocations), invocations)
    rows: list[tuple[int, int, float, float, float]] = []
    roots = np.flatnonzero(count == 0).tolist()
    # the contexts with most computation first; the second number breaks ties
    heap = [(-inclusive[f], n, f, -1, 1.0, 1.0) for n, f in enumerate(roots)]
    heapq.heapify(heap)
    pushed = len(heap)
    left_out: dict[int, float] = {}
    while heap:
        _, _, f, parent, work, called = heapq.heappop(heap)
        if len(rows) == MAX_CONTEXTS and parent >= 0:
            left_out[parent] = left_out.get(parent, 0.0) + work * inclusive[f]
            continue
        node = len(rows)
        rows.append((parent, f, called * invocations[f], called * entered[f], work))
        for g in callees.get(f, ()):
            part, call_part = work * work_part(f, g), called * (calls[f, g].times / count[g])
            heapq.heappush(heap, (-part * inclusive[g], pushed, g, node, part, call_part))
            pushed += 1
    parent_of, function, invoked, calls_of, share = (np.array(c) for c in zip(*rows, strict=True))
    own = computation[function] * share
    for node, more in left_out.items():
        own[node] += more
    return CallTree(parent_of, function, invoked, calls_of, own)


def _forward_calls(
    size: int, calls: Mapping[tuple[int, int], Calls]
) -> tuple[dict[int, list[int]], list[int]]:
    """Return the calls that close no cycle, and the functions with callees before callers."""
    graph: dict[int, list[int]] = {}
    for f, g in sorted(calls):
        graph.setdefault(f, []).append(g)
    called = {g for f, g in calls if f != g}
    kept: dict[int, list[int]] = {}
    order: list[int] = []
    done: dict[int, bool] = {}  # False: on the way
    for start in [*(f for f in range(size) if f not in called), *range(size)]:
        if start in done:
            continue
        done[start] = False
        way = [(start, iter(graph.get(start, ())))]
        while way:
            f, rest = way[-1]
            g = next(rest, -1)
            if g < 0:
                done[f] = True
                order.append(f)
                way.pop()
            elif done.get(g, True):
                kept.setdefault(f, []).append(g)
                if g not in done:
                    done[g] = False
                    way.append((g, iter(graph.get(g, ()))))
    return kept, order
