"""Relations between quantities, such as ``lanes * streams <= 64``: comparisons of arrays."""

from __future__ import annotations

import functools
import operator
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from dse.model.dimension import Units, convert_units
from dse.model.grammar import (
    TURNED,
    Call,
    Comparison,
    Expression,
    LocatedProblem,
    Name,
    Number,
    list_comparisons,
    list_names,
    located_error,
    read_condition,
    write_tree,
)
from dse.model.quantity import Array

OPERATIONS: Mapping[str, Callable[..., Any]] = {
    "negative": operator.neg,
    "+": operator.add,
    "-": operator.sub,
    "*": operator.mul,
    "/": np.divide,
    "//": np.floor_divide,
    "%": np.mod,
    "**": np.power,
    "abs": np.abs,
    "ceil": np.ceil,
    "exp": np.exp,
    "floor": np.floor,
    "log": np.log,
    "log2": np.log2,
    "log10": np.log10,
    "max": np.maximum,
    "min": np.minimum,
    "sqrt": np.sqrt,
}
"""Each operation of the grammar, as a function of arrays."""


@dataclass(frozen=True)
class Relation:
    """A relation ``left <= right`` (or ``>=``, ``<``, ``>``, ``==``) between quantities.

    Parameters
    ----------
    text : str
        As written.
    sides : Comparison
        The expressions on its sides, and the sign.
    slack : float
        The fraction by which the sides of ``==`` may differ.
    """

    text: str
    sides: Comparison
    slack: float = 0.0

    @functools.cached_property
    def names(self) -> frozenset[str]:
        """The quantities in it."""
        return frozenset(name.name for name in list_names(self.sides))

    @property
    def strict(self) -> bool:
        """Whether equal sides violate it."""
        return self.sides.sign in ("<", ">")

    def violation(self, values: Mapping[str, Any]) -> Array:
        """Return by how much each element violates the relation; 0 or less if it is satisfied."""
        with np.errstate(all="ignore"):  # NaN and inf are answers here, not accidents
            left, right = (
                evaluate_expression(self.sides.left, values),
                evaluate_expression(self.sides.right, values),
            )
            over = left - right if not self.sides.sign.startswith(">") else right - left
            if self.sides.sign == "==":
                over = np.abs(over)
                if self.slack:  # of the smaller side: the other may be infinite
                    over = over - self.slack * np.minimum(np.abs(left), np.abs(right))
        # Equal infinities have no difference. If equality violates the relation, the result is the
        # smallest positive number, which keeps the order.
        same = np.finfo(np.float64).tiny if self.strict else 0.0
        return np.where(left == right, same, over)

    def bound(self) -> tuple[str, str, float] | None:
        """Return the quantity, the sign and the number of a relation that is a plain bound.

        >>> read_relation("2 * 8 <= lanes").bound(), read_relation("a <= b").bound()
        (('lanes', '>=', 16.0), None)
        """
        sides = self.sides
        turned = Comparison(sides.right, TURNED[sides.sign], sides.left)
        for one, sign, other in ((s.left, s.sign, s.right) for s in (sides, turned)):
            if isinstance(one, Name) and not any(list_names(other)):
                with np.errstate(all="ignore"):
                    return one.name, sign, float(evaluate_expression(other, {}))
        return None

    def renamed(self, names: Mapping[str, str]) -> Relation:
        """Return the relation between the same quantities under other names."""
        parts = {name: Name(0, names[name]) for name in self.names & names.keys()}
        changed = self.replaced(parts)
        return replace(changed, text=write_tree(changed.sides)) if parts else self

    def replaced(self, parts: Mapping[str, Expression]) -> Relation:
        """Return the relation with expressions in place of some names; its text stays the same."""
        left, right = _replaced(self.sides.left, parts), _replaced(self.sides.right, parts)
        return replace(self, sides=Comparison(left, self.sides.sign, right))

    def in_units(self, units: Units, clocked: bool = False) -> Relation:
        """Return the relation between numbers in the units of its quantities.

        UnitMismatchError if it adds or compares different dimensions; see
        `dse.model.dimension.convert_units`.
        """
        return replace(self, sides=convert_units(self.sides, units, clocked))


def read_relation(text: str) -> Relation:
    """Read one relation; see `read_relations`.

    >>> read_relation("lanes * ways <= 64").violation({"lanes": np.array([8., 9.]), "ways": 8})
    array([0., 8.])
    """
    relations = read_relations(text)
    if len(relations) > 1:
        raise located_error([LocatedProblem(0, f"{len(relations)} relations are given, not one")])
    return relations[0]


def read_relations(text: str) -> tuple[Relation, ...]:
    """Read the relations of a text: comparisons that all hold, such as ``a between 2 and b``.

    GrammarError if the text is not a condition, or has ``or``, ``not`` or texts in it.

    >>> [relation.text for relation in read_relations("2 <= lanes <= 8 and area < 3 kLUT")]
    ['2 <= lanes', 'lanes <= 8', 'area < 3 kLUT']
    """
    comparisons = list_comparisons(read_condition(text))
    relations = tuple(make_relation(comparison) for comparison in comparisons)
    return relations if len(relations) > 1 else (replace(relations[0], text=text.strip()),)


def make_relation(comparison: Comparison) -> Relation:
    """Return the relation of a comparison.

    GrammarError if it names no quantity.
    """
    relation = Relation(write_tree(comparison), comparison)
    if not relation.names:
        message = f"'{relation.text}' does not name a quantity"
        raise located_error([LocatedProblem(comparison.left.at, message)])
    return relation


def scale_quantity(name: str, scale: float, power: int) -> Expression:
    """Return a quantity times a factor and a power of the clock, to replace it in a relation."""
    node: Expression = Call(0, "*", (Name(0, name), Number(0, repr(scale))))
    if not power:
        return node
    clock = Call(0, "**", (Name(0, "clock"), Number(0, repr(power))))
    return Call(0, "*", (node, clock))


def _replaced(node: Expression, parts: Mapping[str, Expression]) -> Expression:
    match node:
        case Name(name=name):
            return parts.get(name, node)
        case Call(at=at, function=function, parts=inner):
            return Call(at, function, tuple(_replaced(part, parts) for part in inner))
    return node


def evaluate_expression(node: Expression, values: Mapping[str, Any]) -> Any:
    """Return the values of an expression for arrays of its names."""
    match node:
        case Number(written=number):
            return np.float64(number)
        case Name(name=name):
            return np.asarray(values[name], dtype=np.float64)
        case Call(function=function, parts=parts):
            return OPERATIONS[function](*(evaluate_expression(part, values) for part in parts))
    raise AssertionError(node)
