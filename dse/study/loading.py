"""Loading code: models come from installed packages or from files in the study's own folder."""

from __future__ import annotations

import difflib
import importlib
import importlib.metadata
import inspect
import pkgutil
import sys
import traceback
from collections.abc import Callable, Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

from dse.model.contract import Model
from dse.problems import InputError, Problem, nearest
from dse.study.beside import is_beside, load_beside
from dse.study.reach import code_of

_ENGINE = Path(__file__).parents[1]


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
        or package; see `dse.study.reach`.

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
        What it should be, for the message if it is not one: ``"model"``, say.

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
                    'write "module:function", or "file.py:function" for a file beside the study',
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
    own = set() if is_beside(function.__module__) else {function.__module__}
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
                    f"'{source}' lies outside the study's folder",
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
        return load_beside(path)
    except BaseException as error:
        if not isinstance(error, Exception | SystemExit):
            raise
        raise InputError(reference, [_raised(source, error)]) from error


def _near(reference: str, source: str, package: str | None) -> str:
    """Return the reference with the module beside the missing one, else the nearest model."""
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
    if isinstance(error, InputError) and last:  # what a declaration says is wrong, where it stands
        return Problem("", f"{Path(last.filename).name}, line {last.lineno}: {error}")
    line = f", line {last.lineno} of {Path(last.filename).name}" if last else ""
    if isinstance(error, SyntaxError):
        line = ""  # its own text says where
    return Problem("", f"importing {source} raised {type(error).__name__}: {error}{line}")


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
    for _, _, function in sorted(found, key=lambda each: each[:2]):
        try:
            yield function, Model.from_function(function)
        except (InputError, NameError, TypeError):
            continue  # a helper beside the models
