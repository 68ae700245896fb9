"""The audit: models checked against their contract, on designs of the study.

A search evaluates each design once, in any batch. This needs two properties: equal inputs give
equal outputs, and the outputs of a design do not depend on other designs in the batch. The audit
before a search thus runs each model twice on a sample, one by one on some designs, and on a large
batch in two threads. After a search, designs of the result are evaluated again in another way.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import cached_property
from types import SimpleNamespace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from dse.evaluate.evaluator import Evaluated, Evaluator, concatenate
from dse.evaluate.failures import describe_design, evaluate_designs
from dse.evaluate.space import Points, Space
from dse.evaluate.wiring import ModelError
from dse.model.contract import ContractError, Model
from dse.model.pairs import contradiction
from dse.model.quantity import Array, Quantity, Resource
from dse.model.values import show
from dse.problems import DseError, Problem

# Designs evaluated again --------------------------------------------------------------------------


_ALONE = 8
"""Designs that are evaluated one by one: a call costs as much for one design as for fifty."""
_BATCH = 48
"""Designs per batch: faults of large batches begin at 50 to 1,000 rows."""
ROUNDING = 1e-12
"""Relative difference that is rounding: vector and scalar code differ in the last bits."""
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
    batches = [
        evaluate_designs(evaluator, {n: v[low:high] for n, v in points.items()}, low)
        for low, high in _cuts(count)
    ]
    return concatenate(batches) if batches else Evaluated.empty(evaluator)


def _cuts(count: int) -> Iterator[tuple[int, int]]:
    low = 0
    while low < count:
        high = min(low + (1 if low < _ALONE else _BATCH), count)
        yield low, high
        low = high


def compare(
    evaluator: Evaluator,
    points: Points,
    recorded: Evaluated,
    again: Evaluated,
    numbers: NDArray[np.int64] | None,
    where: str = "in the search",
) -> None:
    """Compare the recorded values of designs with the values of a second evaluation.

    Objectives of designs that a constraint excludes may be missing in either.

    Raises
    ------
    RepeatabilityError
        Naming the model, the design and both values.
    """
    excluded = np.any(evaluator.violations(recorded.constrained) > 0, axis=1, keepdims=True)
    known = ~excluded | ~(np.isnan(recorded.objectives) | np.isnan(again.objectives))
    wrong = _differ(recorded.objectives, again.objectives) & known
    for row, k in np.argwhere(wrong)[:1].tolist():
        objective = evaluator.objectives[k]
        values = recorded.objectives[row, k], again.objectives[row, k]
        texts = [show_exactly(float(v), objective.unit) for v in values]
        _refuse(evaluator, points, row, numbers, objective.quantity, objective.name, texts, where)
    for k, constraint in enumerate(evaluator.constraints):
        one, other = recorded.constrained[:, k], again.constrained[:, k]
        differ = _differ(one, other)
        if constraint.relation is not None:  # a difference of two sides, which is near 0 by chance
            differ &= (constraint.violation(one) > 0) != (constraint.violation(other) > 0)
        for row in np.flatnonzero(differ)[:1].tolist():
            texts = [show_exactly(float(v[row]), constraint.unit) for v in (one, other)]
            quantity = constraint.names[0]
            _refuse(evaluator, points, row, numbers, quantity, constraint.name, texts, where)


def _differ(one: Array, other: Array) -> NDArray[np.bool_]:
    with np.errstate(all="ignore"):
        return np.asarray(~np.isclose(one, other, rtol=ROUNDING, atol=0.0, equal_nan=True))


def _refuse(
    evaluator: Evaluator,
    points: Points,
    row: int,
    numbers: NDArray[np.int64] | None,
    quantity: str,
    name: str,
    values: list[str],
    where: str,
) -> None:
    design = {n: v[row : row + 1] for n, v in points.items()}
    model = _model_at_fault(evaluator, design, quantity)
    number = "the design" if numbers is None else f"design {numbers[row]}"
    raise RepeatabilityError(
        f"{model} does not give the same value twice: '{name}' of {number} "
        f"({describe_design(evaluator, points, row)}) was {values[0]} {where} and is "
        f"{values[1]} when the design is evaluated again. {explain_rule(evaluator)}"
    )


def explain_rule(evaluator: Evaluator) -> str:
    """Return the rule that a model has broken, in words."""
    declared = any(m.monotonic or m.lower_bounds for m in evaluator.wiring.models)
    why = (
        "The outputs of a model must depend only on its inputs: not on other designs of the batch, "
        "other threads, earlier calls, the time or the environment."
    )
    return f"{why} Its declarations must hold." if declared else why


def show_exactly(value: float, unit: str) -> str:
    """Return a value with all its digits and its unit."""
    return f"{value!r} {unit}".removesuffix(" 1").removesuffix(" ")


def _model_at_fault(evaluator: Evaluator, design: Points, quantity: str) -> str:
    """Return the first model on the way to a quantity that depends on its batch, or all models."""
    wiring = evaluator.wiring
    requests = [r for r in evaluator.requests() if r[0] == quantity][:1]
    many = {n: np.repeat(v, _DIAGNOSED_ROWS) for n, v in design.items()}
    names = list(dict.fromkeys(key[0] for key in wiring.runs(requests)))
    try:
        runs = [wiring.done(requests, evaluator.space.columns(p)) for p in (design, many, design)]
    except ModelError:
        runs = []
    for key in wiring.runs(requests) if runs else ():
        first, *others = (run[key] for run in runs)
        if any(_differ(first[n], other[n]).any() for other in others for n in first):
            return key[0]
    return names[0] if len(names) == 1 else f"one of the models {', '.join(names)}"


# Models before a search ---------------------------------------------------------------------------


_SIZES = (2, 16, 64)  # designs of a sample; the first is taken whatever it costs
_MAX_SECONDS = 0.2  # that larger ones may take
_SINGLE = 4  # designs that run one by one
_OVERSAMPLING = 16  # designs per wanted one, where constraints exclude many
_LARGE_BATCH = 65_536  # rows of the large batch at most: no chunk of a search is larger
_LARGE_FRACTION = 1_024  # one design of so many is in the large batch: the audit stays short
_GROWTH = 8  # of a batch to the next one
_PARTS = 4  # of the large batch, for two threads
_MIN_DESIGNS = 5  # designs of the smallest audit, in addition to a timed one
# The vector and the scalar code of a processor differ in the last bit, and the subtraction of near
# numbers enlarges the difference. `dse.model.testing.check_model` allows as much.
_ROUNDING = 1e-12


class Audit(NamedTuple):
    """The result of the audit.

    Parameters
    ----------
    problems : list of Problem
        Models that are not deterministic or not elementwise: their fronts would be wrong.
    notes : dict of str to str
        By quantity: a value that is missing or outside its declared domain, or an output that
        contradicts its declared monotonicity.
    """

    problems: list[Problem]
    notes: dict[str, str]


def audit(evaluator: Evaluator, seconds: float = np.inf) -> Audit:
    """Run the models on a sample of designs: at least 2, and 64 if that is quick.

    If a model raises for a single design, the search reports the design later.

    Parameters
    ----------
    seconds : float
        The maximum time; if the models are too slow for it, the audit is left out and noted.
    """
    began = time.monotonic()
    found = Audit([], {})
    if seconds < np.inf:
        with suppress(ModelError):
            evaluator.evaluate(sample(evaluator.space, 1))
        pace = time.monotonic() - began
        if _MIN_DESIGNS * pace > seconds:
            told = f"one design took {pace:.1f} s, too long for the {seconds:.3g} s that there are"
            return Audit(
                [], {"study.models": f"the models were not held to their contract: {told}"}
            )
        began = time.monotonic()
    for size, larger in zip(_SIZES, (*_SIZES[1:], None), strict=True):
        before = time.monotonic()
        watch = _watched(evaluator, size)
        found = Audit(watch.problems, watch.notes)
        now = time.monotonic()
        if larger is None or now - began + (now - before) * larger / size > _MAX_SECONDS:
            break
        if found.problems:
            break
    if not found.problems and size == _SIZES[-1]:  # a costly model is left to `check_model`
        found.problems.extend(_large_batch_problems(evaluator))
        wrong = contradictions(evaluator, watch.points)
        found = Audit(found.problems, wrong | found.notes)
    return found


def _large_batch_problems(evaluator: Evaluator) -> list[Problem]:
    """Run the models on one large batch, and on parts of it in two threads; compare the values."""
    size = evaluator.space.size or _LARGE_BATCH * _LARGE_FRACTION
    most = min(_LARGE_BATCH // evaluator.scenarios, size // _LARGE_FRACTION)
    count, spent = _SIZES[-1], 0.0
    try:
        while count < most and _GROWTH * spent < _MAX_SECONDS:  # a batch grows while it is quick
            count = min(_GROWTH * count, most)
            points, began = sample(evaluator.space, count), time.monotonic()
            whole = evaluator.evaluate(points)
            spent = time.monotonic() - began
        if count == _SIZES[-1]:
            return []
        parts = np.array_split(np.arange(count), _PARTS)
        with ThreadPoolExecutor(2) as threads:
            batches = [{n: v[rows] for n, v in points.items()} for rows in parts]
            halves = concatenate([*threads.map(evaluator.evaluate, batches)])
        compare(evaluator, points, whole, halves, None, f"in a batch of {count:,} designs")
    except ModelError:
        return []  # the search names the design
    except RepeatabilityError as error:
        return [Problem("study.models", str(error), "")]
    return []


def _watched(evaluator: Evaluator, size: int) -> _Watch:
    """Run models on a sample; if one raises, use designs that the variable constraints allow."""
    first = _Watch(evaluator, sample(evaluator.space, size), size)
    try:
        first.evaluate()
    except ModelError:
        if not first.problems and not first.wanted.all():
            return _wanted(evaluator, size) or first
    return first


def _wanted(evaluator: Evaluator, size: int) -> _Watch | None:
    """Run models on designs that no constraint on variables excludes; None if there are few."""
    points = sample(evaluator.space, _OVERSAMPLING * size)
    rows = np.flatnonzero(evaluator.prefilter().evaluate(points).feasible)[:size]
    if len(rows) < size:
        return None
    watch = _Watch(evaluator, {n: v[rows] for n, v in points.items()}, size)
    with suppress(ModelError):
        watch.evaluate()
    return watch


def sample(space: Space, size: int) -> Points:
    """Return designs spread over a space, the same ones every time."""
    cells = np.tile(np.arange(size)[:, None], (1, len(space.variables)))
    rng = np.random.default_rng(0)
    return space.from_unit((rng.permuted(cells, axis=0) + rng.random(cells.shape)) / size)


@dataclass
class _Watch:
    """A runner that takes the place of the engine, repeats runs in parts, and notes the faults."""

    evaluator: Evaluator
    points: Points
    size: int
    problems: list[Problem] = field(default_factory=list)
    notes: dict[str, str] = field(default_factory=dict)

    @cached_property
    def wanted(self) -> NDArray[np.bool_]:
        """Which designs meet the constraints that depend only on variables."""
        return self.evaluator.prefilter().evaluate(self.points).feasible

    def evaluate(self) -> None:
        """Evaluate the sample with a check of each model."""
        wiring = self.evaluator.wiring
        models = tuple(replace(m, function=self._around(m)) for m in wiring.models)
        replace(self.evaluator, wiring=replace(wiring, models=models)).evaluate(self.points)

    def _around(self, model: Model) -> Any:
        names = {argument: name for name, argument in model.arguments.items()}

        def run(**given: Any) -> Any:
            outputs = self._outputs(model, {names[n]: v for n, v in given.items()})
            return SimpleNamespace(**{model.fields[name]: v for name, v in outputs.items()})

        return run

    def _outputs(self, model: Model, given: Mapping[str, Any]) -> Mapping[str, Array]:
        count = max((_width(v) for v in given.values()), default=1)
        try:
            together = model(given)
        except MemoryError:  # too many designs for this machine; the search reports it
            raise
        except (Exception, SystemExit) as error:
            return self._one_at_a_time(model, given, count, error)
        if self.size > _SIZES[0] and self._differs(model, given, together):
            return together
        rows = np.unique(np.linspace(0, count - 1, _SINGLE).astype(int)) if count > 1 else ()
        for row in rows:
            alone = model({n: _at(v, int(row)) for n, v in given.items()})
            for name, value in together.items():
                if _close(_at(value, int(row)), alone[name]):
                    continue
                if not self._differs(model, given, together):
                    self._depends(model, name, _at(value, int(row)), alone[name], int(row))
                return together
        self._look(model, given, together)
        return together

    def _one_at_a_time(
        self, model: Model, given: Mapping[str, Any], count: int, error: BaseException
    ) -> Mapping[str, Array]:
        """Raise the error again, unless every single design has a value: as a batch or number."""
        every = _each(model, [{n: _at(v, i) for n, v in given.items()} for i in range(count)])
        if every is None and isinstance(error, TypeError):  # such as the errors of `math`
            scalars = [{n: _number(v, i) for n, v in given.items()} for i in range(count)]
            every = _each(model, scalars)
        what = str(ModelError(model.name, error)).removeprefix(f"{model.name} ")
        if (
            every is None
            and isinstance(error, ContractError)
            and not any(_answers(model, given, count))
        ):
            self._add(model, what, "a model returns arrays of numbers, as long as its inputs")
        if every is None:
            self.notes[model.name] = f"on a sample of designs: {model.name} {what}"
            raise error from None
        self._add(
            model,
            f"takes designs one at a time: for {count} together it {what}",
            "a model takes arrays, one element a design: np.where(lanes > 4, a, b) instead of "
            "`if lanes > 4`, np.maximum instead of max",
        )
        found = {n: [np.atleast_1d(each[n]) for each in every] for n in every[0]}
        return {n: np.concatenate(values, axis=-1) for n, values in found.items()}

    def _differs(self, model: Model, given: Mapping[str, Any], first: Mapping[str, Array]) -> bool:
        """Return whether a second run gives other values."""
        second = model(given)
        for name, value in first.items():
            same = (value == second[name]) | ((value != value) & (second[name] != second[name]))
            if not np.all(same):
                row = _first(~np.asarray(same))
                once, again = (self._shown(model, name, _at(v, row)) for v in (value, second[name]))
                self._add(
                    model,
                    f"is not deterministic: '{name}' of {self._design(row)} is {once}, and then "
                    f"{again}",
                    "equal inputs give equal outputs: draw random numbers from a fixed seed",
                )
                return True
        return False

    def _depends(self, model: Model, name: str, among: Any, alone: Any, row: int) -> None:
        single, together = (self._shown(model, name, v) for v in (alone, among))
        self._add(
            model,
            f"is not elementwise: '{name}' of {self._design(row)} is {single} alone, and "
            f"{together} among {self.size} designs",
            "an output's element depends on the same element of the inputs: no sums, means or "
            "orders over designs",
        )

    def _look(self, model: Model, given: Mapping[str, Any], outputs: Mapping[str, Array]) -> None:
        """Note values that the model's declarations exclude, if its inputs are inside theirs."""
        inside = [
            q.contains(given[n])
            for n, q in model.inputs.items()
            if isinstance(q, Quantity) and n in given
        ]
        allowed = np.all(np.broadcast_arrays(*inside), axis=0) if inside else np.bool_(True)
        for name, value in outputs.items():
            declared = model.outputs[name]
            if declared.contains_all(value):
                continue
            bad = ~declared.contains(value) & allowed
            if _width(bad) == self.size:
                bad &= self.wanted  # values of excluded designs do not matter
            if bad.any():
                place = tuple(np.argwhere(np.atleast_1d(bad))[0])
                shown = self._shown(
                    model, name, np.broadcast_to(value, np.atleast_1d(bad).shape)[place]
                )
                row = int(place[-1])
                self.notes[name] = (
                    f"{model.name} gives {name} = {shown} for {self._design(row)}: declared is "
                    f"{declared.domain()}"
                )

    def _add(self, model: Model, message: str, remedy: str) -> None:
        self.problems.append(Problem("study.models", f"{model.name} {message}", remedy))

    def _shown(self, model: Model, name: str, value: Any) -> str:
        number = float(np.ravel(value)[0])
        return f"{number!r} {model.outputs[name].unit}".removesuffix(" 1")

    def _design(self, row: int) -> str:
        labels = self.evaluator.space.labels({n: v[row : row + 1] for n, v in self.points.items()})
        units = {n: q.unit for n, q in self.evaluator.wiring.quantities.items()}
        words = [
            f"{n} = {v[0] if isinstance(v[0], str) else show(float(v[0]), units[n])}"
            for n, v in labels.items()
        ]
        return f"the design {', '.join(words)}"


