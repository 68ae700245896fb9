"""Programs with threads: one thread is profiled, and the others run copies without counters.

Each function of the program becomes three: the function with hooks, a plain copy, and an entry
under the function's name. The entry passes its arguments to one of the two. A variable of the
thread selects which. Calls through pointers and calls from libraries use the entry.

Plain copies call each other directly, and count nothing. Before each access to memory they mark its
bytes. The profiled thread finds the data of other threads by these marks (``runtime/threads.h``).
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping

from dse.profile.build.analysis import Analysis, list_accesses
from dse.profile.build.effects import has_unknown_effects
from dse.profile.build.hooks import HOOKED_SIZES, Hooks, hooked_name
from dse.profile.build.irtext import (
    NAME,
    FunctionText,
    Statement,
    quote_name,
    split_type,
    unquote_name,
)
from dse.profile.build.rewrite import LEAVES_AT_ONCE, access_addresses

_THREAD_FUNCTIONS = (
    "pthread_create",
    "pthread_join",
    "pthread_exit",
    "thrd_create",
    "thrd_join",
    "_ZNSt6thread15_M_start_thread",  # libstdc++
)
"""Library functions of programs with threads, by how their symbols begin."""

DECLARATIONS = (
    "".join(
        f"declare preserve_mostcc void @__dse_other_{kind}{size}(ptr)\n"
        for size in HOOKED_SIZES
        for kind in ("load", "store")
    )
    + """
declare void @__dse_other_read(ptr, i64)
declare void @__dse_other_write(ptr, i64)
declare void @__dse_other_enters(i32, i32)
declare void @__dse_other_calls(i32)
@__dse_recorded = external hidden thread_local(initialexec) global i8
"""
)

_HEADER = re.compile(rf"define (.*?)@({NAME})\((.*)$")
_LINKAGE = re.compile(
    r"(?:(?:private|internal|available_externally|linkonce|weak|common|appending|extern_weak"
    r"|linkonce_odr|weak_odr|external|dso_local|dso_preemptable|default|hidden|protected) )*"
)
_RETURNED = re.compile(
    rf"(?:\{{[^@]*\}}|<[^@]*>|\[[^@]*\]|%{NAME}|[a-z]\w*)(?: addrspace\(\d+\))?$"
)
_COMDAT = re.compile(r" comdat(?:\(\$[^)]*\))?")
_ATTACHED = re.compile(r" ![a-z]\w* !\d+")
_PERSONALITY = re.compile(r" personality .*(?= \{$)")
_CALLED = re.compile(rf"@({NAME})(?=\()")
_LABEL_ADDRESS = re.compile(rf"blockaddress\(@({NAME}),")
_GLOBAL = re.compile(rf"@({NAME}) = (.*)")


def has_threads(foreign: Iterable[str]) -> bool:
    """Return whether a program that calls these library functions could start threads.

    >>> has_threads(["printf", "pthread_create"]), has_threads(["printf"])
    (True, False)
    """
    return any(symbol.startswith(_THREAD_FUNCTIONS) for symbol in foreign)


class Threaded:
    """Writes the three functions in place of each function of a module.

    Parameters
    ----------
    analysis : Analysis
    parts : list
        The module, as of :func:`dse.profile.build.irtext.parse_module`.
    hooks : Hooks
    """

    def __init__(
        self, analysis: Analysis, parts: Iterable[str | FunctionText], hooks: Hooks
    ) -> None:
        self._functions = analysis.functions
        self._own = {f.symbol for f in analysis.functions}
        self._unknown = {
            symbol: number
            for number, (symbol, pointers) in enumerate(analysis.foreign.items())
            if pointers and has_unknown_effects(symbol, hooks.modelled)
        }
        self._tables = _label_tables(parts)
        self._number = 0

    def function(self, text: FunctionText, hooked: Iterable[str]) -> Iterator[str]:
        """Yield the definitions of a function, given its lines with hooks."""
        header, *body = hooked
        prefix, suffix = _around_name(header)
        yield f"define internal {prefix}@{hooked_name(text.name)}({suffix}"
        own = f"@{hooked_name(text.name)}"
        yield from (_LABEL_ADDRESS.sub(f"blockaddress({own},", line) for line in body)
        yield from self._plain(text, prefix, _ATTACHED.sub("", suffix))
        yield from _entry(text)
        self._number += 1

    def variable(self, line: str) -> Iterator[str]:
        """Yield the definition of a variable; of a table of labels, one for each copy."""
        match = _GLOBAL.match(line)
        function = self._tables.get(unquote_name(match[1])) if match else None
        if match is None or function is None:
            yield line
            return
        for table, name in (
            (f"@{match[1]}", hooked_name(function)),
            (f"@{plain_copy(unquote_name(match[1]))}", plain_copy(function)),
        ):
            yield f"{table} = {_LABEL_ADDRESS.sub(f'blockaddress(@{name},', match[2])}"

    def _plain(self, text: FunctionText, prefix: str, suffix: str) -> Iterator[str]:
        tables = {t: plain_copy(t) for t, name in self._tables.items() if name == text.name}
        name = plain_copy(text.name)
        yield f"define internal {prefix}@{name}({suffix}"
        for at, block in enumerate(text.blocks):
            yield f"{block.label}:"
            entering = at == 0
            for statement in block.statements:
                if entering and statement.opcode not in ("alloca", "phi"):
                    system = int(self._functions[self._number].system)
                    yield f"  call void @__dse_other_enters(i32 {self._number}, i32 {system})"
                    entering = False
                for line in self._statement(statement):
                    line = _LABEL_ADDRESS.sub(f"blockaddress(@{name},", line)
                    yield _replaced(line, tables) if tables else line
        yield "}"

    def _statement(self, statement: Statement) -> Iterator[str]:
        callee = statement.callee if statement.opcode in ("call", "invoke") else ""
        if callee in LEAVES_AT_ONCE:
            yield "  call void @__dse_finish()"
        if callee in self._unknown:
            yield f"  call void @__dse_other_calls(i32 {self._unknown[callee]})"
        marks = list(_marks(statement, callee))
        yield from marks
        if callee in self._own:
            yield from (_CALLED.sub(self._copy, line) for line in statement.lines)
        else:
            yield from statement.lines
        if statement.opcode in ("atomicrmw", "cmpxchg") or statement.body.startswith("atomic "):
            yield from marks  # another thread may have written meanwhile

    def _copy(self, match: re.Match[str]) -> str:
        name = unquote_name(match[1])
        return f"@{plain_copy(name)}" if name in self._own else match[0]


def plain_copy(symbol: str) -> str:
    """Return the name of the copy of a function or a table for other threads."""
    return f'"__dse_plain.{quote_name(symbol)}"'


def _around_name(header: str) -> tuple[str, str]:
    """Return the text before a function's name, without its linkage, and the text after it."""
    match = _HEADER.match(header)
    if match is None:
        raise ValueError(f"no function name in {header!r}")
    suffix = re.sub(r" (?:local_)?unnamed_addr\b", "", _COMDAT.sub("", match[3]))
    return _LINKAGE.sub("", match[1], count=1), suffix


