"""Files that are read: TOML with limits on sizes, files of the study's folder, and inputs.

An external input is outside the study's folder; it may be private, or large. A run keeps only its
place and its SHA-256. It is explained with the same content, or not at all.
"""

from __future__ import annotations

import hashlib
import os
import sys
import tomllib
import unicodedata
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path, PurePath
from typing import Any, NamedTuple

import numpy as np

from dse.problems import InputError, Problem, check_regular, nearest

_MAX_BYTES = 1 << 28  # of a TOML file
MAX_NAME = 200  # characters of a key: messages and column titles repeat it
_MAX_TEXT = 10_000  # characters of a text: units and names are parsed in quadratic time
_CARRIED = "numbers, texts, truth values, lists, arrays and mappings can"


def read_toml(
    path: Path, parse: Callable[[str], dict[str, Any]] = tomllib.loads
) -> tuple[str, dict[str, Any]]:
    """Read a TOML file, its text and its content.

    `parse`: another form of the same content: a function of the text that raises `ValueError`.

    InputError if there is no such file, it is not TOML, or it is beyond the limits of
    `check_content`.
    """
    if path.is_dir():
        inside = sorted(p.name for p in path.glob("*.toml"))
        remedy = f"name one of its studies: {', '.join(inside)}" if inside else "name a .toml file"
        raise InputError(str(path), [Problem("", "is a folder, not a study file", remedy)])
    try:
        str(path).encode()  # reports and databases contain the name
        check_regular(path, _MAX_BYTES)
        text = path.read_text(encoding="utf-8-sig")
        content = parse(text)
    except FileNotFoundError:
        near = nearest(path.name, (p.name for p in path.parent.glob("*.toml")))
        problem = Problem("", "there is no such file", near)
    except UnicodeEncodeError:
        problem = Problem("", "the name of the file is not UTF-8 text", "rename it")
    except UnicodeDecodeError as error:
        line = error.object[: error.start].count(b"\n") + 1
        byte = error.object[error.start]
        message = f"is not UTF-8 text: line {line} has the byte 0x{byte:02x}"
        problem = Problem("", message, "save it as UTF-8")
    except OSError as error:
        problem = Problem("", f"cannot be read: {error.strerror or error}")
    except RecursionError:
        problem = Problem("", "is nested too deeply")
    except ValueError as error:  # TOMLDecodeError, or a path or a number that Python refuses
        remedy = "see https://toml.io for the syntax"
        if "nclosed" in str(error):
            remedy = "a comma or a bracket may be missing in this line or the line before"
        if parse is not tomllib.loads:
            remedy = "put a text with a comma in quotes"
        kind = "TOML" if parse is tomllib.loads else "a catalog"
        problem = Problem("", f"is not {kind}: {error}", remedy)
    else:
        if problems := check_content(content):
            raise InputError(str(path), problems)
        return text, content
    raise InputError(str(path), [problem])


def check_content(content: Mapping[str, Any]) -> list[Problem]:
    """Return the problems of keys, texts and numbers that are too large, or not printable."""
    problems, waiting = [], [("", content)]
    while waiting:
        where, value = waiting.pop()
        if isinstance(value, str):
            problems += _check_text(where, value, _MAX_TEXT)
        elif isinstance(value, int) and abs(value) > sys.float_info.max:
            problems.append(Problem(where, "is too large a number"))
        elif isinstance(value, Mapping):
            for key, inner in value.items():
                problems += _check_text(where, str(key), MAX_NAME)
                place = str(key)[:MAX_NAME]
                waiting.append((f"{where}.{place}" if where else place, inner))
        elif isinstance(value, list | tuple):
            waiting += [(f"{where}[{i + 1}]", v) for i, v in enumerate(value)]
    return problems[::-1]


def _check_text(where: str, text: str, most: int) -> list[Problem]:
    if len(text) > most:
        message = f"is {len(text):,} characters long: '{text[:20]}…'"
        return [Problem(where, message, f"give at most {most:,} characters")]
    if text.isprintable():
        return []
    found = sorted({c for c in text if unicodedata.category(c) == "Cc" and c not in "\t\n\r"})
    shown = ", ".join(f"U+{ord(c):04X}" for c in found)
    return [Problem(where, f"holds control characters: {shown}")] if found else []


def to_toml(content: Mapping[str, Any]) -> str:
    """Return a mapping as TOML, without the keys whose value is None.

    >>> print(to_toml({"a": {"b": 1, "c d": [True, "x"]}, "e": [{"f": 0.5}]}))
    [a]
    b = 1
    "c d" = [true, "x"]
    <BLANKLINE>
    [[e]]
    f = 0.5
    <BLANKLINE>
    """
    import tomlkit  # 30 ms, and only for studies that are changed or hide a password

    return tomlkit.dumps(_without_none(content))


