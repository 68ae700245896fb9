"""Dataflow from files: profiles of `dse profile`, callgrind's output, folders of two tables."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np

from dse.model import Array
from dse.problems import InputError, Problem
from dse.profile.document.schema import Profile
from objectives.communication.callgrind import read_callgrind
from objectives.communication.dataflow import Dataflow, Dataflows
from objectives.communication.tables import FUNCTIONS, read_tables
from objectives.communication.tree import CallTree, entered

_FORMS = (
    "give a profile of `dse profile`, callgrind's output, "
    f"or a folder with {FUNCTIONS} and transfers.csv; or a folder of such"
)


def load_dataflow(path: str | Path) -> Dataflow:
    """Read the dataflow of one program.

    Parameters
    ----------
    path : str or Path
        A profile (JSON), callgrind's output, or a folder with two tables (docs/communication.md).

    Raises
    ------
    InputError
        Where it is none of them, or is wrong; with every problem found.
    OSError
        Where it cannot be read.
    """
    path = Path(path)
    dataflow = _read(path)
    if dataflow.computation.sum() + dataflow.total_bytes == 0:
        message = "no function computes anything, and none reads anything"
        raise InputError(str(path), [Problem("", message, "profile a run that does some work")])
    return dataflow


def _read(path: Path) -> Dataflow:
    if path.is_dir():
        return read_tables(path)
    start = _start(path)
    if start.lstrip().startswith("{"):
        return from_profile(
            Profile.load(path), path.name.removesuffix(".json").removesuffix(".profile")
        )
    if any(line.startswith(("# callgrind format", "events:")) for line in start.splitlines()):
        return read_callgrind(path)
    raise InputError(str(path), [Problem("", "this is no dataflow of a program", _FORMS)])


def load_dataflows(path: str | Path) -> Dataflows:
    """Read the dataflow of one program, or of each in a folder in the order of their names.

    Parameters
    ----------
    path : str or Path
        What :func:`load_dataflow` takes, or a folder of such.

    Raises
    ------
    InputError
        As :func:`load_dataflow`; for a folder all problems of all its files.
    """
    path = Path(path)
    if not path.is_dir() or (path / FUNCTIONS).exists():
        return Dataflows((load_dataflow(path),))
    entries = sorted(entry for entry in path.iterdir() if not entry.name.startswith("."))
    programs, problems = [], []
    for entry in entries:
        try:
            programs.append(load_dataflow(entry))
        except InputError as error:
            for p in error.problems:
                where = f"{entry.name}: {p.where}" if p.where else entry.name
                problems.append(Problem(where, p.message, p.remedy))
    if not entries:
        problems.append(Problem("", "the folder is empty", _FORMS))
    if problems:
        raise InputError(str(path), problems)
    return Dataflows(tuple(programs))


def from_profile(profile: Profile, program: str = "") -> Dataflow:
    """Return the dataflow of a profile.

    Raises
    ------
    InputError
        Where the profile was made without transfers.
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
    transfers = (profile.transfers, profile.transfers_into, profile.transfers_out)
    own = [f.name for f in profile.functions]
    origins = {name for rows in transfers for t in rows for name in (t.source, t.to)} - set(own)
    names = (*own, *sorted(origins))
    at = {name: i for i, name in enumerate(names)}
    filler = [0] * len(origins)
    tree = _tree(profile, at)
    between, into, out = (
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
        tree,
        tuple(profile.notes),
    )


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
                    Problem(f"call_tree.{i}.parent", "is no earlier node", f"below {i}, or -1")
                    for i in wrong
                ),
            ],
        )
    parent = np.array([node.parent for node in nodes], dtype=np.int64)
    function = np.array([at[node.function] for node in nodes], dtype=np.int64)
    invocations = _floats([node.invocations for node in nodes])
    computation = _floats([node.computation for node in nodes])
    tree = CallTree(parent, function, invocations, invocations, computation)
    homes = {block.id: at[block.function] for block in profile.blocks}
    calls = [
        (homes[call.source], at[call.to], float(call.count))
        for call in profile.calls
        if call.to in at
    ]
    return CallTree(parent, function, invocations, entered(tree, calls, len(at)), computation)


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


def _start(path: Path) -> str:
    with path.open(encoding="utf-8", errors="replace") as file:
        return file.read(4096)
