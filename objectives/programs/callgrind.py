"""The output of valgrind's callgrind: who called whom, and instructions executed.

The format follows the "Callgrind Format Specification" in valgrind's manual, version 1. Callgrind
counts all instructions, not only arithmetic and logical ones, and follows no data.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from dse.problems import InputError, Problem, nearest
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
_NAME = re.compile(r"(?:\((\d+)\))?\s*(.*)")
_HEADER = re.compile(r"[A-Za-z ]+:")
_CALLS = re.compile(r"calls=\s*(\d+)\b")


@dataclass
class _Reading:
    """The content that was read up to now."""

    columns: int = 1  # of a position
    event: int = 0
    names: dict[str, str] = field(default_factory=dict)
    own: dict[str, float] = field(default_factory=dict)
    calls: dict[tuple[str, str], Calls] = field(default_factory=dict)
    function: str | None = None
    callee: str | None = None
    pending: float | None = None
    program: str = ""
    object: str = ""
    callee_object: str | None = None  # of the callee, if it is another one
    objects: dict[str, str] = field(default_factory=dict)  # of functions
    numbered: dict[str, str] = field(default_factory=dict)  # objects
    has_events: bool = False


def is_callgrind(start: str) -> bool:
    """Return whether a file that starts with this text is callgrind's output."""
    marks = ("# callgrind format", "events:")
    return any(line.startswith(marks) for line in start.splitlines())


def read_callgrind(path: Path) -> Counts:
    """Read a file that callgrind wrote (``callgrind.out.…``); functions of one name count as one.

    InputError has the line of the first thing that is not callgrind output.
    """
    reading = _Reading()
    with path.open(encoding="utf-8", errors="replace") as file:
        for number, line in enumerate(file, 1):
            try:
                _line(reading, line.strip())
            except (ValueError, OverflowError) as error:
                remedy = str(error) or "see the callgrind format in valgrind's manual"
                shown = line.strip()[:60]
                problem = Problem(f"line {number}", f"{shown!r} is not callgrind output", remedy)
                raise InputError(str(path), [problem]) from None
    names = tuple(reading.own)
    if not names or not reading.has_events:
        problem = Problem("", "has no costs of functions", "give a whole output of callgrind")
        raise InputError(str(path), [problem])
    at = {name: i for i, name in enumerate(names)}
    by_number = {(at[f], at[g]): calls for (f, g), calls in reading.calls.items()}
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


def _linked(reading: _Reading) -> dict[str, str]:
    """Return the functions of libraries and of the loader, each with its place."""
    own = reading.objects.get("main", "")
    linked = {name: "the loader" for name in reading.own if _LOADER.match(name)}
    linked |= {name: "code without a name" for name in reading.own if name.startswith("0x")}
    for name, where in reading.objects.items():
        if own and where and where != own:
            linked.setdefault(name, Path(where).name)
    return linked


def _line(reading: _Reading, line: str) -> None:
    if not line or line.startswith("#"):
        return
    if line[0].isdigit() or line[0] in "+-*":
        _cost(reading, line)
        return
    key, equals, value = line.partition("=")
    if key in ("fn", "cfn"):
        name = _named(reading.names, value)
        reading.own.setdefault(name, 0.0)
        if key == "fn":
            reading.function, reading.callee = name, None
            reading.objects[name] = reading.object
        else:
            reading.callee = name
            where = reading.object if reading.callee_object is None else reading.callee_object
            reading.objects.setdefault(name, where)
            reading.callee_object = None
    elif key in ("ob", "cob"):
        where = _named(reading.numbered, value)
        if key == "ob":
            reading.object = where
        else:
            reading.callee_object = where
    elif key == "calls":
        match = _CALLS.match(line)
        if reading.callee is None or match is None:
            raise ValueError("calls=NUMBER must follow cfn=NAME")
        reading.pending = float(match[1])
    elif not equals or _HEADER.match(line):
        _header(reading, line)
    elif key not in ("fl", "fi", "fe", "cfl", "cfi", "jump", "jcnd", "jfi", "jfn"):
        raise ValueError(f"unknown entry '{key}'")


def _header(reading: _Reading, line: str) -> None:
    key, colon, value = line.partition(":")
    if not colon:
        raise ValueError("")
    if key == "positions":
        reading.columns = len(value.split())
    elif key == "events":
        events = value.split()
        if "Ir" not in events:
            remedy = nearest("Ir", events)
            raise ValueError(f"instructions (Ir) were not counted; {remedy}")
        reading.event, reading.has_events = events.index("Ir"), True
    elif key == "cmd":
        words = value.split()
        reading.program = Path(words[0]).name if words else ""


def _named(known: dict[str, str], text: str) -> str:
    """Return the name in an entry, which has a number at first and then only the number."""
    match = _NAME.fullmatch(text.strip())
    number, name = (match[1], match[2]) if match else (None, text)
    if number and name:
        known[number] = name
    elif number:
        if number not in known:
            raise ValueError(f"({number}) was not named before")
        name = known[number]
    if not name:
        raise ValueError("add the name")
    return name


def _cost(reading: _Reading, line: str) -> None:
    """Count a line of positions and costs; costs that are not there are 0."""
    words = line.split()[reading.columns :]
    if reading.function is None:
        raise ValueError("costs must follow fn=NAME")
    cost = float(int(words[reading.event])) if reading.event < len(words) else 0.0
    if reading.pending is None:
        reading.own[reading.function] += cost
        return
    if reading.callee is None:  # another function began in between
        raise ValueError("costs of calls must follow cfn=NAME and calls=NUMBER")
    pair = (reading.function, reading.callee)
    before = reading.calls.get(pair, Calls(0.0, 0.0))
    reading.calls[pair] = Calls(before.times + reading.pending, before.weight + cost)
    reading.pending = None
