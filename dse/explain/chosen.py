"""Which designs an answer names: the one to build, the nearest if there is none, runners-up."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from dse.evaluate.evaluator import Evaluator
from dse.evaluate.objective import Objective
from dse.explain.worth import built_for, paying
from dse.model.values import worded
from dse.result.reaching import best_of, nearest_of, nearest_to, reaches
from dse.result.record import Result
from dse.study.study import ResolvedStudy

_RUNNERS_UP = 3
RECOMMENDED, NEAREST = "recommended", "nearest"


@dataclass(frozen=True)
class Chosen:
    """The designs that an answer names, and from which they were chosen.

    Parameters
    ----------
    design : int
        The number of the recommended design, or of the nearest if none is worth building.
    role : {"recommended", "nearest"}
        Which of both it is.
    row : int
        Its row on the front.
    pays, reaches : ndarray of bool, shape (designs of the front,)
        Which designs pay, and which reach the target; all if there is none.
    least : Objective or None
        The one of which the least that reaches the target is recommended.
    equal : int
        How many have that: of these it is the nearest to the best of every objective.
    others : tuple of (int, str)
        Runners-up: number and role.
    roles : mapping of str to Objective
        The objective that a runner-up is best in, by its role.
    """

    design: int
    role: str
    row: int
    pays: NDArray[np.bool_]
    reaches: NDArray[np.bool_]
    least: Objective | None = None
    equal: int = 1
    others: tuple[tuple[int, str], ...] = ()
    roles: dict[str, Objective] = field(default_factory=dict)

    @property
    def among(self) -> NDArray[np.bool_]:
        """Which designs of the front are worth building: they pay and reach the target."""
        return np.asarray(self.pays & self.reaches)

    def role_objective(self, role: str) -> Objective | None:
        """Return the objective that a role is about; None of a role that is about all."""
        return self.least if role == RECOMMENDED and self.least else self.roles.get(role)


def choose(study: ResolvedStudy, result: Result) -> Chosen | None:
    """Return which designs the answer of a result names; None if nothing is on the front."""
    front, evaluator = result.front, study.evaluator
    if not len(front):
        return None
    target = study.target if result.target is not None else None
    reached = reaches(front, target.bounds) if target else np.ones(len(front), dtype=bool)
    values = front.designs[[o.name for o in result.objectives]].to_numpy(np.float64)
    pays = paying(evaluator, values)
    among, numbers = pays & reached, front.designs.index.to_numpy()
    if not among.any():
        if target and not reached.any():
            row = nearest_to(front, target.bounds)
        else:
            row, _ = best_of(front, built_for(evaluator, result.objectives), reached)
        return Chosen(int(numbers[row]), NEAREST, row, pays, reached)
    least = None
    if target:
        bounded = {bound.objective for bound in target.bounds}
        wanted = [o for o in result.objectives if o.name == target.least]
        wanted = wanted or [o for o in result.objectives if o.name not in bounded]
        least = wanted[0] if len(wanted) == 1 else None
    row, equal = nearest_of(front, among), 1
    if least is not None:
        row, equal = best_of(front, least, among)
    roles = _runners_up(evaluator, result, row, among)
    others = tuple((number, role) for role, (number, _) in roles.items())
    about = {role: objective for role, (_, objective) in roles.items()}
    return Chosen(int(numbers[row]), RECOMMENDED, row, pays, reached, least, equal, others, about)


def _runners_up(
    evaluator: Evaluator, result: Result, row: int, among: NDArray[np.bool_]
) -> dict[str, tuple[int, Objective]]:
    """Return by role the best design of each objective that differs in its variables."""
    front = result.front
    names = [n for n in evaluator.space.variables if n in front.designs]
    seen = {tuple(front.designs.iloc[row][names])}
    found: dict[str, tuple[int, Objective]] = {}
    for i, objective in enumerate(result.objectives):
        points = front.points[:, i]
        best, _ = best_of(front, objective, among)
        design = tuple(front.designs.iloc[best][names])
        if points[row] == points[best] or design in seen:
            continue
        seen.add(design)
        word = "highest" if objective.direction == "maximize" else "lowest"
        number = int(front.designs.index[best])
        found[f"{word} {worded(objective.name)}"] = (number, objective)
    return dict(list(found.items())[:_RUNNERS_UP])