def _width(value: Any) -> int:
    return int(value.shape[-1]) if isinstance(value, np.ndarray) and value.ndim else 1


def _at(value: Any, row: int) -> Any:
    """Return the value of one design of an input or output, as a batch of one."""
    return value[..., row : row + 1] if _width(value) > 1 else value


def _number(value: Any, row: int) -> Any:
    """Return the value of one design of an input, as a number if it is one."""
    one = _at(value, row)
    return float(one[0]) if isinstance(one, np.ndarray) and one.shape == (1,) else one


def _each(model: Model, designs: list[dict[str, Any]]) -> list[Mapping[str, Array]] | None:
    """Return a model's outputs for designs one by one; None if it raises for any of them."""
    try:
        return [model(design) for design in designs]
    except (Exception, SystemExit):
        return None


def _answers(model: Model, given: Mapping[str, Any], count: int) -> Iterator[bool]:
    """Yield for each single design whether a model meets the contract, while it gives values."""
    for row in range(count):
        try:
            model({n: _at(v, row) for n, v in given.items()})
        except (Exception, SystemExit) as error:
            yield not isinstance(error, ContractError)
        else:
            yield True


def _first(marked: NDArray[np.bool_]) -> int:
    """Return the first design with a mark, in any scenario."""
    return int(np.argmax(np.atleast_2d(marked).any(axis=0)))


