"""A profile as a graph of blocks: what running each costs, and what separating two of them costs.

Source: T. Kenter, M. Platzner, C. Plessl, M. Kauschke, "Performance Estimation for the Exploration
of CPU-Accelerator Architectures", 2010, section II-A. The paper leaves details open, which are
decided here; docs/explanation/partition.md gives the reasons.

* t_e counts every instruction but loads, stores, block copies (memory accesses), phi nodes and
  stack allocations (no instructions of a machine), by class: casts are free in hardware.
* Control passes along the edges of the control-flow graphs, from a call to the callee's entry, and
  from the callee's returns back to the calling block. If a function returns from several
  blocks, each call is shared among them as the returns are.
* A value is passed once for each pair of blocks (definition, use). The arguments of a call are
  values from the calling block to the callee's entry, its result one from the returning block back.
* Library functions, and blocks that call one, stay on the CPU. Library functions that copy memory
  are an exception: they may move like a function of one block, whose accesses are the accesses of
  the copy, and so may blocks that call them.
* Blocks that were never executed cost nothing and are left out.
"""

from __future__ import annotations

import dataclasses
import functools
import hashlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from dse.model import Array
from dse.profile.document import OUTSIDE, Block, Profile

Indices = NDArray[np.int64]

COPIES = frozenset({"memcpy", "memmove", "memset"})
"""Library functions that compute nothing: the accesses in the profile are all that they do."""
COPY_AREA = 8
"""Instructions of a loop that copies: a phi, two addresses, a load, a store, an addition, a
comparison, a branch."""
COSTED = ("logical", "multiply", "divide", "float", "float_divide", "cast")
"""Classes of instructions that may take more or less than others."""
_NO_OPERATION = ("load", "store", "copy", "phi", "alloca")


class Controls(NamedTuple):
    """How often control passes from one block to another; arrays of one element a pair."""

    source: Indices
    target: Indices
    transfers: Array


class Registers(NamedTuple):
    """Values that one block defines and another uses; arrays of one element a pair and rate."""

    source: Indices
    target: Indices
    values: Array
    defined: Array
    """Executions of the definition: as often a value is pushed."""
    used: Array
    """Executions of the use: as often a value is pulled."""


class Crossings(NamedTuple):
    """Lines of a cache that `source` wrote or brought in and others then touched; by rows.

    A row is one owner and one set of readers, which touch a line until it is written again or
    leaves the cache. The last two arrays have an element for each reader of each row.
    """

    level: Indices
    """1 or 2: the cache."""
    source: Indices
    dirty: Array
    """Times that the owner had written the line."""
    clean: Array
    """Times that it had brought it in."""
    row: Indices
    """The row of each reader, ascending."""
    reader: Indices


@dataclass(frozen=True, eq=False)
class Graph:
    """The executed blocks of a program in one cache configuration: an element, or a row, each."""

    program: str
    block: Indices
    """Their numbers in the profile."""
    function: tuple[str, ...]
    name: tuple[str, ...]
    """LLVM's."""
    line: Indices
    executions: Array
    operations: Array
    """Instructions with register operands of the whole run, shape (blocks, classes): instructions
    without a class, then the classes of `COSTED`."""
    hits: Array
    """Loads and stores of the whole run by the level that answers: L1, L2, main memory."""
    area: Indices
    """LLVM instructions."""
    movable: NDArray[np.bool_]
    """Whether the accelerator can run it."""
    controls: Controls
    registers: Registers
    """The costs of separating two blocks, as `controls`; both are positions in these arrays."""
    crossings: Crossings
    """The costs of separating readers from an owner; -1 is a block that never ran: on the CPU."""
    text: tuple[str, ...] = ()
    """The text of each block's line in the source; empty if it is not known."""
    library: float = 0.0
    """Instructions of libraries, over the instructions of the program itself; 0: not counted."""

    def __len__(self) -> int:
        return len(self.block)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Graph) and self.digest == other.digest

    def __hash__(self) -> int:
        return hash(self.digest)

    @functools.cached_property
    def digest(self) -> str:
        """SHA-256 over all that is in it: the same graph in another process is the same."""
        whole = hashlib.sha256()
        for field in dataclasses.fields(self):
            value = getattr(self, field.name)
            for part in value if isinstance(value, tuple) else (value,):
                text = part.tobytes() if isinstance(part, np.ndarray) else str(part).encode()
                whole.update(len(text).to_bytes(8) + text)
        return whole.hexdigest()


def make_graph(profile: Profile, program: str, cache: int = 0) -> Graph:
    """Return the graph of a profile in one of its cache configurations; ValueError without it."""
    if not 0 <= cache < len(profile.settings.caches):
        raise ValueError(
            f"{program}: there is no cache configuration {cache}; "
            f"the profile has {len(profile.settings.caches)}"
        )
    blocks = [block for block in profile.blocks if block.executions > 0]
    copies = _copies(profile)
    place = {block.id: i for i, block in enumerate(blocks)}
    hits = np.zeros((len(blocks), 3))
    for access in profile.accesses:
        if access.block in place:
            hits[place[access.block]] += access.hits[cache]
    return Graph(
        program=program,
        block=np.array([b.id for b in blocks], np.int64),
        function=tuple(b.function for b in blocks),
        name=tuple(b.name for b in blocks),
        line=np.array([b.line for b in blocks], np.int64),
        executions=np.array([b.executions for b in blocks], float),
        operations=np.array([_operations(b) for b in blocks], float).reshape(-1, 1 + len(COSTED)),
        hits=hits,
        area=np.array([COPY_AREA if b.function in copies else b.area for b in blocks], np.int64),
        movable=_movable(profile, blocks),
        controls=_controls(profile, place),
        registers=_registers(profile, place),
        crossings=_crossings(profile, place, cache),
        text=_text(profile, blocks),
        library=_library(profile),
    )


