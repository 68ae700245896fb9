"""Places in a study file, and the problems and notes that are found there."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from dse.problems import InputError, Problem


@dataclass(frozen=True, slots=True)
class Place:
    """A place in a study file: keys, and positions in lists from 0.

    >>> str(Place("objective") / 1 / "at" / "size")
    'objective[2].at.size'
    """

    section: str = ""
    steps: tuple[str | int, ...] = ()

    def __truediv__(self, step: str | int) -> Place:
        if not self.section:
            return Place(str(step))
        return Place(self.section, (*self.steps, step))

    def __str__(self) -> str:
        inner = (f"[{s + 1}]" if isinstance(s, int) else f".{s}" for s in self.steps)
        return self.section + "".join(inner)

    def order(self, content: Mapping[str, Any]) -> tuple[int, ...]:
        """Return a key that sorts places as a study's file lists them."""
        found, value = [], content
        for step in (self.section, *self.steps):
            keys = list(value) if isinstance(value, Mapping) else []
            position = keys.index(step) if step in keys else len(keys)
            found.append(step if isinstance(step, int) else position)
            value = _inner(value, step)
        return tuple(found)


def _inner(value: Any, step: str | int) -> Any:
    try:
        return value[step]
    except (KeyError, IndexError, TypeError):
        return None


@dataclass
class Findings:
    """The problems and the notes of a study, gathered stage by stage.

    Parameters
    ----------
    source : str
        The study's file, for the message.
    content : mapping
        The study's content, which orders the problems.
    """

    source: str
    content: Mapping[str, Any]
    notes: list[str] = field(default_factory=list)
    _found: list[tuple[Place, Problem]] = field(default_factory=list)

    @property
    def count(self) -> int:
        """How many problems there are so far."""
        return len(self._found)

    def add(self, place: Place, message: str, remedy: str = "") -> None:
        """Add a problem."""
        self._found.append((place, Problem(str(place), message, remedy)))

    def adopt(self, place: Place, error: InputError, name: str = "") -> None:
        """Add the problems of something that the study names at this place."""
        where = f"{place}: {name}" if name else str(place)
        self._found += [(place, problem.inside(where)) for problem in error.problems]

    def note(self, text: str) -> None:
        """Add a note for the reader."""
        self.notes.append(text)

    def finish_stage(self) -> None:
        """Raise InputError with all problems of this stage, if there are any."""
        if self._found:
            found = sorted(self._found, key=lambda item: item[0].order(self.content))
            raise InputError(self.source, [problem for _, problem in found])
