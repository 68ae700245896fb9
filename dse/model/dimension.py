"""Units of a relation: only values of one unit are added and compared.

A plain number takes the unit of what it stands beside. Products, quotients and powers combine
units. A logarithm gives a plain number, as in ``log2(size) <= 12``. Clocks count cycles in a
second: cycles over a clock are seconds.
"""

from __future__ import annotations

import ast
from collections.abc import Mapping
from dataclasses import dataclass

from dse.model.expression import Relation
from dse.model.units import base


class UnitMismatchError(ValueError):
    """A relation adds or compares what has different units; its message names both."""


@dataclass(frozen=True)
class _Unit:
    """The unit of a part of a relation.

    Parameters
    ----------
    scale : float
        How many of the basic units it is.
    powers : mapping of str to float
        Of the dimensions; those of power 0 are left out.
    shown : str
        As quantities declare it; empty if none does.
    plain : bool
        Whether it is a plain number that takes any unit.
    clocked : bool
        Whether a rate in Hz is in it, which relates cycles and seconds.
    """

    scale: float
    powers: Mapping[str, float]
    shown: str
    plain: bool = False
    clocked: bool = False


_NUMBER = _Unit(1.0, {}, "1", plain=True)
_COUNT = _Unit(1.0, {}, "1")


def check_units(relation: Relation, units: Mapping[str, str | None]) -> None:
    """Require that a relation adds and compares only what has one unit.

    Parameters
    ----------
    units : mapping of str to str or None
        The unit of each name; None for a number that takes any.

    Raises
    ------
    UnitMismatchError
        If it does not.

    >>> from dse.model.expression import read_relation
    >>> check_units(read_relation("data / width <= 64"), {"data": "B", "width": "B/cycle"})
    >>> check_units(read_relation("data <= width"), {"data": "B", "width": "B/cycle"})
    Traceback (most recent call last):
    dse.model.dimension.UnitMismatchError: compares data [B] with width [B/cycle]
    """
    left, right = _unit(relation.left, units), _unit(relation.right, units)
    _same("compares {} with {}", relation.left, relation.right, left, right)


def _unit(node: ast.expr, units: Mapping[str, str | None]) -> _Unit:
    match node:
        case ast.Name(id=name):
            return _declared(units[name])
        case ast.UnaryOp(operand=operand):
            return _unit(operand, units)
        case ast.Call(func=ast.Name(id="log" | "log2" | "log10"), args=[argument]):
            _unit(argument, units)
            return _COUNT
        case ast.Call(func=ast.Name(id="exp"), args=[argument]):
            _pure("exp takes a plain number, not {}", argument, _unit(argument, units))
            return _COUNT
        case ast.Call(func=ast.Name(id="sqrt"), args=[argument]):
            return _power(_unit(argument, units), 0.5)
        case ast.Call(func=ast.Name(id=name), args=[first, second]):
            one, other = _unit(first, units), _unit(second, units)
            return _same(f"{name}() compares {{}} with {{}}", first, second, one, other)
        case ast.Call(args=[argument]):
            return _unit(argument, units)
        case ast.BinOp(left=left, op=op, right=right):
            return _combined(left, op, right, units)
    return _NUMBER


def _declared(unit: str | None) -> _Unit:
    if unit is None:
        return _NUMBER
    scale, powers = base(unit)
    return _Unit(scale, {k: v for k, v in powers.items() if v}, unit, clocked="Hz" in unit)


def _combined(
    left: ast.expr, op: ast.operator, right: ast.expr, units: Mapping[str, str | None]
) -> _Unit:
    one, other = _unit(left, units), _unit(right, units)
    match op:
        case ast.Add() | ast.Sub():
            return _same("adds {} and {}", left, right, one, other)
        case ast.Mod():
            return _same("divides {} by {} for a remainder", left, right, one, other)
        case ast.Mult():
            return _product(one, other)
        case ast.Div() | ast.FloorDiv():
            return _product(one, _power(other, -1.0))
    _pure("the exponent {} is not a plain number", right, other)
    if one.plain or not one.powers:
        return one
    try:
        exponent = float(ast.literal_eval(right))
    except ValueError:
        _pure("{} has a power that is not written as a number", left, one)
        raise AssertionError(ast.dump(left)) from None
    return _power(one, exponent)


def _product(one: _Unit, other: _Unit) -> _Unit:
    powers = {
        k: one.powers.get(k, 0) + other.powers.get(k, 0) for k in {*one.powers, *other.powers}
    }
    plain, clocked = one.plain and other.plain, one.clocked or other.clocked
    shown = " ".join(u.shown for u in (one, other) if u.shown != "1") or "1"
    return _Unit(
        one.scale * other.scale, {k: v for k, v in powers.items() if v}, shown, plain, clocked
    )


def _power(unit: _Unit, exponent: float) -> _Unit:
    shown = unit.shown if unit.shown == "1" else f"({unit.shown})**{exponent:g}"
    powers = {k: v * exponent for k, v in unit.powers.items()}
    return _Unit(unit.scale**exponent, powers, shown, unit.plain, unit.clocked)


def _same(words: str, left: ast.expr, right: ast.expr, one: _Unit, other: _Unit) -> _Unit:
    """Return the unit that two parts share; that of the other for a plain number."""
    if one.plain or other.plain:
        return other if one.plain else one
    differ = {
        k
        for k in {*one.powers, *other.powers}
        if abs(one.powers.get(k, 0) - other.powers.get(k, 0)) > 1e-9
    }
    if one.clocked or other.clocked:
        differ -= {"[cycle]"}
    if differ or abs(one.scale - other.scale) > 1e-9 * one.scale:
        raise UnitMismatchError(words.format(_said(left, one), _said(right, other)))
    return one


def _pure(words: str, node: ast.expr, unit: _Unit) -> None:
    if not unit.plain and (unit.powers or abs(unit.scale - 1.0) > 1e-9):
        raise UnitMismatchError(words.format(_said(node, unit)))


def _said(node: ast.expr, unit: _Unit) -> str:
    return f"{ast.unparse(node)} [{unit.shown}]"
