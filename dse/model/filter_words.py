"""The words of a filter: names, numbers with units, texts in quotes, signs."""

from __future__ import annotations

import re
from typing import NamedTuple, TypeAlias

_KEYS = ("and", "or", "not", "in")
_UNIT = r"(?:%|[^\W\d_]\w*)(?:(?:\*\*|\^)-?\d)?"
# cxl-x8 or SL2+ without quotes is one name, so that a message can say what to quote
_WORD = re.compile(
    r"(?P<number>[+-]?(?:\d[\d_]*(?:\.[\d_]*)?|\.\d[\d_]*)(?:[eE][+-]?\d+)?)"
    rf"(?:\s*(?P<unit>(?!(?:{'|'.join(_KEYS)})\b){_UNIT}(?:[*/]{_UNIT})*))?"
    r"|(?P<name>[^\W\d]\w*(?:-\w+)*\+?)|`(?P<quoted>[^`]+)`"
    r"""|"(?P<double>[^"]*)"|'(?P<single>[^']*)'"""
    r"|(?P<sign><=|>=|==|!=|[<>(),])|(?P<other>\S)"
)
_INSTEAD = {"=": "==", "&": "and", "|": "or", "!": "not"}


class Name(NamedTuple):
    """A column."""

    at: int
    name: str


class Number(NamedTuple):
    """A number as written, with its unit; "" for none."""

    at: int
    written: str
    unit: str

    @property
    def shown(self) -> str:
        """Both, as written."""
        return f"{self.written} {self.unit}".strip()


class Text(NamedTuple):
    """A text that stood in quotes."""

    at: int
    text: str


Term: TypeAlias = Name | Number | Text


class Word(NamedTuple):
    """One word: of kind ``term``, ``key``, ``sign``, ``other`` or ``end``."""

    kind: str
    at: int
    text: str
    term: Term | None = None


class WrongError(Exception):
    """What stands at a character is wrong."""

    def __init__(self, at: int, message: str, remedy: str = "") -> None:
        self.told = at, message, remedy
        super().__init__(message)


def words(text: str) -> list[Word]:
    """Return the words of a text, and its end.

    >>> [word.text for word in words("area<2 kLUT and not x in (1, 2)")]
    ['area', '<', '2 kLUT', 'and', 'not', 'x', 'in', '(', '1', ',', '2', ')', '']
    """
    return [*map(_word, _WORD.finditer(text)), Word("end", len(text.rstrip()), "")]


def _word(found: re.Match[str]) -> Word:
    at, text = found.start(), found.group()
    kind = found.lastgroup or ""
    if kind in ("number", "unit"):
        term = Number(at, found["number"].replace("_", ""), found["unit"] or "")
        return Word("term", at, text, term)
    if kind == "name":
        return Word("key", at, text) if text in _KEYS else Word("term", at, text, Name(at, text))
    if kind == "quoted":
        return Word("term", at, text, Name(at, found[kind]))
    if kind in ("double", "single"):
        return Word("term", at, text, Text(at, found[kind]))
    return Word(kind, at, text)


def expected(word: Word, what: str) -> WrongError:
    """Return that something else was expected where a word stands."""
    if word.kind == "end":
        return WrongError(word.at, f"the filter ends, and {what} was expected")
    instead = _INSTEAD.get(word.text)
    if word.text in ("'", '"', "`"):
        return WrongError(word.at, f"{word.text} is not closed")
    remedy = f"write {instead}" if instead and word.kind == "other" else ""
    return WrongError(word.at, f"'{word.text}' stands where {what} was expected", remedy)
