"""The tally: how many designs were judged, and which constraints excluded how many."""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dse.evaluate.criteria import Constraint, violations
from dse.evaluate.evaluator import Evaluated
from dse.model.quantity import Array, Quantity
from dse.model.values import plural, show

LISTED = 100
"""Designs that models raised for and that are named, at most."""


@dataclass(frozen=True)
class Tally:
    """Counts over designs; tallies of parts add up to the tally of the whole, in any order.

    Parameters
    ----------
    evaluated, feasible, undefined : int
        Designs judged; that satisfy everything; that have an objective without a value, of those
        whose objectives were asked.
    violated : ndarray of int, shape (constraints,)
        Designs that violate each constraint.
    least : ndarray, shape (constraints,)
        Each constraint's least violation over the designs that satisfy all others and have every
        objective, if they were asked; inf for none.
    admitted : ndarray of int, shape (constraints,)
        The design with that least violation, the first of several; -1 for none.
    distance, nearest : float, int
        The smallest sum of violations, each as a fraction of its bound, and its design; inf
        and -1 for none.
    missed : ndarray, shape (constraints,)
        The violations of that design.
    odd : ndarray of int, shape (columns, 4)
        For each objective and then each constraint: designs whose value is NaN though no constraint
        excludes them, and the first of them; designs whose value is outside the declared domain,
        and the first of them. Of objectives, only designs that no constraint excludes are counted.
    alone : ndarray of int, shape (constraints,)
        The number of designs that violate only this constraint.
    raised : int
        Designs that a model raised for, which were skipped.
    why : mapping of int to str
        By number, the first of them: their values, and what was raised.
    """

    evaluated: int
    feasible: int
    undefined: int
    violated: NDArray[np.int64]
    least: Array
    admitted: NDArray[np.int64]
    distance: float
    nearest: int
    missed: Array
    odd: NDArray[np.int64] = field(default_factory=lambda: np.empty((0, 4), dtype=np.int64))
    alone: NDArray[np.int64] = field(default_factory=lambda: np.empty(0, dtype=np.int64))
    raised: int = 0
    why: Mapping[int, str] = field(default_factory=dict)

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
        judged: Evaluated,
        constraints: tuple[Constraint, ...],
        domains: tuple[Quantity | None, ...] = (),
        screened: bool = False,
    ) -> Tally:
        """Return the tally of judged designs with these numbers, under these constraints.

        Parameters
        ----------
        domains : tuple of Quantity or None
            See `Evaluator.domains`.
        screened : bool
            Whether objectives were asked only of designs that no constraint excludes.
        """
        defined = ~np.isnan(judged.objectives).any(axis=1)
        count = len(constraints)
        amounts = violations(constraints, judged.constrained)
        breaks = ~(amounts <= 0)  # True if the violation is NaN
        broken = breaks.sum(axis=1, dtype=np.int32)
        excluded = np.asarray((amounts > 0).any(axis=1))
        if screened:  # nothing is known of the others
            defined |= excluded
        least = np.full(count, np.inf)
        admitted = np.full(count, -1, dtype=np.int64)
        for k in range(count):
            rows = np.flatnonzero(defined & (broken == breaks[:, k]) & ~np.isnan(amounts[:, k]))
            if len(rows):
                best = rows[np.argmin(amounts[rows, k])]
                least[k], admitted[k] = amounts[best, k], index[best]
        distance, nearest, missed = np.inf, -1, np.zeros(count)
        if count and len(index) and not judged.feasible.any():  # of use only if nothing is feasible
            scales = np.array([abs(constraint.bound) or 1.0 for constraint in constraints])
            with np.errstate(over="ignore"):  # a violation divided by a tiny bound
                far = (np.maximum(amounts, 0.0) / scales).sum(axis=1)
            far = np.where(defined & ~np.isnan(far), far, np.inf)
            row = int(np.argmin(far))
            if far[row] < np.inf:
                distance, nearest, missed = float(far[row]), int(index[row]), amounts[row]
        return cls(
            len(index),
            int(judged.feasible.sum()),
            int((~defined).sum()),
            breaks.sum(axis=0),
            least,
            admitted,
            distance,
            nearest,
            missed,
            _odd(index, judged, domains, excluded),
            (breaks & (amounts > 0))[broken == 1].sum(axis=0),
            len(judged.failed),
            _first({int(index[row]): why for row, why in judged.failed.items()}),
        )

    def arrays(self) -> dict[str, NDArray[Any]]:
        """Return it as arrays, for a checkpoint."""
        return {
            "counts": np.array([self.evaluated, self.feasible, self.undefined]),
            "violated": self.violated,
            "least": self.least,
            "admitted": self.admitted,
            "distance": np.array(self.distance),
            "nearest": np.array(self.nearest),
            "missed": self.missed,
            "odd": self.odd,
            "alone": self.alone,
            "raised": np.array([self.raised, *self.why]),
            "why": np.array([*self.why.values()], dtype=np.str_),
        }

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, NDArray[Any]]) -> Tally:
        """Return the tally that `arrays` gave."""
        evaluated, feasible, undefined = arrays["counts"].tolist()
        return cls(
            evaluated,
            feasible,
            undefined,
            arrays["violated"],
            arrays["least"],
            arrays["admitted"],
            float(arrays["distance"]),
            int(arrays["nearest"]),
            arrays["missed"],
            arrays["odd"],
            arrays["alone"],
            int(arrays["raised"][0]),
            dict(zip(arrays["raised"][1:].tolist(), arrays["why"].tolist(), strict=True)),
        )

    def __add__(self, other: Tally) -> Tally:
        nearer = (other.least < self.least) | (
            (other.least == self.least)
            & (other.admitted >= 0)
            & ((self.admitted < 0) | (other.admitted < self.admitted))
        )
        closer = (other.distance, other.nearest) < (self.distance, self.nearest)
        near = other if other.nearest >= 0 and (closer or self.nearest < 0) else self
        return Tally(
            self.evaluated + other.evaluated,
            self.feasible + other.feasible,
            self.undefined + other.undefined,
            self.violated + other.violated,
            np.where(nearer, other.least, self.least),
            np.where(nearer, other.admitted, self.admitted),
            near.distance,
            near.nearest,
            near.missed,
            _added(self.odd, other.odd),
            self.alone + other.alone,
            self.raised + other.raised,
            _first({**self.why, **other.why}) if other.why else self.why,
        )


