"""The tally: how many designs were evaluated, and how many each constraint excludes."""

from __future__ import annotations

import itertools
from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dse.evaluate.criteria import Constraint, measure_violations
from dse.evaluate.evaluator import Evaluated
from dse.model.quantity import Array, Quantity

_LISTED = 100  # designs that models raised for and that are named, at most
_NONE = np.iinfo(np.int64).max  # the first of no designs


@dataclass(frozen=True)
class Tally:
    """Counts over designs; tallies of parts add up to the tally of the whole, in any order."""

    evaluated: int
    """Evaluated designs."""
    feasible: int
    """Designs that satisfy everything."""
    undefined: int
    """Designs with an objective without a value, of the designs whose objectives were computed."""
    violated: NDArray[np.int64]
    """Designs that violate each constraint. Shape (constraints,)."""
    least: Array
    """Each constraint's least violation over the designs that satisfy all others and have every
    objective, if it was computed; inf for none. Shape (constraints,)."""
    admitted: NDArray[np.int64]
    """The design with that least violation, the first of several; -1 for none. Shape
    (constraints,)."""
    distance: float
    """The smallest sum of violations, each as a fraction of its bound; inf for none."""
    nearest: int
    """The design with this sum; -1 for none."""
    missed: Array
    """The violations of that design. Shape (constraints,)."""
    odd: NDArray[np.int64] = field(default_factory=lambda: np.empty((0, 4), dtype=np.int64))
    """For each objective and then each constraint: designs whose value is NaN though no constraint
    excludes them, and the first of them; designs whose value is outside the declared domain, and
    the first of them. Of objectives, only designs that no constraint excludes are counted. Shape
    (columns, 4)."""
    alone: NDArray[np.int64] = field(default_factory=lambda: np.empty(0, dtype=np.int64))
    """The number of designs that violate only this constraint. Shape (constraints,)."""
    raised: int = 0
    """Designs that a model raised for, which were skipped."""
    errors: Mapping[int, str] = field(default_factory=dict)
    """Of the first designs that a model raised for, by number: their values and the error, in
    words."""

    @classmethod
    def empty(cls, constraints: int) -> Tally:
        """Return the tally of no design."""
        none = np.full(constraints, -1, dtype=np.int64)
        zeros = np.zeros(constraints, dtype=np.int64)
        least, missed = np.full(constraints, np.inf), np.zeros(constraints)
        return cls(0, 0, 0, zeros, least, none, np.inf, -1, missed, alone=zeros)

    @classmethod
    def of(
        cls,
        index: NDArray[np.int64],
        evaluated: Evaluated,
        constraints: tuple[Constraint, ...],
        domains: tuple[Quantity | None, ...] = (),
        screened: bool = False,
    ) -> Tally:
        """Return the tally of evaluated designs with these numbers, under these constraints.

        The domains are `Evaluator.domains`. If `screened`, objectives were computed only of designs
        that no constraint excludes.
        """
        defined = np.asarray(~np.isnan(evaluated.objectives).any(axis=1))
        count = len(constraints)
        amounts = measure_violations(constraints, evaluated.constrained)
        breaks = ~(amounts <= 0)  # True if the violation is NaN
        broken = breaks.sum(axis=1, dtype=np.int16)
        excluded = np.asarray((amounts > 0).any(axis=1))
        if screened:  # nothing is known of the others
            defined |= excluded
        least = np.full(count, np.inf)
        admitted = np.full(count, -1, dtype=np.int64)
        satisfied = np.flatnonzero(defined & (broken == 0))
        single = np.flatnonzero(broken == 1)
        alone = (amounts[single] > 0).sum(axis=0)
        for k in range(count):
            rows = satisfied  # their amounts are at most 0, and the amounts of the others are more
            if not len(rows):
                rows = single[defined[single] & (amounts[single, k] > 0)]
            if len(rows):
                best = rows[np.argmin(amounts[rows, k])]
                least[k], admitted[k] = amounts[best, k], index[best]
        distance, nearest, missed = np.inf, -1, np.zeros(count)
        if count and len(index) and not evaluated.feasible.any():  # else of no use
            scales = np.array([abs(constraint.bound) or 1.0 for constraint in constraints])
            with np.errstate(over="ignore"):  # a violation divided by a tiny bound
                far = (np.maximum(amounts, 0.0) / scales).sum(axis=1)
            far = np.where(defined & ~np.isnan(far), far, np.inf)
            row = int(np.argmin(far))
            if far[row] < np.inf:
                distance, nearest, missed = float(far[row]), int(index[row]), amounts[row]
        return cls(
            len(index),
            int(np.count_nonzero(evaluated.feasible)),
            len(index) - int(np.count_nonzero(defined)),
            np.array([np.count_nonzero(column) for column in breaks.T], dtype=np.int64),
            least,
            admitted,
            distance,
            nearest,
            missed,
            _odd(index, evaluated, domains, excluded),
            alone,
            len(evaluated.failed),
            _first({int(index[row]): error for row, error in evaluated.failed.items()}),
        )

    def arrays(self) -> dict[str, NDArray[Any]]:
        """Return the tally as arrays, for a checkpoint."""
        names = [f.name for f in fields(self) if f.name != "errors"]
        return {f"tally_{name}": np.asarray(getattr(self, name)) for name in names} | {
            "failed_numbers": np.array([*self.errors], dtype=np.int64),
            "failed_errors": np.array([*self.errors.values()], dtype=np.str_),
        }

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, NDArray[Any]]) -> Tally:
        """Return the tally that `arrays` gave."""
        own = {n.removeprefix("tally_"): a for n, a in arrays.items() if n.startswith("tally_")}
        errors = zip(
            arrays["failed_numbers"].tolist(), arrays["failed_errors"].tolist(), strict=True
        )
        values: dict[str, Any] = {n: a if a.ndim else a.item() for n, a in own.items()}
        return cls(**values, errors=dict(errors))

    def __add__(self, other: Tally) -> Tally:
        nearer = (other.least < self.least) | (
            (other.least == self.least)
            & (other.admitted >= 0)
            & ((self.admitted < 0) | (other.admitted < self.admitted))
        )
        closer = (other.distance, other.nearest) < (self.distance, self.nearest)
        near = other if other.nearest >= 0 and (closer or self.nearest < 0) else self
        sums = ("evaluated", "feasible", "undefined", "violated", "alone", "raised")
        return Tally(
            **{name: getattr(self, name) + getattr(other, name) for name in sums},
            **{name: getattr(near, name) for name in ("distance", "nearest", "missed")},
            least=np.where(nearer, other.least, self.least),
            admitted=np.where(nearer, other.admitted, self.admitted),
            odd=_add_odd(self.odd, other.odd),
            errors=_first({**self.errors, **other.errors}) if other.errors else self.errors,
        )


