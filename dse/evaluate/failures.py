"""Failures: designs that a model raises for, found in their batch, named or left without a value.

A model gets a batch of designs, and its exception does not name the design. The batch is thus
halved until a single design raises: k designs of n cost about k log n calls. A search then ends
with that design, or continues without it, as the study chooses. The explanation of a run gives such
a design NaN.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, fields, replace
from typing import Any, NamedTuple

import numpy as np

from dse.evaluate.evaluator import Evaluated, Evaluator, concatenate_batches
from dse.evaluate.model_graph import Key, ModelError
from dse.evaluate.space import Points
from dse.model.contract import Model, breaks_contract
from dse.model.quantity import Array
from dse.problems import DseError


class DesignError(DseError):
    """A model raised for one design."""


class _Part(NamedTuple):
    """Rows of a batch with their result, or with their error: several raise only together."""

    low: int
    high: int
    result: Any
    error: Any = None


def _bisect(
    run: Callable[[int, int], Any],
    low: int,
    high: int,
    error: BaseException,
    caught: type[BaseException] | tuple[type[BaseException], ...],
) -> Iterator[_Part]:
    """Yield the parts of a batch that raised an error, in the order of its rows."""
    middle, clean = (low + high) // 2, True
    for start, stop in ((low, middle), (middle, high)) if high - low > 1 else ():
        try:
            yield _Part(start, stop, run(start, stop))
        except caught as inner:
            clean = False
            yield from _bisect(run, start, stop, inner, caught)
    if clean:
        yield _Part(low, high, None, error)


# A search: a design ends it, or is left out -------------------------------------------------------


def evaluate_naming_failures(
    evaluator: Evaluator,
    points: Points,
    first: int,
    known: Mapping[Key, Mapping[str, Array]] | None = None,
) -> Evaluated:
    """Evaluate designs whose numbers start at `first`; `known` as in `ModelGraph.evaluate`.

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
    except ModelError as raised:
        error = raised

    def run(low: int, high: int) -> Evaluated:
        return evaluator.evaluate({n: v[low:high] for n, v in points.items()})

    objectives, constraints = len(evaluator.objectives), len(evaluator.constraints)
    nan = np.full((1, objectives + constraints), np.nan)
    missing = Evaluated(nan[:, :objectives], nan[:, objectives:], np.zeros(1, dtype=bool))
    batches = []
    for part in _bisect(run, 0, count, error, ModelError):
        if part.error is None:
            batches.append(part.result)
        elif evaluator.on_error == "stop" or breaks_contract(part.error.error):
            raise _locate(evaluator, points, first, part) from error
        elif part.high - part.low == 1:  # rows that raise only together have their results already
            text = f"({evaluator.describe_design(points, part.low)}): {part.error}"
            batches.append(replace(missing, failed={0: text}))
    if breaks_contract(error.error):
        raise _locate(evaluator, points, first, _Part(0, count, None, error)) from error
    return concatenate_batches(batches)


def _locate(evaluator: Evaluator, points: Points, first: int, part: _Part) -> DesignError:
    """Return the error that names the design, or the designs that raise only together."""
    if part.high - part.low > 1 and breaks_contract(part.error.error):
        # A model may return arrays of one fixed length, which fits a half by chance. Then a single
        # design shows the fault.
        single = {n: v[part.low : part.low + 1] for n, v in points.items()}
        try:
            evaluator.evaluate(single)
        except ModelError as raised:
            part = _Part(part.low, part.low + 1, None, raised)
    low, last, error = first + part.low, first + part.high - 1, part.error
    if low == last:
        return DesignError(f"design {low} ({evaluator.describe_design(points, part.low)}): {error}")
    if isinstance(error.error, MemoryError):
        last = first + len(next(iter(points.values()))) - 1
        return DesignError(
            f"designs {first} to {last:,} together: {error}; give a smaller run.chunk"
        )
    return DesignError(
        f"designs {low} to {last:,} together: {error}, though not for parts of these designs: the "
        "model is not elementwise; its inputs are arrays, so write np.where(a > b, x, y) instead "
        "of if a > b, and use no function that takes one number"
    )


# An explanation: NaN where a model raises ---------------------------------------------------------


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
        for model in evaluator.model_graph.models
    )
    return replace(evaluator, model_graph=replace(evaluator.model_graph, models=models))


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
        except (Exception, SystemExit) as raised:
            error = raised
        arrays = [v for n, v in columns.items() if n in self.inputs and np.ndim(v)]
        shape = np.broadcast_shapes(*(np.shape(v) for v in arrays))
        outputs = {name: np.full(shape, np.nan) for name in self.fields}
        if not shape or breaks_contract(error):
            return outputs

        def run(low: int, high: int) -> Mapping[str, Array]:
            return self.own(
                {n: v[..., low:high] if _is_column(v) else v for n, v in columns.items()}
            )

        parts = [*_bisect(run, 0, shape[-1], error, (Exception, SystemExit))]
        if not any(breaks_contract(part.error) for part in parts):
            for part in parts:
                for name, value in (part.result or {}).items():
                    outputs[name][..., part.low : part.high] = value
        return outputs


def _is_column(value: Any) -> bool:
    return isinstance(value, np.ndarray) and value.ndim > 0 and value.shape[-1] > 1
