"""The comparison of two runs: the better front, and the differences between the studies."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
import pandas as pd

from dse.evaluate.criteria import Objective
from dse.evaluate.front import hypervolume, is_nondominated, scaled
from dse.model.values import as_data, titled
from dse.problems import InputError, Problem
from dse.result.differences import Difference, differences
from dse.result.record import Result


@dataclass(frozen=True)
class Side:
    """One of the two runs.

    Parameters
    ----------
    name : str
        The run.
    front, survive, dominated : int
        The number of designs on its front; how many of them the other front dominates, or not.
    hypervolume : float
        In the cube that both fronts span, with the reference 1.1.
    best : dict of str to float
        The best value of each objective.
    """

    name: str
    front: int
    survive: int
    dominated: int
    hypervolume: float
    best: dict[str, float]


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

    def table(self) -> pd.DataFrame:
        """Return the two runs as columns: designs, hypervolume, the best of each objective."""
        rows: dict[str, Any] = {
            "designs on the front": [side.front for side in (self.first, self.second)],
            "not dominated by the other": [side.survive for side in (self.first, self.second)],
            "dominated by the other": [side.dominated for side in (self.first, self.second)],
            "hypervolume": [side.hypervolume for side in (self.first, self.second)],
        }
        for o in self.objectives:
            rows[f"best {titled(o.name, o.unit)}"] = [
                s.best[o.name] for s in (self.first, self.second)
            ]
        table = pd.DataFrame(rows, dtype=object).T
        return table.set_axis([self.first.name, self.second.name], axis=1)

    def differing(self) -> pd.DataFrame:
        """Return the differences between the runs, except their fronts, one per row."""
        rows = [(d.what, d.first, d.second) for d in self.differences]
        names = ["what", "first", "second"]
        return pd.DataFrame(rows, columns=names).set_index("what")

    def __str__(self) -> str:
        lines = [self.table().to_string(), *(f"differs: {each}" for each in self.differences)]
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
        sides = [
            {
                "run": side.name,
                "front": side.front,
                "survive": side.survive,
                "dominated": side.dominated,
                "hypervolume": side.hypervolume,
                "best": as_data(side.best),
            }
            for side in (self.first, self.second)
        ]
        differ = [asdict(each) for each in self.differences]
        return {"equal": self.equal, "runs": sides, "differences": differ}


def compare(
    first: Result,
    second: Result,
    first_name: str = "",
    second_name: str = "",
    contents: Sequence[Mapping[str, Any]] = ({}, {}),
) -> Comparison:
    """Compare the fronts of two runs, and list the differences between their studies.

    Parameters
    ----------
    contents : sequence of mapping
        The content of the two studies; an empty mapping if it is not known.

    Raises
    ------
    InputError
        If their objectives differ, or a front is empty.
    """
    first_name, second_name = first_name or first.name, second_name or second.name
    kinds = [
        [(o.name, o.direction, o.unit, o.condition) for o in result.objectives]
        for result in (first, second)
    ]
    if sorted(kinds[0]) != sorted(kinds[1]):
        raise InputError(
            f"{first_name} and {second_name}",
            [
                Problem(
                    "objectives",
                    f"differ: {_named(kinds[0])} against {_named(kinds[1])}",
                    "compare runs with the same objectives under the same conditions",
                )
            ],
        )
    names = [o.name for o in first.objectives]
    signs = np.array([o.sign for o in first.objectives])
    fronts = [r.front.designs[names].to_numpy(dtype=np.float64) * signs for r in (first, second)]
    for front, name in zip(fronts, (first_name, second_name), strict=True):
        if len(front) == 0:
            raise InputError(name, [Problem("", "has an empty front")])
    both = np.concatenate(fronts)
    unit, _ = scaled(both, signs)
    keep = is_nondominated(both)
    cut = len(fronts[0])
    sides = []
    for front, rows, name in (
        (fronts[0], slice(0, cut), first_name),
        (fronts[1], slice(cut, None), second_name),
    ):
        volume = hypervolume(unit[rows], np.full(len(signs), 1.1))
        best = dict(zip(names, (front.min(axis=0) * signs).tolist(), strict=True))
        survive = int(keep[rows].sum())
        sides.append(Side(name, len(front), survive, len(front) - survive, volume, best))
    equal = np.array_equal(np.unique(fronts[0], axis=0), np.unique(fronts[1], axis=0))
    differ = differences(first, second, contents)
    return Comparison(first.objectives, sides[0], sides[1], equal, differ)


def _named(kinds: Sequence[tuple[str, str, str, str]]) -> str:
    return ", ".join(f"{way} {name} {how}".strip() for name, way, _, how in kinds)
