"""Panels: a title, a picture, a table and a note, as the page's script shows any of them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from dse.report.axes import Plot


def panel(
    name: str,
    title: str,
    note: str = "",
    *,
    plot: Plot | None = None,
    height: int = 400,
    table: dict[str, Any] | None = None,
    wide: bool = False,
) -> dict[str, Any]:
    """Return a panel.

    Parameters
    ----------
    name : str
        The picture's element on the page; it ends in a number.
    title, note : str
        Its heading, and a note for readers.
    plot : Plot, optional
        The picture; a series without ``x`` has that of the first, one without a colour the page's.
    height : int
        Of the picture, in pixels.
    table : dict, optional
        See `table_of`; next to the picture if there are both.
    wide : bool
        Whether the picture needs the whole width.
    """
    return {
        "name": name,
        "kind": name.partition("-")[0],
        "title": title,
        "note": note,
        "plot": plot,
        "height": height,
        "table": table,
        "wide": wide or table is not None,
    }


def table_of(
    columns: Sequence[str],
    numbers: Sequence[bool],
    rows: Sequence[Sequence[str | tuple[str, str]]],
    swatches: Sequence[str | None] = (),
) -> dict[str, Any]:
    """Return a table of texts.

    Parameters
    ----------
    columns : sequence of str
        Headings.
    numbers : sequence of bool
        Which columns hold numbers, to be set right.
    rows : sequence of sequence
        Cells: a text, or one with a remark under it.
    swatches : sequence of str or None, optional
        A colour before each row.
    """
    return {
        "columns": list(columns),
        "numbers": list(numbers),
        "rows": rows,
        "swatches": list(swatches),
    }
