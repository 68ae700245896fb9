"""What is not measured costs a program little: neither calls nor additions are left of it."""

from __future__ import annotations

import platform
import struct
import subprocess
from pathlib import Path

import pytest

from dse.profile.build.elf import AARCH64, list_sections
from dse.profile.build.idle import remove_idle_hooks
from dse.profile.build.toolchain import find_toolchain
from dse.profile.command import ProfileOptions, build_program
from dse.profile.document import CacheLevels
from tests.profile.examples import PROGRAMS, needs_compiler, run_built

pytestmark = [
    needs_compiler,
    pytest.mark.skipif(platform.machine() != "x86_64", reason="objects stay as they are"),
]

PROGRAM = """
#include <stdio.h>
extern long __dse_number;
extern int __dse_nothing(int), __dse_zero(int), __dse_one(int), zero(int);
extern int (*const pointer)(int);
int main(void) {
    int sum = 0;
    for (int i = 0; i < 10; i++) {
        __dse_nothing(i);
        sum += 100 * __dse_zero(i) + __dse_one(i) + 10000 * zero(i);
        __asm__ volatile("incq __dse_number(%rip)");
        __asm__ volatile("addq $3, __dse_number(%rip)");
        __asm__ volatile("subq $-128, __dse_number(%rip)");
        __asm__ volatile("addq $1000, __dse_number(%rip)");
    }
    printf("%d %d %ld\\n", sum, pointer(1), __dse_number);
}
"""
RUNTIME = """
long __dse_number;
void __dse_nothing(int x) {}
int __dse_zero(int x) { return 0; }
int __dse_one(int x) { return 1; }
int zero(int x) { return 0; }
int (*const pointer)(int) = __dse_zero;
"""


def compiled(folder: Path, name: str, text: str) -> Path:
    source, made = folder / f"{name}.c", folder / f"{name}.o"
    source.write_text(text)
    command = [*find_toolchain().c, "-O1", "-fno-sanitize=all", "-fomit-frame-pointer", "-fPIC"]
    subprocess.run([*command, "-c", str(source), "-o", str(made)], check=True)
    return made


def said(folder: Path, name: str, *objects: Path) -> str:
    # With the flags of the other tests the linker finds its libraries compiled.
    chain = find_toolchain()
    plain = [*chain.c, "-O2", "-fno-sanitize=all", *chain.baseline]
    command = [*plain, *map(str, objects), "-o", str(folder / name)]
    subprocess.run(command, check=True)
    return subprocess.run([folder / name], check=True, capture_output=True, text=True).stdout


def test_an_object_without_calls_and_additions_does_the_same(tmp_path: Path) -> None:
    program, runtime = compiled(tmp_path, "p", PROGRAM), compiled(tmp_path, "r", RUNTIME)
    assert said(tmp_path, "before", program, runtime) == "10 0 11320\n"
    content, of_runtime = program.read_bytes(), runtime.read_bytes()
    made = remove_idle_hooks(content, of_runtime)
    assert len(made) == len(content)
    program.write_bytes(made)
    assert said(tmp_path, "calls", program, runtime) == "10 0 11320\n"
    # a runtime that would be heard: only what is called by another name, or does something, is
    loud = RUNTIME.replace("return 0", "return 7").replace("{}", "{ __dse_number += 5000; }")
    assert said(tmp_path, "loud", program, compiled(tmp_path, "loud", loud)) == "700010 7 11320\n"
    program.write_bytes(remove_idle_hooks(made, of_runtime, ["__dse_number"]))
    assert said(tmp_path, "all", program, runtime) == "10 0 0\n"
    # objects for other processors stay as they are
    other = bytearray(content)
    other[18:20] = AARCH64.to_bytes(2, "little")
    assert remove_idle_hooks(bytes(other), of_runtime, ["__dse_number"]) == other
    assert remove_idle_hooks(b"no object", of_runtime) == b"no object"


def named(content: bytes) -> set[str]:
    """Return the symbols that relocations of an object name."""
    found = list(list_sections(content))
    parts = [content[each.offset : each.offset + each.size] for each in found]
    table = next(i for i, each in enumerate(found) if each.kind == 2)
    text, entries = parts[found[table].link], list(struct.iter_unpack("<I20x", parts[table]))
    relocations = (
        relocation
        for each, part in zip(found, parts, strict=True)
        if each.kind == 4
        for relocation in struct.iter_unpack("<8xII8x", part)
    )
    starts = {entries[symbol][0] for kind, symbol in relocations if kind}
    return {text[start : text.find(b"\0", start)].decode() for start in starts}


LOADS = {"__dse_load4", "__dse_store4"}
HOST = ProfileOptions(()).caches
INVOCATIONS = {"__dse_enter", "__dse_leave", "__dse_work"}


@pytest.mark.parametrize(
    ("caches", "transfers", "hooks"),
    [
        ((), False, set()),
        (HOST, False, LOADS),
        ((), True, LOADS | INVOCATIONS),  # and of all that is measured, which other tests show
    ],
)
def test_only_what_is_measured_is_called(
    caches: tuple[CacheLevels, ...], transfers: bool, hooks: set[str], tmp_path: Path
) -> None:
    options = ProfileOptions((PROGRAMS / "queens.c",), ("5",), caches=caches, transfers=transfers)
    built = build_program(options, tmp_path)
    names = named((tmp_path / "program.o").read_bytes())
    assert names & (LOADS | INVOCATIONS) == hooks
    assert "__dse_counts" in names
    profile, output = run_built(built, ("5",), b"")
    assert profile.run.complete
    assert output.startswith(b"5 queens: 10 ways")
