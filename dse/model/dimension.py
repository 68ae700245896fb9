"""Units of comparisons: only values of one dimension are added and compared.

A plain number takes the unit of the other side. Products, quotients and powers combine units. A
logarithm gives a plain number, as in ``log2(size) <= 12``. Clocks count cycles in a second: cycles
over a clock are seconds. Values in units of different sizes are converted, seconds to cycles by the
study's clock.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TypeAlias

from dse.model.grammar import Call, Comparison, Expression, Name, Number, write_tree
from dse.model.units import (
    UnitError,
    clock_power,
    divide_scales,
    list_known_units,
    resolve_unit,
    scale_number,
)
from dse.problems import nearest

CLOCK = "clock"
"""The column, or the constant of a study, that relates cycles and seconds [Hz]."""
_ROUNDING = 1e-9  # of scales and powers
Units: TypeAlias = Mapping[str, str | None]


class UnitMismatchError(ValueError):
    """A comparison adds or compares different dimensions; its message names both.

    Parameters
    ----------
    at : int
        The character of the text at which it is.
    message, remedy : str
        The problem.
    """

    def __init__(self, at: int, message: str, remedy: str = "") -> None:
        self.at, self.remedy = at, remedy
        super().__init__(message)


@dataclass(frozen=True)
class _Unit:
    """The unit of an expression.

    Parameters
    ----------
    scale : float
        How many of the basic units it is.
    powers : mapping of str to float
        The powers of the dimensions; dimensions of power 0 are left out.
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


def convert_units(comparison: Comparison, units: Units, clocked: bool = False) -> Comparison:
    """Return a comparison of numbers without units; convert values in other units.

    `units`: the unit of each name; None for a number that takes any. `clocked`: whether a value
    `CLOCK` relates cycles and seconds.

    UnitMismatchError if the comparison adds or compares different dimensions, or a unit is unknown.

    >>> from dse.model.grammar import read_condition
    >>> units = {"data": "B", "width": "B/cycle"}
    >>> print(write_tree(convert_units(read_condition("data / width <= 1 kcycle"), units)))
    data / width <= 1000.0
    >>> convert_units(read_condition("data <= width"), units)
    Traceback (most recent call last):
    dse.model.dimension.UnitMismatchError: compares data [B] with width [B/cycle]
    """
    converter = _Converter(units, clocked or CLOCK in units)
    sides = converter.alike("compares {} with {}", comparison.left, comparison.right)
    return Comparison(sides[0], comparison.sign, sides[1])


