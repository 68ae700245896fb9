"""Explanations of designs: feasibility, limits, the changes to make, and slices along variables.

A slice shows how far one variable changes each objective if all others stay. It needs no sample of
the whole space.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from html import escape
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from dse.evaluate.criteria import Conditions
from dse.evaluate.evaluator import Evaluated, Evaluator
from dse.evaluate.failures import skip_errors
from dse.evaluate.input_variation import fix_at_middles
from dse.evaluate.model_graph import explain_missing_value
from dse.evaluate.space import Points
from dse.explain.advice import (
    Dominance,
    compare_with_front,
    describe_no_change,
    find_advice,
    find_repairs,
)
from dse.explain.benefit import describe_missing_benefit
from dse.explain.breakdown import Part, break_down, largest_parts, part_fields, scenario_labels
from dse.explain.changes import (
    ENTRY,
    SPACE,
    Change,
    count_neighbours,
    find_neighbours,
    limit_values,
    look_up_designs,
)
from dse.explain.curves import Curve, Regions, draw_curves, find_best_point, find_regions
from dse.explain.robustness import (
    DesignRobustness,
    Robustness,
    assess_robustness,
    rank_table_variables,
)
from dse.explain.sensitivity import STUDY, Sensitivity, find_sensitivities
from dse.explain.targets import describe_target
from dse.model.quantity import Array
from dse.model.values import (
    add_conditions,
    plural,
    show_amount,
    show_percent,
    show_value,
    word_name,
)
from dse.problems import InputError, Problem
from dse.result.record import Result
from dse.study.study import ResolvedStudy

_SWEPT = 250  # points along the axis of regions or of a curve
_DRAWN = 8  # designs whose regions and curves are computed: a curve may be a simulation
_CALL_TIME, _ENGINE_USE = "call_time", "engine_utilization"
_SELDOM = 0.3  # of a smaller utilization, few calls wait
_MAX_VALUES = 48  # of a variable, for a readable slice
UNDECLARED = "no input of the objectives declares its better direction"
NO_BOTTLENECK = "no single input"


@dataclass(frozen=True)
class Violation:
    """A constraint that a design violates, or an objective that has no value for it."""

    name: str  # of the constraint, such as "utilization <= 0.9", or of the objective
    unit: str
    value: float  # of a relation, by how much its sides differ; NaN if there is none
    amount: float  # by how much it violates the constraint; NaN if there is no value
    why: str = ""  # there is no value, in words

    def __str__(self) -> str:
        if np.isnan(self.amount):
            because = f", for {self.why}" if self.why else ""
            return f"{self.name} has no value: it is not a number{because}"
        return f"{self.name} is violated by {show_amount(self.amount, self.unit)}"


@dataclass(frozen=True)
class ScenarioValue:
    """The value of an objective's quantity in one of its scenarios."""

    objective: str
    scenario: str  # such as "granularity = 64 B"
    unit: str
    value: float  # before scenarios become one number


