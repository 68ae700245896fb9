"""Provenance of a result: its input values by provenance, and those to check before building."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from dse.explain.assumptions import Check
from dse.model.section import Section, Table
from dse.model.values import as_data, listed, percent, plural, show, worded
from dse.study.resolve.dependencies import StudyInput
from dse.study.schema import PROVENANCES, Provenance, worst

TITLE = "Where the numbers come from"
_NAMED = 3  # input values to check, and defaults, in the answer
_ROWS = 40  # input values in the report
_LITTLE = 0.0005  # of the front: smaller front shifts are not reported
_NUMBERS = ("no", "one", "two", "three")
_HOW = (
    "Each assumed or uncertain input value was set to both bounds of its range, and nothing else "
    "changed. Designs of the front and near it were evaluated again. The front shift is the "
    "fraction that the points of one front lack, on average, against the other, at the worse "
    "bound. An assumed "
    "input value of which the study gives no range was halved and doubled."
)


@dataclass(frozen=True)
class InputProvenance:
    """The input values of a result, and what to check first.

    Parameters
    ----------
    inputs : tuple of StudyInput
        All that the result depends on.
    checks : tuple of Check
        Inputs that may be off, by falling front shift; empty if there was no time.
    """

    inputs: tuple[StudyInput, ...]
    checks: tuple[Check, ...] = ()

    @property
    def provenances(self) -> dict[Provenance, int]:
        """How many input values there are of each provenance, the best founded first."""
        given = [given.provenance for given in self.inputs]
        return {
            provenance: given.count(provenance) for provenance in PROVENANCES if provenance in given
        }

    @property
    def objectives(self) -> dict[str, Provenance]:
        """The worst provenance of what each objective depends on."""
        found: dict[str, Provenance] = {}
        for given in self.inputs:
            for name in given.objectives:
                found[name] = (
                    worst([found.get(name, given.provenance), given.provenance]) or given.provenance
                )
        return found

    @property
    def first(self) -> tuple[Check, ...]:
        """Return the inputs with the largest front shift: three at most."""
        return tuple(c for c in self.checks if c.moves >= _LITTLE)[:_NAMED]

    def sentence(self) -> str:
        """Return the worst provenance, and the values to check; empty without input values."""
        last = worst(self.provenances)
        if last is None:
            return ""
        count, every = self.provenances[last], len(self.inputs)
        of = "All" if count == every else str(count)
        are = "is" if count == 1 else "are"
        said = f"{of} of its {plural(every, 'input value')} {are} {_as(last)}"
        said += self._defaults()
        if not self.first:
            none = "none of the inputs that may be off shifts the front" if self.checks else ""
            return f"{said}; {none}." if none else f"{said}."
        these = "this" if len(self.first) == 1 else f"these {_NUMBERS[len(self.first)]}"
        told = listed(_told(check) for check in self.first)
        return f"{said}. Check {these} before you build: {told}."

    def _defaults(self) -> str:
        """Name the input values that the study leaves to models, all of which are assumed."""
        left = [worded(given.label) for given in self.inputs if given.default]
        if not left:
            return ""
        more = [f"{len(left) - _NAMED} more"] if len(left) > _NAMED else []
        is_one = "is a default of its model" if len(left) == 1 else "are defaults of models"
        return f" ({listed([*left[:_NAMED], *more])} {is_one})"


def _as(provenance: Provenance) -> str:
    return "from data sheets" if provenance == "data sheet" else provenance


def _told(check: Check) -> str:
    """Return an input value with its provenance, its range and what that does."""
    provenance = check.given.provenance
    founded = provenance if provenance == "assumed" else f"{provenance} but uncertain"
    told = check.told or "half to double"
    if check.told and not check.told.startswith("between"):  # a law is no range
        low, high = (show(end, check.given.unit or "1") for end in check.ends)
        told = f"between {low} and {high}"
    moved = f"{founded}, {told}: front shift {percent(check.moves, digits=2)}"
    if check.overturns:
        moved += ", changes the recommendation"
    return f"{worded(check.given.label)} ({moved})"


def provenance_section(found: InputProvenance) -> list[Section]:
    """Return the section on where input values are from; none without input values."""
    if not found.inputs:
        return []
    counted = listed(
        f"{count} {_as(provenance)}" for provenance, count in found.provenances.items()
    )
    provenances = listed(f"{name}: {provenance}" for name, provenance in found.objectives.items())
    said = f"The result depends on {plural(len(found.inputs), 'input value')}: {counted}."
    said += (
        f" The worst provenance of each objective's inputs: {provenances}." if provenances else ""
    )
    words = [said, *([_HOW] if found.checks else [])]
    return [Section(TITLE, "\n\n".join(words), [_table(found)])]


def _table(found: InputProvenance) -> Table:
    rows = [*(_row(c.given, c) for c in found.checks), *map(_row, _others(found))]
    more = len(rows) - _ROWS
    note = ""
    if more > 0:
        which = plural(more, "more, which moves", "more, which move")
        note = f"{which} the front less or not, {'is' if more == 1 else 'are'} in summary.json."
    table = pd.DataFrame(rows[:_ROWS])
    if not found.checks:
        table = table[["input value", "value", "provenance", "source"]]
    title = "Check the first before you build" if found.first else "Input values"
    return Table(title, table, note)


def _others(found: InputProvenance) -> list[StudyInput]:
    """Return the input values that were not moved, the worst founded first."""
    moved = {id(check.given) for check in found.checks}
    rest = [given for given in found.inputs if id(given) not in moved]
    return sorted(rest, key=lambda given: -PROVENANCES.index(given.provenance))


def _row(given: StudyInput, check: Check | None = None) -> dict[str, object]:
    value = "" if np.isnan(given.value) else show(given.value, given.unit or "1")
    row: dict[str, object] = {
        "input value": worded(given.label),
        "value": value,
        "provenance": given.provenance,
    }
    if check is None:
        blank = {"range": "", "front shift": "", "changes most": "", "recommendation": ""}
        return row | blank | {"source": given.source}
    low, high = (show(end, given.unit or "1") for end in check.ends)
    told = f" ({check.told})" if check.told and not check.told.startswith("between") else ""
    falls = listed(show(end, given.unit or "1") for end in check.overturns)
    return row | {
        "range": f"{low} to {high}{told}",
        "front shift": percent(check.moves, digits=2) if check.moves >= _LITTLE else "0 %",
        "changes most": worded(check.objective),
        "recommendation": f"changes at {falls}" if falls else "unchanged",
        "source": given.source,
    }


def provenance_data(found: InputProvenance) -> dict[str, Any]:
    """Return where input values are from as plain values, for JSON; empty without input values."""
    if not found.inputs:
        return {}
    data: dict[str, Any] = {
        "worst_provenance": worst(found.provenances),
        "provenances": dict(found.provenances),
        "objectives": found.objectives,
        "check_first": [_checked(check) for check in found.checks],
        "all": [_plain(given) for given in found.inputs],
    }
    return {"input_values": as_data(data)}


def _plain(given: StudyInput) -> Mapping[str, object]:
    keys: Sequence[str] = ("name", "label", "value", "unit", "provenance", "source", "objectives")
    return {key: getattr(given, key) for key in keys} | {"value": float(given.value)}


def _checked(check: Check) -> Mapping[str, object]:
    low, high = check.ends
    return {
        "label": check.given.label,
        "provenance": check.given.provenance,
        "low": low,
        "high": high,
        "range": check.told or "half to double",
        "moves": check.moves,
        "objective": check.objective,
        "overturns": list(check.overturns),
    }
