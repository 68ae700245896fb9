"""What is read from the text of LLVM IR is what LLVM itself says of the module."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from dse.profile.build.build import load_modules
from dse.profile.build.elf import align_sections, write_sparse
from dse.profile.build.frontend import compile_to_ir
from dse.profile.build.irtext import FunctionText, Statement, parse_module
from dse.profile.build.toolchain import find_toolchain
from tests.profile.examples import PROGRAMS, needs_compiler

pytestmark = needs_compiler

UNUSUAL = """
target triple = "x86_64-unknown-linux-gnu"
%pair = type { i32, ptr }
@add = global i32 1
define i32 @two(ptr byval(%pair) align 8 %given, i32 noundef %"a, b") {
start:
  %add = load i32, ptr @add
  %eax = add i32 %add, %"a, b"
  %held = call i32 asm sideeffect "mov %eax, $0", "=r,r"(i32 %add)
  br label %loop
loop:
  %x = phi i32 [ %eax, %start ], [ ptrtoint (ptr blockaddress(@two, %loop) to i32), %loop ]
  %both = phi [2 x i32] [ zeroinitializer, %start ], [ %both, %loop ]
  %some = phi %pair [ { i32 1, ptr null }, %start ], [ %some, %loop ]
  %pointer = load ptr, ptr %given
  %y = call %pair %pointer(i32 %x, ptr byval(%pair) %given, [2 x i32] %both)
  %z = call i32 (i32, ...) @many(i32 %held, double 0.0, ptr null) [ "bundle"(i32 %x) ]
  switch i32 %z, label %loop [
    i32 1, label %end
    i32 2, label %"an end"
  ]
end:
  ret i32 %z
"an end":
  ret i32 0
}
declare i32 @many(i32, ...)
"""


def unusual(folder: Path) -> str:
    (folder / "unusual.ll").write_text(UNUSUAL)
    return str(folder / "unusual.ll")


def called(instruction: Any, operands: list[Any]) -> str:
    """Return what a call calls, as `Statement.callee` says it."""
    if instruction.opcode not in ("call", "invoke"):
        return ""
    kind = operands[-1].value_kind.name
    if kind == "inline_asm":
        return "asm"
    return str(operands[-1].name) if kind in ("function", "global_alias") else ""


def test_names_calls_and_phi_nodes_are_those_of_llvm(tmp_path: Path) -> None:
    """Of unusual text, and without optimisation; C++ with it is in `test_profile`."""
    compare_modules([unusual(tmp_path)])
    ir = compile_to_ir(find_toolchain(), [PROGRAMS / "constructs.c"], tmp_path, 0)
    compare_modules([str(path) for path in ir])


def compare_modules(modules: list[str]) -> None:
    """Compare each statement of the text with LLVM's instruction."""
    module, _ = load_modules(modules)
    texts = [part for part in parse_module(str(module)) if isinstance(part, FunctionText)]
    functions = [f for f in module.functions if not f.is_declaration]
    seen = 0
    for text, function in zip(texts, functions, strict=True):
        assert text.name == function.name
        assert text.arguments == [argument.name for argument in function.arguments]
        values = {*text.arguments}
        values |= {i.name for block in function.blocks for i in block.instructions if i.name}
        for block, found in zip(text.blocks, function.blocks, strict=True):
            for statement, instruction in zip(block.statements, found.instructions, strict=True):
                agrees(statement, instruction, values)
                seen += 1
    assert seen > 10


def agrees(statement: Statement, instruction: Any, values: set[str]) -> None:
    operands = list(instruction.operands)
    local = [o.name for o in operands if o.value_kind.name in ("instruction", "argument")]
    assert statement.opcode == instruction.opcode
    assert statement.callee == called(instruction, operands)
    assert [each for each in statement.locals if each in values] == local, statement.text
    if instruction.opcode == "phi":
        names = [
            o.name if o.value_kind.name in ("instruction", "argument") else "" for o in operands
        ]
        blocks = [block.name for block in instruction.incoming_blocks]
        assert statement.incoming == list(zip(names, blocks, strict=True))
    bundled = ') [ "' in statement.text
    if statement.opcode == "call" and statement.callee != "asm" and not bundled:
        assert len(statement.arguments()) == len(operands) - 1


def test_an_object_is_aligned_and_takes_no_room_for_zeros(tmp_path: Path) -> None:
    (tmp_path / "held.ll").write_text(
        'target triple = "x86_64-unknown-linux-gnu"\n@held = global i32 7\n'
    )
    module, machine = load_modules([str(tmp_path / "held.ll")])
    made = machine.emit_object(module)
    aligned = align_sections(made, {".data": 1 << 24, ".nosuch": 8})
    assert len(aligned) == len(made)
    assert sum(a != b for a, b in zip(made, aligned, strict=True)) == 2  # 4 became 1 << 24
    write_sparse(tmp_path / "object", aligned + bytes(20 << 20) + b"end" + bytes(70_000))
    assert (tmp_path / "object").read_bytes() == aligned + bytes(20 << 20) + b"end" + bytes(70_000)
    assert (tmp_path / "object").stat().st_blocks * 512 < 1 << 20
