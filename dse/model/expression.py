"""Relations between quantities, such as ``lanes * streams <= 64``: data, never run as code."""

from __future__ import annotations

import ast
import operator
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from dse.model.quantity import Array
from dse.problems import nearest

_BINARY: dict[type[ast.operator], Callable[[Any, Any], Any]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: np.divide,
    ast.FloorDiv: np.floor_divide,
    ast.Mod: np.mod,
    ast.Pow: np.power,
}
FUNCTIONS: dict[str, Callable[..., Any]] = {
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
"""What a relation may call, by name."""
_RELATIONS = (ast.LtE, ast.GtE, ast.Lt, ast.Gt, ast.Eq)
_DEEPEST = 200  # levels of nesting
_WORDS = "numbers, quantities, + - * / // % **, parentheses and " + ", ".join(FUNCTIONS)


class ExpressionError(ValueError):
    """A text is not a relation; the message says what would be."""


_TURNED = str.maketrans("<>", "><")


@dataclass(frozen=True)
class Relation:
    """A relation ``left <= right`` (or ``>=``, ``<``, ``>``, ``==``) between quantities.

    Parameters
    ----------
    text : str
        As written.
    names : frozenset of str
        The quantities in it.
    strict : bool
        Whether equality breaks it (``<``, ``>``).
    slack : float
        By what share of themselves the sides of ``==`` may differ.
    """

    text: str
    names: frozenset[str]
    left: ast.expr
    right: ast.expr
    relation: str
    strict: bool
    slack: float = 0.0

    def violation(self, values: Mapping[str, Any]) -> Array:
        """Return by how much each element violates the relation; 0 or less if it holds."""
        with np.errstate(all="ignore"):  # NaN and inf are answers here, not accidents
            left, right = _value(self.left, values), _value(self.right, values)
            over = left - right if not self.relation.startswith(">") else right - left
            if self.relation == "==":
                over = np.abs(over)
                if self.slack:  # of the lesser side: the other may be infinite
                    over = over - self.slack * np.minimum(np.abs(left), np.abs(right))
        # equal infinities leave no difference; if equality breaks the relation, the least
        # positive number says so and keeps the order
        same = np.finfo(np.float64).tiny if self.strict else 0.0
        return np.where(left == right, same, over)

    def bound(self) -> tuple[str, str, float] | None:
        """Return the quantity, the sign and the number of a relation that says no more than that.

        >>> read_relation("2 * 8 <= lanes").bound(), read_relation("a <= b").bound()
        (('lanes', '>=', 16.0), None)
        """
        for one, other, sign in (
            (self.left, self.right, self.relation),
            (self.right, self.left, self.relation.translate(_TURNED)),
        ):
            if isinstance(one, ast.Name) and not _names(other):
                with np.errstate(all="ignore"):
                    return one.id, sign, float(_value(other, {}))
        return None

    def renamed(self, names: Mapping[str, str]) -> Relation:
        """Return the relation between the same quantities under other names."""
        taken = {name: ast.Name(id=names[name]) for name in self.names & names.keys()}
        found = self.replaced(taken)
        text = f"{ast.unparse(found.left)} {self.relation} {ast.unparse(found.right)}"
        return replace(found, text=text) if taken else self

    def replaced(self, parts: Mapping[str, ast.expr]) -> Relation:
        """Return the relation with an expression in the place of some names; its text stays."""
        if not parts:
            return self
        left, right = (_replaced(side, parts) for side in (self.left, self.right))
        names = frozenset(_names(left) | _names(right))
        return replace(self, left=left, right=right, names=names)


def converted(name: str, scale: float, power: int) -> ast.expr:
    """Return a quantity times a factor and a power of the clock, to stand for it in a relation."""
    text = f"{name} * {scale!r}" + (f" * clock ** {power}" if power else "")
    return ast.parse(text, mode="eval").body


def _replaced(node: ast.expr, parts: Mapping[str, ast.expr]) -> ast.expr:
    match node:
        case ast.Name(id=name):
            return parts.get(name, node)
        case ast.UnaryOp(op=op, operand=operand):
            return ast.UnaryOp(op, _replaced(operand, parts))
        case ast.BinOp(left=left, op=operation, right=right):
            return ast.BinOp(_replaced(left, parts), operation, _replaced(right, parts))
        case ast.Call(func=function, args=args):
            return ast.Call(function, [_replaced(a, parts) for a in args], [])
    return node


def _names(node: ast.expr) -> set[str]:
    match node:
        case ast.Name(id=name):
            return {name}
        case ast.UnaryOp(operand=operand):
            return _names(operand)
        case ast.BinOp(left=left, right=right):
            return _names(left) | _names(right)
        case ast.Call(args=args):
            return set[str]().union(*map(_names, args))
    return set()


def read_relation(text: str) -> Relation:
    """Read a relation.

    Raises
    ------
    ExpressionError
        If the text is not one; the message says what is allowed.

    >>> read_relation("lanes * ways <= 64").violation({"lanes": np.array([8., 9.]), "ways": 8})
    array([0., 8.])
    """
    if len(text) > 500:
        raise ExpressionError("the relation is longer than 500 characters")
    try:
        text = text.strip()
        tree = ast.parse(text, mode="eval").body
    except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
        raise ExpressionError(
            f"{text!r} is not a relation, such as 'lanes * streams <= 64'"
        ) from error
    if not (isinstance(tree, ast.Compare) and len(tree.ops) == 1):
        raise ExpressionError(f"{text!r} does not have exactly one of <=, >=, <, >, ==")
    relation = tree.ops[0]
    if not isinstance(relation, _RELATIONS):
        raise ExpressionError(f"{text!r} compares otherwise than by <=, >=, <, >, ==")
    sign = {"LtE": "<=", "GtE": ">=", "Lt": "<", "Gt": ">", "Eq": "=="}[type(relation).__name__]
    names: set[str] = set()
    for side in (tree.left, tree.comparators[0]):
        _check(side, names, text, 0)
    if not names:
        raise ExpressionError(f"{text!r} does not name a quantity")
    return Relation(
        text, frozenset(names), tree.left, tree.comparators[0], sign, sign in ("<", ">")
    )


def _check(node: ast.expr, names: set[str], text: str, depth: int) -> None:
    if depth > _DEEPEST:
        raise ExpressionError(f"the relation is nested more than {_DEEPEST} levels deep")
    match node:
        case ast.Constant(value=bool()):
            raise ExpressionError("True and False are not numbers")
        case ast.Constant(value=int() | float() as value):
            if abs(value) > sys.float_info.max:
                raise ExpressionError("a number in the relation is too large")
        case ast.Name(id=name):
            names.add(name)
        case ast.UnaryOp(op=ast.USub() | ast.UAdd(), operand=operand):
            _check(operand, names, text, depth + 1)
        case ast.BinOp(left=left, op=op, right=right) if type(op) in _BINARY:
            _check(left, names, text, depth + 1)
            _check(right, names, text, depth + 1)
        case ast.Call(func=ast.Name(id=name), args=args, keywords=[]) if name in FUNCTIONS:
            wanted = 2 if name in ("min", "max") else 1
            if len(args) != wanted:
                raise ExpressionError(f"{name}() takes {wanted} argument{'s'[: wanted - 1]}")
            for argument in args:
                _check(argument, names, text, depth + 1)
        case ast.Call(func=ast.Name(id=name)) if name not in FUNCTIONS:
            raise ExpressionError(f"unknown function '{name}'; {nearest(name, FUNCTIONS)}")
        case _:
            part = ast.get_source_segment(text, node)
            raise ExpressionError(f"{part!r} is not allowed; allowed are {_WORDS}")


def _value(node: ast.expr, values: Mapping[str, Any]) -> Any:
    match node:
        case ast.Constant(value=value):
            return np.float64(value)  # type: ignore[arg-type]
        case ast.Name(id=name):
            return np.asarray(values[name], dtype=np.float64)
        case ast.UnaryOp(op=op, operand=operand):
            inner = _value(operand, values)
            return -inner if isinstance(op, ast.USub) else inner
        case ast.BinOp(left=left, op=op, right=right):
            return _BINARY[type(op)](_value(left, values), _value(right, values))
        case ast.Call(func=ast.Name(id=name), args=args):
            return FUNCTIONS[name](*(_value(a, values) for a in args))
    raise AssertionError(ast.dump(node))
