"""The time of a partitioned program, replayed access by access from its full trace.

Two cores, each with caches of its own above the shared level. One simulated cache decides, as in
Kenter et al. 2010, which level answers an access; beside it each core has or lacks a copy of each
line, and at most one core has it written. All mappings are replayed at once: a copy is a whole
number with one bit for each mapping in which the core has it.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dse.profile.document import CacheLevels, Profile
from tests.profile.reference import Cache

CPU, ACC = 0, 1


@dataclass
class Line:
    """Who has it: bits of the mappings, for each core."""

    level1: list[int] = field(default_factory=lambda: [0, 0])
    level2: list[int] = field(default_factory=lambda: [0, 0])
    written: list[int] = field(default_factory=lambda: [0, 0])


@dataclass
class Memory:
    """What an organisation costs, in cycles."""

    level1: float
    level2: float
    memory: float
    shared: int
    cached: bool


class Replay:
    """Counts events by the bits of the mappings in which they happen."""

    def __init__(
        self,
        moved: NDArray[np.bool_],
        levels: CacheLevels,
        memory: Memory,
        copies: dict[int, int] | None = None,
    ) -> None:
        """Take mappings, shape (mappings, blocks), by block number.

        `copies` are the blocks of library functions that copy memory, by number of the function.
        """
        self.all = (1 << len(moved)) - 1
        weights = [1 << i for i in range(len(moved))]
        self.bits = [
            sum(w for w, m in zip(weights, column, strict=True) if m) for column in moved.T
        ]
        self.count, self.memory, self.cache = len(moved), memory, Cache(levels)
        self.lines: dict[int, Line] = {}
        self.cycles: Counter[tuple[int, float]] = Counter()  # by mappings and cycles
        self.controls: Counter[int] = Counter()
        self.stack = [-1]
        self.copies = copies or {}

    def cores(self, block: int) -> tuple[int, int]:
        there = self.bits[block]
        return self.all & ~there, there

    def follow(self, trace: list[Any]) -> None:
        copied = 0
        for kind, _, number, block, size, address in trace:
            if kind == b"E":
                self.stack.append(-1)
                if number in self.copies:
                    self._pass(self.copies[number])
                    self.stack[-1] = self.copies[number]
            elif kind == b"X":
                self._leave(number)
            elif kind == b"B":
                self._pass(number)
                self.stack[-1] = number
            elif kind in (b"L", b"S"):
                lines = self.cache.lines(address, size)
                self._pay(block, max([self._touch(n, block, kind == b"S") for n in lines]))
            elif kind == b"P":
                copied = address
            elif kind == b"p":  # byte by byte
                last = [-1, -1]
                for at in range(size):
                    for write, start in enumerate((copied, address)):
                        n = (start + at) // self.cache.line
                        if last[write] != n:
                            last[write] = n
                            self._pay(block, self._touch(n, block, bool(write)))
            elif kind in (b"K", b"k"):  # of the operating system: no access of the program
                for n in self.cache.lines(address, size):
                    self._touch(n, block, kind == b"k")
            elif kind in (b"R", b"W"):
                for n in self.cache.lines(address, size):
                    self._pay(block, self._touch(n, block, kind == b"W"))

    def _pass(self, block: int) -> None:
        """Control comes to a block from the one before, in this call or in one around it."""
        before = next((b for b in reversed(self.stack) if b >= 0), block)
        self.controls[self.bits[before] ^ self.bits[block]] += 1

    def _leave(self, depth: int) -> None:
        last = self.stack[-1]
        del self.stack[depth + 1 :]
        back = self.stack[-1]
        if last >= 0 and back >= 0:
            self.controls[self.bits[last] ^ self.bits[back]] += 1

    def _pay(self, block: int, level: int) -> None:
        m, (cpu, acc) = self.memory, self.cores(block)
        latency = (m.level1, m.level2, m.memory)[level]
        floor = 0.0 if m.cached else (m.level2 if m.shared == 2 else m.memory)
        self.cycles[cpu, latency] += 1
        self.cycles[acc, max(latency, floor)] += 1

    def _touch(self, number: int, block: int, write: bool) -> int:
        level = self.cache.touch(number, block, write)
        line = self.lines.setdefault(number, Line())
        if level == 2:
            line = self.lines[number] = Line()
        elif level == 1:
            line.level1 = [0, 0]
            if self.memory.shared == 2:
                line.written = [0, 0]  # it went to the shared cache
        for core, here in enumerate(self.cores(block)):
            if self.memory.shared > 1:
                self._fetch(line, core, here, level)
                self._keep(line, core, here, write)
        return level

    def _fetch(self, line: Line, core: int, here: int, level: int) -> None:
        """Pay for what the core lacks and for what the other one has to write back."""
        m, lacking = self.memory, here & ~line.level1[core]
        shared = m.level2 if m.shared == 2 else m.memory
        if m.shared == 3 and (core == CPU or m.cached):
            self.cycles[here & ~line.level2[core], m.memory - m.level2] += level < 2
        if level == 0 and (core == CPU or m.cached):
            self.cycles[lacking, m.level2 - m.level1] += 1
        back = here & line.written[1 - core]
        self.cycles[back, shared] += 1
        line.written[1 - core] &= ~here

    def _keep(self, line: Line, core: int, here: int, write: bool) -> None:
        if write:
            for copies in (line.level1, line.level2):
                copies[1 - core] &= ~here
        if core == CPU or self.memory.cached:
            line.level1[core] |= here
            line.level2[core] |= here
            line.written[core] |= here * write

    def times(self) -> NDArray[np.float64]:
        """Cycles of memory of each mapping."""
        return self._sum({bits: 0.0 for bits, _ in self.cycles} | self._by_bits())

    def _by_bits(self) -> dict[int, float]:
        found: dict[int, float] = {}
        for (bits, cycles), count in self.cycles.items():
            found[bits] = found.get(bits, 0.0) + cycles * count
        return found

    def transfers(self) -> NDArray[np.float64]:
        """Transfers of control of each mapping."""
        return self._sum({bits: float(count) for bits, count in self.controls.items()})

    def _sum(self, amounts: dict[int, float]) -> NDArray[np.float64]:
        found = np.zeros(self.count)
        for bits, amount in amounts.items():
            found += amount * np.array([bits >> i & 1 for i in range(self.count)])
        return found


def execution(profile: Profile, trace: list[Any], moved: NDArray[np.bool_]) -> NDArray[np.float64]:
    """Cycles of instructions on registers at 1 cycle on the CPU, 0.5 on the accelerator."""
    runs = Counter(number for kind, _, number, *_ in trace if kind == b"B")
    found = np.zeros(len(moved))
    for block in profile.blocks:
        kinds = dict(block.instructions)
        for memory in ("load", "store", "copy", "phi", "alloca"):
            kinds.pop(memory, None)
        every = sum(kinds.values())
        each = np.where(moved[:, block.id], 0.5 * (every - kinds.get("cast", 0)), every)
        found += runs[block.id] * each
    return found
