"""Variables of a design and their values, in words."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from dse.evaluate.space import SUBSET, Choice, Integer, Space, Values, Variable
from dse.model.amounts import amount
from dse.model.quantity import Quantity
from dse.model.values import change, listed, worded


def describe_setting(name: str, variable: Variable, value: Any, quantity: Quantity | None) -> str:
    """Return what a variable is set to, in words.

    Parameters
    ----------
    value : str or float
        An option, or a number in the quantity's unit.

    >>> streams = Integer(1, 8)
    >>> describe_setting("streams", streams, 4.0, Quantity("1", "streams", integer=True))
    '4 streams'
    >>> describe_setting("streams", streams, 1.0, Quantity("1", "streams", integer=True))
    '1 stream'
    >>> describe_setting("depth", streams, 4.0, Quantity("1", "stages", integer=True))
    'depth 4'
    >>> describe_setting("shared_store", Integer(0, 1), 1.0, Quantity("1", "whether it is shared"))
    'shared store: yes'
    >>> flag = Quantity("1", "whether it is kept", low=0, high=1, integer=True)
    >>> describe_setting("keeps_data", Values((0.0,)), 0.0, flag)
    'keeps data: no'
    >>> describe_setting("kept", Choice({"a + b": {}}, SUBSET), "a + b", None)
    'kept: a and b'
    """
    words = worded(name)
    if isinstance(variable, Choice):
        if variable.about == SUBSET:
            return f"{words}: {listed(str(value).split(' + '))}"
        return f"{words} {value}"
    unit, number = quantity.unit if quantity is not None else "1", float(value)
    if unit == "1" and (_is_flag(variable) or _is_yes_or_no(quantity)):
        return f"{words}: {'yes' if number else 'no'}"
    first, space, rest = words.partition(" ")
    if unit == "1" and number == round(number) and first.endswith("s") and first[-2:] != "ss":
        return f"{amount(number, '1')} {first if number != 1 else first[:-1]}{space}{rest}"
    return f"{words} {amount(number, unit)}"


def _is_yes_or_no(quantity: Quantity | None) -> bool:
    return quantity is not None and quantity.integer and (quantity.low, quantity.high) == (0, 1)


def _is_flag(variable: Variable) -> bool:
    if isinstance(variable, Integer):
        return (variable.low, variable.high, variable.step) == (0, 1, 1)
    return isinstance(variable, Values) and set(variable.values) == {0.0, 1.0}


def describe_settings(
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
    return [describe_setting(n, space.variables[n], values[n], quantities.get(n)) for n in names]


def describe_build(
    space: Space,
    quantities: Mapping[str, Quantity],
    values: Mapping[str, Any],
    names: Iterable[str],
) -> str:
    """Return what some variables of a design are set to, as one text; see `describe_settings`."""
    every = describe_settings(space, quantities, values, names)
    return ("; " if any(": " in each for each in every) else ", ").join(every)


def describe_changes(
    space: Space,
    quantities: Mapping[str, Quantity],
    before: Mapping[str, Any],
    after: Mapping[str, Any],
) -> list[str]:
    """Return which variables differ between two designs, from what to what."""
    return [
        f"{worded(name)} "
        + change(
            describe_value(variable, before[name], quantities.get(name)),
            describe_value(variable, after[name], quantities.get(name)),
        )
        for name, variable in space.variables.items()
        if name in before and before[name] != after[name]
    ]


def describe_value(variable: Variable, value: Any, quantity: Quantity | None) -> str:
    """Return one value of a variable, without its name.

    >>> describe_value(Integer(0, 1), 1.0, None), describe_value(Integer(0, 9), 9.0, None)
    ('yes', '9')
    """
    if isinstance(variable, Choice):
        return listed(str(value).split(" + ")) if variable.about == SUBSET else str(value)
    unit = quantity.unit if quantity is not None else "1"
    if unit == "1" and _is_flag(variable):
        return "yes" if float(value) else "no"
    return amount(float(value), unit)