@dataclass(frozen=True, repr=False)
class Explanation:
    """The limits of one design, and the changes to make.

    Parameters
    ----------
    design : int
        Its number.
    values : dict of str to Any
        Variables (option names and numbers), inputs and objectives, by column name.
    parts, regions, curves, scenarios : tuple
        The parts of the time and the area; the regions and curves of the study; the values of
        objectives in each scenario.
    sensitivities : tuple of Sensitivity
        Every improvable input against every objective, best gain first.
    violations, repairs : tuple
        Why it is not feasible, and the least changes that make it feasible; empty if it is.
    ranking : mapping of str to mapping
        Of a table: the Sobol indices of the variables, by objective.
    dominance, advice, missing_benefit, target
        Of a feasible design: its place among the designs of the front, the changes to make, why it
        is not beneficial, and whether it meets the target. `dominance` is None and `advice` empty
        for an infeasible design; `target` is empty without a target. Advice within the space comes
        first.
    no_change : str
        The objectives that no other value of one variable improves, or why there is no repair.
    limits : str
        The largest parts of its times.
    robustness : DesignRobustness or None
        Its robustness against uncertain inputs; None if no input is uncertain.
    objectives, units
        The names of the study's objectives, and the units of values by name.
    """

    design: int
    values: dict[str, Any]
    parts: tuple[Part, ...]
    sensitivities: tuple[Sensitivity, ...]
    regions: tuple[Regions, ...]
    curves: tuple[Curve, ...] = ()
    scenarios: tuple[ScenarioValue, ...] = ()
    violations: tuple[Violation, ...] = ()
    ranking: Mapping[str, Mapping[str, float]] = field(default_factory=dict)
    dominance: Dominance | None = None
    advice: tuple[Change, ...] = ()
    no_change: str = ""
    repairs: tuple[Change, ...] = ()
    limits: str = ""
    missing_benefit: str = ""
    target: str = ""
    robustness: DesignRobustness | None = None
    objectives: tuple[str, ...] = ()
    units: Mapping[str, str] = field(default_factory=dict)

    @property
    def feasible(self) -> bool:
        """Whether every constraint holds and every objective has a value."""
        return not self.violations

    @property
    def fields(self) -> list[tuple[str, str]]:
        """The verdict and the changes to make, as label and text."""
        if not self.feasible:
            return [
                ("feasible", "no"),
                *(("violation", str(violation)) for violation in self.violations),
                *(("repair", str(repair)) for repair in self.repairs or (self.no_change,)),
            ]
        robust = self.robustness.fields.items() if self.robustness is not None else ()
        fields = [
            ("feasible", "yes"),
            ("on the front", str(self.dominance or "")),
            ("target", self.target),
            ("benefit", self.missing_benefit and f"none: {self.missing_benefit}"),
            ("limits", self.limits),
            *robust,
            *(("change", str(change)) for change in self.advice if change.kind == SPACE),
            ("no change", self.no_change),
            *((ENTRY, str(change)) for change in self.advice if change.kind == ENTRY),
        ]
        return [(label, text) for label, text in fields if text]

    @property
    def missing_bottlenecks(self) -> str:
        """Why there is no bottleneck; empty if there is one, or for a table."""
        if not self.sensitivities:
            return "" if self.ranking else UNDECLARED
        return "" if any(item.bottleneck for item in self.sensitivities) else NO_BOTTLENECK

    def limiting_input(self, objective: str) -> str:
        """Return the bottleneck with the largest gain in an objective; empty if there is none.

        Inputs that a variable sets come first, as a designer can select another option.
        """
        found = [s for s in self.sensitivities if s.bottleneck and s.objective == objective]
        if not found:
            return ""
        first = min(found, key=lambda s: (s.set_by == STUDY, -s.gain))
        changed = f"strongest input: {word_name(first.label)} {' → '.join(first.shown)}"
        values = (show_amount(v, self.units[objective]) for v in (first.before, first.after))
        return f"{changed}, {word_name(objective)} {' → '.join(values)}"

    def bottlenecks(self) -> pd.DataFrame:
        """Return the inputs that are bottlenecks, best gain first: no advice."""
        rows = [
            (item.label, item.set_by, *item.shown, item.objective, item.gain_text)
            for item in self.sensitivities
            if item.bottleneck
        ]
        names = ["input", "set by", "from", "to", "objective", "gain"]
        return pd.DataFrame(rows, columns=names)

    def __repr__(self) -> str:
        return f"<Explanation of {self._title()}>"

    def __str__(self) -> str:
        table = self.bottlenecks()
        lines = [self._title(), *(f"{label}: {text}" for label, text in self._all_fields())]
        return "\n".join(lines + ([] if table.empty else [table.to_string()]))

    def _repr_html_(self) -> str:
        rows = "".join(
            f"<tr><th>{escape(label)}</th><td>{escape(text)}</td></tr>"
            for label, text in self._all_fields()
        )
        table = self.bottlenecks().to_html(escape=True, border=0)
        return f"<p>{escape(self._title())}</p><table>{rows}</table>{table}"

    def _all_fields(self) -> list[tuple[str, str]]:
        missing = self.missing_bottlenecks
        fields = [*self.fields, *part_fields(self.parts)]
        return [*fields, ("bottlenecks", missing)] if missing else fields

    def _title(self) -> str:
        units = {n: self.units.get(n) or "1" for n in self.objectives}
        values = [f"{n} = {show_value(float(self.values[n]), unit)}" for n, unit in units.items()]
        infeasible = f"infeasible: {'; '.join(map(str, self.violations))}"
        return f"design {self.design}: {', '.join(values) if self.feasible else infeasible}"


