"""Results: tables, the certificate, the front and its answer to a target."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, Literal, Self, TypeAlias

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from dse.evaluate.criteria import Objective
from dse.evaluate.front import find_nash_design
from dse.model.dimension import CLOCK
from dse.model.filter import Field, read_filter
from dse.model.grammar import GrammarError
from dse.model.quantity import Array
from dse.model.values import plural, show_amount, word_name
from dse.problems import DseError, InputError, Problem, nearest
from dse.search.outcome import count_distinct, describe_count
from dse.search.verification import Verification

Role: TypeAlias = Literal["objective", "variable", "input", "constraint", "column", "code"]
ERROR = "error: "
"""Begins the reason of a search that ended with an error."""
CUT_SHORT = ("timeout", "interrupted")
"""Reasons to stop after which the user waits for the end."""
_NUMBER = "design"  # the index, which a filter may use like a column
ROLES: Mapping[Role, str] = {
    "objective": "Objectives",
    "variable": "Variables",
    "input": "Inputs set by options",
    "constraint": "Constrained",
    "column": "Other columns of the table",
}
"""The roles of columns, with a heading for the columns of each role, in the order of reading.

A code is for programs: the number of a subset. Another column names its parts.
"""


@dataclass(frozen=True)
class Column:
    """The content of a column of `Result.designs`."""

    name: str
    unit: str
    about: str
    role: Role
    """An objective, a variable of the space, a parameter of the selected entry, a constraint's
    quantity, another column of a table, or a code."""
    options: tuple[str, ...] = ()
    """The options of a variable that is a choice, in the study's order; else empty."""


@dataclass(frozen=True)
class Certificate:
    """The proof that the front is complete, and its limits."""

    complete: bool
    """Whether every design of the space was evaluated or proven to be dominated or infeasible: the
    front is then the whole Pareto front, up to the tolerance."""
    method: str
    designs: int | None
    """Size of the space; None if it is continuous."""
    evaluated: int
    """The number of evaluated designs, each counted once even if it was sampled several times."""
    feasible: int
    """The number of feasible designs, counted in the same way."""
    non_dominated: int
    """The number of designs on the front, counted in the same way."""
    statement: str
    """The same in a sentence."""
    stopped: str
    """Why the search ended: ``"complete"``, ``"evaluations"``, ``"stalled"``, ``"interrupted"``,
    ``"timeout"`` or the error."""
    numbered: bool = False
    """Whether designs have their number in the space, and not the order of the search."""
    tolerance: float = 0.0
    """The relative tolerance of the study, the largest of several; 0 for an exact front."""
    gap: float | None = None
    """No feasible design is better by a larger fraction in any objective; 0 if the front is exact,
    None if nothing is known."""
    boxes: int | None = None
    """Boxes of designs whose bounds were computed, by a search that bounds."""
    decided: float | None = None
    """The fraction of the space that was evaluated, or proven to be dominated or infeasible."""
    rests_on: Sequence[Mapping[str, str]] = ()
    """For a search with bounds, the basis of its bounds: ``model``, ``output``, ``by``
    (``"table"``, ``"monotonic"``, ``"lower bound"`` or ``"domain"``) and ``how``."""
    tolerances: Mapping[str, Sequence[float]] = field(default_factory=dict)
    """If they differ by objective: no feasible design is better than the front by more than this
    fraction, and this amount in the objective's unit."""
    checked: int = 0
    """Designs that were evaluated again, in another way, with the same values."""
    detectable: float | None = None
    """The smallest fraction of wrong designs that this check finds with 95 % probability; 0 if all
    designs were evaluated again."""
    distinct: int = 0
    """The number of distinct points of the non-dominated designs."""

    def checked_on(self, check: Verification) -> Certificate:
        """Return the certificate with the designs that were evaluated again."""
        return replace(self, checked=check.designs, detectable=check.detectable)

    @property
    def basis(self) -> str:
        """The conditions under which the certificate is valid; empty if it claims nothing."""
        if self.gap is None or self.detectable is None:
            return ""
        declared = any(ground["by"] != "table" for ground in self.rests_on)
        holds = " and its declarations hold" if declared else ""
        again = f"{plural(self.checked, 'design was', 'designs were')} evaluated again"
        if not self.detectable:
            again = "All designs were evaluated again" if self.checked > 1 else again
        finds = (
            " This check finds a fault with 95 % probability if it affects at least "
            f"{100 * self.detectable:.2g} % of the designs."
        )
        return (
            f"This is true if the outputs of each model depend only on its inputs{holds}. {again} "
            f"with the same values.{finds if self.detectable else ''}"
        )


@dataclass(frozen=True)
class Cut:
    """The designs that a constraint excludes."""

    name: str
    """The constraint, such as ``"utilization <= 0.9"``."""
    violated: int
    """The number of evaluated designs that violate it, or have no value of it."""
    alone: int
    """The number of evaluated designs that violate only this constraint."""
    first: tuple[int, ...] = ()
    """Of a sample of the infeasible designs in `Result.designs`, the numbers of the designs that
    violate this constraint and none before it in the study's order."""


