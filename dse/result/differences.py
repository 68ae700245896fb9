"""The differences between two runs, except their fronts: studies, code and versions."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from dse.model.values import tell
from dse.result.record import Result

_ABSENT = "absent"
_SILENT = ("run", "report", "study.about")  # keys that affect no design


@dataclass(frozen=True)
class Difference:
    """One difference between two runs.

    Parameters
    ----------
    what : str
        A key of the study such as ``"space.lanes.integer"``, an input such as ``"clock"``, a file
        that was loaded, or a package.
    first, second : str
        The text for each run; ``"absent"`` if there is none.
    """

    what: str
    first: str
    second: str

    def __str__(self) -> str:
        return f"{self.what}: {self.first} against {self.second}"


def differences(
    first: Result, second: Result, contents: Sequence[Mapping[str, Any]]
) -> tuple[Difference, ...]:
    """Return the differences between two runs.

    Parameters
    ----------
    contents : sequence of mapping
        The content of the two studies; an empty mapping if it is not known.
    """
    constants = [{n: tell(*vu) for n, vu in r.constants.items()} for r in (first, second)]
    told = {f"inputs.{name}" for names in constants for name in names}
    written = [dict(_flat(content, "")) for content in contents]
    studies = [{k: v for k, v in keys.items() if not _elsewhere(k, told)} for keys in written]
    files = [_of(r, "loaded", "text ") for r in (first, second)]
    versions = [_of(r, "versions", "") for r in (first, second)]
    pairs = [constants, [_target(r) for r in (first, second)], files, versions]
    if all(written):
        pairs.insert(1, studies)
    return tuple(each for one, other in pairs for each in _between(one, other))


def _between(first: Mapping[str, str], second: Mapping[str, str]) -> Iterator[Difference]:
    for what in dict.fromkeys([*first, *second]):
        one, other = first.get(what, _ABSENT), second.get(what, _ABSENT)
        if one != other:
            yield Difference(what, one, other)


def _elsewhere(key: str, told: Collection[str]) -> bool:
    """Return whether the results already show an entry of a study: an input, or the target."""
    return key in told or key.startswith("target.")


def _target(result: Result) -> dict[str, str]:
    """Return the target of a run, from the study or from the command."""
    asked = result.target
    if asked is None:
        return {}
    return {"target.reach": asked.reach} | ({"target.least": asked.least} if asked.least else {})


def _of(result: Result, kind: str, word: str) -> dict[str, str]:
    return {str(k): f"{word}{v}" for k, v in result.provenance.get(kind, {}).items()}


def _flat(value: Any, where: str) -> Iterator[tuple[str, str]]:
    """Yield each entry of a study with its key; entries of lists by their positions, from 1."""
    if where in _SILENT:
        return
    if isinstance(value, Mapping):
        for key, inner in value.items():
            yield from _flat(inner, f"{where}.{key}" if where else str(key))
    elif isinstance(value, list) and any(isinstance(each, Mapping) for each in value):
        for i, inner in enumerate(value):
            yield from _flat(inner, f"{where}[{i + 1}]")
    else:
        yield where, str(value)
