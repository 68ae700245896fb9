"""A compiler's command line, read as far as it must be to compile, and to link, again."""

from __future__ import annotations

import re
import shlex
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

# Options whose value is the next argument.
_FOR_LINKER = frozenset(("-L", "-l", "-Xlinker", "-T", "-u", "-z", "-e", "-rpath", "-soname", "-h"))
_DEPENDENCIES = frozenset(("-MF", "-MT", "-MQ", "-MJ"))
_MEANING = frozenset(("-D", "-U", "-I", "-include", "-isystem", "-Xclang"))
_OTHER_VALUES = (
    "imacros iquote idirafter iprefix iwithprefix iwithprefixbefore isysroot -sysroot Xassembler"
    " Xpreprocessor target -param B F mllvm A G aux-info dumpbase dumpdir Wl,-rpath Tbss Tdata"
    " Ttext"
)
_WITH_VALUE = (
    frozenset(("-o", "-x", *(f"-{name}" for name in _OTHER_VALUES.split())))
    | _FOR_LINKER
    | _DEPENDENCIES
    | _MEANING
)
# With one of these, nothing is compiled to an object or linked.
_ELSEWHERE = re.compile(
    r"-(?:E|M|MM|S|fsyntax-only|###|dM|emit-llvm|emit-ast|cc1|cc1as|-version|-help|h|V|qversion|version"
    r"|-target-help|dump.*|print-.*|-print-.*|-precompile|-analyze)"
)
C_LANGUAGES = {".c": "c", ".i": "cpp-output"}
CXX_LANGUAGES = dict.fromkeys((".cc", ".cpp", ".cxx", ".C", ".c++", ".cp", ".CPP"), "c++") | {
    ".ii": "c++-cpp-output"
}
LANGUAGES = C_LANGUAGES | CXX_LANGUAGES
ASSEMBLY = {".s": "assembler", ".S": "assembler-with-cpp", ".sx": "assembler-with-cpp"}
# A module of IR is compiled without these: dependencies, warnings, debugging, instrumentation.
_NOT_FOR_IR = re.compile(
    r"-(?:c|MD|MMD|MP|MG|M[FTQJ].+|g.*|flto.*|fno-lto|fsanitize.*|W(?!p,-[DU]).*|w|pedantic.*|save-temps.*"
    r"|-coverage|fprofile.*|ftest-coverage|fcoverage.*|pg|p|pipe|fdiagnostics.*|fcolor.*|fwhopr.*"
    r"|ffat-lto.*|l.+|L.+|s|shared|static.*|rdynamic|pie|no-pie|nostdlib|nostartfiles|nodefaultlibs)"
)
_NOT_COMPILED = re.compile(r"-(?:c|flto.*|ffat-lto.*|Wl,.*|l.+|L.+|s|shared|static.*|rdynamic)")
_VALUES_NOT_COMPILED = frozenset(("-o", "-x")) | _FOR_LINKER
_VALUES_NOT_FOR_IR = _VALUES_NOT_COMPILED | _DEPENDENCIES
# A link does not need these options of the compiler. With them, the compiler would build its
# libraries again for each set of flags, which takes a minute.
_NOT_LINKED = re.compile(
    r"-(?:flto.*|fwhopr.*|ffat-lto.*|M[DMPG]*|M[FTQJ].+|c|O.*|g.*|m(?:arch|cpu|tune)=.*|D.+|U.+|I.+|std=.*"
    r"|W(?!l,).*|fsanitize.*|-coverage|fprofile.*|pg|w|pedantic.*)"
)
_DROPPED_FROM_LINK = frozenset(("-o", "-x")) | _DEPENDENCIES | _MEANING


@dataclass(frozen=True, slots=True)
class Input:
    """A file on the command line: its place there, and its language ("" for what is linked)."""

    position: int
    path: str
    language: str


