"""Relations over ranges: bounds of a relation's violation from bounds of its quantities.

Interval arithmetic (R. E. Moore, Interval Analysis, 1966) on the expressions of
`dse.model.grammar`. A range is a pair of arrays, the minimum and the maximum. It contains the true
values, and is not always the narrowest. Bounds round outwards by a few bits.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, TypeAlias

import numpy as np

from dse.model.grammar import Call, Expression, Name, Number
from dse.model.quantity import Array
from dse.model.relation import OPERATIONS, Relation

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


def _range(node: Expression, ranges: Mapping[str, Range]) -> Range:
    match node:
        case Number(written=number):
            return np.float64(number), np.float64(number)
        case Name(name=name):
            return ranges[name]
        case Call(function=function, parts=parts):
            return _operation_range(function, [_range(part, ranges) for part in parts])
    raise AssertionError(node)


def _operation_range(function: str, parts: list[Range]) -> Range:
    match function:
        case "+":
            (left_low, left_high), (right_low, right_high) = parts
            return _outwards(left_low + right_low, left_high + right_high)
        case "-":
            (left_low, left_high), (right_low, right_high) = parts
            return _outwards(left_low - right_high, left_high - right_low)
        case "negative":
            return -parts[0][1], -parts[0][0]
        case "abs":
            return _magnitude(parts[0])
        case "*":
            return _outwards(*_corners(np.multiply, *parts))
        case "/" | "//" | "**" | "%":
            return _partial_range(function, *parts)
    # each other function rises
    low, high = (OPERATIONS[function](*(part[side] for part in parts)) for side in (0, 1))
    return (low, high) if function in ("ceil", "floor", "max", "min") else _outwards(low, high)


def _partial_range(function: str, left: Range, right: Range) -> Range:
    """Return the range of an operation that is monotonic only on a part of its domain."""
    known = (left[0] == left[1]) & (right[0] == right[1])
    if function == "%":
        value = np.mod(left[0], right[0])
        return _or_unknown(known, (value, value))
    sound = left[0] > 0 if function == "**" else (right[0] > 0) | (right[1] < 0)
    return _or_unknown(known | sound, _outwards(*_corners(OPERATIONS[function], left, right)))


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
