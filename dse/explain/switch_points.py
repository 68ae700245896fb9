"""Switch points: the values of input values at which another design is recommended.

Each input value that may be off takes values from its own to both bounds of its range, and nothing
else changes. The study gives the range. An assumed input value without a range is halved and
doubled. If no design is good enough, every input value is also divided and multiplied by ten: the
question is then in which other case a design is good enough.

Between the last value with the same recommendation and the first with another one, further values
narrow the switch point down: first with the designs that were recommended, as a recommended design
stays so if others are left out, and then with all candidates at both sides of the point.

The effort is counted in evaluations. It bounds the candidates and the values of an input.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import ClassVar, TypeAlias

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from dse.evaluate.evaluator import Evaluator
from dse.evaluate.failures import ignore_errors
from dse.evaluate.input_variation import InputRange, fix_at_middles, vary_one_at_a_time
from dse.evaluate.model_graph import ModelError
from dse.evaluate.pace import SLOW as SLOW_MODEL
from dse.evaluate.samples import Distribution, Source, Uncertainty
from dse.evaluate.space import Points
from dse.evaluate.table_space import TableSpace
from dse.explain.changes import list_settings, show_relative_change
from dse.explain.robustness import evaluate_samples, select_candidates
from dse.explain.sensitivity import common_domain
from dse.model.quantity import Array, Quantity
from dse.model.section import Table
from dse.model.values import (
    join_words,
    plural,
    show,
    show_amount,
    show_apart,
    show_bound,
    word_name,
)
from dse.problems import InputError
from dse.result.record import Result
from dse.study.resolve.dependencies import StudyInput
from dse.study.study import ResolvedStudy, rewrite_study

FACTOR, WIDE = 2.0, 10.0
"""The factor by which an assumed input value without a range changes; if no design is good enough,
the factor for all."""
_INSIDE = (0.025, 0.975)  # of a law without ends
_STEPS = (4, 2, 1)  # values on each side of an input value, as many as the budget allows
_PARTS = 4  # into which a further round divides the interval with a switch point
_NEAR = 0.01  # of an input value: the design there is about as good
_TOLERANCE = 2e-4  # of a switch point: three digits
_EVALUATIONS = 1 << 12  # of designs in scenarios, if the search had fewer
_EFFORT = 4  # evaluations, as a multiple of the search's
_RUN = 1 << 9  # evaluations that a run spends on them in a small space: else `LATER`
_RUN_AT_FRONT = 1 << 15  # the same for the front of a large space: about 0.3 s of quick models
_FRONT = 1_000  # designs of a front that are all evaluated again
LATER = "dse explain searches them"
SLOW = "not searched: a guided search is for slow models"
COSTLY = "the models are slow; dse explain --verbose searches them"
SECONDS = 20.0  # of the processor, for switch points that nobody asked for
_LISTED = 3  # switch points in the answer
Select: TypeAlias = Callable[[Array, NDArray[np.bool_]], int | None]
"""The row that is recommended of feasible designs (designs, objectives), lower is better.

