"""Hooks into the text of a module: counters in line, calls of the runtime for the rest.

The text is safe to extend line by line because every value has a name. The hooks see each load and
store just before it happens, and each block just after its phi nodes.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

from dse.profile.build.analysis import Analysis
from dse.profile.build.counters import Counters
from dse.profile.build.hooks import HOOKED_SIZES, Hooks, plain_name
from dse.profile.build.irtext import FunctionText, quote_name
from dse.profile.build.resolvers import separate_resolvers
from dse.profile.build.rewrite import Rewriter
from dse.profile.build.threads import DECLARATIONS as _THREADED
from dse.profile.build.threads import Threaded, has_threads

# Instrumentation makes these inferred attributes of the program false: with "touches no memory"
# left in place, the compiler would keep counters in registers across calls.
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
declare void @__dse_copy(ptr, ptr, i64, i32, i32)
declare void @__dse_clear(ptr, i64)
declare void @__dse_argument(ptr, i64, i32, i32)
declare void @__dse_va_start(ptr, i64, i32)
declare void @__dse_indirect(ptr, i32)
declare i32 @__dse_enter(i32)
declare void @__dse_leave(i32)
declare void @__dse_resume(i32)
declare void @__dse_finish()
declare void @__dse_trace_block(i32)
@__dse_work = external hidden global i64
@__dse_varargs = external hidden global i64
@__dse_caller = external hidden global i32
@__dse_copies = external hidden global i32
"""
)


RENAMED_MAIN = "__dse_main"
"""The program's main function, which the runtime's own calls on a stack that it has prepared."""

# Cache results follow from addresses: addresses of the program's data may not depend on the size
# of the parts before them, which are the runtime (built for this machine and these options) and the
# start files of the C library. Each section therefore begins at a multiple of 16 MiB, and relocated
# data behind the code at a multiple of 64 MiB. The data of each section begins one page later than
# in the section before: otherwise they would share the lines of a small cache.
_LAYOUT = f"""
@__dse_first_constant = hidden constant i8 0, align {1 << 24}
@__dse_first_relocated = hidden constant {{ ptr, [4088 x i8] }} \
{{ ptr @__dse_first_variable, [4088 x i8] zeroinitializer }}, align 4096
@__dse_first_variable = hidden global [8192 x i8] zeroinitializer, section ".data", align 4096
@__dse_first_zero = hidden global [12288 x i8] zeroinitializer, align 4096
"""
ALIGNMENTS = {".data.rel.ro": 1 << 26, ".data": 1 << 24, ".bss": 1 << 24}
"""Of the sections that the first of their kind begin; before constants there may be jump tables."""
# What may be merged with equal constants is put where the linker likes.
_MERGEABLE = re.compile(r"\b(?:local_)?unnamed_addr (?=(?:externally_initialized )?constant )")


def instrument_module(
    parts: list[str | FunctionText],
    analysis: Analysis,
    counters: Counters,
    hooks: Hooks,
) -> str:
    """Return the text of a module with its hooks and tables."""
    wrapped = {
        symbol: f"__dse_call_{plain_name(symbol)}"
        for symbol in analysis.foreign
        if plain_name(symbol) in hooks.modelled
    }
    rewriter = Rewriter(analysis, counters, hooks, frozenset(wrapped))
    wrapped |= {f.symbol: RENAMED_MAIN for f in analysis.functions if f.symbol == "main"}
    out: list[str] = []
    parts, early = separate_resolvers(parts)
    first = next(i for i, part in enumerate(parts) if not _is_header(part))
    parts = [*parts[:first], _LAYOUT, *parts[first:]]
    threaded = Threaded(analysis, parts, hooks) if has_threads(analysis.foreign) else None
    for part in parts:
        if isinstance(part, FunctionText):
            hooked = rewriter.function(part)
            out += threaded.function(part, hooked) if threaded else hooked
        elif part.startswith(("attributes #", "declare ")):
            out.append(remove_assumptions(part))
        elif structors := re.match(r"@llvm\.global_([cd])tors = ", part):
            out += list_static_initializers(part, {"c": "init", "d": "fini"}[structors[1]])
        elif part.startswith("@"):
            part = _MERGEABLE.sub("", part)
            out += threaded.variable(part) if threaded else [part]
        else:
            out.append(part)
    tables = _tables(analysis, counters, hooks)
    declared = _DECLARATIONS + (_THREADED if threaded else "")
    return "\n".join([*_renamed(out, wrapped), *early, declared, *tables])


def remove_assumptions(line: str) -> str:
    """Return a group of attributes, or a declaration, without what a compiler has inferred.

    >>> remove_assumptions("attributes #0 = { nofree memory(none) }")
    'attributes #0 = { "dse" }'
    """
    if "@llvm." in line:
        return line
    # a group of attributes may not be empty
    return re.sub(r"\{ *\}", '{ "dse" }', _ASSUMPTIONS.sub("", line))


def _is_header(part: str | FunctionText) -> bool:
    """Return whether a part precedes all definitions of a module."""
    return isinstance(part, str) and part.startswith((";", "source_filename", "target "))


def _renamed(lines: list[str], names: Mapping[str, str]) -> list[str]:
    """Return the lines with other functions in place of some."""
    if not names:
        return lines
    pattern = re.compile(rf"@({'|'.join(map(re.escape, names))})(?![-\w.$])")
    # metadata: possible targets of pointers, without the names and texts that it quotes
    quoting = re.compile(rf'("[^"]*")|{pattern.pattern}')
    return [
        quoting.sub(lambda m: m[1] or "@" + names[m[2]], line)
        if line.startswith("!")
        else pattern.sub(lambda m: "@" + names[m[1]], line)
        for line in lines
    ]


def list_static_initializers(line: str, when: str) -> Iterator[str]:
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
    symbols = [RENAMED_MAIN if f.symbol == "main" else f.symbol for f in analysis.functions]
    pointers = ", ".join(f'ptr @"{quote_name(symbol)}"' for symbol in symbols)
    yield f"@__dse_functions = hidden constant [{own} x ptr] [{pointers}]"
    by_name = {plain_name(symbol): own + i for i, symbol in enumerate(foreign)}
    for name in sorted(hooks.modelled):
        yield f"@__dse_id_{name} = hidden constant i32 {by_name.get(name, own)}"