def explain(
    study: ResolvedStudy,
    result: Result,
    numbers: Sequence[int],
    robustness: Robustness | None = None,
) -> list[Explanation]:
    """Explain designs; the first few get regions and curves.

    Parameters
    ----------
    numbers : sequence of int
        Design numbers: kept ones, or any of an enumerated space.
    robustness : Robustness, optional
        Their robustness against uncertain inputs, if it is known.

    Raises
    ------
    InputError
        If there is no such design.
    """
    if not numbers:
        return []
    study = replace(study, evaluator=skip_errors(study.evaluator))
    points = find_points(study, result, numbers)
    evaluator, count = study.evaluator, len(numbers)
    columns = evaluator.space.columns(points)
    labels = evaluator.space.labels(points)
    judged = evaluator.evaluate_columns(columns, count)
    amounts = evaluator.violations(judged.constrained)
    certain = fix_at_middles(evaluator)
    robustness = robustness or assess_robustness(study, result, numbers, points)
    sensitivities = find_sensitivities(evaluator, study.rule, columns, judged.objectives)
    parts = break_down(certain, columns, count)
    scenarios = _scenarios(certain, columns, count)
    swept: list[Regions] = []
    if study.regions is not None:
        few = {name: values[:_DRAWN] for name, values in columns.items()}
        swept = find_regions(certain, study.regions, study.rule, few)
    advice = find_advice(study, result, points, judged.objectives)
    units = {n: c.unit for n, c in result.columns.items()}
    units |= {n: unit for n, (_, unit) in result.constants.items()}
    target = study.target if result.target is not None else None
    ranking, quantities = rank_table_variables(evaluator), evaluator.model_graph.quantities
    explanations = []
    for row, number in enumerate(numbers):
        objectives, feasible = judged.objectives[row], bool(judged.feasible[row])
        one = {name: values[row : row + 1] for name, values in columns.items()}
        point = {name: values[row : row + 1] for name, values in points.items()}
        inputs = {name: float(values[0]) for name, values in one.items() if name in quantities}
        values = {n: v[row] for n, v in labels.items()}
        values |= {n: v for n, v in inputs.items() if n not in values}
        values |= {n: v for n, (v, _) in result.constants.items()}
        values |= {o.name: float(v) for o, v in zip(result.objectives, objectives, strict=True)}
        verdict: dict[str, Any]
        if feasible:
            verdict = {
                "no_change": describe_no_change(study, result, advice[row], objectives),
                "dominance": compare_with_front(result, int(number), objectives),
                "advice": advice[row],
                "missing_benefit": describe_missing_benefit(evaluator, objectives),
                "target": describe_target(evaluator, target, objectives),
            }
        else:
            repairs, no_repair = find_repairs(evaluator, result, point, objectives)
            verdict = {
                "violations": list_violations(evaluator, judged, amounts, row, one),
                "repairs": repairs,
                "no_change": no_repair,
            }
        explanations.append(
            Explanation(
                design=int(number),
                values=values,
                parts=parts[row],
                sensitivities=sensitivities[row],
                regions=tuple(swept[row : row + 1]),
                curves=draw_curves(study, inputs) if row < _DRAWN else (),
                scenarios=scenarios[row],
                ranking=ranking,
                limits=largest_parts(certain, parts[row], _remark_on_load(result, int(number))),
                robustness=robustness.designs.get(int(number)),
                objectives=tuple(o.name for o in result.objectives),
                units=units,
                **verdict,
            )
        )
    return explanations


def _remark_on_load(result: Result, number: int) -> dict[str, str]:
    """Return by time of a call that it is latency, and no wait, if the engine is seldom busy.

    The fraction of calls that find it busy is its utilization, if they arrive at random.
    """
    busy = result.designs.get(_ENGINE_USE)
    if busy is None or not busy.get(number, 1.0) < _SELDOM:
        return {}
    return {_CALL_TIME: f" (latency: engine {show_percent(busy[number], 2)} busy)"}


def explanation_cost(study: ResolvedStudy, result: Result) -> int:
    """Return about how many designs models evaluate to explain one design.

    A result that contains all designs knows the neighbours of a design already.
    """
    inputs, space = len(study.evaluator.model_graph.quantities), study.evaluator.space
    swept = inputs * (_SWEPT if study.file.regions or study.curves else 2)
    known = result.certificate.numbered and len(result.designs) == space.size
    return swept + (0 if known else count_neighbours(space, limit_values(result)))


def find_points(study: ResolvedStudy, result: Result, numbers: Sequence[int]) -> Points:
    """Return the values of the variables of designs; an InputError if there is no such design."""
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
    answers = evaluator.model_graph.evaluate([(o.quantity, o.conditions) for o in several], columns)
    scenarios: list[list[ScenarioValue]] = [[] for _ in range(count)]
    for objective, answer in zip(several, answers, strict=True):
        values = np.broadcast_to(answer, (objective.scenarios, count))
        labels = scenario_labels(evaluator.model_graph, objective)
        for row in range(count):
            scenarios[row] += [
                ScenarioValue(objective.name, label, objective.unit, float(value))
                for label, value in zip(labels, values[:, row], strict=True)
            ]
    return [tuple(mine) for mine in scenarios]


