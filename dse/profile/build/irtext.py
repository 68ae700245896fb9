"""LLVM IR as text: functions, blocks and statements, and the parts of a statement.

Every value and block is expected to have a name (LLVM's instruction namer has run).
"""

from __future__ import annotations

import functools
import re
from dataclasses import dataclass, field

NAME = r'(?:"(?:[^"\\]|\\.)*"|[-\w.$]+)'
_LABEL = re.compile(rf"({NAME}):")
_STATEMENT = re.compile(rf"  (?:(%{NAME}) = )?(?:(?:tail|musttail|notail) )?(\w+)")
_FUNCTION = re.compile(rf"@({NAME})\(")
_DEBUG = re.compile(r",? !dbg !(\d+)")
_METADATA = re.compile(r", ![a-z]")
_CALLEE = re.compile(rf"([@%])({NAME})\(")
_ASSEMBLY = re.compile(r'\basm (?:sideeffect |alignstack |inteldialect |unwind )*"')
_LOCAL = re.compile(rf'%({NAME})|"[^"]*"')  # or a text, which may have what looks like one
_INCOMING = re.compile(rf"\[ (?:%({NAME})|[^%].*?), %({NAME}) \]")
_NESTED = re.compile(r'[(\[{<"]')
_BRACKET = re.compile(r'[(\[{<>}\])",]')
_ATTRIBUTE = re.compile(
    r"(?:align \d+|\w+\((?:[^()]|\([^()]*\))*\)"
    r"|(?!getelementptr|inttoptr|ptrtoint|addrspacecast|bitcast|blockaddress|splat|no_cfi|trunc"
    r"|null|true|false|undef|poison|zeroinitializer|none)[a-z_]+) +"
)
BY_VALUE = re.compile(r"\bbyval\(((?:[^()]|\([^()]*\))*)\)")
"""A structure that is passed by value in memory: its type."""
_OPEN, _CLOSE = "([{<", ")]}>"


def unquote_name(name: str) -> str:
    r"""Return a name without its quotes and escapes.

    >>> unquote_name('"a\\22b"')
    'a"b'
    """
    if not name.startswith('"'):
        return name
    raw = re.sub(r"\\([0-9A-Fa-f]{2})", lambda m: chr(int(m[1], 16)), name[1:-1])
    return raw.encode("latin-1").decode("utf-8", "replace")


def quote_name(name: str) -> str:
    r"""Return a name as LLVM writes it inside quotes.

    >>> quote_name('a"b')
    'a\\22b'
    """
    return "".join(
        letter
        if letter.isprintable() and letter.isascii() and letter not in '"\\'
        else f"\\{byte:02X}"
        for letter in name
        for byte in letter.encode()
    )


def split_at_commas(text: str) -> list[str]:
    """Split at the commas outside of brackets.

    >>> split_at_commas("{ i32, ptr } %a, ptr @b(i8 1, i8 2)")
    ['{ i32, ptr } %a', 'ptr @b(i8 1, i8 2)']
    """
    if not _NESTED.search(text):
        return [part for each in text.split(",") if (part := each.strip())]
    parts, level, start, quoted = [], 0, 0, False
    for match in _BRACKET.finditer(text):
        letter, at = match[0], match.start()
        if letter == '"':
            quoted = not quoted
        elif quoted:
            continue
        elif letter in _OPEN:
            level += 1
        elif letter in _CLOSE:
            level -= 1
        elif level == 0:
            parts.append(text[start:at].strip())
            start = at + 1
    parts.append(text[start:].strip())
    return [part for part in parts if part]


def split_type(text: str) -> tuple[str, str]:
    """Split a typed value into its type and the rest.

    >>> split_type("{ i32, ptr } noundef %a")
    ('{ i32, ptr }', 'noundef %a')
    """
    first, _, rest = text.partition(" ")
    if not _NESTED.search(first):
        return first, rest.strip()
    level = 0
    for at, letter in enumerate(text):
        if letter in _OPEN:
            level += 1
        elif letter in _CLOSE:
            level -= 1
        elif letter == " " and level == 0:
            return text[:at], text[at + 1 :].strip()
    return text, ""


def argument_value(argument: str) -> str:
    """Return the value of a typed argument, its attributes left out.

    >>> argument_value("ptr noundef nonnull align 8 captures(none) %b")
    '%b'
    """
    rest = split_type(argument)[1]
    while match := _ATTRIBUTE.match(rest):
        rest = rest[match.end() :]
    return rest


def type_size(kind: str) -> int | None:
    """Return the bytes that a load or store of a type moves, None if it takes a data layout.

    >>> type_size("i1"), type_size("ptr"), type_size("<4 x float>"), type_size("%struct.s")
    (1, 8, 16, None)
    """
    known = {"ptr": 8, "half": 2, "bfloat": 2, "float": 4, "double": 8, "x86_fp80": 10, "fp128": 16}
    if kind in known:
        return known[kind]
    if re.fullmatch(r"i\d+", kind):
        return (int(kind[1:]) + 7) // 8
    vector = re.fullmatch(r"<(\d+) x (\S+)>", kind)
    if vector and (size := type_size(vector[2])) is not None:
        return int(vector[1]) * size
    return None


def size_expression(kind: str) -> str:
    """Return a constant of type i64 that LLVM evaluates to the size of a type."""
    size = type_size(kind)
    if size is not None:
        return str(size)
    return f"ptrtoint (ptr getelementptr ({kind}, ptr null, i32 1) to i64)"


