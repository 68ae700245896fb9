"""Database URLs, as they may be shown."""

from __future__ import annotations

import re

_URL = re.compile(r"(?P<scheme>[\w+.-]+)://(?P<rest>.*)", re.DOTALL)


def shown_url(url: str) -> str:
    """Return a database URL without its password and its query, which may hold another.

    >>> shown_url("postgresql://me:secret@host:5432/runs?password=again")
    'postgresql://me:***@host:5432/runs'
    >>> shown_url("sqlite:///runs/study.db")
    'sqlite:///runs/study.db'
    """
    read = _URL.fullmatch(url.strip())
    if read is None:
        return "(no database URL)"
    rest, _, _ = read["rest"].partition("?")
    if "@" not in rest and "@" in read["rest"]:
        return f"{read['scheme']}://***"  # a password with a question mark in it
    user, at, place = rest.rpartition("@")
    name, colon, _ = user.partition(":")
    return f"{read['scheme']}://{name}{':***' if colon else ''}{at}{place}"
