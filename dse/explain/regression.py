"""Regression: the effect of each variable of a table on the objectives, and how far off that is.

A table has no model to change an input of. Instead a straight line is laid through all rows: each
variable and each objective in its standard deviations, in the logarithm if it is positive and spans
more than a decade, and a text as a mark for each of its options. The error comes from rows that
were left out: a fifth of the rows at a time, against a line through the others.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from dse.evaluate.criteria import Objective
from dse.evaluate.evaluator import Evaluator
from dse.evaluate.space import Choice
from dse.evaluate.table_space import TableSpace
from dse.model.quantity import Array
from dse.model.section import Section, Table
from dse.model.values import number, tell

_PARTS = 5  # parts of the rows, each left out in turn
_LEAST = 10  # rows below which nothing is said
_DECADE = 10.0
_ALIKE = 0.05  # variance, of 1, below which a combination of variables hardly varies
_SHARE = 0.2  # of a combination, for a variable to be a part of it
_LEAST_SPREAD = 0.03  # of a direction that a line may follow, as a fraction of the widest
_LOOSE = 0.5  # share of the variation that a line should explain before anyone relies on it


@dataclass(frozen=True)
class Coefficient:
    """What one variable does to one objective, all other variables as they are.

    Parameters
    ----------
    variable : str
        The column.
    weight, error : float
        Standard deviations that the objective changes if the variable changes by one, and
        the standard error of that by leaving parts of the rows out.
    low, high : str
        From where to where `change` goes: the tenth and the ninetieth percentile of numbers, or
        the options with the least and the greatest objective.
    change : float
        The change of the objective: a factor if it is `Regression.logarithmic`, else a difference
        in its unit.
    """

    variable: str
    weight: float
    error: float
    low: str
    high: str
    change: float


@dataclass(frozen=True)
class Regression:
    """The effects of the variables of a table on one objective.

    Parameters
    ----------
    objective, unit : str
        The objective.
    logarithmic : bool
        Whether its logarithm was taken.
    rows : int
        Rows in which all values are there.
    explained : float
        Share of the variation of left-out rows that the others foretell: 1 is all; 0 or less,
        nothing. NaN if the objective does not vary, or there are too few rows.
    error : float
        How far off a left-out row typically is: a factor if `logarithmic`, else in the unit.
    coefficients : tuple of Coefficient
        The greatest weight first.
    alike : tuple of str
        Variables that change together in the table: their effects cannot be separated.
    """

    objective: str
    unit: str
    logarithmic: bool
    rows: int
    explained: float
    error: float
    coefficients: tuple[Coefficient, ...]
    alike: tuple[str, ...]

    @property
    def reliable(self) -> bool:
        """Whether it explains at least half of the variation."""
        return self.explained >= _LOOSE

    def describe(self, change: float) -> str:
        """Return a change of the objective in words."""
        if self.logarithmic:
            return f"×{number(change)}"
        return f"{'+' if change >= 0 else ''}{tell(change, self.unit)}"

    def __str__(self) -> str:
        if np.isnan(self.explained):
            few = f"only {self.rows:,} complete rows" if self.rows < _LEAST else "it does not vary"
            return f"{self.objective}: no regression, {few}"
        off = (
            f"a factor of {number(self.error)}" if self.logarithmic else tell(self.error, self.unit)
        )
        share = f"{max(self.explained, 0.0):.0%}" if self.explained >= 0.0 else "nothing"
        warning = "" if self.reliable else ": too little to rely on"
        return (
            f"{self.objective}: a line through {self.rows:,} rows explains {share} of the "
            f"variation of rows left out, and is typically off by {off}{warning}"
        )


@dataclass(frozen=True)
class _Terms:
    """Variables as columns of a regression, in standard deviations.

    Parameters
    ----------
    matrix : ndarray, shape (rows, terms)
        Each of mean 0 and standard deviation 1.
    owners : ndarray of int, shape (terms,)
        The position of the variable that each is of.
    """

    matrix: Array
    owners: NDArray[np.int64]


def fit_regressions(evaluator: Evaluator) -> tuple[Regression, ...]:
    """Return what moves each objective of a study of a table; nothing for any other study."""
    space = evaluator.space
    if not isinstance(space, TableSpace) or not space.variables:
        return ()
    columns = {name: _column(space, name) for name in space.variables}
    known = np.ones(space.size, dtype=bool)
    for name, values in columns.items():
        if not isinstance(space.variables[name], Choice):
            known &= np.isfinite(values)
    return tuple(_regression(space, columns, known, o) for o in evaluator.objectives)


def _column(space: TableSpace, name: str) -> Array:
    """Return a variable's numbers, or the positions of its texts."""
    variable = space.variables[name]
    if isinstance(variable, Choice):
        return np.searchsorted(np.array(variable.names, dtype=object), space.texts[name]).astype(
            np.float64
        )
    return space.numbers[name]


