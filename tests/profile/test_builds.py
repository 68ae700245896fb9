"""Programs as real builds leave them: processor features, plug-ins, headers, a removed folder."""

from __future__ import annotations

import shutil
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import pytest

from dse.problems import InputError
from dse.profile.build.cxx_library import PARTS, link_cxx, list_sources
from dse.profile.build.frontend import run_linker
from dse.profile.build.kept import compile_kept
from dse.profile.build.toolchain import find_toolchain
from dse.profile.command import ProfileOptions, build_program
from dse.profile.run.names import function_names
from tests.needs import needs
from tests.profile.examples import calls, needs_compiler, run_built, source
from tests.profile.test_compiler import cache_of_its_own, compiler

__all__ = ["cache_of_its_own"]

MAIN = r"""
#include <dlfcn.h>
#include <stdio.h>
#include "parts/twice.h"
__attribute__((target_clones("avx2", "default"))) int sum(const int *a, int n) {
    int s = 0;
    for (int i = 0; i < n; i++)
        s += a[i];
    return s;
}
static int by_three(int n) { return 3 * n; }
static int thrice_plainly(int n) { return 3 * n; }
static int detected(void) { __builtin_cpu_init(); return __builtin_cpu_supports("sse4.2") != 0; }
static int (*resolve(void))(int) { return detected() ? by_three : thrice_plainly; }
int thrice(int) __attribute__((ifunc("resolve")));
int low(void);
int main(int count, char **arguments) {
    int a[10], (*plug)(int) = 0;
    for (int i = 0; i < 10; i++)
        a[i] = thrice(i) + twice(i);
    void *library = dlopen(arguments[1], RTLD_NOW);
    if (library)
        *(void **)&plug = dlsym(library, "plug");
    __builtin_cpu_init();
#define HAS(name) !!__builtin_cpu_supports(name)
    printf("%d %d %d", sum(a, 10), low(), plug ? plug(4) : -1);
    printf(" %d%d%d%d", HAS("popcnt"), HAS("avx"), HAS("avx2"), HAS("bmi2"));
    printf("%d%d%d\n", HAS("avx512f"), HAS("aes"), HAS("vaes"));
    return 0;
}
"""
HEADER = "static int twice(int n) {\n    int d = 2 * n;\n    return d;\n}\n"
LOW = '.globl low\nlow: mov $42, %eax\n ret\n.section .note.GNU-stack,"",@progbits\n'


@needs_compiler
def test_a_program_is_profiled_without_its_build_folder(tmp_path: Path) -> None:
    gcc, assembler = needs("gcc", "as")
    build, headers = tmp_path / "build", tmp_path / "include" / "parts"
    build.mkdir()
    headers.mkdir(parents=True)
    source(headers, HEADER, "twice.h")
    source(tmp_path, MAIN, "main.c")
    source(tmp_path, "int plug(int n) { return 7 * n; }", "plug.c")
    subprocess.run([assembler, source(tmp_path, LOW, "low.s"), "-o", build / "low.o"], check=True)
    plug = tmp_path / "plug.so"
    subprocess.run([gcc, "-shared", "-fPIC", tmp_path / "plug.c", "-o", plug], check=True)
    line = ("-O1", "-I../include", "../main.c", "low.o", "-ldl", "-o")
    subprocess.run([gcc, *line, "native"], check=True, cwd=build)
    assert (done := compiler(*line, "program", folder=build)).returncode == 0, done.stderr
    outputs = [
        subprocess.run([build / name, plug], capture_output=True).stdout
        for name in ("native", "program")
    ]
    assert outputs[0].startswith(b"225 42 28 ")
    program = Path(shutil.copy(build / "program", tmp_path / "installed"))
    shutil.rmtree(build)

    (tmp_path / "built").mkdir()
    profile, output = run_built(
        build_program(ProfileOptions((program,), (str(plug),)), tmp_path / "built"),
        (str(plug),),
        b"",
    )
    assert [*outputs, output] == [outputs[0]] * 3
    found = {name.split(" ")[0]: count for name, count in calls(profile).items() if count}
    assert found == {"main": 1, "by_three": 10, "twice": 10, "sum": 1}
    made = {(call.to.split(" ")[0], call.count) for call in profile.calls}
    assert {("by_three", 10), ("sum", 1)} <= made
    assert "not instrumented: low.o (not built by dse profile cc)" in profile.notes
    assert "not instrumented: plug.so (loaded by dlopen)" in profile.notes
    assert [line.text for line in profile.lines if line.file == "twice.h"] == ["int d = 2 * n;"]


