"""The plan: which search a study gets, decided before anything runs."""

from __future__ import annotations

import math

from dse.evaluate.space import Space
from dse.problems import Problem, nearest
from dse.search.base import Plan, Settings

EXHAUSTIVE_LIMIT = 10_000_000_000
"""Designs beyond which a full enumeration is refused: hours on a workstation."""
AUTO_LIMIT = 20_000_000
"""Designs up to which a full enumeration is what a user would want: seconds."""
DEFAULT_EVALUATIONS = 100_000
"""Designs that a vectorised search evaluates where the study does not say."""
DEFAULT_SAMPLES = 2_000
"""Designs that an Optuna sampler evaluates where the study does not say."""


def plan(
    settings: Settings, space: Space | None, objectives: int, problems: list[Problem]
) -> Plan | None:
    """Choose the search; None where a problem forbids it."""
    method = _method(settings.method, problems)
    if method is None or space is None:
        return None
    size = space.size
    if method == "auto":
        limit = settings.evaluations or AUTO_LIMIT
        method = "exhaustive" if size is not None and size <= limit else "evolution"
    if method == "exhaustive":
        _exhaustive(settings, space, problems)
        total = size or 1
        return Plan(method, total, 1, settings.seed, settings.timeout, {})
    if method == "evolution":
        if settings.options:
            problems.append(
                Problem(
                    "search.options",
                    "evolution has no options",
                    "use generation, evaluations and seed",
                )
            )
        total = settings.evaluations or DEFAULT_EVALUATIONS
        generation = settings.generation or min(1_000, max(total // 10, 2))
    else:
        from dse.search.samplers import check_sampler  # optuna is slow to import

        total = settings.evaluations or DEFAULT_SAMPLES
        generation = check_sampler(method, settings, objectives, problems)
    return Plan(
        method, total, min(generation, total), settings.seed, settings.timeout, settings.options
    )


def _method(given: str, problems: list[Problem]) -> str | None:
    word = given.lower().removesuffix("sampler")
    if word in ("auto", "exhaustive", "evolution"):
        return word
    from dse.search.samplers import sampler_names

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


def _exhaustive(settings: Settings, space: Space, problems: list[Problem]) -> None:
    size = space.size
    if settings.options:
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
    limit = min(settings.evaluations or EXHAUSTIVE_LIMIT, EXHAUSTIVE_LIMIT)
    if size > limit:
        counts = sorted(((v.count or 1, n) for n, v in space.variables.items()), reverse=True)
        most = ", ".join(f"{n} ({count:,})" for count, n in counts[:3])
        shown = f"{size:,}" if size < 1e15 else f"about 10^{math.log10(size):.0f}"
        what = "search.evaluations" if settings.evaluations else "search.method"
        problems.append(
            Problem(
                what,
                f"exhaustive would evaluate {shown} designs, more than {limit:,}",
                f'use method = "evolution", or fewer values of the largest variables: {most}',
            )
        )
