"""The preferences of a study: its table ``[recommend]``."""

from __future__ import annotations

from collections.abc import Sequence

from dse.evaluate.criteria import Objective
from dse.evaluate.preferences import Preferences
from dse.evaluate.space import Choice, Space
from dse.evaluate.target import (
    Bound,
    BoundText,
    bound_requires_better,
    find_bounded_objective,
    read_bound,
    read_target,
)
from dse.model.grammar import GrammarError
from dse.model.units import UnitError
from dse.problems import nearest
from dse.study.findings import Findings, Place
from dse.study.schema import StudyFile

_PLACE = Place("recommend")
_EXAMPLE = 'write a bound of one objective, such as "area <= 200 kLUT"'


def resolve_preferences(
    file: StudyFile,
    objectives: Sequence[Objective],
    space: Space,
    clock: float | None,
    findings: Findings,
) -> Preferences:
    """Read ``[recommend]``."""
    table = file.recommend
    names = [o.name for o in objectives]
    for name in table.weights:
        if name not in names:
            message = f"'{name}' is not an objective"
            findings.add(_PLACE / "weights", message, nearest(name, names))
    bounds = [_read_bound(text, objectives, clock, findings) for text in table.require]
    excluded = {}
    for name, options in table.exclude.items():
        if _check_options(name, options, space, findings):
            excluded[name] = tuple(options)
    return Preferences(table.weights, tuple(b for b in bounds if b is not None), excluded)


def _read_bound(
    text: str, objectives: Sequence[Objective], clock: float | None, findings: Findings
) -> Bound | None:
    place = _PLACE / "require"
    try:
        (bound,) = read_target(text)
    except (GrammarError, ValueError) as error:
        message = str(error) if isinstance(error, GrammarError) else f"'{text}' is several bounds"
        findings.add(place, message, _EXAMPLE)
        return None
    if not isinstance(bound, BoundText):
        findings.add(place, f"'{text}' is not a bound of one objective", _EXAMPLE)
        return None
    objective, wrong = find_bounded_objective(bound, objectives)
    if objective is None:
        message = wrong.message if wrong else f"'{bound.name}' is not an objective"
        remedy = wrong.remedy if wrong else nearest(bound.name, [o.name for o in objectives])
        findings.add(place, message, remedy)
        return None
    if not bound_requires_better(bound, objective):
        sign = "at most, <=" if objective.direction == "minimize" else "at least, >="
        remedy = f"{objective.name} takes {sign}; another bound is a [[constraint]]"
        findings.add(place, f"'{text}' does not require a better value", remedy)
        return None
    try:
        return read_bound(bound, objective, clock)
    except UnitError as error:
        findings.add(place, f"'{text}': {error}", f"{objective.name} is in {objective.unit}")
        return None


def _check_options(
    name: str, options: Sequence[str | float], space: Space, findings: Findings
) -> bool:
    """Return whether a variable may have these options; add a problem if it may not."""
    place, variable = _PLACE / "exclude", space.variables.get(name)
    if variable is None:
        remedy = nearest(name, list(space.variables))
        findings.add(place, f"'{name}' is not a variable", remedy)
        return False
    known = list(variable.names) if isinstance(variable, Choice) else []
    for option in options:
        if known and option not in known:
            findings.add(place, f"{name} has no option '{option}'", nearest(str(option), known))
            return False
        if not known and isinstance(option, str):
            findings.add(place, f"{name} has numbers, and '{option}' is a text", "write a number")
            return False
    return True
