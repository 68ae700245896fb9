"""Prefilter: constraints on variables and constants, which are known before a model runs."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from dse.evaluate.constraint import Constraint, violations
from dse.evaluate.evaluator import Evaluator
from dse.evaluate.space import Points
from dse.model.quantity import Array


@dataclass(frozen=True)
class Prefilter:
    """The constraints of an evaluator that need no model.

    Parameters
    ----------
    evaluator : Evaluator
        The evaluator with the space and the model graph.
    constraints : tuple of Constraint
        A relation such as ``streams * engines_per_core <= 8``, or a bound on a variable.
    """

    evaluator: Evaluator
    constraints: tuple[Constraint, ...]

    @classmethod
    def of(cls, evaluator: Evaluator) -> Prefilter:
        """Return the constraints that depend on a variable and on no model."""
        wiring = evaluator.wiring
        owned = evaluator.space.quantities()
        found = [
            constraint
            for constraint in evaluator.constraints
            if not wiring.runs([(name, constraint.conditions) for name in constraint.names])
            and any(n in owned and n not in constraint.conditions for n in constraint.names)
        ]
        return cls(evaluator, tuple(found))

    def allowed(self, points: Points) -> NDArray[np.bool_]:
        """Return which designs violate no constraint; NaN is a violation."""
        violation = self.violations(points)
        return np.asarray((violation <= 0.0).all(axis=1))

    def violations(self, points: Points) -> Array:
        """Return the violation of each constraint (designs, constraints); see `violations`."""
        count = len(next(iter(points.values())))
        constrained = np.empty((count, len(self.constraints)))
        if not self.constraints:
            return constrained
        columns = self.evaluator.space.columns(points)
        with np.errstate(all="ignore"):
            for k, constraint in enumerate(self.constraints):
                requests = [(name, constraint.conditions) for name in constraint.names]
                answers = self.evaluator.wiring.evaluate(requests, columns)
                values = dict(zip(constraint.names, answers, strict=True))
                constrained[:, k] = constraint.value(values, count)
        return violations(self.constraints, constrained)
