"""TOML files: reading with limits on sizes, writing, and content that scripts give as values."""

from __future__ import annotations

import sys
import tomllib
import unicodedata
from collections.abc import Mapping
from pathlib import Path, PurePath
from typing import Any

import numpy as np

from dse.problems import InputError, Problem, check_regular, nearest

_MAX_BYTES = 1 << 28  # of a file
MAX_NAME = 200  # characters of a key: messages and column titles repeat it
_MAX_TEXT = 10_000  # characters of a text: units and names are parsed in quadratic time
_CARRIED = "numbers, texts, truth values, lists, arrays and mappings can"


def read_toml(path: Path) -> tuple[str, dict[str, Any]]:
    """Read a TOML file, its text and its content.

    Raises
    ------
    InputError
        If there is no such file, it is not TOML, or it is beyond the limits of `check_content`.
    """
    if path.is_dir():
        inside = sorted(p.name for p in path.glob("*.toml"))
        remedy = f"name one of its studies: {', '.join(inside)}" if inside else "name a .toml file"
        raise InputError(str(path), [Problem("", "is a folder, not a study file", remedy)])
    try:
        str(path).encode()  # reports and databases contain the name
        check_regular(path, _MAX_BYTES)
        text = path.read_text(encoding="utf-8-sig")
        content = tomllib.loads(text)
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
        problem = Problem("", f"is not TOML: {error}", remedy)
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


def as_content(value: Any, where: str, problems: list[Problem]) -> Any:
    """Return a value of a script as TOML can contain it; note each part that TOML cannot contain.

    Parameters
    ----------
    where : str
        The value's key, such as ``"space.lanes.values"``.
    problems : list of Problem
        Takes the problems.
    """
    if isinstance(value, np.ndarray | np.generic):
        value = value.tolist()
    if isinstance(value, Mapping):
        for key in value:
            if not isinstance(key, str):
                message = f"the key {key!r} is not a text"
                problems.append(Problem(where, message, f"write it as '{key}'"))
        return {
            str(key): as_content(inner, f"{where}.{key}" if where else str(key), problems)
            for key, inner in value.items()
        }
    if isinstance(value, list | tuple | range):
        return [as_content(inner, f"{where}[{i + 1}]", problems) for i, inner in enumerate(value)]
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