def _marks(statement: Statement, callee: str) -> Iterator[str]:
    """Yield the calls that mark the bytes of a statement's reads and writes."""
    if "byval(" in statement.body:
        for copied, length in statement.copies():
            yield f"  call void @__dse_other_read(ptr {copied}, i64 {length})"
        return  # the copies are on the stack of this thread
    kinds = list_accesses(statement, callee)
    for (kind, size), (pointer, length) in zip(
        kinds, access_addresses(statement, callee), strict=True
    ):
        if size in HOOKED_SIZES:
            yield f"  call preserve_mostcc void @__dse_other_{kind}{size}(ptr {pointer})"
        else:
            name = {"load": "read", "store": "write"}[kind]
            yield f"  call void @__dse_other_{name}(ptr {pointer}, i64 {length})"


def _entry(text: FunctionText) -> Iterator[str]:
    """Yield the function that takes the hooked one in the profiled thread, else the plain copy."""
    header = _PERSONALITY.sub("", _ATTACHED.sub("", text.header))
    prefix = _around_name(header)[0].rstrip()
    returned = _RETURNED.search(prefix)
    kind, given = returned[0] if returned else "void", ", ".join(text.parameters)
    if given.endswith("..."):
        prefix += f" ({', '.join(split_type(each)[0] for each in text.parameters)})"
    yield header
    yield "  %__dse.flag = load i8, ptr @__dse_recorded"
    yield "  %__dse.mine = icmp ne i8 %__dse.flag, 0"
    yield "  br i1 %__dse.mine, label %__dse.hooked, label %__dse.plain"
    for label, name in (("hooked", hooked_name(text.name)), ("plain", plain_copy(text.name))):
        yield f"__dse.{label}:"
        if kind == "void":
            yield f"  musttail call {prefix} @{name}({given})"
            yield "  ret void"
        else:
            yield f"  %__dse.r.{label} = musttail call {prefix} @{name}({given})"
            yield f"  ret {kind} %__dse.r.{label}"
    yield "}"


def _label_tables(parts: Iterable[str | FunctionText]) -> dict[str, str]:
    """Return the variables with addresses of labels, each with the function of the labels."""
    tables = {}
    for part in parts:
        match = _GLOBAL.match(part) if isinstance(part, str) else None
        labels = _LABEL_ADDRESS.search(match[2]) if match else None
        if match and labels:
            tables[unquote_name(match[1])] = unquote_name(labels[1])
    return tables


def _replaced(line: str, names: Mapping[str, str]) -> str:
    return re.sub(rf"@({NAME})", lambda m: "@" + names.get(unquote_name(m[1]), m[1]), line)