@dataclass(frozen=True, slots=True)
class Command:
    """A command line of a compiler, response files put in.

    Parameters
    ----------
    arguments : tuple of str
    inputs : tuple of Input
    output : str or None
    mode : {"compile", "link", "other"}
        "other" is passed to the compiler as it is.
    """

    arguments: tuple[str, ...]
    inputs: tuple[Input, ...]
    output: str | None
    mode: str

    @property
    def sources(self) -> tuple[Input, ...]:
        """The inputs that are compiled, or assembled."""
        return tuple(each for each in self.inputs if each.language)

    @property
    def partial(self) -> bool:
        """Whether objects are linked to an object."""
        return any(each in ("-r", "-Wl,-r", "-Wl,--relocatable") for each in self.arguments)

    @property
    def chooses_processor(self) -> bool:
        """Whether the command names the processor of the code."""
        return any(each.startswith(("-march=", "-mcpu=", "-m32")) for each in self.arguments)

    def without_inputs(self) -> tuple[str, ...]:
        """Return only the options."""
        places = {each.position for each in self.inputs}
        return tuple(each for i, each in enumerate(self.arguments) if i not in places)

    def compiling(self) -> tuple[str, ...]:
        """Return the options without inputs, output, language and the linker's options."""
        return _without(self.without_inputs(), _NOT_COMPILED, _VALUES_NOT_COMPILED)

    def for_ir(self) -> tuple[str, ...]:
        """Return the options that change the meaning of a source."""
        return _without(self.without_inputs(), _NOT_FOR_IR, _VALUES_NOT_FOR_IR)


def _without(
    arguments: Sequence[str], pattern: re.Pattern[str], with_value: frozenset[str] | set[str]
) -> tuple[str, ...]:
    kept: list[str] = []
    rest = iter(arguments)
    for each in rest:
        if each in with_value:
            next(rest, None)
        elif each in _WITH_VALUE:
            kept += [each, next(rest, "")]
        elif not pattern.fullmatch(each) and not (each.startswith("-o") and "-o" in with_value):
            kept.append(each)
    return tuple(kept)


def link_arguments(arguments: Sequence[str]) -> tuple[str, ...]:
    """Return the arguments of a link without the output and the compiler's options.

    >>> link_arguments(["-O2", "-g", "a.o", "-o", "a", "-lm", "-Wl,--as-needed"])
    ('a.o', '-lm', '-Wl,--as-needed')
    """
    return _without(arguments, _NOT_LINKED, _DROPPED_FROM_LINK)


def optimisation_level(flags: Sequence[str]) -> int:
    """Return the level of optimisation that flags ask for: 1, as profiles take, if they name none.

    >>> [optimisation_level(flags) for flags in (["-O2"], ["-g", "-Og"], [], ["-O0"])]
    [2, 1, 1, 0]
    """
    given = [flag[2:] for flag in flags if re.fullmatch(r"-O(?:\d|s|z|g|fast)?", flag)]
    known = {"": 1, "g": 1, "s": 2, "z": 2, "fast": 3}
    return (
        known.get(given[-1]) or min(int(given[-1]), 3)
        if given and given[-1] != "0"
        else int(not given)
    )


def expand_response_files(arguments: Sequence[str], depth: int = 0) -> tuple[str, ...]:
    """Return the arguments, with response files (``@FILE``) replaced by their contents."""
    result: list[str] = []
    for each in arguments:
        file = Path(each[1:])
        if each.startswith("@") and depth < 10 and file.is_file():
            result += expand_response_files(shlex.split(file.read_text()), depth + 1)
        else:
            result.append(each)
    return tuple(result)


def read_command(arguments: Sequence[str], cxx: bool = False) -> Command:
    """Read a command line.

    >>> command = read_command(["-c", "-O2", "a.c", "-o", "a.o"])
    >>> command.mode, command.output, command.sources[0].language, command.for_ir()
    ('compile', 'a.o', 'c', ('-O2',))
    """
    line = expand_response_files(arguments)
    inputs: list[Input] = []
    output, language, mode, at = None, "none", "link", 0
    while at < len(line):
        each = line[at]
        if each in _WITH_VALUE and at + 1 < len(line):
            if each == "-o":
                output = line[at + 1]
            elif each == "-x":
                language = line[at + 1]
            at += 2
            continue
        if each == "-c":
            mode = "compile" if mode == "link" else mode
        elif _ELSEWHERE.fullmatch(each):
            mode = "other"
        elif each.startswith("-o") and len(each) > 2 and each[2] != "b":
            output = each[2:]
        elif each.startswith("-x") and len(each) > 2:
            language = each[2:]
        elif not each.startswith("-") or each == "-":
            inputs.append(Input(at, each, _language(each, language, cxx)))
        at += 1
    if not inputs or any("header" in each.language for each in inputs):
        mode = "other"
    return Command(line, tuple(inputs), output, mode)


def _language(path: str, given: str, cxx: bool) -> str:
    if given != "none":
        return given
    suffix = Path(path).suffix
    if suffix == ".c" and cxx:
        return "c++"
    if suffix in (".h", ".hh", ".hpp", ".hxx", ".H"):
        return "c-header"
    return (LANGUAGES | ASSEMBLY).get(suffix, "")