def _close(first: Any, second: Any) -> bool:
    with np.errstate(all="ignore"):
        return bool(np.allclose(first, second, rtol=_ROUNDING, atol=0, equal_nan=True))


# Declarations of monotonicity ---------------------------------------------------------------------


def contradictions(evaluator: Evaluator, points: Points) -> dict[str, str]:
    """Return the declarations that some designs contradict, in words, by input and output."""
    wiring = evaluator.wiring
    models = {model.name: model for model in wiring.models}
    columns = evaluator.space.columns(points)
    found: dict[str, str] = {}
    for name, bound in wiring.runs(evaluator.requests()):
        model = models[name]
        if not model.monotonic:
            continue
        with suppress(Exception, SystemExit):  # the search reports what a model raises
            given = wiring.given(model, dict(bound), columns)
            told = _contradicted(model, given, len(next(iter(points.values()))))
            found |= {f"moves of {n}": f"{model.name}: {text}" for n, text in told.items()}
    return found


def _contradicted(model: Model, given: dict[str, object], count: int) -> dict[str, str]:
    rng = np.random.default_rng(0)
    fixed = {n: v for n, v in given.items() if isinstance(model.inputs[n], Resource)}
    varied: dict[str, Array] = {}
    for name, value in given.items():
        if name not in fixed:
            column = np.asarray(value, dtype=np.float64)
            column = column[rng.integers(len(column))] if column.ndim > 1 else column
            varied[name] = np.broadcast_to(column, (count,))
    found: dict[str, str] = {}
    one = {**fixed, **varied}
    before = model(one)
    for moved, column in varied.items():
        if any(moved in moves for moves in model.monotonic.values()):
            other = {**one, moved: rng.permutation(column)}
            told = contradiction(model, moved, (one, other), (before, model(other)))
            if told is not None:
                found.setdefault(*told)
    return found