def test_a_build_asks_the_compiler_about_itself(tmp_path: Path) -> None:
    """Meson reads the macros of no source at all, from the standard input."""
    done = compiler("-E", "-dM", "-", folder=tmp_path)
    assert done.returncode == 0, done.stderr
    assert "#define __clang__ 1" in done.stdout
    done = compiler("-x", "c++", "-E", "-dM", "-", folder=tmp_path, name="c++")
    assert "#define __cplusplus " in done.stdout


@needs_compiler
def test_ir_of_other_compilers_is_profiled_or_refused_in_a_line(tmp_path: Path) -> None:
    path = source(tmp_path, "int f(int n) { return n; } int main(void) { return f(0); }")
    bitcode = tmp_path / "program.bc"
    compiler("-emit-llvm", "-c", str(path), "-o", str(bitcode), folder=tmp_path)
    profile, _ = run_built(build_program(ProfileOptions((bitcode,)), tmp_path), (), b"")
    assert calls(profile) == {"f": 1, "main": 1}
    rust = "declare void @_ZN3std2rt10lang_startE()\n" + (
        "define i32 @main() {\n  call void @_ZN3std2rt10lang_startE()\n  ret i32 0\n}\n"
    )
    for text, name, message in (
        (rust, "rust.ll", "nothing defines std::rt::lang_start"),
        ("hello", "text.ll", "LLVM 22 cannot read this IR: <string>:1:1: error"),
        ("BC\xff", "part.bc", "LLVM 22 cannot read this IR"),
    ):
        file = tmp_path / name
        file.write_bytes(text.encode("latin-1"))
        with pytest.raises(InputError) as refused:
            build_program(ProfileOptions((file,)), tmp_path)
        [problem] = refused.value.problems
        assert "\n" not in problem.message
        assert message in problem.message


@needs_compiler
def test_a_static_constant_without_a_definition_is_explained(tmp_path: Path) -> None:
    """The plain build works, as its optimizer needs no address of the constant."""
    text = """
    struct Board { static const int INVALID = -1000; };
    int value(const int &given) { return given; }
    int main() { return value(Board::INVALID) != -1000; }
    """
    program = source(tmp_path, text, "board.cpp")
    with pytest.raises(InputError, match="nothing defines Board::INVALID") as raised:
        build_program(ProfileOptions((program,), optimisation=2), tmp_path)
    assert "declare it constexpr" in str(raised.value)


def test_names_of_cxx_keep_their_class_where_the_demangler_is_older_than_the_compiler() -> None:
    symbols = {
        "_ZNK6MatrixIiEcvS_IT_EIdEEv": "operator Matrix<double>",
        "_ZNSt3__116allocator_traitsINS_9allocatorIdEEE7destroyB9nie220108IdTnNS_9enable_ifIX15"
        "__has_destroy_vIS2_PT_EEiE4typeELi0EEEvRS2_S7_": "destroy<double, 0>",
        "_Z4mulmIiE6MatrixIT_ERKS2_S4_": "mulm<int>",
    }
    functions = [{"symbol": s, "name": name, "file": "a.cpp"} for s, name in symbols.items()]
    assert function_names({"functions": functions, "foreign": {}})[:3] == [
        "Matrix<int>::operator Matrix<double>",
        "std::allocator_traits<std::allocator<double>>::destroy<double, 0>",
        "Matrix<int> mulm<int>(Matrix<int> const&, Matrix<int> const&)",
    ]


