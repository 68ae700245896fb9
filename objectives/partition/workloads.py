"""Programs to partition: the graphs of one profile, or of a folder of them."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Self

from dse.problems import InputError, Problem
from dse.profile.document import Profile
from objectives.partition.graph import Graph, graph
from objectives.programs import Program, load_programs


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
        """The names of the programs: their file names without ``.profile.json``."""
        return tuple(each[0].program for each in self.graphs)

    def greatest(self) -> dict[str, tuple[float, str]]:
        """Return the largest `workload` and `cache_configuration`, and their options."""
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
    def load(cls, path: str | Path) -> Self:
        """Read a profile, or every ``*.json`` of a folder; see `objectives.programs`.

        Raises
        ------
        InputError
            With every problem of every file.
        OSError
            If it cannot be read, or there is nothing at the path.
        """
        return cls(load_programs(path, _graphs, "*.json"))


def _graphs(program: Program, name: str) -> tuple[Graph, ...]:
    """Return the graph of a program in each of its profile's cache configurations."""
    if not isinstance(program, Profile):
        message = "does not contain the program's basic blocks"
        raise InputError(name, [Problem("", message, "give a profile of `dse profile`")])
    if not program.settings.caches:
        remedy = "profile the program again, without --no-cache"
        raise InputError(name, [Problem("", "the profile has no caches", remedy)])
    return tuple(graph(program, name, cache) for cache in range(len(program.settings.caches)))
