"""The audit: models checked against their contract, on designs of the study.

A search evaluates each design once, in any batch. This needs two properties: equal inputs give
equal outputs, and the outputs of a design do not depend on other designs in the batch. The audit
before a search thus runs each model twice on a sample, one by one on some designs, and on a large
batch in two threads. After a search, designs of the result are evaluated again in another way.
"""

from __future__ import annotations

import time
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass, field, fields, replace
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from dse.evaluate.evaluator import Evaluated, Evaluator, concatenate_batches
from dse.evaluate.failures import evaluate_naming_failures
from dse.evaluate.model_graph import ModelError
from dse.evaluate.pace import SLOW
from dse.evaluate.space import Points, sample_designs
from dse.model.contract import ContractError, Model
from dse.model.pairs import find_contradiction
from dse.model.quantity import Array, Quantity, Resource
from dse.problems import DseError, Problem

ROUNDING = 1e-12
"""Relative difference that is rounding: the vector and the scalar code of a processor differ in the
last bits, and the subtraction of near numbers enlarges it. `check_model` allows as much."""

# Models before a search ---------------------------------------------------------------------------

_FEW, _MANY = 2, 64  # designs of a sample of simulators, and of formulas
_SINGLE = 4  # designs that run one by one
_OVERSAMPLING = 16  # designs drawn per design of the sample, where constraints exclude some
_LARGE_BATCH = 65_536  # rows of the large batch at most: no chunk of a search is larger
_LARGE_FRACTION = 1_024  # one design of so many is in the large batch: the audit stays short
_PARTS = 2  # of the large batch, for two threads
_MIN_DESIGNS = 5  # designs of the smallest audit, in addition to a timed one


class Audit(NamedTuple):
    """The result of the audit."""

    problems: list[Problem]
    """Models that are not deterministic or not elementwise: their fronts would be wrong."""
    notes: dict[str, str]
    """By quantity: a value that is missing or outside its declared domain, or an output that
    contradicts its declared monotonicity."""


def audit_models(evaluator: Evaluator, seconds: float = np.inf) -> Audit:
    """Run the models on a sample of designs: 2 of simulators, 64 and a large batch of formulas.

    If a model raises for a single design, the search reports the design later. If the models are
    too slow for so many seconds, the audit is left out and noted.
    """
    if not evaluator.model_graph.models:  # a table of designs
        return Audit([], {})
    if seconds < np.inf:
        began = time.monotonic()
        with suppress(ModelError):
            evaluator.evaluate(sample_designs(evaluator.space, 1))
        pace = time.monotonic() - began
        if _MIN_DESIGNS * pace > seconds:
            message = (
                "the models were not held to their contract: one design took "
                f"{pace:.1f} s, too long for the {seconds:.3g} s that there are"
            )
            return Audit([], {"study.models": message})
    slow = evaluator.pace > SLOW  # more is left to `check_model`
    watch = _Watch(evaluator, _sample_allowed(evaluator, _FEW if slow else _MANY))
    watch.evaluate()
    if watch.problems or slow:
        return Audit(watch.problems, watch.notes)
    notes = _contradicted_declarations(evaluator, watch.points) | watch.notes
    return Audit(_large_batch_problems(evaluator), notes)


def _sample_allowed(evaluator: Evaluator, size: int) -> Points:
    """Return a sample of the designs that no constraint on variables excludes, if there are enough.

    The other designs may be outside the domain of a model, which then raises.
    """
    rules = evaluator.prefilter()
    if rules.constraints:
        points = sample_designs(evaluator.space, _OVERSAMPLING * size)
        rows = np.flatnonzero(rules.evaluate(points).feasible)[:size]
        if len(rows) == size:
            return {n: v[rows] for n, v in points.items()}
    return sample_designs(evaluator.space, size)


