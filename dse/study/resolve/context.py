"""What resolving shares: the file, what was found wrong, and how numbers are read."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from dse.evaluate.wiring import Wiring
from dse.model.quantity import Floats, Quantity
from dse.model.units import UnitError, factor, read, show
from dse.problems import Problem, nearest
from dse.study.schema import StudyFile


@dataclass
class Context:
    """Gathers problems, notes and files while a study is resolved, section by section."""

    file: StudyFile
    folder: Path | None
    functions: Mapping[str, Callable[..., Any]]
    problems: list[Problem] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    files: list[Path] = field(default_factory=list)
    incomplete: bool = False
    """Whether an entry that could set any quantity was taken out: nothing is then missing."""
    greatest: dict[str, tuple[float, str]] = field(default_factory=dict)
    """Quantities that choose something in a resource: their greatest values, what there is."""
    doubtful: set[str] = field(default_factory=set)
    """Quantities that were meant to be given, but for a problem: they are not missing as well."""

    def add(self, where: str, message: str, remedy: str = "") -> None:
        """Note a problem."""
        self.problems.append(Problem(where, message, remedy))

    def number(
        self, where: str, name: str, given: float | str, unit: str, clock: float | None
    ) -> float | None:
        """Read a number in the unit of a quantity; None, and a problem, where it cannot be."""
        try:
            value = read(given, unit, clock) if isinstance(given, str) else float(given)
        except OverflowError:
            self.add(where, "is too large a number", f"{name} is in {unit}")
            self.doubtful.add(name)
            return None
        except UnitError as error:
            shown = "a plain number" if unit == "1" else f"a number in {unit}"
            self.add(where, str(error), f"{name} is {shown}, or a text with a unit of its kind")
            self.doubtful.add(name)
            return None
        if math.isnan(value):
            self.add(where, "NaN is no value", f"{name} is in {unit}")
            return None
        return value

    def in_domain(self, wiring: Wiring, where: str, name: str, values: Floats) -> bool:
        """Check values against the domain of every model that takes this quantity."""
        for quantity in declarations(wiring, name):
            if not quantity.contains_all(values):
                x = np.atleast_1d(np.asarray(values, dtype=np.float64))
                bad = float(x[~quantity.contains(x)][0])
                self.add(
                    where,
                    f"{name} = {show(bad, quantity.unit)} is outside its domain",
                    f"{quantity.about} [{quantity.unit}] is in {quantity.domain()}",
                )
                return False
        top, choice = self.greatest.get(name, (math.inf, ""))
        given = float(np.max(np.asarray(values, dtype=np.float64), initial=-math.inf))
        if given > top:
            self.add(where, f"{name} = {given:,.0f} chooses what is not there", choice)
            return False
        return True

    def unknown(self, wiring: Wiring, where: str, name: str, what: str) -> None:
        """Note that no model knows a name, with the nearest one and its unit."""
        if self.incomplete and any(p.where.startswith("study.models") for p in self.problems):
            return  # the model that would know it is the one that could not be loaded
        near = nearest(name, wiring.known)
        unit = ""
        for known in wiring.quantities:
            if f"'{known}'" in near:
                self.doubtful.add(known)
                unit = f" [{wiring.quantities[known].unit}]: {wiring.quantities[known].about}"
        self.add(where, f"unknown {what} '{name}'", near + unit)


def declarations(wiring: Wiring, name: str) -> list[Quantity]:
    """Return every declaration of an input whose unit is the one that its values are held in."""
    held = wiring.quantities.get(name)
    if held is None:
        return []
    found = [m.inputs[name] for m in wiring.models if name in m.inputs]
    quantities = [
        q for q in found if isinstance(q, Quantity) and factor(held.unit, q.unit) == (1.0, 0)
    ]
    return quantities or [held]


def shown(given: float | str) -> str:
    """Return a number as the study wrote it."""
    return given if isinstance(given, str) else f"{given:g}"
