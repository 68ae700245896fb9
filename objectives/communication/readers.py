"""The dataflow of programs from their profiles, whatever form these have."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np
from scipy.sparse import csr_array
from scipy.sparse.csgraph import connected_components

from dse.model import Array
from dse.problems import InputError, Problem
from dse.profile.document import Profile
from objectives.communication.contexts import expand
from objectives.communication.dataflow import Chain, Dataflow, Dataflows
from objectives.communication.movable import Kinds
from objectives.communication.tree import CallTree, inclusive_transfers, shares_inside
from objectives.programs import Counts, Program, load_program, load_programs

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