@dataclass
class Statement:
    """One instruction.

    Parameters
    ----------
    lines : list of str
        Its text without its place in the source.
    result : str
        The name that it defines, with %, or empty.
    opcode : str
        LLVM's name of the instruction.
    location : int
        The number of the metadata that says where in the source it is, or 0.
    """

    lines: list[str]
    result: str
    opcode: str
    location: int = 0

    @functools.cached_property
    def text(self) -> str:
        """The instruction on one line, without metadata."""
        whole = " ".join(line.strip() for line in self.lines)
        return _METADATA.split(whole, maxsplit=1)[0]

    @functools.cached_property
    def body(self) -> str:
        """The text after the opcode."""
        match = _STATEMENT.match("  " + self.text)
        return self.text[match.end() - 2 :].lstrip() if match else ""

    @functools.cached_property
    def callee(self) -> str:
        """Of a call the symbol, ``"asm"``, or nothing if it goes through a pointer."""
        if _ASSEMBLY.search(self.body):
            return "asm"
        match = _CALLEE.search(self.body)
        return unquote_name(match[2]) if match and match[1] == "@" else ""

    @property
    def locals(self) -> list[str]:
        """The names in it with %: values, labels and types; a pointer that it calls comes last."""
        names = [unquote_name(name) for name in _LOCAL.findall(self.body) if name]
        if self.opcode in ("call", "invoke") and not self.callee:
            match = _CALLEE.search(self.body)
            if match:
                called = unquote_name(match[2])
                names.remove(called)
                names.append(called)
        return names

    @property
    def incoming(self) -> list[tuple[str, str]]:
        """Of a phi node the values, empty if they are constants, and the blocks they are from."""
        pairs = _INCOMING.findall(self.body)
        return [(unquote_name(value), unquote_name(block)) for value, block in pairs]

    def operands(self) -> list[str]:
        """Return the text after the opcode, split at the outer commas."""
        return split_at_commas(re.sub(r"^(?:(?:atomic|volatile) )+", "", self.body))

    def arguments(self) -> list[str]:
        """Return the typed arguments of a call."""
        return _arguments(self.body)

    def copies(self) -> list[tuple[str, str]]:
        """Return the structures that a call copies to pass them by value: address and bytes."""
        if "byval(" not in self.body:
            return []
        matches = ((each, BY_VALUE.search(each)) for each in self.arguments())
        return [
            (argument_value(each), size_expression(match[1])) for each, match in matches if match
        ]


def _arguments(text: str) -> list[str]:
    """Return the text in brackets after the first name of a function."""
    start = _CALLEE.search(text)
    level, quoted = 1, False
    for match in _BRACKET.finditer(text, start.end()) if start else ():
        letter = match[0]
        if letter == '"':
            quoted = not quoted
        elif not quoted:
            level += (letter in _OPEN) - (letter in _CLOSE)
        if start and level == 0:
            return split_at_commas(text[start.end() : match.start()])
    return []


@dataclass(slots=True)
class BlockText:
    """A block: its label as it is written, and its statements."""

    label: str
    statements: list[Statement] = field(default_factory=list)


@dataclass(slots=True)
class FunctionText:
    """A function's definition: its first line, where in the source it is, and its blocks.

    The place is a number of metadata, or 0.
    """

    header: str
    location: int
    blocks: list[BlockText] = field(default_factory=list)

    @property
    def name(self) -> str:
        """The symbol, unquoted."""
        match = _FUNCTION.search(self.header)
        if match is None:
            raise ValueError(f"no function name in {self.header!r}")
        return unquote_name(match[1])

    @property
    def parameters(self) -> list[str]:
        """Its arguments with types and attributes; the last one may be ``...``."""
        return _arguments(self.header)

    @property
    def arguments(self) -> list[str]:
        """The names of its arguments, unquoted."""
        ends = (re.search(rf"%({NAME})$", each) for each in self.parameters)
        return [unquote_name(match[1]) for match in ends if match]


def parse_module(text: str) -> list[str | FunctionText]:
    """Split a module into function definitions and the lines between them."""
    parts: list[str | FunctionText] = []
    function: FunctionText | None = None
    for line in text.splitlines():
        if function is None:
            if line.startswith("define "):
                function = FunctionText(*split_location(line))
                parts.append(function)
            else:
                parts.append(line)
        elif line == "}":
            function = None
        elif not line or line.lstrip().startswith((";", "#dbg")):
            continue
        elif label := _LABEL.match(line):
            function.blocks.append(BlockText(label[1]))
        elif line.startswith(("   ", "  ]")):
            statement = function.blocks[-1].statements[-1]
            line, statement.location = split_location(line)
            statement.lines.append(line)
        elif match := _STATEMENT.match(line):
            line, location = split_location(line)
            made = Statement([line], match[1] or "", match[2], location)
            function.blocks[-1].statements.append(made)
        else:
            raise ValueError(f"cannot read this line of LLVM IR: {line!r}")
    return parts


def split_location(line: str) -> tuple[str, int]:
    """Return a line without its place in the source, and the number of that place or 0.

    >>> split_location("  %i = load i32, ptr @n, align 4, !dbg !18, !tbaa !19")
    ('  %i = load i32, ptr @n, align 4, !tbaa !19', 18)
    """
    match = _DEBUG.search(line)
    return (line[: match.start()] + line[match.end() :], int(match[1])) if match else (line, 0)
