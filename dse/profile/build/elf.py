"""Read, add and align sections of an ELF file, and read the members of archives.

It reads section headers only: 64 bits, little-endian.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

_HEADER = struct.Struct("<16sHHIQQQIHHHHHH")
_SECTION = struct.Struct("<IIQQQQIIQQ")
_PROGBITS, _SYMTAB, _STRTAB = 1, 2, 3
_SYMBOL = struct.Struct("<IBBHQQ")
_MAGIC = b"\x7fELF\x02\x01"
_PAGES = 1 << 16
_FIRST_RESERVED = 0xFF00  # of the numbers of sections
RELOCATABLE, EXECUTABLE, SHARED = 1, 2, 3
X86_64, AARCH64 = 62, 183


@dataclass(frozen=True, slots=True)
class Section:
    """The header of a section: numbers as ELF has them, offset and size in the file [B]."""

    name: bytes
    kind: int
    offset: int
    size: int
    link: int
    info: int


def file_kind(data: bytes) -> int:
    """Return RELOCATABLE, EXECUTABLE or SHARED, 0 for what is not such a file."""
    if len(data) < _HEADER.size or not data.startswith(_MAGIC):
        return 0
    return int(_HEADER.unpack_from(data)[1])


def file_machine(data: bytes) -> int:
    """Return the processor that such a file is for, 0 for what is not such a file."""
    return int(_HEADER.unpack_from(data)[2]) if file_kind(data) else 0


def list_sections(data: bytes) -> Iterator[Section]:
    """Yield the sections of an ELF file in their order."""
    head = _HEADER.unpack_from(data)
    start, count, names = head[6], head[12], head[13]
    if not start or start + count * _SECTION.size > len(data) or names >= count:
        return
    found = [_SECTION.unpack_from(data, start + i * _SECTION.size) for i in range(count)]
    text = data[found[names][4] : found[names][4] + found[names][5]]
    for each in found:
        name = text[each[0] : text.find(b"\0", each[0])]
        yield Section(name, each[1], each[4], each[5], each[6], each[7])


def read_section(data: bytes, name: str) -> bytes:
    """Return the content of a section, empty if there is none."""
    if not file_kind(data):
        return b""
    wanted = name.encode()
    return b"".join(
        data[each.offset : each.offset + each.size]
        for each in list_sections(data)
        if each.name == wanted
    )


def symbol_addresses(data: bytes) -> dict[str, int]:
    """Return the address of each symbol in an ELF file, none if they were stripped."""
    headers = list(list_sections(data))
    addresses = {}
    for table in (each for each in headers if each.kind == _SYMTAB):
        names = data[headers[table.link].offset :][: headers[table.link].size]
        for entry in _SYMBOL.iter_unpack(data[table.offset : table.offset + table.size]):
            name = names[entry[0] : names.find(b"\0", entry[0])].decode("utf-8", "replace")
            if name and entry[4]:
                addresses[name] = int(entry[4])
    return addresses


def add_section(data: bytes, name: str, content: bytes) -> bytes:
    """Return an object file with one section more, that is not loaded.

    Raises
    ------
    ValueError
        If the file is no object file of this kind, or has too many sections for this.
    """
    if file_kind(data) != RELOCATABLE:
        raise ValueError("not an object file in ELF, 64 bits")
    head = list(_HEADER.unpack_from(data))
    start, count, names = head[6], head[12], head[13]
    if not start or not 0 < count < _FIRST_RESERVED - 1:
        raise ValueError("an object file with too many sections")
    headers = [list(_SECTION.unpack_from(data, start + i * _SECTION.size)) for i in range(count)]
    old = headers[names]
    text = data[old[4] : old[4] + old[5]]
    at = len(data)
    headers[names][4:6] = [at, len(text) + len(name) + 1]
    tail = text + name.encode() + b"\0"
    headers.append([len(text), _PROGBITS, 0, 0, at + len(tail), len(content), 0, 0, 1, 0])
    tail += content
    tail += bytes(-(at + len(tail)) % 8)
    head[6], head[12] = at + len(tail), count + 1
    table = b"".join(_SECTION.pack(*each) for each in headers)
    return _HEADER.pack(*head) + data[_HEADER.size :] + tail + table


def align_sections(data: bytes, alignments: Mapping[str, int]) -> bytes:
    """Return an object file some sections of which begin at multiples of larger numbers.

    In the file they stay where they are: what writes objects would pad it.

    Parameters
    ----------
    data : bytes
        An object file.
    alignments : mapping of str to int
        Powers of two by section [B].
    """
    made, at = bytearray(data), _HEADER.unpack_from(data)[6]
    for number, each in enumerate(list_sections(data)):
        if wanted := alignments.get(each.name.decode()):
            place = at + number * _SECTION.size
            header = list(_SECTION.unpack_from(data, place))
            header[8] = max(header[8], wanted)
            _SECTION.pack_into(made, place, *header)
    return bytes(made)


def write_sparse(path: Path, data: bytes) -> None:
    """Write a file that takes no room on the disk for pages of zeros."""
    zeros = bytes(_PAGES)
    with path.open("wb") as file:
        for at in range(0, len(data), _PAGES):
            part = data[at : at + _PAGES]
            if part != zeros:
                file.seek(at)
                file.write(part)
        file.truncate(len(data))


def make_object(name: str, content: bytes, machine: int) -> bytes:
    """Return an object file of one section that is not loaded."""
    names = b"\0.shstrtab\0.note.GNU-stack\0"
    head = [_MAGIC + b"\x01" + bytes(9), RELOCATABLE, machine, 1, 0, 0, 0, 0]
    head += [_HEADER.size, 0, 0, _SECTION.size, 3, 1]
    start = _HEADER.size + len(names)
    start += -start % 8
    head[6] = start
    empty = _SECTION.pack(*[0] * 10)
    text = _SECTION.pack(1, _STRTAB, 0, 0, _HEADER.size, len(names), 0, 0, 1, 0)
    stack = _SECTION.pack(11, _PROGBITS, 0, 0, _HEADER.size, 0, 0, 0, 1, 0)
    body = names.ljust(start - _HEADER.size, b"\0") + empty + text + stack
    return add_section(_HEADER.pack(*head) + body, name, content)


def is_archive(data: bytes) -> bool:
    """Return whether a file is an archive; a thin one counts."""
    return data.startswith((b"!<arch>\n", b"!<thin>\n"))


def list_members(path: Path, data: bytes) -> Iterator[tuple[str, bytes]]:
    """Yield name and content of each member of an archive; of a thin one, from their files."""
    thin, at, long = data.startswith(b"!<thin>\n"), 8, b""
    while at + 60 <= len(data):
        name, size = data[at : at + 16].rstrip(), int(data[at + 48 : at + 58])
        at += 60
        special = name in (b"/", b"//", b"/SYM64/", b"__.SYMDEF")
        content = data[at : at + size] if special or not thin else b""
        if special or not thin:
            at += size + size % 2
        if name == b"//":
            long = content
        if special:
            continue
        if name.startswith(b"/") and name[1:].isdigit():
            first = int(name[1:])
            name = long[first : long.find(b"\n", first)]
        text = name.rstrip(b"/").decode("utf-8", "replace")
        if thin:
            file = path.parent / text
            content = file.read_bytes() if file.is_file() else b""
        yield text, content
