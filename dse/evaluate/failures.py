"""Failures: designs that a model raises for, found in their batch, named or left without a value.

A model gets a batch of designs, and its exception does not name the design. `bisect_batch` thus
halves the batch until a single design raises: k designs of n cost about k log n calls. A search
then ends with that design, or continues without it, as the study chooses. The explanation of a run
gives such a design NaN.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, fields, replace
from typing import Any, Generic, TypeVar

import numpy as np

from dse.evaluate.evaluator import Evaluated, Evaluator, concatenate
from dse.evaluate.space import Points
from dse.evaluate.wiring import Key, ModelError
from dse.model.contract import Model, breaks_contract
from dse.model.quantity import Array
from dse.model.values import show
from dse.problems import DseError

T = TypeVar("T")
E = TypeVar("E", bound=BaseException)


class DesignError(DseError):
    """A model raised for one design."""


# Bisection ------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Success(Generic[T]):
    """The result of a part of a batch.

    Parameters
    ----------
    low, high : int
        The rows of the part.
    result : object
        The returned value.
    """

    low: int
    high: int
    result: T


@dataclass(frozen=True)
class Failure(Generic[E]):
    """A part of a batch that raised: one row, or several rows that raise only together.

    Parameters
    ----------
    low, high : int
        The rows of the part.
    error : BaseException
        The exception.
    """

    low: int
    high: int
    error: E

    @property
    def is_single(self) -> bool:
        """Whether it is one row; if there are several, each half gave a result before."""
        return self.high - self.low == 1


def bisect_batch(
    run: Callable[[int, int], T],
    low: int,
    high: int,
    error: E,
    caught: type[E] | tuple[type[E], ...],
) -> Iterator[Success[T] | Failure[E]]:
    """Yield the results and the failures of the parts of a batch, in the order of its rows.

    Parameters
    ----------
    run : callable
        Returns the result of the rows from the first number up to, but without, the second.
    low, high : int
        The rows of the batch.
    error : BaseException
        The exception that the whole batch raised.
    caught : type, or tuple of types
        The exceptions that a part may raise.
    """
    middle, clean = (low + high) // 2, True
    for start, stop in ((low, middle), (middle, high)) if high - low > 1 else ():
        try:
            result = run(start, stop)
        except caught as inner:
            clean = False
            yield from bisect_batch(run, start, stop, inner, caught)
            continue
        yield Success(start, stop, result)
    if clean:
        yield Failure(low, high, error)


# A search: a design ends it, or is left out ----------------------------------------------------


def evaluate_designs(
    evaluator: Evaluator,
    points: Points,
    first: int,
    known: Mapping[Key, Mapping[str, Array]] | None = None,
) -> Evaluated:
    """Evaluate designs whose numbers start at `first`; `known` as in `Wiring.evaluate`.

    If the evaluator skips errors, designs that a model raises for are in `Evaluated.failed`. A
    model that breaks the contract still raises: its values could not be trusted.

    Raises
    ------
    DesignError
        If a model raises. The message names the first design that makes it raise.
    """
    count = len(next(iter(points.values())))
    try:
        return evaluator.evaluate_columns(evaluator.space.columns(points), count, known)
    except ModelError as error:
        if evaluator.on_error == "stop" or breaks_contract(error.error):
            failure = _first_failure(evaluator, points, error)
            raise _locate(evaluator, points, first, failure) from error
        return _evaluate_others(evaluator, points, first, error)


def _bisect_designs(
    evaluator: Evaluator, points: Points, error: ModelError
) -> Iterator[Success[Evaluated] | Failure[ModelError]]:
    def run(low: int, high: int) -> Evaluated:
        return evaluator.evaluate({n: v[low:high] for n, v in points.items()})

    return bisect_batch(run, 0, len(next(iter(points.values()))), error, ModelError)


def _evaluate_others(
    evaluator: Evaluator, points: Points, first: int, error: ModelError
) -> Evaluated:
    """Evaluate the designs of a batch that do not raise, and note the designs that do."""
    objectives, constraints = len(evaluator.objectives), len(evaluator.constraints)
    nan = np.full((1, objectives), np.nan), np.full((1, constraints), np.nan)
    batches = []
    for part in _bisect_designs(evaluator, points, error):
        if isinstance(part, Success):
            batches.append(part.result)
        elif breaks_contract(part.error.error):
            raise _locate(evaluator, points, first, part) from error
        elif part.is_single:  # rows that raise only together have their results already
            text = _describe(evaluator, points, part.low, part.error)
            batches.append(Evaluated(*nan, np.zeros(1, dtype=bool), {0: text}))
    return concatenate(batches)


def _first_failure(evaluator: Evaluator, points: Points, error: ModelError) -> Failure[ModelError]:
    """Return the first design that ends a run, or the designs that end it together."""
    stop, count = evaluator.on_error == "stop", len(next(iter(points.values())))
    failures = (p for p in _bisect_designs(evaluator, points, error) if isinstance(p, Failure))
    failure = next((p for p in failures if stop or breaks_contract(p.error.error)), None)
    failure = failure or Failure(0, count, error)
    # A model may return arrays of one fixed length, which happens to fit a half. Then a single
    # design shows the fault.
    if not failure.is_single and breaks_contract(failure.error.error):
        low = failure.low
        try:
            evaluator.evaluate({n: v[low : low + 1] for n, v in points.items()})
        except ModelError as single:
            return Failure(low, low + 1, single)
    return failure


def _locate(
    evaluator: Evaluator, points: Points, first: int, failure: Failure[ModelError]
) -> DesignError:
    """Return the error that names the design, or the designs that raise only together."""
    if failure.is_single:
        text = _describe(evaluator, points, failure.low, failure.error)
        return DesignError(f"design {first + failure.low} {text}")
    if isinstance(failure.error.error, MemoryError):
        last = first + len(next(iter(points.values()))) - 1
        together = f"designs {first} to {last:,} together: {failure.error}"
        return DesignError(f"{together}; give a smaller run.chunk")
    low, last, error = first + failure.low, first + failure.high - 1, failure.error
    parts = "none of them" if last - low == 1 else "neither half of them"
    return DesignError(
        f"designs {low} to {last:,} together: {error}\n  {error.model} is not elementwise: it "
        f"raises on a batch of designs, though on {parts} alone; its inputs are arrays, so write "
        "np.where(a > b, x, y) instead of if a > b, and use no function that takes one number"
    )


def _describe(evaluator: Evaluator, points: Points, row: int, error: ModelError) -> str:
    return f"({describe_design(evaluator, points, row)}): {error}"


def describe_design(evaluator: Evaluator, points: Points, row: int) -> str:
    """Return the values of a design in words, such as ``"lanes = 4, interface = pcie"``."""
    labels = evaluator.space.labels({n: v[row : row + 1] for n, v in points.items()})
    units = {n: q.unit for n, q in evaluator.wiring.quantities.items()}
    return ", ".join(
        f"{n} = {v[0] if isinstance(v[0], str) else show(float(v[0]), units[n])}"
        for n, v in labels.items()
    )


# An explanation: NaN where a model raises --------------------------------------------------------


def skip_errors(evaluator: Evaluator) -> Evaluator:
    """Return an evaluator whose models give NaN where they raise, if the study skips such designs.

    If the study ends at such a design, the evaluator itself.
    """
    return evaluator if evaluator.on_error == "stop" else ignore_errors(evaluator)


def ignore_errors(evaluator: Evaluator) -> Evaluator:
    """Return an evaluator whose models give NaN where they raise, in any study.

    The search never promised values there: for designs that a constraint excludes, or for inputs
    outside the space.
    """
    models = tuple(
        _NanModel(**{f.name: getattr(model, f.name) for f in fields(Model)}, own=model)
        for model in evaluator.wiring.models
    )
    return replace(evaluator, wiring=replace(evaluator.wiring, models=models))


@dataclass(frozen=True, eq=False)
class _NanModel(Model):
    """A model that gives NaN where its own model raises.

    If its own model breaks the contract, all designs of the batch get NaN: no value can be trusted.
    """

    own: Model = field(kw_only=True)

    def __call__(self, columns: Mapping[str, Any]) -> dict[str, Array]:
        """Return the outputs; see `Model.__call__`."""
        try:
            return self.own(columns)
        except (Exception, SystemExit) as error:
            arrays = [v for n, v in columns.items() if n in self.inputs and np.ndim(v)]
            shape = np.broadcast_shapes(*(np.shape(v) for v in arrays))
            outputs = {name: np.full(shape, np.nan) for name in self.fields}
            if shape and not breaks_contract(error):
                self._bisect(columns, outputs, shape[-1], error)
            return outputs

    def _bisect(
        self,
        columns: Mapping[str, Any],
        outputs: Mapping[str, Array],
        count: int,
        error: BaseException,
    ) -> None:
        def run(low: int, high: int) -> Mapping[str, Array]:
            return self.own({n: v[..., low:high] if _is_wide(v) else v for n, v in columns.items()})

        parts = [*bisect_batch(run, 0, count, error, (Exception, SystemExit))]
        if any(isinstance(part, Failure) and breaks_contract(part.error) for part in parts):
            return
        for part in parts:
            if isinstance(part, Success):
                for name, value in part.result.items():
                    outputs[name][..., part.low : part.high] = value


def _is_wide(value: Any) -> bool:
    return isinstance(value, np.ndarray) and value.ndim > 0 and value.shape[-1] > 1