def _first(why: Mapping[int, str]) -> dict[int, str]:
    """Return the designs with the least numbers, as many as are listed."""
    return dict(sorted(why.items())[:LISTED])


_NONE = np.iinfo(np.int64).max
"""The first of no designs."""


def _odd(
    index: NDArray[np.int64],
    judged: Evaluated,
    domains: tuple[Quantity | None, ...],
    excluded: NDArray[np.bool_],
) -> NDArray[np.int64]:
    """Count the odd values of `Tally.odd`; a design that a constraint excludes needs no value."""
    found = np.tile(np.array([0, _NONE, 0, _NONE]), (len(domains), 1))
    asked, every = np.flatnonzero(~excluded), np.arange(len(index))
    objectives = ((asked, values[asked]) for values in judged.objectives.T)
    constrained = ((every, values) for values in judged.constrained.T)
    columns = itertools.chain(objectives, constrained)
    for row, domain, (rows, values) in zip(found, domains, columns, strict=False):
        if domain is None or domain.contains_all(values):
            continue  # nearly always: the minimum and the maximum suffice
        nan = np.isnan(values)
        for k, marked in ((0, nan & ~excluded[rows]), (2, ~nan & ~domain.contains(values))):
            if marked.any():
                row[k], row[k + 1] = marked.sum(), index[rows[marked]].min()
    return found


def _added(one: NDArray[np.int64], other: NDArray[np.int64]) -> NDArray[np.int64]:
    if len(one) == 0 or len(other) == 0:  # of no designs
        return other if len(one) == 0 else one
    return np.stack(
        [
            one[:, 0] + other[:, 0],
            np.minimum(one[:, 1], other[:, 1]),
            one[:, 2] + other[:, 2],
            np.minimum(one[:, 3], other[:, 3]),
        ],
        axis=1,
    )


def why_infeasible(
    tally: Tally,
    constraints: tuple[Constraint, ...],
    undefined: Sequence[str] = (),
    why: str = "",
) -> tuple[str, str]:
    """Return in words what excludes every design, and which relaxation would admit one.

    Parameters
    ----------
    tally : Tally
        Of all designs.
    constraints : tuple of Constraint
        The constraints.
    undefined : sequence of str
        The objectives that have no value for some designs.
    why : str
        Why one of these designs has none, in words; empty if that is not known.
    """
    parts = []
    if tally.undefined:
        which = f" of {', '.join(undefined)}" if undefined else ""
        parts.append(
            f"{plural(tally.undefined, 'has', 'have')} no value{which}: "
            + (
                why
                or "an input is outside a model's domain (dse list shows domains), "
                "or the model gives NaN"
            )
        )
    for constraint, count in zip(constraints, tally.violated, strict=True):
        parts.append(f"'{constraint.name}' excludes {count:,}")
    return (
        f"no design is feasible: of {plural(tally.evaluated, 'design')}, {', '.join(parts)}",
        "; ".join(_ways(tally, constraints)),
    )


def _ways(tally: Tally, constraints: tuple[Constraint, ...]) -> list[str]:
    """Return in words which relaxations would admit a design."""
    found = [k for k in range(len(constraints)) if 0 < tally.least[k] < np.inf]
    ways = [
        f"{_relaxed(constraints[k], tally.least[k])} would admit design {tally.admitted[k]}"
        for k in found
    ]
    if not ways and tally.nearest >= 0:
        missed = [
            _relaxed(constraint, violation)
            for constraint, violation in zip(constraints, tally.missed, strict=True)
            if violation > 0
        ]
        ways.append(
            f"no single constraint is to blame; {' and '.join(missed)} "
            f"would admit design {tally.nearest}, the nearest"
        )
    return ways


def _relaxed(constraint: Constraint, violation: float) -> str:
    """Return how a constraint would have to be written to let a design with this violation in."""
    if constraint.required_by:  # a model needs it: nobody may loosen it
        return f"meeting '{constraint.name}' (broken by {_rounded(violation, True)})"
    if constraint.relation is not None:
        if constraint.relation.strict and violation <= np.finfo(np.float64).tiny:
            return f"writing {constraint.relation.relation}= in '{constraint.name}'"
        return f"relaxing '{constraint.name}' by {_rounded(violation, True)}"
    outwards = np.inf if constraint.upper else -np.inf
    bound = constraint.bound + (violation if constraint.upper else -violation)
    if abs(np.nextafter(bound, outwards) - constraint.bound) <= violation:  # the sum lost digits
        bound = constraint.bound + np.copysign(np.nextafter(violation, np.inf), outwards)
    shown = _rounded(bound, constraint.upper)
    key = "at_most" if constraint.upper else "at_least"
    return f"{key} = {shown} ({show(float(shown), constraint.unit)}) for {constraint.quantity}"


def _rounded(value: float, up: bool) -> str:
    """Write a number in as few digits, six or more, as do not round it the wrong way."""
    for digits in range(6, 18):
        shown = f"{value:.{digits}g}"
        if float(shown) == value or (float(shown) > value) == up:
            break
    return shown
