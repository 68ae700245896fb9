"""The names and numbers of a study: the quantities of models, and conversion to base units."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np

from dse.evaluate.model_graph import ModelGraph
from dse.model.quantity import Floats, Quantity
from dse.model.units import UnitError, conversion_factor, read_value, split_value, suggest_value
from dse.model.values import show
from dse.problems import closest, nearest
from dse.study.findings import Findings, Place

_USUAL = {"Hz": "GHz", "B": "KiB", "s": "ns", "LUT": "kLUT", "W": "mW", "J": "nJ", "B/s": "GB/s"}
"""Units in which people usually give quantities of a base unit."""
_FAR = 1e2  # times outside of the typical range: a prefix is probably wrong
_CLOCK = Quantity("Hz", "clock", typical=(1e6, 1e10))


@dataclass(frozen=True)
class Scope:
    """The meaning of names in a study, and the numbers that they may have.

    Parameters
    ----------
    limits : mapping of str to (float, str)
        The greatest values of quantities that number the parts of a file, with a remedy.
    table : str
        The table of designs, if the study has one in the place of models.
    texts : mapping of str to str
        The columns of the table that are not numbers, each with the reason.
    """

    model_graph: ModelGraph
    findings: Findings
    limits: Mapping[str, tuple[float, str]] = field(default_factory=dict)
    table: str = ""
    texts: Mapping[str, str] = field(default_factory=dict)

    @property
    def clock(self) -> float | None:
        """The clock that converts cycles and seconds [Hz]; NaN if the study's clock is wrong."""
        clock: float | None = self.model_graph.constants.get("clock")
        return clock

    def add(self, place: Place, message: str, remedy: str = "") -> None:
        """Add a problem."""
        self.findings.add(place, message, remedy)

    def unit(self, name: str) -> str:
        """Return the unit of a quantity."""
        return self.model_graph.quantities[name].unit

    def number(self, place: Place, name: str, given: float | str, unit: str) -> float | None:
        """Return a number in a unit; None, after a problem, if it is not a finite number of it."""
        if isinstance(given, str) and unit != "1" and is_unitless(given):
            usual = f'"{given.strip()} {_USUAL.get(unit, unit)}"'
            remedy = f"write {usual}, or a number without quotes, which is in {unit}"
            self.add(place, f"{given!r} has no unit", remedy)
            return None
        try:
            value = read_value(given, unit, self.clock) if isinstance(given, str) else float(given)
        except UnitError as error:
            kind = "a plain number" if unit == "1" else f"a number in {unit}"
            message, near = str(error), suggest_value(str(given), unit)
            remedy = f"{name} is {kind}, or a text with a unit of its kind"
            if near is not None:
                message, remedy = message.partition("; known")[0], f"did you mean {near!r}?"
            self.add(place, message, remedy)
            return None
        if math.isnan(value) and self.clock is not None and math.isnan(self.clock):
            return None  # the clock has a problem already
        if not math.isfinite(value):
            message = "NaN is not a value" if math.isnan(value) else f"{given!r} is not finite"
            self.add(place, message, f"{name} is in {unit}")
            return None
        return value

    def value(self, place: Place, name: str, given: float | str) -> float | None:
        """Return a number that a quantity may be; None, after a problem, if it may not."""
        value = self.number(place, name, given, self.unit(name))
        return value if value is not None and self.in_domain(place, name, value) else None

    def warn_magnitude(self, place: Place, name: str, value: float) -> None:
        """Warn about a value that is far outside the typical range: its unit is probably wrong."""
        if name != "clock" and self.clock and not _is_plausible(self.clock, _CLOCK):
            return  # the clock has a warning: it converted the value
        known = [(_CLOCK, 1.0)] if name == "clock" else list_declarations(self.model_graph, name)
        for quantity, scale in known:
            if quantity.typical and not _is_plausible(value * scale, quantity):
                typical = " to ".join(show(bound, quantity.unit) for bound in quantity.typical)
                text = f"{name} = {show(value * scale, quantity.unit)} is unusual"
                self.findings.warnings.append(f"{place}: {text}; typical: {typical}")
                return

    def in_domain(self, place: Place, name: str, values: Floats) -> bool:
        """Check values against the domain of every model that takes this quantity."""
        for quantity, scale in list_declarations(self.model_graph, name):
            x = np.atleast_1d(np.asarray(values, dtype=np.float64)) * scale
            if not quantity.contains_all(x):
                bad = float(x[~quantity.contains(x)][0])
                self.add(
                    place,
                    f"{name} = {show(bad, quantity.unit)} is outside its domain",
                    f"{quantity.about} [{quantity.unit}] is in {quantity.domain()}",
                )
                return False
        greatest, remedy = self.limits.get(name, (math.inf, ""))
        highest = float(np.max(values, initial=-math.inf))
        if highest > greatest:
            self.add(place, f"{name} = {highest:,.0f} is beyond the last choice", remedy)
        return highest <= greatest

    def knows(self, place: Place, name: str, kind: str) -> bool:
        """Check that a name is a quantity; the problem names the nearest one and its unit."""
        quantities = self.model_graph.quantities
        if name in quantities:
            return True
        if name in self.texts:
            remedy = "leave a missing value empty, or add its text to study.missing"
            self.add(place, f"column '{name}' {self.texts[name]}", remedy)
            return False
        known = self.model_graph.known | {"clock"}
        remedy = nearest(name, known)
        if (near := closest(name, known)) in quantities:
            remedy += f" [{quantities[near].unit}]: {quantities[near].about}"
        what = f"{self.table} has no column '{name}'" if self.table else f"unknown {kind} '{name}'"
        self.add(place, what, remedy)
        return False


def _is_plausible(value: float, quantity: Quantity) -> bool:
    low, high = quantity.typical or (0.0, 0.0)
    return value == 0 or high <= 0 or low / _FAR <= abs(value) <= high * _FAR


def is_unitless(text: str) -> bool:
    """Return whether a text is a finite number without a unit.

    >>> is_unitless("1.16"), is_unitless("1.16 GHz"), is_unitless("inf")
    (True, False, False)
    """
    try:
        number, _, unit = split_value(text)
    except UnitError:
        return False
    return not unit and math.isfinite(number)


def list_declarations(model_graph: ModelGraph, name: str) -> list[tuple[Quantity, float]]:
    """Return every declaration of an input, each with the factor from the unit it is held in.

    Quantities that a clock relates to that unit are left out: it may differ from design to design.
    """
    held = model_graph.quantities.get(name)
    if held is None:
        return []
    declared = []
    for model in model_graph.models:
        quantity = model.inputs.get(name)
        if isinstance(quantity, Quantity):
            try:
                scale, power = conversion_factor(held.unit, quantity.unit)
            except UnitError:  # `dse.evaluate.model_graph` reports it
                continue
            if power == 0:
                declared.append((quantity, scale))
    return declared or [(held, 1.0)]


def is_whole(model_graph: ModelGraph, name: str) -> bool:
    """Return whether a model takes only whole numbers of a quantity."""
    return any(quantity.integer for quantity, _ in list_declarations(model_graph, name))


def show_as_written(given: float | str) -> str:
    """Return a number as the study wrote it."""
    return given if isinstance(given, str) else f"{given:g}"
