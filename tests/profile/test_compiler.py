"""``dse profile cc``: programs that their own makefiles build, profiled as they are linked."""

from __future__ import annotations

import contextlib
import io
import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import NamedTuple
from unittest import mock

import pytest

from dse.problems import InputError
from dse.profile.build import elf
from dse.profile.build.toolchain import find_toolchain
from dse.profile.command import InstrumentedProgram, ProfileOptions, build_program
from dse.profile.compiler.driver import main
from dse.profile.compiler.program import read_program
from dse.profile.compiler.records import SECTION, unpack_records
from dse.profile.document import Profile
from tests.needs import needs
from tests.profile.examples import calls, needs_compiler, run_built, source

ROOT = Path(__file__).parents[2]
pytestmark = needs_compiler

MAIN = r"""
#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include "parts.h"
int main(int count, char **arguments) {
    long sum = 0;
    for (int i = 0; i < atoi(arguments[1]); i++)
        sum += twice(i) + VALUE;
#ifdef NDEBUG
    puts("NDEBUG");
#endif
    printf("%ld %d\n", sum, from_assembly());
    return count != 2;
}
"""
HEADER = "int twice(int), from_assembly(void), unused(void);\n"
TWICE = '#include "parts.h"\nint twice(int n) { return VALUE == 1 ? 2 * n : -1; }\n'
UNUSED = '#include "parts.h"\nint unused(void) { return 1; }\n'
ASSEMBLY = """
.globl from_assembly
from_assembly:
    mov $42, %eax
    ret
.section .note.GNU-stack,"",@progbits
"""
# the makefile's own words: an archive, implicit rules, flags of one file, dependencies
MAKEFILE = """
CFLAGS = -O2 -MMD -Wall
program: main.o low.o libparts.a
\t$(CC) $(CFLAGS) -o $@ main.o low.o -L. -lparts -Wl,-Map=program.map
libparts.a: twice.o unused.o
\tar rc $@ $^
main.o: CFLAGS += -DVALUE=3
twice.o unused.o: CFLAGS = -O1 -DVALUE=1
"""
CMAKE = """
cmake_minimum_required(VERSION 3.10)
project(parts C)
include(CheckFunctionExists)
check_function_exists(no_such_function HAS_NONE)
if(HAS_NONE)
  message(FATAL_ERROR "the checks are wrong")
endif()
add_library(shared SHARED twice.c unused.c)
target_compile_definitions(shared PRIVATE VALUE=1)
add_executable(program main.c plain.c)
target_compile_definitions(program PRIVATE VALUE=3)
target_link_libraries(program shared)
"""
SUM = sum(2 * i + 3 for i in range(100))


def project(folder: Path) -> Path:
    for name, text in {
        "main.c": MAIN,
        "parts.h": HEADER,
        "twice.c": TWICE,
        "unused.c": UNUSED,
        "low.s": ASSEMBLY,
        "plain.c": "int from_assembly(void) { return 42; }",
        "Makefile": MAKEFILE,
        "CMakeLists.txt": CMAKE,
    }.items():
        (folder / name).write_text(text)
    return folder


def run(*line: str, folder: Path) -> subprocess.CompletedProcess[str]:
    environ = {**os.environ, "PYTHONPATH": str(ROOT)}
    return subprocess.run(line, cwd=folder, env=environ, capture_output=True, text=True)


class Compiled(NamedTuple):
    """What a compiler left: its exit status, and what it and its own processes wrote."""

    returncode: int
    stdout: str
    stderr: str


def compiler(*words: str, folder: Path, given: str = "", name: str = "cc") -> Compiled:
    """Run the compiler in this process: to start another would take longer than its work."""
    stdin = io.TextIOWrapper(io.BytesIO(given.encode()))
    with (
        contextlib.chdir(folder),
        tempfile.TemporaryFile("w+") as out,
        tempfile.TemporaryFile("w+") as err,
        mock.patch.multiple(sys, stdin=stdin, stdout=out, stderr=err),
    ):
        kept = os.dup(1), os.dup(2)
        os.dup2(out.fileno(), 1)
        os.dup2(err.fileno(), 2)
        try:
            status = main(name == "c++", words)
        finally:
            for number, copy in zip((1, 2), kept, strict=True):
                os.dup2(copy, number)
                os.close(copy)
        said = []
        for file in (out, err):
            file.seek(0, os.SEEK_SET)
            said.append(file.read())
    return Compiled(status, *said)


