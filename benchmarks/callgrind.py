"""Runs of programs under callgrind: calls, instructions and L1 misses."""

from __future__ import annotations

import re
import subprocess
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path

from dse.profile.command import USUAL
from dse.profile.run.run import environment


@dataclass
class Callgrind:
    """A run under callgrind: calls and instructions by symbol of the program, and L1 misses.

    The loader is left out. ``misses_of_copies`` are in ``memcpy``, ``memmove`` and ``memset`` of
    the C library, where the program itself calls them.
    """

    calls: Counter[str] = field(default_factory=Counter)
    own: Counter[str] = field(default_factory=Counter)
    libraries: int = 0
    misses: int = 0
    misses_in_libraries: int = 0
    misses_of_copies: int = 0

    @property
    def misses_of_program(self) -> int:
        """Return the misses in the program's code and in the copies that it calls."""
        return self.misses - self.misses_in_libraries + self.misses_of_copies


def is_copy(symbol: str) -> bool:
    """Return whether a symbol is a variant of memcpy, memmove or memset.

    >>> is_copy("__memset_avx2_unaligned_erms"), is_copy("memcmp")
    (True, False)
    """
    return re.match(r"(__)?mem(cpy|move|set)(_|$)", symbol) is not None


def run_callgrind(plain: Path, arguments: tuple[str, ...], given: Path) -> Callgrind:
    """Run a program under callgrind with the profile's cache and environment; return its counts."""
    out = plain.with_name("callgrind")
    cache = f"{USUAL.l1},{USUAL.l1_ways},{USUAL.line}"
    last = f"{USUAL.l2},{USUAL.l2_ways},{USUAL.line}"
    line = ["valgrind", "--tool=callgrind", "--cache-sim=yes", f"--D1={cache}", f"--LL={last}"]
    line += [f"--callgrind-out-file={out}", "--compress-strings=no", "--compress-pos=no"]
    line += ["--demangle=no", str(plain), *arguments]
    with given.open("rb") as stdin:
        subprocess.run(  # noqa: S603
            line, stdin=stdin, env=environment(()), capture_output=True, check=False
        )
    found, events, callee, holder, place, name, skip = Callgrind(), [], "", "", "", "", False
    for text in out.read_text().splitlines():
        key, _, value = text.partition("=")
        if text.startswith("events:"):
            events = text.split()[1:]
        elif key == "ob":
            holder = place = value
        elif key == "cob":
            place = value
        elif key == "fn":
            name = re.sub(r"'\d+$", "", value)
        elif key == "cfn":
            callee = re.sub(r"'\d+$", "", value)
        elif key == "calls":
            if Path(place) == plain:
                found.calls[callee] += int(value.split()[0])
            place, skip = holder, True
        elif text[:1].isdigit():
            cost = dict(zip(events, map(int, text.split()[1:]), strict=False))
            missed = cost.get("D1mr", 0) + cost.get("D1mw", 0)
            if skip:  # the cost of a call, with all that it calls
                skip = False
                if Path(holder) == plain and is_copy(callee):
                    found.misses_of_copies += missed
                continue
            if "/ld-" in holder:
                continue
            found.misses += missed
            if Path(holder) == plain:
                found.own[name] += cost["Ir"]
            else:
                found.libraries += cost["Ir"]
                found.misses_in_libraries += missed
    return found
