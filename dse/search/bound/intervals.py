"""Relations over ranges: what a relation's violation may be if its quantities lie between bounds.

Interval arithmetic (R. E. Moore, Interval Analysis, 1966) on the expressions of
`dse.model.expression`. A range is a pair of arrays, the least and the greatest value; one that
holds the true values, not always the narrowest. Bounds round outwards by a few bits.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Mapping
from typing import Any, TypeAlias

import numpy as np

from dse.model.expression import FUNCTIONS, Relation
from dse.model.quantity import Array

Range: TypeAlias = tuple[Any, Any]
"""The least and the greatest value."""
_ROUNDING = 4 * float(np.finfo(np.float64).eps)


def violation_range(relation: Relation, ranges: Mapping[str, Range]) -> tuple[Array, Array]:
    """Return between what the violation of a relation lies; see `Relation.violation`.

    Parameters
    ----------
    ranges : mapping of str to pair of ndarray
        Of each of its names; equal ends for a value that is known.
    """
    with np.errstate(all="ignore"):
        left, right = (_range(node, ranges) for node in (relation.left, relation.right))
        if relation.relation.startswith(">"):
            left, right = right, left
        low, high = _difference(left, right)
        if relation.relation == "==":
            low, high = _magnitude((low, high))
            if relation.slack:  # of the lesser side
                sizes = zip(_magnitude(left), _magnitude(right), strict=True)
                least, most = (relation.slack * np.minimum(*ends) for ends in sizes)
                touch, (low, high) = low == 0, _outwards(low - most, high - least)
                high = np.where(touch, np.maximum(high, 0.0), high)  # sides that are equal: 0
        if relation.strict:  # equality breaks it by the least positive number
            tiny = np.finfo(np.float64).tiny
            low, high = np.where(low == 0, tiny, low), np.where(high == 0, tiny, high)
    # NaN says nothing
    return np.where(np.isnan(low), -np.inf, low), np.where(np.isnan(high), np.inf, high)


def _difference(left: Range, right: Range) -> Range:
    """Return the difference of two ranges; of equal infinities it is 0, as for a relation."""
    low, high = left[0] - right[1], left[1] - right[0]
    return np.where(left[0] == right[1], 0.0, low), np.where(left[1] == right[0], 0.0, high)


def _magnitude(range_: Range) -> Range:
    low, high = range_
    ends = np.abs(low), np.abs(high)
    inside = (low <= 0) & (high >= 0)
    return np.where(inside, 0.0, np.minimum(*ends)), np.maximum(*ends)


def _range(node: ast.expr, ranges: Mapping[str, Range]) -> Range:
    match node:
        case ast.Constant(value=value):
            constant = np.float64(value)  # type: ignore[arg-type]
            return constant, constant
        case ast.Name(id=name):
            return ranges[name]
        case ast.UnaryOp(op=op, operand=operand):
            low, high = _range(operand, ranges)
            return (-high, -low) if isinstance(op, ast.USub) else (low, high)
        case ast.BinOp(left=left, op=op, right=right):
            return _binary(type(op), _range(left, ranges), _range(right, ranges))
        case ast.Call(func=ast.Name(id=name), args=args):  # all but abs rise
            inner = [_range(argument, ranges) for argument in args]
            if name == "abs":
                return _magnitude(inner[0])
            low, high = (FUNCTIONS[name](*(end[side] for end in inner)) for side in (0, 1))
            return (low, high) if name in ("ceil", "floor", "max", "min") else _outwards(low, high)
    raise AssertionError(ast.dump(node))


def _binary(op: type[ast.operator], left: Range, right: Range) -> Range:
    if op is ast.Add:
        return _outwards(left[0] + right[0], left[1] + right[1])
    if op is ast.Sub:
        return _outwards(left[0] - right[1], left[1] - right[0])
    if op is ast.Mult:
        return _outwards(*_corners(np.multiply, left, right))
    known = (left[0] == left[1]) & (right[0] == right[1])
    if op in (ast.Div, ast.FloorDiv):
        divide: Callable[..., Any] = np.divide if op is ast.Div else np.floor_divide
        sound = (right[0] > 0) | (right[1] < 0)
        return _or_unknown(known | sound, _outwards(*_corners(divide, left, right)))
    if op is ast.Pow:
        sound = left[0] > 0  # monotone in each argument then
        return _or_unknown(known | sound, _outwards(*_corners(np.power, left, right)))
    value = np.mod(left[0], right[0])
    return _or_unknown(known, (value, value))


def _corners(function: Callable[..., Any], left: Range, right: Range) -> Range:
    values = [function(a, b) for a in left for b in right]
    low, high = values[0], values[0]
    for value in values[1:]:  # NaN, of 0 times infinity, stays: it says nothing
        low, high = np.minimum(low, value), np.maximum(high, value)
    return low, high


def _outwards(low: Any, high: Any) -> Range:
    """Widen a range by rounding; one of equal ends is a value, computed as the relation does."""
    same = low == high
    return (
        np.where(same, low, low - _ROUNDING * np.abs(low)),
        np.where(same, high, high + _ROUNDING * np.abs(high)),
    )


def _or_unknown(sound: Any, range_: Range) -> Range:
    return np.where(sound, range_[0], -np.inf), np.where(sound, range_[1], np.inf)
