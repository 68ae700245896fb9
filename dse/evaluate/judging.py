"""Judging designs during a search: a model that raises is traced to the design that did it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from dse.evaluate.evaluator import Evaluated, Evaluator
from dse.evaluate.space import Points
from dse.evaluate.wiring import Key, ModelError
from dse.model.quantity import Array
from dse.model.units import show
from dse.problems import DseError


class DesignError(DseError):
    """A model raised for one design."""


@dataclass(frozen=True)
class Judged:
    """Designs and what they give."""

    points: Points
    judged: Evaluated


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
        Where a model raises; the message names the first design that makes it do so.
    """
    try:
        count = len(next(iter(points.values())))
        return evaluator.evaluate_columns(evaluator.space.columns(points), count, known)
    except ModelError as error:
        raise _located(evaluator, points, first, error) from error


def _located(evaluator: Evaluator, points: Points, first: int, error: ModelError) -> DesignError:
    """Halve the batch until one design is left that fails on its own."""
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
        if raised(low, middle) is not None:
            high = middle
        else:
            low = middle
    alone = raised(low, high)
    if alone is None:  # of the batch, and not of a design
        return DesignError(f"{together}; give a smaller run.chunk")
    labels = evaluator.space.labels({n: v[low:high] for n, v in points.items()})
    units = {n: q.unit for n, q in evaluator.wiring.quantities.items()}
    words = [
        f"{n} = {v[0] if isinstance(v[0], str) else show(float(v[0]), units[n])}"
        for n, v in labels.items()
    ]
    return DesignError(f"design {first + low:,} ({', '.join(words)}): {alone}")
