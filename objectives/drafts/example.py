"""The draft that needs nothing: a small study of an AES engine."""

from __future__ import annotations

from objectives.drafts.text import filled, quoted


def example(name: str) -> str:
    """Return a small annotated study.

    >>> "objectives.logca:offload" in example("aes")
    True
    """
    return filled("example", name=quoted(name))
