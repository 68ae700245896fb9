"""Objectives and constraints: their conditions, and several scenarios as one number."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, TypeAlias

import numpy as np

from dse.evaluate.samples import SAMPLE, Sampled
from dse.model.quantity import Array, Quantity
from dse.model.relation import Relation
from dse.model.values import show

# Conditions ---------------------------------------------------------------------------------------


Conditions: TypeAlias = Mapping[str, float | tuple[float, ...]]
"""Inputs of one objective or constraint: a number each, or one number per scenario."""
ReductionName = Literal["mean", "min", "max", "harmonic mean"]
"""Names of a study; it may also say ``"worst"`` or a fraction, which becomes a quantile."""


def count_scenarios(conditions: Conditions) -> int:
    """Return how many scenarios some conditions describe."""
    return max((len(v) for v in conditions.values() if isinstance(v, tuple)), default=1)


def select_scenario(conditions: Conditions, number: int) -> dict[str, float]:
    """Return the conditions of one scenario, counted from 0."""
    return {n: v[number] if isinstance(v, tuple) else v for n, v in conditions.items()}


def select_scenarios(conditions: Conditions, some: Sequence[int]) -> Conditions:
    """Return the conditions of some of their scenarios, counted from 0."""
    return {
        n: tuple(v[k] for k in some) if isinstance(v, tuple) else v for n, v in conditions.items()
    }


_LISTED = 4  # values of a scenario's input in words
_FEW = 8  # scenarios below which numpy adds them one after the other


def show_conditions(conditions: Conditions, quantities: Mapping[str, Quantity]) -> str:
    """Return bound inputs for people.

    >>> sizes = {"size": (64.0, 1024.0), "clock": 1e9}
    >>> show_conditions(sizes, {"size": Quantity("B", "size"), "clock": Quantity("Hz", "clock")})
    'at clock = 1 GHz over size = 64 B, 1,024 B'
    """
    at, over = [], []
    for name, bound in conditions.items():
        if isinstance(bound, Sampled):
            over += [f"{bound.samples} samples"] if name == SAMPLE else []
            continue
        unit = quantities[name].unit if name in quantities else "1"
        if not isinstance(bound, tuple):
            at.append(f"{name} = {show(bound, unit)}")
            continue
        values = [show(value, unit) for value in dict.fromkeys(bound)]
        few = ", ".join(values) if len(values) <= _LISTED else f"{values[0]} … {values[-1]}"
        over.append(f"{name} = {few}")
    words = (f"{word} {', '.join(found)}" for word, found in (("at", at), ("over", over)) if found)
    return " ".join(words)


@dataclass(frozen=True)
class Reduction:
    """How several scenarios become one number."""

    how: ReductionName | Literal["quantile"]
    share: float = 0.5
    """For ``"quantile"``: which, from 0 to 1."""
    weights: tuple[float, ...] = ()
    """For a kind of mean: how much each scenario counts, each above 0; empty if all count alike."""
    skipped: int = 0
    """Scenarios at the start that count only in extremes: corners, which are not likely."""
    label: str = field(default="", compare=False)
    """The text of the study, such as ``"95 %"``."""

    def __str__(self) -> str:
        if self.label:
            return self.label
        how = f"{self.share} quantile" if self.how == "quantile" else self.how
        return f"weighted {how}" if self.weights else how

    @property
    def first(self) -> int:
        """The first of the scenarios that count."""
        return 0 if self.how in ("min", "max") else self.skipped

    def rises(self, low: Any) -> Any:
        """Return whether the reduction rises with each of its terms if none is below `low`.

        Searches by bounds rely on it. Add a reduction here if it can fall.
        """
        return np.greater_equal(low, 0) | (self.how != "harmonic mean")

    def __call__(self, every: Array) -> Array:
        """Return one number a design of values (scenarios, designs); NaN if a scenario has none."""
        likely = every[self.skipped :]
        with np.errstate(all="ignore"):
            match self.how:
                case "min":
                    return np.asarray(every.min(axis=0))
                case "max":
                    return np.asarray(every.max(axis=0))
                case "quantile":
                    return _quantile(likely, self.share)
                case "mean" if not self.weights:
                    return ordered_sum(likely) / len(likely)
            weights = np.array(self.weights or (1.0,) * len(likely))[:, None]
            match self.how:
                case "mean":
                    return np.asarray(ordered_sum(weights * likely) / weights.sum())
                case "harmonic mean":
                    return np.asarray(weights.sum() / ordered_sum(weights / likely))


def ordered_sum(every: Array) -> Array:
    """Return the sum over the first axis, in an order that the other axes do not change.

    The order of numpy depends on the number of designs in a batch, and a result must not.
    """
    if len(every) < _FEW:
        return np.asarray(every.sum(axis=0, initial=-0.0))  # keeps the sign of 0
    while len(every) > 1:
        half = len(every) // 2
        left = every[2 * half :]
        every = every[:half] + every[half : 2 * half]
        if len(left):
            every[0] += left[0]
    return np.asarray(every[0])


def _quantile(every: Array, share: float) -> Array:
    """Return a quantile along the first axis, between two values by their distance.

    As numpy's, but for infinities: between a number and infinity lies infinity, not NaN.
    """
    place = share * (len(every) - 1)
    low, weight = int(place), place - int(place)
    ascending = np.sort(every, axis=0)  # NaN last
    left, right = ascending[low], ascending[min(low + 1, len(every) - 1)]
    between = left if weight == 0.0 else left * (1 - weight) + right * weight
    value = np.minimum(np.maximum(left, between), right)  # rounding must not leave the interval
    return np.asarray(np.where(np.isnan(ascending[-1]), np.nan, value))


def reduce_scenarios(
    values: Array, conditions: Conditions, reduction: Reduction | None, count: int
) -> Array:
    """Return one number a design of values that were computed under some conditions.

    The values have the shape (designs,), or (scenarios, designs), or broadcast to it.
    """
    if reduction is None:
        return np.broadcast_to(values, (count,))
    return reduction(np.broadcast_to(values, (count_scenarios(conditions), count)))


def reduce_bounds(
    values: Any, low: Any, conditions: Conditions, reduction: Reduction | None, count: int
) -> Array:
    """Return a bound of the result of `reduce_scenarios`, from bounds of the values.

    The values are never below `low`. The bound is NaN where the reduction does not rise with them.
    """
    found = reduce_scenarios(np.asarray(values, dtype=np.float64), conditions, reduction, count)
    if reduction is None:
        return found
    every = np.broadcast_to(low, (count_scenarios(conditions), count))
    return np.where(reduction.rises(every[reduction.first :].min(axis=0)), found, np.nan)


# Objectives ---------------------------------------------------------------------------------------


Direction = Literal["maximize", "minimize"]


@dataclass(frozen=True)
class Objective:
    """One resolved objective.

    Parameters
    ----------
    name : str
        The column; the quantity's name if only one objective asks for it.
    quantity, unit, symbol, about : str
        The quantity.
    direction : {"maximize", "minimize"}
        Which way is better.
    condition : str
        The conditions in words, such as ``"at granularity = 1 KiB"``; empty for none.
    conditions : mapping of str to float or tuple of float
        Inputs bound for it (``at``), and for several scenarios (``over``) one number each.
    reduction : Reduction or None
        How several scenarios become one number.
    worth : float or None
        The declared value above which a maximized quantity is beneficial.
    weight : float
        Its exponent in the product that selects the recommended design.
    own_host : bool
        Whether designs may each be compared with their own host.
    """

    name: str
    quantity: str
    direction: Direction
    unit: str
    symbol: str
    about: str
    condition: str = ""
    conditions: Conditions = field(default_factory=dict)
    reduction: Reduction | None = None
    worth: float | None = None
    weight: float = 1.0
    own_host: bool = False

    @property
    def sign(self) -> float:
        """1 if lower is better, -1 if higher is: the value times the sign is minimized."""
        return 1.0 if self.direction == "minimize" else -1.0

    @property
    def scenarios(self) -> int:
        """The number of scenarios."""
        return count_scenarios(self.conditions)

    def reduced(self, values: Array, count: int) -> Array:
        """Return one value a design; see `dse.evaluate.criteria.reduce_scenarios`."""
        return reduce_scenarios(values, self.conditions, self.reduction, count)


# Constraints --------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Constraint:
    """One bound on a quantity, or one relation between quantities."""

    name: str
    """As shown, such as ``"utilization <= 0.9"``."""
    quantity: str
    """The bounded quantity, empty for a relation."""
    unit: str
    """The unit of the quantity, empty for a relation."""
    bound: float
    """The bound, in the quantity's unit; 0 for a relation."""
    upper: bool
    """Whether it is an upper bound; true for a relation."""
    relation: Relation | None
    conditions: Conditions
    """Inputs bound for it, and for several scenarios one number each."""
    condition: str = ""
    """The same in words, such as ``"at granularity = 1 KiB"``; empty for none."""
    reduction: Reduction | None = None
    required_by: str = ""
    """The model that requires it; empty for a constraint of the study."""

    @property
    def names(self) -> tuple[str, ...]:
        """The quantities that it needs."""
        return tuple(sorted(self.relation.names)) if self.relation else (self.quantity,)

    def value(self, values: Mapping[str, Any], count: int) -> Array:
        """Return the bounded quantity of each design, or by how much it violates the relation.

        The values of `names` have the shape (designs,), or (scenarios, designs), or broadcast to
        it.
        """
        if self.relation is not None:
            given = self.relation.violation(values)
        else:
            given = np.asarray(values[self.quantity], dtype=np.float64)
        return reduce_scenarios(given, self.conditions, self.reduction, count)

    def violation(self, value: Array) -> Array:
        """Return by how much designs with this value violate it; 0 or less if it holds."""
        return value - self.bound if self.upper else self.bound - value


def measure_violations(constraints: Sequence[Constraint], constrained: Array) -> Array:
    """Return by how much designs violate each constraint (designs, constraints).

    0 or less if it holds, NaN if its quantity has no value. `constrained` has the same shape, and
    the results of `Constraint.value`.
    """
    found = np.empty_like(constrained)
    with np.errstate(all="ignore"):
        for k, constraint in enumerate(constraints):
            found[:, k] = constraint.violation(constrained[:, k])
    return found
