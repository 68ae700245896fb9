"""Programs to partition: the graphs of one profile, or of a folder of them."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import Self

from dse.problems import InputError, Problem
from dse.profile.document.schema import Profile
from objectives.partition.graph import Graph, graph


@dataclass(frozen=True, eq=False)
class Workloads:
    """Programs, in order of file name.

    Parameters
    ----------
    graphs : tuple of tuple of Graph
        For each program one graph a cache configuration.
    """

    graphs: tuple[tuple[Graph, ...], ...]

    @property
    def names(self) -> tuple[str, ...]:
        """What the programs are called: their files' names without ``.profile.json``."""
        return tuple(each[0].program for each in self.graphs)

    def greatest(self) -> dict[str, tuple[float, str]]:
        """Return the greatest `workload` and `cache_configuration`, and what they choose from."""
        programs = ", ".join(f"{i} {name}" for i, name in enumerate(self.names))
        caches = max(len(each) for each in self.graphs)
        return {
            "workload": (len(self.graphs) - 1, f"the programs: {programs}"),
            "cache_configuration": (
                caches - 1,
                f"cache configurations that were profiled: {caches}, counted from 0",
            ),
        }

    @classmethod
    def of(cls, profiles: dict[str, Profile]) -> Self:
        """Return the programs of some profiles, by name, in the order given.

        Raises
        ------
        InputError
            Where a profile has no caches.
        """
        without = [name for name, p in profiles.items() if not p.settings.caches]
        if without:
            remedy = "profile the program again, without --no-cache"
            raise InputError(
                "profiles", [Problem(n, "the profile has no caches", remedy) for n in without]
            )
        return cls(
            tuple(
                tuple(graph(p, name, cache) for cache in range(len(p.settings.caches)))
                for name, p in profiles.items()
            )
        )

    @classmethod
    def load(cls, path: str | Path) -> Self:
        """Read a profile, or every ``*.json`` of a folder.

        Raises
        ------
        InputError
            With every problem of every file.
        FileNotFoundError
            Where there is nothing at the path.
        """
        path = Path(path)
        if not path.exists():
            raise FileNotFoundError(str(path))
        files = sorted(path.glob("*.json")) if path.is_dir() else [path]
        if not files:
            problem = Problem("", "holds no profile", "write one with: dse profile SOURCE -o FILE")
            raise InputError(str(path), [problem])
        profiles: dict[str, Profile] = {}
        problems: list[Problem] = []
        for file in files:
            try:
                profiles[file.name.removesuffix(".json").removesuffix(".profile")] = Profile.load(
                    file
                )
            except InputError as error:
                problems += [_inside(file, p) if path.is_dir() else p for p in error.problems]
        if problems:
            raise InputError(str(path), problems)
        return cls.of(profiles)


def _inside(file: Path, problem: Problem) -> Problem:
    """Return a problem of one file as one of its folder."""
    where = f"{file.name}: {problem.where}" if problem.where else file.name
    return replace(problem, where=where)
