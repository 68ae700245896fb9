"""The evaluator: models, space, objectives and constraints together."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from dse.evaluate.criteria import (
    Conditions,
    Constraint,
    Objective,
    count_scenarios,
    measure_violations,
)
from dse.evaluate.model_graph import Evaluation, Key, ModelGraph
from dse.evaluate.pace import measure_pace
from dse.evaluate.space import Points, Space
from dse.model.quantity import Array, Quantity
from dse.model.values import show

_CHUNK = 1 << 24  # designs times scenarios per chunk, which bounds the memory of arrays


@dataclass(frozen=True)
class Evaluated:
    """The values of a batch of designs."""

    objectives: Array
    """In the objectives' units, signs as they are; NaN for designs of which they are not asked
    (`Evaluator.screens`). Shape (designs, objectives)."""
    constrained: Array
    """The value of each constraint's quantity, in its unit; see `Constraint.value`. Shape (designs,
    constraints)."""
    feasible: NDArray[np.bool_]
    """Every constraint holds, and every objective is a number. Shape (designs,)."""
    failed: Mapping[int, str] = field(default_factory=dict)
    """By row, designs that a model raised for: their values and what was raised, in words. All else
    of them is NaN."""

    def __len__(self) -> int:
        return len(self.feasible)

    @classmethod
    def empty(cls, evaluator: Evaluator) -> Evaluated:
        """Return a batch of no design."""
        objectives, constraints = len(evaluator.objectives), len(evaluator.constraints)
        return cls(np.empty((0, objectives)), np.empty((0, constraints)), np.empty(0, dtype=bool))

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, NDArray[Any]]) -> Evaluated:
        """Return the batch that `to_arrays` gave."""
        errors = json.loads(arrays["raised"].tobytes())
        return cls(
            arrays["objectives"],
            arrays["constrained"],
            arrays["feasible"],
            dict(zip(arrays["failed"].tolist(), errors, strict=True)),
        )

    def to_arrays(self) -> dict[str, NDArray[Any]]:
        """Return the batch as arrays, for a checkpoint."""
        errors = json.dumps([*self.failed.values()]).encode()
        return {
            "objectives": self.objectives,
            "constrained": self.constrained,
            "feasible": self.feasible,
            "failed": np.array([*self.failed], dtype=np.int64),
            "raised": np.frombuffer(errors, dtype=np.uint8),
        }

    def rows(self, rows: NDArray[Any] | slice) -> Evaluated:
        """Return some designs of the batch: by positions, a mask or a slice."""
        failed = {}
        if self.failed:
            kept = np.arange(len(self))[rows].tolist()
            failed = {n: self.failed[row] for n, row in enumerate(kept) if row in self.failed}
        return Evaluated(self.objectives[rows], self.constrained[rows], self.feasible[rows], failed)


def concatenate_batches(batches: Sequence[Evaluated]) -> Evaluated:
    """Return several batches as one."""
    if len(batches) == 1:
        return batches[0]
    starts = np.cumsum([0, *map(len, batches)]).tolist()
    return Evaluated(
        np.concatenate([batch.objectives for batch in batches]),
        np.concatenate([batch.constrained for batch in batches]),
        np.concatenate([batch.feasible for batch in batches]),
        {
            start + row: error
            for start, batch in zip(starts, batches, strict=False)
            for row, error in batch.failed.items()
        },
    )


@dataclass(frozen=True)
class Evaluator:
    """Models, space, objectives and constraints: all that an evaluation of designs needs."""

    model_graph: ModelGraph
    space: Space
    objectives: tuple[Objective, ...]
    constraints: tuple[Constraint, ...]
    on_error: Literal["stop", "skip"] = "stop"
    """Whether a search ends at a design that a model raises for, or goes on without it."""
    screens: bool = False
    """Whether objectives are computed only for designs that meet the numeric constraints."""

    @property
    def signs(self) -> Array:
        """1 or -1 for each objective: times the values, less is better everywhere."""
        return np.array([objective.sign for objective in self.objectives])

    @property
    def scenarios(self) -> int:
        """The most scenarios of any criterion: arrays have so many rows."""
        return max((count_scenarios(conditions) for _, conditions in self.requests()), default=1)

    @property
    def _block(self) -> int:
        return max(1, _CHUNK // self.scenarios)

    @cached_property
    def pace(self) -> float:
        """The processor seconds per design; measured once, as models may remember designs."""
        return measure_pace(self.evaluate, self.space)

    @cached_property
    def domains(self) -> tuple[Quantity | None, ...]:
        """The declared domain of each objective and then of each constraint; None for a relation.

        A mean over scenarios stays between its terms, but need not be a whole number.
        """
        quantities = self.model_graph.quantities
        domains = [quantities.get(o.quantity) for o in self.objectives]
        for i, (objective, domain) in enumerate(zip(self.objectives, domains, strict=True)):
            if domain is not None and objective.reduction is not None:
                domains[i] = replace(domain, integer=False)
        return (*domains, *(quantities.get(c.quantity) for c in self.constraints))

    def prefilter(self) -> Evaluator:
        """Return an evaluator of only the constraints on variables, which no model affects.

        Such as ``streams * engines_per_core <= 8``. Its feasible designs are worth a run of models.
        """
        owned = self.space.quantities()
        constraints = (
            constraint
            for constraint in self.constraints
            if not self.model_graph.runs(
                [(name, constraint.conditions) for name in constraint.names]
            )
            and any(n in owned and n not in constraint.conditions for n in constraint.names)
        )
        return replace(self, objectives=(), constraints=tuple(constraints))

    def requests(self) -> list[tuple[str, Conditions]]:
        """Return every quantity that an evaluation needs, with the inputs bound for it."""
        return self._objective_requests() + [
            (name, c.conditions) for c in self.constraints for name in c.names
        ]

    def _objective_requests(self) -> list[tuple[str, Conditions]]:
        return [(o.quantity, o.conditions) for o in self.objectives]

    def evaluate(self, points: Points) -> Evaluated:
        """Evaluate designs.

        Raises
        ------
        ModelError
            If a model raises.
        """
        count = len(next(iter(points.values())))
        return self.evaluate_columns(self.space.columns(points), count)

    def evaluate_columns(
        self,
        columns: Mapping[str, Array],
        count: int,
        known: Mapping[Key, Mapping[str, Array]] | None = None,
    ) -> Evaluated:
        """Evaluate designs given as columns by name; `known` as in `ModelGraph.evaluate`."""
        if not known and count > self._block:
            batches = []
            for low in range(0, count, self._block):
                some = slice(low, min(low + self._block, count))
                part = {n: v[some] if np.ndim(v) else v for n, v in columns.items()}
                batches.append(self.evaluate_columns(part, some.stop - low))
            return concatenate_batches(batches)
        evaluation = Evaluation(self.model_graph, columns, dict(known or {}))
        constrained = self._constrained(evaluation, count)
        amounts = self.violations(constrained)
        allowed, excluded = (amounts <= 0).all(axis=1), (amounts > 0).any(axis=1)
        if self.screens and excluded.any():
            rows = np.flatnonzero(~excluded)
            objectives = np.full((count, len(self.objectives)), np.nan, order="F")
            if len(rows):
                objectives[rows] = self._objectives(evaluation.among(rows, count), len(rows))
        else:
            objectives = self._objectives(evaluation, count)
        feasible = allowed & ~np.isnan(objectives).any(axis=1)
        return Evaluated(objectives, constrained, np.asarray(feasible))

    def objective_values(
        self,
        columns: Mapping[str, Array],
        count: int,
        known: Mapping[Key, Mapping[str, Array]] | None = None,
    ) -> Array:
        """Return the objectives (designs, objectives) of designs given as columns.

        `known` as in `ModelGraph.evaluate`.
        """
        return replace(self, constraints=()).evaluate_columns(columns, count, known).objectives

    def objective_runs(
        self, columns: Mapping[str, Array], count: int
    ) -> dict[Key, Mapping[str, Array]]:
        """Return the runs of `objective_values`, for `ModelGraph.unmoved`; none of many designs."""
        if count > self._block:
            return {}
        return self.model_graph.done(self._objective_requests(), columns)

    def violations(self, constrained: Array) -> Array:
        """Return by how much designs violate each constraint; see `criteria.measure_violations`."""
        return measure_violations(self.constraints, constrained)

    def _constrained(self, evaluation: Evaluation, count: int) -> Array:
        constrained = np.empty((count, len(self.constraints)), order="F")  # written by column
        with np.errstate(all="ignore"):
            for k, constraint in enumerate(self.constraints):
                requests = [(name, constraint.conditions) for name in constraint.names]
                values = dict(zip(constraint.names, evaluation.values(requests), strict=True))
                constrained[:, k] = constraint.value(values, count)
        return constrained

    def _objectives(self, evaluation: Evaluation, count: int) -> Array:
        values = evaluation.values(self._objective_requests())
        objectives = np.empty((count, len(self.objectives)), order="F")  # written by column
        for i, (objective, value) in enumerate(zip(self.objectives, values, strict=True)):
            objectives[:, i] = objective.reduced(value, count)
        return objectives

    def describe_design(self, points: Points, row: int) -> str:
        """Return the values of a design in words, such as ``"lanes = 4, interface = pcie"``."""
        labels = self.space.labels({n: v[row : row + 1] for n, v in points.items()})
        units = {n: q.unit for n, q in self.model_graph.quantities.items()}
        return ", ".join(
            f"{n} = {v[0] if isinstance(v[0], str) else show(float(v[0]), units[n])}"
            for n, v in labels.items()
        )
