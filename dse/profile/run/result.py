"""The runtime's result file as arrays."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dse.profile.errors import source_error

NODE = np.dtype(
    [
        ("parent", "<u4"),
        ("function", "<u4"),
        ("scope", "<u4"),
        ("outermost", "<u4"),
        ("invocations", "<u8"),
        ("work", "<u8"),
        ("last_function", "<u4"),
        ("last_child", "<u4"),
    ]
)
REASONS = (
    "exit",
    "signal",
    "memory limit",
    "too deep",
    "too many calls",
    "refused",
    "library thread",
)


@dataclass(frozen=True, slots=True)
class Result:
    """The result of a run: the sections by name, each an array of rows of 64-bit numbers."""

    sections: dict[str, NDArray[np.uint64]]
    nodes: NDArray[Any]

    @property
    def reason(self) -> str:
        """Why the run ended, as in the profile's ``run.ended``."""
        return REASONS[int(self.sections["status"][0])]

    @property
    def histories_merged(self) -> bool:
        """Whether memory had more histories than the runtime distinguishes."""
        return bool(self.sections["status"][5])

    @property
    def files_mapped(self) -> bool:
        """Whether the program mapped a file."""
        return bool(self.sections["status"][6])

    @property
    def loaded(self) -> list[str]:
        """The files of the libraries that the program loaded with dlopen."""
        names = self.sections["loaded"].tobytes().split(b"\0")
        return [name.decode("utf-8", "replace") for name in names if name]

    @property
    def thread_starts(self) -> NDArray[np.uint32]:
        """By function: how many threads other than the profiled one entered the program there."""
        return self.sections.get("thread starts", np.zeros(0, np.uint64)).view("<u4")

    @property
    def other_calls(self) -> NDArray[np.bool_]:
        """By library function: whether another thread called it; its effect is unknown."""
        return self.sections.get("other calls", np.zeros(0, np.uint64)).view(np.uint8) > 0

    def rows(self, name: str, width: int) -> NDArray[np.uint64]:
        """Return a section as rows, none if the run did not write it."""
        return self.sections.get(name, np.zeros(0, np.uint64)).reshape(-1, width)


def read_result(path: Path) -> Result:
    """Read a result file; raise InputError if the program left none or only a part of one."""
    data = path.read_bytes() if path.is_file() else b""
    sections, nodes, at, ended = {}, np.zeros(0, NODE), 0, False
    while at + 32 <= len(data):
        name = data[at : at + 16].rstrip(b"\0").decode("ascii")
        size, count = (int(x) for x in np.frombuffer(data, "<u8", 2, at + 16))
        at += 32
        if at + size * count > len(data):
            break
        if name == "nodes":
            nodes = np.frombuffer(data, NODE, count, at)
        else:
            sections[name] = np.frombuffer(data, "<u8", size * count // 8, at)
        at += size * count
        ended = name == "end"
    if not ended:
        raise source_error(
            "profile",
            "the program ended without leaving a result",
            "it was killed, replaced itself, or there was no room to write; nothing was measured",
        )
    return Result(sections, nodes)
