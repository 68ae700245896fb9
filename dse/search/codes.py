"""A set of 64-bit codes with operations on arrays: a hash table with open addresses.

A search asks for millions of codes whether it has evaluated their designs. A Python set takes 100
bytes per code and a loop; this table takes 16 to 32 bytes, and each probe handles a whole array.
Slots by multiplication, linear probing (Knuth, The Art of Computer Programming, volume 3, 6.4).
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

_SLOTS = 1_024
_SPARSE = 2  # slots a code at least: few probes
_SPREAD = np.uint64(0x9E3779B97F4A7C15)  # 2^64 over the golden ratio
_FREE = np.uint64(2**64 - 1)

Words = NDArray[np.uint64]


class Codes:
    """A set of codes. It cannot hold 2^64 - 1, which marks an empty slot."""

    def __init__(self) -> None:
        self._table = np.full(_SLOTS, _FREE)
        self._count = 0

    def __len__(self) -> int:
        return self._count

    def every(self) -> Words:
        """Return all codes, in no order."""
        held: Words = self._table[self._table != _FREE]
        return held

    def holds(self, codes: Words) -> NDArray[np.bool_]:
        """Return which codes are in the set."""
        found = np.zeros(len(codes), dtype=bool)
        asked, slots = np.arange(len(codes)), self._slots(codes)
        while len(asked):
            held = self._table[slots]
            same = held == codes[asked]
            found[asked[same]] = True
            on = ~same & (held != _FREE)
            asked, slots = asked[on], (slots[on] + 1) & (len(self._table) - 1)
        return found

    def add(self, codes: Words) -> None:
        """Add codes that are not in the set, each once."""
        self._count += len(codes)
        if self._count * _SPARSE > len(self._table):
            codes = np.concatenate([self.every(), codes])
            size = 1 << (2 * self._count * _SPARSE - 1).bit_length()
            self._table = np.full(size, _FREE)
        slots = self._slots(codes)
        while len(codes):
            free = self._table[slots] == _FREE
            self._table[slots[free]] = codes[free]  # of several for one slot, one gets it
            left = self._table[slots] != codes
            codes, slots = codes[left], (slots[left] + 1) & (len(self._table) - 1)

    def _slots(self, codes: Words) -> NDArray[np.int64]:
        bits = len(self._table).bit_length() - 1
        return ((codes * _SPREAD) >> np.uint64(64 - bits)).astype(np.int64)
