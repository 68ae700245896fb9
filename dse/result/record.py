"""Results: tables, with thin frozen objects around them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, Literal, TypeAlias

import numpy as np
import pandas as pd

from dse.evaluate.criteria import Objective
from dse.model.quantity import Array
from dse.model.values import plural
from dse.problems import DseError, InputError, Problem, nearest
from dse.result.target import TargetAnswer
from dse.search.reproduction import Reproduction

Role: TypeAlias = Literal["objective", "variable", "input", "constraint", "column", "code"]
CUT_SHORT = ("timeout", "interrupted")
"""Reasons to stop after which the user waits for the end."""
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
    """The content of a column of `Result.designs`.

    Parameters
    ----------
    role : Role
        An objective, a variable of the space, a parameter of the selected entry, a constraint's
        quantity, another column of a table, or a code.
    options : tuple of str
        The options of a variable that is a choice, in the study's order; else empty.
    """

    name: str
    unit: str
    about: str
    role: Role
    options: tuple[str, ...] = ()


@dataclass(frozen=True)
class Certificate:
    """The proof that the front is complete, and its limits.

    Parameters
    ----------
    complete : bool
        Whether every design of the space was evaluated or proven to be dominated or infeasible: the
        front is then the whole Pareto front, up to the tolerance.
    method : str
        The search method.
    designs : int or None
        Size of the space; None if it is continuous.
    evaluated, feasible, non_dominated : int
        The numbers of designs, each counted once even if it was sampled several times.
    statement : str
        The same in a sentence.
    stopped : str
        Why the search ended: ``"complete"``, ``"evaluations"``, ``"stalled"``, ``"interrupted"``,
        ``"timeout"`` or the error.
    numbered : bool
        Whether designs have their number in the space, and not the order of the search.
    tolerance : float
        The relative tolerance of the study, the largest of several; 0 for an exact front.
    gap : float or None
        No feasible design is better by a larger fraction in any objective; 0 if the front is exact,
        None if nothing is known.
    boxes : int or None
        Boxes of designs whose bounds were computed, by a search that bounds.
    decided : float or None
        The fraction of the space that was evaluated, or proven to be dominated or infeasible.
    rests_on : sequence of mapping
        For a search with bounds, the basis of its bounds: ``model``, ``output``, ``by``
        (``"table"``, ``"monotonic"``, ``"lower bound"`` or ``"domain"``) and ``how``.
    tolerances : mapping of str to pair of float
        If they differ by objective: no feasible design is better than the front by more than this
        fraction, and this amount in the objective's unit.
    checked : int
        Designs that were evaluated again, in another way, with the same values.
    detectable : float or None
        The smallest fraction of wrong designs that this check finds with 95 % probability; 0 if
        all designs were evaluated again.
    """

    complete: bool
    method: str
    designs: int | None
    evaluated: int
    feasible: int
    non_dominated: int
    statement: str
    stopped: str
    numbered: bool = False
    tolerance: float = 0.0
    gap: float | None = None
    boxes: int | None = None
    decided: float | None = None
    rests_on: Sequence[Mapping[str, str]] = ()
    tolerances: Mapping[str, Sequence[float]] = field(default_factory=dict)
    checked: int = 0
    detectable: float | None = None

    def checked_on(self, check: Reproduction) -> Certificate:
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
    """The designs that a constraint excludes.

    Parameters
    ----------
    name : str
        The constraint, such as ``"utilization <= 0.9"``.
    violated, alone : int
        The number of evaluated designs that violate it, or have no value of it; and the number that
        violate only this constraint.
    first : tuple of int
        Of a sample of the infeasible designs in `Result.designs`, the numbers of the designs that
        violate this constraint and none before it in the study's order.
    """

    name: str
    violated: int
    alone: int
    first: tuple[int, ...] = ()


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
    def points(self) -> Array:
        """The objectives as an array (designs, objectives), signed: lower is better."""
        signs = np.array([o.sign for o in self.objectives])
        values = self.designs[[o.name for o in self.objectives]].to_numpy(dtype=np.float64)
        return np.asarray(values * signs)

    def best(self, objective: str) -> pd.Series[Any]:
        """Return the best design in one objective; of equals, the nearest to the ideal.

        Raises
        ------
        InputError
            If no objective has that name.
        EmptyFrontError
            If there is no design.
        """
        chosen = self._objective(objective)
        self._filled()
        from dse.evaluate.front import find_compromise

        values = self.designs[chosen.name].to_numpy(dtype=np.float64) * chosen.sign
        equal = values == values.min()
        if equal.sum() == 1:
            return self.row(int(np.argmin(values)))
        return self.row(
            find_compromise(self.points, np.array([o.sign for o in self.objectives]), equal)
        )

    def row(self, position: int) -> pd.Series[Any]:
        """Return the design in a row of `designs`: plain numbers and texts, named by its number."""
        plain = [self.designs[name].iloc[position] for name in self.designs]
        values = [v.item() if isinstance(v, np.generic) else v for v in plain]
        name = self.designs.index[position]
        return pd.Series(values, index=self.designs.columns, name=name, dtype=object)

    def compromise(self) -> pd.Series[Any]:
        """Return the design nearest to the ideal, each objective scaled to its range on the front.

        Objectives that span more than two decades are scaled in the logarithm.

        Raises
        ------
        EmptyFrontError
            If there is no design.
        """
        return self.row(self.compromise_row)

    @cached_property
    def compromise_row(self) -> int:
        """The row of the compromise design, computed once, because a front may be large."""
        self._filled()
        from dse.evaluate.front import find_compromise

        return find_compromise(self.points, np.array([o.sign for o in self.objectives]))

    def hypervolume(self, reference: Mapping[str, float] | None = None) -> float:
        """Return the hypervolume up to a reference point.

        Parameters
        ----------
        reference : mapping of str to float, optional
            A value for each objective, in its unit, worse than the designs that should count. By
            default each objective is scaled to its range on this front (in the logarithm if it
            spans more than two decades), 0 best and 1 worst, and the reference is 1.1.

        Raises
        ------
        InputError
            If the reference lacks an objective.
        """
        from dse.evaluate.front import hypervolume, scaled

        signs = np.array([o.sign for o in self.objectives])
        if reference is None:
            unit, _ = scaled(self.points, signs)
            return hypervolume(unit, np.full(len(signs), 1.1))
        missing = [o.name for o in self.objectives if o.name not in reference]
        if missing:
            problem = Problem("reference", f"lacks {', '.join(missing)}")
            raise InputError(self.source.name, [problem])
        worst = np.array([reference[o.name] * o.sign for o in self.objectives])
        return hypervolume(self.points, worst)

    def _filled(self) -> None:
        if len(self.designs) == 0:
            why = self.source.certificate.statement
            raise EmptyFrontError(f"{self.source.name}: there is no design on the front. {why}")

    def _objective(self, name: str) -> Objective:
        for objective in self.objectives:
            if objective.name == name:
                return objective
        remedy = nearest(str(name), [o.name for o in self.objectives])
        raise InputError(self.source.name, [Problem("", f"no objective '{name}'", remedy)])


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
        The answer of the front to the study's target; see `dse.result.reaching`.
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

    def best(self, objective: str) -> pd.Series[Any]:
        """Return the best design in one objective."""
        return self.front.best(objective)

    def compromise(self) -> pd.Series[Any]:
        """Return the design of the front that is nearest to the ideal."""
        return self.front.compromise()

    def hypervolume(self, reference: Mapping[str, float] | None = None) -> float:
        """Return the hypervolume of the front; see `Front.hypervolume`."""
        return self.front.hypervolume(reference)

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