@dataclass(frozen=True)
class Best:
    """The best value of an objective among some designs of the front."""

    objective: str
    unit: str
    word: str
    """The direction that is better. One of "least", "most"."""
    value: float
    design: int
    """The design with this value: of several, the one with the largest Nash product."""
    equal: int = 1
    """The number of distinct designs with this value."""

    def __str__(self) -> str:
        value = show_amount(self.value, self.unit)
        ties = tie_words(self.equal)
        return f"{self.word} {word_name(self.objective)} is {value}, of design {self.design}{ties}"


@dataclass(frozen=True)
class TargetAnswer:
    """The answer of a front to a target."""

    reach: str
    """The target as written."""
    least: str
    """The objective to minimize."""
    designs: tuple[int, ...]
    """The designs of the front that meet it."""
    best: tuple[Best, ...]
    """The best value of each requested objective among these designs."""
    nearest: tuple[Best, ...]
    """If none meets it: the best value of each bounded objective among the designs that meet the
    other bounds, if there are any."""
    words: tuple[str, ...]
    """The same in sentences, with the reason if no design meets the target."""

    @classmethod
    def of(cls, data: Mapping[str, Any]) -> TargetAnswer:
        """Return an answer from JSON, in which a tuple is a list and an infinity a text."""
        best, nearest = (
            tuple(Best(**{**entry, "value": float(entry["value"])}) for entry in data[key])
            for key in ("best", "nearest")
        )
        designs, words = tuple(data["designs"]), tuple(data["words"])
        return cls(data["reach"], data["least"], designs, best, nearest, words)


def tie_words(equal: int) -> str:
    """Return in words how a tie for the best design is broken; nothing for one design.

    >>> tie_words(2)
    '; of the 2 distinct designs with that, it has the largest Nash product'
    """
    if equal == 1:
        return ""
    return f"; of the {equal:,} distinct designs with that, it has the largest Nash product"


class EmptyFrontError(DseError):
    """The front is empty and has no best design."""


@dataclass(frozen=True)
class Front:
    """The non-dominated designs of a result.

    Parameters
    ----------
    designs : DataFrame
        One design per row, indexed by design number.
    source : Result
        The result of the front.
    """

    designs: pd.DataFrame
    source: Result = field(repr=False)

    @property
    def objectives(self) -> tuple[Objective, ...]:
        """The objectives, in the study's order."""
        return self.source.objectives

    def __len__(self) -> int:
        return len(self.designs)

    @property
    def signs(self) -> Array:
        """The sign of each objective: 1 to minimize, -1 to maximize."""
        return np.array([o.sign for o in self.objectives])

    @cached_property
    def points(self) -> Array:
        """The objectives as an array (designs, objectives), signed: lower is better."""
        values = self.designs[[o.name for o in self.objectives]].to_numpy(dtype=np.float64)
        return np.asarray(values * self.signs)

    @cached_property
    def distinct(self) -> int:
        """The number of designs with different objectives: equal ones are one point."""
        return count_distinct(self.points)

    @cached_property
    def size(self) -> str:
        """Both numbers in words, such as ``"589 designs (439 distinct)"``."""
        return describe_count(self.points)

    def where(self, text: str) -> Self:
        """Return the designs that satisfy a filter, such as ``"area < 200 kLUT and lanes > 1"``.

        The language is that of `dse.model.grammar`.

        Raises
        ------
        InputError
            If the text is no filter; the error lists every problem.
        """
        constants = self.source.constants
        try:
            condition = read_filter(str(text), self._fields(), CLOCK in constants)
        except GrammarError as error:
            problems = [problem.inside("where") for problem in error.problems]
            raise InputError(self.source.name, problems) from None
        table: dict[str, NDArray[Any]] = {
            name: self.designs[name].to_numpy() for name in condition.names if name in self.designs
        }
        if _NUMBER in condition.names:
            table[_NUMBER] = self.designs.index.to_numpy()
        if CLOCK in condition.names and CLOCK not in table:
            table[CLOCK] = np.array(constants[CLOCK][0])
        return replace(self, designs=self.designs[condition.holds(table, len(self))])

    def _fields(self) -> dict[str, Field]:
        """Return the names that a filter may compare: each column, and the number of a design."""
        known = {_NUMBER: Field()}
        for name, column in self.source.columns.items():
            if pd.api.types.is_numeric_dtype(self.source.designs[name].dtype):
                known[name] = Field(column.unit or "1")
            else:
                options = column.options or sorted(set(self.source.designs[name].astype(str)))
                known[name] = Field("", tuple(options))
        return known

    def best(self, objective: str) -> pd.Series[Any]:
        """Return the best design in one objective; of equals, the largest Nash product.

        Raises
        ------
        InputError
            If no objective has that name.
        EmptyFrontError
            If there is no design.
        """
        named = next((o for o in self.objectives if o.name == objective), None)
        if named is None:
            remedy = nearest(str(objective), [o.name for o in self.objectives])
            problem = Problem("", f"no objective '{objective}'", remedy)
            raise InputError(self.source.name, [problem])
        self._require_design()
        values = self.designs[named.name].to_numpy(dtype=np.float64) * named.sign
        equal = values == values.min()
        if equal.sum() == 1:
            return self.row(int(np.argmin(values)))
        return self.row(find_nash_design(self.points, self.objectives, equal))

    def row(self, position: int) -> pd.Series[Any]:
        """Return the design in a row of `designs`: plain numbers and texts, named by its number."""
        plain = [self.designs[name].iloc[position] for name in self.designs]
        values = [v.item() if isinstance(v, np.generic) else v for v in plain]
        name = self.designs.index[position]
        return pd.Series(values, index=self.designs.columns, name=name, dtype=object)

    def nash(self) -> pd.Series[Any]:
        """Return the design with the largest Nash product; see `dse.evaluate.front`.

        Raises
        ------
        EmptyFrontError
            If there is no design.
        """
        return self.row(self.nash_row)

    @cached_property
    def nash_row(self) -> int:
        """The row of the Nash design, computed once, because a front may be large."""
        self._require_design()
        return find_nash_design(self.points, self.objectives)

    def _require_design(self) -> None:
        if len(self.designs) == 0:
            why = self.source.certificate.statement
            raise EmptyFrontError(f"{self.source.name}: there is no design on the front. {why}")