def _without_none(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {k: _without_none(v) for k, v in value.items() if v is not None}
    return [_without_none(v) for v in value] if isinstance(value, list | tuple) else value


def as_toml_content(value: Any, where: str, problems: list[Problem]) -> Any:
    """Return a value of a script as a TOML file can contain it; note each part that it cannot.

    `where`: the value's key, such as ``"space.lanes.values"``.
    """
    if isinstance(value, np.ndarray | np.generic):
        value = value.tolist()
    if isinstance(value, Mapping):
        for key in value:
            if not isinstance(key, str):
                message = f"the key {key!r} is not a text"
                problems.append(Problem(where, message, f"write it as '{key}'"))
        return {
            str(key): as_toml_content(inner, f"{where}.{key}" if where else str(key), problems)
            for key, inner in value.items()
        }
    if isinstance(value, list | tuple | range):
        return [
            as_toml_content(inner, f"{where}[{i + 1}]", problems) for i, inner in enumerate(value)
        ]
    if isinstance(value, PurePath):
        return str(value)
    if not isinstance(value, str | bool | int | float | None):
        if callable(value) and where.startswith("study.models"):
            name = getattr(value, "__name__", "name")
            remedy = f'write "{name}" here, and give it by models={{"{name}": {name}}}'
            problems.append(Problem(where, "is a function, not its name", remedy))
            return value
        kind = f"{type(value).__module__}.{type(value).__qualname__}".removeprefix("builtins.")
        message = f"is of the type {kind}, which a study cannot hold"
        problems.append(Problem(where, message, _CARRIED))
    return value


# Files that a study names in its own folder


def find_own_file(folder: Path | None, name: str, source: str, pattern: str) -> Path:
    """Return the path of a file in a study's folder, or in a folder below it.

    `pattern`: the usual names of such files, such as ``"*.csv"``.

    InputError if the study has no folder, or the file is outside it or is not there.
    """
    root = (folder or Path()).resolve()
    path = (root / name).resolve()
    if folder is None:
        remedy = "save the study as a file next to it, and load that"
        problem = Problem("", f"a study without a folder cannot read '{name}'", remedy)
    elif not path.is_relative_to(root):
        remedy = f"copy it into {root}: a study reads only files of its folder"
        problem = Problem("", f"'{name}' is outside the study's folder", remedy)
    elif not path.exists():
        near = nearest(path.name, (p.name for p in path.parent.glob(pattern)))
        problem = Problem("", f"there is no file '{name}'", near or f"{root} has no {pattern}")
    else:
        return path
    raise InputError(source, [problem])


# Files and folders that are inputs

MARKER = "run.json"
"""The file that a run folder is known by."""
MAX_INPUT = 1 << 30  # bytes of a file that is read as an input


class OutsideInput(NamedTuple):
    """An input that is not copied: its name in the study, its place, and its SHA-256.

    The file's own is under ``"."``; of a folder each file's under its place below it.
    """

    name: str
    path: Path
    sha256: Mapping[str, str]

    @classmethod
    def of(
        cls, name: str, path: Path, files: Sequence[Path], code: Mapping[Path, str]
    ) -> OutsideInput:
        """Return an input with the digests of its files. Loaders see its name: a link stays one."""
        digests = {place_in(path, file): code[file] for file in files}
        return cls(name, path.parent.resolve() / path.name, digests)

    def changed(self) -> list[str]:
        """Return which files are no longer what was read, or were not there.

        InputError if what lies there now cannot be read as an input. OSError if it cannot be read
        at all.
        """
        check_regular(self.path, MAX_INPUT)
        found = {place_in(self.path, file): file for file in list_files(self.path)}
        differ = found.keys() ^ self.sha256.keys()
        same = found.keys() & self.sha256.keys()
        differ |= {place for place in same if hash_file(found[place]) != self.sha256[place]}
        return sorted(differ)


def list_places(outside: Mapping[str, OutsideInput]) -> Iterator[str]:
    """Yield which file of which input has which content."""
    for key, each in sorted(outside.items()):
        yield from (f"{key}\0{place}\0{digest}" for place, digest in sorted(each.sha256.items()))


def list_files(path: Path) -> list[Path]:
    """Return a file itself; of a folder all files below it that no run and no Python wrote.

    Hidden files are left out.

    OSError if a folder cannot be read. ValueError if a name in it is not text.
    """
    if not path.is_dir():
        return [path]
    found: list[Path] = []
    seen: set[str] = set()
    for at, folders, names in os.walk(path, onerror=_raised, followlinks=True):
        real = os.path.realpath(at)
        known = real in seen  # by a link: it may be a loop
        seen.add(real)
        folders[:] = [] if known else [name for name in folders if _is_given(Path(at, name))]
        found += [] if known else [Path(at, name) for name in names if not name.startswith(".")]
    for file in found:
        if file.name != file.name.encode(errors="replace").decode():
            raise ValueError(f"{file.name!a}: the name of a file is not UTF-8 text")
    return sorted(file for file in found if file.is_file())


def _is_given(folder: Path) -> bool:
    """Return whether to look into a folder: not if it is hidden, or Python or a run wrote it."""
    hidden = folder.name.startswith(".") or folder.name == "__pycache__"
    return not hidden and not (folder / MARKER).is_file()


def _raised(error: OSError) -> None:
    raise error


def place_in(path: Path, file: Path) -> str:
    """Return the path of a file in a folder; ``"."`` if it is the file itself."""
    return file.relative_to(path).as_posix()


def is_copied(folder: Path | None, name: str, files: Sequence[Path]) -> bool:
    """Return whether copies of an input's files are where the copy of the study looks for them.

    They do not if the name leaves the folder, even to come back, or leads through a link.
    """
    if folder is None or Path(name).is_absolute():
        return False
    own = folder.resolve()
    return bool(files) and all(file.resolve() == own / file.relative_to(folder) for file in files)


def hash_file(path: Path) -> str:
    """Return the SHA-256 of a file."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
