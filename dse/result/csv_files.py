"""Tables of designs as CSV files, and back: a spreadsheet never runs a cell as a formula."""

from __future__ import annotations

from collections.abc import Collection
from pathlib import Path

import pandas as pd

from dse.result.writing import write_whole

_FORMULAS = ("=", "+", "-", "@", "\t", "\r")
"""A spreadsheet that opens a CSV file runs the cells which begin with one of these."""
_TEXT = "'"  # spreadsheets read the rest of the cell as a text


def protect_cell(text: str) -> str:
    """Return a text for a cell: a text that a spreadsheet would run gets an apostrophe in front.

    >>> [protect_cell(text) for text in ("=A1", "-x", "-5", "aes", "'s")]
    ["'=A1", "'-x", '-5', 'aes', "''s"]
    """
    formula = text.startswith(_FORMULAS) and not _is_number(text)
    if formula or text.startswith(_TEXT):
        return _TEXT + text
    return text


def read_cell(text: str) -> str:
    """Return the text of a cell that `protect_cell` returned."""
    return text.removeprefix(_TEXT)


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return not text.startswith(("\t", "\r"))


def write_designs(designs: pd.DataFrame, front: Path, whole: Path) -> None:
    """Write all designs into one file and the front into another, both or none.

    The file of the front lacks the columns ``feasible`` and ``on_front``.
    """
    table = designs.rename(columns=protect_cell)
    for name in [n for n in table if not pd.api.types.is_numeric_dtype(table[n].dtype)]:
        cells = {text: protect_cell(text) for text in table[name].unique() if isinstance(text, str)}
        if any(text != cell for text, cell in cells.items()):
            table[name] = table[name].map(lambda text, cells=cells: cells.get(text, text))
    short = table[table["on_front"].to_numpy(dtype=bool)].drop(columns=["feasible", "on_front"])

    def write(short_path: Path, long_path: Path) -> None:
        short.to_csv(short_path, lineterminator="\n", encoding="utf-8")
        table.to_csv(long_path, lineterminator="\n", encoding="utf-8")

    write_whole(front, lambda first: write_whole(whole, lambda second: write(first, second)))


def read_designs(path: Path, texts: Collection[str], numbers: Collection[str]) -> pd.DataFrame:
    """Read the file of all designs.

    Parameters
    ----------
    texts, numbers : collection of str
        The columns of each kind.
    """
    designs = pd.read_csv(
        path,
        index_col="design",
        dtype={protect_cell(name): str for name in texts},
        keep_default_na=False,  # an option may be called "None"
        na_values={protect_cell(name): ["", "nan"] for name in numbers},
    ).rename(columns=read_cell)
    for name in texts:
        if name in designs and designs[name].str.startswith(_TEXT).any():
            designs[name] = designs[name].map(read_cell)
    return designs
