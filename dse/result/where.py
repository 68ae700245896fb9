"""Designs of a result that satisfy a filter; see `dse.model.grammar` for its language."""

from __future__ import annotations

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from dse.model.dimension import CLOCK
from dse.model.filter import Field, read_filter
from dse.model.grammar import GrammarError
from dse.problems import InputError
from dse.result.record import Result

_NUMBER = "design"  # the index, which a filter may use like a column


def fields_of(result: Result) -> dict[str, Field]:
    """Return the names that a filter may compare: each column, and the number of a design."""
    found = {_NUMBER: Field()}
    for name, column in result.columns.items():
        if pd.api.types.is_numeric_dtype(result.designs[name].dtype):
            found[name] = Field(column.unit or "1")
        else:
            every = column.options or sorted(set(result.designs[name].astype(str)))
            found[name] = Field("", tuple(every))
    return found


def holding(result: Result, designs: pd.DataFrame, text: str) -> NDArray[np.bool_]:
    """Return for each design whether it satisfies a filter.

    Parameters
    ----------
    designs : DataFrame
        The designs of the result, indexed by design number.

    Raises
    ------
    InputError
        If the text is no filter; the error lists every problem.
    """
    try:
        found = read_filter(text, fields_of(result), CLOCK in result.constants)
    except GrammarError as error:
        problems = [problem.inside("where") for problem in error.problems]
        raise InputError(result.name, problems) from None
    values = {name: designs[name].to_numpy() for name in found.names if name in designs}
    if _NUMBER in found.names:
        values[_NUMBER] = designs.index.to_numpy()
    if CLOCK in found.names and CLOCK not in values:
        values[CLOCK] = np.array(result.constants[CLOCK][0])
    return found.holds(values, len(designs))
