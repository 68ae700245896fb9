"""Explanations of designs: whether they hold, what limits them, and what to change next."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from html import escape
from typing import Any

import numpy as np
import pandas as pd

from dse.evaluate.criteria import Conditions
from dse.evaluate.evaluator import Evaluated, Evaluator
from dse.evaluate.failures import skip_errors
from dse.evaluate.input_ranges import fix_at_middles
from dse.evaluate.space import Points
from dse.evaluate.wiring import why_undefined
from dse.explain.advice import Advice, find_advice
from dse.explain.benefit import describe_missing_benefit
from dse.explain.breakdown import (
    LargePart,
    Part,
    break_down,
    largest_time_parts,
    scenario_labels,
    time_words,
)
from dse.explain.curves import Curve, draw_curves, find_best_point
from dse.explain.feasibility import Repair, find_repairs
from dse.explain.regions import Regions, find_regions
from dse.explain.regression import Regression, fit_regressions
from dse.explain.robustness import Holding, Robustness, assess_robustness
from dse.explain.sensitivity import PART, SPACE, Sensitivity, find_sensitivities
from dse.explain.targets import describe_target
from dse.explain.tradeoffs import Standing, compare_with_front
from dse.model.amounts import amount
from dse.model.quantity import Array
from dse.model.values import conditioned, plural, tell, worded
from dse.problems import InputError, Problem
from dse.result.record import Result
from dse.study.study import ResolvedStudy

_SWEPT = 250  # points along the axis of regions or of a curve
_ALONG = 64  # values that are tried along a continuous variable
_DRAWN = 8  # designs whose regions and curves are computed: a curve may be a simulation


@dataclass(frozen=True)
class Violation:
    """A constraint that a design violates, or an objective that has no value for it.

    Parameters
    ----------
    name, unit : str
        The constraint, such as ``"utilization <= 0.9"``, and its unit; or the objective.
    value : float
        What is bounded; of a relation, by how much its sides differ. NaN if there is none.
    amount : float
        By how much it violates the constraint; NaN if there is no value.
    why : str
        Why there is no value, in words; empty if it is not known.
    """

    name: str
    unit: str
    value: float
    amount: float
    why: str = ""

    def __str__(self) -> str:
        if np.isnan(self.amount):
            because = f", for {self.why}" if self.why else ""
            return f"{self.name} has no value: it is not a number{because}"
        return f"{self.name} is violated by {amount(self.amount, self.unit)}"


@dataclass(frozen=True)
class ScenarioValue:
    """The value of an objective's quantity in one of its scenarios.

    Parameters
    ----------
    objective, scenario, unit : str
        The objective, the scenario such as ``"granularity = 64 B"``, and the unit.
    value : float
        Before scenarios become one number.
    """

    objective: str
    scenario: str
    unit: str
    value: float


@dataclass(frozen=True, repr=False)
class Explanation:
    """What limits one design, and what to change next.

    Parameters
    ----------
    design : int
        Its number.
    values : dict of str to Any
        Variables (option names and numbers), inputs and objectives, by column name.
    parts : tuple of Part
        Where the time and the area go.
    sensitivities : tuple of Sensitivity
        Every improvable input against every objective, best gain first.
    regions : tuple of Regions
        The regions that the study sweeps.
    curves : tuple of Curve
        One for each ``[[curve]]`` of the study.
    scenarios : tuple of ScenarioValue
        Of the objectives with several scenarios.
    feasible : bool
        Whether every constraint holds and every objective has a value.
    violations : tuple of Violation
        Why it is not feasible.
    regressions : tuple of Regression
        Of a table: the effects of the variables on each objective over all rows.
    standing : Standing or None
        Where it stands among the designs of the front; None if it is infeasible.
    advice : tuple of Advice
        What to change: within the space, then other parts. None if it is infeasible.
    repairs : tuple of Repair
        The least changes that make an infeasible design feasible.
    time_parts : tuple of LargePart
        The largest parts of its times.
    worth : str
        Why it is not beneficial, if it is not; see `dse.explain.benefit`.
    reach : str
        Whether a feasible design reaches the target; empty if the run was asked for none.
    holding : Holding or None
        Its robustness against uncertain inputs; None if no input is uncertain.
    objectives : tuple of str
        The names of the study's objectives.
    units : mapping of str to str
        The units of the values, by name.
    """

    design: int
    values: dict[str, Any]
    parts: tuple[Part, ...]
    sensitivities: tuple[Sensitivity, ...]
    regions: tuple[Regions, ...]
    curves: tuple[Curve, ...] = ()
    scenarios: tuple[ScenarioValue, ...] = ()
    feasible: bool = True
    violations: tuple[Violation, ...] = ()
    regressions: tuple[Regression, ...] = ()
    standing: Standing | None = None
    advice: tuple[Advice, ...] = ()
    repairs: tuple[Repair, ...] = ()
    time_parts: tuple[LargePart, ...] = ()
    worth: str = ""
    reach: str = ""
    holding: Holding | None = None
    objectives: tuple[str, ...] = ()
    units: Mapping[str, str] = field(default_factory=dict)

    def __repr__(self) -> str:
        return f"<Explanation of design {self.design}: {self._verdict()}>"

    def __str__(self) -> str:
        table = self.bottlenecks()
        rows = [] if table.empty else [table.to_string()]
        return "\n".join([f"design {self.design}: {self._verdict()}", *self._lines(), *rows])

    def _repr_html_(self) -> str:
        title = f"design {self.design}: {self._verdict()}"
        texts = "".join(f"<p>{escape(line)}</p>" for line in (title, *self._lines()))
        return texts + self.bottlenecks().to_html(escape=True, border=0)

    def bottlenecks(self) -> pd.DataFrame:
        """Return the inputs that are bottlenecks, the largest gain first."""
        rows = [
            (s.label, s.changed_by, *s.shown, s.objective, s.gained)
            for s in self.sensitivities
            if s.bottleneck
        ]
        names = ["improve", "changed by", "from", "to", "objective", "gain"]
        return pd.DataFrame(rows, columns=names)

    def _verdict(self) -> str:
        if not self.feasible:
            return f"infeasible: {'; '.join(map(str, self.violations))}"
        return ", ".join(f"{n} = {self._value_text(n)}" for n in self.objectives)

    def _value_text(self, name: str) -> str:
        return tell(float(self.values[name]), self.units.get(name) or "1")

    def _lines(self) -> list[str]:
        without = bottleneck_words(self)
        return [*verdict_lines(self), *part_lines(self.parts), *([without] if without else [])]


def explain(
    study: ResolvedStudy,
    result: Result,
    numbers: Sequence[int],
    held: Robustness | None = None,
) -> list[Explanation]:
    """Explain designs.

    Parameters
    ----------
    study : ResolvedStudy
        The study.
    result : Result
        Its result.
    numbers : sequence of int
        Design numbers: kept ones, or any of an enumerated space. The first few get
        regions and curves.
    held : Robustness, optional
        Their robustness against uncertain inputs, if it is known.

    Raises
    ------
    InputError
        If there is no such design.
    """
    if not numbers:
        return []
    study = replace(study, evaluator=skip_errors(study.evaluator))
    points = _points(study, result, numbers)
    evaluator, count = study.evaluator, len(numbers)
    columns = evaluator.space.columns(points)
    labels = evaluator.space.labels(points)
    judged = evaluator.evaluate_columns(columns, count)
    certain = fix_at_middles(evaluator)
    if held is None:
        held = assess_robustness(study, result, numbers, points)
    sensitive = find_sensitivities(evaluator, study.rule, columns, judged.objectives)
    parts = break_down(certain, columns, count)
    scenarios = _scenarios(certain, columns, count)
    swept: list[tuple[Regions, ...]] = [()] * count
    if study.regions is not None:
        few = {name: values[:_DRAWN] for name, values in columns.items()}
        for row, each in enumerate(find_regions(certain, study.regions, study.rule, few)):
            swept[row] = (each,)
    advised = find_advice(study, result, points, judged.objectives)
    found, trends = [], fit_regressions(evaluator)
    units = {n: c.unit for n, c in result.columns.items()}
    units |= {n: unit for n, (_, unit) in result.constants.items()}
    target = study.target if result.target is not None else None
    for row, number in enumerate(numbers):
        one = {name: values[row : row + 1] for name, values in columns.items()}
        feasible = bool(judged.feasible[row])
        known = evaluator.wiring.quantities
        plain = {name: float(values[0]) for name, values in one.items() if name in known}
        own = {n: v[row] for n, v in labels.items()}
        values = _values(result, judged.objectives[row], own, plain)
        here = {name: each[row : row + 1] for name, each in points.items()}
        found.append(
            Explanation(
                design=int(number),
                values=values,
                parts=parts[row],
                sensitivities=sensitive[row],
                regions=swept[row],
                curves=draw_curves(study, plain) if row < _DRAWN else (),
                scenarios=scenarios[row],
                feasible=feasible,
                violations=_violations(evaluator, judged, row, one),
                regressions=trends,
                standing=compare_with_front(result, int(number), judged.objectives[row])
                if feasible
                else None,
                advice=advised[row] if feasible else (),
                repairs=() if feasible else find_repairs(evaluator, result, here),
                time_parts=largest_time_parts(certain, parts[row]),
                worth=describe_missing_benefit(evaluator, judged.objectives[row])
                if feasible
                else "",
                reach=describe_target(evaluator, target, judged.objectives[row])
                if feasible
                else "",
                holding=held.designs.get(int(number)),
                objectives=tuple(o.name for o in result.objectives),
                units=units,
            )
        )
    return found


def explanation_cost(study: ResolvedStudy, result: Result) -> int:
    """Return about how many designs models evaluate to explain one design.

    An enumeration knows the neighbours of a design already.
    """
    inputs = len(study.evaluator.wiring.quantities)
    swept = inputs * (_SWEPT if study.file.regions or study.curves else 2)
    variables = study.evaluator.space.variables.values()
    known = result.certificate.numbered and result.certificate.complete
    return swept + (0 if known else sum(v.count or _ALONG for v in variables))


def _values(
    result: Result, objectives: Array, own: Mapping[str, Any], plain: Mapping[str, float]
) -> dict[str, Any]:
    """Return a design by column: variables, inputs, constants, objectives."""
    values = dict(own) | {n: v for n, v in plain.items() if n not in own}
    values |= {n: v for n, (v, _) in result.constants.items()}
    return values | {o.name: float(v) for o, v in zip(result.objectives, objectives, strict=True)}


def _points(study: ResolvedStudy, result: Result, numbers: Sequence[int]) -> Points:
    space = study.evaluator.space
    size = space.size
    if result.certificate.numbered and size is not None:
        bad = [n for n in numbers if not 0 <= n < size]
        allowed = f"designs are numbered 0 to {size - 1:,}"
        if not bad:
            return space.from_index(np.asarray(numbers, dtype=np.int64))
    else:
        bad = [n for n in numbers if n not in result.designs.index]
        kept = plural(len(result.designs), "design is", "designs are")
        allowed = f"{kept} kept; see designs.csv"
        if not bad:
            rows = result.designs.loc[list(numbers)]
            return space.from_labels({n: rows[n].to_numpy() for n in space.variables})
    raise InputError(result.name, [Problem("", f"there is no design {bad[0]}", allowed)])


def _scenarios(
    evaluator: Evaluator, columns: Mapping[str, Array], count: int
) -> list[tuple[ScenarioValue, ...]]:
    """Return for each design what objectives are in each of their scenarios."""
    several = [o for o in evaluator.objectives if o.scenarios > 1]
    answers = evaluator.wiring.evaluate([(o.quantity, o.conditions) for o in several], columns)
    found: list[list[ScenarioValue]] = [[] for _ in range(count)]
    for objective, answer in zip(several, answers, strict=True):
        values = np.broadcast_to(answer, (objective.scenarios, count))
        labels = scenario_labels(evaluator.wiring, objective)
        for row in range(count):
            found[row] += [
                ScenarioValue(objective.name, label, objective.unit, float(value))
                for label, value in zip(labels, values[:, row], strict=True)
            ]
    return [tuple(each) for each in found]


def _violations(
    evaluator: Evaluator, judged: Evaluated, row: int, columns: Mapping[str, Array]
) -> tuple[Violation, ...]:
    amounts = evaluator.violations(judged.constrained[row : row + 1])[0]
    found = []
    for c, value, by in zip(evaluator.constraints, judged.constrained[row], amounts, strict=True):
        if not by <= 0:
            names = c.names if np.isnan(by) else ()
            why = _why(evaluator, columns, names, c.conditions)
            found.append(Violation(c.name, c.unit, float(value), float(by), why))
    for o, value in zip(evaluator.objectives, judged.objectives[row], strict=True):
        if np.isnan(value):
            why = _why(evaluator, columns, (o.quantity,), o.conditions)
            found.append(Violation(o.name, o.unit, np.nan, np.nan, why))
    return tuple(found)


def _why(
    evaluator: Evaluator,
    columns: Mapping[str, Array],
    names: Sequence[str],
    conditions: Conditions,
) -> str:
    """Return why one of some quantities is not a number; empty if it is not known."""
    told = (why_undefined(evaluator.wiring, columns, name, conditions) for name in names)
    return next((why for why in told if why), "")


_TITLES = {
    SPACE: "what to change, within your space (first what costs none of its benefit):",
    PART: "what another part would give (rows that the study leaves out):",
}
_INDENT = "  "
UNDECLARED = (
    "dse did not look for bottlenecks: no input of the objectives declares "
    'its better direction (better = "higher" or "lower" in its Quantity)'
)
"""The text in place of bottlenecks."""


def verdict_lines(explanation: Explanation) -> list[str]:
    """Return whether a design holds, where it stands, and what to change; details are indented."""
    head = f"design {explanation.design} is"
    if not explanation.feasible:
        lines = [f"{head} infeasible:"]
        lines += [f"{_INDENT}{each}" for each in explanation.violations]
        return lines + time_words(explanation.time_parts) + _repair_lines(explanation)
    lines = [f"{head} feasible, and {standing_words(explanation)}"]
    if explanation.standing is not None:
        lines += [f"{_INDENT}{each}" for each in explanation.standing.by]
    if explanation.reach:
        lines.append(explanation.reach)
    if explanation.worth:
        lines.append(f"it is not beneficial: it has {explanation.worth}")
    if explanation.holding is not None:
        said = (explanation.holding.sentence("it"), explanation.holding.where())
        lines += [each.removesuffix(".") for each in said]
    lines = [line for line in lines if line]
    return lines + time_words(explanation.time_parts) + advice_lines(explanation)


def bottleneck_words(explanation: Explanation) -> str:
    """Return why there is no bottleneck; empty if there is one, or for a table."""
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


def _repair_lines(explanation: Explanation) -> list[str]:
    if not explanation.repairs:
        return ["no change of one variable or of two makes it feasible"]
    one = len(explanation.repairs[0].changes) == 1
    title = "changes that make it feasible"
    title += ", one variable at a time" if one else ", together"
    return [f"{title}:", *(f"{_INDENT}{each}" for each in explanation.repairs)]


def advice_lines(explanation: Explanation) -> list[str]:
    """Return what to change, by kind; nothing for designs of a table."""
    lines = []
    for kind, title in _TITLES.items():
        mine = [each for each in explanation.advice if each.kind == kind]
        if mine:
            lines += [title, *(f"{_INDENT}{each}" for each in mine)]
    if not lines and not explanation.regressions:
        lines.append(
            "no change of one variable improves anything, keeps every constraint, and is beneficial"
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
    """Return the best point of each quantity of each curve, and its value at the design."""
    lines = []
    for curve in curves:
        lines.append(f"{curve.name}:")
        for line in curve.lines:
            best = find_best_point(curve, line)
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