The second argument is which of them have no excluded option.
"""
Varied: TypeAlias = tuple[Array, NDArray[np.bool_]]
"""Values (1 + other values, designs, objectives), and whether designs are valid."""


# Ranges, and designs at other values of an input ----------------------------------------------


def _is_clock(given: StudyInput) -> bool:
    """Return whether an input value converts others, which are then read again."""
    return given.name == "clock" and not given.variable


def input_range(
    study: ResolvedStudy, given: StudyInput, wide: bool = False
) -> tuple[tuple[float, float], str] | None:
    """Return the bounds of an input value's range, and its text in the study; empty if it has none.

    None if it is neither assumed nor uncertain and has no range, or if it cannot be halved and
    doubled: a file, 0, a selector, a flag, a count or an exponent. A `wide` range is of a value of
    any provenance, and includes a tenth and ten times it.
    """
    if given.kernels and given.variable:  # of an entry that a kernel may have
        return None
    own = None
    if given.uncertain is not None:
        source, number = given.uncertain.source, given.uncertain.number
        own = _ends_of(study.uncertainty, source, number), source.text
    elif given.range:
        low, high = given.range
        own = (low, high), f"between {show(low, given.unit)} and {show(high, given.unit)}"
    elif given.provenance == "assumed":
        own = _scaled_range(study, given, FACTOR)
    if not wide:
        return own
    ends = [end for each in (own, _scaled_range(study, given, WIDE)) if each for end in each[0]]
    return ((min(ends), max(ends)), "") if ends else None


def _scaled_range(
    study: ResolvedStudy, given: StudyInput, factor: float
) -> tuple[tuple[float, float], str] | None:
    """Return the value divided and multiplied by a factor, within its domain; None if it cannot."""
    if not math.isfinite(given.value) or given.value == 0:
        return None
    if given.kernels and study.kernels is not None:
        evaluator = study.kernels.kernels[given.kernels[0]].evaluator
        study = replace(study, evaluator=evaluator)
    if given.name in study.evaluator.model_graph.free:  # only relations name it: a bound, no value
        return None
    low, high = sorted((given.value / factor, given.value * factor))
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
    """Yield designs as they are and at other values of one input, for switch points.

    None if a model raises.
    """
    plain = [_as_range(g, ends) for g, ends in inputs if not g.kernels and not _is_clock(g)]
    values = _vary(study.evaluator, plain, points)
    for given, ends in inputs:
        whole = given.kernels or _is_clock(given)
        yield _vary_study(study, given, ends, points) if whole else next(values)


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


def _vary_study(
    study: ResolvedStudy, given: StudyInput, ends: tuple[float, ...], points: Points
) -> Varied | None:
    """Return the values of designs in studies with other values of an input."""
    parts = [_evaluated(fix_at_middles(study.evaluator), points)]
    try:
        for end in ends:
            if given.kernels:
                parts.append(_at_kernel_value(study, given, end, points))
            else:
                parts.append(_at_clock(study, end, points))
    except (InputError, ModelError):
        return None
    values, holds = zip(*parts, strict=True)
    return np.concatenate(values), np.concatenate(holds)


def _at_kernel_value(study: ResolvedStudy, given: StudyInput, end: float, points: Points) -> Varied:
    """Return the values of designs at another value of an input of kernels.

    A design with an option that is dominated there is infeasible: no system needs it.
    """
    kernels, labels = study.kernels, study.evaluator.space.labels(points)
    if kernels is None:
        raise AssertionError("a study without kernels has no inputs of kernels")
    other = kernels.vary(study.evaluator, given.kernels, given.name, end)
    same, known = {}, np.ones(len(next(iter(points.values()))), dtype=bool)
    for key, variable in other.space.variables.items():
        names = {name: k for k, name in enumerate(getattr(variable, "names", ()))}
        places = np.array([names.get(str(option), -1) for option in labels[key]])
        known &= places >= 0
        same[key] = np.maximum(places, 0)
    values, holds = _evaluated(other, same)
    return values, holds & known


def _at_clock(study: ResolvedStudy, clock: float, points: Points) -> Varied:
    """Return the values of designs at another clock: times in seconds are read again."""
    inputs = {**study.content.get("inputs", {}), "clock": clock}
    other = rewrite_study(study, {**study.content, "inputs": inputs})
    mine, own = study.evaluator.space.variables, other.evaluator.space.variables
    same = {n: own[n].from_unit(mine[n].to_unit(v)) for n, v in points.items()}
    return _evaluated(fix_at_middles(other.evaluator), same)


# Switch points -------------------------------------------------------------------------------


@dataclass(frozen=True)
class SwitchPoint:
    """The nearest value of an input, on one side, at which another design is recommended.

    `design` is None if no design is good enough there; `settings` are its variables that differ.
    If no design is good enough as the inputs are, `unmet` is true: here one is.
    """

    label: str
    unit: str
    now: float
    value: float
    design: int | None
    settings: tuple[str, ...]
    unmet: bool = False

    @property
    def texts(self) -> tuple[str, ...]:
        """The label, both values, the design and the variables that differ, in words."""
        now, value = show_apart(self.now, self.value, self.unit or "1")
        design = "no design" if self.design is None else f"design {self.design}"
        return word_name(self.label), now, value, design, ", ".join(self.settings)

    @property
    def then(self) -> str:
        """The change of the design, or its number."""
        return self.texts[-1] or self.texts[-2]

    def __str__(self) -> str:
        label, unit = word_name(self.label), self.unit or "1"
        if self.unmet:
            more = self.value > self.now
            return (
                f"{label} {show_bound(self.value, unit, up=more)} or {'more' if more else 'less'}"
            )
        if not self.now:
            return f"{label} {show_amount(self.value, unit)} (now 0)"
        near = " (near tie)" if abs(self.value - self.now) <= _NEAR * abs(self.now) else ""
        return f"{label} {show_relative_change(self.now, self.value, unit)}{near}"


@dataclass(frozen=True)
class SwitchPoints:
    """The switch points of all input values that may be off, the nearest first.

    `searched` names the designs that were evaluated again, or why none was.
    """

    key: ClassVar = "switch_points"
    points: tuple[SwitchPoint, ...]
    searched: str

    @property
    def nearest(self) -> str:
        """The nearest switch points in words: those with the same change together."""
        shown = self.points[:_LISTED]
        if shown and shown[0].unmet:
            return join_words(map(str, shown), "or")
        changes = dict.fromkeys(point.then for point in shown)
        together = [[str(p) for p in shown if p.then == then] for then in changes]
        pairs = zip(together, changes, strict=True)
        return "; ".join(f"{join_words(points, 'or')}: {then}" for points, then in pairs)

    @property
    def fields(self) -> dict[str, str]:
        """The nearest switch points, for an answer."""
        return {"switch points": "; ".join(filter(None, (self.nearest, self._none)))}

    @property
    def lines(self) -> list[tuple[str, str]]:
        """All switch points with the variables that differ, as labels and texts."""
        texts = [point.texts for point in self.points]
        lines = [
            ("switch point", f"{label} {value} (now {now}): {': '.join(filter(None, then))}")
            for label, now, value, *then in texts
        ]
        return [*lines, ("switch points", self._none)]

    @property
    def _none(self) -> str:
        """The search, after the word none if it found nothing."""
        none = self.searched.startswith(_AMONG) and not self.points
        return f"none {self.searched}" if none else self.searched

    @property
    def table(self) -> Table:
        """The switch points as a table of the report."""
        names = ["input value", "now", "switch point", "recommended", "change"]
        rows = pd.DataFrame([p.texts for p in self.points], columns=names)
        unmet = any(point.unmet for point in self.points)
        where = "a design is good enough" if unmet else "another design is recommended"
        return Table(f"Switch points: {where}", rows, self.searched)


def find_switch_points(
    study: ResolvedStudy,
    result: Result,
    recommended: int,
    select: Select,
    thorough: bool = True,
    seconds: float = SECONDS,
    unmet: bool = False,
) -> SwitchPoints | None:
    """Return the switch points of a recommended design; None if no input value may be off.

    A design for which a model raises is infeasible.

    Parameters
    ----------
    thorough : bool
        Whether they are searched although only some designs of the space are evaluated.
    seconds : float
        The processor seconds that the models may take, as an estimate.
    unmet : bool
        Whether no design is recommended, and this one is the nearest. Then every input value takes
        other ones, and a switch point is where a design is recommended.
    """
    unguarded = study.evaluator
    study = replace(study, evaluator=ignore_errors(unguarded))
    evaluator = study.evaluator
    inputs = [(f, input_range(study, f, unmet)) for f in study.inputs]
    ranges = [(given, found[0]) for given, found in inputs if found is not None]
    if not ranges or isinstance(evaluator.space, TableSpace):
        return None
    candidates = _select_candidates(study, result, recommended, len(ranges))
    numbers, points, steps = candidates.numbers, candidates.points, candidates.steps
    few = _RUN if candidates.all else min(_RUN_AT_FRONT, _EFFORT * result.certificate.evaluated)
    effort = len(numbers) * (1 + 2 * steps * len(ranges))
    small = study.kernels is None and effort <= few
    why = SLOW if result.is_guided else "" if small or thorough else LATER
    if not why and (pace := unguarded.pace) > SLOW_MODEL and effort * pace > seconds:
        why = COSTLY
    if why:
        return SwitchPoints((), why)

    labels = evaluator.space.labels(points)
    allowed = study.preferences.allow(labels, len(numbers))

    def recommend(values: Array, valid: NDArray[np.bool_], rows: NDArray[np.intp]) -> int | None:
        kept = np.flatnonzero(valid)
        row = select(values[kept] * evaluator.signs, allowed[rows[kept]]) if len(kept) else None
        return None if row is None else int(rows[kept[row]])

    def find_rows(
        asked: Sequence[tuple[StudyInput, tuple[float, ...]]], rows: NDArray[np.intp]
    ) -> Iterator[list[int | None]]:
        """Yield which of some candidates is recommended at each value; nothing if a model raises.

        The first is at the input's own value.
        """
        for varied in vary_inputs(study, asked, {n: v[rows] for n, v in points.items()}):
            yield [] if varied is None else [recommend(*v, rows) for v in zip(*varied, strict=True)]

    every = np.arange(len(numbers))
    (own,) = find_rows([(ranges[0][0], ())], every)
    base = own[0] if own else None
    if not own or (base is not None if unmet else base is None or numbers[base] != recommended):
        return SwitchPoints((), "not searched: the middles of the inputs give another answer")
    whole = {name for name, q in evaluator.model_graph.quantities.items() if q.integer}
    brackets = [
        _Bracket(given, given.name in whole, base, float(given.value), end, base)
        for given, ends in ranges
        for end in ends
    ]
    first = [bracket.between(steps) for bracket in brackets]
    asked = [(bracket.given, values) for bracket, values in zip(brackets, first, strict=True)]
    for bracket, values, rows in zip(brackets, first, find_rows(asked, every), strict=True):
        bracket.narrow(values, rows[1:])
        bracket.known = bracket.inside
    switching = [bracket for bracket in brackets if bracket.row != base]
    while switching:
        rows = [base, *(b.row for b in switching)]
        some = np.unique([row for row in rows if row is not None])
        while narrowed := [(b, v) for b in switching if (v := b.between(_PARTS))]:
            seen = find_rows([(bracket.given, values) for bracket, values in narrowed], some)
            for (bracket, values), rows in zip(narrowed, seen, strict=True):
                bracket.narrow(values, rows[1:])
        sides = [(bracket.given, (bracket.inside, bracket.outside)) for bracket in switching]
        pairs = zip(switching, find_rows(sides, every), strict=True)
        switching = [bracket for bracket, rows in pairs if not bracket.confirm(rows[1:])]

    start = int(np.flatnonzero(numbers == recommended)[0])

    def point(bracket: _Bracket) -> SwitchPoint:
        given, row = bracket.given, start if bracket.row is None else bracket.row
        pair = [{n: v[k] for n, v in labels.items()} for k in (start, row)]
        settings = tuple(map(str, list_settings(evaluator, *pair)))
        design = None if bracket.row is None else int(numbers[bracket.row])
        own = float(given.value)
        return SwitchPoint(given.label, given.unit, own, bracket.outside, design, settings, unmet)

    found = [point(bracket) for bracket in brackets if bracket.row != base]
    found.sort(key=lambda p: abs(p.value - p.now) / (abs(p.now) or 1.0))
    return SwitchPoints(tuple(found), str(candidates))


@dataclass
class _Bracket:
    """Two values of an input: outside, a `row` other than `base` is recommended, if known."""

    given: StudyInput
    integer: bool
    base: int | None
    inside: float
    outside: float
    row: int | None
    known: float = math.nan
    """A value at which `base` is recommended among all candidates."""

    def between(self, parts: int) -> tuple[float, ...]:
        """Return the values that divide the interval, in the logarithm if positive.

        None if it is known to three digits.
        """
        known = {self.inside}
        if self.row != self.base:
            known.add(self.outside)
            width = 1.0 if self.integer else _TOLERANCE * abs(self.outside)
            if abs(self.outside - self.inside) <= width:
                return ()
        spaced = np.geomspace if min(self.inside, self.outside) > 0 else np.linspace
        values = spaced(self.inside, self.outside, parts + 1)
        values = np.round(values) if self.integer else values
        return tuple(v for v in dict.fromkeys(values.tolist()) if v not in known)

    def narrow(self, values: Sequence[float], rows: Sequence[int | None]) -> None:
        """Keep the first of some values at which another design is recommended."""
        for value, row in zip(values, rows, strict=False):
            if row != self.base:
                self.outside, self.row = value, row
                return
            self.inside = value
        if len(rows) < len(values):  # a model raises
            self.inside = self.outside

    def confirm(self, rows: Sequence[int | None]) -> bool:
        """Take the recommendations of all candidates inside and outside.

        Return whether `base` is recommended inside. Else the switch point is nearer.
        """
        if not rows or rows[0] == self.base:
            self.row = rows[1] if rows else self.row
            return True
        self.outside, self.row, self.inside = self.inside, rows[0], self.known
        return False


# Candidates -----------------------------------------------------------------------------------


@dataclass(frozen=True)
class _Candidates:
    """The designs to evaluate again, and the values on each side of an input value."""

    numbers: NDArray[np.int64]
    points: Points
    steps: int
    where: str

    @property
    def all(self) -> bool:
        return self.where == _WHOLE

    def __str__(self) -> str:
        designs = plural(len(self.numbers), "design")
        return (
            f"{_AMONG} {designs} {self.where}, at {2 * self.steps} values of each input; "
            "a change that reverts between two is not seen"
        )


_WHOLE = "(all of the space)"
_AMONG = "among"


def _select_candidates(
    study: ResolvedStudy, result: Result, recommended: int, inputs: int
) -> _Candidates:
    """Return the most designs, and for them the most values, that the budget allows."""
    space, scenarios = study.evaluator.space, study.evaluator.scenarios
    front = result.front.designs.index.to_numpy()
    size = space.size if result.certificate.numbered else None
    budget = max(_EVALUATIONS // scenarios, _EFFORT * result.certificate.evaluated)
    steps = _STEPS[-1]
    if size is not None and size * (1 + 2 * steps * inputs) <= budget:
        choices = [(np.arange(size), _WHOLE)]
    else:
        near = [*select_candidates(result, 1), *(front if len(front) <= _FRONT else ())]
        few = max(1, budget // (1 + 2 * steps * inputs) - 1)
        spread = front[np.unique(np.linspace(0, len(front) - 1, few).astype(int))]
        choices = [
            (np.unique([recommended, *near]), "on and near the front"),
            (np.unique([recommended, *spread]), "on the front"),
        ]
    fitting = (
        (*choice, steps)
        for choice in choices
        for steps in _STEPS
        if len(choice[0]) * (1 + 2 * steps * inputs) <= budget
    )
    numbers, where, steps = next(fitting, (*choices[-1], steps))
    if where == _WHOLE:
        return _Candidates(numbers, space.from_index(numbers), steps, where)
    rows = result.designs.loc[numbers]
    points = space.from_labels({n: rows[n].to_numpy() for n in space.variables})
    return _Candidates(numbers, points, steps, where)
