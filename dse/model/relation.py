"""Relations between quantities, such as ``lanes * streams <= 64``: comparisons of arrays."""

from __future__ import annotations

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
    Located,
    Name,
    Number,
    comparisons_in,
    located_error,
    names_in,
    read_condition,
    written,
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
    names : frozenset of str
        The quantities in it.
    slack : float
        The fraction by which the sides of ``==`` may differ.
    """

    text: str
    names: frozenset[str]
    left: Expression
    right: Expression
    relation: str
    slack: float = 0.0

    @property
    def strict(self) -> bool:
        """Whether equal sides violate it."""
        return self.relation in ("<", ">")

    def violation(self, values: Mapping[str, Any]) -> Array:
        """Return by how much each element violates the relation; 0 or less if it is satisfied."""
        with np.errstate(all="ignore"):  # NaN and inf are answers here, not accidents
            left, right = evaluate(self.left, values), evaluate(self.right, values)
            over = left - right if not self.relation.startswith(">") else right - left
            if self.relation == "==":
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
        for one, other, sign in (
            (self.left, self.right, self.relation),
            (self.right, self.left, TURNED[self.relation]),
        ):
            if isinstance(one, Name) and not any(names_in(other)):
                with np.errstate(all="ignore"):
                    return one.name, sign, float(evaluate(other, {}))
        return None

    def renamed(self, names: Mapping[str, str]) -> Relation:
        """Return the relation between the same quantities under other names."""
        parts = {name: Name(0, names[name]) for name in self.names & names.keys()}
        changed = self.replaced(parts)
        text = written(Comparison(changed.left, self.relation, changed.right))
        return replace(changed, text=text) if parts else self

    def replaced(self, parts: Mapping[str, Expression]) -> Relation:
        """Return the relation with expressions in place of some names; its text stays the same."""
        if not parts:
            return self
        sides = Comparison(_replaced(self.left, parts), self.relation, _replaced(self.right, parts))
        return self._between(sides)

    def in_units(self, units: Units, clocked: bool = False) -> Relation:
        """Return the relation between numbers in the units of its quantities.

        Raises
        ------
        UnitMismatchError
            If it adds or compares different dimensions; see `dse.model.dimension.convert_units`.
        """
        sides = Comparison(self.left, self.relation, self.right)
        return self._between(convert_units(sides, units, clocked))

    def _between(self, sides: Comparison) -> Relation:
        names = frozenset(name.name for name in names_in(sides))
        return replace(self, left=sides.left, right=sides.right, names=names)


def read_relation(text: str) -> Relation:
    """Read one relation; see `read_relations`.

    >>> read_relation("lanes * ways <= 64").violation({"lanes": np.array([8., 9.]), "ways": 8})
    array([0., 8.])
    """
    relations = read_relations(text)
    if len(relations) > 1:
        raise located_error([Located(0, f"{len(relations)} relations are given, not one")])
    return relations[0]


def read_relations(text: str) -> tuple[Relation, ...]:
    """Read the relations of a text: comparisons that all hold, such as ``a between 2 and b``.

    Raises
    ------
    GrammarError
        If the text is not a condition, or has ``or``, ``not`` or texts in it.

    >>> [relation.text for relation in read_relations("2 <= lanes <= 8 and area < 3 kLUT")]
    ['2 <= lanes', 'lanes <= 8', 'area < 3 kLUT']
    """
    comparisons = comparisons_in(read_condition(text))
    relations = tuple(relation_of(comparison) for comparison in comparisons)
    return relations if len(relations) > 1 else (replace(relations[0], text=text.strip()),)


def relation_of(comparison: Comparison) -> Relation:
    """Return the relation of a comparison.

    Raises
    ------
    GrammarError
        If it names no quantity.
    """
    names = frozenset(name.name for name in names_in(comparison))
    text = written(comparison)
    if not names:
        raise located_error([Located(comparison.left.at, f"'{text}' does not name a quantity")])
    return Relation(text, names, comparison.left, comparison.right, comparison.sign)


def scaled_name(name: str, scale: float, power: int) -> Expression:
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


def evaluate(node: Expression, values: Mapping[str, Any]) -> Any:
    """Return the values of an expression for arrays of its names."""
    match node:
        case Number(written=number):
            return np.float64(number)
        case Name(name=name):
            return np.asarray(values[name], dtype=np.float64)
        case Call(function=function, parts=parts):
            return OPERATIONS[function](*(evaluate(part, values) for part in parts))
    raise AssertionError(node)