def _library(profile: Profile) -> float:
    """Return `Graph.library`; copies in libraries are blocks of the graph."""
    own = sum(function.instructions or 0 for function in profile.functions)
    work = [each for function in profile.functions for each in function.libraries]
    return sum(each.instructions for each in work if not each.copies) / own if own else 0.0


def _text(profile: Profile, blocks: list[Block]) -> tuple[str, ...]:
    texts, files = profile.texts, {f.name: f.file for f in profile.functions}
    found = tuple(texts.get((files[block.function], block.line), "") for block in blocks)
    return found if any(found) else ()


def _operations(block: Block) -> list[int]:
    every = sum(n for kind, n in block.instructions.items() if kind not in _NO_OPERATION)
    costed = [block.instructions.get(kind, 0) for kind in COSTED]
    return [block.executions * n for n in (every - sum(costed), *costed)]


def _copies(profile: Profile) -> set[str]:
    """Return the library functions that copy memory, by name."""
    return {f.name for f in profile.functions if f.foreign and f.symbol in COPIES}


def _movable(profile: Profile, blocks: list[Block]) -> NDArray[np.bool_]:
    foreign = {f.name for f in profile.functions if f.foreign} | {OUTSIDE}
    foreign -= _copies(profile)
    calling = {call.source for call in profile.calls if call.to in foreign}
    return np.array([b.function not in foreign and b.id not in calling for b in blocks], bool)


class _Passage(NamedTuple):
    """A part of the executions of one call: into the callee's entry, or out of one of its returns.

    Source and target are block numbers of the profile.
    """

    source: int
    target: int
    times: float
    values: int


def _passages(profile: Profile) -> Iterator[_Passage]:
    """Yield calls and returns between blocks of the program."""
    copies = _copies(profile)
    entries = {f.name: f.entry for f in profile.functions if not f.foreign or f.name in copies}
    returns: dict[str, list[tuple[int, int]]] = {}
    for block in profile.blocks:
        if block.exits > 0:
            returns.setdefault(block.function, []).append((block.id, block.exits))
    for call in profile.calls:
        entry = entries.get(call.to)
        if entry is None or call.count == 0:
            continue
        yield _Passage(call.source, entry, call.count, call.arguments)
        leaving = returns.get(call.to, [])
        every = sum(exits for _, exits in leaving)
        for block_id, exits in leaving:
            yield _Passage(block_id, call.source, call.count * (exits / every), int(call.result))


def _controls(profile: Profile, place: dict[int, int]) -> Controls:
    rows = [(e.source, e.to, float(e.count)) for e in profile.edges]
    rows += [(p.source, p.target, p.times) for p in _passages(profile)]
    ends, _, (transfers,) = _summed(rows, place, 0, 1)
    return Controls(*ends, transfers)


def _registers(profile: Profile, place: dict[int, int]) -> Registers:
    executions = {block.id: float(block.executions) for block in profile.blocks}
    rows = [
        (r.source, to, executions[r.source], executions[to], 1.0)
        for r in profile.registers
        for to in r.to
    ]
    rows += [(p.source, p.target, p.times, p.times, float(p.values)) for p in _passages(profile)]
    ends, (defined, used), (values,) = _summed([r for r in rows if r[4] > 0], place, 2, 1)
    return Registers(*ends, values, defined, used)


def _crossings(profile: Profile, place: dict[int, int], cache: int) -> Crossings:
    rows = [c for c in profile.crossings if c.cache == cache]
    columns = np.array([(c.level, c.dirty, c.clean, len(c.to)) for c in rows], np.int64)
    level, dirty, clean, readers = columns.reshape(-1, 4).T
    return Crossings(
        level,
        np.array([place.get(c.source, -1) for c in rows], np.int64),
        dirty.astype(np.float64),
        clean.astype(np.float64),
        np.repeat(np.arange(len(rows)), readers),
        np.array([place.get(to, -1) for c in rows for to in c.to], np.int64),
    )


def _summed(
    rows: Sequence[tuple[float, ...]], place: dict[int, int], rates: int, last: int
) -> tuple[tuple[Indices, Indices], list[Array], list[Array]]:
    """Sum the `last` columns of rows that agree in all others: two blocks, and `rates` numbers.

    Return the two blocks' positions, the other columns that rows agree in, and the sums. Rows
    within one block, and of blocks never executed, are left out.
    """
    kept = [
        (place[int(row[0])], place[int(row[1])], *row[2:])
        for row in rows
        if row[0] != row[1] and row[0] in place and row[1] in place
    ]
    table = np.array(kept, np.float64).reshape(-1, 2 + rates + last)
    keys, position = np.unique(table[:, :-last], axis=0, return_inverse=True)
    sums = [
        np.bincount(position.ravel(), column, minlength=len(keys)).astype(np.float64)
        for column in table[:, -last:].T
    ]
    ends = (keys[:, 0].astype(np.int64), keys[:, 1].astype(np.int64))
    return ends, list(keys[:, 2:].T), sums
