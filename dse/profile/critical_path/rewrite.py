"""A module's text with the time of each value, in units of :data:`..weights.CYCLE`.

A time is a vector: element k counts from the beginning of the call at depth k of the stack, so one
run gives the critical path of every function that is active (Garcia et al., Kremlin, PLDI 2011,
from which the vectors are). A value is ready its operation's weight after the last of its
operands; the runtime adds the weight of loads and stores, which depends on their last address.
Loads, stores, calls and the choice between values also wait for the branches that they
depend on. Values that only count (:mod:`dse.profile.critical_path.control`) wait for nothing inside
of their loop. Outside, each value of a loop waits for the branch that ended it, which selects the
iteration (the η of gated single assignment; Ottenstein, Ballance, MacCabe, PLDI 1990).

Each load of a pointer names the object in which the pointer is. With that, the runtime counts the
objects of linked structures.
"""

from __future__ import annotations

import functools
import itertools
import re
from collections.abc import Collection, Iterable, Iterator

from dse.profile.build.analysis import list_successors
from dse.profile.build.instrument import (
    RENAMED_MAIN,
    list_static_initializers,
    remove_assumptions,
)
from dse.profile.build.irtext import (
    BlockText,
    FunctionText,
    Statement,
    argument_value,
    quote_name,
    size_expression,
    split_type,
    unquote_name,
)
from dse.profile.build.resolvers import separate_resolvers
from dse.profile.build.rewrite import LEAVES_AT_ONCE, RETURNS_TWICE
from dse.profile.critical_path.control import Flow, find_flow, members
from dse.profile.critical_path.weights import weigh

DEPTH = 16
"""Levels of the stack that have their own time; deeper calls count for the levels above."""
_ARGUMENTS = 32  # whose times are passed on
_TIME = f"<{DEPTH} x i32>"
_ZERO = "zeroinitializer"
_ALIGN = "align 64"
_COPIES = {"memcpy": 2, "memmove": 2, "llvm.memcpy": 2, "llvm.memmove": 2}
_FILLS = {"memset": 2, "llvm.memset": 2}
_PROCESSOR = re.compile(r' "(?:target-cpu|target-features|tune-cpu)"="[^"]*"')
_DECLARATIONS = f"""
@__dse_now = external hidden global {_TIME}, {_ALIGN}
@__dse_control = external hidden global {_TIME}, {_ALIGN}
@__dse_returned = external hidden global {_TIME}, {_ALIGN}
@__dse_passed = external hidden global [{_ARGUMENTS} x {_TIME}], {_ALIGN}
@__dse_outer = external hidden constant [{DEPTH + 1} x {_TIME}], {_ALIGN}
@__dse_path = external hidden global {_TIME}, {_ALIGN}
@__dse_work = external hidden global i64
declare i32 @__dse_enter(i32)
declare void @__dse_leave(i32)
declare void @__dse_resume(i32)
declare void @__dse_finish()
declare void @__dse_loaded(ptr, i64, ptr, ptr)
declare void @__dse_stored(ptr, i64, ptr, ptr)
declare void @__dse_copied(ptr, ptr, i64)
declare void @__dse_followed(ptr, ptr, ptr)
declare {_TIME} @llvm.smax.v{DEPTH}i32({_TIME}, {_TIME})
"""


def insert_times(parts: list[str | FunctionText]) -> str:
    """Return the text of a module whose functions keep the times of their values."""
    out: list[str] = []
    number, accesses = 0, itertools.count()
    parts, early = separate_resolvers(parts)
    own = {"", *(part.name for part in parts if isinstance(part, FunctionText))}
    for part in parts:
        if isinstance(part, FunctionText):
            out += _Rewriter(part, number, own, accesses).lines()
            number += 1
        elif part.startswith(("attributes #", "declare ")):
            out.append(remove_assumptions(_PROCESSOR.sub("", part)))
        elif structors := re.match(r"@llvm\.global_([cd])tors = ", part):
            out += list_static_initializers(part, {"c": "init", "d": "fini"}[structors[1]])
        else:
            out.append(part)
    text = "\n".join([*out, *early, _DECLARATIONS])
    count = f"@__dse_function_count = hidden constant i32 {number}\n"
    last = f"@__dse_last = internal global [{next(accesses) + 1} x i64] zeroinitializer\n"
    return re.sub(r"@main\(", f"@{RENAMED_MAIN}(", text) + count + last


