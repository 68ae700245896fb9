"""Targets: values that objectives must reach, and what is asked of the designs that reach them.

A bound on an objective that asks for a better value, such as ``speedup >= 5`` of a speedup that is
maximized, is answered by the front alone. Let a feasible design reach all such bounds. A design of
the whole Pareto front is as good or better in every objective: it reaches the bounds as well, and
the least of any other objective is no greater there. So a design that is not on the front is never
needed, whatever objective is to be least. A bound on anything else, another quantity or an
objective that may be no better than so, is not kept by what dominates a design: it must hold for
the whole search, as a constraint, and then the same is true of the front of what is left.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from dse.evaluate.objective import Objective
from dse.model.filter_words import Name, Number, Word, words
from dse.model.quantity import Array
from dse.model.units import read
from dse.problems import Problem, nearest

_COMPARED: dict[str, Callable[[Any, Any], Any]] = {
    ">=": operator.ge,
    "<=": operator.le,
    ">": operator.gt,
    "<": operator.lt,
}
_TURNED = str.maketrans("<>", "><")
EXAMPLE = "such as 'speedup >= 5 and area <= 100 kLUT'"
"""What a target looks like."""


class Comparison(NamedTuple):
    """A comparison as written: a name, one of >=, <=, >, <, and a number that may have a unit."""

    name: str
    sign: str
    number: str

    @property
    def text(self) -> str:
        """The comparison, evenly spaced."""
        return f"{quoted(self.name)} {self.sign} {self.number}"


class TargetError(ValueError):
    """A text is not a target; the message says what would be."""


def quoted(name: str) -> str:
    """Return a name as a target has it: between backquotes if it is not a word."""
    return name if name.isidentifier() else f"`{name}`"


@dataclass(frozen=True)
class Bound:
    """A value that an objective must reach.

    Parameters
    ----------
    objective, unit : str
        The objective's name and its unit.
    sign : {">=", ">", "<=", "<"}
        In the direction in which the objective is better.
    value : float
        In the objective's unit.
    text : str
        As written.
    """

    objective: str
    unit: str
    sign: str
    value: float
    text: str

    def reached(self, values: Array) -> NDArray[np.bool_]:
        """Tell which values of the objective reach it; NaN does not."""
        return np.asarray(_COMPARED[self.sign](values, self.value))


@dataclass(frozen=True)
class Target:
    """What a study asks to reach.

    Parameters
    ----------
    reach : str
        As written.
    least : str
        The objective that is to be as good as possible; empty for each that has no bound.
    bounds : tuple of Bound
        What the front answers.
    searched : tuple of str
        Names of the constraints that the rest became: they hold throughout the search.
    """

    reach: str
    least: str
    bounds: tuple[Bound, ...]
    searched: tuple[str, ...] = ()


def comparisons(text: str) -> list[Comparison]:
    """Read comparisons that are joined by ``and``, in the words of `dse.model.filter`.

    Raises
    ------
    TargetError
        If the text is something else: a filter may say more than a target.

    >>> [c.text for c in comparisons("speedup>=5 and 100 kLUT > area and 1 < `time at 1 KiB` <= 3")]
    ['speedup >= 5', 'area < 100 kLUT', '`time at 1 KiB` > 1', '`time at 1 KiB` <= 3']
    """
    every, at, found = words(text), 0, list[Comparison]()
    while True:
        left, first = _term(every[at]), len(found)
        while every[at + 1].kind == "sign" and every[at + 1].text in _COMPARED:
            right = _term(every[at + 2])
            found.append(_comparison(left, every[at + 1].text, right))
            left, at = right, at + 2
        if len(found) == first:
            raise _unexpected(every[at + 1], "one of >=, <=, >, <")
        if every[at + 1].kind == "end":
            return found
        if every[at + 1].text != "and":
            raise _unexpected(every[at + 1], "'and' or the end")
        at += 2


def _term(word: Word) -> Name | Number:
    if isinstance(word.term, Name | Number):
        return word.term
    raise _unexpected(word, "a name or a number")


def _comparison(left: Name | Number, sign: str, right: Name | Number) -> Comparison:
    if isinstance(left, Number):
        left, right, sign = right, left, sign.translate(_TURNED)
    if isinstance(left, Name) and isinstance(right, Number):
        return Comparison(left.name, sign, right.shown)
    raise TargetError(f"character {right.at + 1}: a target compares a name with a number")


def _unexpected(word: Word, what: str) -> TargetError:
    stands = f"'{word.text}' stands" if word.kind != "end" else "the target ends"
    return TargetError(f"character {word.at + 1}: {stands} where {what} was expected")


def asked_of(
    comparison: Comparison, objectives: Sequence[Objective]
) -> tuple[Objective | None, Problem | None]:
    """Return the objective that a comparison names, by its name or as the only one of a quantity.

    None if there is none; then a problem if the name is that of several.
    """
    name = comparison.name
    named = [o for o in objectives if o.name == name]
    named = named or [o for o in objectives if o.quantity == name]
    if len(named) > 1:
        message = f"'{name}' is the quantity of {len(named)} objectives"
        names = ", ".join(quoted(o.name) for o in named)
        return None, Problem("", message, f"name one of them: {names}")
    return (named[0], None) if named else (None, None)


def is_better(comparison: Comparison, objective: Objective) -> bool:
    """Tell whether a comparison asks an objective for a better value: the front answers that."""
    return (comparison.sign[0] == ">") == (objective.direction == "maximize")


def bound_of(comparison: Comparison, objective: Objective, clock: float | None) -> Bound:
    """Return the bound of an objective that a comparison asks for.

    Raises
    ------
    UnitError
        If its number is none, or of another unit.
    """
    value = read(comparison.number, objective.unit, clock)
    text = comparison._replace(name=objective.name).text
    return Bound(objective.name, objective.unit, comparison.sign, value, text)


def least_problem(least: str, objectives: Sequence[Objective]) -> Problem | None:
    """Return what is wrong with the objective that is to be least."""
    by_name = {o.name: o for o in objectives}
    if not least:
        return None
    if least not in by_name:
        return Problem("", f"'{least}' is not an objective", nearest(least, list(by_name)))
    if by_name[least].direction == "minimize":
        return None
    minimized = ", ".join(quoted(o.name) for o in objectives if o.direction == "minimize")
    remedy = f"name one that is minimized: {minimized}" if minimized else "leave it out: none is"
    return Problem("", f"'{least}' is maximized: as little of it as possible is not asked", remedy)
