"""Content that a script gives: numpy's numbers and arrays, tuples and paths as plain values."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import PurePath
from typing import Any

import numpy as np

from dse.problems import Problem

_ALLOWED = "numbers, texts, truth values, lists, arrays and mappings can"


def plain(value: Any, where: str, problems: list[Problem]) -> Any:
    """Return a value as a file could hold it; note each part that none can hold.

    Parameters
    ----------
    where : str
        The value's key, such as ``"space.lanes.values"``.
    problems : list of Problem
        Takes what is wrong.
    """
    if isinstance(value, np.ndarray | np.generic):
        value = value.tolist()
    if isinstance(value, Mapping):
        for key in value:
            if not isinstance(key, str):
                message = f"the key {key!r} is not a text"
                problems.append(Problem(where, message, f"write it as '{key}'"))
        return {
            str(key): plain(inner, f"{where}.{key}" if where else str(key), problems)
            for key, inner in value.items()
        }
    if isinstance(value, list | tuple | range):
        return [plain(inner, f"{where}[{i + 1}]", problems) for i, inner in enumerate(value)]
    if isinstance(value, PurePath):
        return str(value)
    if not isinstance(value, str | bool | int | float | None):
        kind = f"{type(value).__module__}.{type(value).__qualname__}".removeprefix("builtins.")
        if callable(value) and where.startswith("study.models"):
            name = getattr(value, "__name__", "name")
            remedy = f'write "{name}" here, and give it beside: models={{"{name}": {name}}}'
            problems.append(Problem(where, "is a function, not its name", remedy))
            return value
        message = f"is of the type {kind}, which a study cannot hold"
        problems.append(Problem(where, message, _ALLOWED))
    return value
