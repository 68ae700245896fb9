"""What to insert into a program, and the names that the inserted text shares."""

from __future__ import annotations

import re
from dataclasses import dataclass

HOOKED_SIZES = (1, 2, 4, 8, 16)
"""Accesses of these sizes have hooks of their own; others are runs of bytes."""


@dataclass(frozen=True, slots=True)
class Hooks:
    """What to insert.

    Parameters
    ----------
    accesses : bool
        Every load and store (caches or transfers are wanted).
    tree : bool
        Calls and returns.
    trace : bool
        Every block, for a full trace.
    framed : frozenset of str or None
        The symbols that are invocations of their own; None for all.
    modelled : frozenset of str
        Library functions that the runtime wraps.
    """

    accesses: bool
    tree: bool
    trace: bool
    framed: frozenset[str] | None
    modelled: frozenset[str]

    def frames(self, symbol: str) -> bool:
        """Tell whether calls of a function are invocations of their own."""
        return self.tree and (self.framed is None or symbol in self.framed)


def plain_name(symbol: str) -> str:
    """Return a library function's usual name.

    >>> plain_name("__isoc99_scanf")
    'scanf'
    """
    return re.sub(r"^__isoc(?:99|23)_", "", symbol)
