"""The choice of the search method: by size and declarations, then by speed and a probe of bounds.

A guided search finds more of the front in the same time than other searches if a design takes about
a millisecond or more; see `dse.evaluate.pace`. For formulas over a large finite space, a short
search by bounds shows how much of the space is left. If that is little, bounds find the same front
as an enumeration with less work. Work is counted in designs and boxes, so the choice is the same on
any machine.
"""

from __future__ import annotations

from dataclasses import replace

from dse.evaluate.evaluator import Evaluator
from dse.evaluate.pace import SLOW
from dse.evaluate.table_space import TableSpace
from dse.evaluate.totals import find_system
from dse.model.values import plural, show
from dse.problems import Problem, nearest
from dse.search.base import METHODS, Progress, SearchSettings, Start, find_method

_MAX_ENUMERATED = 20_000_000  # designs that a study without a method enumerates: seconds
_MAX_BOUNDED = 10_000_000  # designs that a search by bounds evaluates if the study has no limit
_MAX_GUIDED = 10_000  # evaluations: learning takes longer with each generation
_TOLERANCE = 0.01  # of a search by bounds if the study gives none
_MIN_PROBED = 2_000_000  # designs: fewer are enumerated in the time of a few probes
_MAX_NUMBERED = 2**53  # designs that a float counts exactly
_PROBE = 100_000  # designs and boxes of a probe
_DESIGNS_PER_BOX = 4  # enumerated in the time of one box or design of a search by bounds: 2 to 8
_NAMED = 3  # missing declarations that a message names


# ------------------------------------------------------------------- by size and declarations


def choose_method(
    settings: SearchSettings, evaluator: Evaluator, problems: list[Problem]
) -> SearchSettings | None:
    """Return the settings completed by their method; None if it is unknown or cannot be used.

    Everything that is wrong is added to `problems`.
    """
    method, reason, space = _find_name(settings.method, problems), "", evaluator.space
    is_table = isinstance(space, TableSpace)
    if method is None or not (space.variables or is_table):
        return None
    message = ""
    if method == "merge" and find_system(evaluator) is None:
        remedy = "leave it out: merge is for a study with [kernel] tables"
        problems.append(Problem("search.method", "merge takes a system of kernels", remedy))
        return None
    if is_table and method == "bound":
        message = "bound takes models, and a table has none"
    elif not space.variables and method not in ("auto", "exhaustive"):
        message = f"{method} varies columns, and there is none that no objective or constraint uses"
    if message:
        problems.append(Problem("search.method", message, "leave it out: all rows are looked at"))
        return None
    guided, bounded = None, None
    if method == "auto":
        # a guided search gives no certificate up to a tolerance
        if not is_table and settings.exact and settings.evaluations <= _MAX_GUIDED:
            guided = replace(settings, method="guided")
        settings, reason = _choose(settings, evaluator, sound=not problems)
    else:
        settings = replace(settings, method=method)
    method, objectives = settings.method, len(evaluator.objectives)
    if guided is not None and not problems and _may_bound(guided, evaluator):
        exact = replace(settings, method="bound", tolerance=0.0, evaluations=0)
        bounded = find_method("bound").plan(exact, space, objectives, problems)
    plan = find_method(method).plan(settings, space, objectives, problems)
    if method == "bound" and not problems:
        reason = _check_bounds(settings, evaluator, problems) or reason
    if not reason and method not in ("exhaustive", "bound") and not is_table:
        limit = min(plan.evaluations, _MAX_ENUMERATED)
        if space.size is not None and space.size <= limit:
            all_designs = f"all {space.size:,} designs"
            reason = f'method = "exhaustive" evaluates no more than {all_designs}, and is certain'
    return replace(plan, reason=reason, guided=guided, bounded=bounded)


def _find_name(given: str, problems: list[Problem]) -> str | None:
    known = ["auto", *METHODS]
    words = {name.lower().removesuffix("sampler"): name for name in known}
    if (name := words.get(given.lower().removesuffix("sampler"))) is not None:
        return name
    suggestion = nearest(given, known)
    every = f"known: {', '.join(known)}"
    remedy = suggestion if suggestion.startswith("known") else f"{suggestion} {every}".strip()
    problems.append(Problem("search.method", f"unknown method '{given}'", remedy))
    return None


def _choose(
    settings: SearchSettings, evaluator: Evaluator, sound: bool
) -> tuple[SearchSettings, str]:
    """Return the settings with a method, and the reason; bounds need a sound study."""
    size, limit = evaluator.space.size, settings.evaluations or _MAX_ENUMERATED
    exact = settings.exact or isinstance(evaluator.space, TableSpace)
    if size is not None and size <= limit and exact:
        reason = f"{plural(size, 'design')} can all be evaluated"
        return replace(settings, method="exhaustive"), reason
    if not settings.evaluations and find_system(evaluator) is not None:
        return replace(settings, method="merge"), "kernels add to totals, so they can be merged"
    large = "a continuum" if size is None else f"more than {plural(limit, 'design')}"
    if settings.evaluations and exact:
        reason = f"{large}, and the study allows {settings.evaluations:,} evaluations"
        return replace(settings, method="evolution"), reason
    if sound and (missing := _list_missing(evaluator)):
        reason = f"{large}, and bounds are not known: {missing[0]}"
        return replace(settings, method="evolution"), reason
    tolerance = settings.tolerance or (_TOLERANCE if settings.exact else 0.0)
    bounded = replace(
        settings,
        method="bound",
        tolerance=tolerance,
        evaluations=settings.evaluations or _MAX_BOUNDED,
    )
    limits = f"{tolerance:.3g}" if tolerance else "the study's tolerances"
    return bounded, f"{large}, and bounds certify the front up to {limits}"


