"""Instruction totals of profiles against valgrind's, exactly.

Before each block of the program's LLVM IR stands a row of no-operations, as many as the block has
instructions by the profile's definition, which a variable switches off. Valgrind counts the machine
instructions of both runs of this one binary: their difference is the number of IR instructions that
were executed, counted by an independent instrument. It needs ``valgrind`` on the path.
"""

from __future__ import annotations

import re
import subprocess
from collections import Counter
from pathlib import Path

import pytest

from dse.profile.build.analysis import analyse
from dse.profile.build.build import load_modules
from dse.profile.build.frontend import link_program
from dse.profile.build.irtext import FunctionText, parse_module
from dse.profile.build.toolchain import find_toolchain
from dse.profile.command import Options, build_program
from dse.profile.run.run import environment
from tests.needs import needs
from tests.profile.examples import EXAMPLES, PROGRAMS, run_built

ROW = (
    '  call void asm sideeffect "testb $$1, dse_rows(%rip)\\0Aje 1f\\0A.rept {n}\\0Anop\\0A'
    '.endr\\0A1:",'
    ' "~{{memory}},~{{dirflag}},~{{fpsr}},~{{flags}}"()'
)
SWITCH = """
#include <stdlib.h>
__attribute__((visibility("hidden"))) char dse_rows;
__attribute__((constructor(101))) static void begin(void) { dse_rows = getenv("ROWS") != 0; }
"""


def with_rows(modules: list[str], target: Path) -> None:
    """Write an object file whose blocks have rows of no-operations."""
    from llvmlite import binding

    module, machine = load_modules(modules)
    parts = parse_module(str(module))
    blocks = iter(analyse(parts).blocks)
    lines: list[str] = []
    for part in parts:
        if not isinstance(part, FunctionText):
            lines.append(part)
            continue
        lines.append(part.header)
        for text in part.blocks:
            row = ROW.format(n=sum(next(blocks).instructions.values()))
            first = next(
                i for i, s in enumerate(text.statements) if s.opcode not in ("phi", "landingpad")
            )
            lines.append(f"{text.label}:")
            for i, statement in enumerate(text.statements):
                lines += [row] * (i == first) + statement.lines
        lines.append("}")
    target.write_bytes(machine.emit_object(binding.parse_assembly("\n".join(lines))))


def symbol(name: str) -> str:
    """Return a function's one symbol: without the level of a recursion, not by its alias."""
    name = re.sub(r"'\d+$", "", name)
    return {"other": "original"}.get(name, name)


def callgrind(
    program: Path, arguments: tuple[str, ...], given: bytes, rows: bool
) -> tuple[Counter[str], Counter[str]]:
    """Return machine instructions by function, and calls of each function."""
    out = program.with_name("callgrind.out")
    line = [
        "valgrind",
        "--tool=callgrind",
        f"--callgrind-out-file={out}",
        "--compress-strings=no",
        "--demangle=no",
    ]
    environ = environment(()) | ({"ROWS": "1"} if rows else {})
    subprocess.run(
        [*line, str(program), *arguments], input=given, capture_output=True, env=environ, check=True
    )
    cost, calls, function, called = Counter[str](), Counter[str](), "", False
    for text in out.read_text().splitlines():
        if text.startswith("fn="):
            function = symbol(text[3:])
        elif text.startswith("cfn="):
            callee = symbol(text[4:])
        elif text.startswith("calls="):
            calls[callee] += int(text[6:].split()[0])
            called = True
        elif re.match(r"[+\-*\d]", text):
            if not called:
                cost[function] += int(text.split()[1])
            called = False
    return cost, calls


@pytest.mark.parametrize("name", EXAMPLES)
def test_instructions_are_those_that_valgrind_counts(name: str, tmp_path: Path) -> None:
    needs("valgrind")
    example = EXAMPLES[name]
    sources = tuple(PROGRAMS / source for source in example.sources)
    options = Options(sources, example.arguments, caches=(), transfers=False)
    built = build_program(options, tmp_path)
    profile, _ = run_built(built, example.arguments, example.given)
    modules = [str(tmp_path / f"{i}.ll") for i in range(len(sources))]
    with_rows(modules, tmp_path / "rows.o")
    (tmp_path / "switch.c").write_text(SWITCH)
    toolchain = find_toolchain()
    program = tmp_path / "rows"
    objects = (tmp_path / "rows.o", tmp_path / "switch.c")
    link_program(toolchain, objects, program, example.sources[0].endswith("cpp"))
    off, _ = callgrind(program, example.arguments, example.given, rows=False)
    on, calls = callgrind(program, example.arguments, example.given, rows=True)
    functions = {f.name: f for f in profile.functions if not f.foreign}
    counted: Counter[str] = Counter()
    for block in profile.blocks:
        if block.function in functions:
            counted[functions[block.function].symbol] += block.executions * block.area
    executed = {f.symbol for f in functions.values() if f.invocations}
    assert sum(counted.values()) > 100
    assert {s: on[s] - off[s] for s in executed} == {s: counted[s] for s in executed}
    invocations = {f.symbol: f.invocations for f in functions.values() if f.invocations}
    assert {symbol: calls[symbol] for symbol in invocations} == invocations