class _Converter:
    def __init__(self, units: Units, clocked: bool) -> None:
        self.units, self.clocked = units, clocked

    def convert(self, node: Expression) -> tuple[Expression, _Unit]:
        """Return an expression without units in it, and its unit."""
        match node:
            case Name(name=name):
                return node, self.unit(node.at, self.units[name])
            case Number(unit="") | Call(parts=()):
                return node, _NUMBER
            case Number(at=at, written=number, unit=unit):
                return Number(at, number), self.unit(at, unit)
            case Call():
                return self.call(node)
        raise UnitMismatchError(node.at, f"{write_tree(node)} is a text, not a number")

    def unit(self, at: int, unit: str | None) -> _Unit:
        if unit is None:
            return _NUMBER
        try:
            scale, powers = resolve_unit(unit)
        except UnitError:
            raise UnitMismatchError(
                at, f"unknown unit '{unit}'", nearest(unit, list_known_units())
            ) from None
        return _Unit(scale, {k: v for k, v in powers.items() if v}, unit, clocked="Hz" in unit)

    def call(self, node: Call) -> tuple[Expression, _Unit]:
        function, parts = node.function, node.parts
        words = {
            "+": "adds {} and {}",
            "-": "adds {} and {}",
            "%": "divides {} by {} for a remainder",
            "max": "max() compares {} with {}",
            "min": "min() compares {} with {}",
        }.get(function)
        if words is not None:
            *alike, unit = self.alike(words, *parts)
            return Call(node.at, function, tuple(alike)), unit
        read = [self.convert(part) for part in parts]
        units = [unit for _, unit in read]
        return Call(node.at, function, tuple(part for part, _ in read)), self.combined(node, units)

    def combined(self, node: Call, units: list[_Unit]) -> _Unit:
        """Return the unit of an operation whose operands need no conversion."""
        one = units[0]
        match node.function:
            case "log" | "log2" | "log10":
                return _COUNT
            case "exp":
                _check_plain("exp takes a plain number, not {}", node.parts[0], one)
                return _COUNT
            case "sqrt":
                return _power(one, 0.5)
            case "*":
                return _product(one, units[1])
            case "/" | "//":
                return _product(one, _power(units[1], -1.0))
            case "**":
                return self.power(node, *units)
        return one

    def power(self, node: Call, one: _Unit, other: _Unit) -> _Unit:
        _check_plain("the exponent {} is not a plain number", node.parts[1], other)
        if one.plain or not one.powers:
            return one
        exponent = node.parts[1]
        if not isinstance(exponent, Number):
            _check_plain("{} has a power that is not written as a number", node.parts[0], one)
            raise AssertionError(node)
        return _power(one, float(exponent.written))

    def alike(
        self, words: str, left: Expression, right: Expression
    ) -> tuple[Expression, Expression, _Unit]:
        """Return two expressions in one unit, and that unit; numbers in the text are converted."""
        (one, first), (other, second) = self.convert(left), self.convert(right)
        if first.plain or second.plain:
            return one, other, second if first.plain else first
        names = {*first.powers, *second.powers}
        differ = {
            name
            for name in names
            if abs(first.powers.get(name, 0) - second.powers.get(name, 0)) > _ROUNDING
        }
        if first.clocked or second.clocked:
            differ -= {"[cycle]"}
        if differ and (power := clock_power(second.powers, first.powers)) is not None:
            if not self.clocked:
                both = f"{write_tree(left)} and {write_tree(right)} are in seconds and cycles"
                at = left.at if isinstance(left, Number) else right.at
                raise UnitMismatchError(at, f"{both}, which no clock of the study relates")
        elif differ:
            raise _mismatch(words, left, right, first, second)
        else:
            power = 0
        if isinstance(one, Number) and not isinstance(other, Number):
            return _scaled(one, divide_scales(first.scale, second.scale), -power), other, second
        return one, _scaled(other, divide_scales(second.scale, first.scale), power), first


def _scaled(node: Expression, scale: float, power: float) -> Expression:
    """Return an expression times a factor and a power of the clock."""
    if not power:
        if abs(scale - 1.0) <= _ROUNDING:
            return node
        if isinstance(node, Number):
            return Number(node.at, repr(scale_number(node.written, scale)))
        return Call(node.at, "*", (node, Number(node.at, repr(scale))))
    clock = Call(node.at, "**", (Name(node.at, CLOCK), Number(node.at, repr(float(power)))))
    factor: Expression = Call(node.at, "*", (Number(node.at, repr(scale)), clock))
    return Call(node.at, "*", (node, factor))  # the factors first: they often make a whole one


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


def _mismatch(
    words: str, left: Expression, right: Expression, first: _Unit, second: _Unit
) -> UnitMismatchError:
    message = words.format(_described(left, first), _described(right, second))
    number, other, unit = (
        (left, right, second) if isinstance(left, Number) else (right, left, first)
    )
    if not (isinstance(number, Number) and isinstance(other, Name)):
        return UnitMismatchError(right.at, message)
    remedy = "give a plain number" if unit.shown == "1" else f"give it in {unit.shown}"
    return UnitMismatchError(number.at, message, remedy)


def _check_plain(words: str, node: Expression, unit: _Unit) -> None:
    if not unit.plain and (unit.powers or abs(unit.scale - 1.0) > _ROUNDING):
        raise UnitMismatchError(node.at, words.format(_described(node, unit)))


def _described(node: Expression, unit: _Unit) -> str:
    return write_tree(node) if isinstance(node, Number) else f"{write_tree(node)} [{unit.shown}]"
