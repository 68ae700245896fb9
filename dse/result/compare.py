"""The comparison of two runs: the better front, and the differences between the studies."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
import pandas as pd

from dse.evaluate.criteria import Objective
from dse.evaluate.front import hypervolume, is_nondominated, scale_front
from dse.model.values import add_unit, json_value, show_value
from dse.problems import InputError, Problem
from dse.result.record import Result
from dse.search.outcome import count_distinct

_ABSENT = "absent"
_SILENT = ("run", "report", "study.about")  # keys that affect no design


@dataclass(frozen=True)
class Side:
    """One of the two runs."""

    name: str
    front: int
    """The number of designs on its front."""
    survive: int
    """The number of these designs that the other front does not dominate."""
    dominated: int
    """The number of these designs that the other front dominates."""
    hypervolume: float
    """In the cube that both fronts span, with the reference 1.1."""
    best: dict[str, float]
    """The best value of each objective."""
    distinct: int
    """The number of distinct points of its front."""


@dataclass(frozen=True)
class Difference:
    """One difference between two runs."""

    what: str
    """A key of the study such as ``"space.lanes.integer"``, an input such as ``"clock"``, a file
    that was loaded, or a package."""
    first: str
    second: str
    """The text for each run; ``"absent"`` if there is none."""

    def __str__(self) -> str:
        return f"{self.what}: {self.first} against {self.second}"


@dataclass(frozen=True, repr=False)
class Comparison:
    """Two runs next to each other."""

    objectives: tuple[Objective, ...]
    first: Side
    second: Side
    equal: bool
    """Whether both fronts have the same points."""
    differences: tuple[Difference, ...] = ()
    """The differences between the runs, except their fronts."""

    def rows(self) -> dict[str, tuple[float, float]]:
        """Return a value of each run: designs, hypervolume, the best value of each objective."""
        one, other = self.first, self.second
        return {
            "designs on the front": (one.front, other.front),
            "distinct designs on the front": (one.distinct, other.distinct),
            "not dominated by the other": (one.survive, other.survive),
            "dominated by the other": (one.dominated, other.dominated),
            "hypervolume": (one.hypervolume, other.hypervolume),
            **{f"best {o.name}": (one.best[o.name], other.best[o.name]) for o in self.objectives},
        }

    def table(self) -> pd.DataFrame:
        """Return the two runs as columns; the objectives in their base units."""
        table = pd.DataFrame(self.rows(), dtype=object).T
        heads = {f"best {o.name}": f"best {add_unit(o.name, o.unit)}" for o in self.objectives}
        return table.set_axis([self.first.name, self.second.name], axis=1).rename(index=heads)

    def differing(self) -> pd.DataFrame:
        """Return the differences between the runs, except their fronts, one per row."""
        rows = [(d.what, d.first, d.second) for d in self.differences]
        names = ["what", "first", "second"]
        return pd.DataFrame(rows, columns=names).set_index("what")

    def __str__(self) -> str:
        lines = [self.table().to_string(), *(f"differs: {d}" for d in self.differences)]
        return "\n".join(lines)

    def __repr__(self) -> str:
        fronts = "equal fronts" if self.equal else "different fronts"
        count = len(self.differences)
        differ = "1 difference" if count == 1 else f"{count} differences"
        return f"<Comparison of {self.first.name} and {self.second.name}: {fronts}; {differ}>"

    def _repr_html_(self) -> str:
        return self.table().to_html(border=0) + self.differing().to_html(border=0)

    def data(self) -> dict[str, Any]:
        """Return plain values, for JSON."""
        sides = [asdict(side) for side in (self.first, self.second)]
        data: dict[str, Any] = json_value(
            {
                "equal": self.equal,
                "runs": sides,
                "differences": [asdict(d) for d in self.differences],
            }
        )
        return data


def compare(
    first: Result,
    second: Result,
    first_name: str = "",
    second_name: str = "",
    contents: Sequence[Mapping[str, Any]] = ({}, {}),
) -> Comparison:
    """Compare the fronts of two runs, and list the differences between their studies.

    The contents of the studies are empty mappings if they are not known.

    Raises
    ------
    InputError
        If their objectives differ, or a front is empty.
    """
    first_name, second_name = first_name or first.name, second_name or second.name
    kinds = [
        sorted(f"{o.direction} {o.name} {o.condition}".strip() for o in result.objectives)
        for result in (first, second)
    ]
    units = [{o.name: o.unit for o in result.objectives} for result in (first, second)]
    if kinds[0] != kinds[1] or units[0] != units[1]:
        message = f"differ: {', '.join(kinds[0])} against {', '.join(kinds[1])}"
        remedy = "compare runs with the same objectives under the same conditions"
        raise InputError(
            f"{first_name} and {second_name}", [Problem("objectives", message, remedy)]
        )
    names = [o.name for o in first.objectives]
    signs = np.array([o.sign for o in first.objectives])
    fronts = [r.front.designs[names].to_numpy(dtype=np.float64) * signs for r in (first, second)]
    for front, name in zip(fronts, (first_name, second_name), strict=True):
        if len(front) == 0:
            raise InputError(name, [Problem("", "has an empty front")])
    both = np.concatenate(fronts)
    unit, _ = scale_front(both, signs)
    keep = is_nondominated(both)
    sides = []
    for front, kept, name in (
        (fronts[0], slice(None, len(fronts[0])), first_name),
        (fronts[1], slice(len(fronts[0]), None), second_name),
    ):
        volume = hypervolume(unit[kept], np.full(len(signs), 1.1))
        best = dict(zip(names, (front.min(axis=0) * signs).tolist(), strict=True))
        survive = int(keep[kept].sum())
        dominated, distinct = len(front) - survive, count_distinct(front)
        sides.append(Side(name, len(front), survive, dominated, volume, best, distinct))
    equal = np.array_equal(np.unique(fronts[0], axis=0), np.unique(fronts[1], axis=0))
    differ = _differences(first, second, contents)
    return Comparison(first.objectives, sides[0], sides[1], equal, differ)


def _differences(
    first: Result, second: Result, contents: Sequence[Mapping[str, Any]]
) -> tuple[Difference, ...]:
    """Return the differences between two runs, except their fronts."""
    inputs = [{n: show_value(*pair) for n, pair in r.constants.items()} for r in (first, second)]
    shown = {f"inputs.{name}" for names in inputs for name in names}
    studies = [
        {k: v for k, v in _entries(content, "") if k not in shown and not k.startswith("target.")}
        for content in contents
    ]
    pairs = [
        inputs,
        studies if all(contents) else ({}, {}),
        [_target(r) for r in (first, second)],
        [_versions(r, "loaded", "text ") for r in (first, second)],
        [_versions(r, "versions", "") for r in (first, second)],
    ]
    return tuple(
        Difference(what, one.get(what, _ABSENT), other.get(what, _ABSENT))
        for one, other in pairs
        for what in dict.fromkeys([*one, *other])
        if one.get(what) != other.get(what)
    )


def _target(result: Result) -> dict[str, str]:
    """Return the target of a run, from the study or from the command."""
    if result.target is None:
        return {}
    least = {"target.least": result.target.least} if result.target.least else {}
    return {"target.reach": result.target.reach} | least


def _versions(result: Result, kind: str, word: str) -> dict[str, str]:
    return {str(k): f"{word}{v}" for k, v in result.provenance.get(kind, {}).items()}


def _entries(value: Any, where: str) -> Iterator[tuple[str, str]]:
    """Yield each entry of a study with its key; entries of lists by their positions, from 1."""
    if where in _SILENT:
        return
    if isinstance(value, Mapping):
        for key, inner in value.items():
            yield from _entries(inner, f"{where}.{key}" if where else str(key))
    elif isinstance(value, list) and any(isinstance(entry, Mapping) for entry in value):
        for i, inner in enumerate(value, 1):
            yield from _entries(inner, f"{where}[{i}]")
    else:
        yield where, str(value)