def _regression(
    space: TableSpace, columns: dict[str, Array], known: NDArray[np.bool_], objective: Objective
) -> Regression:
    values = space.numbers[objective.quantity]
    rows = known & np.isfinite(values)
    target, logarithmic = _scaled(values[rows])
    count, spread = int(rows.sum()), float(target.std()) if rows.any() else 0.0
    nothing = Regression(objective.name, objective.unit, logarithmic, count, np.nan, np.nan, (), ())
    if count < _LEAST or not spread > 0:
        return nothing
    names = list(columns)
    choices = np.array([isinstance(space.variables[n], Choice) for n in names])
    terms = _terms([columns[n][rows] for n in names], choices)
    if not len(terms.owners):
        return nothing
    fits, explained = _fitted(terms.matrix, (target - target.mean()) / spread)
    weights = np.array([_weights(terms, fit, len(names)) for fit in fits])
    parts = weights[1:]
    errors = np.sqrt(
        (len(parts) - 1) / len(parts) * ((parts - parts.mean(axis=0)) ** 2).sum(axis=0)
    )
    coefficients = []
    for i, name in enumerate(names):
        if not (terms.owners == i).any():
            continue  # it does not vary in these rows
        moved = terms.matrix[:, terms.owners == i] @ fits[0][terms.owners == i] * spread
        low, high, change = _ends(space, name, columns[name][rows], moved)
        change = float(np.exp(change)) if logarithmic else change
        coefficients.append(
            Coefficient(name, float(weights[0, i]), float(errors[i]), low, high, change)
        )
    off = float(np.sqrt(max(1.0 - explained, 0.0)) * spread)
    return Regression(
        objective.name,
        objective.unit,
        logarithmic,
        count,
        explained,
        float(np.exp(off)) if logarithmic else off,
        tuple(sorted(coefficients, key=lambda e: -e.weight)),
        tuple(names[i] for i in _alike(terms)),
    )


def _scaled(values: Array) -> tuple[Array, bool]:
    """Return values, or their logarithms if they are positive and span more than a decade."""
    if len(values) and values.min() > 0 and values.max() > _DECADE * values.min():
        return np.log(values), True
    return values, False


def _terms(columns: Sequence[Array], choices: NDArray[np.bool_]) -> _Terms:
    found: list[Array] = []
    owners: list[int] = []
    for i, (values, choice) in enumerate(zip(columns, choices, strict=True)):
        if choice:  # the first option is where the others start from
            marks = [(values == option).astype(np.float64) for option in np.unique(values)[1:]]
        else:
            marks = [_scaled(values)[0]]
        for mark in marks:
            spread = mark.std()
            if spread > 1e-12 * np.abs(mark).max():
                found.append((mark - mark.mean()) / spread)
                owners.append(i)
    matrix = np.column_stack(found) if found else np.zeros((len(columns[0]), 0))
    return _Terms(matrix, np.array(owners, dtype=np.int64))


