"""A design in words: amounts of three digits, what is built, lists that end in "and"."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from typing import Any

from dse.evaluate.space import SUBSET, Choice, Space
from dse.evaluate.variables import Integer, Values, Variable
from dse.model.quantity import Quantity
from dse.model.values import PREFIXES, infinite_word, show

_GREAT = ((1e12, "trillion"), (1e9, "billion"), (1e6, "million"))
_COUNTED = ("cycle", "instruction", "element", "call")
"""Units that are words: two of them are cycles."""


def amount(value: float, unit: str) -> str:
    """Return a value with its unit in three or four digits, for a sentence.

    >>> amount(237188.0, "LUT"), amount(2.612e7, "cycle"), amount(9.76, "1"), amount(1.0, "call")
    ('237,000 LUT', '26.1 million cycles', '9.76', '1 call')
    >>> amount(3.219e-7, "s"), amount(float("inf"), "B"), amount(0.99996, "1")
    ('321.9 ns', 'never', '1')
    """
    if not math.isfinite(value):
        return "undefined" if math.isnan(value) else infinite_word(unit) if value > 0 else "-∞"
    if unit in PREFIXES:
        return show(value, unit)
    scale, word = next(((s, w) for s, w in _GREAT if abs(value) >= s), (1.0, ""))
    text = f"{_rounded(value / scale):,.10g}"
    first, slash, rest = unit.partition("/")
    if first in _COUNTED and text != "1":
        unit = f"{first}s{slash}{rest}"
    return " ".join(each for each in (text, word, unit if unit != "1" else "") if each)


def _rounded(value: float) -> float:
    """Return a value in three digits; whole numbers below 10,000 as they are.

    >>> _rounded(1024.0), _rounded(12345.0), _rounded(0.98765)
    (1024.0, 12300.0, 0.988)
    """
    if value == round(value) and abs(value) < 10_000:
        return value
    return float(f"{value:.3g}")


def listed(words: Iterable[str]) -> str:
    """Return words as a list in a sentence.

    >>> listed(["a", "b", "c"]), listed(["a"])
    ('a, b and c', 'a')
    """
    every = list(words)
    return " and ".join([", ".join(every[:-1]), every[-1]] if len(every) > 1 else every)


def plain(name: str) -> str:
    """Return a quantity's name as words.

    >>> plain("calls_in_flight")
    'calls in flight'
    """
    return name.replace("_", " ")


def setting(name: str, variable: Variable, value: Any, quantity: Quantity | None) -> str:
    """Return what a variable is set to, in words.

    Parameters
    ----------
    value : str or float
        An option, or a number in the quantity's unit.

    >>> streams = Integer(1, 8)
    >>> setting("streams", streams, 4.0, Quantity("1", "streams", integer=True))
    '4 streams'
    >>> setting("streams", streams, 1.0, Quantity("1", "streams", integer=True))
    '1 stream'
    >>> setting("depth", streams, 4.0, Quantity("1", "stages", integer=True))
    'depth 4'
    >>> setting("shared_store", Integer(0, 1), 1.0, Quantity("1", "whether it is shared"))
    'shared store: yes'
    >>> setting("kept", Choice({"a + b": {}}, SUBSET), "a + b", None)
    'kept: a and b'
    """
    words = plain(name)
    if isinstance(variable, Choice):
        if variable.about == SUBSET:
            return f"{words}: {listed(str(value).split(' + '))}"
        return f"{words} {value}"
    unit, number = quantity.unit if quantity is not None else "1", float(value)
    if unit == "1" and _is_flag(variable):
        return f"{words}: {'yes' if number else 'no'}"
    first, space, rest = words.partition(" ")
    if unit == "1" and number == round(number) and first.endswith("s") and first[-2:] != "ss":
        return f"{amount(number, '1')} {first if number != 1 else first[:-1]}{space}{rest}"
    return f"{words} {amount(number, unit)}"


def _is_flag(variable: Variable) -> bool:
    if isinstance(variable, Integer):
        return (variable.low, variable.high, variable.step) == (0, 1, 1)
    return isinstance(variable, Values) and set(variable.values) == {0.0, 1.0}


def settings(
    space: Space,
    quantities: Mapping[str, Quantity],
    values: Mapping[str, Any],
    names: Iterable[str],
) -> list[str]:
    """Return what some variables of a design are set to, in words.

    Parameters
    ----------
    values : mapping of str to str or float
        The design, by variable.
    """
    return [setting(n, space.variables[n], values[n], quantities.get(n)) for n in names]


def value_words(variable: Variable, value: Any, quantity: Quantity | None) -> str:
    """Return one value of a variable, without its name.

    >>> value_words(Integer(0, 1), 1.0, None), value_words(Integer(0, 9), 9.0, None)
    ('yes', '9')
    """
    if isinstance(variable, Choice):
        return listed(str(value).split(" + ")) if variable.about == SUBSET else str(value)
    unit = quantity.unit if quantity is not None else "1"
    if unit == "1" and _is_flag(variable):
        return "yes" if float(value) else "no"
    return amount(float(value), unit)
