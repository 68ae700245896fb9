"""The plan: which search a study gets, decided before anything runs."""

from __future__ import annotations

from dse.evaluate.space import Space
from dse.problems import Problem, nearest
from dse.search.base import METHODS, Plan, Settings, method_of

AUTO_LIMIT = 20_000_000
"""Designs up to which a full enumeration is what a user would want: seconds."""


def plan(
    settings: Settings, space: Space | None, objectives: int, problems: list[Problem]
) -> Plan | None:
    """Choose the search; None if the method is unknown or there is no space yet.

    What else is wrong is added to `problems`.
    """
    method = _method(settings.method, problems)
    if method is None or space is None:
        return None
    if method == "auto":
        limit, size = settings.evaluations or AUTO_LIMIT, space.size
        method = "exhaustive" if size is not None and size <= limit else "evolution"
    return method_of(method).plan(method, settings, space, objectives, problems)


def _method(given: str, problems: list[Problem]) -> str | None:
    known = ["auto", *METHODS]
    word = given.lower().removesuffix("sampler")
    for name in known:
        if name.lower().removesuffix("sampler") == word:
            return name
    near = nearest(given, known)
    every = f"known: {', '.join(known)}"
    remedy = near if near.startswith("known") else f"{near} {every}".strip()
    problems.append(Problem("search.method", f"unknown method '{given}'", remedy))
    return None
