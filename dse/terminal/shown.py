"""Texts of users on a terminal: without markup and control characters."""

from __future__ import annotations

from rich import markup

from dse.problems import printable


def escape(text: str) -> str:
    """Return a text without rich's markup, and with its control characters as escapes."""
    return markup.escape(printable(text))
