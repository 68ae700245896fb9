"""What is wrong with an input: every problem at once, each with its place and its remedy."""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Problem:
    """One thing that is wrong.

    Parameters
    ----------
    where : str
        The key in the file, such as ``"space.acceleration.integer"``, or ``""`` for the whole file.
    message : str
        What was given and why it cannot be.
    remedy : str
        What is allowed, with its unit, or the nearest name.
    """

    where: str
    message: str
    remedy: str = ""


class DseError(Exception):
    """Base of every error that a user can mend; its text is meant to be read."""


class InputError(DseError):
    """A study, catalog, profile or run that cannot be used, with all its problems.

    Parameters
    ----------
    source : str
        The file or folder.
    problems : iterable of Problem
        At least one.
    """

    def __init__(self, source: str, problems: Iterable[Problem]) -> None:
        self.source = source
        self.problems = tuple(dict.fromkeys(problems))
        super().__init__(self._text())

    def __reduce__(self) -> tuple[type[InputError], tuple[str, tuple[Problem, ...]]]:
        return type(self), (self.source, self.problems)  # so that it crosses between processes

    def _text(self) -> str:
        count = len(self.problems)
        lines = [f"{self.source}: {count} problem{'s' if count != 1 else ''}"]
        for problem in self.problems:
            lines.append(f"  {problem.where + ': ' if problem.where else ''}{problem.message}")
            if problem.remedy:
                lines.append(f"      {problem.remedy}")
        return "\n".join(lines)


def nearest(name: str, known: Iterable[str]) -> str:
    """Return a sentence with the nearest known name, or with all of them where they are few.

    >>> nearest("granularty", ["granularity", "overhead"])
    "did you mean 'granularity'?"
    """
    names: Sequence[str] = sorted(set(known))
    close = difflib.get_close_matches(name, names, n=1, cutoff=0.6)
    if close:
        return f"did you mean '{close[0]}'?"
    if not names:
        return ""
    shown = ", ".join(names[:12])
    return f"known: {shown}" + (f" and {len(names) - 12} more" if len(names) > 12 else "")
