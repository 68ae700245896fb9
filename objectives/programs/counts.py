"""The counts of a program's functions, whichever profiler measured them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

from dse.model import Array


class Calls(NamedTuple):
    """All calls of one function from another."""

    times: float
    weight: float
    """The costs of the calls, to divide a function's work; their number if costs are not known."""


@dataclass(frozen=True, eq=False)
class Counts:
    """Counts of one run, by function; arrays have shape (names,), `transfers` (names, names)."""

    program: str
    names: tuple[str, ...]
    """The functions, then the origins of data that no function wrote, such as ``(input)``."""
    functions: int
    """How many of the names are functions."""
    invocations: Array
    """Recursive ones counted."""
    computation: Array
    """Instructions executed."""
    local_bytes: Array
    """Bytes that an invocation wrote and read itself [B]."""
    code: Array
    """Instructions of the code, 0 if they are not known."""
    transfers: Array
    """Bytes that one (row) wrote and another (column) read [B]."""
    calls: Mapping[tuple[int, int], Calls]
    """By the positions of caller and function in the names."""
    missing: tuple[str, ...]
    """The counts that the profiler lacks, each a sentence."""
    lacks: frozenset[str] = frozenset()
    """The columns that were not counted: ``"transfers"``, ``"code"``. They are zero here."""
    io: frozenset[str] | None = None
    """Functions that do input or output; None if it is not known."""
    linked: Mapping[str, str] = field(default_factory=dict)
    """The functions of other objects than the program's, each with its object."""
