"""Loading of code: from installed packages, or from files in the study's own folder."""

from __future__ import annotations

import difflib
import hashlib
import importlib
import importlib.abc
import importlib.metadata
import importlib.util
import inspect
import pkgutil
import sys
import threading
import traceback
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from importlib.machinery import ModuleSpec, SourceFileLoader
from pathlib import Path
from types import ModuleType
from typing import Any

from dse.model.contract import Model
from dse.problems import InputError, Problem, nearest
from dse.study.source_files import code_of, is_installed, nested_imports, reached, under

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
    folder : Path or None
        The study's own folder.

    Returns
    -------
    Model
        The model.
    tuple of Path
        The files that its code came from: its module, and what that imports from its own folder
        or package; see `dse.study.source_files`.

    Raises
    ------
    InputError
        If there is no such module or function, or it is not a model.
    """
    function, paths = load_function(reference, folder, "model")
    return Model.from_function(function, reference), paths


def load_function(
    reference: str, folder: Path | None, what: str
) -> tuple[Callable[..., Any], tuple[Path, ...]]:
    """Load a function that a study names; see `load_model`.

    Parameters
    ----------
    what : str
        The kind of object, for the message if it is another one, such as ``"model"``.

    Raises
    ------
    InputError
        If there is no such module or function.
    """
    source, colon, name = reference.partition(":")
    if not colon or not name.isidentifier() or not source:
        raise InputError(
            reference,
            [
                Problem(
                    "",
                    f"'{reference}' does not name a {what}",
                    'write "module:function", or "file.py:function" for a file of the study',
                )
            ],
        )
    files: dict[str, Path] = {}
    if source.endswith(".py"):
        module, files = _from_file(reference, source, folder)
    else:
        module = _installed(reference, source)
    function = getattr(module, name, None)
    if not inspect.isfunction(function):
        known = [n for n, _ in inspect.getmembers(module, inspect.isfunction) if n[0] != "_"]
        raise InputError(
            reference,
            [
                Problem(
                    "",
                    f"{getattr(module, '__file__', None) or source} has no function '{name}'",
                    nearest(name, known),
                )
            ],
        )
    return function, tuple(sorted({*files.values(), *code_of(_modules(function))}))


def _modules(function: Callable[..., Any]) -> set[str]:
    """Return the installed modules that a function and the parts of it are written in."""
    own = set() if is_of_a_study(function.__module__) else {function.__module__}
    return own.union(*(_modules(part) for part in getattr(function, "__parts__", ())))


def _from_file(
    reference: str, source: str, folder: Path | None
) -> tuple[ModuleType, dict[str, Path]]:
    if folder is None:
        raise InputError(reference, [Problem("", "a study without a folder cannot load a file")])
    path = (folder / source).resolve()
    if not path.is_relative_to(folder.resolve()):
        raise InputError(
            reference,
            [
                Problem(
                    "",
                    f"'{source}' is outside the study's folder",
                    "code is loaded from the study's own folder or from installed packages only",
                )
            ],
        )
    if not path.is_file():
        known = (p.name for p in folder.glob("*.py"))
        raise InputError(
            reference, [Problem("", f"there is no file '{source}'", nearest(source, known))]
        )
    try:
        return load_file(path)
    except BaseException as error:
        if not isinstance(error, Exception | SystemExit):
            raise
        raise InputError(reference, [_raised(source, error)]) from error


def _near(reference: str, source: str, package: str | None) -> str:
    """Return the reference with a module of the missing one's package, else the nearest model."""
    function = reference.partition(":")[2]
    folder = Path(package).parent if package else None
    files = folder.rglob("*.py") if folder else ()
    named = [f.parent if f.name == "__init__.py" else f for f in files]
    modules = [
        ".".join(f.relative_to(folder.parent).with_suffix("").parts)
        for f in named
        if folder and not f.name.startswith("_")
    ]
    if close := difflib.get_close_matches(source, modules, n=1):
        return f"did you mean '{close[0]}:{function}'?"
    return nearest(reference, [m.name for m in shipped_models()])


def _installed(reference: str, source: str) -> ModuleType:
    try:
        return importlib.import_module(source)
    except ModuleNotFoundError as error:
        if error.name is None or not (source + ".").startswith(error.name + "."):
            raise InputError(reference, [_raised(source, error)]) from error
        top = source.partition(".")[0]
        answered = sys.modules.get(top)
        where = getattr(answered, "__file__", None)
        said = f"; '{top}' was imported from {where}" if where and top != source else ""
        raise InputError(
            reference,
            [Problem("", f"there is no module '{source}'{said}", _near(reference, source, where))],
        ) from None
    except (Exception, SystemExit) as error:
        raise InputError(reference, [_raised(source, error)]) from error


def _raised(source: str, error: BaseException) -> Problem:
    every = [f for f in traceback.extract_tb(error.__traceback__) if "importlib" not in f.filename]
    every = [f for f in every if not f.filename.startswith("<")]  # made by dataclasses
    frames = [f for f in every if not Path(f.filename).is_relative_to(_ENGINE)] or every
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
        file = self._folder.files.get(fullname) or under(self._folder.folder, fullname)
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

    Raises
    ------
    InputError
        If a function of it imports another file of the folder: functions travel to workers by
        value, and the other file does not.
    BaseException
        Whatever the file raises.
    """
    folder = path.parent.resolve()

    def find(name: str) -> Path | None:
        file = under(folder, name)
        return file if file is not None and not is_installed(name, folder) else None

    entry = path.stem.replace(".", "_")
    entry += "_" * is_installed(
        entry, folder
    )  # a separate name: the installed module keeps its name
    files = reached({entry: path}, find)
    for name, file in files.items():
        for other in nested_imports(file.read_bytes(), name, file.name == "__init__.py"):
            if find(other) is not None:
                message = f"{file.name} imports '{other}' in a function"
                remedy = "import files of the study's folder at the top of the file"
                raise InputError(str(path), [Problem("", message, remedy)])
    with _LOADING:
        own = _LOADED.get(folder)
        if own is None or own.has_changed():
            texts = {file: file.read_bytes() for file in files.values()}
            own = _LOADED[folder] = _Folder(folder, texts)
        own.texts |= {file: file.read_bytes() for file in files.values()}
        own.files |= files
        return own.load(entry), files


def is_of_a_study(module: str) -> bool:
    """Return whether a module's name belongs to a study's folder."""
    return module.startswith(_PACKAGE)


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
                for function, model in models_in(importlib.import_module(info.name)):
                    if id(function) not in seen:
                        seen.add(id(function))
                        yield model


def models_in(module: ModuleType) -> Iterator[tuple[Callable[..., Any], Model]]:
    """Yield the models that a module defines or that its ``__all__`` names, in the file's order."""
    named = getattr(module, "__all__", ())
    found: list[tuple[str, int, Callable[..., Any]]] = []
    function: Callable[..., Any]
    for name, function in inspect.getmembers(module, inspect.isfunction):
        if name in named or (function.__module__ == module.__name__ and not name.startswith("_")):
            plain = inspect.unwrap(function)
            found.append((plain.__module__, plain.__code__.co_firstlineno, function))
    for _, _, function in sorted(found, key=lambda entry: entry[:2]):
        try:
            yield function, Model.from_function(function)
        except (InputError, NameError, TypeError):
            continue  # a helper of the models
