"""Programs as real builds leave them: processor features, plug-ins, headers, a removed folder."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from dse.problems import InputError
from dse.profile.build.cxx_library import prepare_cxx_link
from dse.profile.build.toolchain import find_toolchain
from dse.profile.command import ProfileOptions, build_program, profile_program
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
    #include <vector>
    struct Board { static const int INVALID = -1000; };
    int main(int count, char **) { return std::vector<int>(count, Board::INVALID)[0] != -1000; }
    """
    program = source(tmp_path, text, "board.cpp")
    with pytest.raises(InputError, match="nothing defines Board::INVALID") as raised:
        profile_program(ProfileOptions((program,), optimisation=2))
    assert "declare it constexpr" in str(raised.value)
    source(tmp_path, text.replace("static const ", "static constexpr "), "board.cpp")
    assert profile_program(ProfileOptions((program,), optimisation=2)).run.exit_status == 0


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


@needs_compiler
def test_the_library_of_cxx_is_built_once_for_an_environment(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "prefix", str(tmp_path / "environment"))
    compiler = find_toolchain().cxx
    command, library = prepare_cxx_link(compiler, [])
    if command == list(compiler):
        pytest.skip("the system's clang has its own library")
    assert [Path(name).name for name in library] == ["libc++abi.a", "libc++.a", "libunwind.a"]
    made = [Path(name).stat() for name in library]
    assert all(Path(name).is_relative_to(tmp_path / "environment") for name in library)
    assert prepare_cxx_link(compiler, ["-O2"]) == (command, library)
    assert [Path(name).stat() for name in library] == made
    assert prepare_cxx_link(compiler, ["-nostdlib++"]) == (list(compiler), [])
