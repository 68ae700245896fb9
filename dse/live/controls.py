"""Controls: the inputs, variables and limits of a study that can be changed, and their changes."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from dse.evaluate.space import Choice, Real
from dse.model.quantity import Quantity
from dse.model.units import UnitError, read_value, split_value
from dse.model.values import show_value
from dse.study.changes import inputs_of_rows, list_limits, with_inputs, with_limits
from dse.study.schema import LAWS
from dse.study.study import ResolvedStudy

Changes = Mapping[str, Mapping[str, Any]]
"""The changes of a study: ``inputs`` as `with_inputs` takes them, and ``limits``."""

_MAX_OPTIONS = 64  # values of a variable in a list; of one with more, a value is typed
_MAX_FLAGS = 16  # whole numbers of an input's domain in a list
_REACH = 8.0  # a slider goes to an eighth and to eight times the value


@dataclass(frozen=True)
class Control:
    """Something of a study that can be changed.

    Parameters
    ----------
    kind : str
        ``"inputs"`` or ``"limits"``, the part of `Changes`.
    group : str
        The heading: inputs, variables or limits.
    value : str
        The value of the study, as its file gives it; empty for all values of a variable.
    options : tuple of (value, str)
        The values to choose from, each with its text; empty if a value is typed.
    low, high : float or None
        The bounds of a slider, as factors of the value; None without a slider.
    whole : bool
        Whether only whole numbers are valid.
    """

    kind: str
    group: str
    name: str
    about: str
    value: str
    options: tuple[tuple[Any, str], ...] = ()
    low: float | None = None
    high: float | None = None
    whole: bool = False


def list_controls(study: ResolvedStudy) -> list[Control]:
    """Return the inputs, variables and limits of a study that can be changed."""
    return [*_inputs(study), *_variables(study), *_limits(study), *_inputs_of_rows(study)]


def change_study(study: ResolvedStudy, changes: Changes) -> ResolvedStudy:
    """Return a study with changes; a text that is a plain number is in the base unit.

    InputError if a name is unknown or a value cannot be; with every problem.
    """
    if inputs := changes.get("inputs"):
        choices = study.choices
        values = {n: v if n in choices else _number(v) for n, v in inputs.items()}
        study = with_inputs(study, values)
    if given := changes.get("limits"):
        study = with_limits(study, {name: _number(value) for name, value in given.items()})
    return study


def scale_value(control: Control, factor: float) -> str:
    """Return the value of a control times a factor, in three digits and its unit.

    >>> scale_value(Control("inputs", "Inputs", "size", "", "1.5 KiB"), 3.0)
    '4.5 KiB'
    """
    if factor == 1.0:
        return control.value
    number, _, unit = split_value(control.value)
    scaled = number * factor
    return f"{round(scaled) if control.whole else float(f'{scaled:.3g}'):g} {unit}".strip()


def _number(value: Any) -> Any:
    """Return the number that a text is; other texts as they are."""
    for kind in (int, float):
        try:
            return kind(value) if isinstance(value, str) else value
        except ValueError:
            continue
    return value


def _inputs(study: ResolvedStudy) -> Iterator[Control]:
    """Yield the study's own inputs that are numbers."""
    quantities = study.evaluator.model_graph.quantities
    for name, entry in study.content.get("inputs", {}).items():
        given = entry.get("value", "") if isinstance(entry, Mapping) else entry
        uncertain = isinstance(entry, Mapping) and bool({*LAWS} & entry.keys())
        is_number = isinstance(given, str | int | float) and not isinstance(given, bool)
        quantity = quantities.get(name)
        if quantity is None or not is_number or (given == "" and not uncertain):
            continue
        about = quantity.about + (", uncertain in the study" if uncertain else "")
        flags = quantity.high - quantity.low if quantity.integer else math.inf
        if flags < _MAX_FLAGS:
            levels = range(int(quantity.low), int(quantity.high) + 1)
            options = tuple((level, str(level)) for level in levels)
            yield Control("inputs", "Inputs", name, about, str(given), options)
        else:
            bounds = _slider(given, quantity)
            yield Control(
                "inputs", "Inputs", name, about, str(given), (), *bounds, quantity.integer
            )


def _variables(study: ResolvedStudy) -> Iterator[Control]:
    """Yield the variables: all values of one, or a single value."""
    quantities = study.evaluator.model_graph.quantities
    for name in study.content.get("space", {}):
        variable = study.evaluator.space.variables.get(name)
        if variable is None:
            continue
        quantity = quantities.get(name)
        options: list[tuple[Any, str]] = []
        if isinstance(variable, Choice):
            options = [(option, option) for option in variable.names]
        elif (variable.count or math.inf) <= _MAX_OPTIONS:
            unit = quantity.unit if quantity else "1"
            options = [(level, show_value(level, unit)) for level in variable.levels().tolist()]
        whole = not isinstance(variable, Choice | Real)
        about = quantity.about if quantity else ""
        every = [("", "all")] if options else []
        values = (*every, *options)
        yield Control("inputs", "Variables", name, about, "", values, whole=whole)


def _limits(study: ResolvedStudy) -> Iterator[Control]:
    """Yield the limits of the constraints."""
    quantities = study.evaluator.model_graph.quantities
    for name, (position, key) in list_limits(study).items():
        table = study.content["constraint"][position]
        given, quantity = table[key], quantities.get(table.get("quantity", ""))
        bounds = _slider(given, quantity) if quantity else (None, None)
        about = "the whole relation" if key == "relation" else quantity.about if quantity else ""
        yield Control("limits", "Limits", name, about, str(given), (), *bounds)


def _inputs_of_rows(study: ResolvedStudy) -> Iterator[Control]:
    """Yield the inputs that entries of catalogs set."""
    quantities = study.evaluator.model_graph.quantities
    for name, key in inputs_of_rows(study).items():
        value, quantity = study.constants.get(name), quantities.get(name)
        if isinstance(value, int | float) and quantity and name not in study.content["inputs"]:
            text = _written(float(value), quantity.unit)
            about = f"{quantity.about}, of {key}"
            bounds = _slider(value, quantity)
            yield Control("inputs", "Inputs of catalogs", name, about, text, (), *bounds)


def _written(value: float, unit: str) -> str:
    """Return a value as a text that a study may have, with a prefix of its unit if it is exact."""
    text = show_value(value, unit)
    try:
        if math.isclose(read_value(text, unit), value):
            return text
    except UnitError:
        pass
    return f"{value!r} {unit}".removesuffix(" 1")


def _slider(given: str | float, quantity: Quantity) -> tuple[float | None, float | None]:
    """Return the bounds of a slider, as factors of a positive value within its domain."""
    try:
        value = read_value(given, quantity.unit) if isinstance(given, str) else float(given)
    except (UnitError, ValueError):  # such as cycles without a clock
        return None, None
    if not 0 < value < math.inf:
        return None, None
    low = max(quantity.low / value, 1.001 * quantity.above / value, 1 / _REACH)
    high = min(quantity.high / value, 0.999 * quantity.below / value, _REACH)
    return (low, high) if low < high else (None, None)
