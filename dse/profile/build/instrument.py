"""Hooks into the text of a module: counters in line, calls of the runtime for the rest.

The text is safe to extend line by line because every value has a name. The hooks see each load and
store just before it happens, and each block just after its phi nodes.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from dse.profile.build.analysis import Analysis
from dse.profile.build.counters import Counters
from dse.profile.build.hooks import HOOKED_SIZES, Hooks, plain_name
from dse.profile.build.irtext import FunctionText
from dse.profile.build.rewrite import Rewriter

INLINE = frozenset(("getchar", "putchar"))
"""Functions that the library's headers define in line: the runtime does as they do."""

# What a compiler has inferred of the program stops being true of the instrumented program: with
# "touches no memory" left in place, counters would be kept in registers across calls.
_ASSUMPTIONS = re.compile(
    r"\b(?:nosync|nofree|willreturn|norecurse|speculatable|mustprogress|nocallback"
    r"|memory\([^)]*\)) ?"
)
_DECLARATIONS = (
    "".join(
        f"declare preserve_mostcc void @__dse_{kind}{size}(ptr, i32, i32)\n"
        for size in HOOKED_SIZES
        for kind in ("load", "store")
    )
    + """
declare void @__dse_read(ptr, i64, i32, i32)
declare void @__dse_write(ptr, i64, i32, i32)
declare void @__dse_clear(ptr, i64)
declare void @__dse_argument(ptr, i64, i32)
declare void @__dse_va_start(ptr, i64, i32)
declare void @__dse_indirect(ptr, i32)
declare i32 @__dse_enter(i32)
declare i32 @__dse_depth()
declare void @__dse_leave(i32)
declare void @__dse_resume(i32)
declare void @__dse_finish()
declare void @__dse_trace_block(i32)
@__dse_work = external hidden global i64
@__dse_varargs = external hidden global i64
@__dse_caller = external hidden global i32
"""
)


def instrument(
    parts: list[str | FunctionText], analysis: Analysis, counters: Counters, hooks: Hooks
) -> str:
    """Return the text of a module with its hooks and tables."""
    wrapped = {
        symbol: f"__dse_call_{plain_name(symbol)}"
        for symbol in analysis.foreign
        if plain_name(symbol) in (hooks.modelled if hooks.accesses else INLINE)
    }
    rewriter = Rewriter(analysis, counters, hooks, frozenset(wrapped))
    out: list[str] = []
    for part in parts:
        if isinstance(part, FunctionText):
            out += rewriter.function(part)
        elif part.startswith(("attributes #", "declare ")) and "@llvm." not in part:
            out.append(_ASSUMPTIONS.sub("", part))
        elif structors := re.match(r"@llvm\.global_([cd])tors = ", part):
            out += _started(part, {"c": "init", "d": "fini"}[structors[1]])
        else:
            out.append(part)
    if wrapped:
        names = "|".join(map(re.escape, wrapped))
        pattern = re.compile(rf"@({names})(?![-\w.$])")
        out = [
            line if line.startswith("!") else pattern.sub(lambda m: "@" + wrapped[m[1]], line)
            for line in out
        ]
    return "\n".join([*out, _DECLARATIONS, *_tables(analysis, counters, hooks)])


def _started(line: str, when: str) -> Iterator[str]:
    """Yield what runs constructors or destructors of static objects.

    Left to llvmlite's code generator, they would go to sections that today's loaders do not read.
    """
    entries = re.findall(r'\{ i32 (\d+), ptr (@(?:"[^"]*"|[-\w.$]+)),', line)
    for i, (priority, function) in enumerate(entries):
        section = f".{when}_array" + (f".{int(priority):05}" if int(priority) < 65535 else "")
        yield f'@__dse_{when}_{i} = hidden constant ptr {function}, section "{section}", align 8'


def _tables(analysis: Analysis, counters: Counters, hooks: Hooks) -> Iterator[str]:
    """Yield what the runtime must know of the module."""
    own, foreign = len(analysis.functions), list(analysis.foreign)
    numbers = {
        "function_count": own,
        "foreign_count": len(foreign),
        "block_count": len(analysis.blocks),
        "counter_count": counters.size,
        "site_count": len(analysis.accesses) + 2 * len(foreign),
        "program_sites": len(analysis.accesses),
    }
    for name, value in numbers.items():
        yield f"@__dse_{name} = hidden constant i32 {value}"
    yield f"@__dse_counts = hidden global [{counters.size} x i64] zeroinitializer"
    pointers = ", ".join(f'ptr @"{quoted(f.symbol)}"' for f in analysis.functions)
    yield f"@__dse_functions = hidden constant [{own} x ptr] [{pointers}]"
    framed = [f"i8 {int(hooks.frames(symbol))}" for symbol in foreign] or ["i8 0"]
    yield f"@__dse_framed = hidden constant [{len(framed)} x i8] [{', '.join(framed)}]"
    by_name = {plain_name(symbol): own + i for i, symbol in enumerate(foreign)}
    for name in sorted(hooks.modelled):
        yield f"@__dse_id_{name} = hidden constant i32 {by_name.get(name, own)}"


def quoted(name: str) -> str:
    r"""Return a name as LLVM writes it inside quotes.

    >>> quoted('a"b')
    'a\\22b'
    """
    return "".join(
        letter
        if letter.isprintable() and letter.isascii() and letter not in '"\\'
        else f"\\{byte:02X}"
        for letter in name
        for byte in letter.encode()
    )
