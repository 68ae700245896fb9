"""A program that the compiler linked: its modules, and how it is linked without their code."""

from __future__ import annotations

import hashlib
import os
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from dse.profile.build import elf
from dse.profile.compiler.arguments import read_command
from dse.profile.compiler.records import SECTION, Record, unpack_records
from dse.profile.errors import source_error

_LARGEST = 1 << 24  # bytes of a file that is copied into the program


@dataclass(frozen=True, slots=True)
class Linked:
    """The parts of a linked file.

    Parameters
    ----------
    modules : tuple of Record
        With IR, in the order of the link.
    directory : str
        Where the link ran; its arguments are relative to it.
    arguments : tuple of str
        Of the link: options, libraries and files without IR.
    cxx : bool
        Whether it was linked as C++.
    native : tuple of str
        Files that run without instrumentation, each with the reason.
    objects : tuple of bytes
        Object files without IR that were nowhere else.
    absent : mapping of str to bytes
        The files in `arguments` that no longer exist, by argument.
    """

    modules: tuple[Record, ...]
    directory: str
    arguments: tuple[str, ...]
    cxx: bool
    native: tuple[str, ...]
    objects: tuple[bytes, ...] = ()
    absent: Mapping[str, bytes] = field(default_factory=dict)

    @property
    def sources(self) -> tuple[Path, ...]:
        """The sources of the modules."""
        return tuple(Path(each.about["source"]) for each in self.modules)

    @property
    def digest(self) -> str:
        """A digest over all modules and their flags."""
        whole = hashlib.sha256()
        for each in self.modules:
            whole.update(repr(each.about["flags"]).encode() + each.data)
        return whole.hexdigest()


@dataclass(slots=True)
class _Inputs:
    """The inputs of a link, sorted."""

    kept: list[str] = field(default_factory=list)
    native: list[str] = field(default_factory=list)
    libraries: list[str] = field(default_factory=list)
    objects: list[Record] = field(default_factory=list)


def link_record(line: Sequence[str], made: Mapping[str, Path], cxx: bool) -> list[Record]:
    """Return the records of a file's link.

    Parameters
    ----------
    line : sequence of str
        The arguments of the link.
    made : mapping of str to Path
        Its temporary objects.
    """
    command = read_command(line)
    places = {each.position for each in command.inputs}
    folders = [Path(each) for each in _values(line, "-L")]
    found = _Inputs()
    arguments, rest = [], iter(enumerate(line))
    for at, each in rest:
        if at in places:
            if _keeps(Path(each), found, each in made):
                arguments.append(each)
                found.objects += _copies(each, Path(each))
        elif each == "-l" or (each.startswith("-l") and len(each) > 2):
            name = next(rest, (0, ""))[1] if each == "-l" else each[2:]
            file = _library(name, folders)
            if file is None or _keeps(file, found, False):
                arguments.append(f"-l{name}")
                found.objects += _copies(f"-l{name}", file) if file else ()
        else:
            arguments.append(each)
    about = {
        "directory": str(Path.cwd()),
        "arguments": arguments,
        "cxx": cxx,
        "native": found.native,
        "libraries": found.libraries,
    }
    return [*found.objects, Record("link", about)]


def _copies(argument: str, path: Path) -> Iterator[Record]:
    """Yield the record of a file of the project, for a link after its build folder is removed."""
    place = path.resolve()
    if not place.is_file() or place.is_relative_to("/usr") or place.is_relative_to("/lib"):
        return
    data = place.read_bytes()
    if len(data) <= _LARGEST and elf.file_kind(data) != elf.SHARED:
        yield Record("file", {"argument": argument, "path": str(place)}, data)


def _values(line: Sequence[str], option: str) -> Iterator[str]:
    for at, each in enumerate(line):
        if each == option and at + 1 < len(line):
            yield line[at + 1]
        elif each.startswith(option) and len(each) > len(option):
            yield each[len(option) :]


def _library(name: str, folders: Sequence[Path]) -> Path | None:
    """Return the library of the project that ``-lNAME`` means; None for one of the system."""
    names = [name[1:]] if name.startswith(":") else [f"lib{name}.so", f"lib{name}.a"]
    return next((f / n for f in folders for n in names if (f / n).is_file()), None)


