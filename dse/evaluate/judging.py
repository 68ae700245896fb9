"""Judging designs during a search: a model that raises is traced to the design that did it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
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

    Designs that a model raises for are left out if the evaluator skips them.

    Raises
    ------
    DesignError
        If a model raises; the message names the first design that makes it do so.
    """
    count = len(next(iter(points.values())))
    try:
        return evaluator.evaluate_columns(evaluator.space.columns(points), count, known)
    except ModelError as error:
        if evaluator.on_error == "stop":
            raise _located(evaluator, points, first, error) from error
        return _skipping(evaluator, points, first, error)


def _skipping(evaluator: Evaluator, points: Points, first: int, error: ModelError) -> Evaluated:
    """Judge the halves of a batch that raised, each as a batch; one design alone has failed."""
    count = len(next(iter(points.values())))
    if count == 1:
        told = str(_located(evaluator, points, first, error))
        objectives, constraints = len(evaluator.objectives), len(evaluator.constraints)
        nan = np.full((1, objectives), np.nan), np.full((1, constraints), np.nan)
        return Evaluated(*nan, np.zeros(1, dtype=bool), {0: told})
    halves = (slice(count // 2), slice(count // 2, None))
    parts = [{n: v[half] for n, v in points.items()} for half in halves]
    return joined(
        [judge(evaluator, parts[0], first), judge(evaluator, parts[1], first + count // 2)]
    )


def judged_again(evaluator: Evaluator, points: Points, judged: Evaluated) -> Evaluated:
    """Return a batch with what models raised, which arrays alone do not tell.

    Those designs are judged again that have no objective: models are pure.
    """
    rows = np.flatnonzero(np.isnan(judged.objectives).all(axis=1))
    if evaluator.on_error == "stop" or not len(rows):
        return judged
    failed: dict[int, str] = {}
    for row in rows.tolist():
        alone = judge(evaluator, {n: v[row : row + 1] for n, v in points.items()}, row)
        failed |= dict.fromkeys([row] if alone.failed else [], "".join(alone.failed.values()))
    return replace(judged, failed=failed)


def joined(parts: Sequence[Evaluated]) -> Evaluated:
    """Return batches as one."""
    if len(parts) == 1:
        return parts[0]
    starts = np.cumsum([0, *(len(part) for part in parts)]).tolist()
    return Evaluated(
        np.concatenate([part.objectives for part in parts]),
        np.concatenate([part.constrained for part in parts]),
        np.concatenate([part.feasible for part in parts]),
        {
            low + n: why
            for low, part in zip(starts, parts, strict=False)
            for n, why in part.failed.items()
        },
    )


def some(judged: Evaluated, rows: NDArray[Any] | slice) -> Evaluated:
    """Return a part of a batch: positions, a mask or a slice."""
    failed = {}
    if judged.failed:
        kept = np.arange(len(judged))[rows].tolist()
        failed = {n: judged.failed[row] for n, row in enumerate(kept) if row in judged.failed}
    return Evaluated(
        judged.objectives[rows], judged.constrained[rows], judged.feasible[rows], failed
    )


def nothing(evaluator: Evaluator) -> Evaluated:
    """Return a batch of no design."""
    objectives, constraints = len(evaluator.objectives), len(evaluator.constraints)
    return Evaluated(np.empty((0, objectives)), np.empty((0, constraints)), np.empty(0, dtype=bool))


def _located(evaluator: Evaluator, points: Points, first: int, error: ModelError) -> DesignError:
    """Halve the batch for as long as a half raises, and tell of what is left."""
    low, high = 0, len(next(iter(points.values())))
    together = f"designs {first} to {first + high - 1:,} together: {error}"

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
    return DesignError(f"design {first + low} ({', '.join(words)}): {error}")


def _of_a_batch(first: int, last: int, error: ModelError) -> DesignError:
    """Return what is wrong with a model that raises on a batch, and on neither half of it."""
    alone = "none of them" if last - first == 1 else "neither half of them"
    return DesignError(
        f"designs {first} to {last:,} together: {error}\n  {error.model} is not elementwise: it "
        f"raises on a batch of designs, though on {alone} alone; its inputs are arrays, so write "
        "np.where(a > b, x, y) instead of if a > b, and use no function that takes one number"
    )
