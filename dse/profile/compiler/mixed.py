"""Sources with objects, archives and assembly, or a compilation database: built as make would."""

from __future__ import annotations

import json
import shlex
import subprocess
import sys
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from dse.problems import InputError, Problem
from dse.profile.compiler.arguments import ASSEMBLY, CXX_LANGUAGES, LANGUAGES, read_command
from dse.profile.errors import describe_missing_source, source_error

DATABASE = "compile_commands.json"
LINKED = (".o", ".a", ".so", *ASSEMBLY)
_KNOWN = (*LANGUAGES, *LINKED, DATABASE)


@dataclass(frozen=True, slots=True)
class _Unit:
    """One file to compile: where, and with which arguments."""

    source: Path
    directory: Path
    arguments: tuple[str, ...]
    cxx: bool


def is_mixed(sources: Sequence[Path]) -> bool:
    """Return whether a build needs more than compiling sources.

    >>> is_mixed([Path("a.c")]), is_mixed([Path("a.c"), Path("b.S")])
    (False, True)
    """
    return any(each.suffix in LINKED or each.name == DATABASE for each in sources)


def build_mixed(
    sources: Sequence[Path], folder: Path, level: int, flags: Sequence[str], link: Sequence[str]
) -> Path:
    """Build a program in `folder` and return it.

    Parameters
    ----------
    sources : sequence of Path
        C, C++, assembly, objects, archives, shared libraries; a compilation database, with the
        sources to use from it, or none for all.
    level : int
    flags, link : sequence of str
        For the compiler and for the linker; the flags of a database come first.

    Raises
    ------
    InputError
        With all files that are missing, unknown or refused.
    """
    problems = [
        describe_missing_source(each, sources)
        if not each.is_file()
        else Problem(str(each), "is not a file that is compiled or linked", ", ".join(_KNOWN))
        for each in sources
        if not each.is_file() or not (each.suffix in _KNOWN or each.name == DATABASE)
    ]
    if problems:
        raise InputError("profile", problems)
    compiled = [each for each in sources if each.suffix in (*LANGUAGES, *ASSEMBLY)]
    units = list(
        _units([s for s in sources if s.name == DATABASE], compiled, (f"-O{level}", *flags))
    )
    with ThreadPoolExecutor(4) as pool:
        made = list(
            pool.map(lambda at: _compiled(units[at], folder / f"{at}.o"), range(len(units)))
        )
    refused = [each for each in made if isinstance(each, Problem)]
    if refused:
        raise InputError("profile", refused)
    target = folder / (compiled[0].stem if compiled else "program")
    rest = [
        str(each.resolve()) for each in sources if each.suffix in LINKED and each not in compiled
    ]
    line = [*map(str, made), *rest, "-o", str(target), *link, "-lm"]
    said = _call(any(each.cxx for each in units), line, Path.cwd())
    if said is not None:
        several = "duplicate symbol: main" in said
        remedy = f"name the sources of one program after {DATABASE}" if several else ""
        raise source_error("profile", f"the program does not link:\n{said}", remedy)
    return target


def _units(
    databases: Sequence[Path], sources: Sequence[Path], flags: tuple[str, ...]
) -> Iterator[_Unit]:
    wanted = {each.resolve() for each in sources}
    seen: set[Path] = set()
    for database in databases:
        for unit in _entries(database, flags[1:]):
            if unit.source not in seen and (not wanted or unit.source in wanted):
                seen.add(unit.source)
                yield unit
    for each in sources:
        if each.resolve() not in seen:
            cxx = each.suffix in CXX_LANGUAGES
            yield _Unit(each.resolve(), Path.cwd(), (*flags, "-c", str(each)), cxx)


def _entries(database: Path, flags: tuple[str, ...]) -> Iterator[_Unit]:
    try:
        entries: Any = json.loads(database.read_text())
        for each in entries:
            line = each.get("arguments") or shlex.split(each["command"])
            directory = (database.parent / each["directory"]).resolve()
            command = read_command(line[1:])
            kept = (*command.without_inputs(), *flags)
            source = directory / each["file"]
            cxx = source.suffix in CXX_LANGUAGES or "++" in Path(line[0]).name
            arguments = (*_without_output(kept), str(source))
            yield _Unit(source.resolve(), directory, arguments, cxx)
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        message = f"is not a compilation database: {error!r}"
        raise source_error(
            str(database), message, "cmake writes one with CMAKE_EXPORT_COMPILE_COMMANDS"
        ) from None


def _without_output(arguments: Sequence[str]) -> Iterator[str]:
    rest = iter(arguments)
    for each in rest:
        if each in ("-o", "-MF", "-MT", "-MQ"):
            next(rest, None)
        elif each not in ("-MD", "-MMD"):
            yield each


def _compiled(unit: _Unit, target: Path) -> Path | Problem:
    said = _call(unit.cxx, [*unit.arguments, "-o", str(target)], unit.directory)
    return (
        target if said is None else Problem(str(unit.source), f"the compiler refused it:\n{said}")
    )


def _call(cxx: bool, arguments: Sequence[str], directory: Path) -> str | None:
    """Run the compiler; return what it says if it fails."""
    line = [sys.executable, "-m", "dse.profile.compiler", "c++" if cxx else "cc", *arguments]
    try:
        done = subprocess.run(  # noqa: S603
            line, capture_output=True, text=True, check=False, cwd=directory
        )
    except OSError as error:
        return f"{directory}: {error.strerror}"
    return (done.stderr.strip() or "no word") if done.returncode else None
