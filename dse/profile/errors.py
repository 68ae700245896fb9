"""What stops a profile, in words for its reader."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from dse.problems import InputError, Problem


def source_error(source: str, message: str, remedy: str = "", where: str = "") -> InputError:
    """Return the error of one problem with `source`.

    >>> print(source_error("a.c", "no such file", "give a C or C++ source"))
    a.c: 1 problem
      no such file
          give a C or C++ source
    """
    return InputError(source, [Problem(where, message, remedy)])


def describe_missing_source(source: Path, sources: Sequence[Path]) -> Problem:
    """Return the problem of one of several sources that is not there."""
    remedy = "arguments of the program come after --" if source != sources[0] else ""
    return Problem(str(source), "no such file", remedy)


class NotMeasuredError(Exception):
    """The reason why a further run of a program gave no result."""
