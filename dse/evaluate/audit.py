"""The audit: models checked against the contract on designs of a study, before a search.

A search evaluates each design once, in any batch. This needs two properties: equal inputs give
equal outputs, and the outputs of a design do not depend on other designs in the batch. The audit
thus runs each model twice on the sample, and one by one on some designs. Values should also be
inside the declared domains; values outside them stay as they are, and are noted.
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

from dse.evaluate.evaluator import Evaluator, concatenate
from dse.evaluate.moved import contradictions
from dse.evaluate.prefilter import Prefilter
from dse.evaluate.repeatability import RepeatabilityError, compare
from dse.evaluate.space import Points, Space
from dse.evaluate.wiring import ModelError
from dse.model.contract import ContractError, Model
from dse.model.quantity import Array, Quantity
from dse.model.values import show
from dse.problems import Problem

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
    rows = np.flatnonzero(Prefilter.of(evaluator).allowed(points))[:size]
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
        return Prefilter.of(self.evaluator).allowed(self.points)

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