STRINGS = """
#include <cstdio>
#include <stdexcept>
#include <string>
int main() {
    try { throw std::out_of_range(std::string(99, 'x')); }
    catch (std::exception &error) { std::puts("none"); }
}
"""
LOCKS = """
#include <mutex>
int main() { std::mutex mutex; std::lock_guard<std::mutex> held(mutex); }
"""


@needs_compiler
def test_the_library_of_cxx_is_built_once_and_as_far_as_a_program_needs_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    toolchain, program = find_toolchain(), tmp_path / "program"
    if toolchain.cxx[-1] != "c++":
        pytest.skip("the system's clang has its own library")

    def compiled(name: str, text: str) -> Path:
        made = tmp_path / f"{name}.o"
        command = [*toolchain.cxx, "-fno-sanitize=all", *toolchain.baseline, "-c", "-o", str(made)]
        subprocess.run([*command, str(source(tmp_path, text, f"{name}.cpp"))], check=True)
        return made

    def linked(made: Path) -> list[Path]:
        used: list[Path] = []

        def link(compiler: Sequence[str], library: Sequence[str]) -> tuple[int, str]:
            used[:] = [Path(name) for name in library if name.endswith(".a")]
            line = [*compiler, *toolchain.baseline, "-O1", "-fno-sanitize=all", str(made)]
            return run_linker([*line, *library, "-o", str(program)])

        assert link_cxx(toolchain.cxx, [], link) == (0, "")
        assert [path.name for path in used] == ["first.a", "second.a"][: len(used)]
        return used

    strings, locks = compiled("strings", STRINGS), compiled("locks", LOCKS)
    old, second = linked(locks)  # of the environment of the tests
    monkeypatch.setattr(sys, "prefix", str(tmp_path / "environment"))
    [first] = linked(strings)
    assert subprocess.run([program], capture_output=True, check=True).stdout == b"none\n"
    assert first.is_relative_to(tmp_path / "environment")
    assert [path.name for path in first.parent.iterdir()] == ["first.a"]
    assert first.stat().st_size == old.stat().st_size
    time = first.stat().st_mtime_ns
    shutil.copy(second, first.parent)
    assert linked(locks) == [first, first.with_name("second.a")]
    assert first.stat().st_mtime_ns == time
    # A function that the program lacks, or that is of another language, needs no more of it.
    for name in ("f(std::__1::vector<int>)", "std::rt::lang_start"):
        said, given = f"undefined symbol: {name}", list[Sequence[str]]()

        def fail(_: Sequence[str], library: Sequence[str]) -> tuple[int, str]:
            given.append(library)  # noqa: B023
            return 1, said  # noqa: B023

        assert link_cxx(toolchain.cxx, [], fail) == (1, said)
        assert given == [[str(first), "-lunwind"]]
    assert link_cxx(toolchain.cxx, ["-nostdlib++"], lambda *given: (0, str(given))) == (
        0,
        str((toolchain.cxx, [])),
    )
    listed = [path for part in PARTS for path in list_sources(toolchain.cxx[0], part)]
    assert len(listed) == len(set(listed))
    assert {"locale", "path", "operations", "regex", "cxa_demangle"} < {x.stem for x in listed}


@needs_compiler
def test_a_runtime_is_compiled_once(tmp_path: Path) -> None:
    """Again if the version of the compiler, a flag or a header is another one."""
    program, header = source(tmp_path, '#include "a.h"\nint a = A;'), source(tmp_path, "", "a.h")
    header.write_text("#define A 1\n")
    compiler, *flags = [*find_toolchain().c, "-O1"]
    first, second = tmp_path / "first.o", tmp_path / "second.o"
    done = compile_kept([compiler, *flags], "1", program, first)
    assert done is not None
    assert done.returncode == 0, done.stderr
    assert compile_kept(["false", *flags], "1", program, second) is None
    assert second.read_bytes() == first.read_bytes()
    for version, others in (("2", flags), ("1", [*flags, "-g0"])):
        done = compile_kept(["false", *others], version, program, second)
        assert done is not None
        assert done.returncode == 1
    header.write_text("#define A 2\n")
    assert compile_kept(["false", *flags], "1", program, second) is not None
