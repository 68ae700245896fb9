"""Evaluation: designs as columns in, objectives and constraints as columns out."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from dse.expression import Relation
from dse.quantity import Array
from dse.result import Objective
from dse.space import Points, Space
from dse.wiring import Binding, Key, Wiring

Reduction = Literal["mean", "min", "max", "harmonic mean", "quantile"]


@dataclass(frozen=True)
class Goal:
    """An objective with the scenarios under which it is computed.

    Parameters
    ----------
    info : Objective
        What it is called and which way is better.
    scenarios : tuple of mapping
        Inputs bound in each scenario; one for an objective without ``over``.
    reduction : str or None
        How several scenarios become one number.
    quantile : float
        For ``"quantile"``.
    """

    info: Objective
    scenarios: tuple[Binding, ...]
    reduction: Reduction | None = None
    quantile: float = 0.5

    @property
    def sign(self) -> float:
        """1 where less is better, -1 where more is: times the value, less is always better."""
        return 1.0 if self.info.direction == "minimize" else -1.0

    def reduce(self, values: list[Array]) -> Array:
        """Combine the scenarios' values; NaN where one of them is."""
        if self.reduction is None:
            return values[0]
        stack = np.stack(np.broadcast_arrays(*values)).astype(np.float64, copy=False)
        with np.errstate(all="ignore"):
            match self.reduction:
                case "mean":
                    return np.asarray(stack.mean(axis=0))
                case "min":
                    return np.asarray(stack.min(axis=0))
                case "max":
                    return np.asarray(stack.max(axis=0))
                case "harmonic mean":
                    return np.asarray(len(values) / (1.0 / stack).sum(axis=0))
                case "quantile":
                    return _quantile(stack, self.quantile)


def _quantile(stack: Array, share: float) -> Array:
    """Return a quantile along the first axis, between two values by their distance.

    As numpy's, but for infinities: between a number and infinity lies infinity, not NaN.
    """
    place = share * (len(stack) - 1)
    low, weight = int(place), place - int(place)
    ascending = np.sort(stack, axis=0)  # NaN last
    left, right = ascending[low], ascending[min(low + 1, len(stack) - 1)]
    found = (
        left
        if weight == 0.0
        else np.where(left == right, left, left * (1 - weight) + right * weight)
    )
    return np.asarray(np.where(np.isnan(ascending[-1]), np.nan, found))


@dataclass(frozen=True)
class Limit:
    """A constraint: one bound on a quantity, or a relation between quantities.

    Parameters
    ----------
    name : str
        As shown, such as ``"utilization <= 0.9"``.
    quantity, unit : str
        The bounded quantity, empty for a relation.
    bound : float
        The bound, in the quantity's unit.
    upper : bool
        Whether it is an upper bound.
    relation : Relation or None
        The relation, for a constraint by expression.
    binding : mapping
        Inputs bound for it.
    """

    name: str
    quantity: str
    unit: str
    bound: float
    upper: bool
    relation: Relation | None
    binding: Binding

    @property
    def names(self) -> tuple[str, ...]:
        """The quantities that it needs."""
        return tuple(sorted(self.relation.names)) if self.relation else (self.quantity,)

    def excess(self, values: Mapping[str, Any]) -> Array:
        """Return by how much each design breaks it; 0 or less where it holds."""
        if self.relation is not None:
            return self.relation.excess(values)
        value = np.asarray(values[self.quantity], dtype=np.float64)
        return value - self.bound if self.upper else self.bound - value


@dataclass(frozen=True)
class Evaluated:
    """What a batch of designs gives.

    Parameters
    ----------
    objectives : ndarray, shape (designs, objectives)
        In the objectives' units, signs as they are.
    excess : ndarray, shape (designs, limits)
        By how much each limit is broken.
    feasible : ndarray of bool, shape (designs,)
        Every limit holds, and every objective is a number.
    """

    objectives: Array
    excess: Array
    feasible: NDArray[np.bool_]


@dataclass(frozen=True)
class Evaluator:
    """Models, space, objectives and limits together: all that is needed to judge designs.

    Parameters
    ----------
    wiring : Wiring
        The models and constants.
    space : Space
        The variables.
    goals : tuple of Goal
        The objectives.
    limits : tuple of Limit
        The constraints.
    """

    wiring: Wiring
    space: Space
    goals: tuple[Goal, ...]
    limits: tuple[Limit, ...]

    @property
    def signs(self) -> Array:
        """One a goal: times the objectives, less is better everywhere."""
        return np.array([goal.sign for goal in self.goals])

    def evaluate(self, points: Points) -> Evaluated:
        """Judge designs.

        Raises
        ------
        ModelError
            Where a model raises.
        """
        count = len(next(iter(points.values())))
        return self.evaluate_columns(self.space.columns(points), count)

    def objectives(self, columns: Mapping[str, Array], count: int) -> Array:
        """Return the objectives (designs, objectives) of designs given as columns."""
        requests = [(g.info.quantity, s) for g in self.goals for s in g.scenarios]
        return self._gathered(iter(self.wiring.evaluate(requests, columns)), count)

    def _gathered(self, answers: Iterator[Any], count: int) -> Array:
        objectives = np.empty((count, len(self.goals)))
        for i, goal in enumerate(self.goals):
            objectives[:, i] = goal.reduce([next(answers) for _ in goal.scenarios])
        return objectives

    def requests(self) -> list[tuple[str, Binding]]:
        """Return every quantity that judging a design takes, with what is bound for it."""
        requests = [(g.info.quantity, s) for g in self.goals for s in g.scenarios]
        return requests + [(name, li.binding) for li in self.limits for name in li.names]

    def evaluate_columns(
        self,
        columns: Mapping[str, Array],
        count: int,
        known: Mapping[Key, Mapping[str, Array]] | None = None,
    ) -> Evaluated:
        """Judge designs given as columns by quantity name; `known` as in `Wiring.evaluate`."""
        answers = iter(self.wiring.evaluate(self.requests(), columns, known))
        objectives = self._gathered(answers, count)
        excess = np.empty((count, len(self.limits)))
        with np.errstate(all="ignore"):
            for i, limit in enumerate(self.limits):
                excess[:, i] = limit.excess({name: next(answers) for name in limit.names})
        feasible = ~np.isnan(objectives).any(axis=1)
        if self.limits:
            feasible &= (excess <= 0).all(axis=1)
        return Evaluated(objectives, excess, np.asarray(feasible))
