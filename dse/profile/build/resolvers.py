"""Resolvers of indirect functions (``ifunc``, ``target_clones``), which run before all other code.

The loader calls them while it relocates the program: the runtime cannot count yet. They and the
functions that they call therefore run as copies without hooks. The originals count as usual where
the program calls them.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

from dse.profile.build.irtext import NAME, FunctionText, quote_name, unquote_name

INDIRECT = re.compile(rf"@({NAME}) = .*\bifunc\b.*, ptr @({NAME})")
_CALLED = re.compile(rf"@({NAME})(?=\()")
_LINKAGE = re.compile(
    r"^define (?:(?:private|internal|available_externally|linkonce|weak|common|linkonce_odr"
    r"|weak_odr|external|dso_local|dso_preemptable|default|hidden|protected) )*"
)
_COMDAT = re.compile(r" comdat(?:\(\$[^)]*\))?")


def separate_resolvers(
    parts: list[str | FunctionText],
) -> tuple[list[str | FunctionText], list[str]]:
    """Return a module whose indirect functions use copies of their resolvers, and these copies.

    The copies keep their choice in the variable of :func:`resolver_choice`.
    """
    resolvers = {
        unquote_name(m[1]): unquote_name(m[2])
        for part in parts
        if isinstance(part, str) and (m := INDIRECT.match(part))
    }
    if not resolvers:
        return parts, []
    functions = {part.name: part for part in parts if isinstance(part, FunctionText)}
    early = _reached(set(resolvers.values()) & set(functions), functions)
    names = {name: f'"__dse_early_{quote_name(name)}"' for name in early}
    copies = [line for name in early for line in _copied(functions[name], names)]
    for indirect, resolver in resolvers.items():
        copies += [
            f"@{resolver_choice(indirect)} = internal global ptr null",
            f"define internal ptr @{_resolver_of(indirect)}() {{",
            f"  %chosen = call ptr @{names.get(resolver, _as_written(resolver))}()",
            f"  store ptr %chosen, ptr @{resolver_choice(indirect)}",
            "  ret ptr %chosen",
            "}",
        ]
    return [_redirected(part) if isinstance(part, str) else part for part in parts], copies


def resolver_choice(indirect: str) -> str:
    """Return the variable with the function that a resolver chose, as LLVM writes it."""
    return f'"__dse_choice_{quote_name(indirect)}"'


def _resolver_of(indirect: str) -> str:
    return f'"__dse_resolver_{quote_name(indirect)}"'


def _as_written(name: str) -> str:
    return f'"{quote_name(name)}"'


def _redirected(line: str) -> str:
    match = INDIRECT.match(line)
    if not match:
        return line
    return f"{line[: match.start(2)]}{_resolver_of(unquote_name(match[1]))}{line[match.end(2) :]}"


def _reached(begin: set[str], functions: Mapping[str, FunctionText]) -> list[str]:
    """Return the functions that others call, and these, in a fixed order."""
    found, left = set(begin), sorted(begin)
    while left:
        for line in _body(functions[left.pop()]):
            for name in map(unquote_name, _CALLED.findall(line)):
                if name in functions and name not in found:
                    found.add(name)
                    left.append(name)
    return sorted(found)


def _body(function: FunctionText) -> Iterator[str]:
    for block in function.blocks:
        yield f"{block.label}:"
        for statement in block.statements:
            yield from statement.lines


def _copied(function: FunctionText, names: Mapping[str, str]) -> Iterator[str]:
    header = _COMDAT.sub("", _LINKAGE.sub("define internal ", function.header))
    for line in (header, *_body(function), "}"):
        yield _CALLED.sub(lambda m: "@" + names.get(unquote_name(m[1]), m[1]), line)
