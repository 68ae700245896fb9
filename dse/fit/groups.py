"""Which series a row of a table belongs to: the columns that `--by` names."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dse.problems import Problem, nearest
from dse.study.design_table import DesignTable


def by_problems(
    by: Sequence[str], table: DesignTable, measured: Sequence[str]
) -> Iterator[Problem]:
    """Yield which columns cannot name series.

    Parameters
    ----------
    by : sequence of str
    table : DesignTable
    measured : sequence of str
        The columns of sizes and times.
    """
    others = [name for name in table.names if name not in measured]
    named = [name for name in others if any(names(name, table))]
    remedy = f"--by takes {', '.join(named)}" if named else "no other column has a name"
    for name in by:
        if name not in table.names:
            yield Problem("--by", f"no column '{name}'", nearest(name, others))
        elif name in measured:
            yield Problem("--by", f"'{name}' is a measurement, not a name for series", remedy)
        elif not any(names(name, table)):
            yield Problem("--by", f"column '{name}' is empty", "write the name of the series in it")


def groups(table: DesignTable, by: Sequence[str], whole: str) -> NDArray[np.object_]:
    """Return the name of the series of each row; all are `whole` without columns that name them."""
    if not by:
        return np.full(len(table.lines), whole, dtype=object)
    parts = zip(*(names(name, table) for name in by), strict=True)
    return np.array([" ".join(filter(None, row)) or f"without {by[0]}" for row in parts], object)


def names(name: str, table: DesignTable) -> list[str]:
    """Return a column as texts, empty where nothing is written."""
    column: NDArray[Any] | None = table.texts.get(name)
    if column is not None:
        return [str(text) for text in column]
    return ["" if np.isnan(value) else f"{value:g}" for value in table.numbers[name]]
