"""One function's text with its hooks."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator

from dse.profile.build.analysis import Analysis, list_accesses, list_successors
from dse.profile.build.counters import Counters
from dse.profile.build.hooks import HOOKED_SIZES, Hooks
from dse.profile.build.irtext import (
    BY_VALUE,
    NAME,
    BlockText,
    FunctionText,
    Statement,
    argument_value,
    size_expression,
    split_at_commas,
    split_type,
    unquote_name,
)
from dse.profile.build.resolvers import resolver_choice

LEAVES_AT_ONCE = ("_exit", "_Exit", "quick_exit")
RETURNS_TWICE = ("setjmp", "_setjmp", "sigsetjmp", "__sigsetjmp")
VARIABLE_ARGUMENT_LIST = "24"  # bytes of a va_list on x86-64
_ORDERING = re.compile(
    r" (?:syncscope\(.*?\) )?(?:unordered|monotonic|acquire|release|acq_rel|seq_cst)\b.*$"
)
_COPIES = ("llvm.memcpy.", "llvm.memmove.")
_CALLER = "i32 %__dse.caller"
_RESUME = "  call void @__dse_resume(i32 %__dse.depth)"


class Rewriter:
    """Inserts hooks, function by function in the module's order.

    Parameters
    ----------
    analysis, counters
        Of the same module.
    hooks : Hooks
        What to insert.
    wrapped : frozenset of str
        Library functions whose calls go to the runtime, which keeps their frames.
    """

    def __init__(
        self, analysis: Analysis, counters: Counters, hooks: Hooks, wrapped: frozenset[str]
    ) -> None:
        self._analysis, self._counters, self._hooks = analysis, counters, hooks
        self._foreign = {
            symbol: len(analysis.functions) + i
            for i, symbol in enumerate(analysis.foreign)
            if symbol not in wrapped
        }
        self._site = self._block = self._function = self._fresh = 0
        self._gone = False  # whether the frame was left before a call that must be the last

    def function(self, text: FunctionText) -> Iterator[str]:
        """Yield the lines of a function's definition."""
        body = [statement for block in text.blocks for statement in block.statements]
        self._variadic = ", ...)" in text.header or "(...)" in text.header
        self._sizes = {
            s.result: size_expression(s.operands()[0]) for s in body if s.opcode == "alloca"
        }
        self._reborn = {_lifetime(s) for s in body}
        self._labels = {self._block + i: block.label for i, block in enumerate(text.blocks)}
        self._jumps = Counter(
            (unquote_name(block.label), target)
            for block in text.blocks
            for target in list_successors(block.statements[-1])
        )
        self._returns = {  # where an invoke of a library function comes back
            list_successors(s)[0]
            for s in body
            if s.opcode == "invoke" and s.callee in self._foreign
        }
        yield text.header
        for at, block in enumerate(text.blocks):
            yield from self._blocktext(block, list(self._start(text)) if at == 0 else [])
            self._block += 1
        yield "}"
        self._function += 1

    def _start(self, text: FunctionText) -> Iterator[str]:
        if self._variadic:
            yield "  %__dse.varargs = load i64, ptr @__dse_varargs"
        if self._variadic or "byval(" in text.header:
            yield "  %__dse.caller = load i32, ptr @__dse_caller"
            yield "  %__dse.copies = load i32, ptr @__dse_copies"
        yield f"  %__dse.depth = call i32 @__dse_enter(i32 {self._function})"
        by_value = rf"ptr [^,]*?{BY_VALUE.pattern}[^,]*? (%{NAME})"
        for i, match in enumerate(re.finditer(by_value, text.header)):
            size, site = size_expression(match[1]), self._name()
            yield f"  {site} = add i32 %__dse.copies, {2 * i + 1}"
            given = f"ptr {match[2]}, i64 {size}, {_CALLER}, i32 {site}"
            yield f"  call void @__dse_argument({given})"

    def _name(self) -> str:
        self._fresh += 1
        return f"%__dse.{self._fresh}"

    def _add(self, place: str, amount: int) -> Iterator[str]:
        old, new = self._name(), self._name()
        yield f"  {old} = load i64, ptr {place}"
        yield f"  {new} = add i64 {old}, {amount}"
        yield f"  store i64 {new}, ptr {place}"

    def _blocktext(self, block: BlockText, start: list[str]) -> Iterator[str]:
        yield f"{block.label}:"
        label = unquote_name(block.label)
        counter = str(self._counters.blocks[self._block][0])
        if shared := self._counters.shared.get(self._block):
            counter = self._name()
            came = [
                f"[ {slot}, %{self._labels[source]} ]"
                for source, slot in shared.items()
                for _ in range(self._jumps[unquote_name(self._labels[source]), label])
            ]
            yield f"  {counter} = phi i64 {', '.join(came)}"
        statements = list(block.statements)
        resumes = label in self._returns
        while statements and statements[0].opcode in ("phi", "landingpad"):
            first = statements.pop(0)
            yield from first.lines
            resumes |= first.opcode == "landingpad"
        if resumes:
            yield _RESUME
        yield from start
        place, array = self._name(), f"[{self._counters.size} x i64]"
        yield f"  {place} = getelementptr inbounds {array}, ptr @__dse_counts, i64 0, i64 {counter}"
        yield from self._add(place, 1)
        work = self._analysis.blocks[self._block].computation
        if work:
            yield from self._add("@__dse_work", work)
        if self._hooks.trace:
            yield f"  call void @__dse_trace_block(i32 {self._block})"
        for statement in statements:
            yield from self._statement(statement)

    def _statement(self, statement: Statement) -> Iterator[str]:
        if statement.opcode in ("call", "invoke"):
            callee = statement.callee
            if callee != "asm" and not callee.startswith("llvm."):
                yield from self._call(statement, callee)
                return
            yield from self._intrinsic(statement, callee)
            return
        yield from self._accesses(statement, "")
        if statement.opcode == "ret" and not self._gone:
            yield "  call void @__dse_leave(i32 %__dse.depth)"
        self._gone = False
        yield from statement.lines
        if statement.opcode == "alloca":
            yield from self._alloca(statement)

    def _call(self, statement: Statement, callee: str) -> Iterator[str]:
        if not callee and (pointer := re.search(rf"(%{NAME})\(", statement.body)):
            yield f"  call void @__dse_indirect(ptr {pointer[1]}, i32 {self._block})"
        if indirect := self._analysis.indirect.get(callee):
            chosen = self._name()
            yield f"  {chosen} = load ptr, ptr @{resolver_choice(indirect)}"
            yield f"  call void @__dse_indirect(ptr {chosen}, i32 {self._block})"
        if callee in LEAVES_AT_ONCE:
            yield "  call void @__dse_finish()"
        fixed = re.search(r"\(([^()]*)\.\.\.\) [@%]", statement.body)
        own = callee not in self._analysis.foreign
        if own and fixed:
            yield from self._variable_arguments(
                statement.arguments()[len(split_at_commas(fixed[1])) :]
            )
        if own and (fixed or "byval(" in statement.body):
            yield f"  store i32 {self._block}, ptr @__dse_caller"
            yield f"  store i32 {self._site}, ptr @__dse_copies"
        for copied, size in statement.copies():
            place = f"i32 {self._site}, i32 {self._block}"
            yield f"  call void @__dse_read(ptr {copied}, i64 {size}, {place})"
            self._site += 2
        at = self._name()
        if callee in self._foreign and "musttail call" not in statement.lines[0]:
            yield f"  {at} = call i32 @__dse_enter(i32 {self._foreign[callee]})"
        self._gone = "musttail call" in statement.lines[0]
        if self._gone:  # nothing may stand between this call and the return
            yield "  call void @__dse_leave(i32 %__dse.depth)"
            yield from statement.lines
            return
        yield from statement.lines
        if callee in self._foreign and statement.opcode == "call":
            yield f"  call void @__dse_leave(i32 {at})"
        if callee in RETURNS_TWICE:
            yield _RESUME

    def _variable_arguments(self, given: list[str]) -> Iterator[str]:
        """Yield the bytes of arguments that may be in memory, each in words of 8."""
        total = "0"
        for argument in given:
            structure = BY_VALUE.search(argument)
            size = size_expression(structure[1] if structure else split_type(argument)[0])
            rounded, words, sum_ = self._name(), self._name(), self._name()
            yield f"  {rounded} = add i64 {size}, 7"
            yield f"  {words} = and i64 {rounded}, -8"
            yield f"  {sum_} = add i64 {words}, {total}"
            total = sum_
        yield f"  store i64 {total}, ptr @__dse_varargs"

    def _intrinsic(self, statement: Statement, callee: str) -> Iterator[str]:
        yield from self._accesses(statement, callee)
        yield from statement.lines
        if callee.startswith("llvm.va_start"):
            pointer = argument_value(statement.arguments()[0])
            yield f"  call void @__dse_va_start(ptr {pointer}, i64 %__dse.varargs, {_CALLER})"
        elif (pointer := _lifetime(statement)) in self._sizes:
            yield f"  call void @__dse_clear(ptr {pointer}, i64 {self._sizes[pointer]})"

    def _alloca(self, statement: Statement) -> Iterator[str]:
        """Yield the birth of a local that has no marked lifetime: it lives from here on."""
        if statement.result in self._reborn:
            return
        size = self._sizes[statement.result]
        counts = [part for part in statement.operands()[1:] if re.match(r"i\d+ ", part)]
        if counts and (count := re.fullmatch(r"i64 (\S+)", counts[0])):
            total = self._name()
            yield f"  {total} = mul i64 {count[1]}, {size}"
            size = total
        yield f"  call void @__dse_clear(ptr {statement.result}, i64 {size})"

    def _accesses(self, statement: Statement, callee: str) -> Iterator[str]:
        if callee.startswith(_COPIES):
            (source, length), (to, _) = access_addresses(statement, callee)
            place = f"i32 {self._site}, i32 {self._block}"
            self._site += 2
            yield f"  call void @__dse_copy(ptr {to}, ptr {source}, i64 {length}, {place})"
            return
        kinds = list_accesses(statement, callee)
        for (kind, size), (pointer, length) in zip(
            kinds, access_addresses(statement, callee), strict=True
        ):
            place = f"i32 {self._site}, i32 {self._block}"
            self._site += 1
            if size in HOOKED_SIZES:
                hook = f"preserve_mostcc void @__dse_{kind}{size}(ptr {pointer}, {place})"
            else:
                name = {"load": "read", "store": "write"}[kind]
                hook = f"void @__dse_{name}(ptr {pointer}, i64 {length}, {place})"
            yield f"  call {hook}"


