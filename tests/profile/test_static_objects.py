"""What runs before and after main runs in a profiled program too."""

from __future__ import annotations

from pathlib import Path

from dse.profile.command import Options, build_program
from tests.profile.examples import run_built, source

C = """
#include <stdio.h>
volatile int x = 3;
__attribute__((constructor)) static void late(void) { x = x + 4; }
__attribute__((constructor(200))) static void early(void) { x = x * 10; }
__attribute__((destructor)) static void done(void) { printf("done %d\\n", x); }
int main(void) { printf("main %d\\n", x); x = 1; return 0; }
"""
CXX = """
#include <cstdio>
struct Loud {
    int value;
    Loud(int given) : value(given) { std::printf("made %d\\n", value); }
    ~Loud() { std::printf("gone %d\\n", value); }
};
static Loud first(7), second(8);
template <typename T> struct Holder { static Loud one; };
template <typename T> Loud Holder<T>::one(9);
int main() { std::printf("main %d\\n", first.value + Holder<int>::one.value); }
"""


def profiled(folder: Path, name: str, text: str) -> tuple[dict[str, int], bytes]:
    built = build_program(Options((source(folder, text, name),)), folder)
    profile, output = run_built(built, (), b"")
    assert profile.run.complete
    return {f.name: f.invocations for f in profile.functions}, output


def test_constructors_in_the_order_of_their_priority_and_destructors(tmp_path: Path) -> None:
    calls, output = profiled(tmp_path, "program.c", C)
    assert output == b"main 34\ndone 1\n"
    assert (calls["early"], calls["late"], calls["done"]) == (1, 1, 1)


def test_static_objects_are_made_and_destroyed(tmp_path: Path) -> None:
    calls, output = profiled(tmp_path, "program.cpp", CXX)
    lines = output.decode().splitlines()
    assert sorted(lines) == [*(f"gone {i}" for i in (7, 8, 9)), *(f"made {i}" for i in (7, 8, 9)),
                             "main 16"]  # fmt: skip
    assert lines.index("made 7") < lines.index("made 8") < lines.index("main 16")
    assert lines.index("main 16") < lines.index("gone 8") < lines.index("gone 7")
    assert calls["Loud::~Loud()"] == 3
