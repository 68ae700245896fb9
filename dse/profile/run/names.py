"""Names for readers: C++ symbols spelled out, every function's name its own."""

from __future__ import annotations

import ctypes
import re
from collections import Counter
from collections.abc import Callable, Sequence
from typing import Any

from dse.profile.build.hooks import plain_name
from dse.profile.document import CONSTANTS, PROGRAM_INPUT, START, THREADS, UNKNOWN

ORIGINS = (CONSTANTS, PROGRAM_INPUT, UNKNOWN, THREADS, START)


def function_names(tables: dict[str, Any]) -> list[str]:
    """Return the name of every function by number: the program's, the library's, the origins."""
    functions = tables["functions"]
    spelled = demangle_names([f["symbol"] for f in functions])
    own = [
        text if text != f["symbol"] else _scope(f["symbol"], f["name"]) + f["name"]
        for text, f in zip(spelled, functions, strict=True)
    ]
    files = [f["file"].rsplit("/", 1)[-1] for f in functions]
    foreign = demangle_names([plain_name(symbol) for symbol in tables["foreign"]])
    return [*make_names_unique([*own, *foreign], [*files, *("library" for _ in foreign)]), *ORIGINS]


def demangle_names(symbols: Sequence[str]) -> list[str]:
    """Return C++ symbols as written in the source, others and all unknown ones as they are.

    >>> demangle_names(["main"])
    ['main']
    """
    spell = _demangler()
    return [tidy_name(spell(symbol)) if symbol.startswith("_Z") else symbol for symbol in symbols]


_MEMBER = "1xEv"  # ends the symbol of a nested function x()


def _scope(symbol: str, name: str) -> str:
    """Return the class and namespaces of a C++ symbol that the demangler does not know.

    They are the longest beginning of the symbol that is the scope of another function.

    >>> _scope("main", "main")
    ''
    """
    if not symbol.startswith("_ZN"):
        return ""
    itself = re.compile(rf"::{re.escape(name.partition('<')[0])}(?:<.*>)?::$")
    begins = (symbol[:end] + _MEMBER for end in range(len(symbol), 3, -1))
    for text in demangle_names([begin.replace("_ZNK", "_ZN", 1) for begin in begins]):
        scope = text.removesuffix("x()")
        if scope.endswith("::") and "_Z" not in scope and not itself.search(scope):
            return scope
    return ""


def tidy_name(name: str) -> str:
    """Leave out of a C++ name what its source leaves out: defaults, inline namespaces, ABI tags.

    >>> tidy_name("std::__1::vector<int, std::__1::allocator<int> >::size[abi:nie220108]() const")
    'std::vector<int>::size() const'
    >>> tidy_name("std::__1::basic_string<char, std::__1::char_traits<char>>::clear()")
    'std::string::clear()'
    """
    name = re.sub(r"\[abi:\w+\]|(?<=std::)__1::", "", name)
    while match := re.search(r", std::(?:allocator|char_traits|default_delete|less)<", name):
        end, level = match.end(), 1
        while level and end < len(name):
            level += (name[end] == "<") - (name[end] == ">")
            end += 1
        name = name[: match.start()] + name[end:].removeprefix(" ")
    return re.sub(r"(?<=<)\s+|\s+(?=>)", "", name).replace("std::basic_string<char>", "std::string")


def _demangler() -> Callable[[str], str]:
    try:
        library = ctypes.CDLL("libstdc++.so.6")
        function = library.__cxa_demangle
    except (OSError, AttributeError):
        return lambda symbol: symbol
    function.restype = ctypes.c_void_p
    free = ctypes.CDLL(None).free
    free.argtypes = [ctypes.c_void_p]

    def spell(symbol: str) -> str:
        status = ctypes.c_int()
        text = function(symbol.encode(), None, None, ctypes.byref(status))
        if not text:
            return symbol
        found = ctypes.string_at(text).decode("utf-8", "replace")
        free(text)
        return found

    return spell


def make_names_unique(names: Sequence[str], files: Sequence[str]) -> list[str]:
    """Make function names unique: by their file, then by a number.

    >>> make_names_unique(["f", "f", "g"], ["a.c", "b.c", "a.c"])
    ['f (a.c)', 'f (b.c)', 'g']
    """
    often = Counter(names)
    labels = [
        f"{name} ({file})" if often[name] > 1 and file else name
        for name, file in zip(names, files, strict=True)
    ]
    often, seen, result = Counter(labels), Counter[str](), []
    for name in labels:
        seen[name] += 1
        result.append(f"{name} #{seen[name]}" if often[name] > 1 and seen[name] > 1 else name)
    return result
