"""A module of LLVM IR as tables: functions, blocks, edges, registers, calls and memory accesses."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import PurePath

from dse.profile.build.chains import Chain, ChainStep, find_chains
from dse.profile.build.classes import COMPUTATION, classify
from dse.profile.build.irtext import (
    BlockText,
    FunctionText,
    Statement,
    split_type,
    type_size,
    unquote_name,
)
from dse.profile.build.resolvers import INDIRECT


@dataclass(slots=True)
class Access:
    """A place that reads or writes memory; `size` is 0 for runs of bytes known only in the run."""

    block: int
    kind: str
    size: int
    line: int


@dataclass(slots=True)
class Call:
    """A place that calls: `target` is a symbol, or empty for a call through a pointer."""

    block: int
    target: str
    arguments: int
    result: bool


@dataclass(slots=True)
class Block:
    """A basic block; `instructions` are counts by class, `successors` block numbers."""

    function: int
    name: str
    line: int
    instructions: dict[str, int]
    successors: list[int] = field(default_factory=list)
    stops: bool = False  # whether execution may leave in its middle: it calls something

    @property
    def computation(self) -> int:
        """The arithmetic and logical instructions of the block."""
        return sum(self.instructions.get(name, 0) for name in COMPUTATION)


@dataclass(slots=True)
class Function:
    """A function of the program; `entry` is the number of its first block.

    `file` is the name of its source or header, and `path` the place where the compiler found it.
    `system` is true if a header of the system or of the compiler defines it.
    """

    symbol: str
    name: str
    file: str
    path: str
    line: int
    entry: int
    system: bool


@dataclass(slots=True)
class Register:
    """A value used outside the block that defines it (arguments: the function's first block)."""

    name: str
    definition: int
    uses: list[int]
    argument: bool


@dataclass(slots=True)
class Analysis:
    """Everything that the IR says before the program runs; positions in lists are the numbers."""

    functions: list[Function] = field(default_factory=list)
    blocks: list[Block] = field(default_factory=list)
    registers: list[Register] = field(default_factory=list)
    calls: list[Call] = field(default_factory=list)
    accesses: list[Access] = field(default_factory=list)
    chains: list[Chain] = field(default_factory=list)
    foreign: dict[str, bool] = field(default_factory=dict)  # symbol: whether it takes pointers
    assembly: list[int] = field(default_factory=list)  # blocks, once for each that is not empty
    file_assembly: list[str] = field(default_factory=list)  # labels with instructions
    indirect: dict[str, str] = field(default_factory=dict)  # names of functions with a resolver


# An empty text keeps the compiler from moving things; it does nothing.
_EMPTY_ASSEMBLY = re.compile(r'\basm (?:\w+ )*"(?:\s|\\0[9A]|#[^"]*?(?=\\0A|"))*"')


# where systems and the compiler keep headers
_SYSTEM = re.compile(r"^/usr/(?:local/)?(?:include|lib)/|/ziglang/lib/")


_FILE = re.compile(
    r'!(\d+) = (?:distinct )?!DIFile\(filename: "([^"]*)"(?:, directory: "([^"]*)")?'
)


class Locations:
    """Source lines and files by metadata number."""

    def __init__(self, lines: list[str]) -> None:
        self._lines: dict[int, int] = {}
        self._files: dict[int, str] = {}
        self._programs: dict[int, tuple[str, int, int]] = {}
        for line in lines:
            if not line.startswith("!"):
                continue
            if m := re.match(r"!(\d+) = (?:distinct )?!DILocation\(line: (\d+)", line):
                self._lines[int(m[1])] = int(m[2])
            elif m := _FILE.match(line):
                self._files[int(m[1])] = str(PurePath(m[3] or "", m[2]))
            elif m := re.match(r"!(\d+) = distinct !DISubprogram\(", line):
                name = re.search(r'name: "([^"]*)"', line)
                file, at = re.search(r"file: !(\d+)", line), re.search(r"[( ]line: (\d+)", line)
                self._programs[int(m[1])] = (
                    name[1] if name else "",
                    int(file[1]) if file else -1,
                    int(at[1]) if at else 0,
                )

    def line(self, number: int) -> int:
        """Return the source line of a location, 0 where unknown."""
        return self._lines.get(number, 0)

    def function(self, number: int) -> tuple[str, str, int]:
        """Return name, path and line of a function."""
        name, file, line = self._programs.get(number, ("", -1, 0))
        return name, self._files.get(file, ""), line


def list_successors(statement: Statement) -> list[str]:
    """Return the labels a terminator may go to, in order, repeated if it repeats them."""
    return [
        unquote_name(m) for m in re.findall(r'label %("(?:[^"\\]|\\.)*"|[-\w.$]+)', statement.text)
    ]


def analyse_module(parts: list[str | FunctionText]) -> Analysis:
    """Read a module.

    Parameters
    ----------
    parts : list
        Its text, every value and block named, from
        :func:`dse.profile.build.irtext.parse_module`.
    """
    lines = [part for part in parts if isinstance(part, str)]
    locations, result = Locations(lines), Analysis()
    aliases = {
        unquote_name(m[1]): unquote_name(m[2])
        for line in lines
        if (m := re.match(r"@(\S+) = .*\balias\b.*, ptr @(\S+?)(?:,|$)", line))
    }
    indirect = {unquote_name(m[1]) for line in lines if (m := INDIRECT.match(line))}
    result.indirect = {name: name for name in indirect}
    result.indirect |= {alias: name for alias, name in aliases.items() if name in indirect}
    for line in lines:
        m = re.match(r'declare .*?@("[^"]*"|[\w.$]+)\((.*)\)', line)
        if m and not unquote_name(m[1]).startswith("llvm."):
            result.foreign[unquote_name(m[1])] = "ptr" in m[2]
    result.file_assembly = list_assembly_labels(lines)
    for part in parts:
        if isinstance(part, FunctionText):
            _function(result, part, locations, aliases)
    return result


def list_assembly_labels(lines: Iterable[str]) -> list[str]:
    r"""Return the labels of the assembly at file scope that have instructions.

    >>> list_assembly_labels([r'module asm ".symver a, b@V1"', r'module asm "f: ret # back"'])
    ['f']
    """
    found, label = dict[str, None](), "without a label"
    for line in lines:
        if not (match := re.match(r'module asm "(.*)"$', line)):
            continue
        for part in re.split(r"[;\n]", re.sub(r"#.*|//.*", "", unquote_name(f'"{match[1]}"'))):
            text = part.strip()
            while named := re.match(r"([\w.$]+):\s*", text):
                label, text = named[1], text[named.end() :]
            if text and not text.startswith("."):
                found[label] = None
    return list(found)


def _function(
    result: Analysis, text: FunctionText, locations: Locations, aliases: dict[str, str]
) -> None:
    number, first = len(result.functions), len(result.blocks)
    name, path, line = locations.function(text.location)
    system, file = bool(_SYSTEM.search(path)), PurePath(path).name
    result.functions.append(Function(text.name, name or text.name, file, path, line, first, system))
    by_label = {unquote_name(block.label): first + i for i, block in enumerate(text.blocks)}
    arguments = set(text.arguments)
    definitions = dict.fromkeys(arguments, first)
    uses: dict[str, dict[int, None]] = {}
    steps: list[ChainStep] = []
    for at, block in enumerate(text.blocks, first):
        made = Block(number, unquote_name(block.label), _line(block, locations), {})
        result.blocks.append(made)
        for statement in block.statements:
            names = statement.locals
            if statement.result:
                defined = unquote_name(statement.result[1:])
                definitions[defined] = at
                steps.append(_step(at, defined, statement, names, by_label))
            for each in names:
                uses.setdefault(each, {})[at] = None
            _instruction(result, made, at, statement, locations, aliases)
        targets = list_successors(block.statements[-1])
        made.successors = list(dict.fromkeys(by_label[target] for target in targets))
    result.chains += find_chains(steps)
    for name, blocks in uses.items():
        if name not in definitions:  # a label, or a type
            continue
        elsewhere = [block for block in blocks if block != definitions[name]]
        if elsewhere:
            result.registers.append(Register(name, definitions[name], elsewhere, name in arguments))


def _step(
    at: int, name: str, statement: Statement, names: list[str], by_label: dict[str, int]
) -> ChainStep:
    operation = statement.opcode
    if operation == "phi":
        values, blocks = zip(*statement.incoming, strict=True)
        return ChainStep(name, at, operation, values, tuple(by_label[block] for block in blocks))
    if operation == "call" and re.match(r"llvm\.[su](min|max)\.", statement.callee):
        operation = "minmax"
    return ChainStep(name, at, operation, tuple(names))


def _line(block: BlockText, locations: Locations) -> int:
    found = (locations.line(s.location) for s in block.statements if s.location)
    return next((line for line in found if line), 0)


def _instruction(
    result: Analysis,
    block: Block,
    at: int,
    statement: Statement,
    locations: Locations,
    aliases: dict[str, str],
) -> None:
    callee = ""
    if statement.opcode in ("call", "invoke"):
        assembly = statement.callee == "asm"
        callee = "" if assembly else aliases.get(statement.callee, statement.callee)
        if not callee.startswith("llvm.") and not assembly:
            block.stops = True
            given = len(statement.arguments())
            result.calls.append(Call(at, callee, given, bool(statement.result)))
        if assembly and not _EMPTY_ASSEMBLY.search(statement.body):
            result.assembly.append(at)
    name = classify(statement.opcode, callee)
    if name:
        block.instructions[name] = block.instructions.get(name, 0) + 1
    for kind, size in list_accesses(statement, callee):
        result.accesses.append(Access(at, kind, size, locations.line(statement.location)))


def list_accesses(statement: Statement, callee: str) -> list[tuple[str, int]]:
    """Return what an instruction does to memory, as (kind, bytes) in order."""
    opcode = statement.opcode
    if opcode == "load":
        return [("load", type_size(statement.operands()[0]) or 0)]
    if opcode == "store":
        return [("store", type_size(split_type(statement.operands()[0])[0]) or 0)]
    if opcode in ("atomicrmw", "cmpxchg"):
        size = type_size(split_type(statement.operands()[1])[0]) or 0
        return [("load", size), ("store", size)]
    if opcode in ("call", "invoke"):
        copies = [("load", 0), ("store", 0)] * len(statement.copies())
        return copies or _intrinsic_accesses(callee)
    return []


def _intrinsic_accesses(callee: str) -> list[tuple[str, int]]:
    if callee.startswith(("llvm.memcpy.", "llvm.memmove.")):
        return [("load", 0), ("store", 0)]
    if callee.startswith("llvm.memset."):
        return [("store", 0)]
    if callee.startswith("llvm.va_copy"):
        return [("load", 0), ("store", 0)]
    if callee.startswith("llvm.va_start"):
        return [("store", 0)]
    return []
