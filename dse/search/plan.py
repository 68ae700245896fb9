"""The plan: which search a study gets, decided before anything runs."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from dse.problems import Problem, nearest
from dse.space import Space
from dse.study_file import SearchTable

EXHAUSTIVE_LIMIT = 10_000_000_000
"""Designs beyond which a full enumeration is refused: hours on a workstation."""
AUTO_LIMIT = 20_000_000
"""Designs up to which a full enumeration is what a user would want: seconds."""
DEFAULT_EVALUATIONS = 100_000
"""Designs that a vectorised search evaluates where the study does not say."""
DEFAULT_SAMPLES = 2_000
"""Designs that an Optuna sampler evaluates where the study does not say."""


@dataclass(frozen=True)
class Plan:
    """How a space is searched.

    Parameters
    ----------
    method : str
        ``"exhaustive"``, ``"evolution"`` or the class name of an Optuna sampler.
    evaluations : int
        How many designs are evaluated.
    generation : int
        How many together.
    seed : int
        Of everything random.
    timeout : float or None
        Seconds after which the search stops.
    options : mapping
        The sampler's own.
    """

    method: str
    evaluations: int
    generation: int
    seed: int
    timeout: float | None
    options: Mapping[str, Any]


@dataclass(frozen=True)
class Progress:
    """How far a search is.

    Parameters
    ----------
    done, total : int
        Designs evaluated, and to evaluate.
    front : int
        Non-dominated designs so far.
    """

    done: int
    total: int
    front: int


def plan(
    table: SearchTable, space: Space | None, objectives: int, problems: list[Problem]
) -> Plan | None:
    """Choose the search; None where a problem forbids it."""
    method = _method(table.method, problems)
    if method is None or space is None:
        return None
    size = space.size
    if method == "auto":
        limit = table.evaluations or AUTO_LIMIT
        method = "exhaustive" if size is not None and size <= limit else "evolution"
    if method == "exhaustive":
        _exhaustive(table, space, problems)
        total = size or 1
        return Plan(method, total, 1, table.seed, table.timeout, {})
    if method == "evolution":
        if table.options:
            problems.append(
                Problem(
                    "search.options",
                    "evolution has no options",
                    "use generation, evaluations and seed",
                )
            )
        total = table.evaluations or DEFAULT_EVALUATIONS
        generation = table.generation or min(1_000, max(total // 10, 2))
    else:
        from dse.search.optuna_adapter import check_sampler  # optuna is slow to import

        total = table.evaluations or DEFAULT_SAMPLES
        generation = check_sampler(method, table, objectives, problems)
    return Plan(method, total, min(generation, total), table.seed, table.timeout, table.options)


def _method(given: str, problems: list[Problem]) -> str | None:
    word = given.lower().removesuffix("sampler")
    if word in ("auto", "exhaustive", "evolution"):
        return word
    from dse.search.optuna_adapter import sampler_names

    names = sampler_names()
    for name in names:
        if name.lower().removesuffix("sampler") == word:
            return name
    known = ["auto", "exhaustive", "evolution", *names]
    near = nearest(given, known)
    every = f"known: {', '.join(known)}"
    remedy = near if near.startswith("known") else f"{near} {every}".strip()
    problems.append(Problem("search.method", f"unknown method '{given}'", remedy))
    return None


def _exhaustive(table: SearchTable, space: Space, problems: list[Problem]) -> None:
    size = space.size
    if table.options:
        problems.append(Problem("search.options", "an exhaustive search has no options"))
    if size is None:
        names = [n for n, v in space.variables.items() if v.count is None]
        problems.append(
            Problem(
                "search.method",
                f"exhaustive cannot enumerate a continuum: {', '.join(names)}",
                'give each real variable steps = N, or use method = "evolution"',
            )
        )
        return
    limit = min(table.evaluations or EXHAUSTIVE_LIMIT, EXHAUSTIVE_LIMIT)
    if size > limit:
        counts = sorted(((v.count or 1, n) for n, v in space.variables.items()), reverse=True)
        most = ", ".join(f"{n} ({count:,})" for count, n in counts[:3])
        shown = f"{size:,}" if size < 1e15 else f"about 10^{math.log10(size):.0f}"
        what = "search.evaluations" if table.evaluations else "search.method"
        problems.append(
            Problem(
                what,
                f"exhaustive would evaluate {shown} designs, more than {limit:,}",
                f'use method = "evolution", or fewer values of the largest variables: {most}',
            )
        )
