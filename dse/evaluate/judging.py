"""Judging designs during a search: a model that raises is traced to the design that did it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dse.evaluate.evaluator import Evaluated, Evaluator
from dse.evaluate.space import Points
from dse.evaluate.wiring import Key, ModelError
from dse.model.quantity import Array
from dse.model.values import show
from dse.problems import DseError


class DesignError(DseError):
    """A model raised for one design."""


@dataclass(frozen=True)
class Judged:
    """Designs and what they give; those that are `recalled` are of an earlier session."""

    points: Points
    judged: Evaluated
    recalled: bool = False


def judge(
    evaluator: Evaluator,
    points: Points,
    first: int,
    known: Mapping[Key, Mapping[str, Array]] | None = None,
) -> Evaluated:
    """Evaluate designs whose numbers start at `first`; `known` as in `Wiring.evaluate`.

    Raises
    ------
    DesignError
        If a model raises; the message names the first design that makes it do so.
    """
    try:
        count = len(next(iter(points.values())))
        return evaluator.evaluate_columns(evaluator.space.columns(points), count, known)
    except ModelError as error:
        raise _located(evaluator, points, first, error) from error


def joined(parts: Sequence[Evaluated]) -> Evaluated:
    """Return batches as one."""
    if len(parts) == 1:
        return parts[0]
    return Evaluated(
        np.concatenate([part.objectives for part in parts]),
        np.concatenate([part.constrained for part in parts]),
        np.concatenate([part.feasible for part in parts]),
    )


def some(judged: Evaluated, rows: NDArray[Any] | slice) -> Evaluated:
    """Return a part of a batch: positions, a mask or a slice."""
    return Evaluated(judged.objectives[rows], judged.constrained[rows], judged.feasible[rows])


def nothing(evaluator: Evaluator) -> Evaluated:
    """Return a batch of no design."""
    objectives, constraints = len(evaluator.objectives), len(evaluator.constraints)
    return Evaluated(np.empty((0, objectives)), np.empty((0, constraints)), np.empty(0, dtype=bool))


def _located(evaluator: Evaluator, points: Points, first: int, error: ModelError) -> DesignError:
    """Halve the batch for as long as a half raises, and tell of what is left."""
    low, high = 0, len(next(iter(points.values())))
    together = f"designs {first:,} to {first + high - 1:,} together: {error}"

    def raised(start: int, stop: int) -> ModelError | None:
        try:
            evaluator.evaluate({n: v[start:stop] for n, v in points.items()})
        except ModelError as inner:
            return inner
        return None

    while high - low > 1:
        middle = (low + high) // 2
        if (inner := raised(low, middle)) is not None:
            high, error = middle, inner
        elif (inner := raised(middle, high)) is not None:
            low, error = middle, inner
        else:
            if isinstance(error.error, MemoryError):
                return DesignError(f"{together}; give a smaller run.chunk")
            return _of_a_batch(first + low, first + high - 1, error)
    labels = evaluator.space.labels({n: v[low:high] for n, v in points.items()})
    units = {n: q.unit for n, q in evaluator.wiring.quantities.items()}
    words = [
        f"{n} = {v[0] if isinstance(v[0], str) else show(float(v[0]), units[n])}"
        for n, v in labels.items()
    ]
    return DesignError(f"design {first + low:,} ({', '.join(words)}): {error}")


def _of_a_batch(first: int, last: int, error: ModelError) -> DesignError:
    """Return what is wrong with a model that raises on a batch, and on neither half of it."""
    alone = "none of them" if last - first == 1 else "neither half of them"
    return DesignError(
        f"designs {first:,} to {last:,} together: {error}\n  {error.model} is not elementwise: it "
        f"raises on a batch of designs, though on {alone} alone; its inputs are arrays, so write "
        "np.where(a > b, x, y) instead of if a > b, and use no function that takes one number"
    )
