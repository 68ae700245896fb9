"""Places in a study file, and the problems and notes that are found there."""

from __future__ import annotations

from dataclasses import dataclass, field

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


@dataclass
class Findings:
    """The problems and the notes of a study, gathered stage by stage.

    Parameters
    ----------
    warnings : list of str
        Values and entries that are probably wrong: the answer shows them.
    """

    source: str
    warnings: list[str] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    problems: list[Problem] = field(default_factory=list)

    def add(self, place: Place, message: str, remedy: str = "") -> None:
        """Add a problem."""
        self.problems.append(Problem(str(place), message, remedy))

    def adopt(self, place: Place, error: InputError, name: str = "") -> None:
        """Add the problems of something that the study names at this place."""
        where = f"{place}: {name}" if name else str(place)
        self.problems += [problem.inside(where) for problem in error.problems]

    def finish_stage(self) -> None:
        """Raise InputError with all problems of this stage, if there are any."""
        if self.problems:
            raise InputError(self.source, self.problems)
