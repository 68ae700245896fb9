"""What resolving shares: the file, what was found wrong, and how numbers are read."""

from __future__ import annotations

import math
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from dse.evaluate.samples import Source
from dse.evaluate.wiring import Wiring
from dse.model.quantity import Floats, Quantity
from dse.model.units import KNOWN_UNITS, UnitError, factor, is_unit, read, split
from dse.model.values import show
from dse.problems import InputError, Problem, closest, nearest
from dse.study.provenance import Origin
from dse.study.reading import Reading
from dse.study.schema import StudyFile

ALIKE = 0.85  # a slip of the pen, where the name could also be one that was not read


@dataclass
class Context:
    """Gathers problems, notes and files while a study is resolved, section by section.

    What could not be read is kept in mind, so that no problem is told that only follows from
    another one.
    """

    reading: Reading
    folder: Path | None
    functions: Mapping[str, Callable[..., Any]]
    problems: list[Problem] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    files: list[Path] = field(default_factory=list)
    report_files: list[Path] = field(default_factory=list)
    """What the report's sections come from: kept with a run, but they decide no result."""
    elsewhere: Mapping[str, Path] = field(default_factory=dict)
    """Where inputs lie that are not where the text says: it is a copy."""
    outside: dict[str, tuple[str, Path, list[Path]]] = field(default_factory=dict)
    """Inputs that a run does not copy, by key: what the text calls each, its place, its files."""
    fingerprints: list[str] = field(default_factory=list)
    """Of functions that a script gave; see `dse.study.reach.fingerprint`."""
    unseen: bool = False
    """Whether a model could not be loaded: any name may be one of its own."""
    texts: frozenset[str] = frozenset()
    """Columns of a table that hold no numbers: known all the same."""
    unread: bool = False
    """Whether rows could not be read: any quantity may be set by them."""
    greatest: dict[str, tuple[float, str]] = field(default_factory=dict)
    """Quantities that choose something in a resource: their greatest values, what there is."""
    parts: dict[str, Sequence[str]] = field(default_factory=dict)
    """Quantities that choose parts of a resource: the names of these, from the lowest bit."""
    kept: dict[str, tuple[str, str]] = field(default_factory=dict)
    """What resources do not offer as a part: why, and a remedy."""
    included: dict[str, dict[str, Sequence[str]]] = field(default_factory=dict)
    """By quantity that chooses parts: what a study includes, and the parts without that."""
    uncertain: dict[str, Source] = field(default_factory=dict)
    """What is uncertain, by its place in the study."""
    origins: dict[tuple[str, str, str], Origin] = field(default_factory=dict)
    """Where figures are from: by place or variable, option, and quantity; by quantity if fixed."""
    doubtful: set[str] = field(default_factory=set)
    """Quantities that were meant to be given, but for a problem: they are not missing as well."""

    @property
    def file(self) -> StudyFile:
        """The study's tables."""
        return self.reading.file

    @property
    def incomplete(self) -> bool:
        """Whether something was not read that could give any quantity: nothing is then missing."""
        return self.unseen or self.unread

    def numbered(self, section: str) -> Iterator[tuple[str, Any]]:
        """Yield the entries of a list such as ``"objective"``, each with its place in the file."""
        return self.reading.numbered(section)

    def add(self, where: str, message: str, remedy: str = "") -> None:
        """Note a problem."""
        self.problems.append(Problem(where, message, remedy))

    def absent(self, where: str, message: str, remedy: str) -> None:
        """Note that a table lacks something, unless it stands there under an unknown key."""
        if not self.reading.lost[where]:
            self.add(where, message, remedy)

    def adopt(self, where: str, error: InputError) -> None:
        """Note the problems of something that the study names at this place."""
        self.problems += [problem.inside(where) for problem in error.problems]

    def number(
        self, where: str, name: str, given: float | str, unit: str, clock: float | None
    ) -> float | None:
        """Read a number in the unit of a quantity; None, and a problem, if it cannot be."""
        value = None
        if isinstance(given, str) and unit != "1" and is_unitless(given):
            self.add(where, *without_unit(given, unit))
            self.doubtful.add(name)
            return None
        try:
            value = read(given, unit, clock) if isinstance(given, str) else float(given)
        except OverflowError:
            self.add(where, "is too large a number", f"{name} is in {unit}")
        except UnitError as error:
            shown = "a plain number" if unit == "1" else f"a number in {unit}"
            self.add(where, str(error), f"{name} is {shown}, or a text with a unit of its kind")
        if value is not None and math.isnan(value):
            if clock is None or not math.isnan(clock):  # a clock that cannot be is told already
                self.add(where, "NaN is not a value", f"{name} is in {unit}")
            value = None
        elif value is not None and math.isinf(value):
            self.add(where, f"{given!r} is not finite", f"{name} is in {unit}")
            value = None
        if value is None:
            self.doubtful.add(name)
        return value

    def value(
        self, wiring: Wiring, where: str, name: str, given: float | str, clock: float | None
    ) -> float | None:
        """Read a number that a quantity may be; None, and a problem, if it cannot be."""
        unit = wiring.quantities[name].unit
        value = self.number(where, name, given, unit, clock)
        if value is None or not self.in_domain(wiring, where, name, value):
            self.doubtful.add(name)
            return None
        return value

    def readable(self, where: str, given: float | str) -> bool:
        """Require a number and a known unit, of a quantity that no model declares."""
        try:
            unit = split(given)[2] if isinstance(given, str) else ""
        except UnitError as error:
            self.add(where, str(error))
            return False
        if not is_unit(unit):
            self.add(where, f"unknown unit {unit!r}", KNOWN_UNITS)
        return is_unit(unit)

    def in_domain(self, wiring: Wiring, where: str, name: str, values: Floats) -> bool:
        """Check values against the domain of every model that takes this quantity."""
        for quantity, scale in declarations(wiring, name):
            x = np.atleast_1d(np.asarray(values, dtype=np.float64)) * scale
            if not quantity.contains_all(x):
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

    def unknown(
        self, wiring: Wiring, where: str, name: str, what: str, *, of_rows: bool = False
    ) -> None:
        """Note that no model knows a name, with the nearest one and its unit.

        If what could know it was not read, only a name that is misspelt is told.

        Parameters
        ----------
        of_rows : bool
            Whether rows of a catalog may know it as well.
        """
        if name in self.texts and name in self.doubtful:
            return  # it is a column of texts, which is told
        known = wiring.known | self.texts | {"clock"}
        unsure = self.unseen or (of_rows and self.unread) or name in self.doubtful
        near = closest(name, known, ALIKE if unsure else 0.6)
        if (near is None and unsure) or near == name:
            return  # it may be one of what was not read
        remedy = f"did you mean '{near}'?" if near else nearest(name, known)
        if near is not None:
            self.doubtful.add(near)
            if near in wiring.quantities:
                remedy += f" [{wiring.quantities[near].unit}]: {wiring.quantities[near].about}"
        table = getattr(self.file.study, "table", None)
        message = f"unknown {what} '{name}'" if table is None else f"{table} has no column '{name}'"
        self.add(where, message, remedy)


