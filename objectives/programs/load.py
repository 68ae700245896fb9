"""Finding out what form a profile has, reading it, and all the profiles of a folder."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple, TypeAlias, TypeVar

from dse.problems import InputError, Problem
from dse.profile.document import Profile
from objectives.programs.callgrind import is_callgrind, read_callgrind
from objectives.programs.counts import Counts
from objectives.programs.tables import FUNCTIONS, read_tables

Program: TypeAlias = Profile | Counts
T = TypeVar("T")


class Form(NamedTuple):
    """A form in which a program's profile is written."""

    name: str
    claims: Callable[[Path, str], bool]
    """Whether a path is meant to be of this form, by the start of its text, empty for a folder."""
    read: Callable[[Path], Program]


FORMS = (
    Form("a folder with functions.csv and transfers.csv", lambda p, _: p.is_dir(), read_tables),
    Form(
        "a profile of `dse profile`",
        lambda p, start: start.lstrip().startswith("{") or p.suffix == ".json",
        Profile.load,
    ),
    Form("callgrind's output", lambda _, start: is_callgrind(start), read_callgrind),
)
"""Every form that is read; the first that claims a path reads it."""


def load_program(path: str | Path, convert: Callable[[Program, str], T]) -> T:
    """Read the profile of one program, a file or folder in one of `FORMS`.

    `convert` takes the content and the program's name and returns the input of a model; it raises
    InputError for a profile that lacks it. So does this function, with every problem found.
    """
    path = Path(path)
    start = ""
    if not path.is_dir():
        with path.open(encoding="utf-8", errors="replace") as file:
            start = file.read(4096)
    form = next((form for form in FORMS if form.claims(path, start)), None)
    if form is None:
        names = ", ".join(form.name for form in FORMS)
        problem = Problem("", "is not a program's profile", f"give one of: {names}")
        raise InputError(str(path), [problem])
    program = form.read(path)
    name = path.name.removesuffix(".json").removesuffix(".profile")
    try:
        return convert(program, program.program if isinstance(program, Counts) else name)
    except InputError as error:
        raise InputError(str(path), error.problems) from None


def load_programs(
    path: str | Path, convert: Callable[[Program, str], T], pattern: str = "*"
) -> tuple[T, ...]:
    """Read the profile of one program, or each in a folder in the order of their names.

    The profiles of a folder are the entries that match `pattern`; hidden ones never are. See
    :func:`load_program`; for a folder an InputError has all problems of all its files.
    """
    path = Path(path)
    if not path.is_dir() or (path / FUNCTIONS).exists():
        return (load_program(path, convert),)
    entries = sorted(entry for entry in path.glob(pattern) if not entry.name.startswith("."))
    programs: list[T] = []
    problems: list[Problem] = []
    for entry in entries:
        try:
            programs.append(load_program(entry, convert))
        except InputError as error:
            problems += [problem.inside(entry.name) for problem in error.problems]
    if not entries:
        message = "the folder is empty" if pattern == "*" else f"the folder holds no {pattern}"
        problems.append(Problem("", message, "write a profile with: dse profile SOURCE -o FILE"))
    if problems:
        raise InputError(str(path), problems)
    return tuple(programs)
