"""The code that a study names: loading, the files it came from, and the models of packages.

Code comes from installed packages, or from files in the study's own folder.
"""

from __future__ import annotations

import ast
import difflib
import functools
import hashlib
import importlib
import importlib.abc
import importlib.metadata
import importlib.util
import inspect
import os
import pkgutil
import sys
import sysconfig
import threading
import traceback
from collections import deque
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from importlib.machinery import ModuleSpec, PathFinder, SourceFileLoader
from pathlib import Path
from types import CodeType, FunctionType, ModuleType
from typing import Any

import numpy as np

from dse.model.contract import Model
from dse.problems import InputError, Problem, nearest
from dse.study.input_files import find_own_file

_ENGINE = Path(__file__).parents[1]
_PACKAGE = "dse_study_"  # begins the private names of packages of studies' folders
_LOADING = threading.RLock()
_LOADED: dict[Path, _Folder] = {}


def load_model(reference: str, folder: Path | None) -> tuple[Model, tuple[Path, ...]]:
    """Load the model that a study names.

    Parameters
    ----------
    reference : str
        ``module:function`` of an installed package, or ``file.py:function`` in `folder`.

    Returns
    -------
    Model
        The model.
    tuple of Path
        The files that its code came from: its module, and what that imports from its own folder
        or package.

    Raises
    ------
    InputError
        If there is no such module or function, or it is not a model.
    """
    function, paths = load_function(reference, folder, "model")
    if is_of_a_study(function.__module__):
        return Model.from_function(function, reference), paths
    return _installed_model(function, reference), paths


@functools.lru_cache(maxsize=1024)  # to read its annotations is a third of the time of a study
def _installed_model(function: Callable[..., Any], reference: str) -> Model:
    return Model.from_function(function, reference)


def load_function(
    reference: str, folder: Path | None, what: str
) -> tuple[Callable[..., Any], tuple[Path, ...]]:
    """Load a function that a study names; see `load_model`.

    `what`: the kind of object, for the message if it is another one, such as ``"model"``.

    InputError if there is no such module or function.
    """
    source, _, name = reference.partition(":")
    if not name.isidentifier() or not source:
        remedy = 'write "module:function", or "file.py:function" for a file of the study'
        raise _refused(reference, f"'{reference}' does not name a {what}", remedy)
    files: dict[str, Path] = {}
    try:
        if source.endswith(".py"):
            module, files = load_file(find_own_file(folder, source, reference, "*.py"))
        else:
            module = importlib.import_module(source)
    except ModuleNotFoundError as error:
        if error.name is None or not f"{source}.".startswith(f"{error.name}."):
            raise InputError(reference, [_import_problem(source, error)]) from error
        raise _without_module(reference, source) from None
    except (Exception, SystemExit) as error:
        if isinstance(error, InputError) and error.source == reference:
            raise
        raise InputError(reference, [_import_problem(source, error)]) from error
    function = getattr(module, name, None)
    if not inspect.isfunction(function):
        known = [n for n, _ in inspect.getmembers(module, inspect.isfunction) if n[0] != "_"]
        place = getattr(module, "__file__", None) or source
        raise _refused(reference, f"{place} has no function '{name}'", nearest(name, known))
    return function, tuple(sorted({*files.values(), *_code_of(_modules(function))}))


def _refused(reference: str, message: str, remedy: str = "") -> InputError:
    return InputError(reference, [Problem("", message, remedy)])


def _modules(function: Callable[..., Any]) -> set[str]:
    """Return the installed modules that a function and the parts of it are written in."""
    own = set() if is_of_a_study(function.__module__) else {function.__module__}
    return own.union(*(_modules(part) for part in getattr(function, "__parts__", ())))


def _without_module(reference: str, source: str) -> InputError:
    """Return the error of a missing module: with one of its package, else the nearest model."""
    top, _, function = source.partition(".")[0], *reference.partition(":")[1:]
    package = getattr(sys.modules.get(top), "__file__", None)
    known = []
    if package is not None:
        root = Path(package).parent.parent
        files = [p for p in Path(package).parent.rglob("*.py") if not p.name.startswith("_")]
        known = [".".join(p.relative_to(root).with_suffix("").parts) for p in files]
        known += [".".join(p.parent.relative_to(root).parts) for p in files]
    if close := difflib.get_close_matches(source, known, n=1):
        remedy = f"did you mean '{close[0]}:{function}'?"
    else:
        remedy = nearest(reference, [model.name for model in shipped_models()])
    where = f"; '{top}' was imported from {package}" if package and top != source else ""
    return _refused(reference, f"there is no module '{source}'{where}", remedy)


