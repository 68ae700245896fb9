"""Sections of the report that a study's models write: words, tables and pictures, as data.

A study names functions, ``[report] sections = ["package.module:function"]``. Such a function takes
the study and its result and returns a `Section`; a script may call it just as well. The engine
draws what is described here: models know nothing of colours, and every text is shown as it is.
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
    """Rows and columns.

    Parameters
    ----------
    title : str
        What it shows.
    rows : DataFrame
        One row a line; the index is shown if it has a name. Put units into the column names.
    note : str
        What a reader should know.
    """

    title: str
    rows: pd.DataFrame
    note: str = ""


@dataclass(frozen=True)
class Lines:
    """Curves over one axis.

    Parameters
    ----------
    title : str
        What it shows.
    x, y : str
        Titles of the axes, units included.
    lines : sequence of (str, array, array)
        Name, positions and values of each; values that are not finite leave gaps.
    log_x, log_y : bool
        Whether an axis is logarithmic.
    note : str
        What a reader should know.
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
    """Bars for categories, side by side or stacked.

    Parameters
    ----------
    title : str
        What it shows.
    categories : sequence of str
        One group of bars each.
    bars : sequence of (str, array)
        Name, and a value for each category.
    y : str
        Title of the axis, unit included.
    stacked : bool
        Whether the bars of a category stand on each other.
    note : str
        What a reader should know.
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
    """A coloured matrix.

    Parameters
    ----------
    title : str
        What it shows.
    rows, columns : sequence of str
        Names; the first row is drawn at the top.
    values : array, shape (rows, columns)
        NaN leaves a cell empty.
    unit : str
        Of the values; ``"1"`` for none.
    log : bool
        Whether colours follow the logarithm; values of 0 then stay empty.
    note : str
        What a reader should know.
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
        What it shows.
    names : sequence of str
        The nodes.
    parents : sequence of int
        Position of each node's parent, which stands before it; -1 for a root.
    values : array, shape (nodes,)
        Of the node with all below it.
    labels : sequence of str
        What else is said of each node; none if it is empty.
    unit : str
        Of the values; ``"1"`` for none.
    note : str
        What a reader should know.
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
    """What a section may know of an objective."""

    @property
    def name(self) -> str:
        """The column of its values."""

    @property
    def quantity(self) -> str:
        """What is maximized or minimized."""

    @property
    def unit(self) -> str:
        """Of the values."""

    @property
    def sign(self) -> float:
        """1 if less is better, -1 if more is."""


class Front(Protocol):
    """What a section may know of a front."""

    @property
    def designs(self) -> pd.DataFrame:
        """One row a design, indexed by design number."""


class Study(Protocol):
    """What a section may know of a study: `dse.Study` has it, and more."""

    @property
    def name(self) -> str:
        """The study's name."""

    @property
    def constants(self) -> Mapping[str, Any]:
        """Inputs that are the same for all designs: numbers in base units, and resources."""

    @property
    def choices(self) -> Mapping[str, Mapping[str, Mapping[str, float]]]:
        """The rows of each variable that chooses one: by option, the quantities that it sets."""

    @property
    def values(self) -> Mapping[str, tuple[float, ...]]:
        """The values of each variable that is a list of numbers."""

    @property
    def conditions(self) -> Sequence[Mapping[str, float | tuple[float, ...]]]:
        """What is bound for each objective alone: a number, or one a scenario."""


class StudyResult(Protocol):
    """What a section may know of a result: `dse.StudyResult` has it, and more."""

    @property
    def objectives(self) -> Sequence[Objective]:
        """In the study's order."""

    @property
    def designs(self) -> pd.DataFrame:
        """The designs that were kept, one row each; see `dse.StudyResult`."""

    @property
    def front(self) -> Front:
        """The non-dominated ones."""

    def best(self, objective: str) -> pd.Series[Any]:
        """Return the design that is best in one objective."""

    def compromise(self) -> pd.Series[Any]:
        """Return the best compromise of the front."""


SectionPart: TypeAlias = Table | Lines | Bars | Heatmap | Tree


@dataclass(frozen=True)
class Section:
    """A part of the report.

    Parameters
    ----------
    title : str
        Its heading.
    text : str
        The answer in words; an empty line begins a paragraph.
    parts : sequence of Table, Lines, Bars, Heatmap or Tree
        What supports it, in order.
    """

    title: str
    text: str = ""
    parts: Sequence[SectionPart] = field(default=())


Writer: TypeAlias = Callable[[Study, StudyResult], Section]
"""What a study names under ``[report] sections``."""


def needs(*inputs: str) -> Callable[[Writer], Writer]:
    """Declare the inputs that a writer of sections cannot do without, as a decorator.

    ``dse check`` then reports a study that names the writer and does not give them.

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