def _may_bound(settings: SearchSettings, evaluator: Evaluator) -> bool:
    """Return whether a probe of bounds is worth its time: a study of formulas without limits."""
    size = evaluator.space.size
    if settings.evaluations or settings.timeout or size is None:
        return False
    if not _MIN_PROBED < size < _MAX_NUMBERED or find_system(evaluator) is not None:
        return False
    return not _list_missing(evaluator)


def _list_missing(evaluator: Evaluator) -> list[str]:
    """Return the declarations that bounds lack, in words."""
    from dse.search.bound.monotonicity import find_missing_declarations
    from dse.search.bound.ranges import Ranges

    return find_missing_declarations(Ranges(evaluator))


def _check_bounds(settings: SearchSettings, evaluator: Evaluator, problems: list[Problem]) -> str:
    """Return the declarations that bounds lack, in words; a search that would not end is wrong."""
    from dse.search.bound.monotonicity import find_endless_declarations
    from dse.search.bound.ranges import Ranges

    if endless := "; ".join(find_endless_declarations(Ranges(evaluator))[:_NAMED]):
        if not (settings.timeout or settings.evaluations):
            remedy = (
                "give the continuous variables steps = N, a timeout, or declare it with @monotonic"
            )
            message = f"bound would never end: {endless}"
            problems.append(Problem("search.method", message, remedy))
        return f"bounds will not close: {endless}"
    slow = "; ".join(_list_missing(evaluator)[:_NAMED])
    return f"bounds close late: {slow}" if slow else ""


# ----------------------------------------------------------------------------------- by speed

PATIENCE = 600.0
"""Seconds that a search may take if the study has no time-out."""


def adapt_to_pace(plan: SearchSettings, evaluator: Evaluator, seconds: float) -> SearchSettings:
    """Return the settings for models that take some seconds per design.

    They become those of a guided search if the study names no method, a design takes more than
    `SLOW`, and the planned search would take more than the time-out, or than `PATIENCE`, on one
    core.
    """
    total = seconds * plan.evaluations
    if plan.guided is None or not (seconds > SLOW and total > (plan.timeout or PATIENCE)):
        return plan
    reason = (
        f"a design takes about {show(float(f'{seconds:.1g}'), 's')}, and {plan.method} search could"
        f" take {_describe_time(total)} of one core; to have that all the same, name it as the"
        " method"
    )
    return replace(plan_guided(plan, evaluator), reason=reason)


def plan_guided(plan: SearchSettings, evaluator: Evaluator) -> SearchSettings:
    """Return the settings of the guided search that replaces a plan, if there is one."""
    if plan.guided is None:
        return plan
    settings = plan.guided
    return find_method("guided").plan(settings, evaluator.space, len(evaluator.objectives), [])


def _describe_time(seconds: float) -> str:
    """Return a time in words.

    >>> _describe_time(90), _describe_time(7200), _describe_time(1e7)
    ('1.5 minutes', '2 hours', '116 days')
    """
    for unit, name in ((86_400, "days"), (3_600, "hours"), (60, "minutes")):
        if seconds >= unit:
            return f"{seconds / unit:.3g} {name}"
    return f"{seconds:.3g} seconds"


# ---------------------------------------------------------------------------------- by bounds


def probe_bounds(evaluator: Evaluator, settings: SearchSettings) -> Progress | None:
    """Return how far a short search by bounds comes; None if it refutes a declaration."""
    from dse.search.bound.refutation import RefutedError

    search = find_method("bound").start(Start(evaluator, settings))
    try:
        for _ in search.steps():
            if search.progress().work >= _PROBE:
                break
    except RefutedError:  # an enumeration does not rest on declarations
        return None
    return search.progress()


def adapt_to_bounds(plan: SearchSettings, probe: Progress | None) -> SearchSettings:
    """Return the settings of an exact search by bounds if it costs less than an enumeration.

    At worst, bounds evaluate all designs that the probe left. The others are decided. An exact
    search must also cost less than the largest enumeration that is chosen without asking.
    """
    if probe is None or plan.bounded is None:
        return plan
    size, left = probe.total, probe.total - probe.done
    state = (
        f"after {probe.work:,} designs and boxes, bounds leave at most {left:,} of {size:,} designs"
    )
    if _DESIGNS_PER_BOX * (probe.work + left) < min(size, _MAX_ENUMERATED):
        return replace(plan.bounded, reason=state)
    if plan.method == "exhaustive":
        return replace(plan, reason=f"{state}: an enumeration costs less")
    return replace(plan, reason=f"{plan.reason}; {state}: an exact front costs too much")