def _import_problem(source: str, error: BaseException) -> Problem:
    """Return the problem of an import that raised, with the line of the user's own code."""
    frames = [f for f in traceback.extract_tb(error.__traceback__) if "importlib" not in f.filename]
    frames = [f for f in frames if not f.filename.startswith("<")]  # made by dataclasses
    frames = [f for f in frames if not Path(f.filename).is_relative_to(_ENGINE)] or frames
    last = frames[-1] if frames else None
    if isinstance(error, InputError) and last:  # a declaration is wrong: name its line
        return Problem("", f"{Path(last.filename).name}, line {last.lineno}: {error}")
    line = f", line {last.lineno} of {Path(last.filename).name}" if last else ""
    if isinstance(error, SyntaxError):
        line = ""  # its own text says where
    return Problem("", f"importing {source} raised {type(error).__name__}: {error}{line}")


# Files of a study's folder


class _Folder:
    """The modules of one folder that were loaded, under a private package name.

    Two studies may each have a ``model.py`` that imports its own ``helper.py``. Both get a separate
    package in `sys.modules`; the plain names are there only while a file is loaded.
    """

    def __init__(self, folder: Path, texts: Mapping[Path, bytes]) -> None:
        state = hashlib.sha256(str(folder).encode())
        for path, text in sorted(texts.items()):
            state.update(str(path).encode() + b"\0" + text)
        self.folder, self.texts, self.files = folder, dict(texts), dict[str, Path]()
        self.package = f"{_PACKAGE}{state.hexdigest()[:12]}"
        root = ModuleType(self.package)
        root.__path__ = []
        sys.modules[self.package] = root
        import cloudpickle  # only for studies with code next to them

        cloudpickle.register_pickle_by_value(root)  # workers cannot import it by name

    def has_changed(self) -> bool:
        """Return whether a file has changed since it was loaded."""
        return any(not p.is_file() or p.read_bytes() != t for p, t in self.texts.items())

    def load(self, entry: str) -> ModuleType:
        """Import a module and its imports from the folder, by their plain names."""
        tops = {name.partition(".")[0] for name in self.files}
        prefix = f"{self.package}."
        own = {n.removeprefix(prefix): m for n, m in sys.modules.items() if n.startswith(prefix)}
        hidden = {n: m for n, m in sys.modules.items() if n.partition(".")[0] in tops}
        finder = _Finder(self, tops)
        for name in hidden:
            del sys.modules[name]
        sys.modules.update(own)
        sys.meta_path.insert(0, finder)
        try:
            return importlib.import_module(entry)
        finally:
            sys.meta_path.remove(finder)
            for name in [n for n in sys.modules if n.partition(".")[0] in tops]:
                del sys.modules[name]
            sys.modules.update(hidden)


