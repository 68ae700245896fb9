"""What limits a design, as scripts hold it: in a line, as text, and as HTML in notebooks."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, fields

import pandas as pd

from dse.api.views import page
from dse.explain import verdict
from dse.explain.told import bottleneck_words, part_lines, verdict_lines
from dse.model.values import tell
from dse.result.record import Result


@dataclass(frozen=True, repr=False)
class Explanation(verdict.Explanation):
    """What limits one design, and what to change next; see `dse.explain.verdict.Explanation`.

    Parameters
    ----------
    objectives : tuple of str
        The names of the study's objectives.
    units : mapping of str to str
        Of the values, by name.
    """

    objectives: tuple[str, ...] = ()
    units: Mapping[str, str] = field(default_factory=dict)

    @classmethod
    def of(cls, found: verdict.Explanation, result: Result) -> Explanation:
        """Return an explanation of a design of a result as scripts hold it."""
        units = {n: c.unit for n, c in result.columns.items()}
        units |= {n: unit for n, (_, unit) in result.constants.items()}
        given = {each.name: getattr(found, each.name) for each in fields(verdict.Explanation)}
        return cls(**given, objectives=tuple(o.name for o in result.objectives), units=units)

    def __repr__(self) -> str:
        return f"<Explanation of design {self.design}: {self._verdict()}>"

    def __str__(self) -> str:
        table = self.bottlenecks()
        told = [] if table.empty else [table.to_string()]
        return "\n".join([f"design {self.design}: {self._verdict()}", *self._lines(), *told])

    def _repr_html_(self) -> str:
        return page(f"design {self.design}: {self._verdict()}", self.bottlenecks(), self._lines())

    def bottlenecks(self) -> pd.DataFrame:
        """Return the inputs that are bottlenecks, the largest gain first."""
        rows = [
            (s.label, s.changed_by, *s.shown, s.objective, s.gained)
            for s in self.sensitivities
            if s.bottleneck
        ]
        names = ["improve", "changed by", "from", "to", "objective", "gain"]
        return pd.DataFrame(rows, columns=names)

    def _verdict(self) -> str:
        if not self.feasible:
            return f"infeasible: {'; '.join(map(str, self.violations))}"
        return ", ".join(f"{n} = {self._told(n)}" for n in self.objectives)

    def _told(self, name: str) -> str:
        return tell(float(self.values[name]), self.units.get(name) or "1")

    def _lines(self) -> list[str]:
        without = bottleneck_words(self)
        return [*verdict_lines(self), *part_lines(self.parts), *([without] if without else [])]
