"""Code beside a study: the modules of one folder, under a package name of their own.

Two studies may each have a ``model.py`` that imports its own ``helper.py``. Plain imports would
give both the same helper, and would need the folders on ``sys.path``. Here each folder is a package
with a private name; an import of a file that lies beside is rewritten to that package when the
importing file is compiled. The texts are read once: what runs is what the digest covers.

Worker processes get functions by value (cloudpickle). An import inside a function names its folder
(``__beside__``), which travels with the function and brings the texts along.
"""

from __future__ import annotations

import ast
import hashlib
import importlib
import importlib.abc
import sys
from collections.abc import Mapping, Sequence
from importlib.machinery import ModuleSpec, PathFinder
from pathlib import Path
from types import CodeType, ModuleType
from typing import Any

from dse.study.reach import reached, under

_MARK = "__beside__"
_FOLDERS: dict[str, Beside] = {}  # by package name
_LATEST: dict[Path, Beside] = {}  # by folder


class Beside:
    """The modules of one folder.

    Parameters
    ----------
    package : str
        The private name.
    folder : str
        Where the modules lie.
    sources : mapping of str to (str, bytes)
        File and text of each module, by its name in the folder.
    """

    def __init__(self, package: str, folder: str, sources: Mapping[str, tuple[str, bytes]]) -> None:
        self.package, self.folder, self.sources = package, folder, dict(sources)

    def __reduce__(self) -> tuple[Any, ...]:
        return _restored, (self.package, self.folder, self.sources)

    def changed(self) -> bool:
        """Tell whether a file has another text than the one that was read."""
        for path, text in self.sources.values():
            try:
                if Path(path).read_bytes() != text:
                    return True
            except OSError:
                return True
        return False


def load_beside(path: Path) -> tuple[ModuleType, dict[str, Path]]:
    """Import a file and return its module, and the files of its folder that it reaches, by name.

    Raises
    ------
    BaseException
        Whatever the file raises.
    """
    folder = path.parent.resolve()
    entry = path.stem.replace(".", "_")
    files = reached({entry: path}, lambda name: _sibling(folder, name))
    for name in tuple(files):  # importing a module runs the packages around it
        parents = [".".join(name.split(".")[:n]) for n in range(1, name.count(".") + 1)]
        around = {p: under(folder, p) for p in parents if p not in files}
        files |= reached({n: f for n, f in around.items() if f}, lambda n: _sibling(folder, n))
    sources = {name: (str(file), file.read_bytes()) for name, file in files.items()}
    home = _LATEST.get(folder)
    if home is None or home.changed():
        state = hashlib.sha256(str(folder).encode())
        for name, (_, text) in sorted(sources.items()):
            state.update(name.encode() + b"\0" + text)
        home = _LATEST[folder] = Beside(f"dse_study_{state.hexdigest()[:12]}", str(folder), {})
    _known(home).sources.update(sources)
    _carry_by_value(home.package)
    return importlib.import_module(f"{home.package}.{entry}"), files


def is_beside(module: str) -> bool:
    """Tell whether a module's name is one of a study's folder."""
    return module.partition(".")[0] in _FOLDERS


def _known(home: Beside) -> Beside:
    """Make a folder known to the import system of this process; return the one that is known."""
    if not any(isinstance(finder, _Finder) for finder in sys.meta_path):
        sys.meta_path.append(_Finder())
    return _FOLDERS.setdefault(home.package, home)


def _restored(package: str, folder: str, sources: Mapping[str, tuple[str, bytes]]) -> Beside:
    home = _known(Beside(package, folder, {}))
    home.sources.update(sources)
    return home


def _carry_by_value(package: str) -> None:
    """Send the code of modules itself to worker processes: they cannot import them by name."""
    import cloudpickle  # here alone, for studies with files of their own

    cloudpickle.register_pickle_by_value(importlib.import_module(package))


def _sibling(folder: Path, name: str) -> Path | None:
    top = name.partition(".")[0]
    path = under(folder, name)
    return path if path is not None and not _is_elsewhere(top, folder) else None


def _is_elsewhere(top: str, folder: Path) -> bool:
    """Tell whether a name is an installed module's: a file beside the study hides none."""
    if top in sys.stdlib_module_names:
        return True
    here = {folder, Path.cwd()}
    paths = [p for p in sys.path if Path(p or ".").resolve() not in here]
    return PathFinder.find_spec(top, paths) is not None


class _Finder(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    """Finds the modules of the folders, and runs them."""

    def find_spec(
        self, fullname: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        package, _, name = fullname.partition(".")
        home = _FOLDERS.get(package)
        if home is None:
            return None
        inner = any(other.startswith(f"{name}.") for other in home.sources)
        if name and name not in home.sources and not inner:
            return None
        file, _ = home.sources.get(name, ("", b""))
        is_package = inner or not name or Path(file).name == "__init__.py"
        spec = ModuleSpec(fullname, self, origin=file or None, is_package=is_package)
        spec.has_location = bool(file)
        return spec

    def create_module(self, spec: ModuleSpec) -> ModuleType | None:
        return None

    def exec_module(self, module: ModuleType) -> None:
        package, _, name = module.__name__.partition(".")
        home = _FOLDERS[package]
        if name in home.sources:
            setattr(module, _MARK, home)
            exec(_compiled(home, *home.sources[name]), vars(module))  # noqa: S102


def _compiled(home: Beside, file: str, text: bytes) -> CodeType:
    tops = {name.partition(".")[0] for name in home.sources}
    tree = _Private(home.package, tops).visit(ast.parse(text, file))
    return compile(ast.fix_missing_locations(tree), file, "exec", dont_inherit=True)


class _Private(ast.NodeTransformer):
    """Rewrites imports of files that lie beside to the private package."""

    def __init__(self, package: str, tops: set[str]) -> None:
        self._package, self._tops = package, tops

    def visit_Import(self, node: ast.Import) -> ast.Import | list[ast.stmt]:
        if not any(alias.name.partition(".")[0] in self._tops for alias in node.names):
            return node
        names = []
        for alias in node.names:
            top = alias.name.partition(".")[0]
            private = f"{self._package}.{alias.name}"
            if top not in self._tops:
                names.append(alias)
            elif alias.asname or top == alias.name:
                names.append(ast.alias(private, alias.asname or top))
            else:  # `import top.inner` binds top
                names += [ast.alias(private), ast.alias(f"{self._package}.{top}", top)]
        return self._marked(ast.Import(names), node)

    def visit_ImportFrom(self, node: ast.ImportFrom) -> ast.ImportFrom | list[ast.stmt]:
        if node.level:
            return self._marked(node, node)
        if (node.module or "").partition(".")[0] not in self._tops:
            return node
        return self._marked(ast.ImportFrom(f"{self._package}.{node.module}", node.names, 0), node)

    def _marked(self, new: ast.stmt, old: ast.stmt) -> list[ast.stmt]:
        mark = ast.Expr(ast.Name(_MARK, ast.Load()))
        return [ast.copy_location(each, old) for each in (mark, new)]
