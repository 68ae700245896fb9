"""A text of a user as it is shown: without markup, and without what a terminal would obey."""

from __future__ import annotations

from rich import markup

from dse.problems import printable


def escape(text: str) -> str:
    """Return a text without rich's markup, and with its control characters written out."""
    return markup.escape(printable(text))