def _keeps(path: Path, found: _Inputs, temporary: bool) -> bool:
    """Sort one input; return whether the instrumented program is linked with it unchanged."""
    if not path.is_file():
        return True
    data = path.read_bytes()
    if elf.is_archive(data):
        absent = []
        for name, content in elf.list_members(path, data):
            records = list(unpack_records(elf.read_section(content, SECTION)))
            if not _instrumented(records):
                absent.append(_name_native(f"{path.name}({name})", records))
        found.native += absent
        return bool(absent)
    records = list(unpack_records(elf.read_section(data, SECTION)))
    if elf.file_kind(data) == elf.SHARED:
        ours = any(each.kind == "link" for each in records)
        (found.libraries if ours else found.native).append(
            str(path.resolve()) if ours else f"{path.name} (a shared library)"
        )
        return not ours
    if not elf.file_kind(data):
        return True  # such as a script of the linker
    if _instrumented(records):
        return False
    found.native.append(_name_native(path.name, records))
    if temporary:
        found.objects.append(Record("object", {}, data))
    return not temporary


def _instrumented(records: Sequence[Record]) -> bool:
    return bool(records) and all(each.kind == "module" for each in records)


def _name_native(name: str, records: Sequence[Record]) -> str:
    reasons = [each for each in records if each.kind == "native"]
    if not reasons:
        return f"{name} (not built by dse profile cc)"
    return f"{Path(reasons[0].about['source']).name} ({reasons[0].about['why']})"


def is_program(path: Path) -> bool:
    """Return whether a file is a linked program or library in ELF."""
    if not path.is_file() or path.stat().st_size < 64:
        return False
    with path.open("rb") as file:
        return elf.file_kind(file.read(64)) in (elf.EXECUTABLE, elf.SHARED)


def read_program(path: Path) -> Linked:
    """Read what a program was made of, with the project's shared libraries.

    Raises
    ------
    InputError
        If the program was not linked by this compiler, or nothing of it has IR.
    """
    return _read(path, set())


def _read(path: Path, seen: set[str]) -> Linked:
    seen.add(str(path.resolve()))
    records = list(unpack_records(elf.read_section(path.read_bytes(), SECTION)))
    link = next((each for each in reversed(records) if each.kind == "link"), None)
    if link is None:
        message = "it was not linked by dse profile cc"
        raise source_error(str(path), message, 'build it again, such as: make CC="dse profile cc"')
    about: Mapping[str, Any] = link.about
    modules = [each for each in records if each.kind == "module"]
    objects = [each.data for each in records if each.kind == "object"]
    absent = {
        each.about["argument"]: each.data
        for each in records
        if each.kind == "file" and not Path(each.about["path"]).is_file()
    }
    native, arguments = list(about["native"]), list(about["arguments"])
    for name in about["libraries"]:
        if name in seen:
            continue
        library = _moved(Path(name), path)
        if library is None:
            message = f"its library {name} no longer exists"
            raise source_error(str(path), message, f"put {Path(name).name} next to the program")
        seen.add(name)
        part = _read(library, seen)
        modules += part.modules
        objects += part.objects
        native += part.native
        arguments += _of_library(part)
        absent |= {os.path.join(part.directory, each): part.absent[each] for each in part.absent}
    if not modules:
        raise source_error(str(path), "nothing of it was compiled from C or C++ by dse profile cc")
    for each in read_command(arguments).inputs:
        if each.path not in absent and not (Path(about["directory"]) / each.path).is_file():
            message = f"{each.path}, which it is linked with, is not there any more"
            raise source_error(str(path), message, "build it again")
    cxx = about["cxx"] or any(each.about["cxx"] for each in modules)
    unique = {(each.about["source"], each.data): each for each in modules}
    return Linked(
        tuple(unique.values()),
        about["directory"],
        tuple(_with_existing_scripts(arguments, Path(about["directory"]))),
        cxx,
        tuple(dict.fromkeys(native)),
        tuple(objects),
        absent,
    )


def _moved(library: Path, program: Path) -> Path | None:
    """Return where a library of the project is now: in its place, or installed with the program."""
    folders = (library.parent, program.parent, program.resolve().parent.parent / "lib")
    return next((f / library.name for f in folders if (f / library.name).is_file()), None)


_SCRIPT = re.compile(r"-Wl,--(?:version-script|dynamic-list|retain-symbols-file)[=,]([^,]+)")


def _with_existing_scripts(arguments: Sequence[str], directory: Path) -> Iterator[str]:
    """Yield the arguments, and leave out a missing script of the linker."""
    for each in arguments:
        script = _SCRIPT.fullmatch(each)
        if not script or (directory / script[1]).is_file():
            yield each


def _of_library(part: Linked) -> Iterator[str]:
    """Yield what a library is linked with, for the program that takes its code in."""
    for each in read_command(part.arguments).inputs:
        yield os.path.join(part.directory, each.path)
    for folder in _values(part.arguments, "-L"):
        yield "-L" + os.path.join(part.directory, folder)
    for name in _values(part.arguments, "-l"):
        yield f"-l{name}"
