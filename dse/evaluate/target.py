"""Targets: values that objectives must meet, and the objectives to optimize among such designs.

Some bounds ask for a better value, such as ``speedup >= 5`` of a speedup that is maximized. The
front answers them without a new search. Let a feasible design meet all such bounds. A design of the
whole Pareto front is as good or better in every objective. It meets the bounds as well, and its
minimum of any other objective is no greater. A design outside the front is thus never needed.

Other bounds are on another quantity, or exclude better values of an objective. A design that
dominates another one may violate them. They are thus constraints of the whole search, and the same
argument holds for the front of the remaining designs.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from dse.evaluate.criteria import Objective
from dse.model.grammar import (
    TURNED,
    Comparison,
    LocatedProblem,
    Name,
    Number,
    list_comparisons,
    located_error,
    read_condition,
    write_tree,
)
from dse.model.quantity import Array
from dse.model.relation import Relation, make_relation
from dse.model.units import read_value
from dse.problems import Problem, nearest

_COMPARED: dict[str, Callable[[Any, Any], Any]] = {
    ">=": operator.ge,
    "<=": operator.le,
    ">": operator.gt,
    "<": operator.lt,
}
EXAMPLE = "such as 'speedup >= 5 and area <= 100 kLUT'"
"""An example of a target."""


class BoundText(NamedTuple):
    """A bound as written: a name, one of >=, <=, >, <, and a number that may have a unit."""

    name: str
    sign: str
    number: str

    @property
    def text(self) -> str:
        """The bound, evenly spaced."""
        return f"{quote_name(self.name)} {self.sign} {self.number}"


def quote_name(name: str) -> str:
    """Return a name as a target has it: between backquotes if it is not a word."""
    return name if name.isidentifier() else f"`{name}`"


@dataclass(frozen=True)
class Bound:
    """A bound that an objective must meet."""

    objective: str
    unit: str
    sign: str
    """In the direction in which the objective is better. One of ">=", ">", "<=", "<"."""
    value: float
    """In the objective's unit."""
    text: str

    def reached(self, values: Array) -> NDArray[np.bool_]:
        """Return for each value of the objective whether it meets the bound; NaN does not."""
        return np.asarray(_COMPARED[self.sign](values, self.value))


@dataclass(frozen=True)
class Target:
    """The target of a study."""

    reach: str
    least: str
    """The objective to optimize; if it is empty, each objective without a bound."""
    bounds: tuple[Bound, ...]
    """The bounds that the front answers."""
    searched: tuple[str, ...] = ()
    """Names of the constraints for the other bounds, which apply to the whole search."""


def read_target(text: str) -> list[BoundText | Relation]:
    """Read the bounds of a target, and its relations between quantities.

    Raises
    ------
    GrammarError
        If the text is not a condition of `dse.model.grammar`, or has ``or``, ``not``, ``==`` or
        texts in it.

    >>> [b.text for b in read_target("speedup>=5 and 100 kLUT > area and 1 < `time at 1 KiB` <= 3")]
    ['speedup >= 5', 'area < 100 kLUT', '`time at 1 KiB` > 1', '`time at 1 KiB` <= 3']
    >>> [b.text for b in read_target("lanes between 2 and 8 and speedup / area > 3")]
    ['lanes >= 2', 'lanes <= 8', 'speedup / area > 3']
    """
    return [_bound_or_relation(comparison) for comparison in list_comparisons(read_condition(text))]


def _bound_or_relation(comparison: Comparison) -> BoundText | Relation:
    left, sign, right = comparison.left, comparison.sign, comparison.right
    if sign not in _COMPARED:
        raise located_error([LocatedProblem(left.at, f"a target does not compare by {sign}")])
    if isinstance(left, Number):
        left, right, sign = right, left, TURNED[sign]
    if isinstance(left, Name) and isinstance(right, Number):
        return BoundText(left.name, sign, write_tree(right))
    return make_relation(comparison)


def find_bounded_objective(
    bound: BoundText, objectives: Sequence[Objective]
) -> tuple[Objective | None, Problem | None]:
    """Return the objective that a bound names, by its name or as the only one of a quantity.

    The result is None if there is none, and a problem if several objectives have the name.
    """
    name = bound.name
    named = [o for o in objectives if o.name == name]
    named = named or [o for o in objectives if o.quantity == name]
    if len(named) > 1:
        message = f"'{name}' is the quantity of {len(named)} objectives"
        names = ", ".join(quote_name(o.name) for o in named)
        return None, Problem("", message, f"name one of them: {names}")
    return (named[0], None) if named else (None, None)


def bound_requires_better(bound: BoundText, objective: Objective) -> bool:
    """Return whether a bound requires a better value of an objective: the front answers it."""
    return (bound.sign[0] == ">") == (objective.direction == "maximize")


def read_bound(bound: BoundText, objective: Objective, clock: float | None) -> Bound:
    """Return the bound on an objective from its text.

    Raises
    ------
    UnitError
        If its number is none, or of another unit.
    """
    value = read_value(bound.number, objective.unit, clock)
    text = bound._replace(name=objective.name).text
    return Bound(objective.name, objective.unit, bound.sign, value, text)


def check_minimized_objective(least: str, objectives: Sequence[Objective]) -> Problem | None:
    """Return the problem with the objective to minimize, if any."""
    by_name = {o.name: o for o in objectives}
    if not least:
        return None
    if least not in by_name:
        return Problem("", f"'{least}' is not an objective", nearest(least, list(by_name)))
    if by_name[least].direction == "minimize":
        return None
    minimized = ", ".join(quote_name(o.name) for o in objectives if o.direction == "minimize")
    remedy = (
        f"name one that is minimized: {minimized}"
        if minimized
        else "leave it out: no objective is minimized"
    )
    return Problem("", f"'{least}' is maximized, and --least takes a minimized objective", remedy)
