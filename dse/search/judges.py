"""Judging batches of designs, in pieces that are spread over workers."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from functools import partial

from dse.evaluate.evaluator import Evaluated, Evaluator, concatenate
from dse.evaluate.failures import evaluate_designs
from dse.evaluate.space import Points
from dse.search.workers import (
    ALONE,
    NEVER,
    PIECE,
    EndedError,
    LateError,
    Workers,
    batch_size,
    is_late,
)

_FEW = 64  # designs of a batch that are a piece each: models with such small batches are slow


class Judges:
    """Judge batches of designs, spread over workers.

    Parameters
    ----------
    evaluator : Evaluator
        The models.
    workers : Workers
        Who runs them.
    chunk : int
        Designs evaluated at once, at most; a matter of speed only.
    """

    def __init__(self, evaluator: Evaluator, workers: Workers = ALONE, chunk: int = 65_536) -> None:
        self._evaluator, self._workers, self._chunk = evaluator, workers, chunk
        self._most = min(max(1, chunk // evaluator.scenarios), PIECE)  # a row for each scenario
        self._done = 0

    def screening(self) -> Judges:
        """Return judges who ask objectives only of designs that no constraint excludes."""
        return Judges(replace(self._evaluator, screens=True), self._workers, self._chunk)

    def judge(self, points: Points, first: int, until: float = NEVER) -> Evaluated:
        """Judge designs numbered from `first`: all, or the first of them if the time is over.

        Some are judged in any case, unless the workers are processes, which are ended.

        Raises
        ------
        DesignError
            If a model raises.
        """
        cuts = list(self._cut(len(next(iter(points.values()))), until))
        tasks = (
            (*_rows(points, first, low, high), NEVER if low == 0 else until) for low, high in cuts
        )
        parts = [Evaluated.empty(self._evaluator)]
        try:
            for part in self._workers.each(partial(_judge, self._evaluator), tasks):
                parts.append(part)
                if len(part) == 0 or (until < NEVER and is_late(until)):
                    break
        except EndedError as ended:
            low, high = cuts[ended.task]
            raise ended.at(first + low, first + high - 1) from None
        except LateError as late:
            low, high = cuts[late.task]
            if hung := late.told(first + low, first + high - 1, self._done + low):
                raise hung from None
        judged = concatenate(parts[1:]) if len(parts) > 1 else parts[0]
        self._done += len(judged)
        return judged

    def _cut(self, count: int, until: float) -> Iterator[tuple[int, int]]:
        """Yield the pieces of a batch: one for each worker, and smaller ones with a time limit."""
        workers = self._workers.count
        size = 1 if workers > 1 and count <= _FEW else -(-count // workers)
        low = 0
        while low < count:
            most = batch_size(self._done + low, until, workers) if until < NEVER else size
            high = min(low + min(size, most, self._most), count)
            yield low, high
            low = high


def _rows(points: Points, first: int, low: int, high: int) -> tuple[Points, int]:
    return {name: values[low:high] for name, values in points.items()}, first + low


def _judge(evaluator: Evaluator, points: Points, first: int, until: float) -> Evaluated:
    """Judge designs, unless the time is over."""
    if is_late(until):
        return Evaluated.empty(evaluator)
    return evaluate_designs(evaluator, points, first)