def _fitted(matrix: Array, target: Array) -> tuple[list[Array], float]:
    """Return the coefficients of all rows, of all but each part, and the fraction explained.

    Directions in which rows hardly spread are left out: two columns that are alike share a weight.
    """
    shuffled = np.random.default_rng(0).permutation(len(target))
    fits, missed = [_solved(matrix, target)], 0.0
    for part in np.array_split(shuffled, _PARTS):
        others = np.ones(len(target), dtype=bool)
        others[part] = False
        means = matrix[others].mean(axis=0), target[others].mean()
        fit = _solved(matrix[others] - means[0], target[others] - means[1])
        missed += float(((target[part] - means[1] - (matrix[part] - means[0]) @ fit) ** 2).sum())
        fits.append(fit)
    return fits, 1.0 - missed / float(target @ target)


def _solved(matrix: Array, target: Array) -> Array:
    return np.asarray(np.linalg.lstsq(matrix, target, rcond=_LEAST_SPREAD)[0])


def _weights(terms: _Terms, fit: Array, count: int) -> Array:
    """Return the standard deviation of each variable's part of the target."""
    found = np.zeros(count)
    for i in np.unique(terms.owners):
        mine = terms.owners == i
        if mine.sum() == 1:
            found[i] = abs(fit[mine][0])
        else:
            found[i] = (terms.matrix[:, mine] @ fit[mine]).std()
    return found


def _ends(space: TableSpace, name: str, values: Array, moved: Array) -> tuple[str, str, float]:
    """Return the range of a variable in words, and the change of the target over it."""
    variable = space.variables[name]
    if isinstance(variable, Choice):
        low, high = int(moved.argmin()), int(moved.argmax())
        texts = [variable.names[int(values[row])] or "(missing)" for row in (low, high)]
        return texts[0], texts[1], float(moved[high] - moved[low])
    order = np.argsort(values, kind="stable")
    low, high = order[int(0.1 * (len(order) - 1))], order[int(np.ceil(0.9 * (len(order) - 1)))]
    if values[low] == values[high]:
        low, high = order[0], order[-1]
    ends = [number(float(values[row])) for row in (low, high)]
    return ends[0], ends[1], float(moved[high] - moved[low])


def _alike(terms: _Terms) -> list[int]:
    """Return the variables between which rows hardly spread."""
    found: set[int] = set()
    variances, directions = np.linalg.eigh(terms.matrix.T @ terms.matrix / len(terms.matrix))
    for i in np.flatnonzero(variances < _ALIKE):
        owners = set(terms.owners[np.abs(directions[:, i]) > _SHARE].tolist())
        found |= owners if len(owners) > 1 else set()
    return sorted(found)


TITLE = "Effects of the variables"
_HOW = (
    "A straight line through the rows of the table, by least squares. A weight is how many "
    "standard deviations the objective changes if only this variable changes by one standard "
    "deviation. The change is from the tenth to the ninetieth percentile of the variable, "
    "or from the option with the least value to that with the greatest. It is no more than a "
    "trend of these rows: each line says how far off it is."
)


def regression_section(found: Sequence[Regression]) -> list[Section]:
    """Return the section that shows regressions; none if there are none."""
    if not found:
        return []
    words = [_HOW]
    if alike := found[0].alike:
        names = ", ".join(alike)
        words.append(
            "The table cannot separate the effects of these variables, because they change "
            f"together: {names}."
        )
    return [Section(TITLE, "\n\n".join(words), [_table(each) for each in found])]


def _table(regression: Regression) -> Table:
    rows = [
        (e.variable, e.weight, e.error, e.low, e.high, regression.describe(e.change))
        for e in regression.coefficients
    ]
    heads = ["variable", "weight", "standard error", "from", "to", "changes it by"]
    return Table(regression.objective, pd.DataFrame(rows, columns=heads), str(regression))
