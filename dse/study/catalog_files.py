"""Where catalogs are: in the study's folder, or in an installed package that offers some."""

from __future__ import annotations

import importlib.metadata
import importlib.util
import re
from collections.abc import Iterable
from pathlib import Path

from dse.problems import InputError, Problem, nearest

ENTRY_POINTS = "dse.catalogs"
"""Entry-point group of the packages that offer catalogs."""
_LOOKED_AT = 1 << 20  # characters in which a study says that it is one


def find_catalog(name: str, folder: Path | None = None) -> Path:
    """Find a catalog by name.

    Parameters
    ----------
    name : str
        ``"interfaces"``: ``interfaces.toml`` in the study's folder, else in a package that offers
        catalogs. ``"mine.toml"``: that file in the study's folder.
    folder : Path, optional
        The study's folder.

    Raises
    ------
    InputError
        If there is none, or the file lies outside the study's folder.
    """
    if name.endswith(".toml"):
        return _in_folder(name, folder)
    if folder is not None and re.fullmatch(r"[\w.-]+", name):
        path = folder / f"{name}.toml"
        if path.is_file():
            return _in_folder(path.name, folder)
    shipped = shipped_catalogs()
    for path in shipped:
        if path.stem == name:
            return path
    known = [path.stem for path in (*_files(folder), *shipped) if not _is_study(path)]
    remedies = [nearest(name, known) or "no catalogs are known", *_silent_packages()]
    raise InputError("catalog", [Problem("", f"there is no catalog {name!r}", "; ".join(remedies))])


def shipped_catalogs() -> list[Path]:
    """Return the catalogs of every installed package that offers some, by package and name.

    A package offers its ``*.toml`` files by an entry point of the group ``dse.catalogs``, whose
    value is the package's name. No package is imported for it.
    """
    return [path for _, folder in _packages() for path in _files(folder)]


def _in_folder(name: str, folder: Path | None) -> Path:
    if folder is None:
        problem = Problem("", f"{name!r} names a file beside a study, and there is no study")
        raise InputError("catalog", [problem])
    root = folder.resolve()
    path = (root / name).resolve()
    if not path.is_relative_to(root):
        remedy = f"copy it into {root}: a study reads files of its own folder only"
        raise InputError("catalog", [Problem("", f"{name!r} lies outside the study", remedy)])
    if path.exists() and not path.is_file():
        raise InputError("catalog", [Problem("", f"{name!r} is not a regular file")])
    if not path.is_file():
        remedy = nearest(name, [file.name for file in _files(folder) if not _is_study(file)])
        remedy = remedy or f"{root} holds no catalogs"
        raise InputError("catalog", [Problem("", f"there is no file {name!r}", remedy)])
    return path


def _packages() -> Iterable[tuple[str, Path | None]]:
    """Yield each package that offers catalogs, and its folder if one is found."""
    points = importlib.metadata.entry_points(group=ENTRY_POINTS)
    for package in sorted({point.value for point in points}):
        try:
            found = importlib.util.find_spec(package)
        except (ImportError, ValueError):
            found = None
        locations = list(found.submodule_search_locations or ()) if found else []
        yield package, Path(locations[0]) if locations else None


def _files(folder: Path | None) -> list[Path]:
    files = folder.glob("*.toml") if folder is not None else ()
    return sorted(file for file in files if file.is_file())  # a pipe would be waited for


def _is_study(path: Path) -> bool:
    """Tell whether a file beside a study is another study."""
    with path.open(encoding="utf-8", errors="replace") as file:
        text = file.read(_LOOKED_AT)
    return re.search(r"^\s*\[study\]", text, re.MULTILINE) is not None


def _silent_packages() -> list[str]:
    """Return a sentence for each package that should hold catalogs but does not."""
    sentences = []
    for package, folder in _packages():
        if folder is None:
            sentences.append(f"the package {package!r}, which offers catalogs, is not found")
        elif not _files(folder):
            sentences.append(
                f"{folder} answers to the package name {package!r} and holds no catalogs"
            )
    return sentences
