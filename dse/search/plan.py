"""The plan: which search a study gets, decided before anything runs."""

from __future__ import annotations

from dataclasses import replace

from dse.evaluate.evaluator import Evaluator
from dse.evaluate.table_space import TableSpace
from dse.model.values import plural
from dse.problems import Problem, nearest
from dse.search.base import METHODS, Plan, Settings, method_of
from dse.search.bound.monotonicity import find_endless_declarations, find_missing_declarations
from dse.search.bound.ranges import Ranges

AUTO_LIMIT = 20_000_000
"""Designs up to which a full enumeration is what a user would want: seconds."""


_TOLERANCE = 0.01  # of a front that is bounded because nobody said how
_NAMED = 3  # missing declarations that a message names
_MOST = 10_000_000  # designs evaluated by a search that nobody limited
_GUIDED = 10_000  # and at most by a guided one


def plan(settings: Settings, evaluator: Evaluator, problems: list[Problem]) -> Plan | None:
    """Choose the search; None if the method is unknown or there is no variable yet.

    What else is wrong is added to `problems`.
    """
    method, reason, space = _method(settings.method, problems), "", evaluator.space
    tabled = isinstance(space, TableSpace)
    if method is None or not (space.variables or tabled):
        return None
    if tabled and method == "bound":
        message = "bound takes models, and a table has none"
        problems.append(Problem("search.method", message, "leave it out: all rows are looked at"))
        return None
    if not space.variables and method not in ("auto", "exhaustive"):
        message = f"{method} varies columns, and there is none that no objective or constraint uses"
        problems.append(Problem("search.method", message, "leave it out: all rows are looked at"))
        return None
    objectives, guided = len(evaluator.objectives), None
    if method == "auto":
        guided = None if tabled else _guided(settings)
        settings, reason = _chosen(settings, evaluator, sound=not problems)
        method = settings.method
    found = method_of(method).plan(method, settings, space, objectives, problems)
    if method == "bound" and not problems:
        reason = _check_bounds(settings, evaluator, problems) or reason
    if method not in ("exhaustive", "bound") and not tabled:
        reason = reason or _rather(space.size, found.evaluations)
    return replace(found, reason=reason, guided=guided)


def _guided(settings: Settings) -> Settings | None:
    """Return what a guided search gets if models are costly; None if it cannot be in its place.

    It gives no certificate up to a tolerance, and its learning takes longer with each generation.
    """
    if not settings.exact or (settings.evaluations or 0) > _GUIDED:
        return None
    return replace(settings, method="guided")


def _rather(size: int | None, evaluations: int) -> str:
    """Return for a search that samples that an enumeration takes no more; empty if it does."""
    if size is None or size > min(evaluations, AUTO_LIMIT):
        return ""
    return f'method = "exhaustive" evaluates no more than all {size:,} designs, and is certain'


def _check_bounds(settings: Settings, evaluator: Evaluator, problems: list[Problem]) -> str:
    """Return the declarations that bounds lack, in words; a search that would not end is wrong."""
    ranges = Ranges(evaluator)
    never = find_endless_declarations(ranges)
    if never and not (settings.timeout or settings.evaluations):
        remedy = "give the continuous variables steps = N, a timeout, or declare it with @monotonic"
        message = f"bound would never end: {'; '.join(never[:_NAMED])}"
        problems.append(Problem("search.method", message, remedy))
    if never:
        return f"bounds will not close: {'; '.join(never[:_NAMED])}"
    slow = find_missing_declarations(ranges)
    return f"bounds close late: {'; '.join(slow[:_NAMED])}" if slow else ""


def _chosen(settings: Settings, evaluator: Evaluator, sound: bool) -> tuple[Settings, str]:
    """Return the settings with a method, and why it is that one; bounds take a sound study."""
    size, most = evaluator.space.size, settings.evaluations or AUTO_LIMIT
    wanted = settings.exact or isinstance(evaluator.space, TableSpace)
    if size is not None and size <= most and wanted:
        return replace(
            settings, method="exhaustive"
        ), f"{plural(size, 'design')} can all be evaluated"
    large = "a continuum" if size is None else f"more than {plural(most, 'design')}"
    if settings.evaluations and wanted:
        reason = f"{large}, and the study allows {settings.evaluations:,} evaluations"
        return replace(settings, method="evolution"), reason
    unbounded = find_missing_declarations(Ranges(evaluator)) if sound else []
    if unbounded:
        reason = f"{large}, and bounds are not known: {unbounded[0]}"
        return replace(settings, method="evolution"), reason
    tolerance = settings.tolerance or (_TOLERANCE if settings.exact else 0.0)
    bounded = replace(
        settings,
        method="bound",
        tolerance=tolerance,
        evaluations=settings.evaluations or _MOST,
    )
    return bounded, f"{large}, and bounds certify the front up to {_told(tolerance)}"


def _told(tolerance: float) -> str:
    return f"{tolerance:.3g}" if tolerance else "the study's tolerances"


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
