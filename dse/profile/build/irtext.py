"""LLVM IR as text: functions, blocks and statements, and the parts of a statement.

Every value and block is expected to have a name (LLVM's instruction namer has run).
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field

NAME = r'(?:"(?:[^"\\]|\\.)*"|[-\w.$]+)'
_LABEL = re.compile(rf"({NAME}):")
_STATEMENT = re.compile(rf"  (?:(%{NAME}) = )?(?:(?:tail|musttail|notail) )?(\w+)")
_FUNCTION = re.compile(rf"@({NAME})\(")
_DEBUG = re.compile(r"!dbg !(\d+)")
_ATTRIBUTE = re.compile(
    r"(?:align \d+|\w+\((?:[^()]|\([^()]*\))*\)"
    r"|(?!getelementptr|inttoptr|ptrtoint|addrspacecast|bitcast|blockaddress|splat|no_cfi|trunc"
    r"|null|true|false|undef|poison|zeroinitializer|none)[a-z_]+) +"
)
_OPEN, _CLOSE = "([{<", ")]}>"


def unquoted(name: str) -> str:
    r"""Return a name without its quotes and escapes.

    >>> unquoted('"a\\22b"')
    'a"b'
    """
    if not name.startswith('"'):
        return name
    raw = re.sub(r"\\([0-9A-Fa-f]{2})", lambda m: chr(int(m[1], 16)), name[1:-1])
    return raw.encode("latin-1").decode("utf-8", "replace")


def split_top(text: str) -> list[str]:
    """Split at the commas that stand in no bracket.

    >>> split_top("{ i32, ptr } %a, ptr @b(i8 1, i8 2)")
    ['{ i32, ptr } %a', 'ptr @b(i8 1, i8 2)']
    """
    parts, level, start, quoted = [], 0, 0, False
    for at, letter in enumerate(text):
        if letter == '"':
            quoted = not quoted
        elif quoted:
            continue
        elif letter in _OPEN:
            level += 1
        elif letter in _CLOSE:
            level -= 1
        elif letter == "," and level == 0:
            parts.append(text[start:at].strip())
            start = at + 1
    parts.append(text[start:].strip())
    return [part for part in parts if part]


def split_type(text: str) -> tuple[str, str]:
    """Split a typed value into its type and the rest.

    >>> split_type("{ i32, ptr } noundef %a")
    ('{ i32, ptr }', 'noundef %a')
    """
    level = 0
    for at, letter in enumerate(text):
        if letter in _OPEN:
            level += 1
        elif letter in _CLOSE:
            level -= 1
        elif letter == " " and level == 0:
            return text[:at], text[at + 1 :].strip()
    return text, ""


def value_of(argument: str) -> str:
    """Return the value of a typed argument, its attributes left out.

    >>> value_of("ptr noundef nonnull align 8 captures(none) %b")
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


@dataclass(slots=True)
class Statement:
    """One instruction: its lines, the name it defines (with %, or empty) and its opcode."""

    lines: list[str]
    result: str
    opcode: str

    @property
    def text(self) -> str:
        """The instruction on one line, without its debug location and other metadata."""
        whole = " ".join(line.strip() for line in self.lines)
        return re.split(r", ![a-z]", whole, maxsplit=1)[0]

    @property
    def location(self) -> int:
        """The number of the metadata that says where in the source it is, or 0."""
        match = _DEBUG.search(self.lines[-1])
        return int(match[1]) if match else 0

    @property
    def body(self) -> str:
        """What stands behind the opcode."""
        match = _STATEMENT.match("  " + self.text)
        return ("  " + self.text)[match.end() :].lstrip() if match else ""

    def operands(self) -> list[str]:
        """Return what stands behind the opcode, split at the outer commas."""
        return split_top(re.sub(r"^(?:(?:atomic|volatile) )+", "", self.body))

    def arguments(self) -> list[str]:
        """Return the typed arguments of a call."""
        start = re.search(rf"[@%]{NAME}\(", self.body)
        text = self.body[start.end() :] if start else ""
        level, quoted = 1, False
        for at, letter in enumerate(text):
            if letter == '"':
                quoted = not quoted
            elif not quoted:
                level += (letter in _OPEN) - (letter in _CLOSE)
            if level == 0:
                return split_top(text[:at])
        return []


@dataclass(slots=True)
class BlockText:
    """A block: its label as it is written, and its statements."""

    label: str
    statements: list[Statement] = field(default_factory=list)


@dataclass(slots=True)
class FunctionText:
    """A function's definition: its first line and its blocks."""

    header: str
    blocks: list[BlockText] = field(default_factory=list)

    @property
    def name(self) -> str:
        """The symbol, unquoted."""
        match = _FUNCTION.search(self.header)
        if match is None:
            raise ValueError(f"no function name in {self.header!r}")
        return unquoted(match[1])


def parse_module(text: str) -> list[str | FunctionText]:
    """Split a module into function definitions and the lines between them."""
    parts: list[str | FunctionText] = []
    function: FunctionText | None = None
    for line in text.splitlines():
        if function is None:
            if line.startswith("define "):
                function = FunctionText(line)
                parts.append(function)
            else:
                parts.append(line)
        elif line == "}":
            function = None
        elif not line or line.lstrip().startswith((";", "#dbg")):
            continue
        elif label := _LABEL.match(line):
            function.blocks.append(BlockText(label[1]))
        elif line.startswith("   ") or line.startswith("  ]"):
            function.blocks[-1].statements[-1].lines.append(line)
        elif statement := _STATEMENT.match(line):
            made = Statement([line], statement[1] or "", statement[2])
            function.blocks[-1].statements.append(made)
        else:
            raise ValueError(f"cannot read this line of LLVM IR: {line!r}")
    return parts
