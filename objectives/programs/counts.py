"""The counts of a program's functions, whichever profiler measured them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import NamedTuple

from dse.model import Array


class Calls(NamedTuple):
    """All calls of one function from another."""

    times: float
    weight: float
    """The costs of the calls, to divide a function's work; their number if costs are not known."""


@dataclass(frozen=True, eq=False)
class Counts:
    """Counts of one run, by function.

    Parameters
    ----------
    program : str
        Its name.
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
        The counts that the profiler lacks, each a sentence.
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