class _Finder(importlib.abc.MetaPathFinder):
    """Finds the modules of a folder by their plain names."""

    def __init__(self, folder: _Folder, tops: Collection[str]) -> None:
        self._folder, self._tops = folder, tops

    def find_spec(
        self, fullname: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        if fullname.partition(".")[0] not in self._tops:
            return None
        file = self._folder.files.get(fullname) or _module_file(self._folder.folder, fullname)
        if file is None:
            inner = self._folder.folder.joinpath(*fullname.split("."))
            spec = ModuleSpec(fullname, None, is_package=True)
            spec.submodule_search_locations = [str(inner)]
            return spec if inner.is_dir() else None
        loader = _Loader(fullname, str(file), self._folder.package)
        return importlib.util.spec_from_file_location(fullname, file, loader=loader)


class _Loader(SourceFileLoader):
    """Runs a file under its private name; never from a cache of its byte code."""

    def __init__(self, fullname: str, path: str, package: str) -> None:
        super().__init__(fullname, path)
        self._package = package

    def exec_module(self, module: ModuleType) -> None:
        private = f"{self._package}.{module.__name__}"
        module.__name__ = private
        sys.modules[private] = module
        try:
            code = compile(self.get_data(self.path), self.path, "exec", dont_inherit=True)
            exec(code, vars(module))  # noqa: S102
        except BaseException:
            del sys.modules[private]
            raise


def load_file(path: Path) -> tuple[ModuleType, dict[str, Path]]:
    """Import a file and return its module, and the files of its folder that it imports, by name.

    InputError if a function of it imports another file of the folder: functions travel to workers
    by value, and the other file does not. BaseException: whatever the file raises.
    """
    folder = path.parent.resolve()

    def find(name: str) -> Path | None:
        file = _module_file(folder, name)
        return file if file is not None and not _is_installed(name, folder) else None

    entry = path.stem.replace(".", "_")
    if _is_installed(entry, folder):  # the installed module keeps its name
        entry += "_"
    files = _reached({entry: path}, find)
    for name, file in files.items():
        for other in _imports(file.read_bytes(), name, file.name == "__init__.py", nested=True):
            if find(other) is not None:
                remedy = "import files of the study's folder at the top of the file"
                message = f"{file.name} imports '{other}' in a function"
                raise InputError(str(path), [Problem("", message, remedy)])
    with _LOADING:
        own = _LOADED.get(folder)
        texts = {file: file.read_bytes() for file in files.values()}
        if own is None or own.has_changed():
            own = _LOADED[folder] = _Folder(folder, texts)
        own.texts |= texts
        own.files |= files
        return own.load(entry), files


def is_of_a_study(module: str) -> bool:
    """Return whether a module's name belongs to a study's folder."""
    return module.startswith(_PACKAGE)


# The files that code reaches, transitively, within its own package or folder
#
# They are read from the import statements, those in functions included, and never from loaded
# modules: the answer is the same in every process. A package's ``__init__`` counts if a name is
# imported from it, and not because a module in it is: it is a table of contents then.


def _reached(first: Mapping[str, Path], find: Callable[[str], Path | None]) -> dict[str, Path]:
    """Return the modules that some modules import, with themselves, by dotted name.

    `find`: from a module's dotted name to its file; None for modules that do not belong.
    """
    files: dict[str, Path] = {}
    waiting, known = dict(first), set(first)
    while waiting:
        name, path = waiting.popitem()
        files[name] = path
        for other in _imports(path.read_bytes(), name, path.name == "__init__.py"):
            if other in known:  # most names: to look for a file takes longer than all else
                continue
            known.add(other)
            file = find(other)
            if file is not None:
                waiting[other] = file
    return files


@functools.lru_cache(maxsize=1_024)
def _imports(text: bytes, module: str, package: bool, nested: bool = False) -> tuple[str, ...]:
    r"""Return the dotted names that a module's text imports; a name from a module may be one too.

    `nested`: whether only imports in functions count.

    >>> _imports(b"import a.b\nfrom .c import d", "top.mine", False)
    ('a.b', 'top.c', 'top.c.d')
    """
    try:
        tree = ast.parse(text)
    except (SyntaxError, ValueError):  # the import raises it
        return ()
    here = module.split(".") if package else module.split(".")[:-1]
    functions = (ast.FunctionDef, ast.AsyncFunctionDef)
    roots = [n for n in _statements(tree) if isinstance(n, functions)] if nested else [tree]
    names: dict[str, None] = {}
    for node in (node for root in roots for node in _statements(root)):
        if isinstance(node, ast.Import):
            names |= dict.fromkeys(alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            above = here[: len(here) - node.level + 1] if node.level else []
            base = ".".join([*above, *([node.module] if node.module else [])])
            inner = [f"{base}.{alias.name}" if base else alias.name for alias in node.names]
            names |= dict.fromkeys([*([base] if base else []), *inner])
    return tuple(names)


def _statements(root: ast.AST) -> Iterator[ast.AST]:
    """Yield a node and the statements in it; expressions, most of the nodes, have none."""
    waiting = deque([root])
    while waiting:
        node = waiting.popleft()
        yield node
        waiting.extend(n for n in ast.iter_child_nodes(node) if not isinstance(n, ast.expr))


def _is_installed(name: str, folder: Path) -> bool:
    """Return whether a name is an installed module's: a file of a study's folder hides none."""
    top = name.partition(".")[0]
    if top in sys.stdlib_module_names:
        return True
    here = {folder, Path.cwd()}
    paths = [p for p in sys.path if Path(p or ".").resolve() not in here]
    return PathFinder.find_spec(top, paths) is not None


def _module_file(folder: Path, name: str) -> Path | None:
    """Return the file of a module below a folder, by its dotted name."""
    if not all(name.split(".")):
        return None
    path = os.path.join(folder, *name.split("."))  # texts: a study asks for thousands of files
    files = f"{path}.py", os.path.join(path, "__init__.py")
    return next((Path(file) for file in files if os.path.isfile(file)), None)


def _code_of(modules: Iterable[str]) -> set[Path]:
    """Return the files that imported modules reach, each in its own top-level package.

    A module outside all packages reaches what lies next to it, but not all of ``site-packages``.
    """
    files: set[Path] = set()
    by_top: dict[str, dict[str, Path]] = {}
    for name in modules:
        file = getattr(sys.modules.get(name), "__file__", None)
        if file is not None:
            by_top.setdefault(name.partition(".")[0], {})[name] = Path(file)
    for top, first in by_top.items():
        roots = [Path(p) for p in getattr(sys.modules.get(top), "__path__", ())]
        folder = next(iter(first.values())).parent
        files |= {*_reached(first, functools.partial(_package_file, top, roots, folder)).values()}
    return files


def _package_file(top: str, roots: list[Path], folder: Path, name: str) -> Path | None:
    head, _, rest = name.partition(".")
    if not roots:  # a single file
        names = "purelib", "platlib", "stdlib", "platstdlib"
        libraries = {Path(sysconfig.get_path(library)).resolve() for library in names}
        return None if folder.resolve() in libraries else _module_file(folder, name)
    if head != top:
        return None
    files = (_module_file(root, rest or "__init__") for root in roots)
    return next((file for file in files if file is not None), None)


# Digests of functions of scripts


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
        if id(value) not in seen:
            seen.add(id(value))
            cells = [cell.cell_contents for cell in value.__closure__ or ()]
            names = {n: value.__globals__.get(n) for n in _names(value.__code__)}
            _feed([value.__code__, value.__defaults__, value.__kwdefaults__], update, seen)
            _feed([cells, names], update, seen)
    elif isinstance(value, CodeType):
        update(value.co_code + repr(value.co_names).encode())
        _feed(value.co_consts, update, seen)
    elif isinstance(value, np.ndarray):
        update(repr((value.dtype, value.shape)).encode() + value.tobytes())
    elif isinstance(value, dict):
        for key, inner in sorted(value.items(), key=lambda item: repr(item[0])):
            _feed([repr(key), inner], update, seen)
    elif isinstance(value, tuple | list):
        for inner in value:
            _feed(inner, update, seen)
    elif isinstance(value, str | bytes | int | float | complex | np.generic | None):
        update(repr(value).encode())
    else:
        kind = value if isinstance(value, ModuleType) else type(value)
        update(f"{getattr(kind, '__module__', '')}.{kind.__name__}".encode())


def _names(code: CodeType) -> set[str]:
    inner = (c for c in code.co_consts if isinstance(c, CodeType))
    return {*code.co_names}.union(*(_names(c) for c in inner))


# Models of packages


def shipped_models() -> Iterator[Model]:
    """Yield the models of every package that lists itself in the group ``dse.models``.

    What a package's table of contents names is called by it, as a study would.
    """
    for entry in importlib.metadata.entry_points(group="dse.models"):
        try:
            package = importlib.import_module(entry.value)
        except ImportError:
            continue
        seen: set[int] = set()
        for info in pkgutil.walk_packages(getattr(package, "__path__", []), f"{entry.value}."):
            if not info.name.rpartition(".")[2].startswith("_"):
                for function, model in _models_in(importlib.import_module(info.name)):
                    if id(function) not in seen:
                        seen.add(id(function))
                        yield model


def _models_in(module: ModuleType) -> Iterator[tuple[Callable[..., Any], Model]]:
    """Yield the models that a module defines or that its ``__all__`` names, in the file's order."""
    functions: list[tuple[str, int, Callable[..., Any]]] = []
    function: Callable[..., Any]
    for name, function in inspect.getmembers(module, inspect.isfunction):
        own = function.__module__ == module.__name__ and not name.startswith("_")
        if own or name in getattr(module, "__all__", ()):
            plain = inspect.unwrap(function)
            functions.append((plain.__module__, plain.__code__.co_firstlineno, function))
    for _, _, function in sorted(functions, key=lambda entry: entry[:2]):
        try:
            yield function, Model.from_function(function)
        except (InputError, NameError, TypeError):
            continue  # a helper of the models
