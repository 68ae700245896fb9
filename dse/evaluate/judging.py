"""Judging designs during a search: a model that raises is traced to the design that did it."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dse.evaluate.evaluator import Evaluated, Evaluator
from dse.evaluate.halving import Gave, Raised, halved
from dse.evaluate.space import Points
from dse.evaluate.wiring import Key, ModelError
from dse.model.contract import breaks_contract
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

    Designs that a model raises for are left out if the evaluator skips them. What breaks the
    contract is not: in a batch as long as what it returns, made-up values would pass.

    Raises
    ------
    DesignError
        If a model raises; the message names the first design that makes it do so.
    """
    count = len(next(iter(points.values())))
    try:
        return evaluator.evaluate_columns(evaluator.space.columns(points), count, known)
    except ModelError as error:
        if evaluator.on_error == "stop" or breaks_contract(error.error):
            wrong = _first_wrong(evaluator, points, error)
            raise _located(evaluator, points, first, wrong) from error
        return _skipping(evaluator, points, first, error)


def _parts(
    evaluator: Evaluator, points: Points, error: ModelError
) -> Iterator[Gave[Evaluated] | Raised[ModelError]]:
    """Yield what the parts of a batch that raised give."""

    def run(low: int, high: int) -> Evaluated:
        return evaluator.evaluate({n: v[low:high] for n, v in points.items()})

    return halved(run, 0, len(next(iter(points.values()))), error, ModelError)


def _skipping(evaluator: Evaluator, points: Points, first: int, error: ModelError) -> Evaluated:
    """Judge a batch that raised; a design that raises alone has failed."""
    objectives, constraints = len(evaluator.objectives), len(evaluator.constraints)
    nan = np.full((1, objectives), np.nan), np.full((1, constraints), np.nan)
    parts = []
    for part in _parts(evaluator, points, error):
        if isinstance(part, Gave):
            parts.append(part.found)
        elif breaks_contract(part.error.error):
            raise _located(evaluator, points, first, part) from error
        elif part.single:  # of several together, both halves are there
            told = {0: _told(evaluator, points, part.low, part.error)}
            parts.append(Evaluated(*nan, np.zeros(1, dtype=bool), told))
    return joined(parts)


def arrays_of(judged: Evaluated) -> dict[str, NDArray[Any]]:
    """Return a batch as arrays, for a checkpoint."""
    return {
        "objectives": judged.objectives,
        "constrained": judged.constrained,
        "feasible": judged.feasible,
        "failed": np.array([*judged.failed], dtype=np.int64),
        "raised": np.frombuffer(json.dumps([*judged.failed.values()]).encode(), dtype=np.uint8),
    }


def of_arrays(arrays: Mapping[str, NDArray[Any]]) -> Evaluated:
    """Return the batch that `arrays_of` gave."""
    told = json.loads(arrays["raised"].tobytes())
    return Evaluated(
        arrays["objectives"],
        arrays["constrained"],
        arrays["feasible"],
        dict(zip(arrays["failed"].tolist(), told, strict=True)),
    )


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


def _first_wrong(evaluator: Evaluator, points: Points, error: ModelError) -> Raised[ModelError]:
    """Return the first design that ends a run, or the designs that do so together."""
    stop, count = evaluator.on_error == "stop", len(next(iter(points.values())))
    raised = (part for part in _parts(evaluator, points, error) if isinstance(part, Raised))
    wrong = next((p for p in raised if stop or breaks_contract(p.error.error)), None)
    wrong = wrong or Raised(0, count, error)
    if not wrong.single and breaks_contract(wrong.error.error):  # halves may be of a length that is
        low = wrong.low  # returned for every batch: the design alone tells
        try:
            evaluator.evaluate({n: v[low : low + 1] for n, v in points.items()})
        except ModelError as alone:
            return Raised(low, low + 1, alone)
    return wrong


def _located(
    evaluator: Evaluator, points: Points, first: int, wrong: Raised[ModelError]
) -> DesignError:
    """Return what is wrong with the first design that raises, or the batch of which none does."""
    if wrong.single:
        told = _told(evaluator, points, wrong.low, wrong.error)
        return DesignError(f"design {first + wrong.low} {told}")
    if isinstance(wrong.error.error, MemoryError):
        last = first + len(next(iter(points.values()))) - 1
        together = f"designs {first} to {last:,} together: {wrong.error}"
        return DesignError(f"{together}; give a smaller run.chunk")
    return _of_a_batch(first + wrong.low, first + wrong.high - 1, wrong.error)


def _told(evaluator: Evaluator, points: Points, row: int, error: ModelError) -> str:
    """Return in words which design raised, and what."""
    labels = evaluator.space.labels({n: v[row : row + 1] for n, v in points.items()})
    units = {n: q.unit for n, q in evaluator.wiring.quantities.items()}
    words = [
        f"{n} = {v[0] if isinstance(v[0], str) else show(float(v[0]), units[n])}"
        for n, v in labels.items()
    ]
    return f"({', '.join(words)}): {error}"


def _of_a_batch(first: int, last: int, error: ModelError) -> DesignError:
    """Return what is wrong with a model that raises on a batch, and on neither half of it."""
    alone = "none of them" if last - first == 1 else "neither half of them"
    return DesignError(
        f"designs {first} to {last:,} together: {error}\n  {error.model} is not elementwise: it "
        f"raises on a batch of designs, though on {alone} alone; its inputs are arrays, so write "
        "np.where(a > b, x, y) instead of if a > b, and use no function that takes one number"
    )
