"""The filter language: which designs to look at, such as ``area < 200 kLUT and lanes in (1, 2)``.

Scripts, the command line and the report read the same one; the report's script has its own reader
(``dse/report/filter.js``), and one list of cases holds both to it (``tests/filter_cases.json``).

    filter     = part {"or" part};  part = negated {"and" negated}
    negated    = "not" negated | "(" filter ")" | comparison
    comparison = term {("<" | "<=" | ">" | ">=" | "==" | "!=") term}
               | term ["not"] "in" "(" term {"," term} ")"
    term       = column | number [unit] | text in quotes

A column whose name is not a word stands between backquotes: ```speedup at 1 KiB` > 2``. A number
without a unit is in the column's base unit. There is no arithmetic, so that a unit may follow a
number. A missing value satisfies no comparison. The text is never run as code.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from dse.model.filter_words import Name, Number, Term, Text, Word, WrongError, expected, words
from dse.model.units import UnitError, base, factor, known, read
from dse.model.values import INFINITE
from dse.problems import Problem, nearest

CLOCK = "clock"
"""The column, or the constant of a study, that relates cycles and seconds [Hz]."""
_COMPARED: dict[str, Callable[[Any, Any], Any]] = {
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
    "==": operator.eq,
    "!=": operator.ne,
}
_DEEPEST = 50  # levels of parentheses and "not"
_LONGEST = 2_000  # characters
_INFINITE = {"inf", *INFINITE.values()} - {"∞"}


class Field(NamedTuple):
    """What a column holds.

    Attributes
    ----------
    unit : str
        Base unit of its numbers.
    options : tuple of str or None
        The texts that it may hold; None if it holds numbers.
    """

    unit: str = "1"
    options: tuple[str, ...] | None = None


class FilterError(ValueError):
    """A text is not a filter of these columns.

    Parameters
    ----------
    problems : tuple of Problem
        All of them, in the order of the text; each says at which character.
    """

    def __init__(self, problems: tuple[Problem, ...]) -> None:
        self.problems = problems
        super().__init__("; ".join(map(str, problems)))


class _Side(NamedTuple):
    """A column, or else a number or a text, times a factor and a power of the clock."""

    column: str
    value: float | str = 0.0
    scale: float = 1.0
    power: int = 0


class _Compared(NamedTuple):
    sign: str
    left: _Side
    right: _Side


class _Joined(NamedTuple):
    """All, any, or (of one) none of some parts."""

    how: str
    parts: tuple[_Node, ...]


_Node: TypeAlias = "_Compared | _Joined"


@dataclass(frozen=True)
class Filter:
    """A filter of designs.

    Parameters
    ----------
    text : str
        As written.
    names : frozenset of str
        The columns that it needs; with `CLOCK` if one has to relate cycles and seconds.
    """

    text: str
    names: frozenset[str]
    node: _Node

    def holds(self, values: Mapping[str, Any], count: int) -> NDArray[np.bool_]:
        """Tell for each design whether it is one of those.

        Parameters
        ----------
        values : mapping of str to array_like
            Each of `names`: of shape (designs,), or one value for all.
        count : int
            How many designs.
        """
        with np.errstate(all="ignore"):
            return np.broadcast_to(_holds(self.node, values), (count,)).astype(bool)


def read_filter(text: str, fields: Mapping[str, Field], clocked: bool = False) -> Filter:
    """Read a filter.

    Parameters
    ----------
    fields : mapping of str to Field
        The columns.
    clocked : bool
        Whether a clock, if no column, relates cycles and seconds.

    Raises
    ------
    FilterError
        With every problem of the text.

    >>> fields = {"area": Field("LUT"), "interface": Field("", ("pci-card", "user-port"))}
    >>> found = read_filter('area < 2 kLUT and interface != "pci-card"', fields)
    >>> options = np.array(["user-port", "pci-card", "user-port"])
    >>> found.holds({"area": np.array([1.0, 1e3, 3e3]), "interface": options}, 3)
    array([ True, False, False])
    """
    reader = _Reader(text, fields, clocked or CLOCK in fields)
    node = reader.whole()
    if reader.problems:
        order = sorted(reader.problems, key=lambda each: each[0])
        raise FilterError(tuple(dict.fromkeys(problem for _, problem in order)))
    return Filter(text, frozenset(reader.names), node)


class _Reader:
    """Recursive descent over words; a comparison that is wrong is told, and the rest is read."""

    def __init__(self, text: str, fields: Mapping[str, Field], clocked: bool) -> None:
        self.words = words(text[:_LONGEST])
        self.fields, self.clocked, self.at, self.depth = fields, clocked, 0, 0
        self.names: set[str] = set()
        self.problems: list[tuple[int, Problem]] = []
        if len(text) > _LONGEST:
            self.tell(_LONGEST, f"the filter is longer than {_LONGEST:,} characters")

    def tell(self, at: int, message: str, remedy: str = "") -> None:
        self.problems.append((at, Problem(f"character {at + 1}", message, remedy)))

    def takes(self, *texts: str) -> Word | None:
        """Return the next word, and go on, if it is one of these."""
        word = self.words[self.at]
        if word.kind not in ("sign", "key") or word.text not in texts:
            return None
        self.at += 1
        return word

    def whole(self) -> _Node:
        node = self.joined("any", "or")
        while self.words[self.at].kind != "end":
            wrong = expected(self.words[self.at], "'and', 'or' or the end of the filter")
            self.tell(*wrong.told)
            self.at += 1
            self.skip()
            if self.takes("and", "or"):
                self.joined("any", "or")
        return node

    def joined(self, how: str, word: str) -> _Node:
        parts = [self.joined("all", "and") if how == "any" else self.negated()]
        while self.takes(word):
            parts.append(self.joined("all", "and") if how == "any" else self.negated())
        return parts[0] if len(parts) == 1 else _Joined(how, tuple(parts))

    def negated(self) -> _Node:
        word, self.depth = self.words[self.at], self.depth + 1
        try:
            if self.depth > _DEEPEST:
                raise WrongError(word.at, f"the filter is nested more than {_DEEPEST} levels deep")
            if self.takes("not"):
                return _Joined("none", (self.negated(),))
            if not self.takes("("):
                return self.comparison()
            node = self.joined("any", "or")
            if not self.takes(")"):
                raise expected(self.words[self.at], "')'")
            return node
        except WrongError as wrong:
            self.tell(*wrong.told)
            self.skip()
            return _Joined("all", ())
        finally:
            self.depth -= 1

    def skip(self) -> None:
        """Go on to where the next comparison may begin."""
        depth = 0
        while (word := self.words[self.at]).kind != "end":
            if depth == 0 and word.text in ("and", "or", ")") and word.kind in ("sign", "key"):
                return
            depth += (word.text == "(") - (word.text == ")") if word.kind == "sign" else 0
            self.at += 1

    def comparison(self) -> _Node:
        terms, signs = [self.term()], []
        no = self.takes("not")
        if self.takes("in"):
            parts = [self.compared(terms[0], "==", each) for each in self.listed()]
            among = _Joined("any", tuple(parts))
            if not no or not isinstance(terms[0], Name):
                return among
            missing = self.compared(terms[0], "==", terms[0])  # a missing value is not in it
            return _Joined("all", (missing, _Joined("none", (among,))))
        if no:
            raise expected(self.words[self.at], "'in'")
        while sign := self.takes(*_COMPARED):
            signs.append(sign.text)
            terms.append(self.term())
        if not signs:
            raise expected(self.words[self.at], "<, <=, >, >=, ==, != or 'in'")
        pairs = zip(terms, signs, terms[1:], strict=False)
        parts = [self.compared(*pair) for pair in pairs]
        return parts[0] if len(parts) == 1 else _Joined("all", tuple(parts))

    def listed(self) -> list[Term]:
        if not self.takes("("):
            raise expected(self.words[self.at], "'('")
        terms = [self.term()]
        while self.takes(","):
            terms.append(self.term())
        if not self.takes(")"):
            raise expected(self.words[self.at], "',' or ')'")
        return terms

    def term(self) -> Term:
        word = self.words[self.at]
        if word.term is None:
            raise expected(word, "a column, a number or a text in quotes")
        self.at += 1
        term = word.term
        if isinstance(term, Name) and term.name in _INFINITE - self.fields.keys():
            return Number(term.at, "inf", "")
        return term

    def compared(self, left: Term, sign: str, right: Term) -> _Node:
        """Return a comparison of two terms, of which one at least is a column."""
        unknown = [t for t in (left, right) if isinstance(t, Name) and t.name not in self.fields]
        if unknown:
            for term in unknown:
                other = right if term is left else left
                self.tell(term.at, f"no column '{term.name}'", self.meant(term.name, other))
            return _Joined("all", ())
        if not isinstance(left, Name) and not isinstance(right, Name):
            self.tell(left.at, "compares no column", nearest("", self.fields))
            return _Joined("all", ())
        self.names |= {term.name for term in (left, right) if isinstance(term, Name)}
        name, other = (left, right) if isinstance(left, Name) else (right, left)
        assert isinstance(name, Name)  # noqa: S101 (one of them is)
        if (options := self.fields[name.name].options) is not None:
            self.match_text(name.name, options, sign, other)
            return _Compared(sign, _side(left), _side(right))
        if isinstance(other, Text):
            remedy = f"write {other.text} without quotes" if _is_number(other.text) else ""
            self.tell(other.at, f"{name.name} is a number, not a text", remedy)
            return _Joined("all", ())
        if isinstance(other, Name) and self.fields[other.name].options is not None:
            self.tell(other.at, f"{other.name} holds texts, and {name.name} numbers")
            return _Joined("all", ())
        side = self.converted(name.name, other)
        ends = (_side(name), side) if name is left else (side, _side(name))
        return _Compared(sign, *ends)

    def meant(self, name: str, other: Term) -> str:
        field = self.fields.get(other.name) if isinstance(other, Name) else None
        if field is not None and field.options is not None:
            return f'put a text in quotes: "{name}"'
        return nearest(name, self.fields)

    def match_text(self, name: str, options: tuple[str, ...], sign: str, other: Term) -> None:
        """Tell if a column of texts is compared with what it cannot be."""
        if isinstance(other, Number):
            self.tell(other.at, f"{name} holds texts, and {other.shown} is a number")
        elif isinstance(other, Name):
            if self.fields[other.name].options is None:
                self.tell(other.at, f"{name} holds texts, and {other.name} numbers")
        elif other.text not in options:
            message = f"{name} is never '{other.text}'"
            self.tell(other.at, message, nearest(other.text, options))
        if sign not in ("==", "!="):
            self.tell(other.at, f"'{sign}' does not compare texts", "compare them by ==, != or in")

    def converted(self, name: str, other: Term) -> _Side:
        """Return a number, or another column, in the unit of a column."""
        wanted = self.fields[name].unit
        given = self.fields[other.name].unit if isinstance(other, Name) else wanted
        what = other.name if isinstance(other, Name) else ""
        if isinstance(other, Number):
            given, what = other.unit or wanted, f"'{other.shown}'"
        try:
            _, mine = base(given)
        except UnitError:
            self.tell(other.at, f"unknown unit '{given}'", nearest(given, known()))
            return _side(other)
        try:
            scale, power = factor(given, wanted)
        except UnitError:
            theirs = dimension(base(wanted)[1])
            message = f"{what} is {dimension(mine)}, and {name} is {theirs}"
            remedy = "give a plain number" if wanted == "1" else f"give it in {wanted}"
            self.tell(other.at, message, remedy if isinstance(other, Number) else "")
            return _side(other)
        if power and not self.clocked:
            rates = f"{what} and {name} are in seconds and cycles"
            self.tell(other.at, f"{rates}, which no clock of the study relates")
        if power:
            self.names.add(CLOCK)
        elif isinstance(other, Number):
            return _Side("", read(f"{other.written} {other.unit}", wanted))
        return _side(other)._replace(scale=scale, power=power)


def dimension(powers: Mapping[str, int]) -> str:
    """Return a dimension in words.

    >>> dimension({"[time]": -1, "[information]": 1}), dimension({})
    ('of [information]*[time]**-1', 'a plain number')
    """
    parts = [f"{n}**{p}" if p != 1 else n for n, p in sorted(powers.items()) if p]
    return f"of {'*'.join(parts)}" if parts else "a plain number"


def _is_number(text: str) -> bool:
    found = words(text)
    return len(found) == 2 and isinstance(found[0].term, Number)


def _side(term: Term) -> _Side:
    match term:
        case Name(name=name):
            return _Side(name)
        case Text(text=text):
            return _Side("", text)
        case Number(written=written):
            return _Side("", float(written))


def _holds(node: _Node, values: Mapping[str, Any]) -> Any:
    if isinstance(node, _Compared):
        left, right = _value(node.left, values), _value(node.right, values)
        if node.sign == "!=":  # a missing value differs from nothing
            return (left == left) & (right == right) & (left != right)
        return _COMPARED[node.sign](left, right)
    parts = [_holds(part, values) for part in node.parts]
    if node.how == "none":
        return ~np.asarray(parts[0], dtype=bool)
    start, join = (True, np.logical_and) if node.how == "all" else (False, np.logical_or)
    found: Any = np.asarray(start)
    for part in parts:
        found = join(found, part)
    return found


def _value(side: _Side, values: Mapping[str, Any]) -> Any:
    value: Any = np.asarray(values[side.column]) if side.column else np.asarray(side.value)
    if side.power:  # the factors first: they often make a whole one
        return value * (side.scale * np.asarray(values[CLOCK]) ** float(side.power))
    return value * side.scale if side.scale != 1.0 else value
