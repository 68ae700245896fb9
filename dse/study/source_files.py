"""Source files: the imports of code, transitively, within its own package or folder.

They are read from the import statements, those in functions included, and never from loaded
modules: the answer is the same in every process. A package's ``__init__`` counts if a name is
imported from it, and not because a module in it is: it is a table of contents then.
"""

from __future__ import annotations

import ast
import functools
import hashlib
import sys
import sysconfig
from collections.abc import Callable, Iterable, Mapping
from importlib.machinery import PathFinder
from pathlib import Path
from types import CodeType, FunctionType, ModuleType
from typing import Any, TypeAlias

import numpy as np

Find: TypeAlias = Callable[[str], Path | None]
"""From a module's dotted name to its file; None for modules that do not belong."""


def reached(first: Mapping[str, Path], find: Find) -> dict[str, Path]:
    """Return the modules that some modules import, with themselves, by dotted name.

    Parameters
    ----------
    first : mapping of str to Path
        Where to begin, by dotted name.
    find : callable
        What belongs.
    """
    found: dict[str, Path] = {}
    waiting = dict(first)
    while waiting:
        name, path = waiting.popitem()
        found[name] = path
        for other in imports(path.read_bytes(), name, path.name == "__init__.py"):
            file = find(other)
            if file is not None and other not in found:
                waiting[other] = file
    return found


@functools.lru_cache(maxsize=1_024)
def imports(text: bytes, module: str, package: bool) -> tuple[str, ...]:
    r"""Return the dotted names that a module's text imports; a name from a module may be one too.

    >>> imports(b"import a.b\nfrom .c import d", "top.mine", False)
    ('a.b', 'top.c', 'top.c.d')
    """
    try:
        tree = ast.parse(text)
    except (SyntaxError, ValueError):  # the import raises it
        return ()
    here = module.split(".") if package else module.split(".")[:-1]
    found: dict[str, None] = {}
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            found |= dict.fromkeys(alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            above = here[: len(here) - node.level + 1] if node.level else []
            base = ".".join([*above, *([node.module] if node.module else [])])
            names = [f"{base}.{alias.name}" if base else alias.name for alias in node.names]
            found |= dict.fromkeys([*([base] if base else []), *names])
    return tuple(found)


def nested_imports(text: bytes, module: str, package: bool) -> set[str]:
    r"""Return the dotted names that the functions of a module's text import.

    >>> nested_imports(b"import a\ndef f():\n    import b", "top", False)
    {'b'}
    """
    try:
        tree = ast.parse(text)
    except (SyntaxError, ValueError):
        return set()
    functions = (n for n in ast.walk(tree) if isinstance(n, ast.FunctionDef | ast.AsyncFunctionDef))
    texts = (ast.unparse(function).encode() for function in functions)
    return {name for inner in texts for name in imports(inner, module, package)}


def is_installed(name: str, folder: Path) -> bool:
    """Return whether a name is an installed module's: a file of a study's folder hides none."""
    top = name.partition(".")[0]
    if top in sys.stdlib_module_names:
        return True
    here = {folder, Path.cwd()}
    paths = [p for p in sys.path if Path(p or ".").resolve() not in here]
    return PathFinder.find_spec(top, paths) is not None


def under(folder: Path, name: str) -> Path | None:
    """Return the file of a module below a folder, by its dotted name."""
    parts = name.split(".")
    if not all(parts):
        return None
    for path in (
        folder.joinpath(*parts[:-1], f"{parts[-1]}.py"),
        folder.joinpath(*parts, "__init__.py"),
    ):
        if path.is_file():
            return path
    return None


def code_of(modules: Iterable[str]) -> set[Path]:
    """Return the files that imported modules reach, each in its own top-level package.

    A module outside all packages reaches what lies next to it, but not all of ``site-packages``.
    """
    found: set[Path] = set()
    by_top: dict[str, dict[str, Path]] = {}
    for name in modules:
        file = getattr(sys.modules.get(name), "__file__", None)
        if file is not None:
            by_top.setdefault(name.partition(".")[0], {})[name] = Path(file)
    for top, first in by_top.items():
        roots = [Path(p) for p in getattr(sys.modules.get(top), "__path__", ())]
        folder = next(iter(first.values())).parent
        find = functools.partial(_installed, top, roots, folder)
        found |= {*reached(first, find).values()}
    return found


def _installed(top: str, roots: list[Path], folder: Path, name: str) -> Path | None:
    head, _, rest = name.partition(".")
    if not roots:  # a single file
        return None if _is_library(folder) else under(folder, name)
    if head != top:
        return None
    for root in roots:
        path = under(root, rest) if rest else root / "__init__.py"
        if path is not None and path.is_file():
            return path
    return None


def _is_library(folder: Path) -> bool:
    paths = (sysconfig.get_path(name) for name in ("purelib", "platlib", "stdlib", "platstdlib"))
    return folder.resolve() in {Path(p).resolve() for p in paths if p}


def fingerprint(function: Callable[..., Any]) -> str:
    """Return a digest of a function of a script: its code, and the values and functions it names.

    Objects of other kinds than numbers, texts, arrays and functions only count by their type.
    """
    state = hashlib.sha256()
    _feed(function, state.update, set())
    return state.hexdigest()


def _feed(value: Any, update: Callable[[bytes], None], seen: set[int]) -> None:
    value = getattr(value, "__wrapped__", value)
    if isinstance(value, FunctionType):
        if id(value) in seen:
            return
        seen.add(id(value))
        cells = {
            c: k.cell_contents
            for c, k in zip(value.__code__.co_freevars, value.__closure__ or (), strict=True)
        }
        known = value.__globals__
        names = {n: known[n] for n in _names(value.__code__) if n in known}
        for part in (value.__code__, value.__defaults__, value.__kwdefaults__, cells, names):
            _feed(part, update, seen)
    elif isinstance(value, CodeType):
        update(value.co_code + repr(value.co_names).encode())
        for constant in value.co_consts:
            _feed(constant, update, seen)
    elif isinstance(value, np.ndarray):
        update(repr((value.dtype, value.shape)).encode() + value.tobytes())
    elif isinstance(value, dict):
        for key, inner in sorted(value.items(), key=lambda item: repr(item[0])):
            update(repr(key).encode())
            _feed(inner, update, seen)
    elif isinstance(value, tuple | list):
        for inner in value:
            _feed(inner, update, seen)
    elif isinstance(value, str | bytes | int | float | complex | np.generic | None):
        update(repr(value).encode())
    elif isinstance(value, ModuleType):
        update(value.__name__.encode())
    else:
        update(f"{type(value).__module__}.{type(value).__qualname__}".encode())


def _names(code: CodeType) -> set[str]:
    inner = (c for c in code.co_consts if isinstance(c, CodeType))
    return {*code.co_names}.union(*(_names(c) for c in inner))
