"""Sections of the report that a study's models write: words, tables and pictures, as data.

A study names functions, ``[report] sections = ["package.module:function"]``. Such a function takes
the study and its result and returns a `Section`; scripts may call it too. The engine draws the
objects of this module: models know nothing of colours. The page shows every text as it is.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol, TypeAlias

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike


@dataclass(frozen=True)
class Table:
    """A table of rows and columns.

    Parameters
    ----------
    title : str
        The title, which describes the content.
    rows : DataFrame
        One line per row; the index is shown if it has a name. Put units into the column names.
    note : str
        A hint for the reader.
    """

    title: str
    rows: pd.DataFrame
    note: str = ""


@dataclass(frozen=True)
class Lines:
    """A chart of curves over one axis.

    Parameters
    ----------
    title : str
        The title, which describes the content.
    x, y : str
        The titles of the axes, with units.
    lines : sequence of (str, array, array)
        The name, the positions and the values of each; values that are not finite leave gaps.
    log_x, log_y : bool
        Whether an axis is logarithmic.
    note : str
        A hint for the reader.
    """

    title: str
    x: str
    y: str
    lines: Sequence[tuple[str, ArrayLike, ArrayLike]]
    log_x: bool = False
    log_y: bool = False
    note: str = ""


@dataclass(frozen=True)
class Bars:
    """A chart of bars for categories, side by side or stacked.

    Parameters
    ----------
    title : str
        The title, which describes the content.
    categories : sequence of str
        The names of the groups of bars.
    bars : sequence of (str, array)
        The name, and a value for each category.
    y : str
        The title of the axis, with the unit.
    stacked : bool
        Whether the bars of a category are stacked.
    note : str
        A hint for the reader.
    """

    title: str
    categories: Sequence[str]
    bars: Sequence[tuple[str, ArrayLike]]
    y: str
    stacked: bool = False
    note: str = ""

    def __post_init__(self) -> None:
        """Require one value for each category."""
        for name, values in self.bars:
            if np.shape(values) != (len(self.categories),):
                raise ValueError(
                    f"bars '{name}' of '{self.title}': {np.shape(values)} values for "
                    f"{len(self.categories)} categories"
                )


@dataclass(frozen=True)
class Heatmap:
    """A coloured matrix of numbers.

    Parameters
    ----------
    title : str
        The title, which describes the content.
    rows, columns : sequence of str
        The names; the first row is at the top.
    values : array, shape (rows, columns)
        NaN leaves a cell empty.
    unit : str
        The unit of the values; ``"1"`` for none.
    log : bool
        Whether colours follow the logarithm; values of 0 then stay empty.
    note : str
        A hint for the reader.
    """

    title: str
    rows: Sequence[str]
    columns: Sequence[str]
    values: ArrayLike
    unit: str = "1"
    log: bool = False
    note: str = ""

    def __post_init__(self) -> None:
        """Require one value for each cell."""
        if np.shape(self.values) != (len(self.rows), len(self.columns)):
            raise ValueError(
                f"'{self.title}': values of shape {np.shape(self.values)} for "
                f"{len(self.rows)} rows and {len(self.columns)} columns"
            )


@dataclass(frozen=True)
class Tree:
    """A tree as nested blocks, each as wide as its value.

    Parameters
    ----------
    title : str
        The title, which describes the content.
    names : sequence of str
        The names of the nodes.
    parents : sequence of int
        The position of each node's parent, which comes before the node; -1 for a root.
    values : array, shape (nodes,)
        The value of each node with all nodes below it.
    labels : sequence of str
        A remark for each node; none if it is empty.
    unit : str
        The unit of the values; ``"1"`` for none.
    note : str
        A hint for the reader.
    """

    title: str
    names: Sequence[str]
    parents: Sequence[int]
    values: ArrayLike
    labels: Sequence[str] = ()
    unit: str = "1"
    note: str = ""

    def __post_init__(self) -> None:
        """Require a parent before each node, and a value for each."""
        count = len(self.names)
        if len(self.parents) != count or np.shape(self.values) != (count,):
            raise ValueError(f"'{self.title}': a parent and a value for each of {count} names")
        if any(not -1 <= parent < node for node, parent in enumerate(self.parents)):
            raise ValueError(f"'{self.title}': a parent stands before its children")


class Objective(Protocol):
    """The attributes of an objective that a section may use."""

    @property
    def name(self) -> str:
        """The column of its values."""

    @property
    def quantity(self) -> str:
        """The quantity that is maximized or minimized."""

    @property
    def unit(self) -> str:
        """The unit of the values."""

    @property
    def sign(self) -> float:
        """1 if a lower value is better, -1 if a higher value is."""


class Front(Protocol):
    """The attributes of a front that a section may use."""

    @property
    def designs(self) -> pd.DataFrame:
        """The designs, one per row, indexed by design number."""


class Study(Protocol):
    """The attributes of a study that a section may use; `dse.Study` has more."""

    @property
    def name(self) -> str:
        """The name of the study."""

    @property
    def constants(self) -> Mapping[str, Any]:
        """The fixed inputs: numbers in base units, and resources."""

    @property
    def choices(self) -> Mapping[str, Mapping[str, Mapping[str, float]]]:
        """The parameters of the selected entry, by variable and option."""

    @property
    def values(self) -> Mapping[str, tuple[float, ...]]:
        """The values of each variable that is a list of numbers."""

    @property
    def conditions(self) -> Sequence[Mapping[str, float | tuple[float, ...]]]:
        """The fixed inputs of each objective: one number, or one number per scenario."""


class StudyResult(Protocol):
    """The attributes of a result that a section may use; `dse.StudyResult` has more."""

    @property
    def objectives(self) -> Sequence[Objective]:
        """The objectives in the order of the study."""

    @property
    def designs(self) -> pd.DataFrame:
        """The kept designs, one per row; see `dse.StudyResult`."""

    @property
    def front(self) -> Front:
        """The non-dominated designs."""

    def best(self, objective: str) -> pd.Series[Any]:
        """Return the design with the best value of one objective."""

    def nash(self) -> pd.Series[Any]:
        """Return the Nash design of the front."""


SectionPart: TypeAlias = Table | Lines | Bars | Heatmap | Tree


@dataclass(frozen=True)
class Section:
    """A part of the report: a heading, a text, and tables and charts.

    Parameters
    ----------
    title : str
        The heading.
    text : str
        The answer in words; an empty line begins a new paragraph.
    parts : sequence of Table, Lines, Bars, Heatmap or Tree
        The tables and charts that support the answer, in order.
    """

    title: str
    text: str = ""
    parts: Sequence[SectionPart] = field(default=())


Writer: TypeAlias = Callable[[Study, StudyResult], Section]
"""The type of the functions that a study names under ``[report] sections``."""


def needs(*inputs: str) -> Callable[[Writer], Writer]:
    """Declare the inputs that a writer of sections needs, as a decorator.

    If a study names the writer and lacks one of these inputs, ``dse check`` reports it.

    >>> @needs("dataflow")
    ... def functions(study: Study, result: StudyResult) -> Section:
    ...     return Section("Functions")
    >>> functions.needs
    ('dataflow',)
    """

    def declare(writer: Writer) -> Writer:
        vars(writer)["needs"] = inputs
        return writer

    return declare
