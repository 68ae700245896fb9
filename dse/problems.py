"""The problems of an input: all of them at once, each with its place and its remedy."""

from __future__ import annotations

import difflib
import os
import re
import unicodedata
from collections.abc import Iterable
from dataclasses import dataclass, replace
from pathlib import Path

_MAX_LISTED = 30  # further problems are only counted
_MAX_QUOTED = 40  # characters of the quoted value
_MAX_NAMES = 12  # known names in a remedy
_NAME_LIKENESS, _WORD_LIKENESS = 0.6, 0.5  # minimum similarity from 0 to 1 (difflib)
_LONGEST_NAME = 100  # characters of a name whose nearest name is searched
LONGEST_MESSAGE = 2_000
"""The maximum number of characters of a message: a quoted value may be a whole file."""
_MIN_SHARE = 400  # characters that each of many problems may have
HIDDEN = "***"
"""The replacement for a password."""
_UNSPACED = re.compile(r"""[^\s"']+""")
_LOGIN = re.compile(r"(?<=[a-zA-Z0-9+.-])(:/{1,2}[^/:@]*:)(?!\d+/).+@", re.DOTALL)


def printable(text: str) -> str:
    r"""Return a text with its control characters as escapes, because a terminal obeys them.

    >>> printable("a\x1b[2Jb\n\tc")
    'a\\x1b[2Jb\n\tc'
    """
    return "".join(
        repr(c)[1:-1] if unicodedata.category(c) == "Cc" and c not in "\n\t" else c for c in text
    )


def shorten(text: str, most: int) -> str:
    """Return a text with a limited number of characters; its middle is left out.

    >>> shorten("a" * 50 + "b" * 50, 12)
    'aaaaaaa … bb'
    """
    if len(text) <= most:
        return text
    tail = most // 4 - 1
    return f"{text[: most - tail - 3]} … {text[len(text) - tail :]}"


def without_passwords(text: str) -> str:
    """Return a text with the password of each URL in it hidden.

    >>> without_passwords("was x://me:secret@old/db, see http://host:80/a@b")
    'was x://me:***@old/db, see http://host:80/a@b'

    The path of a URL that was taken for a file's has one slash:

    >>> without_passwords("x:/me:secret@old/db")
    'x:/me:***@old/db'
    """
    if ":/" not in text or "@" not in text:
        return text
    return _UNSPACED.sub(lambda word: _without_password(word[0]), text)


def _without_password(word: str) -> str:
    """Hide the password in a text without spaces, in linear time."""
    login, at, rest = word.rpartition("@")
    return _LOGIN.sub(rf"\1{HIDDEN}@", login + at, count=1) + rest


