"""What a profile must say, worked out in plain Python from the full trace of a run.

Each rule is written as it is defined, with the slow means of its definition (paths of invocations,
one dictionary entry a byte, lists in order of use), not as the runtime does it.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from dse.profile.document import CacheLevels

EVENT = np.dtype(
    [
        ("kind", "S1"),
        ("pad", "u1"),
        ("levels", "<u2"),
        ("id", "<u4"),
        ("block", "<u4"),
        ("size", "<u4"),
        ("address", "<u8"),
    ]
)
CONSTANTS, INPUT, UNKNOWN = "(constants)", "(input)", "(unknown)"


def events(path: Path) -> list[Any]:
    """Read a trace as tuples (kind, levels, id, block, size, address)."""
    table = np.fromfile(path, EVENT)
    return [(k, v, i, b, s, a) for k, _, v, i, b, s, a in table.tolist()]


class Cache:
    """Inclusive caches with least recently used replacement, and who touched each line in each."""

    def __init__(self, levels: CacheLevels) -> None:
        self.line = levels.line
        self.sets1 = levels.l1 // levels.line // levels.l1_ways
        self.sets2 = levels.l2 // levels.line // levels.l2_ways
        self.ways1, self.ways2 = levels.l1_ways, levels.l2_ways
        self.first: dict[int, list[int]] = defaultdict(list)  # oldest use first
        self.second: dict[int, list[int]] = defaultdict(list)
        self.stays: dict[tuple[int, int], tuple[int, bool, set[int]]] = {}  # by level, line
        self.crossings: Counter[tuple[int, int, bool, frozenset[int]]] = Counter()

    def lines(self, address: int, size: int) -> range:
        return range(address // self.line, (address + size - 1) // self.line + 1)

    def touch(self, line: int, block: int, write: bool) -> int:
        """Return 0, 1 or 2: found in L1, in L2, or fetched from memory."""
        first = self.first[line % self.sets1]
        if line in first:
            first.remove(line)
            first.append(line)
            self._read(1, line, block)
            self._read(2, line, block)
            level = 0
        else:
            level = self._fill(line, block)
        if write:
            self._begin(1, line, block, True)
            self._begin(2, line, block, True)
        return level

    def _fill(self, line: int, block: int) -> int:
        first, second = self.first[line % self.sets1], self.second[line % self.sets2]
        level = 1 if line in second else 2
        if level == 1:
            second.remove(line)
            self._read(2, line, block)
        else:
            if len(second) == self.ways2:
                gone = second.pop(0)
                self._end(2, gone)
                if gone in self.first[gone % self.sets1]:
                    self.first[gone % self.sets1].remove(gone)
                    self._end(1, gone)
            self._begin(2, line, block, False)
        second.append(line)
        if len(first) == self.ways1:
            self._end(1, first.pop(0))
        first.append(line)
        self._begin(1, line, block, False)
        return level

    def _begin(self, level: int, line: int, block: int, dirty: bool) -> None:
        if (level, line) in self.stays:
            self._end(level, line)
        self.stays[level, line] = block, dirty, set()

    def _read(self, level: int, line: int, block: int) -> None:
        owner, _, readers = self.stays[level, line]
        readers |= {block} - {owner}

    def _end(self, level: int, line: int) -> None:
        owner, dirty, readers = self.stays.pop((level, line))
        if readers:
            self.crossings[level, owner, dirty, frozenset(readers)] += 1

    def end(self) -> None:
        """End every stay, as the run is over."""
        for level, line in list(self.stays):
            self._end(level, line)


@dataclass
class Caches:
    """Hits by (site, level) and crossings of one configuration."""

    hits: Counter[tuple[int, int]]
    crossings: Counter[tuple[int, int, bool, frozenset[int]]]  # level, owner, dirty, readers
    wrong: int  # accesses for which the program found another level


def simulate(trace: list[Any], levels: CacheLevels, number: int) -> Caches:
    """Run a trace through the caches, access by access."""
    cache, hits, wrong = Cache(levels), Counter[tuple[int, int]](), 0
    copied: tuple[int, int] | None = None  # the site and the address of what is copied
    for kind, found, site, block, size, address in trace:
        if kind in (b"L", b"S"):
            level = max(cache.touch(n, block, kind == b"S") for n in cache.lines(address, size))
            hits[site, level] += 1
            wrong += level != (found >> 2 * number & 3)
        elif kind in (b"P", b"r"):
            copied = site, address
        elif kind in (b"p", b"w") and copied:  # byte by byte
            last: dict[int, int] = {}
            for i in range(size):
                for where, at in ((copied[0], copied[1] + i), (site, address + i)):
                    if last.get(where) != at // cache.line:
                        last[where] = at // cache.line
                        hits[where, cache.touch(last[where], block, where == site)] += 1
            copied = None
        elif kind in (b"K", b"k"):  # of the operating system: no hit or miss of the program
            for n in cache.lines(address, size):
                cache.touch(n, block, kind == b"k")
        elif kind in (b"R", b"W", b"w"):
            for n in cache.lines(address, size):
                hits[site, cache.touch(n, block, kind in (b"W", b"w"))] += 1
    cache.end()
    return Caches(hits, cache.crossings, wrong)


@dataclass
class Invocation:
    """One call: its function, and the calls around it, itself last.

    `outermost` has the first call of each function on the path.
    """

    function: int
    path: tuple[int, ...]
    outermost: dict[int, int]
    touched: set[int] = field(default_factory=set)


@dataclass
class Flow:
    """What moved between functions (by number; origins by name)."""

    transfers: Counter[tuple[int | str, int]] = field(default_factory=Counter)
    into: Counter[tuple[int | str, int]] = field(default_factory=Counter)
    out: Counter[tuple[int, int]] = field(default_factory=Counter)
    local: Counter[int] = field(default_factory=Counter)
    invocations: Counter[int] = field(default_factory=Counter)
    blocks: Counter[int] = field(default_factory=Counter)
    edges: Counter[tuple[int, int]] = field(default_factory=Counter)
    reads: Counter[tuple[int, int | None]] = field(default_factory=Counter)  # site, writing block
    fetched: Counter[tuple[int | str, int]] = field(default_factory=Counter)
    returned: Counter[tuple[int, int]] = field(default_factory=Counter)
    words: dict[int, set[int]] = field(default_factory=lambda: defaultdict(set))
    call_words: dict[tuple[int, int], set[int]] = field(default_factory=lambda: defaultdict(set))


class Follower:
    """Applies the rule of Kim and Edwards to a trace: last writer and reader of each chunk."""

    def __init__(self, chunk: int = 1) -> None:
        self.chunk, self.flow = chunk, Flow()
        self.word = max(4, chunk)
        self.calls: dict[int, Invocation] = {7: Invocation(-1, (7,), {})}
        self.stack: list[list[int]] = [[7, -1]]  # invocation, last block
        self.writer: dict[int, int | str] = {}
        self.reader: dict[int, int] = {}
        self.held: dict[int, set[int]] = {}  # the functions that have a chunk's value
        self.sent: dict[int, set[tuple[int, int]]] = {}  # from which function, to which reader
        self.stored: dict[int, int | None] = {}  # the block that wrote
        self.spans: list[tuple[int, int]] = []
        self.input = 0

    def follow(self, trace: list[Any]) -> Flow:
        moved_from = 0
        for kind, _, number, block, size, address in trace:
            if kind == b"E":
                self._enter(number, address)
            elif kind == b"X":
                del self.stack[number + 1 :]
            elif kind == b"B":
                self._block(number)
            elif kind in (b"L", b"R", b"P", b"K"):
                self._touch(address, size)
                self._read(address, size)
                for byte in range(address, address + size):
                    self.flow.reads[number, self.stored.get(byte // self.word)] += 1
            elif kind in (b"S", b"W", b"p", b"k"):
                self._touch(address, size)
                self._write(address, size, self.stack[-1][0], block)
            elif kind == b"A":
                self._touch(address, size)
                self._write(address, size, self.stack[-2][0], block)
            elif kind == b"C":
                self._write(address, size, UNKNOWN, None)
            elif kind == b"Z":
                self._write(address, size, CONSTANTS, None)
            elif kind == b"V":
                moved_from = address
            elif kind == b"v":
                self._move(moved_from, address, size)
            elif kind == b"M":
                self.spans.append((address, address + (size << 12)))
            elif kind == b"I":
                self.input = address
        for call in self.calls.values():
            for pair in call.outermost.items():
                self.flow.words[pair[0]] |= call.touched
                self.flow.call_words[pair] |= call.touched
        return self.flow

    def _enter(self, function: int, invocation: int) -> None:
        around = self.calls[self.stack[-1][0]]
        outermost = {**around.outermost}
        outermost.setdefault(function, invocation)
        self.calls[invocation] = Invocation(function, (*around.path, invocation), outermost)
        self.stack.append([invocation, -1])
        self.flow.invocations[function] += 1

    def _block(self, block: int) -> None:
        before = self.stack[-1][1]
        self.flow.blocks[block] += 1
        if before >= 0:
            self.flow.edges[before, block] += 1
        self.stack[-1][1] = block

    def _touch(self, address: int, size: int) -> None:
        words = range(address // self.word, (address + size - 1) // self.word + 1)
        self.calls[self.stack[-1][0]].touched.update(words)

    def _chunks(self, address: int, size: int) -> Iterator[int]:
        yield from range(address // self.chunk, (address + size - 1) // self.chunk + 1)

    def _write(self, address: int, size: int, writer: int | str, block: int | None) -> None:
        if size:
            for at in self._chunks(address, size):
                self.writer[at] = writer
                self.reader.pop(at, None)
                wrote = self.calls[writer].outermost if isinstance(writer, int) else ()
                self.held[at], self.sent[at] = set(wrote), set()
            for word in range(address // self.word, (address + size - 1) // self.word + 1):
                whole = address <= word * self.word and (word + 1) * self.word <= address + size
                if block is not None or whole:
                    self.stored[word] = block

    def _move(self, source: int, target: int, size: int) -> None:
        for i in range(0, size, self.word):
            self.stored[(target + i) // self.word] = self.stored.get((source + i) // self.word)
        for i in range(0, size, self.chunk):
            a, b = (source + i) // self.chunk, (target + i) // self.chunk
            for table in (self.writer, self.reader):
                table.pop(b, None)
                if a in table:
                    table[b] = table[a]  # type: ignore[assignment]
            self.held[b] = set(self.held.get(a, ()))
            self.sent[b] = set(self.sent.get(a, ()))

    def _origin(self, address: int) -> str:
        if address >= self.input:
            return INPUT
        return CONSTANTS if any(low <= address < high for low, high in self.spans) else UNKNOWN

    def _read(self, address: int, size: int) -> None:
        me = self.stack[-1][0]
        for at in self._chunks(address, size):
            before = self.reader.get(at)
            if before != me:
                writer = self.writer.get(at)
                start = max(address, at * self.chunk) if self.chunk == 1 else at * self.chunk
                origin = writer if writer is not None else self._origin(start)
                self._credit(origin, before, me)
                self._keep(at, origin, me)
            self.reader[at] = me

    def _credit(self, writer: int | str, before: int | None, me: int) -> None:
        mine = self.calls[me]
        if writer == me:
            self.flow.local[mine.function] += self.chunk
            return
        source: int | str = self.calls[writer].function if isinstance(writer, int) else writer
        self.flow.transfers[source, mine.function] += self.chunk
        wrote = self.calls[writer].path if isinstance(writer, int) else ()
        read = self.calls[before].path if before is not None else ()
        for function, outermost in mine.outermost.items():
            if outermost not in wrote and outermost not in read:
                self.flow.into[source, function] += self.chunk
        if isinstance(writer, int):
            for function, outermost in self.calls[writer].outermost.items():
                if outermost not in mine.path:
                    self.flow.out[function, mine.function] += self.chunk

    def _keep(self, at: int, writer: int | str, me: int) -> None:
        """Count what comes to a function that has not had it, and goes to one that has not."""
        if writer == me:
            return
        mine = self.calls[me]
        source: int | str = self.calls[writer].function if isinstance(writer, int) else writer
        held, sent = self.held.setdefault(at, set()), self.sent.setdefault(at, set())
        for function in mine.outermost.keys() - held:
            self.flow.fetched[source, function] += self.chunk
        held.update(mine.outermost)
        wrote = self.calls[writer].outermost if isinstance(writer, int) else {}
        for function, outermost in wrote.items():
            if outermost not in mine.path and (function, mine.function) not in sent:
                self.flow.returned[function, mine.function] += self.chunk
                sent.add((function, mine.function))