class _Rewriter:
    """One function; `own` has the symbols of all, and "" for calls through pointers.

    `accesses` numbers the loads and stores of all functions.
    """

    def __init__(
        self, function: FunctionText, number: int, own: Collection[str], accesses: Iterator[int]
    ) -> None:
        self._function, self._number, self._own = function, number, own
        self._accesses = accesses
        self._flow: Flow = find_flow(function)
        body = [s for block in function.blocks for s in block.statements]
        self._values = {
            *function.arguments,
            *(unquote_name(s.result[1:]) for s in body if s.result),
        }
        self._objects: dict[str, str] = {}  # the address from which each address is computed
        for s in body:
            if s.opcode == "getelementptr":
                whole = argument_value(s.operands()[1])
                self._objects[s.result] = self._objects.get(whole, whole)
        self._labels = {unquote_name(b.label): i for i, b in enumerate(function.blocks)}
        self._unwound = {
            unquote_name(s.result[1:]) for s in body if s.opcode == "invoke" and s.result
        }
        self._arrivals = {  # where an invoke comes back: the value that it gives
            list_successors(s)[0]: unquote_name(s.result[1:])
            for s in body
            if s.opcode == "invoke" and s.result
        }
        sets = [s for s in dict.fromkeys(self._flow.controllers) if s]
        self._slots = {s: f'%"__dse.slot.{i}"' for i, s in enumerate(sets)}
        self._homes = {
            unquote_name(s.result[1:]): i
            for i, block in enumerate(function.blocks)
            for s in block.statements
            if s.result
        }
        headers = sorted({header for loops in self._flow.loops for header in members(loops)})
        self._exits = {header: f'%"__dse.exit.{header}"' for header in headers}
        self._at = 0  # the block whose lines are made
        self._fresh = 0
        self._gone = False  # whether the call was left before a call that must be the last

    def lines(self) -> Iterator[str]:
        yield _PROCESSOR.sub("", self._function.header)
        for at, block in enumerate(self._function.blocks):
            self._at = at
            yield f"{block.label}:"
            statements = list(block.statements)
            phis = []
            while statements and statements[0].opcode == "phi":
                phis.append(statements.pop(0))
            for phi in phis:
                yield from phi.lines
            for phi in phis:
                yield self._phi(phi)
            if statements and statements[0].opcode == "landingpad":
                pad = statements.pop(0)
                yield from pad.lines
                yield "  call void @__dse_resume(i32 %__dse.depth)"
                yield self._defined(unquote_name(pad.result[1:]), _ZERO)
            if at == 0:
                yield from self._entry()
            if arrived := self._arrivals.get(unquote_name(block.label)):
                yield from self._store(self._load("@__dse_returned"), self._time_slot(arrived))
            yield from self._block(at, block, statements)
        yield "}"

    def _entry(self) -> Iterator[str]:
        yield f"  %__dse.depth = call i32 @__dse_enter(i32 {self._number})"
        rows = f"[{DEPTH + 1} x {_TIME}], ptr @__dse_outer"
        yield f"  %__dse.outer.at = getelementptr {rows}, i32 0, i32 %__dse.depth"
        yield f"  %__dse.outer = load {_TIME}, ptr %__dse.outer.at, {_ALIGN}"
        yield f"  %__dse.given = load {_TIME}, ptr @__dse_control, {_ALIGN}"
        yield f"  %__dse.base = and {_TIME} %__dse.given, %__dse.outer"
        yield f"  %__dse.room = alloca {_TIME}, {_ALIGN}"
        for name in self._unwound:
            yield f"  {self._time_slot(name)} = alloca {_TIME}, {_ALIGN}"
            yield f"  store {_TIME} {_ZERO}, ptr {self._time_slot(name)}, {_ALIGN}"
        for slot in (*self._slots.values(), *self._exits.values()):
            yield f"  {slot} = alloca {_TIME}, {_ALIGN}"
            yield f"  store {_TIME} %__dse.base, ptr {slot}, {_ALIGN}"
        for i, name in enumerate(self._function.arguments):
            if i >= _ARGUMENTS:
                yield self._defined(name, "%__dse.base")
                continue
            given = self._name()
            place = f"getelementptr ([{_ARGUMENTS} x {_TIME}], ptr @__dse_passed, i32 0, i32 {i})"
            yield f"  {given} = load {_TIME}, ptr {place}, {_ALIGN}"
            yield f"  {self._time_name(name)} = and {_TIME} {given}, %__dse.outer"

    # ---- names and small pieces

    def _name(self) -> str:
        self._fresh += 1
        return f"%__dse.{self._fresh}"

    def _time_name(self, value: str) -> str:
        return f'%"{quote_name(value)}!t"'

    def _time_slot(self, value: str) -> str:
        return f'%"{quote_name(value)}!slot"'

    def _defined(self, value: str, time: str) -> str:
        return f"  {self._time_name(value)} = or {_TIME} {time}, {_ZERO}"

    def _load(self, place: str) -> tuple[list[str], str]:
        name = self._name()
        return [f"  {name} = load {_TIME}, ptr {place}, {_ALIGN}"], name

    def _store(self, loaded: tuple[list[str], str], place: str) -> Iterator[str]:
        lines, name = loaded
        yield from lines
        yield f"  store {_TIME} {name}, ptr {place}, {_ALIGN}"

    def _times(self, names: Iterable[str], control: str = "") -> tuple[list[str], str]:
        """Return the lines that find the last of several times, and its name."""
        lines: list[str] = []
        times = [control] if control else []
        for name in dict.fromkeys(names):
            if name not in self._values:
                continue
            if name in self._unwound:
                more, time = self._load(self._time_slot(name))
                lines += more
            else:
                time = self._time_name(name)
            times.append(time)
            for header in self._left_loops(name):
                more, time = self._load(self._exits[header])
                lines += more
                times.append(time)
        if not times:
            return lines, _ZERO
        result = times[0]
        for time in times[1:]:
            last = self._name()
            call = f"call {_TIME} @llvm.smax.v{DEPTH}i32({_TIME} {result}, {_TIME} {time})"
            lines.append(f"  {last} = {call}")
            result = last
        return lines, result

    def _left_loops(self, name: str) -> list[int]:
        """Return the loops between a value and its use: their exits select the value."""
        home = self._homes.get(name)
        loops = self._flow.loops
        return [] if home is None else members(loops[home] & ~loops[self._at])

    def _later(self, time: str, weight: int) -> tuple[list[str], str]:
        if not weight:
            return [], time
        name = self._name()
        splat = ", ".join([f"i32 {weight}"] * DEPTH)
        return [f"  {name} = add {_TIME} {time}, <{splat}>"], name

    def _control(self, at: int) -> tuple[list[str], str]:
        """Return the time of the branch that a block depends on."""
        controllers = self._flow.controllers[at]
        if not controllers:
            return [], "%__dse.base"
        return self._load(self._slots[controllers])

    # ---- blocks

    def _phi(self, phi: Statement) -> str:
        name = unquote_name(phi.result[1:])
        entered = self._flow.inductions.get(name)
        pairs = []
        for _, source in phi.incoming:
            if entered is not None and source not in entered:
                time = self._time_name(name)
            else:
                time = f'%"{quote_name(name)}!from!{quote_name(source)}"'
            pairs.append(f'[ {time}, %"{quote_name(source)}" ]')
        return f"  {self._time_name(name)} = phi {_TIME} {', '.join(pairs)}"

    def _block(self, at: int, block: BlockText, statements: list[Statement]) -> Iterator[str]:
        weight = sum(
            weigh(s)
            for s in block.statements
            if s.opcode not in ("call", "invoke") or s.callee not in self._own
        )
        if weight:
            old, new = self._name(), self._name()
            yield f"  {old} = load i64, ptr @__dse_work"
            yield f"  {new} = add i64 {old}, {weight}"
            yield f"  store i64 {new}, ptr @__dse_work"
        lines, control = self._control(at)
        yield from lines
        for statement in statements[:-1]:
            yield from self._statement(statement, control)
        yield from self._end(at, block, statements[-1], control)

    def _statement(self, statement: Statement, control: str) -> Iterator[str]:
        if statement.opcode == "call" and not statement.callee.startswith("llvm."):
            yield from self._call(statement, control)
            return
        weight = weigh(statement)
        waits = statement.opcode in ("load", "store", "atomicrmw", "cmpxchg", "call")
        lines, time = self._times(statement.locals, control if waits else "")
        yield from lines
        if statement.opcode in ("load", "atomicrmw", "cmpxchg"):
            yield f"  store {_TIME} {time}, ptr %__dse.room, {_ALIGN}"
            pointer, size = self._place(statement)
            at = self._name_last_address()
            yield f"  call void @__dse_loaded(ptr {pointer}, i64 {size}, ptr %__dse.room, {at})"
            lines, time = self._load("%__dse.room")
            yield from lines
        lines, time = self._later(time, weight)
        yield from lines
        yield from statement.lines
        if statement.opcode == "load" and statement.operands()[0] == "ptr":
            pointer, _ = self._place(statement)
            whole = self._objects.get(pointer, pointer)
            yield f"  call void @__dse_followed(ptr {pointer}, ptr {whole}, ptr {statement.result})"
        if statement.result:
            yield self._defined(unquote_name(statement.result[1:]), time)
        if statement.opcode in ("store", "atomicrmw", "cmpxchg"):
            yield f"  store {_TIME} {time}, ptr %__dse.room, {_ALIGN}"
            pointer, size = self._place(statement)
            at = self._name_last_address() if statement.opcode == "store" else "ptr null"
            yield f"  call void @__dse_stored(ptr {pointer}, i64 {size}, ptr %__dse.room, {at})"
            lines, time = self._load("%__dse.room")
            yield from lines
            yield from self._reach(time)
        yield from self._moved(statement, time)

    def _name_last_address(self) -> str:
        """Return where the runtime keeps the last address of a load or store."""
        return f"ptr getelementptr (i64, ptr @__dse_last, i64 {next(self._accesses)})"

    def _place(self, statement: Statement) -> tuple[str, str]:
        operands = statement.operands()
        at = 1 if statement.opcode in ("load", "store") else 0
        pointer = re.sub(r"^.*?\bptr (?:addrspace\(\d+\) )?", "", operands[at])
        pointer = re.sub(
            r" (?:syncscope\(.*?\) )?(?:unordered|monotonic|acquire|release|acq_rel|seq_cst)\b.*$",
            "",
            pointer,
        )
        kind = operands[0] if statement.opcode == "load" else split_type(operands[1 - at])[0]
        return pointer, size_expression(kind)

    def _moved(self, statement: Statement, time: str) -> Iterator[str]:
        """Yield the copies of times that go with copies of memory."""
        callee = re.sub(r"^(llvm\.mem\w+).*", r"\1", statement.callee)
        if callee not in _COPIES and callee not in _FILLS:
            return
        values = [argument_value(argument) for argument in statement.arguments()]
        if callee in _COPIES:
            yield f"  call void @__dse_copied(ptr {values[0]}, ptr {values[1]}, i64 {values[2]})"
            return
        yield f"  store {_TIME} {time}, ptr %__dse.room, {_ALIGN}"
        written = f"ptr {values[0]}, i64 {values[2]}, ptr %__dse.room"
        yield f"  call void @__dse_stored({written}, ptr null)"

    def _reach(self, time: str) -> Iterator[str]:
        """Yield the extension of the active functions' paths to a time."""
        lines, old = self._load("@__dse_path")
        yield from lines
        name = self._name()
        yield f"  {name} = call {_TIME} @llvm.smax.v{DEPTH}i32({_TIME} {old}, {_TIME} {time})"
        yield f"  store {_TIME} {name}, ptr @__dse_path, {_ALIGN}"

    def _before_call(self, statement: Statement, control: str) -> Iterator[str]:
        arguments = statement.arguments()
        for i, argument in enumerate(arguments[:_ARGUMENTS]):
            value = argument_value(argument)
            lines, time = self._times([unquote_name(value[1:])] if value.startswith("%") else [])
            yield from lines
            place = f"getelementptr ([{_ARGUMENTS} x {_TIME}], ptr @__dse_passed, i32 0, i32 {i})"
            yield f"  store {_TIME} {time}, ptr {place}, {_ALIGN}"
        yield f"  store {_TIME} {control}, ptr @__dse_control, {_ALIGN}"
        lines, time = self._times(statement.locals, control)
        yield from lines
        more, time = self._later(time, weigh(statement))
        yield from more
        yield f"  store {_TIME} {time}, ptr @__dse_returned, {_ALIGN}"
        if statement.callee in LEAVES_AT_ONCE:
            yield "  call void @__dse_finish()"

    def _call(self, statement: Statement, control: str) -> Iterator[str]:
        if statement.callee == "asm":
            yield from statement.lines
            if statement.result:
                yield self._defined(unquote_name(statement.result[1:]), control)
            return
        yield from self._before_call(statement, control)
        if "musttail call" in statement.lines[0]:
            yield "  call void @__dse_leave(i32 %__dse.depth)"
            yield from statement.lines
            self._gone = True
            return
        yield from statement.lines
        if statement.callee in RETURNS_TWICE:
            yield "  call void @__dse_resume(i32 %__dse.depth)"
        if statement.result:
            lines, time = self._load("@__dse_returned")
            yield from lines
            yield self._defined(unquote_name(statement.result[1:]), time)
        lines, time = self._times([], control)
        yield from self._moved(statement, time)

    def _end(self, at: int, block: BlockText, statement: Statement, control: str) -> Iterator[str]:
        """Yield the end of a block: times for its branch, and the branch."""
        targets = list(dict.fromkeys(list_successors(statement)))
        decided = control
        if statement.opcode in ("br", "switch", "indirectbr") and len(targets) > 1:
            lines, decided = self._times(statement.locals, control)
            yield from lines
            for controllers, slot in self._slots.items():
                if controllers >> at & 1:
                    yield f"  store {_TIME} {decided}, ptr {slot}, {_ALIGN}"
            stays = [self._flow.loops[self._labels[target]] for target in targets]
            for header in members(self._flow.loops[at] & ~functools.reduce(int.__and__, stays)):
                yield f"  store {_TIME} {decided}, ptr {self._exits[header]}, {_ALIGN}"
            yield from self._reach(decided)
        if statement.opcode == "invoke":
            yield from self._before_call(statement, control)
        for target in targets:
            yield from self._outgoing(block, target, decided)
        if statement.opcode == "ret" and not self._gone:
            lines, time = self._times(statement.locals, control)
            yield from lines
            yield f"  store {_TIME} {time}, ptr @__dse_returned, {_ALIGN}"
            yield from self._reach(time)
            yield "  call void @__dse_leave(i32 %__dse.depth)"
        elif statement.opcode == "resume":
            yield "  call void @__dse_leave(i32 %__dse.depth)"
        yield from statement.lines

    def _outgoing(self, block: BlockText, target: str, decided: str) -> Iterator[str]:
        """Yield the times of the values that phi nodes of a target take from this block."""
        source = unquote_name(block.label)
        for phi in self._function.blocks[self._labels[target]].statements:
            if phi.opcode != "phi":
                break
            name = unquote_name(phi.result[1:])
            entered = self._flow.inductions.get(name)
            if entered is not None and source not in entered:
                continue
            value = next(v for v, s in phi.incoming if s == source)
            names = [] if value in self._unwound else [value]
            lines, time = self._times(names, decided)
            yield from lines
            label = f'%"{quote_name(name)}!from!{quote_name(source)}"'
            yield f"  {label} = or {_TIME} {time}, {_ZERO}"