@dataclass(frozen=True)
class Result:
    """The result of a run: its tables and its certificate.

    Parameters
    ----------
    name, about : str
        The name and the description of the study.
    objectives : tuple of Objective
        In the study's order.
    columns : mapping of str to Column
        The content of each column of `designs`, except ``feasible`` and ``on_front``.
    designs : DataFrame
        One design per row, indexed by design number (``design``): variables, parameters of selected
        entries, constrained quantities, objectives, ``feasible``, ``on_front``. A sampled run keeps
        all evaluated designs; an exhaustive run keeps the front and an even sample of the rest.
    certificate : Certificate
        The proof that the front is complete, and its limits.
    convergence : DataFrame
        ``evaluations``, ``front`` (size) and ``hypervolume`` (fraction of the final) over the run.
    notes : tuple of str
        Hints for the reader: variables without effect, inputs that nothing uses.
    provenance : mapping
        Versions, seed, digest, times, loaded code.
    constants : mapping of str to (float, str)
        The fixed inputs: value and unit.
    target : TargetAnswer or None
        The answer of the front to the study's target; see `dse.explain.targets`.
    cuts : tuple of Cut
        The designs that each constraint excludes, in the study's order; requirements follow.
    """

    name: str
    about: str
    objectives: tuple[Objective, ...]
    columns: Mapping[str, Column]
    designs: pd.DataFrame
    certificate: Certificate
    convergence: pd.DataFrame
    notes: tuple[str, ...] = ()
    provenance: Mapping[str, Any] = field(default_factory=dict)
    constants: Mapping[str, tuple[float, str]] = field(default_factory=dict)
    target: TargetAnswer | None = None
    cuts: tuple[Cut, ...] = ()

    @cached_property
    def front(self) -> Front:
        """The non-dominated designs."""
        rows = self.designs[self.designs["on_front"].to_numpy(dtype=bool)]
        return Front(rows.drop(columns=["feasible", "on_front"]), self)

    @property
    def is_guided(self) -> bool:
        """Whether it comes from a guided search: then models are slow."""
        return self.certificate.method == "guided"

    def best(self, objective: str) -> pd.Series[Any]:
        """Return the best design in one objective."""
        return self.front.best(objective)

    def nash(self) -> pd.Series[Any]:
        """Return the design of the front with the largest Nash product."""
        return self.front.nash()

    def summary(self) -> pd.DataFrame:
        """Return for each objective its best value on the front, with its design.

        If the front is empty, the table has no rows.
        """
        front = self.front
        rows = []
        for objective in self.objectives if len(front) else ():
            best = front.best(objective.name)
            worst = front.designs[objective.name] * objective.sign
            rows.append(
                {
                    "objective": objective.name,
                    "direction": objective.direction,
                    "condition": objective.condition,
                    "best": best[objective.name],
                    "worst": float(worst.max()) * objective.sign,
                    "unit": objective.unit,
                    "design": best.name,
                }
            )
        names = ["objective", "direction", "condition", "best", "worst", "unit", "design"]
        return pd.DataFrame(rows, columns=names).set_index("objective")

    def __str__(self) -> str:
        return f"{self.name}: {self.certificate.statement}\n{self.summary().to_string()}"
