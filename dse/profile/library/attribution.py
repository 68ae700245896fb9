"""Costs of library code, divided among the functions of the program that call it.

Callgrind gives the instructions or misses of each function itself, and of its calls with their
callees. The part of a library function's calls that is library code follows from the parts of its
callees: the program's own functions, which a library may call back, have none. In a circle of calls
the parts are found by repetition. The loader, which finds each function at its first call, is no
library.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Collection
from pathlib import Path
from typing import NamedTuple

from dse.profile.document.callgrind import CallgrindCosts

_ROUNDS = 30  # circles of calls converge by the fraction of the work outside of them
_COPIES = re.compile("_*(memcpy|mempcpy|memmove|memset)(_|@|$)")


class LibraryCode(NamedTuple):
    """Code of a library; `copies` if it only copies or fills memory, such as memcpy."""

    library: str
    copies: bool


def attribute_library(
    costs: CallgrindCosts, own: Collection[str]
) -> dict[str, Counter[LibraryCode]]:
    """Return the cost by library code, for each function of the program that calls some.

    Parameters
    ----------
    costs : CallgrindCosts
    own : collection of str
        The program's functions, by symbol.
    """
    callees: dict[str, list[tuple[str, float]]] = defaultdict(list)
    for (caller, callee), calls in costs.calls.items():
        callees[caller].append((callee, calls.cost))
    outside = [name for name in costs.own if name not in own]
    parts: dict[str, dict[LibraryCode, float]] = {name: {} for name in outside}
    for _ in range(_ROUNDS):
        parts = {name: _parts(name, costs, callees[name], parts) for name in outside}
    found: dict[str, Counter[LibraryCode]] = {}
    for name in own:
        work: Counter[LibraryCode] = Counter()
        for callee, cost in callees.get(name, ()):
            for code, part in parts.get(callee, {}).items():
                work[code] += round(cost * part)
        if work:
            found[name] = work
    return found


def _parts(
    name: str,
    costs: CallgrindCosts,
    callees: list[tuple[str, float]],
    parts: dict[str, dict[LibraryCode, float]],
) -> dict[LibraryCode, float]:
    """Return the fractions of a library function's calls that are in each library's code."""
    total = costs.own[name] + sum(cost for _, cost in callees)
    sums: dict[LibraryCode, float] = defaultdict(float)
    library = Path(costs.objects.get(name, "")).name
    if library.startswith("lib"):
        sums[LibraryCode(library, bool(_COPIES.match(name)))] += costs.own[name]
    for callee, cost in callees:
        for where, part in parts.get(callee, {}).items():
            sums[where] += cost * part
    return {where: work / total for where, work in sums.items()} if total else {}
