"""Constraints that contradict each other: two bounds of one quantity that no value satisfies."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, NamedTuple

from dse.evaluate.conditions import Reduction
from dse.evaluate.constraint import Constraint
from dse.study.resolve.context import Context

_Key = tuple[str, frozenset[Any], Reduction | None]


class _Bound(NamedTuple):
    """A bound of a quantity: a value, and whether the value itself breaks it."""

    value: float
    strict: bool
    name: str


def check_contradictions(ctx: Context, constraints: Iterable[Constraint]) -> None:
    """Require that no two bounds of a quantity, under equal conditions, exclude every value."""
    most: dict[_Key, _Bound] = {}
    least: dict[_Key, _Bound] = {}
    for constraint in constraints:
        for quantity, upper, bound in _bounds(constraint):
            key = quantity, frozenset(constraint.conditions.items()), constraint.reduction
            own = most if upper else least
            if key not in own or _tighter(bound, own[key], upper):
                own[key] = bound
    for key in most.keys() & least.keys():
        low, high = least[key], most[key]
        if low.value > high.value or (low.value == high.value and (low.strict or high.strict)):
            message = f"'{low.name}' and '{high.name}' cannot both hold"
            ctx.add("constraint", message, "no design could be feasible: change one of them")


def _tighter(one: _Bound, other: _Bound, upper: bool) -> bool:
    if one.value == other.value:
        return one.strict
    return (one.value < other.value) == upper


def _bounds(constraint: Constraint) -> list[tuple[str, bool, _Bound]]:
    """Return the bounds that a constraint sets: of what, whether it is an upper one, and which."""
    if constraint.relation is None:
        bound = _Bound(constraint.bound, False, constraint.name)
        return [(constraint.quantity, constraint.upper, bound)]
    found = constraint.relation.bound()
    if found is None:
        return []
    name, sign, value = found
    bound = _Bound(value, constraint.relation.strict, constraint.name)
    sides = {"<": (True,), ">": (False,), "=": (True, False)}[sign[0]]
    return [(name, upper, bound) for upper in sides]