@pytest.fixture(autouse=True)
def cache_of_its_own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Keep no program of the tests in the user's cache; the compiler's own stays where it is."""
    monkeypatch.setenv("ZIG_GLOBAL_CACHE_DIR", str(Path.home() / ".cache" / "zig"))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))


def profiled(
    program: Path, folder: Path, *arguments: str
) -> tuple[Profile, bytes, InstrumentedProgram]:
    folder.mkdir()
    built = build_program(ProfileOptions((program,), arguments), folder)
    return *run_built(built, arguments, b""), built


def test_a_makefile_builds_once_and_runs_are_many(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (make,) = needs("make")
    project(tmp_path)
    done = run(make, "-j2", f"CC={sys.executable} -m dse profile cc", "program", folder=tmp_path)
    assert done.returncode == 0, done.stderr
    assert "parts.h" in (tmp_path / "main.d").read_text()
    native = run("./program", "100", folder=tmp_path)
    assert native.stdout == f"{SUM} 42\n"
    profile, output, built = profiled(tmp_path / "program", tmp_path / "built", "100")
    assert output.decode() == native.stdout
    # of the archive what is linked; each file's flags are its own
    assert calls(profile) == {"main": 1, "twice": 100}
    assert profile.program.sources == ("main.c", "twice.c")
    assert "files were compiled at different levels: 1 at -O1, 1 at -O2" in profile.notes
    assert "not instrumented: low.o (not built by dse profile cc)" in profile.notes  # by as
    assert {line.file for line in profile.lines} == {"main.c", "twice.c"}
    again, _ = run_built(built, ("7",), b"")
    assert calls(again) == {"main": 1, "twice": 7}
    # another profile takes the object that is kept, with other options too
    assert len(list((tmp_path / "cache" / "dse" / "profile").iterdir())) == 1
    (tmp_path / "third").mkdir()
    options = ProfileOptions((tmp_path / "program",), ("8",), caches=(), transfers=False)
    monkeypatch.setattr("dse.profile.build.kept.build_object", None)
    third, _ = run_built(build_program(options, tmp_path / "third"), ("8",), b"")
    assert calls(third) == {"main": 1, "twice": 8}


def test_cmake_builds_with_its_checks_and_a_shared_library(tmp_path: Path) -> None:
    cmake, _ = needs("cmake", "make")
    project(tmp_path)
    path = tmp_path / "dse-cc"  # as the installed one, of these sources
    path.write_text(f'#!/bin/sh\nexec {sys.executable} -m dse.profile.compiler cc "$@"\n')
    path.chmod(0o755)
    flags = [f"-DCMAKE_C_COMPILER={path}", f"-DCMAKE_ASM_COMPILER={path}"]
    flags += ["-DCMAKE_EXPORT_COMPILE_COMMANDS=ON"]
    done = run(cmake, "-S", ".", "-B", "out", *flags, folder=tmp_path)
    assert done.returncode == 0, done.stderr
    assert "Clang" in done.stdout
    done = run(cmake, "--build", "out", "-j2", folder=tmp_path)
    assert done.returncode == 0, done.stderr
    profile, output, _ = profiled(tmp_path / "out" / "program", tmp_path / "built", "100")
    assert output.decode() == f"{SUM} 42\n"
    assert calls(profile)["twice"] == 100
    assert "unused" in calls(profile)  # the library is a part of the program
    check_mixed_sources(tmp_path)


def check_mixed_sources(folder: Path) -> None:
    """Objects, archives and assembly run as they are, next to sources and their flags."""
    cc, _ = needs("cc", "ar")
    assert run(cc, "-c", "-DVALUE=1", "twice.c", folder=folder).returncode == 0
    assert run("ar", "rc", "libtwice.a", "twice.o", folder=folder).returncode == 0
    sources = ("out/compile_commands.json", "main.c", "low.s", "libtwice.a")
    (folder / "mixed").mkdir()
    options = ProfileOptions(tuple(folder / name for name in sources))
    profile, output = run_built(build_program(options, folder / "mixed"), ("10",), b"")
    assert output.decode() == f"{sum(2 * i + 3 for i in range(10))} 42\n"
    assert calls(profile) == {"main": 1}
    told = [note for note in profile.notes if note.startswith("not instrumented: ")]
    assert [note.split(": ")[1] for note in told] == [
        "low.s (assembly)",
        "libtwice.a(twice.o) (not built by dse profile cc)",
    ]
    assert {f.name: f.invocations for f in profile.functions if f.foreign}["twice"] == 10


def test_what_asks_for_no_object_is_the_compilers(tmp_path: Path) -> None:
    source(tmp_path, "#define A 17\nint a = A;\n", "a.c")
    assert "int a = 17;" in compiler("-E", "a.c", folder=tmp_path).stdout
    assert "clang" in compiler("--version", folder=tmp_path).stdout
    assert compiler("-c", "a.c", "-Da=(", folder=tmp_path).returncode != 0
    wrong = compiler("-c", "b.c", folder=tmp_path)
    assert wrong.returncode != 0
    assert "b.c" in wrong.stderr
    (tmp_path / "args").write_text("-c -o named.o a.c")
    assert compiler("@args", folder=tmp_path).returncode == 0
    [record] = unpack_records(elf.read_section((tmp_path / "named.o").read_bytes(), SECTION))
    assert record.kind == "module"
    assert record.data.startswith(b"BC")


def test_a_source_from_standard_input_is_compiled_and_linked_in_one_step(tmp_path: Path) -> None:
    text = "int f(int *n) { return *n; } int main(int n, char **v) { return f(&n) - 1; }"
    done = compiler("-x", "c", "-", "-o", "p", folder=tmp_path, given=text)
    assert done.returncode == 0, done.stderr
    assert subprocess.run([str(tmp_path / "p")]).returncode == 0
    profile, _, _ = profiled(tmp_path / "p", tmp_path / "built")
    assert calls(profile) == {"f": 1, "main": 1}


def test_cxx_is_linked_as_cxx(tmp_path: Path) -> None:
    text = """
    #include <initializer_list>
    int main() {
        std::initializer_list<int> given = {1, 2};
        int *size = new int(given.size());  /* of the library of C++ */
        return *size - 2;
    }"""
    source(tmp_path, text, "a.cpp")
    # with the flags of other tests, for which the C++ library is compiled already
    flags = ["-O1", "-fno-sanitize=all", *find_toolchain().baseline]
    assert compiler(*flags, "a.cpp", "-o", "a", folder=tmp_path, name="c++").returncode == 0
    profile, _, _ = profiled(tmp_path / "a", tmp_path / "built")
    assert calls(profile)["std::initializer_list<int>::size() const"] == 1


def test_a_program_of_another_compiler_is_reported_how_to_be_built(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="was not linked by dse profile cc"):
        build_program(ProfileOptions((Path(sys.executable).resolve(),)), tmp_path)
    source(tmp_path, "int main(void) { return 0; }", "a.c")
    assert compiler("a.c", "-o", "a", folder=tmp_path).returncode == 0
    assert len(read_program(tmp_path / "a").modules) == 1
    with pytest.raises(InputError, match="flags cannot change"):
        build_program(ProfileOptions((tmp_path / "a",), flags=("-DX",)), tmp_path)
    (tmp_path / "compile_commands.json").write_text(json.dumps([{"file": "a.c"}]))
    with pytest.raises(InputError, match="is not a compilation database"):
        build_program(ProfileOptions((tmp_path / "compile_commands.json",)), tmp_path)


CALLS = r"""
#include <assert.h>
#include <stdio.h>
static int small(int n) { return 3 * n + 1; }
__attribute__((always_inline)) static inline int always(int n) { return n + 7; }
int main(int count, char **arguments) {
    assert(puts("checked") > 0);
    int sum = 0;
    for (int i = 0; i < 10; i++)
        sum += small(i) + always(i);
    return sum == 0;
}
"""


@pytest.mark.parametrize(
    ("level", "flag", "expected", "said"),
    [
        (0, "", {"small": 10, "main": 1}, b"checked\n"),
        (3, "-DNDEBUG", {"small": 10, "main": 1}, b""),
        (3, "-finline-functions", {"main": 1}, b"checked\n"),
    ],
)
def test_no_level_inlines_or_drops_assertions_unless_asked(
    level: int, flag: str, expected: dict[str, int], said: bytes, tmp_path: Path
) -> None:
    path, flags = source(tmp_path, CALLS), (flag,) if flag else ()
    settings = ProfileOptions((path,), optimisation=level, flags=flags)
    profile, output = run_built(build_program(settings, tmp_path), (), b"")
    found = calls(profile)
    always = found.pop("always", 0)
    assert (found, output, always) == (expected, said, 0)


INLINE = """
inline int twice(int x) { return 2 * x; }
extern inline __attribute__((gnu_inline)) int thrice(int x) { return 3 * x; }
int other(int x);
"""


@pytest.mark.parametrize("defined", [False, True])
def test_what_the_compiler_of_the_program_inlines_needs_no_definition(
    defined: bool, tmp_path: Path
) -> None:
    (tmp_path / "inline.h").write_text(INLINE)
    whole = "extern int twice(int);" if defined else ""
    main = '#include "inline.h"\nint main(int n, char **v) { int (*f)(int) = thrice; (void)v;'
    main += " return f ? twice(n) + thrice(n) + other(n) - 9 : 1; }"
    if not defined:
        main = main.replace("= thrice", "= other")
    third = "\nint thrice(int x) { return 3 * x; }" if defined else ""
    texts = {
        "main": main,
        "other": f'#include "inline.h"\n{whole}\nint other(int n) {{ return 2 * twice(n); }}',
        "third": "int third;" + third,
    }
    files = [source(tmp_path, text, f"{name}.c") for name, text in texts.items()]
    ways = [tuple(files)]
    if not defined:  # the compiler of programs has to keep the bodies, too
        done = compiler("-O2", *map(str, files), "-o", "program", folder=tmp_path)
        assert done.returncode == 0, done.stderr
        ways.append((tmp_path / "program",))
    for sources in ways:
        built = build_program(ProfileOptions(sources), tmp_path)
        profile, _ = run_built(built, (), b"")
        assert profile.run.exit_status == 0
        assert calls(profile) == {"main": 1, "twice": 2, "thrice": 1, "other": 1}
