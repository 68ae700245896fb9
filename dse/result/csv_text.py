"""Tables as CSV: the text that pandas writes, in half the time, and rows that files share."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator
from typing import Any

import numpy as np
import pandas as pd

_BLOCK = 100_000  # rows made into text together: the words of all would fill the memory
_REPEATED = 4  # a value that comes this often, on average, is made into text once


def blocks(table: pd.DataFrame) -> Iterator[tuple[slice, list[str]]]:
    """Yield some rows after the other as text, index first, as `DataFrame.to_csv` writes them."""
    for start in range(0, len(table), _BLOCK):
        some = slice(start, start + _BLOCK)
        part = table.iloc[some]
        columns = [_words(part.index.to_numpy())]
        columns += [_words(part.iloc[:, i].to_numpy()) for i in range(part.shape[1])]
        yield some, list(map(",".join, zip(*columns, strict=True)))


def header(table: pd.DataFrame) -> str:
    """Return the row of names, the index's first."""
    return ",".join(map(_quoted, [str(table.index.name), *map(str, table.columns)]))


def _words(values: Any) -> list[str]:
    codes, distinct = pd.factorize(values, use_na_sentinel=False)
    if len(distinct) * _REPEATED > len(values):
        kind = values.dtype.kind
        if kind == "i" or (kind == "f" and not np.isnan(values).any()):
            return list(map(repr, values.tolist()))  # the same words, without a question each
        return list(map(_word, values.tolist()))
    words = np.array([*map(_word, distinct.tolist()), ""], dtype=object)
    found: list[str] = words[codes].tolist()
    return found


def _word(value: Any) -> str:
    if isinstance(value, float):
        return repr(value) if value == value else ""
    return _quoted(value) if isinstance(value, str) else str(value)


def _quoted(text: str) -> str:
    """Return a text as a field: quoted if it holds a comma, a quote or a line's end."""
    line = io.StringIO()
    csv.writer(line, lineterminator="\n").writerow([text, ""])  # alone, an empty one is quoted
    return line.getvalue()[:-2]
