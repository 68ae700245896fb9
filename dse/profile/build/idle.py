"""Remove idle hooks from a program's object, once the options of the measurement are known.

The object has all hooks under all options. Its functions therefore keep their locals at the same
addresses. A call of a hook that returns at once can cost as much as the rest of the program: this
module overwrites such a call with the body of the hook, and an addition to an unread counter with
no-operations. No instruction and no local changes its address. Objects for processors other than
x86-64 stay unchanged.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dse.profile.build.elf import X86_64, file_machine, list_sections

_SYMBOL = np.dtype("<u4, u1, u1, <u2, <u8, <u8")  # name, kind, -, section, place in it, bytes
_RELOCATION = np.dtype("<u8, <u4, <u4, <i8")  # place, kind, symbol, addend
_SYMTAB, _RELA = 2, 4  # kinds of sections
_NONE, _RELATIVE = (
    0,
    (2, 4),
)  # kinds of relocations; the relative ones count from the address itself
_FUNCTION = 2  # a kind of symbol
_PAUSES = {  # instructions that do nothing, by their bytes
    3: bytes.fromhex("0f1f00"),
    5: bytes.fromhex("0f1f440000"),
    7: bytes.fromhex("0f1f8000000000"),
    8: bytes.fromhex("0f1f840000000000"),
}


@dataclass(frozen=True, slots=True)
class _Edit:
    """The bytes before the address in an instruction, and the bytes that replace them all."""

    before: bytes
    instead: bytes


_CALLS = {  # by the code of the called hook
    b"\xc3": _Edit(b"\xe8", _PAUSES[5]),
    b"\x31\xc0\xc3": _Edit(b"\xe8", b"\x31\xc0" + _PAUSES[3]),  # the result is 0
}
_ADDITIONS = (
    _Edit(b"\x48\xff\x05", _PAUSES[7]),
    _Edit(b"\x48\x83\x05", _PAUSES[8]),
    _Edit(b"\x48\x83\x2d", _PAUSES[8]),  # 128 more is -128 less, in one byte
    _Edit(b"\x48\x81\x05", _PAUSES[8] + _PAUSES[3]),
)


def remove_idle_hooks(program: bytes, runtime: bytes, unread: Collection[str] = ()) -> bytes:
    """Return a program's object without its calls of hooks that do nothing in the runtime.

    Parameters
    ----------
    program, runtime : bytes
        Object files.
    unread : collection of str
        Numbers of the runtime that nothing reads: the program adds to them in vain.
    """
    if file_machine(program) != X86_64 or file_machine(runtime) != X86_64:
        return program
    edits = {name: (edit,) for name, edit in _idle(runtime)} | dict.fromkeys(unread, _ADDITIONS)
    made, found = np.frombuffer(program, np.uint8).copy(), list(list_sections(program))
    chosen = {i: edits[name] for i, name, _ in _symbols(program) if name in edits}
    for each in found:
        if each.kind != _RELA:
            continue
        listed = made[each.offset : each.offset + each.size].view(_RELOCATION)
        for symbol, of_symbol in chosen.items():
            at = np.flatnonzero(listed["f2"] == symbol)
            for edit in of_symbol:
                done = at[_overwrite(made, found[each.info].offset, listed[at], edit)]
                listed["f1"][done] = _NONE
    return made.tobytes()


def _overwrite(
    made: NDArray[np.uint8], section: int, relocations: NDArray[Any], edit: _Edit
) -> NDArray[np.bool]:
    """Overwrite the instructions of an edit, and return which relocations were theirs."""
    size = len(edit.before)
    at = section + relocations["f0"].astype(np.int64) - size
    before = made[at[:, None] + np.arange(size)]
    right: NDArray[np.bool] = (before == np.frombuffer(edit.before, np.uint8)).all(axis=1)
    right &= relocations["f3"] == size - len(edit.instead)  # the bytes after the address
    right &= np.isin(relocations["f1"], _RELATIVE)
    instead = np.frombuffer(edit.instead, np.uint8)
    made[at[right, None] + np.arange(len(instead))] = instead
    return right


def _idle(runtime: bytes) -> Iterator[tuple[str, _Edit]]:
    """Yield the functions that a call need not reach, and what to do with the call."""
    found = list(list_sections(runtime))
    for _, name, symbol in _symbols(runtime):
        if symbol["f1"] & 15 == _FUNCTION and 0 < symbol["f3"] < len(found):
            start = found[symbol["f3"]].offset + int(symbol["f4"])
            if edit := _CALLS.get(runtime[start : start + int(symbol["f5"])]):
                yield name, edit


def _symbols(data: bytes) -> Iterator[tuple[int, str, Any]]:
    """Yield number, name and entry of each of our symbols."""
    found = list(list_sections(data))
    for table in found:
        if table.kind != _SYMTAB:
            continue
        texts = found[table.link]
        text = data[texts.offset : texts.offset + texts.size]
        listed = np.frombuffer(data[table.offset : table.offset + table.size], _SYMBOL)
        for number, start in enumerate(listed["f0"].tolist()):
            if text.startswith(b"__dse_", start):
                yield number, text[start : text.find(b"\0", start)].decode(), listed[number]
