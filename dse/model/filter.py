"""Filters: conditions that name designs, such as ``area < 200 kLUT and lanes in (1, 2)``.

`dse.model.grammar` is the language. Scripts, the command line and the report read the same grammar.
A missing value satisfies no comparison.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from dse.model.dimension import UnitMismatchError, convert_units
from dse.model.grammar import (
    Call,
    Comparison,
    Condition,
    Expression,
    JoinedConditions,
    LocatedProblem,
    Name,
    Number,
    Text,
    is_number,
    list_names,
    located_error,
    parse_tree,
    read_unquoted_text,
    write_tree,
)
from dse.model.relation import evaluate_expression
from dse.model.values import INFINITE
from dse.problems import nearest

_COMPARED: dict[str, Callable[[Any, Any], Any]] = {
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
    "==": operator.eq,
    "!=": operator.ne,
}
_INFINITE = {"inf", *INFINITE.values()} - {"∞"}
_EVERY = JoinedConditions("all", ())  # takes the place of a wrong comparison


class Field(NamedTuple):
    """The values that a column may hold.

    Attributes
    ----------
    unit : str
        Base unit of its numbers.
    options : tuple of str or None
        The texts that it may hold; None if it holds numbers.
    """

    unit: str = "1"
    options: tuple[str, ...] | None = None


@dataclass(frozen=True)
class Filter:
    """A condition that selects designs.

    Parameters
    ----------
    text : str
        As written.
    names : frozenset of str
        The columns that it needs; with `CLOCK` if one has to relate cycles and seconds.
    condition : Joined or Comparison
        The filter as a tree, of numbers without units.
    """

    text: str
    names: frozenset[str]
    condition: Condition

    def holds(self, values: Mapping[str, Any], count: int) -> NDArray[np.bool_]:
        """Return for each design whether it satisfies the filter.

        `values`: each of `names`: of shape (designs,), or one value for all.
        """
        with np.errstate(all="ignore"):
            return np.broadcast_to(_holds(self.condition, values), (count,)).astype(bool)


def read_filter(text: str, fields: Mapping[str, Field], clocked: bool = False) -> Filter:
    """Read a filter from a text.

    `clocked`: whether a clock relates cycles and seconds, even if it is no column.

    GrammarError if the text is no filter; the error lists every problem.

    >>> fields = {"area": Field("LUT"), "interface": Field("", ("pci-card", "user-port"))}
    >>> small = read_filter('area / 2 < 1 kLUT and interface != "pci-card"', fields)
    >>> options = np.array(["user-port", "pci-card", "user-port"])
    >>> small.holds({"area": np.array([1.0, 1e3, 3e3]), "interface": options}, 3)
    array([ True, False, False])
    """
    parsed, problems = parse_tree(text)
    reader = _Reader(text, fields, clocked, problems)
    condition = reader.condition(parsed)
    if problems:
        raise located_error(problems)
    return Filter(text, frozenset(name.name for name in list_names(condition)), condition)


class _Reader:
    """Checks each comparison against the columns, and converts its units."""

    def __init__(
        self, text: str, fields: Mapping[str, Field], clocked: bool, problems: list[LocatedProblem]
    ) -> None:
        self.text, self.fields, self.clocked, self.problems = text, fields, clocked, problems
        self.units = {name: field.unit for name, field in fields.items() if field.options is None}

    def report(self, at: int, message: str, remedy: str = "") -> Condition:
        self.problems.append(LocatedProblem(at, message, remedy))
        return _EVERY

    def condition(self, node: Condition) -> Condition:
        if isinstance(node, JoinedConditions):
            return JoinedConditions(node.how, tuple(self.condition(part) for part in node.parts))
        left, right = self.infinities(node.left), self.infinities(node.right)
        return self.comparison(Comparison(left, node.sign, right))

    def infinities(self, node: Expression) -> Expression:
        """Return an expression in which words for infinity are numbers."""
        match node:
            case Name(at=at, name=name) if name in _INFINITE - self.fields.keys():
                return Number(at, "inf")
            case Call(at=at, function=function, parts=parts):
                return Call(at, function, tuple(self.infinities(part) for part in parts))
        return node

    def comparison(self, node: Comparison) -> Condition:
        names = list(list_names(node))
        unknown = [name for name in names if name.name not in self.fields]
        if unknown:
            return self.report_unknown(unknown, (node.left, node.right))
        if not names:
            return self.report(node.left.at, "compares no column", nearest("", self.fields))
        sides = node.left, node.right
        for side, other in (sides, sides[::-1]):
            if isinstance(side, Name) and (options := self.fields[side.name].options) is not None:
                return self.texts(node, side.name, options, other)
        for side, other in (sides, sides[::-1]):
            if isinstance(side, Text):
                remedy = f"write {side.text} without quotes" if is_number(side.text) else ""
                return self.report(side.at, f"{write_tree(other)} is a number, not a text", remedy)
        for name in names:
            if self.fields[name.name].options is not None:
                return self.report(name.at, f"{name.name} holds texts: it has no arithmetic")
        try:
            return convert_units(node, self.units, self.clocked)
        except UnitMismatchError as error:
            return self.report(error.at, str(error), error.remedy)

    def report_unknown(self, unknown: list[Name], sides: tuple[Expression, ...]) -> Condition:
        names = [side.name for side in sides if isinstance(side, Name)]
        if any(name in self.fields and self.fields[name].options is not None for name in names):
            text = read_unquoted_text(self.text, unknown[0].at)
            remedy = f'put a text in quotes: "{text}"'
            return self.report(unknown[0].at, f"no column '{text}'", remedy)
        for name in unknown:
            self.report(name.at, f"no column '{name.name}'", nearest(name.name, self.fields))
        return _EVERY

    def texts(
        self, node: Comparison, name: str, options: tuple[str, ...], other: Expression
    ) -> Condition:
        """Return a comparison of a column of texts."""
        match other:
            case Name(at=at, name=column):
                if self.fields[column].options is None:
                    return self.report(at, f"{name} holds texts, and {column} numbers")
            case Text(at=at, text=text):
                if text not in options:
                    self.report(at, f"{name} is never '{text}'", nearest(text, options))
            case _:
                message = f"{name} holds texts, and {write_tree(other)} is a number"
                return self.report(other.at, message)
        if node.sign not in ("==", "!="):
            message = f"'{node.sign}' does not compare texts"
            return self.report(other.at, message, "compare them by ==, != or in")
        return node


def _holds(node: Condition, values: Mapping[str, Any]) -> Any:
    if isinstance(node, Comparison):
        left, right = _value(node.left, node.right, values), _value(node.right, node.left, values)
        if node.sign == "!=":  # a missing value differs from nothing
            return (left == left) & (right == right) & (left != right)
        return _COMPARED[node.sign](left, right)
    parts = [_holds(part, values) for part in node.parts]
    if node.how == "none":
        return ~np.asarray(parts[0], dtype=bool)
    start, join = (True, np.logical_and) if node.how == "all" else (False, np.logical_or)
    result: Any = np.asarray(start)
    for part in parts:
        result = join(result, part)
    return result


def _value(node: Expression, other: Expression, values: Mapping[str, Any]) -> Any:
    if isinstance(node, Text):
        return np.asarray(node.text)
    if isinstance(node, Name):
        column = np.asarray(values[node.name])
        if isinstance(other, Text) or column.dtype.kind in "OUS":
            return column
    return evaluate_expression(node, values)
