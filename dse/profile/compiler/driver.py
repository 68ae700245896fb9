"""The compiler itself: it compiles and links as clang does, and adds LLVM IR to each object.

It first runs the real compiler with the given flags: make sees the compiler's output, exit status
and files. If the compiler made an object from C or C++, the driver compiles the same source to LLVM
IR for profiles and adds it as a section of the object.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from dse.boundary import end_with
from dse.profile.build import elf
from dse.profile.build.cxx_library import link_cxx
from dse.profile.build.frontend import (
    find_processor_support,
    flags_keeping_blocks,
    flags_keeping_inline_bodies,
    flags_keeping_library_calls,
    run_linker,
)
from dse.profile.build.toolchain import find_compilers
from dse.profile.compiler.arguments import (
    ASSEMBLY,
    C_LANGUAGES,
    CXX_LANGUAGES,
    Command,
    Input,
    link_arguments,
    read_command,
)
from dse.profile.compiler.program import link_record
from dse.profile.compiler.records import SECTION, Record, pack_record

_INSTRUMENTED = {*C_LANGUAGES.values(), *CXX_LANGUAGES.values()}
_IN_ASSEMBLY = set(ASSEMBLY.values())


@dataclass(frozen=True, slots=True)
class Driver:
    """A compiler for C, or for C++.

    Parameters
    ----------
    compiler : tuple of str
        The real one.
    baseline : tuple of str
        Its flags for code that runs on every machine of this kind.
    cxx : bool
    given : bytes or None
        The standard input, if a source is read from there.
    """

    compiler: tuple[str, ...]
    baseline: tuple[str, ...]
    cxx: bool
    given: bytes | None = None

    def run(self, arguments: Sequence[str]) -> int:
        """Do what a command line says and return the exit status."""
        command = read_command(arguments, self.cxx)
        if command.mode == "other":
            return self._call((*self.plain(command), *self._language(command)), command.arguments)
        if command.mode == "link":
            return self._link(command)
        alone = len(command.sources) == 1
        for source in command.sources:
            target = command.output if alone and command.output else _object_of(source.path)
            status = self.compile(command, source, Path(target))
            if status:
                return status
        return 0

    def plain(self, command: Command) -> tuple[str, ...]:
        """Return what stands before the given flags: NDEBUG and checks are for users to ask."""
        processor = () if command.chooses_processor else self.baseline
        return ("-UNDEBUG", "-fno-sanitize=all", "-Wno-unused-command-line-argument", *processor)

    def _language(self, command: Command) -> tuple[str, ...]:
        """Return the language of the standard input: zig knows no processor flag without it."""
        given = [each.path for each in command.inputs] == ["-"] and not command.sources
        return ("-x", "c++" if self.cxx else "c") if given else ()

    def compile(self, command: Command, source: Input, target: Path) -> int:
        """Compile one source to an object that holds its IR; return the exit status."""
        language = ("-x", source.language) if source.language else ()
        line = (*command.compiling(), *language, "-c", source.path, "-o", str(target))
        status = self._call(self.plain(command), line)
        if not status and target.is_file():
            record = self._record(command, source)
            _add(target, record)
        return status

    def _record(self, command: Command, source: Input) -> Record:
        name = str(Path(source.path).absolute()) if source.path != "-" else "(standard input)"
        about: dict[str, str | bool | list[str]] = {"source": name}
        if source.language in _IN_ASSEMBLY:
            return Record("native", {**about, "why": "assembly"})
        if source.language not in _INSTRUMENTED:
            return Record("native", {**about, "why": f"in {source.language}"})
        flags = command.for_ir()
        with tempfile.TemporaryDirectory(prefix="dse-cc-") as folder:
            target = Path(folder) / "ir.bc"
            line = [
                *self.compiler,
                "-O1",
                *self.plain(command),
                *flags,
                *flags_keeping_blocks(flags),
            ]
            if source.language == "c":
                line += flags_keeping_inline_bodies(self.compiler)
            line += [
                *flags_keeping_library_calls(),
                "-w",
                "-x",
                source.language,
                "-c",
                "-emit-llvm",
            ]
            line += [source.path, "-o", str(target)]
            done = subprocess.run(  # noqa: S603
                line, input=self.given, capture_output=True, check=False
            )
            if done.returncode or not target.is_file():
                said = done.stderr.decode("utf-8", "replace").strip().splitlines()
                why = next((each for each in said if "error" in each), "")
                return Record("native", {**about, "why": f"no IR could be made: {why}"})
            about |= {"cxx": "++" in source.language, "flags": list(flags)}
            return Record("module", about, target.read_bytes())

    def _link(self, command: Command) -> int:
        with tempfile.TemporaryDirectory(prefix="dse-cc-") as name:
            folder = Path(name)
            line = list(command.arguments)
            made: dict[str, Path] = {}
            for source in command.sources:
                target = folder / f"{source.position}.o"
                status = self.compile(command, source, target)
                if status:
                    return status
                line[source.position] = str(target)
                made[str(target)] = target
            line = list(link_arguments(line))
            output = ("-o", command.output or "a.out")
            before = ("-O1", "-fno-sanitize=all", *self.baseline)
            if command.partial:
                return self._call(before, (*line, *output))
            record = folder / "link.o"
            about = link_record(line, made, self.cxx)
            machine = elf.AARCH64 if os.uname().machine == "aarch64" else elf.X86_64
            sections = b"".join(pack_record(each) for each in about)
            record.write_bytes(elf.make_object(SECTION, sections, machine))
            if any("version-script" in each for each in line):
                line.append(
                    "-Wl,--undefined-version"
                )  # as GNU ld: a script may name what is absent
            inputs = [each.path for each in read_command(line).inputs]
            line += [str(record), *find_processor_support(self.compiler, inputs)]

            def link(compiler: Sequence[str], library: Sequence[str]) -> tuple[int, str]:
                return run_linker([*compiler, *before, *line, *output, *library])

            status, said = link_cxx(self.compiler, line, link)
            sys.stderr.write(said)
            return status

    def _call(self, before: Sequence[str], arguments: Sequence[str]) -> int:
        """Call the real compiler."""
        line = [*self.compiler, *before, *arguments]
        return subprocess.run(line, input=self.given, check=False).returncode  # noqa: S603


def _object_of(source: str) -> str:
    return f"{Path(source).stem}.o" if source != "-" else "-.o"


def _add(target: Path, record: Record) -> None:
    """Put a record into an object; one of another kind (for another machine) stays as it is."""
    try:
        made = elf.add_section(target.read_bytes(), SECTION, pack_record(record))
    except ValueError:
        return
    other = target.with_name(f"{target.name}.{os.getpid()}")
    other.write_bytes(made)
    os.replace(other, target)


def main(cxx: bool, arguments: Sequence[str]) -> int:
    """Compile and link as `arguments` say; return the exit status."""
    try:
        c, plus, baseline = find_compilers()
        given = sys.stdin.buffer.read() if "-" in arguments else None
        return Driver(plus if cxx else c, baseline, cxx, given).run(arguments)
    except (Exception, KeyboardInterrupt) as error:
        return end_with(error)


def cc() -> None:
    """``dse-cc``: ``dse profile cc`` as one program."""
    sys.exit(main(False, sys.argv[1:]))


def cxx() -> None:
    """``dse-c++``: ``dse profile c++`` as one program."""
    sys.exit(main(True, sys.argv[1:]))
