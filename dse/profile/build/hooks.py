"""What to insert into a program, and the names that the inserted text shares."""

from __future__ import annotations

import re
from dataclasses import dataclass

from dse.profile.build.irtext import quote_name

HOOKED_SIZES = (1, 2, 4, 8, 16)
"""Accesses of these sizes have special hooks; others are runs of bytes."""


@dataclass(frozen=True, slots=True)
class Hooks:
    """The hooks to insert.

    Every load, store, call and return has a hook under all options. The runtime skips the hooks
    that the options exclude, and :mod:`dse.profile.build.idle` removes their calls from the object.
    So one object serves all options, and its functions keep their locals at the same addresses.

    Parameters
    ----------
    trace : bool
        Every block as well, for a full trace.
    modelled : frozenset of str
        Library functions that the runtime wraps.
    """

    trace: bool
    modelled: frozenset[str]


def plain_name(symbol: str) -> str:
    """Return a library function's usual name.

    >>> plain_name("__isoc99_scanf"), plain_name("fopen64"), plain_name("__strtok_r")
    ('scanf', 'fopen', 'strtok_r')
    """
    symbol = re.sub(r"^__isoc(?:99|23)_", "", symbol)
    if symbol in ("__strtok_r", "__getdelim", "__strdup", "__strndup", "__stpcpy"):
        symbol = symbol[2:]
    return re.sub(r"^(f?open|[lf]?stat|mmap|pread|pwrite|fseeko|ftello)64$", r"\1", symbol)


def hooked_name(symbol: str) -> str:
    """Return the name of a function with hooks, as LLVM writes it."""
    return f'"__dse_own.{quote_name(symbol)}"'