_USUAL = {"Hz": "GHz", "B": "KiB", "s": "ns", "LUT": "kLUT", "W": "mW", "J": "nJ", "B/s": "GB/s"}
"""What quantities of a base unit are usually given in."""


def is_unitless(text: str) -> bool:
    """Tell whether a text is a finite number without a unit.

    >>> is_unitless("1.16"), is_unitless("1.16 GHz"), is_unitless("inf")
    (True, False, False)
    """
    try:
        number, _, unit = split(text)
    except UnitError:
        return False
    return not unit and math.isfinite(number)


def without_unit(text: str, unit: str) -> tuple[str, str]:
    """Return what is wrong with a text that has no unit, and a remedy.

    >>> print(*without_unit("1.16", "Hz"), sep="; ")
    '1.16' has no unit; write "1.16 GHz", say; a number without quotes is in Hz
    """
    remedy = f'write "{text.strip()} {_USUAL.get(unit, unit)}"'
    return f"{text!r} has no unit", f"{remedy}, say; a number without quotes is in {unit}"


def declarations(wiring: Wiring, name: str) -> list[tuple[Quantity, float]]:
    """Return every declaration of an input, each with the factor from the unit it is held in.

    Those that a clock relates to that unit are left out: it may differ from design to design.
    """
    held = wiring.quantities.get(name)
    if held is None:
        return []
    found = []
    for model in wiring.models:
        quantity = model.inputs.get(name)
        if isinstance(quantity, Quantity):
            try:
                scale, power = factor(held.unit, quantity.unit)
            except UnitError:  # told by `dse.evaluate.conflicts`
                continue
            if power == 0:
                found.append((quantity, scale))
    return found or [(held, 1.0)]


def shown(given: float | str) -> str:
    """Return a number as the study wrote it."""
    if isinstance(given, str):
        return given
    return f"{given:g}" if abs(given) <= sys.float_info.max else "a number that large"