def _first(errors: Mapping[int, str]) -> dict[int, str]:
    """Return the designs with the least numbers, as many as are listed."""
    return dict(sorted(errors.items())[:_LISTED])


def _odd(
    index: NDArray[np.int64],
    evaluated: Evaluated,
    domains: tuple[Quantity | None, ...],
    excluded: NDArray[np.bool_],
) -> NDArray[np.int64]:
    """Count the odd values of `Tally.odd`; a design that a constraint excludes needs no value."""
    odd = np.tile(np.array([0, _NONE, 0, _NONE]), (len(domains), 1))
    allowed, every = np.flatnonzero(~excluded), np.arange(len(index))
    objectives = ((allowed, values[allowed]) for values in evaluated.objectives.T)
    constrained = ((every, values) for values in evaluated.constrained.T)
    columns = itertools.chain(objectives, constrained)
    for row, domain, (rows, values) in zip(odd, domains, columns, strict=False):
        if domain is None or domain.contains_all(values):
            continue  # nearly always: the minimum and the maximum suffice
        nan = np.isnan(values)
        for k, marked in ((0, nan & ~excluded[rows]), (2, ~nan & ~domain.contains(values))):
            if marked.any():
                row[k], row[k + 1] = marked.sum(), index[rows[marked]].min()
    return odd


def _add_odd(one: NDArray[np.int64], other: NDArray[np.int64]) -> NDArray[np.int64]:
    if len(one) == 0 or len(other) == 0:  # of no designs
        return other if len(one) == 0 else one
    total = np.minimum(one, other)  # the first designs
    total[:, ::2] = one[:, ::2] + other[:, ::2]  # the counts
    return total
