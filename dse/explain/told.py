"""An explanation in sentences: the verdict on a design, and what to change in it."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from dse.explain.advice import PART, SPACE
from dse.explain.breakdown import Part
from dse.explain.curves import Curve, best_of
from dse.explain.regions import Regions
from dse.explain.times import time_words
from dse.explain.verdict import Explanation
from dse.model.values import conditioned, tell, worded

_TITLES = {
    SPACE: "what to change, within your space (first what costs none of its benefit):",
    PART: "what another part would give (rows that the study leaves out):",
}
_INDENT = "  "
UNDECLARED = (
    "bottlenecks were not looked for: no input of the objectives says "
    'which way it improves (better = "higher" or "lower" in its Quantity)'
)
"""What is said instead of bottlenecks."""


def verdict_lines(explanation: Explanation) -> list[str]:
    """Return whether a design holds, where it stands, and what to change; details are indented."""
    head = f"design {explanation.design} is"
    if not explanation.feasible:
        lines = [f"{head} infeasible:"]
        lines += [f"{_INDENT}{each}" for each in explanation.violations]
        return lines + time_words(explanation.halves) + _mends(explanation)
    lines = [f"{head} feasible, and {standing_words(explanation)}"]
    if explanation.standing is not None:
        lines += [f"{_INDENT}{each}" for each in explanation.standing.by]
    if explanation.reach:
        lines.append(explanation.reach)
    if explanation.worth:
        lines.append(f"it is not worth building: it has {explanation.worth}")
    if explanation.holding is not None:
        said = (explanation.holding.sentence("it"), explanation.holding.where())
        lines += [each.removesuffix(".") for each in said]
    lines = [line for line in lines if line]
    return lines + time_words(explanation.halves) + advice_lines(explanation)


def bottleneck_words(explanation: Explanation) -> str:
    """Return why no input is told as a bottleneck; empty if one is, or of a table."""
    if not explanation.sensitivities:
        return "" if explanation.regressions else UNDECLARED
    found = any(each.bottleneck for each in explanation.sensitivities)
    return "" if found else "no single input is a bottleneck"


def standing_words(explanation: Explanation) -> str:
    """Return where a feasible design stands; empty for an infeasible one."""
    standing = explanation.standing
    if standing is None:
        return ""
    if standing.on_front:
        return "on the front: no design is better in one objective and as good in the others"
    if not standing.dominated:
        return "no design of the front dominates it"
    if standing.dominated == 1:
        return "dominated by one design of the front:"
    count = len(standing.by)
    nearest = f"the nearest {count}" if standing.dominated > count else "these"
    return f"dominated by {standing.dominated:,} designs of the front; {nearest}:"


def _mends(explanation: Explanation) -> list[str]:
    if not explanation.mends:
        return ["no change of one variable or of two makes it feasible"]
    one = len(explanation.mends[0].changes) == 1
    title = "what would mend it, one variable at a time" if one else "what would mend it, together"
    return [f"{title}:", *(f"{_INDENT}{each}" for each in explanation.mends)]


def advice_lines(explanation: Explanation) -> list[str]:
    """Return what to change, by kind; nothing for designs of a table alone."""
    lines = []
    for kind, title in _TITLES.items():
        mine = [each for each in explanation.advice if each.kind == kind]
        if mine:
            lines += [title, *(f"{_INDENT}{each}" for each in mine)]
    if not lines and not explanation.regressions:
        lines.append(
            "no change of one variable improves anything, keeps every constraint, and pays"
        )
    return lines


def part_lines(parts: Sequence[Part]) -> list[str]:
    """Return where each total of a design goes, the largest part first."""
    lines = []
    keys = dict.fromkeys((p.total, p.objective, p.scenario) for p in parts)
    for total, objective, scenario in keys:
        key = (total, objective, scenario)
        mine = [p for p in parts if (p.total, p.objective, p.scenario) == key]
        words = [f"{p.name} {p.share:.0%}" for p in sorted(mine, key=lambda p: -p.share)]
        condition = ", ".join(each for each in (objective, scenario) if each)
        lines.append(f"{total} (for {condition}): {', '.join(words)}")
    return lines


def region_lines(found: Sequence[Regions]) -> list[str]:
    """Return the optimization regions of a design, each with the inputs that limit it there."""
    lines = []
    for regions in found:
        what = conditioned(worded(regions.objective), regions.condition)
        lines.append(f"what limits {what} along {worded(regions.axis)}:")
        for region in regions.regions:
            low, high = region.shown
            lines.append(f"{_INDENT}{low} to {high}: {region.words}")
    return lines


def curve_lines(curves: Sequence[Curve]) -> list[str]:
    """Return for each curve where each quantity is best, and what it is at the design."""
    lines = []
    for curve in curves:
        lines.append(f"{curve.name}:")
        for line in curve.lines:
            best = best_of(curve, line)
            said = []
            if np.isfinite(best.value):
                value, at = tell(best.value, best.unit), tell(best.at, curve.axis_unit)
                said.append(f"is {best.word}, {value}, at {curve.axis} = {at}")
            elif not np.isfinite(line.values).any():
                said.append("is nowhere finite")
            if not np.isnan(best.here):
                said.append(f"{'' if said else 'is '}here {tell(best.here, best.unit)}")
            if said:
                lines.append(f"{_INDENT}{best.quantity} {'; '.join(said)}")
    return lines