def _lifetime(statement: Statement) -> str:
    """Return the local whose lifetime begins, or ``""``."""
    if statement.opcode == "call" and "@llvm.lifetime.start" in statement.body:
        return argument_value(statement.arguments()[-1])
    return ""


def access_addresses(statement: Statement, callee: str) -> list[tuple[str, str]]:
    """Return address and bytes of each access, in the order of ``list_accesses``."""
    opcode = statement.opcode
    if opcode in ("load", "store", "atomicrmw", "cmpxchg"):
        operands = statement.operands()
        at = 1 if opcode in ("load", "store") else 0
        pointer = re.sub(r"^.*?\bptr (?:addrspace\(\d+\) )?", "", operands[at])
        pointer = _ORDERING.sub("", pointer)
        kind = operands[0] if opcode == "load" else split_type(operands[1 - at])[0]
        return [(pointer, size_expression(kind))] * (1 if at else 2)
    if not callee.startswith(("llvm.mem", "llvm.va_copy", "llvm.va_start")):
        return []
    values = [argument_value(argument) for argument in statement.arguments()]
    if callee.startswith(_COPIES):
        return [(values[1], values[2]), (values[0], values[2])]
    if callee.startswith("llvm.memset."):
        return [(values[0], values[2])]
    if callee.startswith("llvm.va_copy"):
        return [(value, VARIABLE_ARGUMENT_LIST) for value in reversed(values)]
    return [(values[0], VARIABLE_ARGUMENT_LIST)]