@dataclass(frozen=True, slots=True)
class Problem:
    """One problem of an input."""

    where: str
    """The key in the file, such as ``"space.acceleration.integer"``, or ``""`` for the whole
    file."""
    message: str
    """The value and the reason why it is wrong."""
    remedy: str = ""
    """The allowed values with their unit, or the nearest name."""

    def inside(self, place: str) -> Problem:
        """Return the same problem with this place before its own.

        >>> str(Problem("row.area", "has no source").inside("made.toml"))
        'made.toml: row.area: has no source'
        """
        return replace(self, where=f"{place}: {self.where}" if self.where else place)

    def __str__(self) -> str:
        return self.text(LONGEST_MESSAGE)

    def text(self, most: int) -> str:
        """Return the problem in a limited number of characters."""
        where, message, remedy = self.where, self.message, self.remedy
        if len(where) + len(message) + len(remedy) > most:
            where, remedy = shorten(where, most // 4), shorten(remedy, most // 4)
            message = shorten(message, most // 2)
        line = f"{where}: {message}" if where else message
        return "\n    ".join([line, remedy] if remedy else [line])


class DseError(Exception):
    """Base of every error that a user can fix; its text is written for people."""

    exit_code = 2
    """The exit code of a command that ends with the error: 2 for input, 1 for a model."""


class InputError(DseError):
    """An unusable study, catalog, profile or run, with all its problems; equal ones count once.

    `source` is the file or folder, and `problems` has at least one `Problem`.
    """

    def __init__(self, source: str, problems: Iterable[Problem]) -> None:
        self.source = source
        self.problems = tuple(dict.fromkeys(problems))
        super().__init__(self._text())

    def __reduce__(self) -> tuple[type[InputError], tuple[str, tuple[Problem, ...]]]:
        return type(self), (self.source, self.problems)  # pickle needs it between processes

    def _text(self) -> str:
        count = len(self.problems)
        lines = [f"{shorten(self.source, _MIN_SHARE)}: {count} problem{'s' if count != 1 else ''}"]
        texts = [str(problem) for problem in self.problems[:_MAX_LISTED]]
        if sum(map(len, texts)) > LONGEST_MESSAGE:
            most = max(_MIN_SHARE, LONGEST_MESSAGE // len(texts))
            texts = [problem.text(most) for problem in self.problems[:_MAX_LISTED]]
        lines += [f"  {text}".replace("\n", "\n  ") for text in texts]
        if count > _MAX_LISTED:
            lines.append(f"  … and {count - _MAX_LISTED} more")
        return "\n".join(lines)


def as_path(given: str | os.PathLike[str], what: str) -> Path:
    """Return a path that a script gives; `what` is expected, such as ``"a study file"``.

    Raises
    ------
    InputError
        If it is neither a text nor a path.
    """
    if isinstance(given, str | os.PathLike):
        return Path(given)
    message = f"{repr(given)[:_MAX_QUOTED]} is not a path"
    raise InputError(what, [Problem("", message, f"give the path of {what}, as a text or a Path")])


def check_regular(path: Path, most: int) -> None:
    """Refuse a file that never ends, blocks for ever or has more than so many bytes.

    The files of a folder are checked. The reader reports a missing file.

    Raises
    ------
    InputError
        If it is a device, a pipe or a socket, or larger.
    """
    inside = sorted(path.iterdir()) if path.is_dir() else [path]
    problems = []
    for each in inside:
        where = str(each.relative_to(path)) if each != path else ""
        if each.exists() and not (each.is_file() or each.is_dir()):
            problems.append(Problem(where, "is not a regular file", "give a file or a folder"))
        elif each.is_file() and (size := each.stat().st_size) > most:
            message = f"is {size:,} bytes long, more than {most:,}"
            problems.append(Problem(where, message, "give a smaller file"))
    if problems:
        raise InputError(str(path), problems)


class InfeasibleError(InputError):
    """A study without a feasible design."""


def closest(name: str, known: Iterable[str], likeness: float = _NAME_LIKENESS) -> str | None:
    """Return the nearest known name; None if none is near.

    The words that differ must be similar as well. A known name is also near if it is the only one
    with all words of the name, or the only one with the same beginning. The likeness is the minimum
    similarity from 0 to 1: a slip of the pen leaves 0.8 and more.

    >>> closest("multiplycost", ["multiply_cost"]), closest("add_cost", ["divide_cost"])
    ('multiply_cost', None)
    >>> closest("cores", ["cores_per_engine", "core_time"]), closest("max", ["maximize", "at"])
    ('cores_per_engine', 'maximize')
    """
    if len(name) > _LONGEST_NAME:
        return None
    names = sorted(set(known))
    same = [each for each in names if each.casefold() == name.casefold()]  # only capitals differ
    like = difflib.get_close_matches(name, names, max(len(names), 1), likeness)
    found = same or [each for each in like if _akin(name, each)]
    if not found and likeness <= _NAME_LIKENESS:
        more = [each for each in names if not _words(name, each)[0]]
        more = more or [each for each in names if len(name) > 2 and each.startswith(name)]
        found = more if len(more) == 1 else []
    return next(iter(found), None)


def _words(one: str, other: str) -> tuple[list[str], list[str]]:
    """Return the words of each name that the other name lacks."""
    mine, theirs = one.split("_"), other.split("_")
    return [w for w in mine if w not in theirs], [w for w in theirs if w not in mine]


def _akin(one: str, other: str) -> bool:
    """Return whether the words that only one of two names has are similar as a whole."""
    mine, theirs = ("".join(words) for words in _words(one, other))
    alike = difflib.SequenceMatcher(None, mine, theirs).ratio() >= _WORD_LIKENESS
    return alike or not mine or not theirs


def nearest(name: str, known: Iterable[str]) -> str:
    """Return a sentence with the nearest known name, or with the known names if none is near.

    >>> nearest("granularty", ["granularity", "overhead"])
    "did you mean 'granularity'?"
    """
    names = sorted(set(known))
    if (near := closest(name, names)) is not None:
        return f"did you mean '{near}'?"
    if not names:
        return ""
    more = f" and {len(names) - _MAX_NAMES} more" if len(names) > _MAX_NAMES else ""
    if more:  # the names that share most words
        names = sorted(names, key=lambda each: (len(_words(name, each)[0]), each))
    return f"known: {', '.join(names[:_MAX_NAMES])}{more}"
