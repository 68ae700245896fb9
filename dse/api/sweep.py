"""Sweeps: one run of a study for each value of one input."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import pandas as pd

from dse.api import views
from dse.api.result import StudyResult

if TYPE_CHECKING:
    from dse.report.figures import Figure


@dataclass(frozen=True, repr=False)
class Sweep:
    """The results of runs along one input; `Study.sweep` makes it.

    Parameters
    ----------
    name : str
        The input, or the variable.
    values : tuple of str
        Its values, as in the call.
    results : mapping of str to StudyResult
        By value; without values at which no design is feasible.
    infeasible : mapping of str to str
        By value: the reason why no design is feasible.
    """

    name: str
    values: tuple[str, ...]
    results: Mapping[str, StudyResult]
    infeasible: Mapping[str, str]

    def __repr__(self) -> str:
        return views.sweep_line(self.name, self.values, self.infeasible)

    def _repr_html_(self) -> str:
        return views.page(repr(self), self.table)

    @property
    def table(self) -> pd.DataFrame:
        """One row per value: designs on the front, each objective's best and compromise value.

        Numbers in base units; NaN where no design is feasible.
        """
        rows = []
        for value in self.values:
            row: dict[str, Any] = {"front": 0}
            if (result := self.results.get(value)) is not None:
                names, compromise = [o.name for o in result.objectives], result.compromise()
                row["front"] = len(result.front)
                row |= {f"best {n}": float(result.best(n)[n]) for n in names}
                row |= {f"compromise {n}": float(compromise[n]) for n in names}
            rows.append(row)
        return pd.DataFrame(rows, index=self._index())

    def best(self, objective: str) -> pd.DataFrame:
        """Return the best designs in one objective, one row per value that has one.

        Raises
        ------
        InputError
            If no objective has that name.
        """
        return self._designs({v: r.best(objective) for v, r in self.results.items()})

    def compromise(self) -> pd.DataFrame:
        """Return the compromise designs, one row per value that has one."""
        return self._designs({v: r.compromise() for v, r in self.results.items()})

    def plot(self) -> Figure:
        """Draw each objective's best and compromise value along the input."""
        from dse.report.figures import sweep_figure

        return sweep_figure(self.name, self.table, [(o.name, o.unit) for o in self._objectives()])

    def _objectives(self) -> Any:
        return next((r.objectives for r in self.results.values()), ())

    def _index(self) -> pd.Index[Any]:
        return pd.Index(self.values, name=self.name)

    def _designs(self, found: Mapping[str, pd.Series[Any]]) -> pd.DataFrame:
        """Return designs as a table, each with its number."""
        rows = [{"design": design.name, **design} for design in found.values()]
        return pd.DataFrame(rows, index=pd.Index(list(found), name=self.name))