def _large_batch_problems(evaluator: Evaluator) -> list[Problem]:
    """Run the models on one large batch, and on parts of it in two threads; compare the values."""
    size = evaluator.space.size or _LARGE_BATCH * _LARGE_FRACTION
    count = min(_LARGE_BATCH // evaluator.scenarios, size // _LARGE_FRACTION)
    if count <= _MANY:
        return []
    points = sample_designs(evaluator.space, count)
    parts = np.array_split(np.arange(count), _PARTS)
    try:
        whole = evaluator.evaluate(points)
        with ThreadPoolExecutor(2) as threads:
            batches = [{n: v[rows] for n, v in points.items()} for rows in parts]
            again = concatenate_batches([*threads.map(evaluator.evaluate, batches)])
        compare_evaluations(
            evaluator, points, whole, again, None, f"in a batch of {count:,} designs"
        )
    except ModelError:
        return []  # the search names the design
    except RepeatabilityError as error:
        return [Problem("study.models", str(error), "")]
    return []


@dataclass
class _Watch:
    """A sample of designs, and the faults that the models show on it."""

    evaluator: Evaluator
    points: Points
    problems: list[Problem] = field(default_factory=list)
    notes: dict[str, str] = field(default_factory=dict)

    @property
    def size(self) -> int:
        return len(next(iter(self.points.values())))

    def evaluate(self) -> None:
        """Evaluate the sample with a check of each model."""
        model_graph = self.evaluator.model_graph
        models = tuple(
            _WatchedModel(**{f.name: getattr(m, f.name) for f in fields(Model)}, own=m, watch=self)
            for m in model_graph.models
        )
        with suppress(ModelError):
            replace(self.evaluator, model_graph=replace(model_graph, models=models)).evaluate(
                self.points
            )

    def check(self, model: Model, inputs: Mapping[str, Any]) -> dict[str, Array]:
        """Return the outputs of a run, after the same run once more and in parts."""
        count = max((_width(v) for v in inputs.values()), default=1)
        try:
            together = model(inputs)
        except MemoryError:  # too many designs for this machine; the search reports it
            raise
        except (Exception, SystemExit) as error:
            return self._run_one_by_one(model, inputs, count, error)
        if self.size > _FEW and self._differs(model, inputs, together):
            return together
        for row in np.unique(np.linspace(0, count - 1, _SINGLE).astype(int)) if count > 1 else ():
            alone = model(_design(inputs, row))
            for name, value in _design(together, row).items():
                if not _differ(value, alone[name]).any():
                    continue
                if not self._differs(model, inputs, together):
                    single, several = (self._show(model, name, v) for v in (alone[name], value))
                    self._add(
                        model,
                        f"is not elementwise: '{name}' of {self._describe(row)} is {single} alone, "
                        f"and {several} among {self.size} designs",
                        "an output's element depends on the same element of the inputs: no sums, "
                        "means or orders over designs",
                    )
                return together
        self._note_outside(model, inputs, together)
        return together

    def _run_one_by_one(
        self, model: Model, inputs: Mapping[str, Any], count: int, error: BaseException
    ) -> dict[str, Array]:
        """Raise the error again, unless every single design has a value: as a batch or number."""
        designs = [_design(inputs, row) for row in range(count)]
        results = [_attempt(model, design) for design in designs]
        errors = [r for r in results if isinstance(r, BaseException)]
        if errors and isinstance(error, TypeError):  # such as the errors of `math`
            numbers = [{n: _number(v) for n, v in design.items()} for design in designs]
            results = [_attempt(model, design) for design in numbers]
        what = str(ModelError(model.name, error)).removeprefix(f"{model.name} ")
        if any(isinstance(r, BaseException) for r in results):
            if all(isinstance(e, ContractError) for e in (error, *errors)) and len(errors) == count:
                self._add(model, what, "a model returns arrays of numbers, as long as its inputs")
            self.notes[model.name] = f"on a sample of designs: {model.name} {what}"
            raise error from None
        self._add(
            model,
            f"takes designs one at a time: for {count} together it {what}",
            "a model takes arrays, one element a design: np.where(lanes > 4, a, b) instead of "
            "`if lanes > 4`, np.maximum instead of max",
        )
        columns = {n: [np.atleast_1d(outputs[n]) for outputs in results] for n in model.outputs}
        return {n: np.concatenate(values, axis=-1) for n, values in columns.items()}

    def _differs(self, model: Model, inputs: Mapping[str, Any], first: Mapping[str, Array]) -> bool:
        """Return whether a second run gives other values."""
        second = model(inputs)
        for name, value in first.items():
            if not np.array_equal(value, second[name], equal_nan=True):
                same = (value == second[name]) | ((value != value) & (second[name] != second[name]))
                row = int(np.argmin(np.atleast_2d(same).all(axis=0)))
                texts = [self._show(model, name, _design(o, row)[name]) for o in (first, second)]
                self._add(
                    model,
                    f"is not deterministic: '{name}' of {self._describe(row)} is {texts[0]}, and "
                    f"then {texts[1]}",
                    "equal inputs give equal outputs: draw random numbers from a fixed seed",
                )
                return True
        return False

    def _note_outside(
        self, model: Model, inputs: Mapping[str, Any], outputs: Mapping[str, Array]
    ) -> None:
        """Note values that the model's declarations exclude, if its inputs are inside theirs."""
        inside: Any = np.bool_(True)
        for name, value in inputs.items():
            declared = model.inputs[name]
            if isinstance(declared, Quantity):
                inside = inside & declared.contains(value)
            elif declared.unknown is not None and declared.unknown(value):
                return  # outputs that need the missing data have no value
        for name, value in outputs.items():
            domain = model.outputs[name]
            if domain.contains_all(value):
                continue
            outside = np.atleast_1d(~domain.contains(value) & inside)
            if _width(outside) == self.size:  # values of excluded designs do not matter
                outside = outside & self.evaluator.prefilter().evaluate(self.points).feasible
            if outside.any():
                place = tuple(np.argwhere(outside)[0])
                shown = self._show(model, name, np.broadcast_to(value, outside.shape)[place])
                self.notes[name] = (
                    f"{model.name} gives {name} = {shown} for {self._describe(int(place[-1]))}: "
                    f"declared is {domain.domain()}"
                )

    def _add(self, model: Model, message: str, remedy: str) -> None:
        self.problems.append(Problem("study.models", f"{model.name} {message}", remedy))

    def _show(self, model: Model, name: str, value: Any) -> str:
        return show_exactly(float(np.ravel(value)[0]), model.outputs[name].unit)

    def _describe(self, row: int) -> str:
        return f"the design {self.evaluator.describe_design(self.points, row)}"


@dataclass(frozen=True, eq=False)
class _WatchedModel(Model):
    """A model that is checked at each run."""

    own: Model = field(kw_only=True)
    watch: _Watch = field(kw_only=True)

    def __call__(self, columns: Mapping[str, Any]) -> dict[str, Array]:
        """Return the outputs; see `Model.__call__`."""
        return self.watch.check(self.own, columns)


def _attempt(model: Model, inputs: Mapping[str, Any]) -> Any:
    try:
        return model(inputs)
    except (Exception, SystemExit) as error:
        return error


def _width(value: Any) -> int:
    return int(value.shape[-1]) if isinstance(value, np.ndarray) and value.ndim else 1


def _design(columns: Mapping[str, Any], row: int) -> dict[str, Any]:
    """Return the values of one design, as a batch of one."""
    return {n: v[..., row : row + 1] if _width(v) > 1 else v for n, v in columns.items()}


def _number(value: Any) -> Any:
    return float(value[0]) if isinstance(value, np.ndarray) and value.shape == (1,) else value


def _contradicted_declarations(evaluator: Evaluator, points: Points) -> dict[str, str]:
    """Return the declared monotonicity that some designs contradict, in words, by output.

    Bounds depend on it. A search that evaluates all designs does not, but a later search may. Each
    input of some designs thus takes the values of other designs, with all other inputs fixed.
    """
    model_graph = evaluator.model_graph
    models = {model.name: model for model in model_graph.models}
    columns, count = evaluator.space.columns(points), len(next(iter(points.values())))
    notes: dict[str, str] = {}
    for key, bound in model_graph.runs(evaluator.requests()):
        model, rng = models[key], np.random.default_rng(0)
        if not model.monotonic:
            continue
        with suppress(Exception, SystemExit):  # the search reports what a model raises
            one = model_graph.given(model, dict(bound), columns)
            for each, value in one.items():
                if not isinstance(model.inputs[each], Resource):
                    column = np.asarray(value, dtype=np.float64)
                    column = column[rng.integers(len(column))] if column.ndim > 1 else column
                    one[each] = np.broadcast_to(column, (count,))
            names = [n for n in one if any(n in moves for moves in model.monotonic.values())]
            copies = 1 + len(names)  # as they are, and with each input permuted: in one batch
            stacked = {n: np.tile(v, copies) if _width(v) > 1 else v for n, v in one.items()}
            blocks = [slice(k * count, (k + 1) * count) for k in range(copies)]
            for name, rows in zip(names, blocks[1:], strict=True):
                stacked[name][rows] = rng.permutation(one[name])
            outputs = model(stacked)
            inputs, values = (
                [{n: v[rows] if _width(v) > 1 else v for n, v in each.items()} for rows in blocks]
                for each in (stacked, outputs)
            )
            for k, name in enumerate(names, 1):
                pairs = (inputs[0], inputs[k]), (values[0], values[k])
                if (contradicted := find_contradiction(model, name, *pairs)) is not None:
                    output, text = contradicted
                    notes.setdefault(f"moves of {output}", f"{model.name}: {text}")
    return notes


# Designs evaluated again --------------------------------------------------------------------------

_ALONE = 8
"""Designs that are evaluated one by one: a call costs as much for one design as for fifty."""
_BATCH = 48
"""Designs per batch: faults of large batches begin at 50 to 1,000 rows."""
_DIAGNOSED_ROWS = 4_096
"""Rows of the batch that shows which model of several is at fault."""


class RepeatabilityError(DseError):
    """A design gave other values when it was evaluated again."""


def evaluate_differently(evaluator: Evaluator, points: Points) -> Evaluated:
    """Evaluate designs in this thread, some one by one, the others in small batches.

    Objectives of designs that a constraint excludes stay NaN: a model may raise for such a design.
    """
    evaluator = replace(evaluator, screens=True)
    count = len(next(iter(points.values())))
    cuts = [*range(min(_ALONE, count)), *range(_ALONE, count, _BATCH), count]
    batches = [
        evaluate_naming_failures(evaluator, {n: v[low:high] for n, v in points.items()}, low)
        for low, high in pairwise(cuts)
    ]
    return concatenate_batches(batches) if batches else Evaluated.empty(evaluator)


def compare_evaluations(
    evaluator: Evaluator,
    points: Points,
    recorded: Evaluated,
    again: Evaluated,
    numbers: NDArray[np.int64] | None,
    where: str = "in the search",
) -> None:
    """Compare the recorded values of designs with the values of a second evaluation.

    Objectives of designs that a constraint excludes may be missing in either. If the search skips
    designs that a model raises for, such a design may raise only where no constraint excludes it.

    Raises
    ------
    RepeatabilityError
        Naming the model, the design and both values.
    """

    def refuse(row: int, quantity: str, name: str, unit: str, values: tuple[Any, Any]) -> None:
        model = _model_at_fault(
            evaluator, {n: v[row : row + 1] for n, v in points.items()}, quantity
        )
        number = "the design" if numbers is None else f"design {numbers[row]}"
        before, now = (show_exactly(float(value), unit) for value in values)
        raise RepeatabilityError(
            f"{model} does not give the same value twice: '{name}' of {number} "
            f"({evaluator.describe_design(points, row)}) was {before} {where} and is "
            f"{now} when the design is evaluated again. {explain_rule(evaluator)}"
        )

    columns = np.column_stack([recorded.objectives, recorded.constrained])
    raised = np.asarray(np.isnan(columns).all(axis=1) & (evaluator.on_error == "skip"))
    raised &= (evaluator.violations(again.constrained) > 0).any(axis=1)
    excluded = np.any(evaluator.violations(recorded.constrained) > 0, axis=1, keepdims=True)
    known = ~excluded | ~(np.isnan(recorded.objectives) | np.isnan(again.objectives))
    differ = _differ(recorded.objectives, again.objectives) & known & ~raised[:, None]
    for row, k in np.argwhere(differ)[:1].tolist():
        objective = evaluator.objectives[k]
        values = recorded.objectives[row, k], again.objectives[row, k]
        refuse(row, objective.quantity, objective.name, objective.unit, values)
    for k, constraint in enumerate(evaluator.constraints):
        one, other = recorded.constrained[:, k], again.constrained[:, k]
        differ = _differ(one, other) & ~raised
        if constraint.relation is not None:  # a difference of two sides, which is near 0 by chance
            differ &= (constraint.violation(one) > 0) != (constraint.violation(other) > 0)
        for row in np.flatnonzero(differ)[:1].tolist():
            values = one[row], other[row]
            refuse(row, constraint.names[0], constraint.name, constraint.unit, values)


def _differ(one: Any, other: Any) -> NDArray[np.bool_]:
    with np.errstate(all="ignore"):
        return np.asarray(~np.isclose(one, other, rtol=ROUNDING, atol=0.0, equal_nan=True))


def explain_rule(evaluator: Evaluator) -> str:
    """Return the rule that a model has broken, in words."""
    declared = any(m.monotonic or m.lower_bounds for m in evaluator.model_graph.models)
    why = (
        "The outputs of a model must depend only on its inputs: not on other designs of the batch, "
        "other threads, earlier calls, the time or the environment."
    )
    return f"{why} Its declarations must hold." if declared else why


def show_exactly(value: float, unit: str) -> str:
    """Return a value of an audit with all its digits and its unit."""
    return f"{value!r} {unit}".removesuffix(" 1").removesuffix(" ")


def _model_at_fault(evaluator: Evaluator, design: Points, quantity: str) -> str:
    """Return the first model on the way to a quantity that depends on its batch, or all models."""
    model_graph = evaluator.model_graph
    requests = [r for r in evaluator.requests() if r[0] == quantity][:1]
    many = {n: np.repeat(v, _DIAGNOSED_ROWS) for n, v in design.items()}
    names = list(dict.fromkeys(key[0] for key in model_graph.runs(requests)))
    with suppress(ModelError):
        runs = [
            model_graph.done(requests, evaluator.space.columns(p)) for p in (design, many, design)
        ]
        for key in model_graph.runs(requests):
            first, *others = (run[key] for run in runs)
            if any(_differ(first[n], other[n]).any() for other in others for n in first):
                return key[0]
    return names[0] if len(names) == 1 else f"one of the models {', '.join(names)}"
