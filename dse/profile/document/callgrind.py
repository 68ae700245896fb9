"""Costs of functions and of their calls, as valgrind's callgrind writes them.

The format follows the "Callgrind Format Specification" in valgrind's manual, version 1. Callgrind
counts all instructions, not only arithmetic and logical ones, and follows no data.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import NamedTuple

from dse.problems import InputError, Problem, nearest

_NAME = re.compile(r"(?:\((\d+)\))?\s*(.*)")
_HEADER = re.compile(r"[A-Za-z ]+:")
_CALLS = re.compile(r"calls=\s*(\d+)\b")


class CallCosts(NamedTuple):
    """Calls from one function to another, and their cost, callees included."""

    times: float
    cost: float


@dataclass
class CallgrindCosts:
    """Instructions or other events of functions, by name; functions of one name count as one."""

    events: tuple[str, ...] = ("Ir",)  # their costs are added
    columns: int = 1  # of a position
    places: tuple[int, ...] = ()  # of the events in a line of costs
    names: dict[str, str] = field(default_factory=dict)
    own: dict[str, float] = field(default_factory=dict)
    by_object: dict[str, float] = field(default_factory=dict)  # own costs of all functions
    calls: dict[tuple[str, str], CallCosts] = field(default_factory=dict)
    function: str | None = None
    callee: str | None = None
    pending: float | None = None
    program: str = ""
    object: str = ""
    callee_object: str | None = None  # of the callee, if it is another one
    objects: dict[str, str] = field(default_factory=dict)  # of functions
    numbered: dict[str, str] = field(default_factory=dict)  # objects

    def renamed(self, name_of: Callable[[str], str]) -> CallgrindCosts:
        """Return the costs with other names of functions; functions of one name count as one."""
        own: dict[str, float] = {}
        for name, cost in self.own.items():
            own[name_of(name)] = own.get(name_of(name), 0.0) + cost
        calls: dict[tuple[str, str], CallCosts] = {}
        for (caller, callee), (times, cost) in self.calls.items():
            pair = (name_of(caller), name_of(callee))
            before = calls.get(pair, CallCosts(0.0, 0.0))
            calls[pair] = CallCosts(before.times + times, before.cost + cost)
        objects = {name_of(name): where for name, where in self.objects.items()}
        return replace(self, own=own, calls=calls, objects=objects)


def read_callgrind_costs(path: Path, events: tuple[str, ...] = ("Ir",)) -> CallgrindCosts:
    """Read a file that callgrind wrote (``callgrind.out.…``).

    Parameters
    ----------
    events : tuple of str
        Whose costs are added: instructions (``Ir``), or misses of L1 (``D1mr`` and ``D1mw``).

    Raises
    ------
    InputError
        With the line of the first thing that is not callgrind output.
    """
    reading = CallgrindCosts(events)
    with path.open(encoding="utf-8", errors="replace") as file:
        for number, line in enumerate(file, 1):
            try:
                _line(reading, line.strip())
            except (ValueError, OverflowError) as error:
                remedy = str(error) or "see the callgrind format in valgrind's manual"
                shown = line.strip()[:60]
                problem = Problem(f"line {number}", f"{shown!r} is not callgrind output", remedy)
                raise InputError(str(path), [problem]) from None
    if not reading.own or not reading.places:
        problem = Problem("", "has no costs of functions", "give a whole output of callgrind")
        raise InputError(str(path), [problem])
    return reading


def _line(reading: CallgrindCosts, line: str) -> None:
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


def _header(reading: CallgrindCosts, line: str) -> None:
    key, colon, value = line.partition(":")
    if not colon:
        raise ValueError("")
    if key == "positions":
        reading.columns = len(value.split())
    elif key == "events":
        counted = value.split()
        for event in reading.events:
            if event not in counted:
                name = "instructions (Ir)" if event == "Ir" else event
                raise ValueError(f"{name} were not counted; {nearest(event, counted)}")
        reading.places = tuple(counted.index(event) for event in reading.events)
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


def _cost(reading: CallgrindCosts, line: str) -> None:
    """Count a line of positions and costs; costs that are not there are 0."""
    words = line.split()[reading.columns :]
    if reading.function is None:
        raise ValueError("costs must follow fn=NAME")
    cost = float(sum(int(words[place]) for place in reading.places if place < len(words)))
    if reading.pending is None:
        reading.own[reading.function] += cost
        reading.by_object[reading.object] = reading.by_object.get(reading.object, 0.0) + cost
        return
    if reading.callee is None:  # another function began in between
        raise ValueError("costs of calls must follow cfn=NAME and calls=NUMBER")
    pair = (reading.function, reading.callee)
    before = reading.calls.get(pair, CallCosts(0.0, 0.0))
    reading.calls[pair] = CallCosts(before.times + reading.pending, before.cost + cost)
    reading.pending = None
