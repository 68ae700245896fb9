"""What a profiler tells of a program's functions, whichever profiler it is."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import NamedTuple

from dse.model import Array


class Calls(NamedTuple):
    """All calls of one function from another."""

    times: float
    weight: float
    """What they cost, for sharing out what a function does; their number if that is not known."""


@dataclass(frozen=True, eq=False)
class Counts:
    """Counts of one run, by function.

    Parameters
    ----------
    program : str
        What it is called.
    names : tuple of str, length n
        The functions, then the origins of data that no function wrote, such as ``(input)``.
    functions : int
        How many of the names are functions.
    invocations, computation, local_bytes, code : ndarray, shape (n,)
        Recursive invocations counted; instructions executed; bytes that an invocation wrote and
        read itself [B]; instructions of the code, 0 if they are not known.
    transfers : ndarray, shape (n, n)
        Bytes that one (row) wrote and another (column) read [B].
    calls : mapping of (caller, function) to Calls
        By positions in the names.
    missing : tuple of str
        What the profiler does not tell, each a sentence.
    """

    program: str
    names: tuple[str, ...]
    functions: int
    invocations: Array
    computation: Array
    local_bytes: Array
    code: Array
    transfers: Array
    calls: Mapping[tuple[int, int], Calls]
    missing: tuple[str, ...]
