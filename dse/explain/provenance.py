"""Provenance: where the input values come from, and which to check before building.

An assumed or uncertain input value takes both bounds of its range, and nothing else changes.
Designs of the front and near it are evaluated again. The study or the catalog gives the range, such
as the range of measured siblings. An assumed input value without a range is halved and doubled.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from dse.evaluate.criteria import Objective
from dse.evaluate.evaluator import Evaluator
from dse.evaluate.front import is_nondominated
from dse.evaluate.table_space import TableSpace
from dse.explain.benefit import main_objective
from dse.explain.limits import Limits
from dse.explain.robustness import select_candidates
from dse.explain.switch_points import SwitchPoints, Varied, input_range, vary_inputs
from dse.model.quantity import Array
from dse.model.section import Section, Table
from dse.model.values import join_words, json_value, show, show_amount, show_percent, word_name
from dse.result.record import Result
from dse.study.resolve.dependencies import StudyInput
from dse.study.schema import PROVENANCES, Provenance, worst_provenance
from dse.study.study import ResolvedStudy

_EVALUATIONS = 100, 10_000  # the fewest and the most designs that models evaluate
_EFFORT = 0.25  # evaluations in between, as a fraction of the search's
_CHECKED = 3  # input values to check, and defaults, in the answer
_ROWS = 40  # input values in the report
_MIN_SHIFT = 0.0005  # of the front: smaller front shifts are not reported
_HOW = (
    "Each assumed or uncertain input value was set to both bounds of its range, and nothing else "
    "changed. The front shift is the fraction that the points of one front lack, on average, "
    "against the other, at the worse bound. An assumed input value without a range was halved and "
    "doubled."
)


# Checks of input values -----------------------------------------------------------------------


@dataclass(frozen=True)
class RangeEffect:
    """An objective of the recommended design while an input takes the bounds of its range."""

    objective: Objective
    own: float  # its value with all inputs as they are
    ends: tuple[float, float]  # its values at both bounds
    feasible: tuple[bool, bool]  # whether the design is feasible there

    @property
    def change(self) -> float:
        """The larger change as a fraction."""
        changes = np.abs(relative_change(np.array([self.own, self.own]), np.array(self.ends)))
        return float(np.nan_to_num(changes, nan=1.0).max())

    def __str__(self) -> str:
        texts = [
            show_amount(value, self.objective.unit) if ok else "not feasible"
            for value, ok in zip(self.ends, self.feasible, strict=True)
        ]
        return f"{word_name(self.objective.name)} {' to '.join(texts)}"


@dataclass(frozen=True)
class Check:
    """An input value that may be off, and what that does.

    `effects` are the objectives of the recommended design at both bounds, the main one first; empty
    if nothing is recommended.
    """

    given: StudyInput
    ends: tuple[float, float]  # the bounds of its range, in its unit
    law: str  # the range as the study gives it; if "", the input value is halved and doubled
    shift: float  # the front shift at the worse bound; see `front_distance`
    objective: str  # that it changes most; "" if it changes none of a design on the front
    effects: tuple[RangeEffect, ...] = ()

    @property
    def main_effect(self) -> str:
        """The main objective at both bounds; if it stays the same, the most changed objective."""
        changed = [each for each in self.effects if each.change > 0 or not all(each.feasible)]
        main = [each for each in self.effects[:1] if each.change > 0]
        return str(max(main or changed, key=lambda each: each.change)) if changed else ""

    @property
    def range_text(self) -> str:
        """The range in words: the bounds of an interval, a law, or half to double."""
        if self.law and not self.law.startswith("between"):
            return self.law
        unit = self.given.unit or "1"
        bounds = " to ".join(show(end, unit) for end in self.ends)
        return bounds if self.law else "half to double"

    def __str__(self) -> str:
        label, shift = word_name(self.given.label), show_percent(self.shift, digits=2)
        if self.main_effect:
            return f"{label} {self.range_text}: {self.main_effect} (front shift {shift})"
        return f"{label} shifts the front by {shift} ({self.range_text})"


def check_assumptions(
    study: ResolvedStudy, result: Result, recommended: int | None = None
) -> tuple[Check, ...]:
    """Return the inputs that may be off, by falling front shift.

    Raises
    ------
    ModelError
        If a model raises for the designs as they are.
    """
    ranges = [(f, *r) for f in study.inputs if (r := input_range(study, f)) is not None]
    if not ranges or not len(result.front) or isinstance(study.evaluator.space, TableSpace):
        return ()
    numbers = _designs(result, recommended, 1 + 2 * len(ranges))
    rows = result.designs.loc[numbers]
    space = study.evaluator.space
    points = space.from_labels({n: rows[n].to_numpy() for n in space.variables})
    varied = vary_inputs(study, [(given, ends) for given, ends, _ in ranges], points)
    checks = [
        _check(study.evaluator, *given, values, recommended is not None)
        for given, values in zip(ranges, varied, strict=True)
        if values is not None
    ]
    return tuple(sorted(checks, key=lambda check: (-check.shift, check.given.label)))


def _designs(result: Result, recommended: int | None, changes: int) -> list[int]:
    """Return the designs to look at, the recommended one first: as many as the budget allows."""
    fewest, most = _EVALUATIONS
    budget = min(max(_EFFORT * result.certificate.evaluated, fewest), most)
    numbers = select_candidates(result, changes)
    if recommended is not None:
        numbers = [recommended, *(n for n in numbers if n != recommended)]
    return numbers[: max(1, int(budget / changes))]


def _check(
    evaluator: Evaluator,
    given: StudyInput,
    ends: tuple[float, float],
    law: str,
    varied: Varied,
    recommended: bool,
) -> Check:
    """Return the effect of an input value on the front, and on the first design if recommended."""
    values, valid = varied
    points = values * evaluator.signs
    fronts = [np.flatnonzero(rows) for rows in valid]
    fronts = [rows[is_nondominated(points[k, rows])] for k, rows in enumerate(fronts)]
    before = points[0, fronts[0]]
    shifts = [front_distance(before, points[k, fronts[k]]) for k in (1, 2)]
    worse = 1 + int(np.argmax(shifts))
    changes = np.abs(relative_change(values[0, fronts[0]], values[worse, fronts[0]]))
    sizes = np.nan_to_num(changes, nan=1.0).mean(axis=0) if len(fronts[0]) else np.zeros(1)
    most = int(np.argmax(sizes))
    objective = evaluator.objectives[most].name if sizes[most] > 0 else ""
    effects = _measure_effects(evaluator, values[:, 0], valid[1:, 0]) if recommended else ()
    return Check(given, ends, law, max(shifts), objective, effects)


def _measure_effects(
    evaluator: Evaluator, values: Array, feasible: NDArray[np.bool_]
) -> tuple[RangeEffect, ...]:
    """Return the objectives of a design at both bounds; the first values are its own."""
    low, high = feasible.tolist()
    main = main_objective(evaluator)
    effects = [
        RangeEffect(o, own, (first, last), (low, high))
        for o, (own, first, last) in zip(evaluator.objectives, values.T.tolist(), strict=True)
    ]
    return tuple(sorted(effects, key=lambda each: each.objective != main))


def describe_spread(checks: Sequence[Check]) -> str:
    """Return how far the objectives of the recommended design change if any one input is off.

    Each value has its input in parentheses. The inputs that make the design infeasible come last.
    """
    texts, known = list[str](), [check for check in checks if check.effects]
    for effects in zip(*(check.effects for check in known), strict=True):
        shown = effects[0].objective
        inputs = {effects[0].own: ""}  # by the value of the objective
        for check, effect in zip(known, effects, strict=True):
            for value, feasible in zip(effect.ends, effect.feasible, strict=True):
                if feasible and not np.isnan(value):
                    inputs.setdefault(value, f" ({word_name(check.given.label)})")
        lowest, highest = min(inputs), max(inputs)
        low, high = show_amount(lowest, shown.unit), show_amount(highest, shown.unit)
        if np.isnan(effects[0].own) or low == high:
            continue
        first = "" if inputs[lowest] == inputs[highest] else inputs[lowest]
        texts.append(f"{word_name(shown.name)} {low}{first} to {high}{inputs[highest]}")
    failing = [word_name(c.given.label) for c in known if not all(c.effects[0].feasible)]
    if failing:
        more = [f"{len(failing) - _CHECKED} more"] if len(failing) > _CHECKED else []
        texts.append(f"not feasible: {join_words([*failing[:_CHECKED], *more], 'or')}")
    return ", ".join(texts)


_SMALLEST = np.finfo(np.float64).smallest_subnormal
"""The size of 0: a change from 0 to 0 is 0."""


def front_distance(before: Array, after: Array) -> float:
    """Return the mean distance between two fronts as a fraction; the greater of both directions.

    What a point lacks against another is the greatest share, over the objectives, by which it is
    worse: their difference over the greater of both sizes. Each point of one front is compared with
    that point of the other to which it lacks least, or which lacks least to it, as in the modified
    inverted generational distance (IGD+; Ishibuchi et al. 2015), in shares. 0 for equal fronts, and
    1 if only one has points. Less is better, and the shapes are (points, objectives).
    """
    if not len(before) or not len(after):
        return float(len(before) != len(after))
    return float(max(_lack(before, after).mean(), _lack(after, before).mean()))


def _lack(wanted: Array, had: Array) -> Array:
    """Return what each wanted point lacks against the nearest of other points."""
    worst = np.zeros((len(wanted), len(had)))
    for one, other in zip(wanted.T, had.T, strict=True):  # an objective: fewer at once
        np.maximum(worst, relative_change(one[:, None], other[None]), out=worst)
    lacks: Array = worst.min(axis=1)
    return lacks


def relative_change(before: Array, after: Array) -> Array:
    """Return the change between two values as a fraction of the larger size.

    From −2 to 2; 1 in size if one alone is infinite.
    """
    with np.errstate(all="ignore"):
        size = np.maximum(np.maximum(np.abs(before), _SMALLEST), np.abs(after))
        share: Array = np.asarray((after - before) / size)
    if np.isinf(before).any() or np.isinf(after).any():
        share = np.where(np.isinf(size), np.where(after > before, 1.0, -1.0), share)
        share = np.where(before == after, 0.0, share)
    return share


# Input values of a result ---------------------------------------------------------------------


@dataclass(frozen=True)
class InputProvenance:
    """The input values of a result, and what to check first."""

    inputs: tuple[StudyInput, ...]
    checks: tuple[Check, ...] = ()  # by falling front shift; empty if models did not run
    changes: tuple[SwitchPoints | Limits, ...] = ()  # of the recommendation, if they are known

    @property
    def provenances(self) -> dict[Provenance, int]:
        """The number of input values of each provenance, the best first."""
        given = [given.provenance for given in self.inputs]
        return {name: given.count(name) for name in PROVENANCES if name in given}

    @property
    def objectives(self) -> dict[str, Provenance]:
        """The worst provenance of the input values that each objective depends on."""
        names: dict[str, list[Provenance]] = {}
        for given in self.inputs:
            for name in given.objectives:
                names.setdefault(name, []).append(given.provenance)
        return {name: worst_provenance(each) or each[0] for name, each in names.items()}

    @property
    def fields(self) -> dict[str, str]:
        """Its texts by label: the worst provenance, and the input values to check first."""
        last = worst_provenance(self.provenances)
        if last is None:
            return {}
        inputs = f"{self.provenances[last]} of {len(self.inputs)} inputs {last}"
        defaults = [word_name(given.label) for given in self.inputs if given.default]
        if defaults:
            more = [f"{len(defaults) - _CHECKED} more"] if len(defaults) > _CHECKED else []
            inputs += f"; defaults of models: {', '.join([*defaults[:_CHECKED], *more])}"
        first = [str(check) for check in self.checks if check.shift >= _MIN_SHIFT][:_CHECKED]
        none = "no input value shifts the front" if self.checks else ""
        check = "; ".join(first) or none
        fields = {"inputs": inputs} | ({"check first": check} if check else {})
        if spread := describe_spread(self.checks):
            fields["one input off"] = spread
        return fields | {
            label: text for each in self.changes for label, text in each.fields.items()
        }


def provenance_section(found: InputProvenance) -> list[Section]:
    """Return the section on the provenance of input values; none without input values."""
    if not found.inputs:
        return []
    counts = ", ".join(f"{count} {name}" for name, count in found.provenances.items())
    objectives = ", ".join(f"{name} {last}" for name, last in found.objectives.items())
    words = [
        f"Input values: {counts}.",
        f"Worst provenance of the input values of an objective: {objectives}.",
        *([_HOW] if found.checks else []),
    ]
    checked = {id(check.given) for check in found.checks}
    others = [given for given in found.inputs if id(given) not in checked]
    others.sort(key=lambda given: -PROVENANCES.index(given.provenance))
    rows = [*(_row(c.given, c) for c in found.checks), *map(_row, others)]
    more = len(rows) - _ROWS
    note = f"summary.json has {more} more." if more > 0 else ""
    table = pd.DataFrame(rows[:_ROWS])
    if not found.checks:
        table = table[["input value", "value", "provenance", "source"]]
    parts = [Table("Input values, the first to check first", table, note)]
    parts += [each.table for each in found.changes]
    return [Section("Provenance of the input values", "\n\n".join(words), parts)]


def _row(given: StudyInput, check: Check | None = None) -> dict[str, object]:
    unit = given.unit or "1"
    row: dict[str, object] = {
        "input value": word_name(given.label),
        "value": "" if np.isnan(given.value) else show(given.value, unit),
        "provenance": given.provenance,
    }
    effect = dict.fromkeys(("range", "front shift", "changes most"), "")
    if check is not None:
        effect = {
            "range": " to ".join(show(end, unit) for end in check.ends),
            "front shift": show_percent(check.shift, 2) if check.shift >= _MIN_SHIFT else "0 %",
            "changes most": word_name(check.objective),
        }
    source = f"{given.source}; range: {given.range_source}" if given.range_source else given.source
    return row | effect | {"source": source}


def provenance_data(found: InputProvenance) -> dict[str, Any]:
    """Return the provenance of input values as plain values, for JSON; empty without any."""
    if not found.inputs:
        return {}
    keys = ("name", "label", "value", "unit", "provenance", "source", "objectives")
    data: dict[str, Any] = {
        "worst_provenance": worst_provenance(found.provenances),
        "provenances": found.provenances,
        "objectives": found.objectives,
        "check_first": [
            {
                "label": check.given.label,
                "provenance": check.given.provenance,
                "low": check.ends[0],
                "high": check.ends[1],
                "range": check.law or "half to double",
                "range_source": check.given.range_source,
                "front_shift": check.shift,
                "objective": check.objective,
            }
            for check in found.checks
        ],
        "all": [
            {key: getattr(given, key) for key in keys} | {"value": float(given.value)}
            for given in found.inputs
        ],
    }
    data |= {each.key: asdict(each) for each in found.changes}
    return {"input_values": json_value(data)}
