"""The output of valgrind's callgrind: who called whom, and instructions executed.

Callgrind counts all instructions, not only arithmetic and logical ones, and follows no data.
"""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np

from dse.profile.document.callgrind import CallgrindCosts, read_callgrind_costs
from objectives.programs.counts import Calls, Counts

MISSING = (
    "callgrind records no transfers between functions: speedups are upper bounds, without the time "
    "of communication",
    "callgrind records no code, so areas are unknown",
    "callgrind counts all instructions, among them loads, stores, branches and library code",
    "the work of a function is divided among its callers by the cost of their calls",
)
_IO = re.compile(r"_IO_|(p|v|pv)?(read|write)(v|64)?$|(send|recv)(to|from|msg)?$|open(at)?(64)?$")
_LOADER = re.compile(r"_dl_|__dl_|dl_main$|\(below main\)|_start$|_init$|_fini$|__libc_start")


def is_callgrind(start: str) -> bool:
    """Return whether a file that starts with this text is callgrind's output."""
    marks = ("# callgrind format", "events:")
    return any(line.startswith(marks) for line in start.splitlines())


def read_callgrind(path: Path) -> Counts:
    """Read a file that callgrind wrote (``callgrind.out.…``); functions of one name count as one.

    InputError has the line of the first thing that is not callgrind output.
    """
    reading = read_callgrind_costs(path)
    names = tuple(reading.own)
    at = {name: i for i, name in enumerate(names)}
    by_number = {
        (at[f], at[g]): Calls(calls.times, calls.cost) for (f, g), calls in reading.calls.items()
    }
    invocations, nothing = np.zeros(len(names)), np.zeros(len(names))
    for (_, callee), calls in by_number.items():
        invocations[callee] += calls.times
    return Counts(
        reading.program or path.name,
        names,
        len(names),
        invocations=np.where(invocations > 0, invocations, 1.0),  # nobody calls the roots
        computation=np.array([reading.own[name] for name in names]),
        local_bytes=nothing,
        code=nothing,
        transfers=np.zeros((len(names), len(names))),
        calls=by_number,
        missing=MISSING,
        lacks=frozenset({"transfers", "code"}),
        io=frozenset(filter(_IO.match, names)),
        linked=_linked(reading),
    )


def _linked(reading: CallgrindCosts) -> dict[str, str]:
    """Return the functions of libraries and of the loader, each with its place."""
    own = reading.objects.get("main", "")
    linked = {name: "the loader" for name in reading.own if _LOADER.match(name)}
    linked |= {name: "code without a name" for name in reading.own if name.startswith("0x")}
    for name, where in reading.objects.items():
        if own and where and where != own:
            linked.setdefault(name, Path(where).name)
    return linked
