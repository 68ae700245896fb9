"""Records that the compiler leaves in a section of each file that it writes.

An object holds one record: the LLVM IR of its source (a module), or why there is none. A
linked file holds the records of its objects, since linkers join sections of one name, and a record
of its link. Archives and partial links keep them too.
"""

from __future__ import annotations

import json
import struct
import zlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

SECTION = ".dse.profile"
_MAGIC = b"DSE profile 1\0\0\0"
_SIZES = struct.Struct("<II")


@dataclass(frozen=True, slots=True)
class Record:
    """One record.

    Parameters
    ----------
    kind : {"module", "native", "link", "object", "file"}
        IR of a source; a source without IR; how a file was linked; an object file that had no other
        place; a file without IR, copied in case that it is removed.
    about : dict
        Of a module: ``source``, ``flags``, ``cxx``; of a native source: ``source``, ``why``; of a
        link: ``directory``, ``arguments``, ``cxx``, ``native``, ``libraries``; of a file:
        ``argument``, ``path``.
    data : bytes
        The IR as bitcode, the object or the file.
    """

    kind: str
    about: Mapping[str, Any]
    data: bytes = b""


def pack_record(record: Record) -> bytes:
    """Return a record as bytes of the section.

    >>> [each] = unpack_records(pack_record(Record("native", {"source": "a.s"})))
    >>> each.kind, each.about["source"]
    ('native', 'a.s')
    """
    about = json.dumps({"kind": record.kind, **record.about}).encode()
    data = zlib.compress(record.data, 1) if record.data else b""
    return _MAGIC + _SIZES.pack(len(about), len(data)) + about + data


def unpack_records(section: bytes) -> Iterator[Record]:
    """Yield the records of a section; skip the bytes between them."""
    at = section.find(_MAGIC)
    while at >= 0:
        at += len(_MAGIC)
        first, second = _SIZES.unpack_from(section, at)
        at += _SIZES.size
        about = json.loads(section[at : at + first])
        data = section[at + first : at + first + second]
        kind = about.pop("kind")
        yield Record(kind, about, zlib.decompress(data) if data else b"")
        at = section.find(_MAGIC, at + first + second)
