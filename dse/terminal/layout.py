"""The layout of lines on a terminal: texts of users, indented and hanging lines, spans of time."""

from __future__ import annotations

from collections.abc import Iterator

from rich import markup
from rich.console import RenderableType
from rich.padding import Padding
from rich.table import Table

from dse.problems import printable


def escape(text: str) -> str:
    """Return a text without rich's markup, and with its control characters as escapes."""
    return markup.escape(printable(text))


def indent_text(content: RenderableType, columns: int = 2) -> Padding:
    """Return a text or a table with columns of space to its left."""
    return Padding(content, (0, 0, 0, columns), expand=False)


def hang_text(kind: str, text: str, width: int = 11, indent: int = 2) -> Iterator[RenderableType]:
    """Yield a word and a text whose further lines begin below its first."""
    table = Table.grid(padding=(0, 1, 0, 0))
    table.add_column(width=width)
    table.add_column(overflow="fold")
    table.add_row(kind, escape(text))
    yield indent_text(table, indent)


def show_time(seconds: float) -> str:
    """Return a time in words.

    >>> show_time(7.2), show_time(125), show_time(7_300)
    ('7 s', '2 min 5 s', '2 h 2 min')
    """
    whole = max(round(seconds), 0)
    if whole < 60:
        return f"{whole} s"
    if whole < 3_600:
        return f"{whole // 60} min {whole % 60} s"
    minutes = round(whole / 60)
    return f"{minutes // 60:,} h {minutes % 60} min"
