"""Switch points: the values of input values at which another design is recommended.

Each input value that may be off takes values from its own to both bounds of its range, and nothing
else changes. The study gives the range. An assumed input value without a range is halved and
doubled. Between the last value with the same recommendation and the first with another one, further
values narrow the switch point down.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any, TypeAlias

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from dse.evaluate.evaluator import Evaluator
from dse.evaluate.input_ranges import InputRange, fix_at_middles, vary_one_at_a_time
from dse.evaluate.model_graph import ModelError
from dse.evaluate.samples import Distribution, Source, Uncertainty
from dse.evaluate.space import Choice, Points
from dse.evaluate.table_space import TableSpace
from dse.explain.changes import list_settings
from dse.explain.robustness import evaluate_samples, select_candidates
from dse.explain.sensitivity import common_domain
from dse.model.quantity import Array, Quantity
from dse.model.section import Table
from dse.model.values import amount, plural, show, worded
from dse.problems import InputError
from dse.result.record import Result
from dse.study.resolve.dependencies import StudyInput
from dse.study.study import ResolvedStudy, rewritten

FACTOR = 2.0
"""The factor by which an assumed input value without a range changes."""
_INSIDE = (0.025, 0.975)  # of a law without ends
_STEPS = 4  # values on each side: a recommendation that changes back between two is not seen
_TOLERANCE = 2e-4  # of a switch point: three digits
_EVALUATIONS = 1 << 19  # up to so many, all designs of the space are evaluated again
_FRONT = 1_000  # designs of a front that are all evaluated again
_SLOW = 5.0, 0.02  # seconds of a search, and of each design, above which models are slow
LATER = "dse explain searches them"
_NONE = "none in the ranges of the inputs"
_LISTED = 3  # switch points in the answer
Select: TypeAlias = Callable[[Array], int | None]
"""The row that is recommended of feasible designs (designs, objectives), lower is better."""
Varied: TypeAlias = tuple[Array, NDArray[np.bool_]]
"""Values (1 + other values, designs, objectives), and whether designs are valid."""


# Ranges, and designs at other values of an input ----------------------------------------------


def _is_clock(given: StudyInput) -> bool:
    """Return whether an input value converts others, which are then read again."""
    return given.name == "clock" and not given.variable


def input_range(study: ResolvedStudy, given: StudyInput) -> tuple[tuple[float, float], str] | None:
    """Return the bounds of an input value's range, and its text in the study; empty if it has none.

    None if it is neither assumed nor uncertain and has no range, or if it cannot be halved and
    doubled: a file, 0, a selector, a flag, a count or an exponent.
    """
    if given.uncertain is not None:
        source, number = given.uncertain.source, given.uncertain.number
        return _ends_of(study.uncertainty, source, number), source.text
    if given.range:
        low, high = given.range
        return (low, high), f"between {show(low, given.unit)} and {show(high, given.unit)}"
    if given.provenance != "assumed" or not math.isfinite(given.value) or given.value == 0:
        return None
    low, high = sorted((given.value / FACTOR, given.value * FACTOR))
    if given.name in study.evaluator.model_graph.quantities:
        quantity = common_domain(study.evaluator.model_graph, given.name)
        if quantity.integer or quantity.exponent:
            return None
        low, high = (_inside(quantity, given.value, end) for end in (low, high))
    return ((low, high), "") if low < high else None


def _inside(quantity: Quantity, value: float, end: float) -> float:
    """Return an end within the domain; half way to a bound that it may not reach."""
    end = min(max(end, quantity.low), quantity.high)
    if end <= quantity.above:
        end = (value + quantity.above) / 2
    if end >= quantity.below:
        end = (value + quantity.below) / 2
    return float(end) if quantity.contains_all(np.array([end])) else value


def _ends_of(uncertainty: Uncertainty, source: Source, number: int) -> tuple[float, float]:
    """Return the bounds of a law, or the interval with 95 % of it."""
    if isinstance(source.law, Distribution):
        if source.law.kind in ("between", "uniform", "triangular"):
            return source.law.numbers[0], source.law.numbers[-1]
        low, high = source.law(np.array(_INSIDE)).tolist()
        return low, high
    drawn = uncertainty.values[source.where][uncertainty.corners :, number]
    low, high = np.quantile(drawn, _INSIDE).tolist()
    return low, high


def _as_range(given: StudyInput, ends: tuple[float, ...]) -> InputRange:
    where = given.uncertain.source.where if given.bound and given.uncertain else ""
    return InputRange(given.name, float(given.value), ends, given.variable, given.option, where)


def vary_inputs(
    study: ResolvedStudy, inputs: Sequence[tuple[StudyInput, tuple[float, ...]]], points: Points
) -> Iterator[Varied | None]:
    """Yield designs as they are and at other values of one input; None if a model raises."""
    plain = [_as_range(given, ends) for given, ends in inputs if not _is_clock(given)]
    values = _vary(study.evaluator, plain, points)
    for given, ends in inputs:
        yield _vary_clock(study, points, ends) if _is_clock(given) else next(values)


def _vary(
    evaluator: Evaluator, ranges: Sequence[InputRange], points: Points
) -> Iterator[Varied | None]:
    if not ranges:
        return
    try:
        values, holds = _evaluated(vary_one_at_a_time(evaluator, ranges), points)
    except ModelError:
        if len(ranges) == 1:
            yield None
            return
        middle = len(ranges) // 2
        yield from _vary(evaluator, ranges[:middle], points)
        yield from _vary(evaluator, ranges[middle:], points)
        return
    start = 1
    for changed in ranges:
        rows = [0, *range(start, start + len(changed.ends))]
        start += len(changed.ends)
        yield values[rows], holds[rows]


def _evaluated(evaluator: Evaluator, points: Points) -> Varied:
    count = len(next(iter(points.values())))
    return evaluate_samples(evaluator, evaluator.space.columns(points), count)


def _vary_clock(study: ResolvedStudy, points: Points, ends: tuple[float, ...]) -> Varied | None:
    """Return the values of designs at another clock: times in seconds are read again."""
    inputs = study.content.get("inputs", {})
    parts = [_evaluated(fix_at_middles(study.evaluator), points)]
    for end in ends:
        try:
            other = rewritten(study, {**study.content, "inputs": {**inputs, "clock": end}})
            mine, own = study.evaluator.space.variables, other.evaluator.space.variables
            same = {n: own[n].from_unit(mine[n].to_unit(v)) for n, v in points.items()}
            parts.append(_evaluated(fix_at_middles(other.evaluator), same))
        except (InputError, ModelError):
            return None
    values, holds = zip(*parts, strict=True)
    return np.concatenate(values), np.concatenate(holds)


# Switch points -------------------------------------------------------------------------------


@dataclass(frozen=True)
class SwitchPoint:
    """The value of an input at which another design is recommended.

    Parameters
    ----------
    given : StudyInput
        The input value.
    value : float
        The nearest such value on one side, to three digits, in the input's unit.
    design : int or None
        The design that is recommended there; None if no design is good enough.
    settings : tuple of str
        Its variables that differ from the recommended design.
    """

    given: StudyInput
    value: float
    design: int | None
    settings: tuple[str, ...]

    @property
    def recommended(self) -> str:
        """The design that is recommended there, in words."""
        return "no design" if self.design is None else f"design {self.design}"

    def __str__(self) -> str:
        value, own = (show(v, self.given.unit or "1") for v in (self.value, self.given.value))
        return f"{worded(self.given.label)} {value} (now {own}): {self.recommended}"


@dataclass(frozen=True)
class SwitchPoints:
    """The switch points of all input values that may be off, the nearest first.

    Parameters
    ----------
    points : tuple of SwitchPoint
        At most one above and one below each input value.
    designs : int
        The designs that were evaluated again.
    complete : bool
        Whether they are all designs of the space.
    missing : str
        Why there was no search; empty if there was one.
    """

    points: tuple[SwitchPoint, ...] = ()
    designs: int = 0
    complete: bool = False
    missing: str = ""

    @property
    def searched(self) -> str:
        """The designs among which the recommendation was made again, in words."""
        where = "all of the space" if self.complete else "on and near the front"
        return f"among {plural(self.designs, 'design')}, {where}"

    @property
    def fields(self) -> dict[str, str]:
        """The nearest switch points, for an answer."""
        first = "; ".join(map(str, self.points[:_LISTED])) or _NONE
        return {"switch points": self.missing or f"{first}; {self.searched}"}

    @property
    def lines(self) -> list[tuple[str, str]]:
        """All switch points with the variables that differ, as labels and texts."""
        texts = [f"{p}: {', '.join(p.settings) or 'no change'}" for p in self.points]
        lines = [("switch point", text) for text in texts or [self.missing or _NONE]]
        return lines if self.missing else [*lines, ("recommended again", self.searched)]


def find_switch_points(
    study: ResolvedStudy, result: Result, recommended: int, select: Select, thorough: bool = True
) -> SwitchPoints | None:
    """Return the switch points of a recommended design; None if no input value may be off.

    Parameters
    ----------
    thorough : bool
        Whether they are searched although only some designs of the space are evaluated.

    Raises
    ------
    ModelError
        If a model raises for the designs as they are.
    """
    evaluator = study.evaluator
    ranges = [(f, r[0]) for f in study.inputs if (r := input_range(study, f)) is not None]
    if not ranges or isinstance(evaluator.space, TableSpace):
        return None
    if why := describe_slowness(result):
        return SwitchPoints(missing=why)
    changes = 1 + 2 * _STEPS * len(ranges)
    numbers, points, complete = _candidates(study, result, recommended, changes)
    if not (complete or thorough):
        return SwitchPoints(missing=LATER)
    (plain,) = vary_inputs(study, [(ranges[0][0], ())], points)
    if plain is None:
        return None
    own_values, own_valid = (part[0] for part in plain)

    def recommend(rows: NDArray[np.intp], values: Array, valid: NDArray[np.bool_]) -> int | None:
        """Return the number of the recommended design if some designs have other values."""
        all_values, all_valid = own_values.copy(), own_valid.copy()
        all_values[rows], all_valid[rows] = values, valid
        kept = np.flatnonzero(all_valid)
        row = select(all_values[kept] * evaluator.signs) if len(kept) else None
        return None if row is None else int(numbers[kept[row]])

    base = recommend(np.arange(0), own_values[:0], own_valid[:0])
    if base != recommended:
        return SwitchPoints(missing="not searched: the middles of inputs give another design")

    def probe(asked: Sequence[tuple[StudyInput, Sequence[float]]]) -> list[list[int | None]]:
        """Return the recommendations at values of each input; none if a model raises."""
        found: list[list[int | None]] = [[] for _ in asked]
        entries = [(given.variable, given.option) for given, _ in asked]
        for entry in dict.fromkeys(entries):
            members = [k for k, other in enumerate(entries) if other == entry]
            rows = np.arange(len(numbers))
            choice = evaluator.space.variables.get(entry[0])
            if isinstance(choice, Choice):
                rows = np.flatnonzero(points[entry[0]] == choice.names.index(entry[1]))
            some = {name: values[rows] for name, values in points.items()}
            inputs = [(given, tuple(values)) for given, values in map(asked.__getitem__, members)]
            several = vary_inputs(study, inputs, some) if len(rows) else ()
            for k, varied in zip(members, several, strict=False):
                if varied is not None:
                    found[k] = [recommend(rows, *pair) for pair in zip(*varied, strict=True)][1:]
        return found

    whole = {name for name, q in evaluator.model_graph.quantities.items() if q.integer}
    brackets = [
        _Bracket(given, given.name in whole, float(given.value), end, base)
        for given, ends in ranges
        for end in ends
    ]
    searched = brackets
    while searched:
        asked = [(bracket.given, bracket.between(base)) for bracket in searched]
        for bracket, (_, values), designs in zip(searched, asked, probe(asked), strict=True):
            bracket.narrow(values, designs, base)
        searched = [b for b in brackets if b.design != base and not b.closed]
    brackets = [b for b in brackets if b.design != base]
    rows = {int(number): row for row, number in enumerate(numbers)}
    labels = evaluator.space.labels(points)

    def settings(design: int | None) -> tuple[str, ...]:
        pair = [{n: v[rows[k]] for n, v in labels.items()} for k in (base, design) if k is not None]
        return tuple(map(str, list_settings(evaluator, pair[0], pair[-1])))

    brackets.sort(key=lambda b: abs(b.outside - b.given.value) / (abs(b.given.value) or 1.0))
    switches = (SwitchPoint(b.given, b.outside, b.design, settings(b.design)) for b in brackets)
    return SwitchPoints(tuple(switches), len(numbers), complete)


def describe_slowness(result: Result) -> str:
    """Return why no design of a study is evaluated again; empty unless its models are slow."""
    seconds = float(result.provenance.get("seconds") or 0.0)
    per_design = seconds / max(1, result.certificate.evaluated)
    slow = seconds > _SLOW[0] and per_design > _SLOW[1]
    return f"not searched: a design takes {amount(per_design, 's')}" if slow else ""


@dataclass
class _Bracket:
    """Two values of an input: another design is recommended outside, if one is known at all."""

    given: StudyInput
    integer: bool
    inside: float
    outside: float
    design: int | None

    @property
    def closed(self) -> bool:
        """Whether the outside value is known to three digits; of whole numbers, exactly."""
        width = abs(self.outside - self.inside)
        return width <= (1.0 if self.integer else _TOLERANCE * abs(self.outside))

    def between(self, base: int | None) -> list[float]:
        """Return values from inside to outside, evenly in the logarithm if they are positive."""
        spaced = np.geomspace if min(self.inside, self.outside) > 0 else np.linspace
        values = spaced(self.inside, self.outside, _STEPS + 1)
        values = np.round(values) if self.integer else values
        known = {self.inside} | ({self.outside} if self.design != base else set())
        return [v for v in dict.fromkeys(values.tolist()) if v not in known]

    def narrow(
        self, values: Sequence[float], designs: Sequence[int | None], base: int | None
    ) -> None:
        """Keep the first of some values at which another design is recommended."""
        if not values or len(designs) < len(values):  # no more digits, or a model raises
            self.inside = self.outside
        for value, design in zip(values, designs, strict=False):
            if design != base:
                self.outside, self.design = value, design
                return
            self.inside = value


def _candidates(
    study: ResolvedStudy, result: Result, recommended: int, changes: int
) -> tuple[NDArray[np.int64], Points, bool]:
    """Return the numbers and points of the designs to evaluate again, and whether they are all."""
    space, front = study.evaluator.space, result.front.designs.index
    size = space.size if result.certificate.numbered else None
    if size is not None and size * changes <= _EVALUATIONS:
        numbers = np.arange(size)
        return numbers, space.from_index(numbers), True
    near = [*select_candidates(result, 1), *(front if len(front) <= _FRONT else ())]
    numbers = np.unique([recommended, *near])
    rows = result.designs.loc[numbers]
    return numbers, space.from_labels({n: rows[n].to_numpy() for n in space.variables}), False


def switch_points_table(switches: SwitchPoints) -> Table:
    """Return the switch points as a table of the report."""
    rows = [
        {
            "input value": worded(point.given.label),
            "now": show(point.given.value, point.given.unit or "1"),
            "switch point": show(point.value, point.given.unit or "1"),
            "recommended": point.recommended,
            "change": ", ".join(point.settings),
        }
        for point in switches.points
    ]
    note = switches.missing or f"The recommendation was made again {switches.searched}."
    return Table("Switch points: another design is recommended", pd.DataFrame(rows), note)


def switch_points_data(switches: SwitchPoints) -> dict[str, Any]:
    """Return switch points as plain values, for JSON."""
    points = [
        {"label": p.given.label, "now": p.given.value, "unit": p.given.unit, "value": p.value}
        | {"design": p.design, "settings": p.settings}
        for p in switches.points
    ]
    return {**asdict(replace(switches, points=())), "points": points}