def list_violations(
    evaluator: Evaluator,
    judged: Evaluated,
    amounts: Array,
    row: int,
    columns: Mapping[str, Array] | None = None,
) -> tuple[Violation, ...]:
    """Return the violations of one design, with reasons if its columns are given.

    `amounts`, of shape (designs, constraints), are those by which designs violate constraints.
    """

    def why(names: Sequence[str], conditions: Conditions) -> str:
        if columns is None:
            return ""
        graph = evaluator.model_graph
        reasons = (explain_missing_value(graph, columns, name, conditions) for name in names)
        return next(filter(None, reasons), "")

    violations = []
    constrained = zip(evaluator.constraints, judged.constrained[row], amounts[row], strict=True)
    for c, value, by in constrained:
        if not by <= 0:
            reason = why(c.names if np.isnan(by) else (), c.conditions)
            violations.append(Violation(c.name, c.unit, float(value), float(by), reason))
    for o, value in zip(evaluator.objectives, judged.objectives[row], strict=True):
        if np.isnan(value):
            reason = why((o.quantity,), o.conditions)
            violations.append(Violation(o.name, o.unit, np.nan, np.nan, reason))
    return tuple(violations)


def region_fields(explanation: Explanation) -> list[tuple[str, str]]:
    """Return the optimization regions of a design: each interval with its bottlenecks."""
    fields = []
    for regions in explanation.regions:
        what = add_conditions(word_name(regions.objective), regions.condition)
        fields.append(("regions", f"bottlenecks of {what} along {word_name(regions.axis)}"))
        fields += [(" to ".join(region.shown), region.words) for region in regions.regions]
    return fields


def list_best_points(explanation: Explanation) -> list[tuple[str, str]]:
    """Return the best point of each quantity of each curve, and its value at the design."""
    fields = []
    for curve in explanation.curves:
        fields.append(("curve", curve.name))
        for line in curve.lines:
            best = find_best_point(curve, line)
            texts = []
            if np.isfinite(best.value):
                value = show_value(best.value, line.unit)
                place = show_value(best.at, curve.axis_unit)
                texts.append(f"{best.word} {value} at {word_name(curve.axis)} {place}")
            elif not np.isfinite(line.values).any():
                texts.append("nowhere finite")
            if not np.isnan(best.here):
                texts.append(f"this design {show_value(best.here, line.unit)}")
            if texts:
                fields.append((word_name(line.quantity), "; ".join(texts)))
    return fields


# Slices ---------------------------------------------------------------------------------------


class Slice(NamedTuple):
    """Designs that differ from a design in one variable, with the design itself."""

    variable: str
    values: NDArray[Any]  # in ascending order; options in the order of the study
    objectives: Array  # (values, objectives), NaN where a model raises
    feasible: NDArray[np.bool_]


def find_slices(
    study: ResolvedStudy, result: Result, numbers: Sequence[int]
) -> dict[int, list[Slice]]:
    """Return by number the slices through designs, a slice per variable that has other values.

    The slices need at most about as many evaluations as the search; a slow model has them for the
    first designs only.
    """
    evaluator, space = study.evaluator, study.evaluator.space
    if not len(numbers) or not space.variables:
        return {}
    most = min(limit_values(result), _MAX_VALUES)
    numbers = numbers[: max(1, result.certificate.evaluated // count_neighbours(space, most))]
    own = find_points(study, result, numbers)
    near = find_neighbours(space, own, most)
    points = {name: np.concatenate([own[name], near.points[name]]) for name in own}
    objectives, feasible = look_up_designs(evaluator, result, points)
    labels = space.labels(points)
    slices: dict[int, list[Slice]] = {}
    for row, number in enumerate(numbers):
        slices[number] = []
        for k, name in enumerate(space.variables):
            others = np.flatnonzero((near.of == row) & (near.moved == k)) + len(numbers)
            rows = np.concatenate([[row], others])
            _, first = np.unique(points[name][rows], return_index=True)  # in ascending order
            rows = rows[first]
            if len(rows) > 1:
                piece = Slice(name, labels[name][rows], objectives[rows], feasible[rows])
                slices[number].append(piece)
    return slices
